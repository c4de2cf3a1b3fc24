"""Every program the reader looks through, by name."""

from __future__ import annotations

from atlas_gate import (
    argument_lists,
    awk_program,
    build_programs,
    containers,
    file_programs,
    filters,
    find_program,
    git_program,
    languages,
    launchers,
    remote_programs,
    runners,
    schedules,
    second_readings,
    shell_escapes,
    shells,
    wrappers,
)
from atlas_gate.dangerous import DANGEROUS
from atlas_gate.hardline import HARDLINE
from atlas_gate.option_commands import PROGRAMS as PROGRAMS_WITH_COMMANDS
from atlas_gate.option_commands import with_option_commands
from atlas_gate.outward import OUTWARD
from atlas_gate.parts import OUTPUT, Part
from atlas_gate.reader import Handler, Programs, Reader


def _npm_like(reader: Reader, part: Part) -> str:
    """Package managers both run a package's script and wrap any program."""
    build_programs.HANDLERS[part.name](reader, part)
    runners.HANDLERS[part.name](reader, part)
    return OUTPUT


def _bun(reader: Reader, part: Part) -> str:
    if any(text.endswith((".js", ".ts", ".mjs", ".tsx")) or text in ("-e", "--eval") for text in part.texts[:2]):
        return languages.run_language(reader, part)
    return _npm_like(reader, part)


def _powershell(reader: Reader, part: Part) -> str:
    from atlas_gate.powershell import PowerShellReader
    from atlas_gate.powershell_commands import run_powershell

    run_powershell(PowerShellReader(reader), part)
    return OUTPUT


def _cmd(reader: Reader, part: Part) -> str:
    from atlas_gate.powershell import PowerShellReader
    from atlas_gate.powershell_commands import run_cmd_line

    texts = part.texts
    start = next((at for at, text in enumerate(texts) if text.lower() in ("/c", "/k")), None)
    if start is not None:
        run_cmd_line(PowerShellReader(reader), " ".join(texts[start + 1 :]))
    return OUTPUT


_OWN: dict[str, Handler] = {
    **wrappers.HANDLERS,
    **runners.HANDLERS,
    **launchers.HANDLERS,
    **containers.HANDLERS,
    **remote_programs.HANDLERS,
    **argument_lists.HANDLERS,
    **schedules.HANDLERS,
    **find_program.HANDLERS,
    **git_program.HANDLERS,
    **build_programs.HANDLERS,
    **shell_escapes.HANDLERS,
    **awk_program.HANDLERS,
    **file_programs.HANDLERS,
    **languages.HANDLERS,
    **filters.HANDLERS,
    **shells.HANDLERS,
    **dict.fromkeys(("npm", "pnpm", "yarn"), _npm_like),
    "bun": _bun,
    "powershell": _powershell,
    "pwsh": _powershell,
    "cmd": _cmd,
}
BY_NAME: dict[str, Handler] = {
    **_OWN,
    **{name: shell_escapes.with_marks(_OWN.get(name, shells.run_program)) for name in shell_escapes.MARKED},
}
BY_NAME.update(
    {name: second_readings.with_second_reading(BY_NAME.get(name, shells.run_program)) for name in second_readings.NAMES}
)
BY_NAME.update({name: with_option_commands(BY_NAME.get(name, shells.run_program)) for name in PROGRAMS_WITH_COMMANDS})

# What the gate takes for a wrapper, a shell or an interpreter: an "always" for one would allow anything.
RUNS_OTHERS = frozenset(
    (
        *shells.SHELLS,
        *wrappers.WRAPPERS,
        *languages.LANGUAGES,
        "env",
        "su",
        "xargs",
        "parallel",
        "ssh",
        "at",
        "batch",
        "eval",
        "source",
        ".",
        "command",
        "builtin",
        "exec",
        "docker",
        "podman",
        "kubectl",
        "find",
        "fd",
        "make",
        "uv",
        "perf",
        "poetry",
        "npx",
        "powershell",
        "pwsh",
        "cmd",
        "iex",
        "invoke-expression",
    )
)

_KNOWN = tuple(
    dict.fromkeys((*HARDLINE.programs(), *shells.SHELLS, *OUTWARD.programs(), *DANGEROUS.programs(), *BY_NAME))
)

PROGRAMS = Programs(BY_NAME, shells.run_program, shells.run_assignments, _KNOWN)
