"""A plugin folder, read whole: what of it is loaded, and what is refused and why. Nothing of it is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from atlas_sdk.folder_files import is_file, is_folder, refusal
from atlas_sdk.folder_parts import FolderParts, read_parts
from atlas_sdk.folder_report import Report
from atlas_sdk.manifest_file import MANIFEST, kebab, raw_manifest
from atlas_sdk.marketplace_entry import others_in_marketplace
from atlas_sdk.values import Json

from .hook_files import warn_of_files
from .texts import Written, read_agents, read_commands, read_skills

_KNOWN = {
    "$schema", "name", "displayName", "version", "description", "author", "homepage", "repository", "license",
    "keywords", "category", "tags", "atlas", "userConfig", "dependencies", "skills", "commands", "agents", "hooks",
    "mcpServers", "monitors", "experimental", "lspServers", "outputStyles", "themes", "workflows", "channels",
    "settings", "strict", "source", "defaultEnabled", "icon", "logo",
}  # fmt: skip
_REFUSED = {
    "lspServers": "Atlas runs no language servers.",
    "outputStyles": "Atlas has no output styles; say it in a skill or in SOUL.md.",
    "themes": "Atlas takes no themes from plugins.",
    "workflows": "Atlas runs no workflows of Claude Code's.",
    "channels": "A channel of Claude Code's is an MCP server that speaks up; Atlas's are Python, under atlas.channels.",
    "settings": "These are settings of Claude Code itself.",
}
_PLACES = {
    "lspServers": (".lsp.json",),
    "outputStyles": ("output-styles",),
    "themes": ("themes",),
    "workflows": ("workflows",),
    "channels": (),
    "settings": ("settings.json",),
}


@dataclass(frozen=True)
class Contents:
    """What a folder holds. ``commands`` are those no skill of the same name hides."""

    name: str
    folder: Path
    manifest: Mapping[str, Json]
    skills: tuple[Written, ...]
    commands: tuple[Written, ...]
    agents: tuple[Written, ...]
    parts: FolderParts
    report: Report

    def counts(self) -> dict[str, int]:
        """Return how many parts of each kind are loaded; model providers where there are any."""
        atlas = self.manifest.get("atlas")
        described = atlas.get("providers") if isinstance(atlas, dict) else None
        providers = {"providers": len(described)} if isinstance(described, dict) and described else {}
        return providers | {
            "skills": len(self.skills),
            "commands": len(self.commands),
            "agents": len(self.agents),
            "hooks": len(self.parts.hooks),
            "mcp": len(self.parts.mcp),
            "monitors": len(self.parts.monitors),
            "bin": len(self.parts.programs),
            "screen": int(self.parts.screen is not None),
            "python": int(self.parts.python),
        }


def read_contents(folder: Path, name: str, *, package: bool = False) -> Contents:
    """Read a folder whose plugin goes by ``name``. It never fails: what is wrong is in the report."""
    report = Report()
    manifest = raw_manifest(folder, report)
    written = manifest.get("name")
    has_manifest = is_file(folder / MANIFEST)
    if has_manifest and manifest and not isinstance(written, str):
        report.warn("Its manifest has no name; its name is its folder's.")
    elif isinstance(written, str) and written != kebab(written):
        report.warn(f"Its name {written[:60]!r} is not in kebab-case; it goes by {name!r}.")
    if not has_manifest and not refusal(folder, folder / "plugin.json") and is_file(folder / "plugin.json"):
        report.warn("Its plugin.json is not read where it lies: a manifest is .claude-plugin/plugin.json.")
    if others := others_in_marketplace(folder):
        report.warn(f"It is a marketplace, too: the other plugins it lists ({others}) are folders of their own.")
    needed = manifest.get("dependencies")
    if needed and not isinstance(needed, list):
        report.refuse("dependencies", "They must be a list of plugins.")
    for one in needed if isinstance(needed, list) else []:
        said = one.get("name") if isinstance(one, dict) else one
        if not isinstance(said, str) or kebab(said.partition("@")[0]) != said.partition("@")[0]:
            report.refuse(f"dependency {said!r:.60}", "This is no plugin's name.")
    unknown = sorted(set(manifest) - _KNOWN)
    if unknown:
        report.warn(f"Its manifest has {', '.join(unknown)}, which Atlas does not know and leaves alone.")
    skills = read_skills(folder, manifest.get("skills"), name, report)
    taken = {skill.name for skill in skills}
    commands = read_commands(folder, manifest.get("commands"), report)
    for hidden in (command for command in commands if command.name in taken):
        report.refuse(f"command {hidden.name}", "A skill of the plugin has its name, and the skill is used.")
    agents = read_agents(folder, manifest.get("agents"), report)
    parts = read_parts(folder, manifest, report, package=package)
    warn_of_files(folder, parts.hooks, report)
    _refuse_the_rest(folder, manifest, report)
    counted = Contents(
        name,
        folder,
        manifest,
        tuple(skills),
        tuple(command for command in commands if command.name not in taken),
        tuple(agents),
        parts,
        report,
    )
    _warn_of_unused(counted)
    if not any(counted.counts().values()) and not report.refused:
        report.warn("It holds nothing that Atlas loads.")
    return counted


def _warn_of_unused(contents: Contents) -> None:
    """Say which parts are read and lie idle, which is no fault of the folder's."""
    atlas = contents.manifest.get("atlas")
    executors = atlas.get("executors") if isinstance(atlas, dict) else None
    idle = {
        "agents": [agent.name for agent in contents.agents],
        "executors": [str(name) for name in executors] if isinstance(executors, list | dict) else [],
        "screen": ["desktop/plugin.js"] if contents.parts.screen is not None else [],
    }
    for kind, names in idle.items():
        if names:
            contents.report.warn(f"Nothing that came with Atlas uses its {kind} ({', '.join(names)}) in this version.")


def _refuse_the_rest(folder: Path, manifest: Mapping[str, Json], report: Report) -> None:
    experimental = manifest.get("experimental")
    more = experimental if isinstance(experimental, dict) else {}
    for field, why in _REFUSED.items():
        named = manifest.get(field, more.get(field))
        if isinstance(named, dict) and field == "lspServers":
            for server in named:
                report.refuse(f"{field} {server}", why)
        elif named:
            report.refuse(field, why)
        for place in (folder / one for one in _PLACES[field]):
            if is_file(place) or (is_folder(place) and (refusal(folder, place) or _holds_any(place))):
                report.refuse(place.relative_to(folder).as_posix(), why)
    for field in sorted(set(more) - {"monitors", *_REFUSED}):
        report.warn(f"Its manifest has experimental.{field}, which Atlas does not know and leaves alone.")


def _holds_any(place: Path) -> bool:
    try:
        return any(place.iterdir())
    except OSError:  # what may not be looked into holds nothing that is taken
        return False
