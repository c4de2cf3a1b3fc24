"""The methods of the kernel's own services: conversations, messages, turns, events, settings, plugins, the home."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

import anyio.to_thread
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import MisuseError
from atlas_sdk.events import NumberedEvent
from atlas_sdk.manifest_file import is_other_on_disk
from atlas_sdk.messages import FilePart, ImagePart, Message, Part, Sender, TextPart
from atlas_sdk.methods import Caller, Method
from atlas_sdk.records import Attachment, Conversation, Origin, Turn
from atlas_sdk.services.conversations import CONVERSATIONS, Accepted, ConversationChange, ConversationDraft, Delivery
from atlas_sdk.services.home import HOME
from atlas_sdk.services.plugins import PLUGINS, PluginRow
from atlas_sdk.services.recovery import RECOVERY
from atlas_sdk.services.settings import SETTINGS, SettingRow
from atlas_sdk.services.store import STORE
from atlas_sdk.services.wire import WIRE
from atlas_sdk.values import Json

from .copies import Copies
from .gateway import GATEWAY, is_loopback
from .settings import ServerSettings


def _in_range(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except (OverflowError, OSError):  # the first and the last day of time have no other zone
        raise ValueError("the time is out of range") from None


Moment = Annotated[datetime, AfterValidator(_in_range)]


class Params(BaseModel):
    """The base of params: unknown fields are refused, so that a typo never passes in silence."""

    model_config = ConfigDict(extra="forbid")


class Nothing(Params):
    """No params, or an empty result."""


class ConversationCreate(Params):
    """A new conversation. With an ``id`` of the client's own, sending it again is harmless."""

    id: str | None = Field(default=None, max_length=64, min_length=8, pattern="^[0-9a-zA-Z-]+$")
    title: str = ""
    provider: str = ""
    model: str = ""
    effort: str = ""
    auto_mode: bool = True
    folder: str = Field(default="", max_length=4096, pattern=r"^[^\x00]*$")


class ConversationId(Params):
    """Names a conversation."""

    conversation: str


class ConversationList(Params):
    """A page of conversations, the most recently changed first."""

    limit: int = Field(default=50, ge=1, le=500)
    before: Moment | None = None
    archived: bool = False


