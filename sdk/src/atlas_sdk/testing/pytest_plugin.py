"""The pytest plugin of ``atlas-sdk``: fixtures for the tests of a plugin, on as soon as the SDK is installed.

``anyio_backend``, ``atlas_home``, ``atlas_context``, ``atlas_clock``, ``atlas_plugin``, ``model_server`` and
``atlas_app``; each says in its docstring what it gives. Every pytest run on the machine loads this module, so it
imports nothing: what a fixture needs is imported when a test asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Bring the fixtures in after those of other plugins, so that ``anyio_backend`` is ours and not anyio's."""
    import pytest

    # A broken promise is to show both sides of its comparison, as a test does.
    pytest.register_assert_rewrite("atlas_sdk.testing.conformance")
    from . import fixtures

    config.pluginmanager.register(fixtures, "atlas_sdk.fixtures")


def pytest_collect_directory(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Take a plugin folder for a folder: pytest would import its ``__init__.py``, which only Atlas can."""
    if not (path / ".claude-plugin" / "plugin.json").is_file():
        return None
    import pytest

    return pytest.Dir.from_parent(parent, path=path)
