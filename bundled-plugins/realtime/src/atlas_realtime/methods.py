"""The methods ``transcript.…``."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from atlas_sdk.context import PluginContext
from atlas_sdk.messages import Speaker
from atlas_sdk.methods import Caller, Method

from .transcripts import Transcripts

MOST_CHARS = 100_000
"""An hour of one voice without a pause is some 60,000."""

Said = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Line = Annotated[Said, StringConstraints(pattern=r"^[^\n\r]*$")]


class TranscriptKeep(BaseModel):
    """What was said in a live voice session, once it is final. ``client_id`` is the client's own id of it."""

    model_config = ConfigDict(extra="forbid")
    device: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100, pattern=r"^[^\n\r]*$")
    ]
    role: Speaker
    text: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=MOST_CHARS)]
    client_id: str = Field(min_length=1, max_length=200)


class TranscriptKept(BaseModel):
    """Where it is on disk. Nothing is kept, and both are empty, where the user did not turn keeping on."""

    kept: bool
    conversation: str = ""
    message: str = ""


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""
    transcripts = Transcripts(ctx)

    async def keep(params: TranscriptKeep, caller: Caller) -> BaseModel:
        if not transcripts.are_kept:
            return TranscriptKept(kept=False)
        where, kept = await transcripts.keep(params.device, params.role, params.text, client_id=params.client_id)
        return TranscriptKept(kept=True, conversation=where.id, message=kept)

    text = "Keep what was said in a live voice session, where the user wants it kept."
    return [Method("transcript.keep", TranscriptKeep, TranscriptKept, keep, text, inside="closed")]
