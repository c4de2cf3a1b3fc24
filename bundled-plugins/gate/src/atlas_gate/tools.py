"""Everyday programs with an option, a file or a language of their own that runs commands."""

from __future__ import annotations

import json
import re

from atlas_gate.awk_code import awk_deeds
from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import OUTPUT, Part, Redirect, Word, is_constant, name_set
from atlas_gate.reader import Handler, Reader

_FIND_NARROWS = name_set(
    "-name -iname -path -ipath -wholename -regex -iregex -mtime -mmin -newer -size -empty -user -group "
    "-atime -ctime -amin -cmin -perm -lname -inum -links -nouser -nogroup -samefile"
)
_FIND_ALONE = name_set("-empty -nouser -nogroup")
_FIND_TAKES = (_FIND_NARROWS - _FIND_ALONE) | name_set(
    "-maxdepth -mindepth -type -xtype -printf -regextype -newermt -ilname -anewer -cnewer -used -fstype -context"
)
_FIND_RUNS = ("-exec", "-execdir", "-ok", "-okdir")
_DELETERS = ("rm", "unlink", "shred", "srm", "rmdir", "trash")
_GIT_COMMAND_SETTINGS = re.compile(
    r"(?:core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|diff\.external|gpg\.program"
    r"|pager\.\w+|.*\.(?:textconv|clean|smudge|process|cmd|command|driver)|credential\.helper)$",
    re.IGNORECASE,
)
_PROGRAM_PATH = re.compile(r"/(?:usr/)?(?:local/)?s?bin/[^/]+")
_GIT_RUNS_HOOKS = name_set("commit push pull merge rebase checkout switch am gc cherry-pick revert")
_GIT_VALUES = ("C", "c", "git-dir", "work-tree", "namespace", "exec-path", "config-env")


def _find(reader: Reader, part: Part) -> str:
    words = part.arguments
    index = 0
    while index < len(words) and re.fullmatch(r"-[HLPO]\d?|-D", words[index].text):
        index += 2 if words[index].text == "-D" else 1
    roots: list[Word] = []
    while index < len(words) and not words[index].text.startswith(("-", "(", "!")):
        roots.append(words[index])
        index += 1
    roots = roots or [Word(".")]
    expression = words[index:]
    texts = [word.text for word in expression]
    found = _found_words(roots, texts)
    position = 0
    while position < len(texts):
        text = texts[position]
        position += 1
        if text in _FIND_TAKES:
            position += 1
        elif text == "-delete":
            reader.run_words([Word("rm"), Word("-r"), *found], "find -delete")
        elif text in _FIND_RUNS:
            end = next((at for at in range(position, len(texts)) if texts[at] in (";", "+")), len(texts))
            command = list(expression[position:end])
            position = end + 1
            if command and command[0].text.rsplit("/", 1)[-1] in _DELETERS:
                command[:1] = [Word("rm"), Word("-r")]
            for one in found:
                reader.run_words(_with_found(command, one), f"find {text}")
        elif text in ("-fprint", "-fls", "-fprintf", "-fprint0") and position < len(texts):
            reader.add(Part((), redirects=(Redirect("", ">", expression[position]),)))
    end_of_name = "\0" if "-print0" in texts else "\n"
    return "".join(word.expanded() + end_of_name for word in found)


def _with_found(command: list[Word], one: Word) -> list[Word]:
    words: list[Word] = []
    for word in command:
        if word.text == "{}":
            words.append(one)
        else:
            words.append(Word(word.text.replace("{}", one.text), word.is_pattern))
    return words


def _found_words(roots: list[Word], texts: list[str]) -> list[Word]:
    """What `find` finds: its roots themselves, or what a name under them may be."""
    if not any(text in _FIND_NARROWS for text in texts):
        return roots
    name = next((texts[at + 1] for at, text in enumerate(texts[:-1]) if text in ("-name", "-iname")), OUTPUT)
    if any(text in ("!", "-not") for text in texts):
        return [Word(root.text.rstrip("/") + "/*", True) for root in roots]
    others = any(text in _FIND_NARROWS and text not in ("-name", "-iname") for text in texts)
    if others:
        name = OUTPUT + name
    return [Word(root.text.rstrip("/") + "/" + name, True) for root in roots]


