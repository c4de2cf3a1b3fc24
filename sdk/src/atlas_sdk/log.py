"""The log: structured lines, secrets masked in one place, written to stderr and ``logs/atlas.log``."""

from __future__ import annotations

import contextlib
import json
import logging
import logging.handlers
import sys
from datetime import UTC, datetime
from pathlib import Path

from .masking import Masker
from .values import whole_text

_KEEP_BYTES = 5_000_000
_KEEP_FILES = 3
_STANDARD = frozenset(logging.LogRecord("", 0, "", 0, "", None, None).__dict__) | {"message", "asctime", "taskName"}


class Lines(logging.Formatter):
    """One JSON object a line: time, level, logger, event and fields, with every secret masked."""

    def __init__(self, masker: Masker) -> None:
        super().__init__()
        self._masker = masker

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
        }
        line.update({key: value for key, value in record.__dict__.items() if key not in _STANDARD})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return self._masker.mask(whole_text(json.dumps(line, ensure_ascii=False, default=str)))


class Log:
    """The handlers of one home's log. ``close`` takes them away again."""

    def __init__(self, folder: Path, *, level: str, to_file: bool, to_stderr: bool, masker: Masker) -> None:
        self.logger = logging.getLogger("atlas")
        self._before = (self.logger.level, self.logger.propagate)
        self.logger.setLevel(level)
        self.logger.propagate = False
        self._handlers: list[logging.Handler] = []
        if to_file:
            path = folder / "logs" / "atlas.log"
            try:
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._add(
                    logging.handlers.RotatingFileHandler(
                        path, maxBytes=_KEEP_BYTES, backupCount=_KEEP_FILES, encoding="utf-8", delay=True
                    ),
                    masker,
                )
                path.touch(mode=0o600)
            except OSError:
                to_stderr = True  # a log that cannot be written stops nothing
        if to_stderr:
            self._add(logging.StreamHandler(sys.stderr), masker)

    def _add(self, handler: logging.Handler, masker: Masker) -> None:
        handler.setFormatter(Lines(masker))
        handler.handleError = lambda record: None  # type: ignore[method-assign]  # a full disk must not end a turn
        self.logger.addHandler(handler)
        self._handlers.append(handler)

    def close(self) -> None:
        """Take the handlers away and close the file."""
        for handler in self._handlers:
            self.logger.removeHandler(handler)
            # Lines that a full disk would not take are lost; the home closes all the same.
            with contextlib.suppress(OSError):
                handler.close()
        self._handlers = []
        self.logger.setLevel(self._before[0])
        self.logger.propagate = self._before[1]
