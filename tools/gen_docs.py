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
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "reference"
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
            for tool in hook(_Context(name, Path(folder))) if hook else []:
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
    return "\n".join(lines)


class _Context:
    """As much of a plugin's context as making its tools takes: nothing is run."""

    def __init__(self, name: str, home: Path) -> None:
        self.name = name
        self.home = home
        self.data_folder = home

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments, **named: None


def hooks() -> str:
    from atlas_sdk import hookspecs

    lines = ["# Hooks", "", MADE, "", inspect.getdoc(hookspecs) or "", ""]
    source = ast.parse(Path(inspect.getfile(hookspecs)).read_text("utf-8"))
    for node in source.body:
        if isinstance(node, ast.FunctionDef):
            signature = (
                f"{node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else 'None'}"
            )
            lines += [f"## `{node.name}`", "", "```python", signature, "```", ""]
            lines += [*_fenced(ast.get_docstring(node) or ""), ""]
    return "\n".join(lines)


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
        "| Method | Params | What it does |",
        "|---|---|---|",
        "| `initialize` | `client`, `version`, `protocol`, `token`, `after` | The first request of a connection. |",
    ]
    rows = []
    for name, module in _plugins():
        hook = getattr(module, "atlas_methods", None)
        for method in hook(_Context(name, ROOT)) if hook else []:
            params = ", ".join(f"`{field}`" for field in method.params.model_fields) or "–"
            rows.append(f"| `{method.name}` | {params} | {method.description} |")
    return "\n".join([*lines, *sorted(rows), ""])


def _plugins() -> list[tuple[str, Any]]:
    from atlas_kernel.discovery import discover

    return [
        (name, importlib.import_module(manifest.module))
        for name, manifest in sorted(discover().manifests.items())
        if manifest.source == "bundled"
    ]


PAGES: dict[str, Callable[[], str]] = {
    "commands": commands,
    "settings": settings,
    "tools": tools,
    "hooks": hooks,
    "events": events,
    "methods": methods,
    "exit-codes": exit_codes,
}


def main() -> int:
    """Write or check the pages; the exit code is 1 where one has drifted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing, and fail when a page has drifted")
    check = parser.parse_args().check
    FOLDER.mkdir(parents=True, exist_ok=True)
    drifted = []
    for name, make in PAGES.items():
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