def _fd(reader: Reader, part: Part) -> str:
    texts = part.texts
    for at, text in enumerate(texts):
        if text in ("-x", "-X", "--exec", "--exec-batch"):
            command = list(part.arguments[at + 1 :])
            if command and command[0].text.rsplit("/", 1)[-1] in _DELETERS:
                command[:1] = [Word("rm"), Word("-r")]
            reader.run_words(_with_found(command, Word(OUTPUT)), f"fd {text}")
            break
    return OUTPUT


def _rg(reader: Reader, part: Part) -> str:
    command = read_options(part.arguments, with_value=("pre", "hostname-bin")).value("pre")
    if command:
        reader.run_words([Word(command)], "rg --pre")
    return OUTPUT


def _git(reader: Reader, part: Part) -> str:
    words = part.arguments
    start = first_operand(words, with_value=_GIT_VALUES)
    options = read_options(words[:start], with_value=_GIT_VALUES)
    for name, value in (*options.values, *options.long):
        if name == "c":
            setting, _, command = value.partition("=")
            _git_setting(reader, setting, command)
    if start >= len(words):
        return OUTPUT
    verb, rest = words[start].text, words[start + 1 :]
    texts = [word.text for word in rest]
    if verb in _GIT_RUNS_HOOKS and reader.state.files:
        for path, hook in list(reader.state.files.items()):
            if "/.git/hooks/" in path:
                reader.run_text(hook, "git hook")
    match verb:
        case "rebase":
            between = read_options(rest, with_value=("x", "exec")).value("x", "exec")
            if between:
                reader.run_text(between, "git rebase -x")
        case "difftool":
            shown = read_options(rest, with_value=("x", "extcmd", "t")).value("x", "extcmd")
            if shown:
                reader.run_text(shown, "git difftool -x")
        case "bisect" if texts[:1] == ["run"]:
            reader.run_words(rest[1:], "git bisect run")
        case "submodule" if "foreach" in texts:
            after = [text for text in texts[texts.index("foreach") + 1 :] if text != "--recursive"]
            reader.run_text(" ".join(after), "git submodule foreach")
        case "filter-branch":
            for at, text in enumerate(texts[:-1]):
                if text.endswith("-filter"):
                    reader.run_text(texts[at + 1], f"git {text}")
        case "clone" | "fetch" | "pull" | "push" | "ls-remote" | "archive":
            asked = read_options(rest, with_value=("u", "upload-pack", "receive-pack", "exec"))
            names = ("upload-pack", "receive-pack", "exec", *(("u",) if verb == "clone" else ()))
            for command in [value for name, value in (*asked.values, *asked.long) if name in names and value]:
                reader.run_text(command, f"git {verb}")
            for text in texts:
                if text.startswith("ext::"):
                    reader.run_text(text[5:], "git ext")
        case "grep":
            shown = read_options(rest, with_value=("e", "f")).value("open-files-in-pager")
            shown = shown or next((text[2:] for text in texts if re.match(r"-O.", text)), None)
            if shown:
                reader.run_text(shown, "git grep -O")
        case "config":
            plain = [text for text in texts if not text.startswith("-") and text != "set"]
            if len(plain) > 1:
                _git_setting(reader, plain[0], plain[1])
        case _:
            aliased = reader.state.variables.get(f"git alias.{verb}")
            if isinstance(aliased, str):
                _run_git_alias(reader, aliased, rest)
    return OUTPUT


def _git_setting(reader: Reader, setting: str, command: str) -> None:
    if setting.lower().startswith("alias."):
        reader.set_variable("git " + setting.lower(), command)
        if command.startswith("!"):
            reader.run_text(command[1:], "git alias")
    elif _GIT_COMMAND_SETTINGS.match(setting) and command not in ("", "true", "false"):
        reader.run_text(command.removeprefix("!"), f"git {setting}")


