#!/usr/bin/env python3
"""Write the reference pages from the code: commands, settings, tools, hooks, events, methods, exit codes.

``tools/gen_docs.py`` writes them; ``--check`` fails when a page is not what the code says.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import json
import re
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs"
MADE = "<!-- Made by tools/gen_docs.py from the code. Change the code and run it again. -->"


def commands() -> str:
    from typer.main import get_command

    from atlas_kernel.cli import VERSION, tree
    from atlas_kernel.discovery import discover

    found = [VERSION] + [command for manifest in discover().manifests.values() for command in manifest.cli]
    helps = {command.name: command.help for command in found}
    root: Any = get_command(tree(found))
    lines = [
        "# Commands",
        "",
        MADE,
        "",
        "Every command runs in the home that `atlas home use` chose, unless `--home NAME` stands before it.",
        "",
    ]
    for first, command in sorted(root.commands.items()):
        leaves = [(first, command)]
        if hasattr(command, "commands"):
            lines += [f"## `atlas {first}`", "", helps[first], ""]
            leaves = [(f"{first} {name}", leaf) for name, leaf in command.commands.items()]
        for name, leaf in leaves:
            level = "###" if " " in name else "##"
            lines += [f"{level} `atlas {name}`", "", (leaf.help or helps[name]).strip(), ""]
            shown = [parameter for parameter in leaf.params if not getattr(parameter, "hidden", False)]
            usage = " ".join(_usage(parameter) for parameter in shown)
            lines += ["```", f"atlas {name} {usage}".rstrip(), "```", ""]
            if shown:
                lines += ["| Argument | What it does |", "|---|---|"]
                lines += [f"| `{_usage(one)}` | {getattr(one, 'help', '') or ''} |" for one in shown]
                lines.append("")
    return "\n".join(lines)


def _usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.name if parameter.required else f"[{parameter.name}]"
    names = "/".join(parameter.opts)
    if not parameter.is_flag:
        names += f" {parameter.metavar or parameter.name.upper()}"
    return names if parameter.required else f"[{names}]"


def settings() -> str:
    from atlas_sdk.sections import CORE_SECTIONS

    kinds = list(CORE_SECTIONS)
    for _, module in _plugins():
        hook = getattr(module, "atlas_settings", None)
        kinds += hook() if hook else []
    lines = [
        "# Settings",
        "",
        MADE,
        "",
        "Read once at the start: the default, then `config.toml` in the home, then an `ATLAS_*` variable, then a flag.",
        "A blank variable counts as unset. An unknown key stops Atlas; an unknown variable is only reported.",
        "A secret is read from its variable alone, which then leaves the environment.",
        "Those marked *live* also change while Atlas runs.",
        "",
    ]
    for kind in sorted(kinds, key=lambda one: one.section):
        lines += [f"## [{kind.section}]", "", (kind.__doc__ or "").strip(), ""]
        lines += ["| Key | Default | Variable | What it does |", "|---|---|---|---|"]
        for key, field in kind.model_fields.items():
            extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
            default = "secret, unset" if extra.get("secret") else f"`{json.dumps(field.default)}`"
            live = " *Live.*" if extra.get("screen") else ""
            variable = f"ATLAS_{kind.section}_{key}".upper()
            lines.append(f"| `{key}` | {default} | `{variable}` | {field.description}{live} |")
        lines.append("")
    return "\n".join(lines)


def tools() -> str:
    lines = [
        "# Tools",
        "",
        MADE,
        "",
        "What the agent may call. Every call passes the approval gate on its final arguments.",
        "",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for name, module in _plugins():
            hook = getattr(module, "atlas_tools", None)
            made = hook(_Context(name, Path(folder), module)) if hook else []
            for tool in made:
                flags = [
                    "deferred" if tool.deferred else "always on",
                    *(["read-only"] if tool.read_only else []),
                    *(["failure-tolerant"] if tool.failure_tolerant else []),
                    *(["carried"] if tool.carried else []),
                ]
                lines += [
                    f"## `{tool.name}`",
                    "",
                    f"From the plugin `{name}`: {', '.join(flags)}.",
                    "",
                    tool.description,
                    "",
                ]
                lines += ["```json", json.dumps(tool.parameters, ensure_ascii=False, indent=2), "```", ""]
            for missing in sorted(_declared_tools(name) - {tool.name for tool in made} - {"*"}):
                lines += [
                    f"## `{missing}`",
                    "",
                    f"From the plugin `{name}`, while there is something for it to do.",
                    "",
                ]
    return "\n".join(lines)


def _declared_tools(name: str) -> set[str]:
    from atlas_kernel.discovery import discover

    return set(discover().manifests[name].tools)


class _Context:
    """As much of a plugin's context as making its tools takes: nothing is run. Of services it has the plugin's own."""

    def __init__(self, name: str, home: Path, module: Any) -> None:
        self.name = name
        self.home = home
        self.data_folder = home
        self.services = self
        self.clock = self
        self._module = module

    def now(self) -> datetime:
        return datetime.now(UTC)

    def need(self, key: Any) -> Any:
        return next((one.service for one in self._module.atlas_services(self) if one.key.name == key.name), None)

    get = need

    def section(self, kind: Any) -> Any:
        return kind()

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


def hooks() -> str:
    from atlas_sdk import hookspecs

    lines = ["# Hooks", "", MADE, "", inspect.getdoc(hookspecs) or "", ""]
    for node in _hookspecs():
        lines += [f"## `{node.name}`", "", "```python", _signature(node), "```", ""]
        lines += [*_fenced(ast.get_docstring(node) or ""), ""]
    return "\n".join(lines)


def _hookspecs() -> list[ast.FunctionDef]:
    from atlas_sdk import hookspecs

    source = ast.parse(Path(inspect.getfile(hookspecs)).read_text("utf-8"))
    return [node for node in source.body if isinstance(node, ast.FunctionDef)]


def _signature(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    returns = ast.unparse(node.returns) if node.returns else "None"
    return f"{node.name}({ast.unparse(node.args)}) -> {returns}"


def hook_page(node: ast.FunctionDef) -> str:
    """One hook on a page of its own: its docstring, what it returns, and which plugins of the bundle use it."""
    first, _, rest = (ast.get_docstring(node) or "").partition("\n")
    lines = [f"# {node.name}", "", first, "", MADE, "", "```python", _signature(node), "```", ""]
    lines += [*_fenced(rest.strip("\n")), ""]
    kind = ast.unparse(node.returns).removeprefix("list[").removesuffix("]") if node.returns else ""
    where = _where(kind)
    if where is not None:
        module, found = where
        lines += [f"## {kind}", "", f"From `{module}`.", "", *_fenced(inspect.getdoc(found) or ""), ""]
        members = [
            (name, (inspect.getdoc(member) or "").partition("\n")[0])
            for name, member in vars(found).items()
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
        ]
        if members:
            lines += ["| Member | What it is |", "|---|---|"]
            lines += [f"| `{name}` | {said} |" for name, said in members] + [""]
    users = [f"`{name}`" for name, module in _plugins() if hasattr(module, node.name)]
    lines += ["## Who uses it", "", f"Bundled plugins: {', '.join(users)}." if users else "No bundled plugin yet.", ""]
    lines += ["[All hooks](../../reference/hooks.md) · [Writing a plugin](../../extending/plugins.md)", ""]
    return "\n".join(lines)


def _where(kind: str) -> tuple[str, type] | None:
    """Return the class a hook's answer is made of and its module, where it is one class of the SDK."""
    from atlas_sdk import hookspecs

    tree = ast.parse(Path(inspect.getfile(hookspecs)).read_text("utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and kind in {alias.name for alias in node.names}:
            module = f"atlas_sdk.{node.module}"
            found = getattr(importlib.import_module(module), kind)
            return (module, found) if inspect.isclass(found) else None
    return None


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


def _fenced(text: str) -> list[str]:
    lines, inside = list[str](), False
    for line in text.splitlines():
        if line.startswith("    ") and not inside:
            lines.append("```python")
            inside = True
        lines.append(line[4:] if inside and line.startswith("    ") else line)
    return [*lines, "```"] if inside else lines


def events() -> str:
    from typing import get_args

    from atlas_sdk.events import AnyEvent

    lines = [
        "# Events",
        "",
        MADE,
        "",
        "Notifications of the wire.",
        "Durable ones are stored with what they tell of, and carry `number` (in the home) and `conversation_number`.",
        "Ephemeral ones have both at 0. All have `conversation`, which is null for what concerns the home.",
        "",
    ]
    for kind in get_args(get_args(AnyEvent)[0]):
        fields = [name for name in kind.model_fields if name not in ("type", "conversation")]
        durable = "Durable" if kind.durable else "Ephemeral"
        lines += [f"## `{kind.model_fields['type'].default}`", "", f"{durable}. {inspect.getdoc(kind)}", ""]
        lines += [f"Fields: {', '.join(f'`{name}`' for name in fields)}.", ""]
    return "\n".join(lines)


def exit_codes() -> str:
    from atlas_sdk.errors import ExitCode

    tree = ast.parse(Path(inspect.getfile(ExitCode)).read_text("utf-8"))
    body = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "ExitCode").body
    said = {
        node.targets[0].id: following.value.value
        for node, following in pairwise(body)
        if isinstance(node, ast.Assign) and isinstance(following, ast.Expr)
    }
    lines = ["# Exit codes", "", MADE, "", "| Code | Name | What it means |", "|---|---|---|"]
    lines += [f"| {int(code)} | `{code.name}` | {said[code.name]} |" for code in ExitCode]
    return "\n".join([*lines, ""])


def methods() -> str:
    lines = [
        "# Methods of the wire",
        "",
        MADE,
        "",
        "JSON-RPC 2.0 in text frames over one WebSocket at `/ws`.",
        "`initialize` comes first, and `atlas schema` prints the shapes.",
        "",
        "The last column says whether a program that Atlas itself runs may ask: *yes*; *without guests*, so long as no",
        "guest reads along in a turn that runs; or *no*, since it decides for you.",
        "",
        "| Method | Params | What it does | From inside |",
        "|---|---|---|---|",
        "| `initialize` | `client`, `version`, `protocol`, `token`, `after` | Comes first. | yes |",
    ]
    inside = {"open": "yes", "alone": "without guests", "closed": "no"}
    rows = []
    for name, module in _plugins():
        hook = getattr(module, "atlas_methods", None)
        for method in hook(_Context(name, ROOT, module)) if hook else []:
            params = ", ".join(f"`{field}`" for field in method.params.model_fields) or "–"
            rows.append(f"| `{method.name}` | {params} | {method.description} | {inside[method.inside]} |")
    return "\n".join([*lines, *sorted(rows), ""])


def _plugins() -> list[tuple[str, Any]]:
    from atlas_kernel.discovery import discover

    return [
        (name, importlib.import_module(manifest.module))
        for name, manifest in sorted(discover().manifests.items())
        if manifest.source == "bundled"
    ]


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands": commands,
    "reference/settings": settings,
    "reference/tools": tools,
    "reference/hooks": hooks,
    "reference/events": events,
    "reference/methods": methods,
    "reference/exit-codes": exit_codes,
    "plugins/sdk": sdk,
}


