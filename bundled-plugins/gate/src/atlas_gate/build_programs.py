"""Programs that run what a project's file says: `make`, `just` and the scripts of a package."""

from __future__ import annotations

import json
import re

from atlas_gate.options import read_options
from atlas_gate.parts import OUTPUT, Part
from atlas_gate.reader import Handler, Reader


def _make(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=("f", "C", "j", "I", "file", "makefile", "directory", "eval"))
    if options.has("n", "dry-run", "just-print"):
        return OUTPUT
    targets = [word.text for word in options.operands if "=" not in word.text]
    settings = dict(word.text.split("=", 1) for word in options.operands if "=" in word.text)
    if "SHELL" in settings:
        reader.run_text(settings["SHELL"], "make SHELL")
    folder = options.value("C", "directory")
    named = options.value("f", "file", "makefile")
    before = reader.state.folder
    if folder:
        reader.state.folder = reader.state.path(folder)
    try:
        text = part.input if named in ("-", "/dev/stdin") else None
        for name in [named] if named else ["GNUmakefile", "makefile", "Makefile"]:
            text = text if text is not None else reader.read_file(reader.state.path(name))
        added = options.value("eval")
        if added is not None:
            text = f"{added}\n{text or ''}"
        if text:
            for line in make_recipe(text, targets, settings):
                reader.run_text(line, f"make {' '.join(targets)}".rstrip())
    finally:
        reader.state.folder = before
    return OUTPUT


def _just(reader: Reader, part: Part) -> str:
    """`just` reads recipes much like makefiles, with blanks for the tab."""
    targets = [text for text in part.texts if not text.startswith("-") and "=" not in text]
    for name in ("justfile", "Justfile", ".justfile"):
        text = reader.read_file(reader.state.path(name)) if "--list" not in part.texts else None
        if text:
            text = re.sub(r"^[ \t]+", "\t", text, flags=re.MULTILINE).replace("{{", "${").replace("}}", "}")
            for line in make_recipe(text, targets, {}):
                reader.run_text(line, "just")
            break
    return OUTPUT


def make_recipe(text: str, targets: list[str], settings: dict[str, str]) -> list[str]:
    """The recipe lines of the targets and of what they need, with the makefile's variables put in."""
    variables: dict[str, str] = {}
    rules: dict[str, tuple[list[str], list[str]]] = {}
    current: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for recipe in current:
                recipe.append(line.strip())
            continue
        setting = re.match(r"\s*(?:export\s+|override\s+)?([\w.-]+)\s*[:?+]?:?=\s*(.*)", line)
        if setting:
            variables[setting[1]] = setting[2]
            continue
        rule = re.match(r"([^\s:#][^:#=]*?)\s*::?(?!=)\s*([^;#]*)(?:;(.*))?", line)
        if rule:
            current = []
            for name in rule[1].split():
                needs, recipe = rules.setdefault(name, ([], []))
                needs.extend(rule[2].split())
                if rule[3]:
                    recipe.append(rule[3].strip())
                current.append(recipe)
    variables.update(settings)
    wanted = targets or [next((name for name in rules if not name.startswith(".")), "")]
    lines: list[str] = []
    seen: set[str] = set()
    while wanted:
        name = wanted.pop(0)
        if name in seen or name not in rules:
            continue
        seen.add(name)
        needs, recipe = rules[name]
        wanted.extend(needs)
        lines.extend(
            _make_text(line.lstrip("@-+ "), variables).replace("$$", "$").replace("$@", name) for line in recipe
        )
    return lines


def _make_text(text: str, variables: dict[str, str]) -> str:
    for _ in range(4):
        text = re.sub(r"\$[({]([\w.-]+)[)}]", lambda match: variables.get(match[1], "${" + match[1] + "}"), text)
    return text


def _package_script(reader: Reader, part: Part) -> str:
    """`npm run name` and its kind: the script is in package.json."""
    texts = [text for text in part.texts if not text.startswith("-")]
    shorthand = {"test": "test", "t": "test", "start": "start", "stop": "stop", "restart": "restart"}
    if texts[:1] == ["run"] or texts[:1] == ["run-script"]:
        name = texts[1] if len(texts) > 1 else ""
    elif texts and (texts[0] in shorthand or part.name != "npm"):
        name = shorthand.get(texts[0], texts[0])
    elif texts[:1] in (["ci"], ["install"], ["i"]):
        name = "install"
    else:
        return OUTPUT
    content = reader.read_file(reader.state.path("package.json")) if name else None
    if not content:
        return OUTPUT
    try:
        scripts = json.loads(content).get("scripts", {})
    except (ValueError, AttributeError):
        return OUTPUT
    names = (f"pre{name}", name, f"post{name}", *(("prepare",) if name == "install" else ()))
    for one in names:
        command = scripts.get(one) if isinstance(scripts, dict) else None
        if isinstance(command, str):
            reader.run_text(command, f"{part.name} run {one}")
    return OUTPUT


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(("make", "gmake"), _make),
    "just": _just,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package_script),
}
