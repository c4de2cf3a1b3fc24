"""A channel with scripted people: a chat service that delivers a message until it is acknowledged."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import anyio

from ..channels import ChannelHost, Inbound, InboundFile, Prompt
from ..errors import AtlasError


@dataclass
class ShownPrompt:
    """A question in a chat; ``said`` is what took the place of its buttons, empty while they stand."""

    prompt: Prompt
    said: str = ""


@dataclass
class SentFile:
    """A file a person was sent."""

    name: str
    data: bytes
    media_type: str


@dataclass
class FakeChat:
    """What a person sees in one chat."""

    texts: list[str] = field(default_factory=list)
    prompts: list[ShownPrompt] = field(default_factory=list)
    files: list[SentFile] = field(default_factory=list)
    working: list[bool] = field(default_factory=list)
    shown: list[str] = field(default_factory=list)
    """Texts, questions and names of files, in the order in which they came."""


class FakeChannel:
    """A channel and its chat service in one. It carries no files to people; FakeFileChannel does.

    The object outlives a home: put it in the next one to see what a restart does. A message that was not
    acknowledged, because Atlas ended meanwhile, is delivered again by the next ``run``, as real services do.
    """

    def __init__(self, name: str = "fake") -> None:
        self._name = name
        self.chats: dict[str, FakeChat] = {}
        self.runs = 0
        self.acknowledged: list[Inbound] = []
        self._host: ChannelHost | None = None
        self._waiting: deque[Inbound] = deque()
        self._failures: deque[Exception] = deque()
        self._ends: BaseException | Literal["return"] | None = None
        self._reason = ""
        self._news = anyio.Event()
        self._count = 0

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def is_running(self) -> bool:
        """Whether ``run`` runs."""
        return self._host is not None

    def chat(self, chat: str) -> FakeChat:
        """Return what is in a chat."""
        return self.chats.setdefault(chat, FakeChat())

    # --- what people do -----------------------------------------------------------------------

    def write(
        self,
        text: str,
        *,
        user: str = "ada",
        chat: str = "",
        id: str = "",
        files: Sequence[InboundFile] = (),
        group: bool = False,
    ) -> Inbound:
        """Have somebody write, and return at once. The chat is the user's own where none is named.

        Every message has an id of its own; give the ``id`` of another to deliver it again.
        """
        self._count += 1
        message = Inbound(
            chat=chat or user,
            user=user,
            name=user.capitalize(),
            text=text,
            files=tuple(files),
            id=id or f"m{self._count}",
            group=group,
        )
        self._waiting.append(message)
        self._tell()
        return message

    async def says(self, text: str, **more: object) -> Inbound:
        """Have somebody write, and return once Atlas acknowledged it."""
        message = self.write(text, **more)  # type: ignore[arg-type]  # the same as of write
        await self.until(lambda: any(message is one for one in self.acknowledged))
        return message

    async def press(self, label: str, *, user: str = "ada", chat: str = "") -> str | None:
        """Press a button of the newest question that has it, and return what Atlas answered."""
        for shown in reversed(self.chat(chat or user).prompts):
            if label in shown.prompt.choices and self._host is not None:
                said = await self._host.choose(shown.prompt.id, shown.prompt.choices.index(label), user)
                if said is not None:
                    shown.said = said
                return said
        raise AtlasError(f"No question has the button {label!r}.")

    # --- what goes wrong ----------------------------------------------------------------------

    def fail_sends(self, count: int, error: Exception | None = None) -> None:
        """Have the next sends, questions and files fail."""
        failure = error or AtlasError("The chat service did not take it.", hint="Try again later.")
        self._failures.extend([failure] * count)

    def recover(self) -> None:
        """Have sends succeed again."""
        self._failures.clear()

    def end(self, how: BaseException | Literal["return"], *, reason: str = "") -> None:
        """Have ``run`` return or raise, after it said ``reason`` where one is given."""
        self._ends, self._reason = how, reason
        self._tell()

    # --- the channel --------------------------------------------------------------------------

    async def run(self, host: ChannelHost) -> None:
        """Hand over what people write, each message until it is acknowledged."""
        self.runs += 1
        self._host = host
        self._tell()
        try:
            while True:
                news = self._news
                while self._waiting:
                    message = self._waiting[0]
                    await host.receive(message)
                    self._waiting.popleft()
                    self.acknowledged.append(message)
                    self._tell()
                if self._ends is not None:
                    ends, self._ends = self._ends, None
                    if self._reason:
                        host.failed(self._reason)
                    if ends == "return":
                        return
                    raise ends
                await news.wait()
        finally:
            self._host = None
            self._tell()

    async def send(self, chat: str, text: str) -> None:
        """Show a text."""
        await self._maybe_fail()
        self.chat(chat).texts.append(text)
        self._show(chat, text)

    async def working(self, chat: str, busy: bool) -> None:
        """Show that Atlas is at work."""
        await anyio.lowlevel.checkpoint()
        self.chat(chat).working.append(busy)
        self._tell()

    async def ask(self, chat: str, prompt: Prompt) -> None:
        """Show a question."""
        await self._maybe_fail()
        self.chat(chat).prompts.append(ShownPrompt(prompt))
        self._show(chat, prompt.text)

    async def settle(self, chat: str, prompt: str, said: str) -> None:
        """Replace a question's buttons."""
        await anyio.lowlevel.checkpoint()
        for shown in self.chat(chat).prompts:
            if shown.prompt.id == prompt:
                shown.said = said
        self._tell()

    # --- for the test -------------------------------------------------------------------------

    async def until(self, is_so: Callable[[], bool]) -> None:
        """Return once something is so, looking again whenever anything comes to a chat or is acknowledged."""
        while not is_so():
            await self._news.wait()

    async def until_shown(self, chat: str, text: str) -> None:
        """Return once a text, a question or a file with these words in it is in a chat."""
        await self.until(lambda: any(text in shown for shown in self.chat(chat).shown))

    async def _maybe_fail(self) -> None:
        await anyio.lowlevel.checkpoint()
        if self._failures:
            failure = self._failures.popleft()
            self._tell()
            raise failure

    def _show(self, chat: str, text: str) -> None:
        self.chat(chat).shown.append(text)
        self._tell()

    def _tell(self) -> None:
        self._news.set()
        self._news = anyio.Event()


class FakeFileChannel(FakeChannel):
    """A FakeChannel that carries files to people, too."""

    async def send_file(self, chat: str, path: Path, media_type: str) -> None:
        """Show a file."""
        await self._maybe_fail()
        data = await anyio.Path(path).read_bytes()
        self.chat(chat).files.append(SentFile(path.name, data, media_type))
        self._show(chat, path.name)
