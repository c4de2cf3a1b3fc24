"""Read, write, edit and find files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.schema import Schema
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_schema() -> list[Schema]:
    from .reads import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .edit_file import edit_file
    from .find_files import find_files
    from .read_file import read_file
    from .write_file import write_file

    return [read_file(ctx), write_file(ctx), edit_file(ctx), find_files(ctx)]


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from atlas_sdk.forgetting import Rows

    # A read that is not known any more costs one more read before the file may be replaced.
    return [Rows(ctx.services, "files_read", "path", where="which files conversations read", whole=True)]
