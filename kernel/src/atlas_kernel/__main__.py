"""The ``atlas`` command."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line. ``version`` answers before anything else is imported."""
    if sys.argv[1:] in (["version"], ["--version"]):
        from . import __version__

        print(f"atlas {__version__}")  # noqa: T201  # a command's answer
        return 0
    try:
        from .cli import run

        return run(sys.argv[1:])
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
