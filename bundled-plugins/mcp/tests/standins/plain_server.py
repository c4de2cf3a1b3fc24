"""A small server without any library, true to the wire, that can misbehave: its arguments say how.

``many`` lists 200 tools, ``rubbish`` prints what is no message, ``child`` starts a process of its own in another
session, ``mute`` answers nothing, ``dead`` ends at once, ``log FILE`` notes each of its starts, ``flood KIND`` says
something without end once its tools were listed.
"""

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

ways = sys.argv[1:]
tools = ["echo", "die", "environment", "grow", "roots", "sample", "elicit", "big", "hang", "log"]
if "many" in ways:
    tools = [f"tool_{number:03}" for number in range(200)]
if "log" in ways:
    with Path(ways[ways.index("log") + 1]).open("a") as stream:
        stream.write(f"{os.getpid()}\n")
if "dead" in ways:
    sys.exit("There is no licence for this server.")
if "child" in ways:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    Path(ways[ways.index("child") + 1]).write_text(str(child.pid))


def say(line, stream=sys.stdout):
    stream.write(f"{line}\n")
    stream.flush()


def send(**message):
    say(json.dumps({"jsonrpc": "2.0", **message}))


def ask(method, **params):
    """Ask the client and return its answer, or its error."""
    send(id=f"s-{method}", method=method, params=params)
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == f"s-{method}":
            return message.get("result") or message["error"]
    return None


FLOODS = {
    "changes": {"method": "notifications/tools/list_changed"},
    "logs": {"method": "notifications/message", "params": {"level": "error", "data": "x" * 100}},
    "pings": {"id": "p", "method": "ping"},
    "strays": {"id": 99, "result": {}},
    "rubbish": None,
}


def flood(kind):
    """Say one thing over and over, and read what comes back so that nobody waits for anybody."""
    threading.Thread(target=lambda: sys.stdin.read(), daemon=True).start()
    message = FLOODS[kind]
    lines = ("npm WARN\n" if message is None else json.dumps({"jsonrpc": "2.0", **message}) + "\n") * 1_000
    while True:
        sys.stdout.write(lines)
        sys.stdout.flush()


def text(said, **more):
    return {"content": [{"type": "text", "text": said}], **more}


def call(name, arguments, token):
    if name == "die":
        say("The disk is on fire.", sys.stderr)
        os._exit(3)
    if name == "environment":
        return text(json.dumps(dict(os.environ)))
    if name == "grow":
        tools.append("grown")
        send(method="notifications/tools/list_changed")
        return text("grown")
    if name == "roots":
        return text(json.dumps(ask("roots/list")))
    if name == "sample":
        message = {"role": "user", "content": {"type": "text", "text": "Say hello."}}
        return text(json.dumps(ask("sampling/createMessage", messages=[message], maxTokens=100)))
    if name == "log":
        for level, data in (("debug", "Looking."), ("error", {"disk": "full", "key": "s3cr3t"})):
            send(method="notifications/message", params={"level": level, "logger": "x", "data": data})
        return text("logged")
    if name == "hang":
        send(method="notifications/progress", params={"progressToken": token, "progress": 1, "message": "waiting"})
        time.sleep(600)
    if name == "big":
        return text("x" * 1_000_000)
    if name == "elicit":
        return text(json.dumps(ask("elicitation/create", **arguments)))
    return text(f"You said {arguments.get('text', '')}")


for line in sys.stdin:
    if "mute" in ways:
        time.sleep(600)
    if "rubbish" in ways:
        say('npm WARN deprecated left-pad@1.0.0\n{"not": "a message"}\n\x00\xff')
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        able = {"tools": {"listChanged": True}}
        info = {"name": "plain", "version": "1"}
        send(id=id, result={"protocolVersion": "2025-06-18", "capabilities": able, "serverInfo": info})
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}}
        listed = [{"name": name, "description": f"Does {name}.", "inputSchema": schema} for name in tools]
        listed[0]["annotations"] = {"readOnlyHint": True}
        send(id=id, result={"tools": listed})
        if "flood" in ways:
            flood(ways[ways.index("flood") + 1])
    elif method == "tools/call":
        name, arguments = message["params"]["name"], message["params"].get("arguments") or {}
        token = message["params"].get("_meta", {}).get("progressToken")
        send(id=id, result=call(name, arguments, token))
    elif id is not None and method is not None:
        send(id=id, error={"code": -32601, "message": "Method not found"})
