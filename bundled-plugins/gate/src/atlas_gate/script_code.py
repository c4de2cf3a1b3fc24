"""Looks through JavaScript, Perl, Ruby, PHP, Lua and AppleScript for what they run and delete.

There is no parser of five languages here: comments go, strings become tokens, and the strings inside
a call that runs or deletes are what counts. A string anywhere else is data.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping

from atlas_gate.deeds import Deed
from atlas_gate.endless_forks import tokens_fork_forever
from atlas_gate.parts import UNKNOWN, name_set

_STRINGS = r"""(?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_TICKS = r"(?P<ticks>`(?:\\.|[^`\\])*`)"
_REST = r"(?P<name>[A-Za-z_$][\w$]*)|(?P<mark>[^\s\w])|(?P<number>\d+)"
_SLASH_COMMENT = r"(?P<comment>//[^\n]*|/\*.*?\*/)"
_HASH_COMMENT = r"(?P<comment>#(?!\{)[^\n]*)"
_DASH_COMMENT = r"(?P<comment>--[^\n]*|\(\*.*?\*\))"
_BRACKETED = r"(?:\{[^}]*\}|\([^)]*\)|\[[^\]]*\]|\|[^|]*\|)"
_PERL_QUOTES = rf"(?P<quotes>\b(?:qx|qq|q|qw)\s*(?:{_BRACKETED}|/[^/]*/)|%x{_BRACKETED})"

_TOKENS = {
    "javascript": re.compile(f"{_SLASH_COMMENT}|{_STRINGS}|{_TICKS}|{_REST}", re.DOTALL),
    "perl": re.compile(f"{_HASH_COMMENT}|{_PERL_QUOTES}|{_STRINGS}|{_TICKS}|{_REST}", re.DOTALL),
    "php": re.compile(f"(?P<comment>//[^\\n]*|#[^\\n]*|/\\*.*?\\*/)|{_STRINGS}|{_TICKS}|{_REST}", re.DOTALL),
    "other": re.compile(
        f"(?P<comment>(?:^|(?<=\\s))(?://|#|;;)[^\\n]*)|{_STRINGS}|{_TICKS}|{_REST}", re.DOTALL | re.MULTILINE
    ),
    "lua": re.compile(f"{_DASH_COMMENT}|{_STRINGS}|{_REST}", re.DOTALL),
    "applescript": re.compile(f"{_DASH_COMMENT}|{_STRINGS}|{_REST}", re.DOTALL),
}
_RUNS = name_set(
    "Command system exec execute execSync execFile execFileSync spawn spawnSync popen shell_exec passthru "
    "proc_open pcntl_exec capture2 capture2e capture3 shell execaCommand execaCommandSync $"
)
_OTHER_RUNS = name_set("cmd run sh program callCommand readProcess system2 execute shell qx")
_OTHER_AFTER = re.compile(r'"((?:\\.|[^"\\]){0,4096}+)"\s*\.\s*(?:execute\(|!)')
_DELETES = name_set("rmSync rm rmdir rmdirSync rmtree remove_tree rm_rf rm_r remove_dir remove_entry removeSync del")
_OPENS = name_set(
    "open readFileSync readFile createReadStream createWriteStream writeFileSync writeFile copyFileSync "
    "fopen file_get_contents file_put_contents DatabaseSync Database unlinkSync unlink appendFileSync"
)
_PRINTS = frozenset(("print", "puts", "log", "say", "write"))
_SHOWS = _PRINTS | name_set("echo println printf p pp warn error")
_VARIABLE = r"(HOME|USERPROFILE|ATLAS_HOME)"
_KEY = rf"\s*+['\"]{_VARIABLE}['\"]\s*+"
_HOME_CALLS = r"(?:require\(['\"](?:node:)?os['\"]\)\.|os\.)?homedir\(\)|Dir\.home(?:\(\))?"
# Inside a string that the language fills in, and anywhere else.
_FILLED = re.compile(
    rf"[$#]\{{\s*+(?:process\.env\.{_VARIABLE}|(?:process\.env|ENV)\[{_KEY}\]|{_HOME_CALLS})\s*+\}}"
    rf"|\$ENV\{{['\"]?{_VARIABLE}['\"]?\}}(?=[/\w\"\\])"
)
_HELD = re.compile(
    rf"{_HOME_CALLS}|(?:process|Bun|import\.meta)\.env\.{_VARIABLE}\b"
    rf"|(?:process\.env|\bENV|\$_ENV|\$_SERVER|\bENVIRON)\[{_KEY}\]|\$ENV\{{\s*+['\"]?{_VARIABLE}['\"]?\s*+\}}"
    rf"|\bENV\.fetch\({_KEY}[^)]{{0,200}}\)|\(getenv\s++\"{_VARIABLE}\"\)"
    rf"|(?:System\.|Sys\.|os\.|Deno\.)?(?:get_?env|env\.get)\({_KEY}(?:,[^)]{{0,200}})?\)",
    re.IGNORECASE,
)
_DECODES = re.compile(
    r"(?:decode_base64|atob|base64_decode|Base64\.decode64|Buffer\.from)\(\s*(['\"])([A-Za-z0-9+/=]+)\1"
    r"(?:\s*,\s*['\"]base64['\"])?\s*\)(?:\.toString\([^)]*\))?"
)
_LOCAL = re.compile(
    r"(?:(?:const|let|var|my|local)\s+)?\$?([A-Za-z_]\w*)\s*=\s*(\"(?:\\.|[^\"\\]){0,4096}+\"|'(?:\\.|[^'\\]){0,4096}+'|`[^`$\\]{0,4096}+`)\s*+(?:[;\n]|(?<=\n))"
)


_JS_RUNNERS = re.compile(r"child_process|shelljs|execa|zx\b|\bBun\b|\bDeno\b")
_JS_PATTERN = re.compile(r"(?<![\w$])([A-Za-z_$][\w$]*+)\s*+[=:]\s*+(?:/[^/*\s]|(?:new\s+)?RegExp\b)")
_PATTERN_NAME = re.compile(r"^(?:re|rx|reg|pattern|regexp?)$|(?:_RE|Re|Regexp?|RegExp|Pattern)$")
_JS_RENAMED = re.compile(r"\b(exec|execSync|execFile|execFileSync|spawn|spawnSync)\s*(?::|\bas\b)\s*([A-Za-z_$][\w$]*)")


def _searches(tokens: list[tuple[str, str]], index: int, patterns: frozenset[str]) -> bool:
    """Whether the `exec` at an index belongs to a regular expression: a literal, or a name that holds one."""
    if index < 2 or tokens[index - 1][1] != ".":
        return False
    owner = tokens[index - 2][1]
    flags = re.fullmatch(r"[dgimsuvy]+", owner) and index > 2 and tokens[index - 3][1] == "/"
    return bool(owner == "/" or flags or owner in patterns or _PATTERN_NAME.search(owner))


def _plain_javascript(tokens: list[tuple[str, str]], source: str) -> list[tuple[str, str]]:
    """The tokens with `x['exec'](...)` and functions under another name written plainly."""
    renamed = {match[2]: match[1] for match in _JS_RENAMED.finditer(source)}
    found: list[tuple[str, str]] = []
    for index, (kind, text) in enumerate(tokens):
        around = [tokens[at][1] if 0 <= at < len(tokens) else "" for at in (index - 1, index + 1, index + 2)]
        if kind == "string" and around == ["[", "]", "("] and text[1:-1] in _RUNS:
            found[-1] = ("mark", ".")
            found.append(("name", text[1:-1]))
        elif text == "]" and len(found) > 1 and found[-2] == ("mark", ".") and found[-1][1] in _RUNS:
            continue
        else:
            found.append((kind, renamed.get(text, text) if kind == "name" and around[1] == "(" else text))
    return found


def script_deeds(source: str, language: str, environment: Mapping[str, str], step: Callable[[int], None]) -> list[Deed]:
    """What the source does, as far as its calls hold constant strings. `step` may end it by raising."""
    source = _DECODES.sub(_decoded, source)
    source = _FILLED.sub(lambda match: _held(match, environment), source)
    source = _HELD.sub(lambda match: f"'{_held(match, environment)}'", source)
    atlas_home = environment.get("ATLAS_HOME", "")
    deeds: list[Deed] = []
    tokens: list[tuple[str, str]] = []
    for match in _TOKENS[language].finditer(source):
        step(1)
        if match.lastgroup != "comment":
            tokens.append((match.lastgroup or "mark", match.group()))
    if tokens_fork_forever(tokens):
        deeds.append(Deed("forever-fork", ()))
    values = {match[1]: _text(match[2]) for match in _LOCAL.finditer(source)}
    # `exec` is also what a regular expression calls its own search.
    has_exec = language != "javascript" or _JS_RUNNERS.search(source) is not None
    patterns = frozenset(_JS_PATTERN.findall(source)) if language == "javascript" else frozenset()
    if language == "javascript" and has_exec:
        tokens = _plain_javascript(tokens, source)
    runs = _RUNS | _OTHER_RUNS if language == "other" else _RUNS
    if language == "other":
        deeds.extend(
            Deed("shell", (_text(match.group()[: match.end(1) - match.start() + 1]),))
            for match in _OTHER_AFTER.finditer(source)
        )
        if re.search(r"\bunlink\s*\([^)]*recursive\s*=\s*T", source):
            source_tokens = [("name", "rmtree") if text == "unlink" else (kind, text) for kind, text in tokens]
            tokens = source_tokens
    if atlas_home:
        deeds.extend(_named_in(tokens, atlas_home, environment.get("HOME", ""), step))
    deeds.extend(_kills(tokens))
    ticks_run = language in ("perl", "php")
    for index, (kind, text) in enumerate(tokens):
        step(1)
        if kind == "ticks" and ticks_run:
            deeds.append(Deed("shell", (_text(text),)))
        elif (kind == "quotes" or text.startswith("%x")) and text.startswith(("qx", "%x")):
            deeds.append(Deed("shell", (re.sub(r"^(?:qx|%x)\s*.", "", text)[:-1],)))
        elif kind == "name" and (text in runs or text in _DELETES or text in _OPENS or text in _PRINTS):
            previous = tokens[index - 1][1] if index else ""
            if previous in ("function", "def", "sub") or (
                text == "exec" and (not has_exec or _searches(tokens, index, patterns))
            ):
                continue
            strings = _call_strings(tokens, index + 1, values)
            if strings and language == "javascript" and text in _DELETES and _names_one(tokens, index + 1):
                deeds.append(Deed("remove", (strings[0],)))
            elif strings:
                deeds.append(_deed(text, strings))
    if language == "applescript":
        for match in re.finditer(
            r"\b(shut down|restart)\b", "".join(f" {text}" for kind, text in tokens if kind != "string")
        ):
            deeds.append(Deed("shell", ("shutdown" if match[1] == "shut down" else "reboot",)))
        for match in re.finditer(r"do shell script\s+\"((?:\\.|[^\"\\])*)\"", source):
            deeds.append(Deed("shell", (_text(f'"{match[1]}"'),)))
    return deeds


def _names_one(tokens: list[tuple[str, str]], index: int) -> bool:
    """Whether a call of `fs.rm` deletes the one file it names: its options are written out, without `recursive`."""
    depth = 0
    call: list[tuple[str, str]] = []
    for token in tokens[index : index + 40]:
        depth += (token[1] == "(") - (token[1] == ")")
        call.append(token)
        if depth <= 0:
            break
    texts = [text for _, text in call]
    is_plain = texts[:1] == ["("] and call[1][0] == "string" and texts[-1] == ")"
    if not is_plain or any(text.strip("'\"") in ("recursive", "...", "[") for text in texts):
        return False
    behind = texts[2:-1]
    is_written = behind[:2] == [",", "{"] and behind[-1] == "}" and "." not in behind
    return not behind or is_written or behind[:3] == [",", "(", ")"]


def _kills(tokens: list[tuple[str, str]]) -> Iterator[Deed]:
    """A signal to every process: `kill 9, -1`, `Process.kill("KILL", -1)`, `process.kill(-1)`, `posix_kill(-1, 9)`."""
    for index, (kind, text) in enumerate(tokens):
        if kind != "name" or text not in ("kill", "posix_kill", "pskill"):
            continue
        call: list[str] = []
        for _, one in tokens[index + 1 : index + 20]:
            if one in (")", ";", "}"):
                break
            call.append(one)
        for at, one in enumerate(call[:-1]):
            if one == "-" and call[at + 1] == "1" and (at == 0 or call[at - 1] in ("(", ",", ">")):
                others = at > 1 or "," in call[at:]
                # A process of its own has a number in front: `child.kill(-1)` would be a signal, not a target.
                if others or (index > 1 and tokens[index - 2][1].lower() == "process"):
                    yield Deed("kill", ("-1", "9"))


def _named_in(tokens: list[tuple[str, str]], atlas_home: str, home: str, step: Callable[[int], None]) -> Iterator[Deed]:
    """Files of Atlas's home that any string names, printed texts left out: whatever the call, it is given them."""
    for index, (kind, text) in enumerate(tokens):
        step(1)
        if kind not in ("string", "ticks", "quotes") or (atlas_home not in text and "~/" not in text):
            continue
        befores = [tokens[at][1] for at in range(max(index - 2, 0), index)]
        if any(before in _SHOWS for before in befores):
            continue
        path = _call_strings([("mark", "("), *tokens[index : index + 12], ("mark", ")")], 0, {})
        for one in path[:1]:
            plain = home + one[1:] if one.startswith("~/") else one
            at = plain.find(atlas_home)
            if at >= 0:
                yield Deed("open", (plain[at:],))


def _held(match: re.Match[str], environment: Mapping[str, str]) -> str:
    """What a variable of the environment holds that the source names; the home where it asks for that."""
    return environment.get(next((name for name in match.groups() if name), "HOME").upper(), "")


def _deed(name: str, strings: list[str]) -> Deed:
    if name in _DELETES:
        return Deed("delete", (strings[0],))
    if name == "open" and (strings[0].startswith("|") or strings[0].endswith("|")):
        return Deed("shell", (strings[0].strip("|"),))
    if name in _OPENS:
        writes = name.lower().startswith(("write", "append", "copy", "unlink", "file_put", "createwrite"))
        return Deed("write" if writes else "open", (strings[0],))
    if name in ("print", "puts", "log", "say", "write"):
        return Deed("print", (strings[0],))
    if name in ("cmd", "sh", "program") and len(strings) > 1:
        return Deed("words", tuple(strings))
    if name == "spawn" and len(strings) == 1 and " " in strings[0]:
        return Deed("shell", (strings[0],))
    if name in ("Command", "spawn", "spawnSync", "execFile", "execFileSync", "pcntl_exec") or (
        len(strings) > 1 and name in ("system", "exec", "popen", "spawn") and " " not in strings[0]
    ):
        return Deed("words", tuple(strings))
    return Deed("shell", (strings[0],))


def _call_strings(tokens: list[tuple[str, str]], index: int, values: dict[str, str]) -> list[str]:
    """The strings between a name and the end of its call or statement."""
    depth = 0
    strings: list[str] = []
    joins = False
    for number, (kind, text) in enumerate(tokens[index : index + 60], start=index):
        joins = tokens[number - 1][1] in ("+", ".")
        if text in ("(", "["):
            depth += 1
        elif text in (")", "]"):
            depth -= 1
            if depth <= 0:
                break
        elif depth == 0 and text in (";", "}", "=", ":", "{", ".", "?"):
            break
        elif kind in ("string", "ticks"):
            if strings and joins:
                strings[-1] += _text(text)
            else:
                strings.append(_text(text))
        elif kind == "quotes":
            inner = re.sub(r"^\w+\s*.", "", text)[:-1]
            strings.extend(inner.split() if text.startswith("qw") else [inner])
        elif kind == "name" and text.lstrip("$") in values:
            strings.append(values[text.lstrip("$")])
    return strings


def _text(literal: str) -> str:
    text = literal[1:-1]
    text = re.sub(r"(?:\$|#)\{[^}]*\}", UNKNOWN, text) if literal[0] in '`"' else text
    return re.sub(r"\\(.)", lambda match: {"n": "\n", "t": "\t"}.get(match[1], match[1]), text, flags=re.DOTALL)


def _decoded(match: re.Match[str]) -> str:
    try:
        text = base64.b64decode(match[2]).decode("utf-8", "replace")
    except (ValueError, binascii.Error):
        return match[0]
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
