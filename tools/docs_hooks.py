"""The pages of hooks: all of them on one, and each on its own."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path

from docs_code import MADE, fenced, plugins


def hooks() -> str:
    from atlas_sdk import hookspecs

    lines = ["# Hooks", "", MADE, "", inspect.getdoc(hookspecs) or "", ""]
    for node in written_hooks():
        lines += [f"## `{node.name}`", "", "```python", _signature(node), "```", ""]
        lines += [*fenced(ast.get_docstring(node) or ""), ""]
    return "\n".join(lines)


def written_hooks() -> list[ast.FunctionDef]:
    """Return the hooks as they are written."""
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
    lines += [*fenced(rest.strip("\n")), ""]
    kind = ast.unparse(node.returns).removeprefix("list[").removesuffix("]") if node.returns else ""
    where = _where(kind)
    if where is not None:
        module, found = where
        lines += [f"## {kind}", "", f"From `{module}`.", "", *fenced(inspect.getdoc(found) or ""), ""]
        members = [
            (name, (inspect.getdoc(member) or "").partition("\n")[0])
            for name, member in vars(found).items()
            if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, property))
        ]
        if members:
            lines += ["| Member | What it is |", "|---|---|"]
            lines += [f"| `{name}` | {said} |" for name, said in members] + [""]
    users = [f"`{name}`" for name, module in plugins() if hasattr(module, node.name)]
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
