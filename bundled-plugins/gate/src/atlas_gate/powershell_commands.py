"""PowerShell's cmdlets: their aliases, their parameters, and their equals in the other shell."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from atlas_gate.parts import DECODED, FETCHED, OUTPUT, Part, Word, is_constant, name_set
from atlas_gate.words import shell_split

if TYPE_CHECKING:
    from atlas_gate.powershell import PowerShellReader

KEYWORDS: Final = name_set(
    "if elseif else while for foreach switch try catch finally do until function filter param begin "
    "process end return throw exit trap data"
)
ALIASES: Final[dict[str, str]] = {
    **dict.fromkeys(("ri", "rm", "rmdir", "rd", "del", "erase"), "remove-item"),
    "iex": "invoke-expression",
    "icm": "invoke-command",
    **dict.fromkeys(("irm",), "invoke-restmethod"),
    **dict.fromkeys(("iwr", "curl", "wget"), "invoke-webrequest"),
    **dict.fromkeys(("gc", "cat", "type"), "get-content"),
    **dict.fromkeys(("gci", "ls", "dir"), "get-childitem"),
    **dict.fromkeys(("cp", "copy", "cpi"), "copy-item"),
    **dict.fromkeys(("mv", "move", "mi"), "move-item"),
    **dict.fromkeys(("ren", "rni"), "rename-item"),
    **dict.fromkeys(("ni", "md", "mkdir"), "new-item"),
    **dict.fromkeys(("kill", "spps"), "stop-process"),
    "spsv": "stop-service",
    "sls": "select-string",
    "sajb": "start-job",
    **dict.fromkeys(("saps", "start"), "start-process"),
    **dict.fromkeys(("%", "foreach"), "foreach-object"),
    **dict.fromkeys(("?", "where"), "where-object"),
    **dict.fromkeys(("echo", "write"), "write-output"),
    **dict.fromkeys(("sl", "cd", "chdir"), "set-location"),
    "pushd": "push-location",
    **dict.fromkeys(("sal",), "set-alias"),
    **dict.fromkeys(("nal",), "new-alias"),
    "gcm": "get-command",
    "gi": "get-item",
    "gl": "get-location",
    "gps": "get-process",
    "ps": "get-process",
    "clc": "clear-content",
    "cli": "clear-item",
    "ac": "add-content",
    "sc": "set-content",
    "rp": "remove-itemproperty",
    "rvpa": "resolve-path",
    "select": "select-object",
    "sort": "sort-object",
    "tee": "tee-object",
    "sasv": "start-service",
    "ipmo": "import-module",
    "ii": "invoke-item",
    "pwsh": "powershell",
    "cmd.exe": "cmd",
}


@dataclass(frozen=True, slots=True)
class Call:
    """One command with its words, script blocks and what is piped into it."""

    name: str
    words: list[Word]
    blocks: list[str]
    piped: list[str]

    def has(self, *names: str) -> bool:
        """Whether a parameter is given, by its name or any start of it."""
        return any(
            len(word.text) > 1 and word.text.startswith("-") and name.startswith(word.text[1:].lower())
            for word in self.words
            for name in names
        )

    def values(self, *names: str, switches: tuple[str, ...] = ()) -> list[Word]:
        """Positional words and the values of the named parameters; other parameters' values are left out."""
        found: list[Word] = []
        taking: str | None = None
        for word in self.words:
            text = word.text.lower()
            if text.startswith("-") and len(text) > 1 and not text[1].isdigit():
                is_switch = any(switch.startswith(text[1:]) for switch in switches)
                taking = None if is_switch else text[1:]
                continue
            if taking is None or any(name.startswith(taking) for name in names):
                found.append(word)
            elif taking is not None:
                taking = None
        return found


Command: TypeAlias = "Callable[[PowerShellReader, Call], list[str]]"
_SWITCHES = (
    "recurse",
    "force",
    "confirm",
    "whatif",
    "verbose",
    "debug",
    "passthru",
    "asjob",
    "wait",
    "nonewline",
    "raw",
)


def _remove(reader: PowerShellReader, call: Call) -> list[str]:
    if call.has("whatif"):
        return []
    recursive = call.has("recurse") or any(re.fullmatch(r"-(?:rf|fr)", word.text) for word in call.words)
    recursive = recursive or any(word.text.lower() == "/s" for word in call.words)
    words = [
        word
        for word in call.values("path", "literalpath", "lp", switches=_SWITCHES)
        if word.text.lower() not in ("/s", "/q")
    ]
    filters = [word for name in ("include", "filter") for word in _named(call, name)]
    if filters:
        words = [
            Word(f"{word.text.rstrip('*/').rstrip(chr(92))}\\{one.text}", True) for word in words for one in filters
        ]
    words += [reader.pattern(value) for value in call.piped if value != OUTPUT or not words]
    # What a listing of everything below a folder puts out is everything, whatever the switch says.
    recursive = recursive or any(word.text in reader.walked and not reader.walked[word.text][1] for word in words)
    flags = [Word("-r")] if recursive else []
    reader.add_equal(["rm"], [*flags, *words], "Remove-Item")
    return []


