"""A stand-in of a harness that speaks ACP, true to the wire; it asks for leave, and told ``for ever`` never ends."""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(**what: Any) -> None:
    send(method="session/update", params={"sessionId": "s1", "update": what})


def turn(id: int, text: str) -> None:
    content = {"type": "text", "text": "I look."}
    update(sessionUpdate="agent_thought_chunk", content=content)
    update(sessionUpdate="tool_call", toolCallId="t1", title="ls", kind="execute", status="pending", rawInput={"a": 1})
    options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
    call = {"toolCallId": "t1", "title": "ls", "kind": "execute", "rawInput": {"a": 1}}
    send(id=900, method="session/request_permission", params={"sessionId": "s1", "toolCall": call, "options": options})
    answer = json.loads(sys.stdin.readline())["result"]["outcome"]
    chosen = answer.get("optionId")
    done = "completed" if chosen == "yes" else "failed"
    shown = [{"type": "content", "content": {"type": "text", "text": f"chose {chosen}"}}]
    update(sessionUpdate="tool_call_update", toolCallId="t1", status=done, content=shown)
    send(id=901, method="fs/read_text_file", params={"path": "/etc/passwd"})
    refused = json.loads(sys.stdin.readline())["error"]["code"]
    if text == "for ever":
        time.sleep(3600)
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": f"{text} ({refused})"})
    send(id=id, result={"stopReason": "refusal" if text == "refuse" else "end_turn"})


sys.stdout.write("starting up\n")  # what is no JSON is its log
sys.stdout.flush()
for line in sys.stdin:
    asked = json.loads(line)
    match asked["method"]:
        case "initialize":
            version = int(sys.argv[1]) if len(sys.argv) > 1 else 1
            send(id=asked["id"], result={"protocolVersion": version, "agentCapabilities": {"loadSession": True}})
        case "session/new":
            update(sessionUpdate="available_commands_update", availableCommands=[{"name": "plan", "description": "P."}])
            send(id=asked["id"], result={"sessionId": "s1"})
        case "session/load":
            send(id=asked["id"], error={"code": -32602, "message": "no such session"})
        case "session/prompt":
            turn(asked["id"], asked["params"]["prompt"][0]["text"])