def _run_git_alias(reader: Reader, aliased: str, rest: tuple[Word, ...]) -> None:
    words = " ".join(word.shown() for word in rest)
    if aliased.startswith("!"):
        reader.run_text(f"{aliased[1:]} {words}", "git alias")
    else:
        reader.run_text(f"git {aliased} {words}", "git alias")


def _make(reader: Reader, part: Part) -> str:
    options = read_options(part.arguments, with_value=("f", "C", "j", "I", "file", "makefile", "directory", "eval"))
    if options.has("n", "dry-run", "just-print"):
        return OUTPUT
    targets = [word.text for word in options.operands if "=" not in word.text]
    settings = dict(word.text.split("=", 1) for word in options.operands if "=" in word.text)
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


def _expect(reader: Reader, part: Part) -> str:
    texts = [*part.texts, part.input]
    for word in part.arguments:
        if not word.text.startswith("-") and " " not in word.text:
            texts.append(reader.read_file(reader.state.path(word)) or "")
    for text in texts:
        for match in re.finditer(r"(?:^|[;\n{])\s*(?:spawn|exec|system)\s+([^;\n}]+)", text):
            reader.run_text(match[1], part.name)
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


def _crontab(reader: Reader, part: Part) -> str:
    """Read the commands of a table that is put in place."""
    operands = read_options(part.arguments, with_value=("u",)).operands
    text = part.input
    if operands and operands[0].text != "-":
        text = reader.read_file(reader.state.path(operands[0])) or ""
    for line in text.splitlines():
        entry = re.match(r"\s*(?:@\w+|(?:[\d*/,\-A-Za-z]+\s+){5})\s*(\S.*)", line)
        if entry:
            reader.run_text(entry[1], "crontab")
    return OUTPUT


def _tar(reader: Reader, part: Part) -> str:
    for at, text in enumerate(part.texts):
        for option in (
            "--checkpoint-action",
            "--to-command",
            "--use-compress-program",
            "--info-script",
            "--rsh-command",
            "--new-volume-script",
        ):
            if text.startswith(option):
                value = text.partition("=")[2] or "".join(part.texts[at + 1 : at + 2])
                reader.run_text(value.removeprefix("exec="), f"tar {option}")
        if text in ("-I", "-F") and at + 1 < len(part.texts):
            reader.run_text(part.texts[at + 1], "tar -I")
    return OUTPUT


def _option_command(*names: str) -> Handler:
    """A program whose options name a command: `sort --compress-program`, `rsync -e`, `man -P`."""

    def handler(reader: Reader, part: Part) -> str:
        options = read_options(part.arguments, with_value=names)
        for name, value in (*options.values, *options.long):
            if name in names and value:
                reader.run_text(value, f"{part.name} {name}")
        return OUTPUT

    return handler


def _zip(reader: Reader, part: Part) -> str:
    for before, text in zip(["", *part.texts], part.texts, strict=False):
        name, _, value = text.partition("=")
        command = text if before in ("-TT", "--unzip-command") else value if name == "--unzip-command" else ""
        if command:
            reader.run_text(command, "zip -TT")
    return OUTPUT


def _transfer(reader: Reader, part: Part) -> str:
    """`sftp`, `scp` and their kind: options of ssh, and lines that leave to a shell."""
    for name, value in read_options(part.arguments, with_value=tuple("oSFiPcJlDBbRsX")).values:
        command = re.match(r"(?:proxycommand|localcommand)[ =](.*)", value, re.IGNORECASE | re.DOTALL)
        if name == "o" and command is not None:
            reader.run_text(command[1], f"{part.name} -o")
        elif name == "S" and value:
            reader.run_text(value, f"{part.name} -S")
    return _bang(reader, part)