def _named(call: Call, name: str) -> list[Word]:
    found: list[Word] = []
    for before, word in zip(call.words, call.words[1:], strict=False):
        text = before.text.lower()
        if text.startswith("-") and len(text) > 2 and name.startswith(text[1:]):
            found.append(word)
    return found


def _equal(*program: str, with_words: bool = True) -> Command:
    """A cmdlet that does what a program of the other shell does."""

    def command(reader: PowerShellReader, call: Call) -> list[str]:
        if call.has("whatif") or call.has("?"):
            return []
        words = (
            [*call.values("path", "literalpath", "filepath", "destination", "name", switches=_SWITCHES)]
            if with_words
            else []
        )
        reader.add_equal(
            list(program), [*words, *(reader.pattern(value) for value in call.piped if with_words)], call.name
        )
        return [OUTPUT]

    return command


def _invoke_expression(reader: PowerShellReader, call: Call) -> list[str]:
    text = " ".join(word.text for word in call.values("command")) or "\n".join(call.piped)
    return reader.run_text(text, "Invoke-Expression")


def _fetch(reader: PowerShellReader, call: Call) -> list[str]:
    target = _named(call, "outfile")
    if target:
        reader.reader.state.files[reader.reader.state.path(target[0])] = FETCHED
        reader.add_equal(["tee"], target, call.name)
        return []
    return [FETCHED]


def _get_content(reader: PowerShellReader, call: Call) -> list[str]:
    words = call.values("path", "literalpath", switches=_SWITCHES)
    words += [reader.pattern(value) for value in call.piped if value != OUTPUT]
    reader.add_equal(["cat"], words, "Get-Content")
    _read_below(reader, call, words)
    texts = [reader.reader.read_file(reader.reader.state.path(word), is_script=False) for word in words]
    return [OUTPUT if text is None else text for text in texts]


def _read_below(reader: PowerShellReader, call: Call, words: list[Word]) -> None:
    """List the search that reading every file a listing went through comes to."""
    for word in words:
        folder, name = reader.walked.get(word.text, ("", ""))
        if folder:
            narrowed = [Word(f"--include={name}")] if name else []
            reader.add_equal(["grep", "-r"], [*narrowed, Word("x"), Word(folder)], call.name)


def _select_string(reader: PowerShellReader, call: Call) -> list[str]:
    _read_below(reader, call, [reader.pattern(value) for value in call.piped])
    return [OUTPUT]


def _write_content(reader: PowerShellReader, call: Call) -> list[str]:
    words = call.values("path", "literalpath", "filepath", "value", switches=(*_SWITCHES, "append"))
    if words:
        reader.add_equal(["tee"], words[:1], call.name)
        text = "\n".join([word.text for word in words[1:]] or call.piped)
        reader.reader.state.files[reader.reader.state.path(words[0])] = text
    return []


def _list(reader: PowerShellReader, call: Call) -> list[str]:
    words = call.values("path", "literalpath", switches=(*_SWITCHES, "file", "directory", "hidden", "name"))
    narrowed = call.has("filter", "include", "exclude")
    reader.add_equal(["ls"], words, "Get-ChildItem")
    name = OUTPUT if narrowed else "*"
    found: list[str] = []
    recurses = call.has("recurse") or "-s" in (one.text for one in call.words)
    kept = next((one.text for named in ("filter", "include") for one in _named(call, named)), "")
    kept = kept or ("*" if narrowed else "")
    for word in words or [Word(".")]:
        found.append(word.text if word.is_pattern else f"{word.text.rstrip('/' + chr(92))}\\{name}")
        if recurses:
            folder = re.sub(r"[\\/]\*$", "", word.text)
            reader.walked[found[-1]] = (folder, kept)
    return found


def _item(reader: PowerShellReader, call: Call) -> list[str]:
    return [word.text for word in call.values("path", "literalpath", "name", switches=_SWITCHES)]


def _join_path(reader: PowerShellReader, call: Call) -> list[str]:
    words = [word.text.rstrip("\\/") for word in call.values("path", "childpath", switches=("resolve",))]
    return ["\\".join(words) + ("\\" if len(words) == 1 else "")]


