"""One conversation over the wire: what is said, what comes back, and questions answered in between."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import Any

from atlas_sdk.client import Client, Notification
from atlas_sdk.errors import AtlasError, ExitCode, NotFoundError
from atlas_sdk.ids import new_id

from .screen import Screen

STOP_SECONDS = 10.0
NEWS = ("notice.given", "review.summary")
DRAIN_SECONDS = 0.05
"""What was sent already is there by then; what is still to come is shown with the next line."""
DRAINED = 500
REVIEW_SECONDS = 60.0
"""A few calls of a model that has the conversation in its cache; whoever waits for a prompt waits no longer."""
GIVEN_UP = "The review was given up. It is done the next time a server runs in this home: atlas serve."
TITLE_SECONDS = 5.0
"""A title of a small model takes one or two; without it, the next command or server gives it."""
LOOKED_SECONDS = 0.5
"""What the end of a turn takes to be looked at, where there is no title to give."""
LOOKED_BACK = 50
RECALLED = 4


class Talk:
    """Says things in a conversation and follows each turn to its end."""

    def __init__(self, client: Client, screen: Screen) -> None:
        self._client = client
        self._screen = screen
        self.conversation: dict[str, Any] = {}
        self.is_begun = False
        """Whether there is a conversation to go on with; until something is said in a new one there is none."""
        self._turn = ""
        self._number = 0
        self._later: deque[Notification] = deque()
        self._queued: deque[str] = deque()
        """Messages that the turn of what was said here put in line: their answers are awaited, too."""

    def begin(self, draft: dict[str, Any]) -> None:
        """Prepare a conversation, which is created with the first message: an empty one is nothing to go on with."""
        self.conversation = draft

    def go_on(self, id: str) -> None:
        """Go on with a conversation; ``last`` is the one most recently used."""
        if id == "last":
            found = self._client.request("conversation.list", {"limit": 1})["conversations"]
            if not found:
                raise NotFoundError("There is no conversation yet.", hint="Start one with: atlas chat.")
            id = found[0]["id"]
        found = self._client.request("conversation.get", {"conversation": id})
        self.conversation, self._number = found["conversation"], found.get("number", 0)
        self.is_begun = True

    def catch_up(self) -> None:
        """Show what happened here since the last turn ended, such as what a review kept: nobody was told of it."""
        if not self._number:
            return
        after = max(0, self._number - LOOKED_BACK)
        params = {"conversation": self.conversation["id"], "after": after}
        news: list[Notification] = []
        for one in self._client.request("event.list", params)["events"]:
            told = dict(one["event"])
            kind = told.pop("type")
            numbers = {"number": one["number"], "conversation_number": one["conversation_number"]}
            news = [] if kind == "turn.ended" else [*news, Notification(kind, {**told, **numbers})]
        for event in news:
            if event.method in NEWS:
                self._screen.show(event)

    def drain(self) -> None:
        """Show the news that came, without waiting for any; the rest is kept for the next turn."""
        for _ in range(DRAINED):
            event = self._client.next_notification(timeout=DRAIN_SECONDS)
            if event is None:
                return
            if event.method in NEWS and self._concerns(event):
                self._screen.show(event)
            else:
                self._later.append(event)

    def await_review(self) -> None:
        """Wait for a review of what was said, where it would end with this process; Ctrl+C gives it up."""
        params = {"conversation": self.conversation["id"], "turn": self._turn}
        try:
            if not self._turn or not self._client.request("review.wait", params)["running"]:
                return
        except AtlasError:  # the plugin is off
            return
        try:
            self._screen.say("Reviewing what was said… Ctrl+C gives it up.")
            waited = {**params, "seconds": REVIEW_SECONDS}
            running = self._client.request("review.wait", waited, timeout=None)["running"]
        except KeyboardInterrupt:
            running = True
        if running:
            self._screen.say(GIVEN_UP)
        self.drain()

    def stay(self) -> None:
        """Have conversations get their titles in this process: it stays open until a person leaves."""
        with suppress(AtlasError):  # the plugin is off
            self._client.request("title.stay")

    def await_title(self) -> None:
        """Wait for a title under way, which would end with this process; Ctrl+C leaves without it."""
        params = {"turn": self._turn, "seconds": LOOKED_SECONDS}
        try:
            if self._client.request("title.leave", params)["running"]:
                self._screen.say("Giving a conversation its title… Ctrl+C leaves without.")
                self._client.request("title.leave", {**params, "seconds": TITLE_SECONDS}, timeout=None)
        except (AtlasError, KeyboardInterrupt):
            return

    def join(self) -> None:
        """Show where the conversation stands, and follow a turn that runs to its end, its questions among it."""
        id = self.conversation["id"]
        history = self._client.request("conversation.history", {"conversation": id, "limit": RECALLED})["messages"]
        self._screen.recall(self.conversation, history)
        self.catch_up()
        turn = self._client.request("conversation.get", {"conversation": id})["turn"]
        if turn is not None:
            self._screen.say("A turn is running here.")
            for question in self._client.request("question.list", {"conversation": id})["questions"]:
                self._answer(question)
            self._until_ended(turn["cause"], turn["id"])

    def say(self, text: str) -> ExitCode:
        """Say something and follow the turn; Ctrl+C stops it. Returns how it ended."""
        if not self.is_begun:
            self.conversation = self._client.request("conversation.create", self.conversation)["conversation"]
            self.is_begun = True
        id = self.conversation["id"]
        accepted = self._client.request("message.send", {"conversation": id, "text": text, "client_id": new_id()})
        self._queued.clear()
        ended = self._until_ended(accepted["message"], "")
        while ended is ExitCode.DONE and self._queued:  # such as the words behind /clear
            ended = self._until_ended(self._queued.popleft(), "")
        return ExitCode.REFUSED if ended is ExitCode.DONE and self._screen.unasked else ended

    def _until_ended(self, message: str, turn: str) -> ExitCode:
        id = self.conversation["id"]
        stopping = False
        self._turn = turn
        while True:
            try:
                event = self._later.popleft() if self._later else self._client.next_notification(timeout=None)
                if event is None or not self._concerns(event):
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

    def _concerns(self, event: Notification) -> bool:
        """Whether an event is of this conversation, or a notice that is for everybody."""
        of = event.params.get("conversation")
        return of == self.conversation["id"] or (of is None and event.method == "notice.given")

    def _follow(self, event: Notification, message: str, *, stopping: bool) -> ExitCode | None:
        """Show an event; return how the turn ended that took the message, or the one that was stopped before."""
        self._screen.show(event)
        if event.method == "question.asked":
            self._answer(event.params["question"])
        if event.method == "message.added" and event.params["message"].get("cause") == message:
            self._queued.append(event.params["message"]["id"])
        if event.method == "message.taken" and event.params["message"]["id"] == message:
            self._turn = event.params["message"]["turn"]
        if event.method == "turn.ended":
            turn = event.params["turn"]
            if stopping or turn["cause"] == message or turn["id"] == self._turn:
                self._turn = turn["id"]
                return {"done": ExitCode.DONE, "stopped": ExitCode.INTERRUPTED}.get(turn["state"], ExitCode.FAILED)
        return None

    def _answer(self, question: dict[str, Any]) -> None:
        answer = self._screen.ask(question)
        taken = self._client.request("question.answer", {"id": question["id"], **answer})["taken"]
        if not taken:
            self._screen.say("Somebody else had answered already.")
