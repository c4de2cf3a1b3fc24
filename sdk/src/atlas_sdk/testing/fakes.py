"""Fakes of what a plugin is given: objects that work, in memory, and keep the promises of the real ones.

| Fake | Stands for |
|---|---|
| ``FakeContext``, ``FakeServices``, ``FakeClock`` | the ``ctx`` of a plugin, and what it reaches through it |
| ``FakeStore``, ``FakeDisk`` | the store; the same disk in a second store is a restart |
| ``FakeVault``, ``FakeQuestions``, ``FakeGate``, ``FakeSettings`` | those services |
| ``FakeProvider`` | a model, from a script |
| ``FakeChannel``, ``FakeFileChannel`` | a channel, with people who write and press buttons when a test says so |
| ``FakeToolHost``, ``FakeChannelHost``, ``FakeExecutorHost`` | what a running tool, channel or executor calls |

They are no mocks: nothing is recorded but what the contract hands over, and what would be refused is refused.
"""

from __future__ import annotations

from .fake_channel import FakeChannel, FakeFileChannel
from .fake_context import FakeClock, FakeContext, FakeServices
from .fake_gate import FakeGate
from .fake_hosts import FakeChannelHost, FakeEffect, FakeExecutorHost, FakeToolHost
from .fake_provider import FakeProvider
from .fake_questions import FakeQuestions
from .fake_settings import FakeSettings
from .fake_store import FakeStore
from .fake_tables import FakeDisk
from .fake_vault import FakeVault

__all__ = [
    "FakeChannel",
    "FakeChannelHost",
    "FakeClock",
    "FakeContext",
    "FakeDisk",
    "FakeEffect",
    "FakeExecutorHost",
    "FakeFileChannel",
    "FakeGate",
    "FakeProvider",
    "FakeQuestions",
    "FakeServices",
    "FakeSettings",
    "FakeStore",
    "FakeToolHost",
    "FakeVault",
]
