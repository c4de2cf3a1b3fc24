"""A plugin's life in a home: found, waiting for consent, on, off, broken and why, or needing another."""

from __future__ import annotations

import builtins
import importlib
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any, cast

import anyio
import anyio.to_thread

from atlas_sdk.beside import offer, withdraw
from atlas_sdk.consent import declared, digest
from atlas_sdk.context import Clock
from atlas_sdk.errors import AtlasError, MisuseError, NeedsConsentError, NotFoundError, SettingsError, sentence
from atlas_sdk.events import PluginChanged
from atlas_sdk.homes import Home
from atlas_sdk.hooks import Observer
from atlas_sdk.hooks_apart import apart
from atlas_sdk.loading import Beside, Loading
from atlas_sdk.manifest import Manifest
from atlas_sdk.services.folders import FOLDERS
from atlas_sdk.services.plugins import PluginRow, PluginState
from atlas_sdk.services.store import STORE

from .consent import Choices
from .discovery import Found
from .events import Bus
from .guard import PluginFailed, attributed, caught, logged
from .plugins import Context, Manager, Plugin
from .runtime import Generations, build
from .services import Registry
from .settings import Settings

log = logging.getLogger("atlas.plugins")
LOAD_SECONDS = 10.0
GATHER_SECONDS = 0.25  # what one that is loaded waits for those beside it, to be built into one generation
REST_SECONDS = 3.0
"""What a start waits for plugins that did not come with Atlas; fifty that do nothing take a tenth of it."""
GONE = "It was on, and it is gone. Put it back, or have Atlas forget it: atlas plugins disable {name}."


