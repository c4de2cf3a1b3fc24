"""The hook commands of a plugin folder, read from ``hooks/hooks.json`` and the manifest. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from .folder_report import Report
from .patterns import is_quick
from .plain_text import one_line
from .values import Json

FIRED = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop")
"""The events of Claude Code that Atlas fires."""
NOT_FIRED = (
    "SessionEnd", "Setup", "UserPromptExpansion", "PermissionRequest", "PermissionDenied", "PostToolBatch",
    "Notification", "SubagentStart", "SubagentStop", "TaskCreated", "TaskCompleted", "TeammateIdle", "StopFailure",
    "PreCompact", "PostCompact", "InstructionsLoaded", "ConfigChange", "CwdChanged", "FileChanged", "WorktreeCreate",
    "WorktreeRemove", "Elicitation", "ElicitationResult", "MessageDisplay",
)  # fmt: skip
"""Those it does not (https://code.claude.com/docs/en/hooks, 2026-11)."""
TIMEOUT_SECONDS = 60.0
_TYPES = {
    "prompt": "it asks a model",
    "agent": "it runs an agent",
    "http": "it sends what happens to a server",
    "mcp_tool": "it calls an MCP tool",
}
_FIELDS = {
    "type", "command", "args", "timeout", "if", "async", "asyncRewake", "rewakeMessage", "rewakeSummary", "shell",
    "environment", "env", "once", "matcher", "hooks", "event",
    "statusMessage", "description", "name", "id", "comment", "$comment", "_comment",  # said to people alone
}  # fmt: skip


LONGEST_MATCHER = 500
LONGEST_NAMES = 5_000
"""How long a matcher may be that is names alone, which any number of them cannot make slow."""
MOST_GROUPS = 1_000
"""How many entries of hooks a file may have, with or without a command. No plugin in the wild has fifty."""
LONGEST_COMMAND = 20_000
"""All of a command is shown where consent is asked. A longer one is a program, and belongs in a file."""


@dataclass(frozen=True)
class HookCommand:
    """A command that runs at an event. ``args`` is None for a line that a shell reads.

    ``condition`` is Claude Code's ``if``, such as ``Bash(git push:*)``. With ``is_async`` nothing waits for it, and
    with ``rewakes`` its exit code 2 brings what it said to the conversation later, behind ``rewake_message``.
    """

    event: str
    command: str
    matcher: str = ""
    args: tuple[str, ...] | None = None
    timeout_seconds: float = TIMEOUT_SECONDS
    condition: str = ""
    is_async: bool = False
    rewakes: bool = False
    rewake_message: str = ""
    once: bool = False
    shell: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def at(self) -> str:
        """When it runs, for the log: a command may hold what no log should."""
        return one_line(f"{self.event} ({self.matcher})" if self.matcher not in ("", "*") else self.event)

    def __str__(self) -> str:
        line = " ".join((self.command, *(self.args or ())))
        more = [f"shell {self.shell}"] if self.shell else []
        if self.environment:
            more.append("env " + ", ".join(f"{name}={value}" for name, value in self.environment.items()))
        return one_line(f"{self.at}: {line}" + (f" ({'; '.join(more)})" if more else ""))


def read_hooks(found: Json, where: str, report: Report) -> Iterator[HookCommand]:
    """Yield the hook commands of one file or inline object, in any shape met in the wild.

    ``report`` is told of what is not taken, and of what is taken otherwise than it was meant.
    """
    if isinstance(found, dict) and "hooks" in found:
        found = found["hooks"]
    if isinstance(found, dict) and isinstance(found.get("event"), str):
        found = [found]
    if isinstance(found, list):  # a flat list, each with its event
        if len(found) > MOST_GROUPS:
            report.refuse(where, f"It has more than {MOST_GROUPS} entries; the first ones are used.")
        for item in found[:MOST_GROUPS]:
            event = item.get("event") if isinstance(item, dict) else None
            if isinstance(event, str):
                yield from _group(event, item, where, report)
            else:
                report.refuse(where, "An entry of the list names no event.")
        return
    if not isinstance(found, dict):
        report.refuse(where, "It must hold an object of events.")
        return
    left = MOST_GROUPS
    for event, groups in found.items():
        if event in ("description", "version", "$schema") and not isinstance(groups, list | dict):
            continue
        for group in groups if isinstance(groups, list) else [groups]:
            if not left:
                report.refuse(where, f"It has more than {MOST_GROUPS} entries; the first ones are used.")
                return
            left -= 1
            yield from _group(event, group, where, report)


def _group(event: str, group: Json, where: str, report: Report) -> Iterator[HookCommand]:
    part = f"{where}: {event}"
    if event not in FIRED:
        known = event in NOT_FIRED
        report.refuse(part, "Atlas does not fire this event." if known else "This is no event of Claude Code's.")
        return
    if isinstance(group, str):
        group = {"command": group}
    if not isinstance(group, dict):
        report.refuse(part, "An entry must be an object.")
        return
    matcher = group.get("matcher", "")
    if isinstance(matcher, list) and all(isinstance(name, str) for name in matcher):
        matcher = "|".join(matcher)
    if matcher is None:
        matcher = ""
    if not isinstance(matcher, str):
        report.refuse(part, "Its matcher must be text.")
        return
    if compiled(matcher) is None:
        report.refuse(part, f"Its matcher {matcher[:60]!r} is no regular expression that Atlas can read.")
        return
    commands = group.get("hooks", [group])
    if "hooks" not in group:
        report.warn(f"{part} has a command where Claude Code wants a list of hooks; it is taken as one.")
    for item in commands if isinstance(commands, list) else [commands]:
        try:
            yield _command(event, matcher, {"command": item} if isinstance(item, str) else item, part, report)
        except ValueError as error:
            report.refuse(part, str(error))


def _command(event: str, matcher: str, item: Json, part: str, report: Report) -> HookCommand:
    if not isinstance(item, dict):
        raise ValueError("A hook must be an object.")
    kind = item.get("type", "command")
    if kind != "command":
        why = _TYPES.get(kind, "Atlas does not know this type") if isinstance(kind, str) else "its type is not text"
        raise ValueError(f"A hook of the type {kind!r} is not run: {why}. Atlas runs commands.")
    command, args = item.get("command"), item.get("args")
    if isinstance(command, list) and command and all(isinstance(word, str) for word in command):
        command, args = command[0], [*command[1:], *(args if isinstance(args, list) else [])]
        report.warn(f"{part} has its command as a list; it is run without a shell.")
    if not isinstance(command, str) or not command.strip():
        raise ValueError("It has no command.")
    if args is not None and not isinstance(args, list):
        raise ValueError("Its args must be a list.")
    if len(command) + sum(len(str(word)) for word in args or ()) > LONGEST_COMMAND:
        raise ValueError(f"Its command has over {LONGEST_COMMAND:,} characters: put it into a file.")
    if item.get("enabled") is False or item.get("disabled") is True:
        raise ValueError("It is switched off in the file.")
    shell = item.get("shell") or ""
    if shell not in ("", "bash", "sh", "zsh", "powershell", "pwsh"):
        raise ValueError(f"Atlas has no shell {str(shell)[:40]!r}: bash and powershell are known.")
    unknown = sorted(set(item) - _FIELDS - {"enabled", "disabled"})
    if unknown:
        report.warn(f"{part} has {', '.join(unknown)}, which Atlas does not use.")
    environment = item.get("environment", item.get("env")) or {}
    if not isinstance(environment, dict):
        report.warn(f"{part} has an environment that is no object; it is left out.")
        environment = {}
    return HookCommand(
        event=event,
        command=command,
        matcher=matcher,
        args=None if args is None else tuple(str(word) for word in args),
        timeout_seconds=_seconds(item.get("timeout"), part, report),
        condition=item["if"] if isinstance(item.get("if"), str) else "",
        is_async=item.get("async") is True or item.get("asyncRewake") is True,
        rewakes=item.get("asyncRewake") is True,
        rewake_message=str(item.get("rewakeMessage") or ""),
        once=item.get("once") is True,
        shell=shell,
        environment={str(name): str(value) for name, value in environment.items()},
    )


def _seconds(value: Json, part: str, report: Report) -> float:
    if value is None:
        return TIMEOUT_SECONDS
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):  # a whole number may be too large for any float
        seconds = 0.0
    if not 0 < seconds < 86_400:
        report.warn(f"{part} has a timeout of {str(value)[:20]!r}, which is no number of seconds; it has 60.")
        return TIMEOUT_SECONDS
    return seconds


_PLAIN = re.compile(r"[\w \-|,]*")


@lru_cache(1000)
def compiled(matcher: str) -> re.Pattern[str] | None:
    """Return a matcher as a pattern to be searched for in a name, None for one that is none.

    As in Claude Code, a name or names joined by ``|`` or ``,`` must fit whole, and anything else is a regular
    expression that may fit anywhere; empty and ``*`` are everything.
    """
    text = matcher.strip()
    if text in ("", "*"):
        return re.compile("")
    if len(text) > LONGEST_NAMES:
        return None
    if _PLAIN.fullmatch(text):
        names = [re.escape(name.strip()) for name in re.split(r"[|,]", text) if name.strip()]
        return re.compile(rf"\A(?:{'|'.join(names)})\Z")
    if len(text) > LONGEST_MATCHER:
        return None
    text = re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", text)
    try:
        return re.compile(text) if is_quick(text) else None  # else it could keep the server busy for hours
    except (re.error, RecursionError, OverflowError):
        return None