def _bang(reader: Reader, part: Part) -> str:
    """Lines of standard input that leave to a shell by an exclamation mark."""
    texts = [part.input, *(value for value in [read_options(part.arguments, with_value=("e",)).value("e")] if value)]
    for text in texts:
        for line in text.splitlines():
            leaves = re.match(r"\s*~?!\s*(\S.*)", line)
            if leaves is not None and (part.name not in ("mail", "mailx") or line.lstrip().startswith("~")):
                reader.run_text(leaves[1], part.name)
    return OUTPUT


def _awk(reader: Reader, part: Part) -> str:
    words = part.arguments
    index = first_operand(words, with_value=("F", "v", "f", "assign"))
    named = read_options(words[:index], with_value=("F", "v", "f", "file")).value("f", "file")
    if named is not None or index < len(words):
        text = words[index].text if named is None else part.input if named in ("-", "/dev/stdin") else ""
        if named is not None and not text:
            text = reader.read_file(reader.state.path(named)) or ""
        printed = re.fullmatch(r"\s*\{\s*print\s+\$(\d+)\s*;?\s*\}\s*", text)
        separator = read_options(words[:index], with_value=("F", "v", "f")).value("F")
        if printed and is_constant(part.input) and part.input and index == len(words) - 1:
            rows = [line.split(separator) for line in part.input.splitlines()]
            column = int(printed[1]) - 1
            return "".join((row[column] if 0 <= column < len(row) else " ".join(row)) + "\n" for row in rows)
        values = dict(setting.partition("=")[::2] for setting in _awk_settings(words[:index]))
        for kind, command, fed in awk_deeds(text, values, part.input, reader.deadline.step):
            if kind == "write":
                reader.add(Part((), redirects=(Redirect("", ">", Word(command)),)))
            else:
                reader.unread(part, command)
                reader.run_text(command, "awk", stdin=fed)
    return OUTPUT


def _awk_settings(words: tuple[Word, ...]) -> list[str]:
    options = read_options(words, with_value=("F", "v", "f", "assign", "file"))
    return [value for name, value in (*options.values, *options.long) if name in ("v", "assign")]


def _editor(reader: Reader, part: Part) -> str:
    for at, text in enumerate(part.texts):
        value = text[1:] if text.startswith("+") else ""
        if text in ("-c", "--cmd", "--eval", "-eval", "-ex", "--ex", "--eval-command", "-s", "-S") and at + 1 < len(
            part.texts
        ):
            value = part.texts[at + 1]
        if value:
            _escape_to_shell(reader, value, part.name)
            script = reader.read_file(reader.state.path(value)) if text in ("-s", "-S", "-x") else None
            for line in (script or "").splitlines():
                _escape_to_shell(reader, line, part.name)
    if part.input:
        for line in part.input.splitlines():
            _escape_to_shell(reader, line, part.name)
    return OUTPUT


def _escape_to_shell(reader: Reader, text: str, name: str) -> None:
    """Commands like `:!rm` of vi, `shell rm` of gdb, `.shell rm` of sqlite and `\\! rm` of psql."""
    match = re.match(
        r"\s*(?::?\s*(?:silent!?\s+)?!|\\!|\.(?:shell|system)\s|(?:shell|system|make)\s)\s*(.+)", text, re.DOTALL
    )
    if match and is_constant(match[1]):
        reader.run_text(match[1], name)
    copied = re.search(r"\bcopy\b.*\bprogram\s+'((?:[^']|'')*)'", text, re.IGNORECASE | re.DOTALL)
    if copied:
        reader.run_text(copied[1].replace("''", "'"), name)
    process = re.search(r"\((?:call-process|start-process|process-file)\b([^()]*)\)", text)
    if process:
        reader.run_words([Word(one) for one in re.findall(r'"((?:\\.|[^"\\])*)"', process[1])], name)
    started = re.match(r"\s*:?(?:te|term|terminal)!?\s+(.+)", text, re.DOTALL)
    if started and name in ("vim", "nvim"):
        reader.run_text(started[1], name)
    called = re.search(r"(?:system\(|execute\(|popen\(|shell-command)\s*(['\"])(.*?)\1\s*\)", text)
    if called:
        reader.run_text(called[2], name)


