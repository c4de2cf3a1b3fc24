"""One conversation over the wire: what is said, what comes back, and questions answered in between."""

from __future__ import annotations

from typing import Any

from atlas_sdk.client import Client, Notification
from atlas_sdk.errors import ExitCode, NotFoundError
from atlas_sdk.ids import new_id

from .screen import Screen

STOP_SECONDS = 10.0
RECALLED = 4


class Talk:
    """Says things in a conversation and follows each turn to its end."""

    def __init__(self, client: Client, screen: Screen) -> None:
        self._client = client
        self._screen = screen
        self.conversation: dict[str, Any] = {}
        self._turn = ""

    def begin(self, draft: dict[str, Any]) -> None:
        """Start a conversation."""
        self.conversation = self._client.request("conversation.create", draft)["conversation"]

    def go_on(self, id: str) -> None:
        """Go on with a conversation; ``last`` is the one most recently used."""
        if id == "last":
            found = self._client.request("conversation.list", {"limit": 1})["conversations"]
            if not found:
                raise NotFoundError("There is no conversation yet.", hint="Start one with: atlas chat.")
            id = found[0]["id"]
        self.conversation = self._client.request("conversation.get", {"conversation": id})["conversation"]

    def join(self) -> None:
        """Show where the conversation stands, and follow a turn that runs to its end, its questions among it."""
        id = self.conversation["id"]
        history = self._client.request("conversation.history", {"conversation": id, "limit": RECALLED})["messages"]
        self._screen.recall(self.conversation, history)
        turn = self._client.request("conversation.get", {"conversation": id})["turn"]
        if turn is not None:
            self._screen.say("A turn is running here.")
            for question in self._client.request("question.list", {"conversation": id})["questions"]:
                self._answer(question)
            self._until_ended(turn["cause"], turn["id"])

    def say(self, text: str) -> ExitCode:
        """Say something and follow the turn; Ctrl+C stops it. Returns how it ended."""
        id = self.conversation["id"]
        accepted = self._client.request("message.send", {"conversation": id, "text": text, "client_id": new_id()})
        ended = self._until_ended(accepted["message"], "")
        return ExitCode.REFUSED if ended is ExitCode.DONE and self._screen.unasked else ended

    def _until_ended(self, message: str, turn: str) -> ExitCode:
        id = self.conversation["id"]
        stopping = False
        self._turn = turn
        while True:
            try:
                event = self._client.next_notification(timeout=None)
                if event is None or event.params.get("conversation") != id:
                    continue
                ended = self._follow(event, message, stopping=stopping)
                if ended is not None:
                    return ended
            except KeyboardInterrupt:
                if stopping:
                    raise
                stopping = True
                self._screen.say("Stopping…")
                self._client.request("turn.stop", {"conversation": id}, timeout=STOP_SECONDS)

    def _follow(self, event: Notification, message: str, *, stopping: bool) -> ExitCode | None:
        """Show an event; return how the turn ended that took the message, or the one that was stopped before."""
        self._screen.show(event)
        if event.method == "question.asked":
            self._answer(event.params["question"])
        if event.method == "message.taken" and event.params["message"]["id"] == message:
            self._turn = event.params["message"]["turn"]
        if event.method == "turn.ended":
            turn = event.params["turn"]
            if stopping or turn["cause"] == message or turn["id"] == self._turn:
                return {"done": ExitCode.DONE, "stopped": ExitCode.INTERRUPTED}.get(turn["state"], ExitCode.FAILED)
        return None

    def _answer(self, question: dict[str, Any]) -> None:
        answer = self._screen.ask(question)
        taken = self._client.request("question.answer", {"id": question["id"], **answer})["taken"]
        if not taken:
            self._screen.say("Somebody else had answered already.")
