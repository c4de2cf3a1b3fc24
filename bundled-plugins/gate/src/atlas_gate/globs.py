"""The user's own globs, matched on the line and on each plain part of it."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence

from atlas_gate.options import first_operand
from atlas_gate.parts import Part

# Options in front of the verb, for programs whose verb a glob is likely to name.
_BEFORE_VERB: dict[str, tuple[str, ...]] = {
    "git": ("C", "c", "git-dir", "work-tree", "namespace"),
    "gh": ("R", "repo", "hostname"),
    "kubectl": ("n", "namespace", "context", "kubeconfig", "cluster", "user", "s", "server"),
    "docker": ("H", "c", "context", "host", "l", "log-level"),
    "npm": ("prefix", "workspace", "w", "registry"),
    "gcloud": ("project", "account", "configuration", "format"),
    "terraform": (),
    "cargo": ("Z", "config"),
    "systemctl": ("H", "M"),
    "helm": ("n", "namespace", "kube-context"),
    "aws": ("profile", "region", "output"),
}


class Globs:
    """One list of globs, compiled once."""

    def __init__(self, globs: Sequence[str]) -> None:
        self._patterns = [
            (glob, re.compile(fnmatch.translate(" ".join(glob.lower().split())))) for glob in globs if glob.strip()
        ]

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, texts: Iterable[str]) -> str | None:
        """The first glob that one of the texts matches, whatever the letter case."""
        lowered = [text.lower() for text in texts]
        for glob, pattern in self._patterns:
            if any(pattern.match(text) for text in lowered):
                return glob
        return None


def plain_forms(part: Part) -> list[str]:
    """A part as a glob may have it: as written, without options before its verb, options first."""
    if not part.words:
        return []
    forms = [part.plain()]
    path = part.words[0].text
    if "/" in path:
        forms.append(" ".join(word.text for word in part.words))
    name = part.name
    if forms[0].partition(" ")[0] != name:
        forms.append(" ".join([name, *part.texts]))
    if name in _BEFORE_VERB:
        start = first_operand(part.arguments, with_value=_BEFORE_VERB[name])
        texts = part.texts[start:]
        if texts:
            forms.append(" ".join([name, *texts]))
            options = [text for text in texts[1:] if text.startswith("-")]
            others = [text for text in texts[1:] if not text.startswith("-")]
            forms.append(" ".join([name, texts[0], *options, *others]))
    return forms


def escaped(text: str) -> str:
    """A glob that matches this text and nothing else."""
    return re.sub(r"([*?\[])", r"[\1]", text)
