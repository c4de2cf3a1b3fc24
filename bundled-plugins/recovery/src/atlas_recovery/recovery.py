"""After a crash: what was under way is told and closed, never run again."""

from __future__ import annotations

from atlas_sdk.context import Clock, PluginContext
from atlas_sdk.events import Event, MessageAdded, Noticed, ToolFinished, TurnEnded
from atlas_sdk.ids import new_id
from atlas_sdk.messages import Message, Sender, TextPart, ToolResultPart, unpaired
from atlas_sdk.records import Call, Conversation, Effect, ModelCall, Record, Turn
from atlas_sdk.services.store import STORE, StoreService

UNKNOWN = "Interrupted: Atlas ended while this call was under way. Look at what it did before you do it again."
NEVER = "Interrupted: Atlas ended before this call ran. It did nothing."
UNKEPT = "How it ended could not be kept."


class Recovery:
    """The service."""

    def __init__(self, ctx: PluginContext) -> None:
        self._ctx = ctx
        self.interrupted: tuple[str, ...] = ()

    async def recover(self) -> None:
        self.interrupted = await recover(self._ctx.services.need(STORE), self._ctx.clock)
        for said in self.interrupted:
            self._ctx.logger.warning(said)


async def recover(store: StoreService, clock: Clock) -> tuple[str, ...]:
    """Close every turn, call and effect that a crash left open, and pair their history.

    Returns a sentence for each turn that was interrupted. All of one turn's repair is one transaction, so a
    crash in here only means that the next start goes on with it.
    """
    said = []
    for turn in await store.find(Turn, state="running"):
        conversation = await store.get(Conversation, turn.conversation)
        if conversation is None:
            continue
        newest = await store.find(Turn, conversation=turn.conversation, newest=True, limit=1)
        went_on = newest[0].id != turn.id  # it did end, and only that could not be kept
        repair = await _repair(store, clock, turn, conversation, UNKEPT if went_on else "Atlas ended while it ran.")
        await store.commit(*repair)
        if not went_on:
            said.append(f"A turn of “{conversation.title or conversation.id}” was interrupted and has been closed.")
    now = clock.now()
    for row in await store.find(ModelCall, state="open"):
        await store.commit([row.model_copy(update={"state": "interrupted", "ended_at": now})])
    await _close_left_open(store, clock)
    return tuple(said)


_LEFT_OPEN = """
    SELECT call.data AS data FROM turn JOIN call ON call.turn = turn.id
    WHERE turn.state IN ('failed', 'stopped') AND call.outcome = ''
"""


async def _close_left_open(store: StoreService, clock: Clock) -> None:
    """Close the calls and effects whose end a full disk did not take, though their turns went on and ended."""
    now = clock.now()
    rows = await store.read(lambda reading: reading.rows(_LEFT_OPEN))
    calls = [Call.model_validate_json(row["data"]) for row in rows]
    effects = await store.find(Effect, state="open")
    if calls or effects:
        records: list[Record] = [row.model_copy(update={"outcome": "interrupted", "ended_at": now}) for row in calls]
        records += [effect.model_copy(update={"state": "unknown", "ended_at": now}) for effect in effects]
        await store.commit(
            records,
            [
                ToolFinished(conversation=row.conversation, call=row.id, tool=row.tool, outcome="interrupted")
                for row in calls
            ],
        )


async def _repair(
    store: StoreService, clock: Clock, turn: Turn, conversation: Conversation, why: str
) -> tuple[list[Record], list[Event]]:
    now, records, events = clock.now(), list[Record](), list[Event]()
    rows = {row.call: row for row in await store.find(Call, turn=turn.id) if not row.ended_at}
    under_way: list[str] = []
    head = conversation.head
    own = [message for message in await store.path(conversation.id) if message.turn == turn.id]
    for call in unpaired(own):
        row = rows.pop(call.call, None)
        effects = await store.find(Effect, call=row.id) if row is not None else ()
        touched = bool(effects) or (row is not None and row.verdict == "allow")
        records.extend(
            effect.model_copy(update={"state": "unknown", "ended_at": now}) for effect in effects if not effect.ended_at
        )
        under_way.extend(f"{effect.kind} {effect.target}" for effect in effects if not effect.ended_at)
        text = UNKNOWN if touched else NEVER
        message = Message(
            id=new_id(),
            conversation=conversation.id,
            parent=head,
            role="tool",
            sender=Sender(kind="tool", name=call.name),
            parts=(
                ToolResultPart(
                    call=call.call,
                    name=call.name,
                    content=(TextPart(text=text, trust="agent", source="atlas"),),
                    is_error=True,
                ),
            ),
            created_at=now,
            turn=turn.id,
        )
        head = message.id
        records.append(message)
        events.append(MessageAdded(conversation=conversation.id, message=message))
        if row is not None:
            rows[row.id] = row
    for row in rows.values():
        records.append(row.model_copy(update={"outcome": "interrupted", "ended_at": now}))
        events.append(ToolFinished(conversation=conversation.id, call=row.id, tool=row.tool, outcome="interrupted"))
    ended = turn.model_copy(update={"state": "interrupted", "error": why, "ended_at": now})
    records += [ended, conversation.model_copy(update={"head": head, "updated_at": now})]
    events.append(TurnEnded(conversation=conversation.id, turn=ended))
    if under_way:
        what = "; ".join(under_way)
        events.append(Noticed(conversation=conversation.id, text=f"Under way when Atlas ended: {what}."))
    return records, events
