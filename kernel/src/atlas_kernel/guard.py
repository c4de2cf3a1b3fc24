"""The one place that catches everything: a plugin that fails is named, and costs nobody else anything."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from atlas_sdk.errors import AtlasError, is_plain, sentence
from atlas_sdk.stopping import cancellation

T = TypeVar("T")
log = logging.getLogger("atlas.guard")


class PluginFailed(AtlasError):
    """A plugin raised where Atlas called it."""

    def __init__(self, plugin: str, doing: str, error: BaseException) -> None:
        self.plugin = plugin
        self.error = error
        said = sentence(error)
        super().__init__(f"The plugin {plugin} failed while {doing}: {said}", code="plugin_failed")


def attributed(plugin: str, doing: str, call: Callable[..., T], *arguments: Any) -> T:
    """Call a plugin's function; what it raises becomes PluginFailed with its name, also what would end Atlas."""
    try:
        return call(*arguments)
    except BaseException as error:
        if not is_plain(error):
            log.exception("A plugin raised", extra={"plugin": plugin, "doing": doing})
        raise PluginFailed(plugin, doing, error) from error


async def caught(call: Callable[..., Awaitable[T]], *arguments: Any) -> tuple[T | None, BaseException | None]:
    """Await a call and return its value or its error, also one that would end Atlas. Cancellation alone passes."""
    try:
        return await call(*arguments), None
    except BaseException as error:
        if (stopped := cancellation(error)) is not None:
            raise stopped from None
        return None, error


async def logged(doing: str, call: Callable[..., Awaitable[object]], *arguments: Any) -> bool:
    """Await a call whose failure concerns nobody else: it is logged, and False returned."""
    _, error = await caught(call, *arguments)
    if error is not None:
        log.error("Failed while %s: %s", doing, sentence(error), exc_info=None if is_plain(error) else error)
    return error is None
