"""What an author's ``register(ctx)`` hands over, as the contracts of Atlas have it.

An author writes functions, plain or async, and classes that need no name of their own: the name is said once,
when they are registered.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import anyio.from_thread
import anyio.to_thread

from .channels import ChannelHost, Prompt
from .errors import AtlasError
from .tools import ToolHost
from .values import Json

if TYPE_CHECKING:  # a tool that is registered needs none of it
    from .executors import Capabilities, Detection, ExecutorHost, ExecutorInstance, ExecutorSpec, Transcript

T = TypeVar("T")


class AuthorChannel(Protocol):
    """A channel as an author writes it: it carries text and buttons. Atlas knows its name from registering it."""

    async def run(self, host: ChannelHost) -> None:
        """Receive until cancelled. Returning or raising means that it cannot go on."""

    async def send(self, chat: str, text: str) -> None:
        """Send Markdown to a chat. Raises when it was not delivered."""

    async def working(self, chat: str, busy: bool) -> None:
        """Show or hide that Atlas is at work."""

    async def ask(self, chat: str, prompt: Prompt) -> None:
        """Show a question with buttons; a press calls ``host.choose``."""

    async def settle(self, chat: str, prompt: str, said: str) -> None:
        """Replace a question's buttons by what came of it."""


class AuthorFileChannel(AuthorChannel, Protocol):
    """A channel that carries files to people, too."""

    async def send_file(self, chat: str, path: Path, media_type: str) -> None:
        """Send a file to a chat."""


class AuthorKeyedChannel(AuthorChannel, Protocol):
    """A channel whose service knows a message by the sender's key, so that one sent twice arrives once."""

    async def send_once(self, chat: str, text: str, key: str) -> None:
        """Send Markdown to a chat, under a key: with the same key it arrives once, also after a restart."""


class AuthorLimitedChannel(AuthorChannel, Protocol):
    """A channel whose messages have a length of their own. Without one, 4,000 characters hold."""

    @property
    def limit_chars(self) -> int:
        """How many characters a message may have. What is longer comes in several, split at paragraphs."""


class AuthorExecutor(Protocol):
    """An executor as an author writes it. What else it offers stands behind a flag of its ``capabilities``."""

    @property
    def title(self) -> str:
        """How people read it."""

    async def detect(self) -> Detection:
        """Look what is installed, changing nothing."""

    def capabilities(self) -> Capabilities:
        """Say what it offers."""

    async def start(self, spec: ExecutorSpec, host: ExecutorHost) -> ExecutorInstance:
        """Start the harness. Raises ExecutorError."""

    async def transcript(self, session: str, folder: Path) -> Transcript:
        """Read a session back. Raises ExecutorError."""


def is_async(run: Callable[..., Any]) -> bool:
    """Whether an author's function is async, or an object whose call is."""
    return inspect.iscoroutinefunction(run) or inspect.iscoroutinefunction(type(run).__call__)


async def called(run: Callable[..., Any], *arguments: Any) -> Any:
    """Call an author's function: one that is async here, a plain one in a worker thread, so that it holds up nobody."""
    if is_async(run):
        return await run(*arguments)
    # A limiter of its own: one that hangs and was given up on is not to take a thread from everybody else.
    own = anyio.CapacityLimiter(1)
    answer = await anyio.to_thread.run_sync(lambda: run(*arguments), abandon_on_cancel=True, limiter=own)
    return await answer if inspect.isawaitable(answer) else answer


class ThreadToolHost:
    """The ToolHost of a plain function, which runs in a worker thread: what it shows is shown from the event loop.

    Only what waits for nothing is of use to it; a tool that sends files or writes effects is async.
    """

    def __init__(self, host: ToolHost) -> None:
        self._host = host

    def progress(self, text: str) -> None:
        """Show text under the call. Once the call was stopped, this ends the function."""
        anyio.from_thread.run_sync(self._host.progress, text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)


