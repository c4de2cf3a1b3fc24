"""Matrix: a channel over the client-server API, for rooms without encryption."""

from atlas.plugins.sdk import PluginContext

from .channel import MatrixChannel
from .client import Client
from .state import State


def register(ctx: PluginContext) -> None:
    def make() -> MatrixChannel:
        client = Client(str(ctx.setting("homeserver") or ""), ctx.secret("MATRIX_ACCESS_TOKEN") or "", ctx.http)
        people = frozenset(str(ctx.setting("people") or "").replace(",", " ").split())
        return MatrixChannel(
            client, State(ctx.data_folder / "state.json", ctx.logger), people=people, logger=ctx.logger
        )

    ctx.register_channel("matrix", make)
