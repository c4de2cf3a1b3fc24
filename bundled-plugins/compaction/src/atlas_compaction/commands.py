"""The slash commands: ``/compact`` sums up now, ``/new`` and ``/clear`` empty the window and keep everything."""

from __future__ import annotations

from atlas_sdk.commands import CommandHost, SlashCommand
from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.messages import TextPart
from atlas_sdk.plain_text import counted
from atlas_sdk.services.conversations import CONVERSATIONS

from .failures import NothingToCompactError, NotWorthItError
from .watch import Watch

COMPACTED = (
    "Compacted: {archived} archived behind a summary. The context went from about {before:,} to "
    "{after:,} tokens, of {window:,}. Nothing is deleted, and they can be searched for."
)
SHORT = "There is nothing to compact yet: the conversation is as short as it can be."
NOT_WORTH_IT = (
    "There is nothing worth compacting yet: what would be archived takes about {tokens:,} tokens, and a summary hardly "
    "less. No model was asked, and nothing was changed."
)
WISHED = " The summary was asked to keep above all: {wish}"
WISH_CHARS = 1_000
"""What matters most is said in a few sentences; what is longer belongs into the conversation."""
TOO_LONG = (
    "Not compacted: behind /compact stands in at most {most:,} characters what matters most to keep, and this has "
    "{chars:,}."
)
FAILED = "Not compacted, and nothing was changed. {why}"
CLEARED = "Cleared: {count} archived, and the next answer begins afresh. {kept}"
KEPT = "Nothing is deleted: they can be searched for, and what is remembered stays."
ONLY_OWNER = "Only the owner may do that."


def commands(ctx: PluginContext, watch: Watch) -> list[SlashCommand]:
    """Return ``/compact``, ``/new`` and ``/clear``."""

    async def compact(text: str, host: CommandHost) -> str:
        if not await _is_owner(ctx, host.conversation):
            return ONLY_OWNER
        wish = " ".join(text.split())
        if len(wish) > WISH_CHARS:
            return TOO_LONG.format(most=WISH_CHARS, chars=len(wish))
        try:
            outcome = await watch.by_hand(host.conversation, wish=wish)
        except NotWorthItError as error:
            return NOT_WORTH_IT.format(tokens=error.tokens)
        except NothingToCompactError:
            return SHORT
        except AtlasError as error:
            return FAILED.format(why=error)
        said = COMPACTED.format(
            archived=_messages(outcome.archived), before=outcome.before, after=outcome.after, window=outcome.window
        )
        return said + (WISHED.format(wish=wish) if wish else "")

    async def clear(text: str, host: CommandHost) -> str:
        if not await _is_owner(ctx, host.conversation):
            return ONLY_OWNER
        conversations = ctx.services.need(CONVERSATIONS)
        typed = (await conversations.path(host.conversation, limit=1))[-1]
        count = await watch.clear(host.conversation)
        if text:
            # As in a chat, words behind the command are the first message of what begins.
            parts = [TextPart(text=text)]
            await conversations.send(host.conversation, parts, sender=typed.sender, delivery="queue", cause=typed.id)
        return CLEARED.format(count=_messages(count - 1), kept=KEPT)  # the command itself is none that was said

    return [
        SlashCommand(
            "compact", "Sum up the older part of this conversation now.", compact, hint="what matters most to keep"
        ),
        SlashCommand("new", "Begin afresh here; what was said is archived.", clear, hint="what to begin with"),
        SlashCommand("clear", "Begin afresh here; what was said is archived.", clear, hint="what to begin with"),
    ]


def _messages(count: int) -> str:
    return counted(count, "message is", "messages are")


async def _is_owner(ctx: PluginContext, conversation: str) -> bool:
    """Say whether the owner typed the command: it changes what everybody in the conversation goes on from."""
    [typed] = await ctx.services.need(CONVERSATIONS).path(conversation, limit=1)
    return all(part.trust == "owner" for part in typed.parts if isinstance(part, TextPart) and not part.source)
