"""Read, write, edit and find files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
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
