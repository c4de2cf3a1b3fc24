"""What the terminal shows: text as it streams, tools in one line each, questions with numbered answers."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, Protocol, TextIO

from atlas_sdk.client import Notification
from atlas_sdk.plain_text import plain, words

from .keyboard import forget_typed_ahead, read_line, read_message

RESULT_CHARS = 100
RECALL_CHARS = 200
ARGUMENT_CHARS = 80
REVIEW_LINES = 40


class Screen(Protocol):
    """Where a conversation is shown. ``unasked`` turns true when a question found nobody to answer it."""

    unasked: bool

    def greet(self, conversation: dict[str, Any], home: dict[str, Any]) -> None: ...

    def show(self, event: Notification) -> None: ...

    def recall(self, conversation: dict[str, Any], messages: Sequence[dict[str, Any]]) -> None: ...

    def list(self, conversations: Sequence[dict[str, Any]]) -> None: ...

    def say(self, text: str) -> None: ...

    def ask(self, question: dict[str, Any]) -> dict[str, Any]: ...

    def ask_line(self) -> str | None: ...

    def leave(self, conversation: str) -> None: ...


class TextScreen:
    """The answer on standard output, talk about it on standard error.

    A person sees the answer as it comes. A program gets each once it is kept: what was void before its end is none.
    """

    def __init__(self, out: TextIO, talk: TextIO, *, colour: bool) -> None:
        self._out = out
        self._talk = talk
        self._colour = colour
        self._streamed = False
        self._held = ""
        self._line_open = False
        self.unasked = False

    def greet(self, conversation: dict[str, Any], home: dict[str, Any]) -> None:
        self.say(f"Atlas {home['version']}, in {conversation['folder']}. Ctrl+C stops a turn, Ctrl+D leaves.")
        if conversation["auto_mode"]:
            self.say("Auto mode is on: dangerous commands run unreviewed. --no-auto starts with it off.")
        for interrupted in home["interrupted"]:
            self.say(interrupted)

    def list(self, conversations: Sequence[dict[str, Any]]) -> None:
        for one in conversations:
            self._write(f"{one['id']}  {one['updated_at'][:16].replace('T', ' ')}  {one['title'] or 'Untitled'}\n")

    def recall(self, conversation: dict[str, Any], messages: Sequence[dict[str, Any]]) -> None:
        when = conversation["updated_at"][:16].replace("T", " ")
        self._dim(f"“{conversation['title'] or 'Untitled'}”, last used {when} (UTC)")
        for message in messages:
            said = " ".join(" ".join(part["text"] for part in message["parts"] if _is_said(part)).split())
            if said:
                self._dim(f"{'>' if message['role'] == 'user' else ' '} {said[:RECALL_CHARS]}")

    def show(self, event: Notification) -> None:
        params = event.params
        match event.method:
            case "text.streamed" if params["kind"] == "text":
                if self._out.isatty():
                    self._write(params["text"])
                    self._streamed = True
                else:
                    self._held += params["text"]
            case "model.restarted":
                self._held = ""
                self._close_line()
                self.say(params["why"])
                self._streamed = False
            case "message.added" if params["message"]["role"] == "assistant":
                if not self._streamed:
                    self._write("".join(part["text"] for part in params["message"]["parts"] if part["type"] == "text"))
                self._close_line()
                self._streamed, self._held = False, ""
            case "tool.called":
                self._close_line()
                self._dim(f"· {params['tool']} {_short(params['arguments'])}")
            case "tool.progressed":
                self._dim(f"  {params['text']}")
            case "tool.finished":
                mark = {"ok": "✓", "refused": "⛔", "stopped": "◼"}.get(params["outcome"], "✗")
                self._dim(f"  {mark} {words(params['summary'], RESULT_CHARS)}")
            case "file.sent":
                self.say(f"File: {params['name']} ({params['size']:,} bytes)")
            case "notice.given":
                self.say(params["text"])
            case "review.summary":
                from atlas_sdk.events import review_text

                self.say(review_text(params["line"], params["changes"], most_lines=REVIEW_LINES))
            case "turn.ended":
                self._write(self._held)  # of an answer that was cut short and not kept
                self._held = ""
                self._close_line()
                turn = params["turn"]
                if turn["state"] == "failed":
                    self.say(turn["error"])
                elif turn["state"] != "done":
                    self.say(f"The turn was {turn['state']}.")
            case _:
                pass

    def say(self, text: str) -> None:
        self._tell(plain(text))

    def _tell(self, text: str) -> None:
        self._close_line()
        self._talk.write(f"{text}\n")
        self._talk.flush()

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        self._close_line()
        self.say("")
        self.say(f"? {question['title']}")
        if question["exact"]:
            self.say("".join(f"    {line}\n" for line in question["exact"].split("\n")).rstrip("\n"))
        for part in question["parts"]:
            self.say(f"  - {part}")
        if question["why"]:
            self.say(f"  {question['why']}")
        forget_typed_ahead()
        choices = question["choices"]
        for number, choice in enumerate(choices, start=1):
            extra = f" ({question['always']})" if choice["id"] == "always" and question["always"] else ""
            more = f" ({choice['description']})" if choice.get("description") else ""
            self.say(f"  {number}. {choice['label']}{extra}{more}")
        while True:
            line = read_line("  Answer: ", self._talk)
            if line is None:
                self.unasked = True
                self.say("  Nobody is here to answer, so it is refused.")
                nobody = "Nobody was at the terminal to be asked."
                return {"choices": ["deny"], "text": nobody} if question["kind"] == "approval" else {"text": ""}
            picked, _, rest = line.strip().partition(" ")
            if picked.isdigit() and 1 <= int(picked) <= len(choices):
                return {"choices": [choices[int(picked) - 1]["id"]], "text": rest}
            if question["kind"] != "approval" and line.strip():
                return {"text": line.strip()}
            self.say(f"  Type a number from 1 to {len(choices)}; after a denial's number you may give the reason.")

    def ask_line(self) -> str | None:
        self._close_line()
        try:
            return read_message("\n> ", self._talk)
        except KeyboardInterrupt:
            self.say("\nCtrl+D leaves.")
            return ""

    def leave(self, conversation: str) -> None:
        self.say(f"\nTo go on: atlas chat --conversation {conversation}")

    def _write(self, text: str) -> None:
        self._out.write(plain(text) if self._out.isatty() else text)
        self._out.flush()
        if text:
            self._line_open = not text.endswith("\n")

    def _close_line(self) -> None:
        if self._line_open:
            self._out.write("\n")
            self._out.flush()
            self._line_open = False

    def _dim(self, text: str) -> None:
        self._tell(f"\x1b[2m{plain(text)}\x1b[0m" if self._colour else plain(text))


class JsonScreen:
    """Every event as one line of JSON; answers are read as lines of JSON from standard input."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self.unasked = False

    def greet(self, conversation: dict[str, Any], home: dict[str, Any]) -> None:
        self._line({"method": "home", "params": {"home": home, "conversation": conversation}})

    def show(self, event: Notification) -> None:
        self._line({"method": event.method, "params": event.params})

    def list(self, conversations: Sequence[dict[str, Any]]) -> None:
        for one in conversations:
            self._line(one)

    def recall(self, conversation: dict[str, Any], messages: Sequence[dict[str, Any]]) -> None:
        self._line({"method": "recalled", "params": {"conversation": conversation, "messages": messages}})

    def say(self, text: str) -> None:
        self._line({"method": "talk", "params": {"text": text}})

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        line = sys.stdin.readline()
        try:
            found = json.loads(line)
            return {"choices": [str(choice) for choice in found.get("choices", [])], "text": str(found.get("text", ""))}
        except (ValueError, AttributeError, TypeError):
            self.unasked = not line
            return {"choices": ["deny"]} if question["kind"] == "approval" else {"text": ""}

    def ask_line(self) -> str | None:
        line = sys.stdin.readline()
        return line.rstrip("\n") if line else None

    def leave(self, conversation: str) -> None:
        self._line({"method": "left", "params": {"conversation": conversation}})

    def _line(self, value: dict[str, Any]) -> None:
        self._out.write(json.dumps(value, ensure_ascii=False) + "\n")
        self._out.flush()


def _is_said(part: dict[str, Any]) -> bool:
    return part["type"] == "text" and not part["source"]


def _short(arguments: Any) -> str:
    return words(_words(arguments), ARGUMENT_CHARS)


def _words(value: Any) -> str:
    """Return what stands in arguments, without what JSON puts around it; the parts of a list behind one another."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return " ".join(filter(None, map(_words, value.values())))
    if isinstance(value, list):
        return ", ".join(filter(None, map(_words, value)))
    return json.dumps(value)
