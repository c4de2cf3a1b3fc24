"""The homes of the journeys, and a stand-in for the model in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator

import pytest

from ..journeys.conftest import AtlasHome, atlas

__all__ = ["atlas"]


@pytest.fixture
def server(atlas: AtlasHome) -> Iterator[AtlasHome]:
    """A server that runs, whose model does what each message says."""
    command = [sys.executable, "-m", "atlas_sdk.testing.model_server", "--obey"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as model:
        try:
            assert model.stdout is not None
            atlas.use_model(json.loads(model.stdout.readline())["url"])
            atlas.start()
            yield atlas
        finally:
            model.kill()
