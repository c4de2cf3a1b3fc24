"""The reference pages: commands, settings, tools, events, methods and exit codes."""

from __future__ import annotations

import ast
import inspect
import json
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

from docs_code import MADE, ROOT, Context, plugins


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
    for _, module in plugins():
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
        for name, module in plugins():
            hook = getattr(module, "atlas_tools", None)
            made = hook(Context(name, Path(folder), module)) if hook else []
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
    for name, module in plugins():
        hook = getattr(module, "atlas_methods", None)
        for method in hook(Context(name, ROOT, module)) if hook else []:
            params = ", ".join(f"`{field}`" for field in method.params.model_fields) or "–"
            rows.append(f"| `{method.name}` | {params} | {method.description} | {inside[method.inside]} |")
    return "\n".join([*lines, *sorted(rows), ""])


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
