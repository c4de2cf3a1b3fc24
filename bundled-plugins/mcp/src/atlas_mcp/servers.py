"""The servers of a home: those in ``mcp.json`` and those plugins bring. Known without being started."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
from anyio.abc import TaskGroup

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError, MisuseError, NotFoundError
from atlas_sdk.regular_file import read_regular_text
from atlas_sdk.services import ServiceKey
from atlas_sdk.services.home import HOME
from atlas_sdk.services.plugins import PLUGINS
from atlas_sdk.services.retirements import RETIREMENTS

from .attempt import Attempt
from .config import ServerConfig, of_plugin, read_file
from .listing import Listing, Shelf
from .server import Server

LEARN_SECONDS = 8.0
"""How long a search for tools waits for servers nobody has seen yet. One that npx downloads first takes longer; it is
found by the next search."""
RELOAD_SECONDS = 60.0
"""The same where somebody asked for it and looks on."""
STARTED_AT_ONCE = 4
"""To know what they offer: each is a process that may first download itself."""
_READY_SECONDS = 5.0
_CLOSE_SECONDS = 4.0


class Servers:
    """Every server and its connection. Connections are tasks of ``serve``, and none outlives the plugin."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self._file = ctx.home / "mcp.json"
        self._shelf = Shelf(ctx.data_folder / "lists")
        self._stamp: tuple[int, int] | None = None
        self._home: tuple[ServerConfig, ...] = ()
        self.problems: tuple[str, ...] = ()
        """What is wrong with ``mcp.json`` as a whole."""
        self._listings: dict[str, Listing] = {}
        self._servers: dict[str, Server] = {}
        self._few = anyio.Semaphore(STARTED_AT_ONCE)
        self._group: TaskGroup | None = None
        self._ready = anyio.Event()

    # --- what there is -------------------------------------------------------------------------------

    async def open(self) -> None:
        """Read ``mcp.json`` and what servers offered the last time. Starts nothing."""
        self._listings = dict(await anyio.to_thread.run_sync(self._shelf.read))
        await self.look()

    async def look(self) -> bool:
        """Read ``mcp.json`` when it changed; say whether it did. A broken one leaves what was known before."""
        stamp = self._seen()  # before every turn, and quicker than asking a thread for it
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        return await anyio.to_thread.run_sync(self._read, stamp)

    def configs(self) -> dict[str, ServerConfig]:
        """Return every server by its name; where two have one name the home's own counts."""
        home = self._ctx.services.get(HOME)
        added = home.added("atlas_mcp_servers") if home is not None else ()
        found = {one.item.name: of_plugin(one.item, one.plugin) for one in added}
        return dict(sorted({**found, **{one.name: one for one in self._home}}.items()))

    def offers(self) -> tuple[tuple[ServerConfig, Listing], ...]:
        """Return what each server that can be used offers, as far as that is known."""
        known = ((config, self.listing(config)) for config in self.configs().values() if _usable(config))
        return tuple((config, listing) for config, listing in known if listing is not None)

    def listing(self, config: ServerConfig) -> Listing | None:
        """Return what a server offered the last time, or None where it was never asked or is another by now."""
        found = self._listings.get(config.name)
        return found if found is not None and found.digest == config.digest else None

    def server(self, name: str) -> Server:
        """Return a server by its name, not connected yet perhaps. Raises NotFoundError."""
        config = self.configs().get(name)
        if config is None:
            retired = self._ctx.services.get(RETIREMENTS)
            if retired is not None and (why := retired.sentences("mcp").get(name)):
                raise NotFoundError(why, hint="atlas marketplace list shows others.")
            names = ", ".join(self.configs())
            there = f"Those there are: {names}." if names else "None is set up yet."
            raise NotFoundError(f"There is no MCP server {name[:80]!r}. {there}")
        known = self._servers.get(name)
        if known is None or known.config != config:
            if known is not None:
                self._retire(known)
            known = Server(self._ctx, config, start=self._start, listed=self._listed)
            self._servers[name] = known
        return known

    # --- their life ----------------------------------------------------------------------------------

    async def serve(self) -> None:
        """Keep connections until cancelled."""
        async with anyio.create_task_group() as group:
            self._group = group
            self._ready.set()
            try:
                await anyio.sleep_forever()
            finally:
                self._group = None

    async def close(self) -> None:
        """End every connection and return when their processes are gone."""
        with anyio.move_on_after(_CLOSE_SECONDS):
            async with anyio.create_task_group() as group:
                for server in self._servers.values():
                    group.start_soon(server.close)

    async def settle(self) -> None:
        """End connections to servers that are gone or are others by now, once their calls are done."""
        configs = self.configs()
        for name, server in list(self._servers.items()):
            if configs.get(name) != server.config:
                del self._servers[name]
                self._retire(server)

    async def keyed(self, secret: str) -> None:
        """Have the servers that read a secret take it as it is: at once those that failed, others at their next use."""
        failed = []
        for server in self._servers.values():
            if secret in {match[1] for match in server.config.places()}:
                server.forgive()
                if server.state == "failed":
                    failed.append(server)
                else:
                    self._retire(server)
        await self.learn(failed)

    def unseen(self, *, plugin: str | None = None) -> tuple[Server, ...]:
        """Return the servers nobody knows the tools of, of one plugin or all; those that just failed rest."""
        found = [
            self.server(config.name)
            for config in self.configs().values()
            if _usable(config) and self.listing(config) is None and plugin in (None, config.plugin)
        ]
        return tuple(server for server in found if not server.is_resting)

    async def learn(self, servers: Iterable[Server], *, folder: Path | None = None) -> None:
        """Start servers in the background, to know what they offer. Returns at once."""
        for server in servers:
            await self._run(self._learn_one, server, folder, anyio.Event())

    async def learn_soon(self, *, folder: Path | None = None, seconds: float = LEARN_SECONDS) -> tuple[str, ...]:
        """Start servers nobody has seen yet and wait a little; return a sentence for each that is not there."""
        unseen = self.unseen()
        if not unseen:
            return ()
        known = {server: anyio.Event() for server in unseen}
        for server, done in known.items():
            await self._run(self._learn_one, server, folder, done)
        with anyio.move_on_after(seconds):
            for done in known.values():
                await done.wait()
        said = []
        for server in unseen:
            if server.state in ("starting", "idle"):
                said.append(f"The MCP server {server.config.name} is still starting: search again in a moment.")
            elif server.state == "failed":
                said.append(server.why)
        return tuple(said)

    async def reload(self, name: str = "") -> None:
        """Read ``mcp.json`` anew, and connect to one server anew, or to each that failed or was never seen."""
        self._stamp = None
        changed = await self.look()
        await self.settle()
        if name:
            if changed:
                await self.refresh()
            server = self.server(name)
            await server.close()
            server.forgive()
            await server.connected()
            return
        for server in self._servers.values():
            server.forgive()
        await self.refresh()
        await self.learn_soon(seconds=RELOAD_SECONDS)

    async def refresh(self) -> None:
        """Have tools and commands made anew of what is known."""
        try:
            await self._ctx.services.need(PLUGINS).refresh()
        except AtlasError as error:  # what was known stays good
            self._ctx.logger.warning("The tools of MCP servers could not be made anew: %s", error)

    async def _learn_one(self, server: Server, folder: Path | None, done: anyio.Event) -> None:
        try:
            async with self._few:
                await server.connected(folder)
        except AtlasError as error:
            self._ctx.logger.debug("Nothing was learnt from an MCP server: %s", error)
        finally:
            done.set()

    async def _listed(self, listing: Listing) -> None:
        if self._listings.get(listing.server) == listing:
            return
        self._listings[listing.server] = listing
        try:
            await anyio.to_thread.run_sync(self._shelf.write, listing)
        except OSError as error:
            self._ctx.logger.warning("What an MCP server offers could not be kept: %s", error.strerror)
        await self.refresh()

    def _retire(self, server: Server) -> None:
        if self._group is not None:
            self._group.start_soon(_close_later, server)

    async def _start(self, work: Callable[[Attempt], Awaitable[None]], attempt: Attempt) -> None:
        await self._run(work, attempt)

    async def run(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run something as a task of the plugin's."""
        await self._run(work)

    async def _run(self, work: Callable[..., Awaitable[None]], *arguments: object) -> None:
        with anyio.move_on_after(_READY_SECONDS):
            await self._ready.wait()
        if self._group is None:
            raise MisuseError("No MCP server is started while Atlas starts or closes.")
        self._group.start_soon(cast(Any, work), *arguments)

    def _seen(self) -> tuple[int, int] | None:
        try:
            stat = self._file.stat()
        except OSError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def _read(self, stamp: tuple[int, int] | None) -> bool:
        before = (self._home, self.problems)
        try:
            text = read_regular_text(self._file) if stamp is not None else "{}"
            self._home, self.problems = read_file(text, self._ctx.home)
        except (OSError, ValueError) as error:
            self.problems = (f"{self._file} cannot be read: {error}. What it said before still holds.",)
        return (self._home, self.problems) != before


async def _close_later(server: Server) -> None:
    await server.close(when_idle=True)


def _usable(config: ServerConfig) -> bool:
    return not config.disabled and not config.why


SERVERS: ServiceKey[Servers] = ServiceKey("mcp", 1)
"""The plugin's own servers, for its hooks."""
