"""Programs that destroy by an option or a source instead of by a verb, and cmdlets that do by their name."""

from __future__ import annotations

import re
from typing import Final

from atlas_gate.options import first_operand, read_options
from atlas_gate.parts import Part, name_set
from atlas_gate.paths import Ground
from atlas_gate.rules import Rule

_NOTHING: Final = frozenset(("/dev/null", "nul"))
_KNOWN_PLACES: Final = (*"tmogS", "target-directory", "mode")
# What these remove is of the session, or is judged by what stands behind them.
_HARMLESS_REMOVALS: Final = name_set(
    "remove-item remove-variable remove-module remove-alias remove-job remove-pssession remove-event remove-psdrive "
    "remove-psbreakpoint remove-typedata"
)
_DESTROYING_CMDLET: Final = re.compile(
    r"remove-[a-z0-9]++|reset-(?:computermachinepassword|az\w++|ad\w++)|revoke-az\w++|clear-(?:az\w++|disk|storage\w++)"
    r"|stop-(?:vm|az\w++)|uninstall-(?:windowsfeature|adds\w++)|restore-vm\w*+|dismount-vhd"
)
_DELETES_ON_PHONE: Final = re.compile(
    r"\brm\s++(?:\S++\s++){0,8}?-\w*[rR]|\brm\s++-\w*[rR]|\b(?:recovery\s++--wipe|wipe\b|mkfs|dd\s++\S*of=)"
    r"|\bpm\s++(?:clear|uninstall)\b|\bsm\s++(?:partition|format)\b"
)


def _packs_away(part: Part, ground: Ground) -> bool:
    """An archive made of files that are deleted behind it."""
    if part.name in ("tar", "gtar", "bsdtar"):
        return any(len(text) > len("--rem") and "--remove-files".startswith(text) for text in part.texts)
    if part.name == "zip":
        return read_options(part.arguments, with_value=("b", "n", "t", "x", "i")).has("m", "move")
    return part.texts[:1] == ["m"] or any(text.startswith(("-df", "-dw", "-dr")) for text in part.texts)


def _copies_nothing(part: Part, ground: Ground) -> bool:
    """`cp /dev/null file` empties the file."""
    operands = read_options(part.arguments, with_value=_KNOWN_PLACES).operands
    return len(operands) > 1 and any(ground.path(part, word).lower() in _NOTHING for word in operands[:-1])


def _moves_branch(part: Part, ground: Ground) -> bool:
    """`git branch -f name commit`: what only the branch held is lost."""
    words = part.arguments
    start = first_operand(words, with_value=("C", "c", "git-dir", "work-tree", "namespace", "exec-path"))
    if [word.text for word in words[start : start + 1]] != ["branch"]:
        return False
    options = read_options(words[start + 1 :], with_value=("u", "set-upstream-to"))
    return options.has("fMC", "force") and not options.has("", "list")


def _on_phone(part: Part, ground: Ground) -> bool:
    words = part.arguments[first_operand(part.arguments, with_value=tuple("sHPLt")) :]
    texts = [word.text for word in words]
    if texts[:1] == ["shell"]:
        return _DELETES_ON_PHONE.search(" ".join(texts[1:])) is not None
    return texts[:1] in (["disable-verity"], ["remount"])


def _removes_by_name(part: Part, ground: Ground) -> bool:
    """`Remove-VM`, `Remove-AzResourceGroup`: cmdlets say what they do."""
    if part.name in _HARMLESS_REMOVALS or _DESTROYING_CMDLET.fullmatch(part.name) is None:
        return False
    return not any(len(text) > 2 and "-whatif".startswith(text.lower()) for text in part.texts)


_PACKS = "It deletes the files it packs."
_EMPTIES = "It empties a file."

RULES: Final = (
    Rule("danger.destroy", _PACKS, _packs_away, name_set("tar gtar bsdtar zip rar")),
    Rule("danger.truncate", _EMPTIES, _copies_nothing, name_set("cp gcp install rsync mv")),
    Rule("danger.git", "It moves a branch away from the work it holds.", _moves_branch, frozenset(("git",))),
    Rule("danger.destroy", "It deletes what is on a phone.", _on_phone, frozenset(("adb",))),
    Rule("danger.destroy", "It removes a machine, a service or data by a cmdlet.", _removes_by_name),
)
