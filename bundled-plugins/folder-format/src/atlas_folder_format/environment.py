"""What a plugin's process is started with: what its plugin declared, what every program needs, and nothing else."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path

from atlas_sdk.context import PluginContext
from atlas_sdk.errors import AtlasError
from atlas_sdk.manifest_file import option_secret
from atlas_sdk.process_trees import Mark
from atlas_sdk.values import Json

_NEEDED = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TERM",
    # What programs on Windows do not start without.
    "SYSTEMROOT", "WINDIR", "COMSPEC", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "USERNAME", "APPDATA", "LOCALAPPDATA",
    "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "HOMEDRIVE", "HOMEPATH",
}  # fmt: skip
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z_][\w.-]*)\}")


def new_mark() -> Mark:
    """Return what one run of a plugin's program is found again by, wherever its processes ended up."""
    return Mark("ATLAS_PLUGIN_PROCESS", secrets.token_hex(8))


def base(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what of Atlas's own environment every program needs. No key is among it."""
    return {name: value for name, value in environ.items() if name.upper() in _NEEDED or name.upper().startswith("LC_")}


def places(ctx: PluginContext, project: Path, conversation: str = "") -> dict[str, str]:
    """Return the folders a plugin's process is told of, and the conversation it runs in."""
    return {
        **({"CLAUDE_CODE_SESSION_ID": conversation, "CLAUDE_SESSION_ID": conversation} if conversation else {}),
        "CLAUDE_PLUGIN_ROOT": str(ctx.folder),
        "CLAUDE_PLUGIN_DATA": str(ctx.data_folder),
        "CLAUDE_PROJECT_DIR": str(project),
    }


async def options(ctx: PluginContext, declared: Json) -> dict[str, str]:
    """Return the plugin's own options (``userConfig``) by key, those that are set or have a default."""
    found: dict[str, str] = {}
    for key, option in declared.items() if isinstance(declared, dict) else []:
        if isinstance(option, dict) and option.get("sensitive") is True:
            try:
                value: Json = await ctx.secret(option_secret(ctx.name, key))
            except AtlasError as error:
                ctx.logger.warning("The option %s could not be read: %s", key, error)
                value = None
        else:
            value = ctx.setting(key)
        if value is not None:
            found[key] = str(value).lower() if isinstance(value, bool) else str(value)
    return found


def option_variables(given: Mapping[str, str]) -> dict[str, str]:
    """Return options as the variables a hook reads, in the key's own case and in capitals."""
    variables: dict[str, str] = {}
    for key, value in given.items():
        plain = re.sub(r"\W", "_", key)
        variables |= {f"CLAUDE_PLUGIN_OPTION_{plain}": value, f"CLAUDE_PLUGIN_OPTION_{plain.upper()}": value}
    return variables


def filled(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of ``${NAME}``; a name without a value stays as it is written."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)
