"""Bytes to text and back without losing one: the encodings files are in, and what is no text at all."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from atlas_sdk.tools import ToolError

SNIFFED_BYTES = 8_192
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_IMAGES = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "image/png"),
    (re.compile(rb"\xff\xd8\xff"), "image/jpeg"),
    (re.compile(rb"GIF8[79]a"), "image/gif"),
    (re.compile(rb"RIFF....WEBP", re.DOTALL), "image/webp"),
)
_DOCUMENTS = {
    ".pdf": "PDF", ".doc": "Word", ".docx": "Word", ".ppt": "PowerPoint", ".pptx": "PowerPoint", ".xls": "Excel",
    ".xlsx": "Excel", ".odt": "OpenDocument", ".ods": "OpenDocument", ".odp": "OpenDocument", ".rtf": "RTF",
    ".epub": "EPUB",
}  # fmt: skip


@dataclass(frozen=True)
class Text:
    """A file's text and how its bytes were read, so that it goes back the same way."""

    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    errors: str = "strict"

    @property
    def note(self) -> str:
        """What a reader should know of the encoding; empty for plain UTF-8."""
        if self.errors != "strict":
            return "Some bytes are not valid UTF-8 and are shown as �."
        return "" if self.encoding == "utf-8" else f"The file is in {self.encoding.upper()}."

    def shown(self) -> str:
        """Return the text as it can be sent anywhere."""
        return self.text if self.errors == "strict" else re.sub("[\udc80-\udcff]", "�", self.text)

    def encode(self, text: str) -> bytes:
        """Return another text as bytes in this file's way. Raises ToolError for a letter it cannot hold."""
        try:
            return self.mark + text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            letter = text[error.start]
            raise ToolError(
                f"Not written: the file is in {self.encoding.upper()}, which has no {letter!r}. "
                "Use other letters, or write the whole file again in UTF-8 with write_file."
            ) from error


def decode(data: bytes) -> Text:
    """Read bytes as text: by its mark, else as UTF-8, else as Latin-1, which any byte is a letter of.

    Bytes that are UTF-8 but for a few stay UTF-8, and the broken ones are carried along unharmed.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            errors = "surrogateescape" if encoding == "utf-8" else "surrogatepass"
            body = data[len(mark) :]
            try:
                return Text(body.decode(encoding), encoding, mark)
            except UnicodeDecodeError:
                try:
                    return Text(body.decode(encoding, errors), encoding, mark, errors)
                except UnicodeDecodeError:
                    break
    try:
        return Text(data.decode())
    except UnicodeDecodeError:
        text = data.decode(errors="surrogateescape")
    broken = len(re.findall("[\udc80-\udcff]", text))
    sound = sum(1 for letter in text if letter > "\x7f") - broken
    if sound > broken:
        return Text(text, errors="surrogateescape")
    return Text(data.decode("latin-1"), "latin-1")


def is_wide(head: bytes) -> bool:
    """Whether a file begins with the mark of an encoding of two or four bytes a letter."""
    return any(head.startswith(mark) for mark, encoding in _MARKS if encoding != "utf-8")


def image_type(head: bytes) -> str | None:
    """Return the media type of an image a model can see, by its first bytes."""
    return next((media_type for pattern, media_type in _IMAGES if pattern.match(head)), None)


def unreadable(head: bytes, suffix: str) -> str | None:
    """Say what a file is when it is no text, and what to do instead; None for text."""
    kind = _DOCUMENTS.get(suffix.lower())
    if kind and (b"\0" in head or head.startswith((b"%PDF-", b"{\\rtf", b"PK\x03\x04"))):
        return (
            f"is a document ({kind}), and Atlas does not read documents yet. "
            "Turn it into text with run_command (pdftotext, pandoc) and read that."
        )
    if b"\0" in head and not is_wide(head):
        return "is a binary file, not text. Look at it with run_command (file, xxd, strings)."
    return None