def pages() -> dict[str, Callable[[], str]]:
    """Return what makes each page, those of single hooks among them."""
    return PAGES | {f"plugins/hooks/{node.name}": partial(hook_page, node) for node in _hookspecs()}


def main() -> int:
    """Write or check the pages; the exit code is 1 where one has drifted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail when a page has drifted")
    check = parser.parse_args().check
    every = pages()
    (FOLDER / "plugins" / "hooks").mkdir(parents=True, exist_ok=True)
    gone = [path for path in (FOLDER / "plugins" / "hooks").glob("*.md") if f"plugins/hooks/{path.stem}" not in every]
    drifted = [f"plugins/hooks/{path.stem}" for path in gone]
    for path in gone if not check else []:
        path.unlink()
    for name, make in every.items():
        path = FOLDER / f"{name}.md"
        # Docstrings write code as reStructuredText does.
        text = re.sub(r"(?<!`)``(?!`)", "`", make()).rstrip() + "\n"
        if not path.exists() or path.read_text("utf-8") != text:
            drifted.append(name)
            if not check:
                path.write_text(text, "utf-8")
    if check and drifted:
        print(f"These reference pages have drifted: {', '.join(drifted)}. Run tools/gen_docs.py.")
        return 1
    print("The reference pages are what the code says." if not drifted else f"Wrote {', '.join(drifted)}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
