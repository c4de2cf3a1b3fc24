"""What ``doctor`` asks of the vault."""

from __future__ import annotations

from atlas_sdk.checks import Check, Finding
from atlas_sdk.context import PluginContext
from atlas_sdk.services.vault import VAULT

from .vault import private


def checks(ctx: PluginContext) -> list[Check]:
    """Return the checks."""

    async def modes() -> Finding:
        folder = ctx.home / "secrets"
        for path in (folder, folder / "vault.json", folder / "vault.key"):
            if not private(path):
                return Finding("failed", f"{path} can be read by others. Mend it with: chmod go-rwx {path}.")
        return Finding("ok", "The vault's files are yours alone.")

    async def opens() -> Finding:
        failed = await ctx.services.need(VAULT).check()
        if failed:
            return Finding("failed", f"These do not open and must be stored again: {', '.join(failed)}.")
        return Finding("ok", "Every secret opens.")

    return [
        Check("vault.private", "The vault is yours alone", modes),
        Check("vault.opens", "Every secret opens", opens),
    ]
