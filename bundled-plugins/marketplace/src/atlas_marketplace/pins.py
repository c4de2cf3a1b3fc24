"""What each commit held at first sight, so that other files under the same commit are refused ever after."""

from __future__ import annotations

import anyio.to_thread

from .item import Item
from .records import RecordsFile


class Pins:
    """The pins of one home. Fails closed: records that cannot be read let nothing in."""

    def __init__(self, records: RecordsFile) -> None:
        self._records = records

    async def fault(self, item: Item, digest: str) -> str:
        """Compare an item's folder with its pin, which is made where there is none; return what is wrong, or nothing.

        A digest that the item itself carries counts more than what was seen: it is what the reviewer read.
        """
        return await anyio.to_thread.run_sync(self._fault, item, digest)

    def _fault(self, item: Item, digest: str) -> str:
        if item.digest:
            if item.digest != digest:
                return "Its files are not those that were reviewed: their digest is another one."
        else:
            known = self._records.read().commits.get(_key(item))
            if known is not None:
                if known == digest:
                    return ""
                return (
                    f"The files of {item.repo} at {item.sha[:12]} are not those they were when Atlas first saw that "
                    "commit, and a commit does not change."
                )
        self._records.change(commits={_key(item): digest})
        return ""


def _key(item: Item) -> str:
    return f"{item.repo}@{item.sha}#{item.path}"