class RegisteredReader:
    """The Reader of one kind."""

    def __init__(self, kind: str, run: Callable[[Path, str], Any]) -> None:
        self.kind = kind
        self._run = run

    async def read(self, path: Path, media_type: str) -> str:
        """Return what the author's function makes of the file."""
        return cast(str, await called(self._run, path, media_type))


class RegisteredCall:
    """What the plugin's screen reaches by a name."""

    def __init__(self, run: Callable[[Json], Any]) -> None:
        self._run = run

    async def __call__(self, params: Json) -> Json:
        return await called(self._run, params)


class RegisteredChannel:
    """The Channel of a name. Its author's object is made anew each time it runs, and so reads its secrets then."""

    def __init__(self, name: str, make: Callable[[], AuthorChannel]) -> None:
        self.name = name
        self._make = make
        self._channel: AuthorChannel | None = None
        self._ran = False

    def again(self) -> RegisteredChannel:
        """Return the channel as it is before it first runs."""
        return RegisteredChannel(self.name, self._make)

    async def run(self, host: ChannelHost) -> None:
        """Make the channel and receive until cancelled."""
        if self._ran:
            self._channel = None
        self._ran = True
        await self._made().run(host)

    async def send(self, chat: str, text: str) -> None:
        """Send Markdown to a chat."""
        await self._delivered(self._made().send(chat, text))

    async def working(self, chat: str, busy: bool) -> None:
        """Show or hide that Atlas is at work."""
        await self._made().working(chat, busy)

    async def ask(self, chat: str, prompt: Prompt) -> None:
        """Show a question with buttons."""
        await self._delivered(self._made().ask(chat, prompt))

    async def settle(self, chat: str, prompt: str, said: str) -> None:
        """Replace a question's buttons by what came of it."""
        await self._delivered(self._made().settle(chat, prompt, said))

    async def send_file(self, chat: str, path: Path, media_type: str) -> None:
        """Send a file, or say that it waits where the channel carries none."""
        channel = self._made()
        send_file = getattr(channel, "send_file", None)
        if send_file is None:
            await self._delivered(channel.send(chat, f"The file {path.name} waits for you in the app."))
        else:
            await self._delivered(send_file(chat, path, media_type))

    def __getattr__(self, name: str) -> Any:
        """Give what else the author's object has, which its own tests may look at."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._made(), name)

    def _made(self) -> AuthorChannel:
        if self._channel is None:
            self._channel = self._make()
        return self._channel

    async def _delivered(self, sending: Awaitable[None]) -> None:
        """Turn what a library raised into the error that says a message was not delivered."""
        try:
            await sending
        except AtlasError:
            raise
        except Exception as error:
            raise AtlasError(f"The channel {self.name} did not deliver it: {error}", code="not_delivered") from error


class RegisteredExecutor:
    """The Executor of a name. Its author's object is made when it is first looked at."""

    def __init__(self, name: str, make: Callable[[], AuthorExecutor]) -> None:
        self.name = name
        self._make = make
        self._executor: AuthorExecutor | None = None

    def again(self) -> RegisteredExecutor:
        """Return the executor with its author's object not made yet."""
        return RegisteredExecutor(self.name, self._make)

    @property
    def title(self) -> str:
        """How people read it."""
        return self._made().title

    async def detect(self) -> Detection:
        """Look what is installed."""
        return await self._made().detect()

    def capabilities(self) -> Capabilities:
        """Say what it offers."""
        return self._made().capabilities()

    async def start(self, spec: ExecutorSpec, host: ExecutorHost) -> ExecutorInstance:
        """Start the harness."""
        return await self._made().start(spec, host)

    async def transcript(self, session: str, folder: Path) -> Transcript:
        """Read a session back."""
        return await self._made().transcript(session, folder)

    def __getattr__(self, name: str) -> Any:
        """Give the optional members, which Atlas asks for by a flag of the capabilities alone."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._made(), name)

    def _made(self) -> AuthorExecutor:
        if self._executor is None:
            self._executor = self._make()
        return self._executor
