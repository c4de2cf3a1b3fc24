"""What a review has read of files: one counts once all its lines were shown, in however many windows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from atlas_sdk.messages import ImagePart, TextPart
from atlas_sdk.regular_file import read_regular

MOST_BYTES = 1_000_000
"""A file of a skill is not larger; a larger one that a review looks at is read to know something else."""
_NUMBER = re.compile(r"^ *(\d+)\t", re.MULTILINE)


class Reading:
    """The files that ``read_file`` showed. What was read whole stays so when the review itself changes it."""

    def __init__(self) -> None:
        self._lines: dict[Path, set[int]] = {}
        self._whole: set[Path] = set()

    def take(self, file: Path, shown: Sequence[TextPart | ImagePart]) -> None:
        """Take note of what was shown of a file."""
        lines = self._lines.setdefault(file, set())
        for part in shown:
            if isinstance(part, TextPart):
                lines |= {int(number) for number in _NUMBER.findall(part.text)}
            else:
                self._whole.add(file)  # a picture has no windows
        try:
            data = read_regular(file, most_bytes=MOST_BYTES)
        except OSError:
            return
        count = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
        if lines.issuperset(range(1, count + 1)):
            self._whole.add(file)

    def is_whole(self, file: Path) -> bool:
        """Whether all of a file was read."""
        return file in self._whole