class ConversationSet(ConversationId, ConversationChange):
    """What to change of a conversation; what is left out stays."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class History(ConversationId):
    """The last messages up to the head."""

    limit: int | None = Field(default=None, ge=1)


class MessageSend(ConversationId):
    """A message. ``client_id`` is the client's own id: sent twice, it is kept once.

    ``parent`` is the message it follows, when that is not the last one: an edit. Empty, it comes first of all.
    """

    text: str = ""
    attachments: tuple[str, ...] = ()
    client_id: str | None = Field(default=None, max_length=100)
    delivery: Delivery = "steer"
    parent: str | None = None


class EventList(Params):
    """Durable events after a number: the home's, or a conversation's own.

    Those of the copies that background reviews work on are only there for whoever names the copy.
    """

    after: int = Field(ge=0, lt=2**63)
    conversation: str | None = None
    limit: int = Field(default=1000, ge=1, le=10_000)


class PluginName(Params):
    """Names a plugin."""

    name: str


class PluginEnable(PluginName):
    """``consent`` is the digest of what the user was shown."""

    consent: str = ""


class PluginSet(PluginName):
    """A value for a setting the plugin declares; null is its default."""

    setting: str
    value: str | None = None


class ServerToken(Params):
    """``new`` replaces the token; every connection that came in by the old one ends."""

    new: bool = False


class Token(BaseModel):
    """The token that lets clients in off loopback, and the port of the settings.

    ``used`` is false while the server that runs takes another: it is on loopback, or was started with one.
    """

    token: str
    port: int
    used: bool


class SettingChange(Params):
    """A value for ``section.key``; null is its default."""

    key: str
    value: Json = None


class Conversations(BaseModel):
    """Conversations."""

    conversations: tuple[Conversation, ...]


class ConversationState(BaseModel):
    """A conversation, the turn that runs in it, and the number of its last event."""

    conversation: Conversation
    turn: Turn | None = None
    number: int = 0


class Messages(BaseModel):
    """Messages, the oldest first."""

    messages: tuple[Message, ...]


class Events(BaseModel):
    """Durable events, in order."""

    events: tuple[NumberedEvent, ...]


class Plugins(BaseModel):
    """Plugins, by name."""

    plugins: tuple[PluginRow, ...]


class Settings(BaseModel):
    """Settings, in the order of the file."""

    settings: tuple[SettingRow, ...]


class Done(BaseModel):
    """Whether anything was done."""

    done: bool


class HomeState(BaseModel):
    """The home that is open."""

    name: str
    folder: str
    version: str
    interrupted: tuple[str, ...]


class WireSchema(BaseModel):
    """The JSON Schema of the wire."""

    wire: dict[str, Any]


def methods(ctx: PluginContext) -> list[Method]:
    """Return the methods."""
    services = ctx.services
    copies = Copies(services)

    async def conversation_create(params: ConversationCreate, caller: Caller) -> BaseModel:
        draft = ConversationDraft(**params.model_dump(exclude={"id"}), origin=Origin(kind="client", name=caller.name))
        return ConversationState(conversation=await services.need(CONVERSATIONS).create(draft, id=params.id))

    async def conversation_get(params: ConversationId, caller: Caller) -> BaseModel:
        conversations = services.need(CONVERSATIONS)
        found = await conversations.get(params.conversation)
        turn = await conversations.running(found.id)
        number = await services.need(STORE).last_number(found.id)
        return ConversationState(conversation=found, turn=turn, number=number)

    async def conversation_list(params: ConversationList, caller: Caller) -> BaseModel:
        found = await services.need(CONVERSATIONS).list(**dict(params))
        return Conversations(conversations=found)

    async def conversation_change(params: ConversationSet, caller: Caller) -> BaseModel:
        change = ConversationChange(**params.model_dump(exclude={"conversation"}))
        return ConversationState(conversation=await services.need(CONVERSATIONS).change(params.conversation, change))

    async def conversation_history(params: History, caller: Caller) -> BaseModel:
        return Messages(
            messages=await services.need(CONVERSATIONS).path(params.conversation, limit=params.limit, whole=True)
        )

    async def message_send(params: MessageSend, caller: Caller) -> BaseModel:
        parts: list[Part] = [TextPart(text=params.text)] if params.text.strip() else []
        for id in params.attachments:
            parts.append(_attached(await services.need(STORE).get(Attachment, id), id))
        sender = Sender(kind="person", id="owner", name=caller.name)
        return await services.need(CONVERSATIONS).send(
            params.conversation,
            parts,
            sender=sender,
            client_id=params.client_id,
            delivery=params.delivery,
            parent=params.parent,
        )

    async def turn_stop(params: ConversationId, caller: Caller) -> BaseModel:
        return Done(done=await services.need(CONVERSATIONS).stop(params.conversation))

    async def event_list(params: EventList, caller: Caller) -> BaseModel:
        store = services.need(STORE)
        if params.conversation is not None:
            return Events(events=await store.events(**dict(params)))
        found: list[NumberedEvent] = []
        after = params.after
        while len(found) < params.limit and (page := await store.events(after=after, limit=params.limit)):
            found += [one for one in page if not await copies.holds(one.event.conversation)]
            after = page[-1].number
        return Events(events=tuple(found[: params.limit]))

    async def plugin_list(params: Nothing, caller: Caller) -> BaseModel:
        home, plugins = services.need(HOME), services.need(PLUGINS)
        if await anyio.to_thread.run_sync(is_other_on_disk, ctx.home / "plugins", home.manifests()):
            await plugins.refresh()  # a folder that came or went just now is told of as it is
        return Plugins(plugins=await plugins.list())

    async def plugin_enable(params: PluginEnable, caller: Caller) -> BaseModel:
        return await services.need(PLUGINS).enable(params.name, consent=params.consent)

    async def plugin_disable(params: PluginName, caller: Caller) -> BaseModel:
        return await services.need(PLUGINS).disable(params.name)

    async def plugin_set(params: PluginSet, caller: Caller) -> BaseModel:
        plugins = services.need(PLUGINS)
        await plugins.set(params.name, params.setting, params.value)
        [row] = [row for row in await plugins.list() if row.name == params.name]
        if row.source != "bundled" and row.state in ("on", "broken"):
            await plugins.refresh(params.name)  # it may have read the setting as it was loaded
        return Nothing()

    async def setting_list(params: Nothing, caller: Caller) -> BaseModel:
        return Settings(settings=services.need(SETTINGS).rows())

    async def setting_change(params: SettingChange, caller: Caller) -> BaseModel:
        await services.need(SETTINGS).change(params.key, params.value)
        return Nothing()

    async def home_show(params: Nothing, caller: Caller) -> BaseModel:
        home, recovery = services.need(HOME), services.get(RECOVERY)
        interrupted = recovery.interrupted if recovery else ()
        return HomeState(name=home.name, folder=str(home.folder), version=home.version, interrupted=interrupted)

    async def server_token(params: ServerToken, caller: Caller) -> BaseModel:
        token = await services.need(GATEWAY).token(new=params.new)
        settings = ctx.section(ServerSettings)
        used = not settings.token and not is_loopback(settings.host)
        return Token(token=token, port=settings.port, used=used)

    async def wire_schema(params: Nothing, caller: Caller) -> BaseModel:
        return WireSchema(wire=services.need(WIRE).schema())

    return [
        Method(
            "conversation.create", ConversationCreate, ConversationState, conversation_create, "Make a conversation."
        ),
        Method("conversation.get", ConversationId, ConversationState, conversation_get, "Return a conversation."),
        Method("conversation.list", ConversationList, Conversations, conversation_list, "List conversations."),
        Method(
            "conversation.change", ConversationSet, ConversationState, conversation_change, "Change a conversation."
        ),
        Method("conversation.history", History, Messages, conversation_history, "Return the messages up to the head."),
        Method("message.send", MessageSend, Accepted, message_send, "Keep a message and have it answered."),
        Method("turn.stop", ConversationId, Done, turn_stop, "Stop the turn that runs."),
        Method("event.list", EventList, Events, event_list, "Return durable events after a number."),
        Method("plugin.list", Nothing, Plugins, plugin_list, "List the plugins.", inside="open"),
        Method("plugin.enable", PluginEnable, PluginRow, plugin_enable, "Turn a plugin on."),
        Method("plugin.disable", PluginName, PluginRow, plugin_disable, "Turn a plugin off."),
        Method("plugin.set", PluginSet, Nothing, plugin_set, "Change a setting a plugin declares."),
        Method("setting.list", Nothing, Settings, setting_list, "List the settings."),
        Method("setting.change", SettingChange, Nothing, setting_change, "Change a setting."),
        Method("home.show", Nothing, HomeState, home_show, "Return the home that is open.", inside="open"),
        Method("server.token", ServerToken, Token, server_token, "Return the token that lets clients in."),
        Method("wire.schema", Nothing, WireSchema, wire_schema, "Return the JSON Schema of the wire.", inside="open"),
    ]


def _attached(found: Attachment | None, id: str) -> Part:
    if found is None:
        raise MisuseError(f"There is no attachment {id[:16]!r}.", hint="Upload it first: POST /files.")
    if found.media_type.startswith("image/"):
        return ImagePart(attachment=found.id, media_type=found.media_type, name=found.name)
    return FilePart(attachment=found.id, media_type=found.media_type, name=found.name, text=found.text)