def _database(reader: Reader, part: Part) -> str:
    for text in part.texts:
        for line in text.splitlines():
            _escape_to_shell(reader, line, part.name)
    for line in part.input.splitlines():
        _escape_to_shell(reader, line, part.name)
    options = read_options(part.arguments, with_value=("f", "file", "c", "d", "U", "h", "p"))
    script = options.value("f", "file")
    if script and part.name in ("psql",):
        content = reader.read_file(reader.state.path(script))
        if content is not None:
            reader.add(Part((Word(part.name), Word("-c"), Word(content))))
    return OUTPUT


def _list(reader: Reader, part: Part) -> str:
    """`ls -d` prints the names it is given; what is in a folder is not known."""
    options = read_options(part.arguments, with_value=("I", "w"))
    programs = bool(options.operands) and all(_PROGRAM_PATH.fullmatch(word.text) for word in options.operands)
    if (options.has("d", "directory") and options.operands) or programs:
        return "".join(word.expanded() + "\n" for word in options.operands)
    return OUTPUT


def _link(reader: Reader, part: Part) -> str:
    operands = read_options(part.arguments, with_value=("t", "S")).operands
    if operands:
        target = operands[1] if len(operands) > 1 else Word(operands[0].text.rstrip("/").rsplit("/", 1)[-1])
        source = operands[0].text
        path = reader.state.path(target)
        if path != reader.state.path(source):
            reader.link(path, reader.state.path(source))
    return ""


def _copied_file(reader: Reader, part: Part) -> str:
    """A copy is read as its original; a link made in the line is followed."""
    operands = read_options(part.arguments, with_value=("t", "S", "m", "o", "g")).operands
    if len(operands) == 2:
        source, target = reader.state.path(operands[0]), reader.state.path(operands[1])
        content = reader.state.files.get(source)
        if content is None and is_constant(source):
            raw = reader.world.read_file(source)
            content = None if raw is None else reader.read_file(source, is_script=False)
        if content is not None:
            reader.state.files[target] = content
        elif part.name != "mv" and _PROGRAM_PATH.fullmatch(source):
            reader.state.programs[target] = source
    return ""


def _hash(reader: Reader, part: Part) -> str:
    """`hash -p path name` makes the shell run a path under another name."""
    options = read_options(part.arguments, with_value=("p",))
    path = options.value("p")
    if path:
        for word in options.operands:
            reader.state.aliases[word.text] = path
    return ""


HANDLERS: dict[str, Handler] = {
    "find": _find,
    "gfind": _find,
    "fd": _fd,
    "fdfind": _fd,
    "rg": _rg,
    "git": _git,
    "make": _make,
    "gmake": _make,
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), _package_script),
    "tar": _tar,
    "bsdtar": _tar,
    "crontab": _crontab,
    "just": _just,
    **dict.fromkeys(("expect", "tclsh", "wish"), _expect),
    "sort": _option_command("compress-program"),
    "rsync": _option_command("e", "rsh", "rsync-path"),
    "split": _option_command("filter"),
    "gsplit": _option_command("filter"),
    "man": _option_command("P", "pager", "H"),
    **dict.fromkeys(("scp", "sftp"), _transfer),
    **dict.fromkeys(("ftp", "lftp", "dc", "mail", "mailx"), _bang),
    "zip": _zip,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    **dict.fromkeys(("vi", "vim", "nvim", "ex", "ed", "gdb", "lldb", "emacs", "less", "more"), _editor),
    **dict.fromkeys(("psql", "mysql", "mariadb", "sqlite3"), _database),
    **dict.fromkeys(("cp", "mv", "install"), _copied_file),
    "ln": _link,
    "ls": _list,
    "hash": _hash,
}
