"""The page of the names that a plugin's author uses."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

from docs_code import MADE

SDK_GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Tools": (
        "A tool's function gets `(arguments, host)` and returns what the model reads.",
        ("ToolHost", "ToolResult", "ToolError"),
    ),
    "Commands and your model": (
        "A slash command's function gets `(text, host)`.",
        ("CommandHost", "PluginLlm", "LlmMessage", "LlmResult", "LlmError"),
    ),
    "Channels": (
        "A channel is made by the function given to `register_channel`.",
        ("Channel", "FileChannel", "KeyedChannel", "LimitedChannel", "ChannelHost", "Inbound", "InboundFile", "Prompt"),
    ),
    "Executors": (
        "An executor is made by the function given to `register_executor`.\n"
        "What is behind a flag of `Capabilities` is called only where the flag is on.",
        (
            "Executor",
            "ExecutorInstance",
            "ExecutorHost",
            "ExecutorSpec",
            "Capabilities",
            "Detection",
            "Account",
            "Question",
            "Option",
            "Permission",
            "Verdict",
            "Transcript",
            "TranscriptEntry",
            "SessionInfo",
            "SessionFolder",
            "ModelChoice",
            "Connector",
            "SlashCommand",
            "PlanUsage",
            "UsageWindow",
            "ExecutorFile",
            "ExecutorError",
        ),
    ),
    "What an executor reports": (
        "Handed to `host.event`, in order.",
        (
            "Started",
            "Said",
            "Thought",
            "Called",
            "Returned",
            "Compacted",
            "LimitReached",
            "UsageChanged",
            "CommandsChanged",
            "Finished",
        ),
    ),
    "The rest": ("", ("PluginContext", "API_VERSION")),
}


def sdk() -> str:
    """Every name of ``atlas.plugins.sdk``. A name that stands in no group stops the making of the page."""
    from atlas.plugins import acp
    from atlas.plugins import sdk as face
    from atlas_sdk.testing import examples, fixtures

    grouped = [name for _, names in SDK_GROUPS.values() for name in names]
    if set(grouped) != set(face.__all__) or len(grouped) != len(face.__all__):
        raise SystemExit(f"SDK_GROUPS and atlas.plugins.sdk differ: {sorted(set(grouped) ^ set(face.__all__))}")
    lines = [
        "# The names an author uses",
        "",
        "All that the Python of a plugin folder may import from Atlas is in `atlas.plugins.sdk`.",
        "",
        MADE,
        "",
        "It only grows: nothing in it is removed or renamed.",
        "[Your first plugin](first-plugin.md) shows it at work.",
        "",
        "## `register(ctx)`",
        "",
        "`ctx` is a `PluginContext`.",
        "It registers while `register` runs, which has ten seconds; the rest works for as long as the plugin is on.",
        "What is registered has to be named in the manifest, under `atlas`.",
        "",
        "| Member | What it is |",
        "|---|---|",
    ]
    tree = ast.parse(Path(inspect.getfile(face.PluginContext)).read_text("utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "AuthorContext").body
    for node in body:
        if (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and not node.name.startswith("_")
            and node.name != "close"
        ):
            said = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
            lines.append(f"| `ctx.{_called(node)}` | {said} |")
    llm = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "PluginLlm").body
    complete = next(node for node in llm if isinstance(node, ast.AsyncFunctionDef))
    said = " ".join((ast.get_docstring(complete) or "").split())
    lines += [f'| `ctx.llm.{_called(complete)}` | {said} The manifest says `"llm": true`. |', ""]
    for title, (about, names) in SDK_GROUPS.items():
        lines += [f"## {title}", ""] + ([about, ""] if about else []) + ["| Name | What it is |", "|---|---|"]
        for name in names:
            found = getattr(face, name)
            said = (
                "The version of this surface."
                if name == "API_VERSION"
                else (inspect.getdoc(found) or "").partition("\n\n")[0].replace("\n", " ")
            )
            members = _members(found)
            more = f" {', '.join(f'`{one}`' for one in members)}." if members else ""
            lines.append(f"| `{name}` | {said}{more} |")
        lines.append("")
    lines += ["## `atlas.plugins.acp`", "", (inspect.getdoc(acp) or "").partition("\n")[0], ""]
    lines += ["| Name | What it is |", "|---|---|"]
    for name in acp.__all__:
        said = (inspect.getdoc(getattr(acp, name)) or "").partition("\n\n")[0].replace("\n", " ")
        lines.append(
            f"| `{name}` | {said if inspect.isclass(getattr(acp, name)) else 'The version of ACP it speaks.'} |"
        )
    lines.append("")
    lines += [
        "## In tests",
        "",
        "These fixtures come with Atlas, in every run of pytest.",
        "",
        "| Fixture | What it gives |",
        "|---|---|",
    ]
    fixture_tree = ast.parse(Path(inspect.getfile(fixtures)).read_text("utf-8"))
    for node in fixture_tree.body:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            said = (ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ")
            lines.append(f"| `{node.name}` | {said} |")
    lines += ["", (inspect.getdoc(examples) or ""), ""]
    return "\n".join(lines)


def _called(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return a method as an author calls it; a property as an author reads it."""
    if any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list):
        return node.name
    required = len(node.args.args) - len(node.args.defaults)
    names = [arg.arg + ("=" if index >= required else "") for index, arg in enumerate(node.args.args)][1:]
    names += [f"{arg.arg}=" for arg in node.args.kwonlyargs]
    return f"{node.name}({', '.join(names)})"


def _members(found: Any) -> list[str]:
    """Return what one uses of a class: its fields, or what its protocol has."""
    if not inspect.isclass(found) or issubclass(found, Exception) or found.__name__ in ("AuthorContext",):
        return []
    fields = getattr(found, "__dataclass_fields__", None) or getattr(found, "model_fields", None)
    if fields:
        return list(fields)
    return [
        name
        for name, member in vars(found).items()
        if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
    ]