class Plugins:
    """The plugins of one home. One change at a time; turns that run keep what they began with."""

    def __init__(
        self,
        *,
        home: Home,
        find: Callable[[], Found],
        choices: Choices,
        settings: Settings,
        registry: Registry,
        generations: Generations,
        bus: Bus,
        clock: Clock,
        objects: Mapping[str, object],
        start: Callable[..., None],
    ) -> None:
        self._home = home
        self._find = find
        self._choices = choices
        self._settings = settings
        self._registry = registry
        self._generations = generations
        self._bus = bus
        self._clock = clock
        self._objects = objects
        self._start = start
        self._lock = anyio.Lock()
        self._stale = False
        self._beside = Beside()
        self.manager = Manager()
        self.why: dict[str, str] = {}
        self._look()
        self._loading = Loading(home)
        self.why.update(self._loading.left())

    def _look(self) -> None:
        """Find what plugins there are. One that is gone or cannot be read has a manifest of its name alone."""
        found = self._find()
        gone = {name: GONE.format(name=name) for name in self._choices.turned_on()}
        broken = {name: why for name, why in (gone | found.broken).items() if name not in found.manifests}
        self._found = Found({name: Manifest(name, version="") for name in broken} | found.manifests, broken)
        self.why.update(broken)
        candidates: dict[str, tuple[Manifest, ...]] = {}
        for manifest in self._found.manifests.values():
            for service in manifest.provides:
                name = service.partition("@")[0]
                candidates[name] = (*candidates.get(name, ()), manifest)
        self._registry.know(candidates)

    def manifests(self) -> tuple[Manifest, ...]:
        """Return the manifest of every plugin found."""
        return tuple(manifest for name, manifest in self._found.manifests.items() if name not in self._found.broken)

    def _missing(self, manifest: Manifest) -> builtins.list[str]:
        """Return what a plugin needs that is not there: services, and plugins in a version."""
        missing = [service for service in manifest.requires if not self._registry.has(service)]
        for needed in manifest.dependencies:
            other = self.manager.on.get(needed.name)
            if other is None or not needed.accepts(other.manifest.version):
                missing.append(f"the plugin {needed.name} {needed.range}".rstrip())
        return missing

    async def start_all(self) -> None:
        """Turn on what is wanted and agreed to: what came with Atlas, then the rest, waited for a little."""
        async with self._lock:
            await self._load_wanted("bundled")
            self._settings.refuse_unknown(section for manifest in self.manifests() for section in manifest.sections)
            self._rebuild()
        rest = anyio.Event()
        self._start(self._load_rest, rest)
        with anyio.move_on_after(REST_SECONDS):
            await rest.wait()

    async def _load_rest(self, done: anyio.Event) -> None:
        async with self._lock:
            await self._load_wanted("package", "folder", but=self._loading.slow())
            done.set()  # what hung the last time may take its time
            await self._load_wanted("package", "folder")

    async def _load_wanted(self, *sources: str, but: Collection[str] = ()) -> None:
        """Load in rounds those whose needs are met; what did not come with Atlas side by side, for one may hang."""
        tried: set[str] = set()
        while ready := [
            manifest
            for name, manifest in sorted(self._found.manifests.items())
            if not (name in tried or name in self.manager.on or name in self.why or self._missing(manifest))
            and name not in but
            and (not sources or manifest.source in sources)
            and self._choices.wants(manifest)
            and self._choices.consented(manifest)
        ]:
            tried.update(manifest.name for manifest in ready)
            self._beside.expect(manifest.name for manifest in ready if manifest.source != "bundled")
            async with anyio.create_task_group() as group:
                for manifest in ready:
                    if manifest.source == "bundled":
                        await self._try_load(manifest)
                    else:
                        group.start_soon(self._try_load, manifest)

    async def _try_load(self, manifest: Manifest) -> None:
        bundled = manifest.source == "bundled"
        try:
            with self._loading.of(manifest):
                limit = anyio.move_on_after(None if bundled else 2 * LOAD_SECONDS)
                with self._beside.coming(manifest.name), limit:
                    await self._load(manifest)
                if limit.cancelled_caught:
                    self._unregister(manifest)
                    self._break(manifest.name, f"It took over {2 * LOAD_SECONDS:.0f} seconds to start.")
                elif not bundled:
                    self._stale = True
                    await self._beside.rest(GATHER_SECONDS)
                    if self._stale:  # else one that came on beside it was quicker
                        self._rebuild()
        except PluginFailed as failed:
            if bundled and isinstance(failed.error, SettingsError):
                raise failed.error from None  # a broken file of settings stops Atlas, not the plugin that read it
            self._break(manifest.name, str(failed))

    async def _load(self, manifest: Manifest) -> None:
        name = manifest.name
        plugin = Plugin(Context(manifest, self._home, self._clock, self._registry, self._settings, self._choices))
        try:
            implementation = self._objects.get(name)
            if implementation is None:
                implementation = await self._import(plugin.context)
            self.manager.register(plugin, implementation)
            for _, kind in self.manager.contributions("atlas_settings", only=name):
                if kind.section not in manifest.sections:
                    raise MisuseError(f"its manifest does not name the section {kind.section!r}.")
                self._settings.add(kind, owner=name)
            offered = {str(item.key): item for _, item in self.manager.contributions("atlas_services", only=name)}
            for service, item in offered.items():
                if service not in manifest.provides:
                    raise MisuseError(f"its manifest does not name the service {service!r}.")
                self._registry.add(name, item)
            if missing := sorted(set(manifest.provides) - set(offered)):
                raise MisuseError(f"its manifest names {missing[0]}, and it does not offer it.")
            for _, schema in self.manager.contributions("atlas_schema", only=name):
                await self._registry.need(STORE).migrate(name, schema)
            for _, startup in self.manager.contributions("atlas_startup", only=name):
                _, error = await caught(startup)
                if error is not None:
                    raise PluginFailed(name, "starting", error)
            work = [item for _, item in self.manager.contributions("atlas_background", only=name)]
        except PluginFailed:
            self._unregister(manifest)
            raise
        except AtlasError as error:
            self._unregister(manifest)
            raise PluginFailed(name, "being turned on", error) from error
        self.why.pop(name, None)
        if work:
            self._start(self._background, plugin, work)

    async def _import(self, context: Context) -> object:
        manifest = context.manifest
        offer(manifest)
        if str(FOLDERS) in manifest.requires:
            with anyio.move_on_after(LOAD_SECONDS):
                implementation, error = await caught(self._registry.need(FOLDERS).load, manifest, context)
                if error is not None:
                    raise PluginFailed(manifest.name, "being loaded", error)
                return implementation
            raise MisuseError(f"Its register took over {LOAD_SECONDS:.0f} seconds.")

        def load() -> object:
            module = attributed(manifest.name, "being imported", importlib.import_module, manifest.module)
            return module if manifest.source == "bundled" else apart(module)

        with anyio.move_on_after(LOAD_SECONDS):
            return await anyio.to_thread.run_sync(load, abandon_on_cancel=True)
        raise MisuseError(f"It took over {LOAD_SECONDS:.0f} seconds to import.")

    async def _background(self, plugin: Plugin, work: list[Callable[[], Awaitable[None]]]) -> None:
        async def all_of_it() -> None:
            with plugin.scope():
                async with anyio.create_task_group() as group:
                    for item in work:
                        group.start_soon(cast(Any, item))

        _, error = await caught(all_of_it)
        if error is not None:
            log.error("A plugin's background work failed", exc_info=error, extra={"plugin": plugin.manifest.name})
            async with self._lock:
                if self.manager.on.get(plugin.manifest.name) is plugin:
                    self._break(plugin.manifest.name, f"Its background work failed: {sentence(error)}")
                    await self._take_off(plugin.manifest.name)

    def _break(self, name: str, why: str) -> None:
        self.why[name] = why
        log.error("A plugin is off: %s", why, extra={"plugin": name})

    def _unregister(self, manifest: Manifest) -> None:
        self.manager.unregister(manifest.name)
        self._registry.remove(manifest.name)
        withdraw(manifest)
        self._settings.remove(manifest.name)

    def _rebuild(self) -> None:
        """Build the next generation; a plugin whose answer will not do is taken out, and the rest built again."""
        self._stale = False
        while True:
            try:
                runtime = build(self._generations.current.number + 1, self.manager)
                break
            except PluginFailed as failed:
                if isinstance(failed.error, SettingsError) and not self._generations.current.number:
                    raise failed.error from None
                self._break(failed.plugin, str(failed))
                for name in self._dependents(failed.plugin):
                    self._retire(name)
        before = {name for name, _ in self._generations.current.observers}
        self._generations.replace(runtime)
        for name, observer in runtime.observers:
            plugin = self.manager.on[name]
            if name not in before or plugin.fresh:
                self._start(self._observe, plugin, observer)
        for plugin in self.manager.on.values():
            plugin.fresh = False

    async def _observe(self, plugin: Plugin, observer: Observer) -> None:
        with plugin.scope():
            async with self._bus.subscribe() as feed:
                async for event in feed:
                    await logged(f"{plugin.manifest.name} observed {event.event.type}", observer.observe, event)

    def _dependents(self, name: str) -> list[str]:
        """Return a plugin and those that need a service only it provides, the neediest first."""
        gone, order = {name}, [name]
        changed = True
        while changed:
            changed = False
            lost = {
                service
                for plugin in gone
                if plugin in self.manager.on
                for service in self.manager.on[plugin].manifest.provides
            }
            for other in self.manager.on.values():
                needs = {*other.manifest.requires, *(needed.name for needed in other.manifest.dependencies)}
                if other.manifest.name not in gone and (lost | gone) & needs:
                    gone.add(other.manifest.name)
                    order.insert(0, other.manifest.name)
                    changed = True
        return [plugin for plugin in order if plugin in self.manager.on]

    def _retire(self, name: str) -> None:
        """Take a plugin's hooks away now, and its services once no turn holds the generation it was in."""
        plugin = self.manager.on[name]
        self.manager.unregister(name)
        self._start(self._unload_later, plugin, self._generations.current.number)

    async def _unload_later(self, plugin: Plugin, number: int) -> None:
        await self._generations.released(number)
        await plugin.unload()
        if plugin.manifest.name not in self.manager.on:
            self._unregister(plugin.manifest)

    async def _take_off(self, name: str) -> None:
        for gone in self._dependents(name):
            self._retire(gone)
            if gone != name:
                self.why.pop(gone, None)
        self._rebuild()
        await anyio.lowlevel.checkpoint()

    async def unload_all(self) -> None:
        """Unload every plugin, those last that others need."""
        for plugin in reversed([*self.manager.on.values()]):
            await plugin.unload()
            withdraw(plugin.manifest)

    async def list(self) -> tuple[PluginRow, ...]:
        return tuple(self._row(manifest) for _, manifest in sorted(self._found.manifests.items()))

    def _row(self, manifest: Manifest) -> PluginRow:
        state, why = self._state(manifest)
        return PluginRow(
            name=manifest.name,
            version=manifest.version,
            description=manifest.description,
            source=manifest.source,
            state=state,
            why=why,
            provides=manifest.provides,
            requires=manifest.requires,
            declares=declared(manifest),
            digest=digest(manifest),
            wanted=self._choices.wants(manifest),
            agreed=self._choices.of(manifest.name).agreed,
        )

    def _state(self, manifest: Manifest) -> tuple[PluginState, str]:
        if manifest.name in self.manager.on:
            return "on", ""
        if manifest.name in self.why:
            return "broken", self.why[manifest.name]
        if not self._choices.wants(manifest):
            return "off", ""
        if not self._choices.consented(manifest):
            return "waiting", f"It waits for your consent: atlas plugins enable {manifest.name}."
        missing = ", ".join(self._missing(manifest))
        return "needs", f"It needs {missing}, which is not on." if missing else "It is still being turned on."

    def _named(self, name: str) -> Manifest:
        if name not in self._found.manifests:
            raise NotFoundError(f"There is no plugin {name[:80]!r}.", hint="atlas plugins list shows those there are.")
        return self._found.manifests[name]

    async def enable(self, name: str, *, consent: str = "") -> PluginRow:
        async with self._lock:
            self._look()  # what is agreed to is what is there
            manifest = self._named(name)
            if name in self.manager.on:
                return self._row(manifest)
            if name in self._found.broken:
                raise NotFoundError(f"The plugin {name} cannot be turned on: {self._found.broken[name]}")
            if manifest.source != "bundled" and consent != digest(manifest) and not self._choices.consented(manifest):
                raise NeedsConsentError(
                    f"The plugin {name} runs only once you agreed to what it declares.",
                    hint=f"See it and agree with: atlas plugins enable {name}.",
                    code="needs_consent",
                )
            if missing := self._missing(manifest):
                raise NeedsConsentError(
                    f"The plugin {name} needs {', '.join(missing)} first.",
                    hint="Turn it on, or a plugin that provides it.",
                )
            self.why.pop(name, None)
            await self._try_load(manifest)
            if name in self.why:
                raise MisuseError(self.why[name])
            self._choices.turn(name, on=True, consent=manifest)
            await self._load_wanted()  # those that waited for a service of it
            self._rebuild()
        row = self._row(manifest)
        await self._tell(row)
        if row.state != "on":
            raise MisuseError(row.why)
        return row

    async def disable(self, name: str) -> PluginRow:
        manifest = self._named(name)
        if manifest.required:
            raise MisuseError(f"The plugin {name} stays on: Atlas's own commands run on it.")
        async with self._lock:
            self._choices.turn(name, on=False)
            self._loading.forget(name)
            self.why.pop(name, None)
            if name in self.manager.on:
                gone = self._dependents(name)
                await self._take_off(name)
                for other in gone:
                    await self._tell(self._row(self._found.manifests[other]))
            self._look()  # one that is gone is then forgotten
        return self._row(manifest)

    async def refresh(self, name: str | None = None) -> None:
        async with self._lock:
            before = {row.name: row for row in await self.list()}
            self.why = {known: why for known, why in self.why.items() if known not in (name, *self._found.broken)}
            self._look()
            for gone in [one for one in self.manager.on if one == name or self._changed(one)]:
                if gone in self.manager.on:
                    await self._take_off(gone)
            await self._load_wanted()
            self._rebuild()
            rows = await self.list()
        for row in rows:
            if row.name == name or row != before.get(row.name):
                await self._tell(row)

    def _changed(self, name: str) -> bool:
        """Whether a plugin that is on is gone, or declares what nobody agreed to."""
        known = self._found.manifests
        return name not in known or name in self._found.broken or not self._choices.consented(known[name])

    async def _tell(self, row: PluginRow) -> None:
        changed = PluginChanged(name=row.name, state=row.state, why=row.why)
        await logged("telling of a plugin", self._bus.announce, changed)

    async def set(self, name: str, setting: str, value: str | None) -> None:
        self._choices.set(self._named(name), setting, value)
