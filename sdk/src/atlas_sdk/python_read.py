"""What can be said of a plugin's Python by reading it, while nothing of it runs."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from pathlib import Path

from .folder_files import refusal
from .folder_parts import LONGEST_PYTHON
from .manifest import Manifest

_REGISTERED = {
    "register_tool": ("tool", "tools"),
    "register_channel": ("channel", "channels"),
    "register_executor": ("executor", "executors"),
    "register_reader": ("reader", "readers"),
    "register_hook": ("hook on", "hooks"),
    "register_command": ("command", "commands"),
    "register_cli_command": ("terminal command", "cli"),
    "register_call": ("call", "calls"),
}
"""What each method of ``register``'s ``ctx`` adds, and the field of the manifest that names it."""


def python_faults(folder: Path, manifest: Manifest) -> list[str]:
    """Return why a plugin's ``__init__.py`` would not load, as far as that is there to be read.

    That its text is Python, that ``register`` is one, and that what it registers first thing is declared. What depends
    on running it is not looked at, so an empty list promises nothing.
    """
    path = folder / "__init__.py"
    if refusal(folder, path, most_bytes=LONGEST_PYTHON):
        return []  # it is not loaded at all, which whoever reads the folder says
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what its author should know is no matter of whether it loads
            tree = ast.parse(path.read_bytes())
    except OSError:
        return []
    except SyntaxError as error:
        return [f"__init__.py cannot be imported: SyntaxError: {error.msg}. (__init__.py, line {error.lineno})"]
    except (ValueError, RecursionError, MemoryError) as error:
        return [f"__init__.py cannot be read as Python: {type(error).__name__}."]
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    register = next((one for one in reversed(found) if one.name == "register"), None)
    return list(_faults(register, manifest)) if register is not None else []


def _faults(register: ast.FunctionDef | ast.AsyncFunctionDef, manifest: Manifest) -> Iterator[str]:
    if isinstance(register, ast.AsyncFunctionDef):
        yield f"register(ctx) of {manifest.name} is async. Make it a plain function; what it registers may be async."
        return
    arguments = [*register.args.posonlyargs, *register.args.args]
    if not arguments:
        if register.args.vararg is None:
            yield f"register of {manifest.name} takes no ctx, by which it registers."
        return
    for statement in register.body:  # not what stands in an if: it may never come to that
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if not (isinstance(call.func.value, ast.Name) and call.func.value.id == arguments[0].arg):
            continue
        kind, field = _REGISTERED.get(call.func.attr, ("", ""))
        name = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
        if kind and isinstance(name, str) and not _is_declared(manifest, field, name):
            yield (
                f"The plugin {manifest.name} registers the {kind} {name[:60]!r}, and its manifest does not name it."
                f' Add it to "{field}" under "atlas" in .claude-plugin/plugin.json.'
            )


def _is_declared(manifest: Manifest, field: str, name: str) -> bool:
    named = [command.name for command in manifest.cli] if field == "cli" else getattr(manifest, field)
    return name in named or "*" in named
