"""Everything the Python of a plugin folder may import from Atlas. It only grows: nothing is removed or renamed.

from atlas.plugins.sdk import PluginContext, ToolHost

def register(ctx: PluginContext) -> None:
    ctx.register_tool("say_hello", "Say hello.", {"type": "object"}, hello)
"""

from __future__ import annotations

from atlas_sdk import API_VERSION
from atlas_sdk.author_context import AuthorContext as PluginContext
from atlas_sdk.author_context import LlmError, LlmMessage, PluginLlm
from atlas_sdk.authored import AuthorChannel as Channel
from atlas_sdk.authored import AuthorExecutor as Executor
from atlas_sdk.authored import AuthorFileChannel as FileChannel
from atlas_sdk.authored import AuthorKeyedChannel as KeyedChannel
from atlas_sdk.authored import AuthorLimitedChannel as LimitedChannel
from atlas_sdk.channels import ChannelHost, Inbound, InboundFile, Prompt
from atlas_sdk.commands import CommandHost
from atlas_sdk.executors import (
    Account,
    Called,
    Capabilities,
    CommandsChanged,
    Compacted,
    Connector,
    Detection,
    ExecutorError,
    ExecutorFile,
    ExecutorHost,
    ExecutorInstance,
    ExecutorSpec,
    Finished,
    LimitReached,
    ModelChoice,
    Option,
    Permission,
    PlanUsage,
    Question,
    Returned,
    Said,
    SessionFolder,
    SessionInfo,
    SlashCommand,
    Started,
    Thought,
    Transcript,
    TranscriptEntry,
    UsageChanged,
    UsageWindow,
)
from atlas_sdk.executors import PermissionVerdict as Verdict
from atlas_sdk.services.llm import LlmResult
from atlas_sdk.tools import ToolError, ToolHost, ToolResult

__all__ = [
    "API_VERSION",
    "Account",
    "Called",
    "Capabilities",
    "Channel",
    "ChannelHost",
    "CommandHost",
    "CommandsChanged",
    "Compacted",
    "Connector",
    "Detection",
    "Executor",
    "ExecutorError",
    "ExecutorFile",
    "ExecutorHost",
    "ExecutorInstance",
    "ExecutorSpec",
    "FileChannel",
    "Finished",
    "Inbound",
    "InboundFile",
    "KeyedChannel",
    "LimitReached",
    "LimitedChannel",
    "LlmError",
    "LlmMessage",
    "LlmResult",
    "ModelChoice",
    "Option",
    "Permission",
    "PlanUsage",
    "PluginContext",
    "PluginLlm",
    "Prompt",
    "Question",
    "Returned",
    "Said",
    "SessionFolder",
    "SessionInfo",
    "SlashCommand",
    "Started",
    "Thought",
    "ToolError",
    "ToolHost",
    "ToolResult",
    "Transcript",
    "TranscriptEntry",
    "UsageChanged",
    "UsageWindow",
    "Verdict",
]
