"""The client of the Agent Client Protocol, for an executor whose harness speaks it.

from atlas.plugins.acp import AcpExecutor

def register(ctx):
    ctx.register_executor("gemini", lambda: AcpExecutor("Gemini CLI", ["gemini", "--experimental-acp"]))
"""

from __future__ import annotations

from atlas_sdk.acp import ACP_VERSION, AcpExecutor, AcpSession

__all__ = ["ACP_VERSION", "AcpExecutor", "AcpSession"]
