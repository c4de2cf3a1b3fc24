"""The conformance suites: ``await check_tool(tool, arguments)`` and its like, one for each contract.

| Suite | Checks | Takes |
|---|---|---|
| ``check_tool`` | a ``Tool`` | the tool, arguments it can be called with |
| ``check_provider`` | a ``Provider`` | what makes one |
| ``check_channel`` | a ``Channel`` | what makes one, and how somebody writes to it |
| ``check_executor`` | an ``Executor`` | what makes one |
| ``check_reader`` | a ``Reader`` | the reader, a file and its media type |
| ``check_store`` | a ``StoreService`` | what opens one over a folder |
| ``check_vault`` | a ``VaultService`` | what opens one over a folder |
| ``check_gate`` | a ``GateService`` | what makes one over a folder |
| ``check_questions`` | a ``QuestionsService`` | what makes one |
"""

from __future__ import annotations

from .channel import check_channel
from .executor import check_executor
from .gate import check_gate
from .provider import check_provider
from .questions import check_questions
from .reader import check_reader
from .store import check_store
from .tool import check_tool
from .vault import check_vault

__all__ = [
    "check_channel",
    "check_executor",
    "check_gate",
    "check_provider",
    "check_questions",
    "check_reader",
    "check_store",
    "check_tool",
    "check_vault",
]