def _pass_on(reader: PowerShellReader, call: Call) -> list[str]:
    return call.piped or [OUTPUT]


def _narrow(reader: PowerShellReader, call: Call) -> list[str]:
    """`Where-Object` keeps some: what is left is in the same folder, with a name that is not known."""
    return [re.sub(r"\*$", OUTPUT, value) for value in call.piped] or [OUTPUT]


def _write(reader: PowerShellReader, call: Call) -> list[str]:
    return [word.text for word in call.values("inputobject", "object", switches=("noenumerate", "nonewline"))]


def _shell(reader: PowerShellReader, call: Call) -> list[str]:
    """A nested PowerShell: `-Command`, `-EncodedCommand` and `-File`, each by any start of its name."""
    words = call.words
    for block in call.blocks:
        reader.block(block, origin="powershell")
    index = 0
    while index < len(words):
        text = words[index].text
        name = text[1:].lower() if text.startswith(("-", "/")) else ""
        rest = words[index + 1 :]
        if name and ("command".startswith(name) or name == "cwa"):
            if rest and rest[0].text == "-":
                return reader.run_text("\n".join(call.piped), "powershell -Command")
            return reader.run_text(" ".join(word.text for word in rest), "powershell -Command")
        if name and ("encodedcommand".startswith(name) or name == "ec") and rest:
            return reader.run_text(_decoded_command(rest[0].text), "powershell -EncodedCommand")
        if text == "-" and call.piped:
            return reader.run_text("\n".join(call.piped), "powershell -")
        if name and "file".startswith(name) and rest:
            return reader.run_file(rest[0].text, [word.text for word in rest[1:]])
        if not name:
            if text.lower().endswith(".ps1"):
                return reader.run_file(text, [word.text for word in rest])
            return reader.run_text(" ".join(word.text for word in words[index:]), "powershell")
        takes_value = any(
            long.startswith(name)
            for long in ("executionpolicy", "windowstyle", "version", "inputformat", "outputformat", "workingdirectory")
        ) or name in ("ep", "ex", "w", "wd", "psconsolefile")
        index += 2 if takes_value else 1
    if call.piped:
        return reader.run_text("\n".join(call.piped), "powershell")
    return [OUTPUT]


def _decoded_command(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-16-le", "replace") if is_constant(text) else DECODED
    except (ValueError, binascii.Error):
        return DECODED


def _start_process(reader: PowerShellReader, call: Call) -> list[str]:
    words: list[Word] = []
    skips = False
    for word in call.words:
        text = word.text.lower()
        if skips or re.fullmatch(r"-(?:wait|nonewwindow|passthru|fi\w*|ar\w*)", text):
            skips = False
        elif re.fullmatch(r"-(?:verb|windowstyle|workingdirectory|credential|redirect\w+)", text):
            skips = True
        else:
            words.append(word)
    flat = [
        Word(piece)
        for number, word in enumerate(words)
        for piece in (shell_split(word.text) if number else [word.text])
    ]
    return reader.run_words(flat, "Start-Process")


def _stop_process(reader: PowerShellReader, call: Call) -> list[str]:
    everything = any(word.text == "*" for word in call.words) or any(value == "all processes" for value in call.piped)
    if everything:
        reader.add_equal(["kill", "-9"], [Word("-1")], "Stop-Process")
    elif call.has("force"):
        reader.add_equal(["kill", "-9"], call.values("id", "name", switches=_SWITCHES), "Stop-Process")
    return []


def _get_process(reader: PowerShellReader, call: Call) -> list[str]:
    return [OUTPUT] if call.values("name", "id") else ["all processes"]


def _set_alias(reader: PowerShellReader, call: Call) -> list[str]:
    words = call.values("name", "value", switches=_SWITCHES)
    if len(words) > 1:
        target = words[1].text.lower()
        reader.aliases[words[0].text.lower()] = reader.aliases.get(target, target)
    return []


def _set_location(reader: PowerShellReader, call: Call) -> list[str]:
    words = call.values("path", "literalpath", switches=_SWITCHES)
    state = reader.reader.state
    if words:
        path = state.path(words[0])
        state.folder = path if is_constant(path) and words[0].text != "-" else None
    return []


def _cmd(reader: PowerShellReader, call: Call) -> list[str]:
    texts = [word.text for word in call.words]
    start = next((at for at, text in enumerate(texts) if text.lower() in ("/c", "/k", "/r")), None)
    if start is not None:
        run_cmd_line(reader, " ".join(texts[start + 1 :]))
    return [OUTPUT]


def run_cmd_line(reader: PowerShellReader, line: str) -> None:
    """Read a line of the old command prompt, whose quoting is simple and whose carets escape."""
    line = re.sub(r"\^(.)", r"\1", line.strip('"') if line.count('"') == 2 and line.startswith('"') else line)
    for chunk in re.split(r"&&|\|\||[&|\n]", line):
        words = re.findall(
            r'"[^"]*"|[^\s"]+', chunk.replace("%USERPROFILE%", reader.home).replace("%SystemDrive%", "C:")
        )
        plain = [Word(word.strip('"'), "*" in word) for word in words]
        if not plain:
            continue
        name = plain[0].text.lower().removesuffix(".exe")
        flags = [word.text.lower() for word in plain[1:] if word.text.startswith("/")]
        operands = [word for word in plain[1:] if not word.text.startswith("/")]
        if name in ("rd", "rmdir", "del", "erase"):
            recursive = [Word("-r")] if any("s" in flag for flag in flags) else []
            reader.add_equal(["rm"], [*recursive, *operands], f"cmd {name}")
        elif name in ("powershell", "pwsh"):
            reader.run_words(plain, "cmd")
        elif name in ("for", "if") and (body := _cmd_body(plain)):
            run_cmd_line(reader, " ".join(word.text for word in body))
        elif name in ("start", "call", "cmd"):
            rest = [word for word in plain[1:] if not word.text.startswith("/") and word.text]
            run_cmd_line(reader, " ".join(word.text for word in rest))
        else:
            reader.reader.run_words(plain, "cmd")


def _cmd_body(words: list[Word]) -> list[Word]:
    """The command of `for ... do command` and of `if condition command`."""
    texts = [word.text.lower() for word in words]
    if texts[0] == "for":
        return words[texts.index("do") + 1 :] if "do" in texts else []
    at = 2 if texts[1:2] == ["not"] else 1
    return words[at + (2 if texts[at : at + 1] in (["exist"], ["defined"], ["errorlevel"]) else 1) :]


def _call_method(reader: PowerShellReader, call: Call) -> list[str]:
    if any(word.text.lower() in ("win32shutdown", "shutdown", "reboot", "win32shutdowntracker") for word in call.words):
        reader.add_equal(["shutdown"], [], call.name)
    return [OUTPUT]


def _data_only(reader: PowerShellReader, call: Call) -> list[str]:
    return [OUTPUT]


COMMANDS: dict[str, Command] = {
    "remove-item": _remove,
    "invoke-expression": _invoke_expression,
    "invoke-restmethod": _fetch,
    "invoke-webrequest": _fetch,
    "start-bitstransfer": _equal("tee"),
    "get-content": _get_content,
    **dict.fromkeys(("set-content", "add-content", "out-file", "tee-object"), _write_content),
    "clear-content": _equal("truncate", "-s", "0"),
    "get-childitem": _list,
    **dict.fromkeys(("get-item", "resolve-path", "convert-path", "get-command"), _item),
    "join-path": _join_path,
    **dict.fromkeys(("select-object", "sort-object", "out-string", "out-host", "out-null", "foreach-object"), _pass_on),
    "where-object": _narrow,
    **dict.fromkeys(("write-output", "write-host", "write-verbose", "write-warning"), _write),
    "powershell": _shell,
    "powershell.exe": _shell,
    "pwsh.exe": _shell,
    "start-process": _start_process,
    "stop-process": _stop_process,
    "get-process": _get_process,
    **dict.fromkeys(("set-alias", "new-alias"), _set_alias),
    **dict.fromkeys(("set-location", "push-location"), _set_location),
    "cmd": _cmd,
    "stop-computer": _equal("shutdown", with_words=False),
    "restart-computer": _equal("reboot", with_words=False),
    **dict.fromkeys(
        ("format-volume", "clear-disk", "initialize-disk", "remove-partition"), _equal("mkfs", with_words=False)
    ),
    **dict.fromkeys(("stop-service", "suspend-service", "remove-service"), _equal("systemctl", "stop")),
    **dict.fromkeys(("invoke-cimmethod", "invoke-wmimethod"), _call_method),
    "copy-item": _equal("cp"),
    "move-item": _equal("mv"),
    "rename-item": _equal("mv"),
    "new-item": _equal("touch"),
    "clear-item": _equal("truncate", "-s", "0"),
    "test-path": _data_only,
    "select-string": _select_string,
    "get-help": _data_only,
}


def run_powershell(reader: PowerShellReader, part: Part) -> None:
    """Read a PowerShell that another shell starts."""
    _shell(reader, Call("powershell", list(part.arguments), [], part.input.splitlines()))
