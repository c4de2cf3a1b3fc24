"""Approvals and questions that wait for a person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_sdk.hookspecs import hookimpl

if TYPE_CHECKING:
    from atlas_sdk.context import PluginContext
    from atlas_sdk.memory import Forgetter
    from atlas_sdk.methods import Method
    from atlas_sdk.schema import Schema
    from atlas_sdk.services import Provided
    from atlas_sdk.tools import Tool


@hookimpl
def atlas_services(ctx: PluginContext) -> list[Provided]:
    from atlas_sdk.services.questions import QUESTIONS

    from .questions import Questions

    return [QUESTIONS.by(Questions(ctx))]


@hookimpl
def atlas_schema() -> list[Schema]:
    from .records import SCHEMA

    return [SCHEMA]


@hookimpl
def atlas_methods(ctx: PluginContext) -> list[Method]:
    from .methods import methods

    return methods(ctx)


@hookimpl
def atlas_tools(ctx: PluginContext) -> list[Tool]:
    from .ask_user import ask_user

    return [ask_user(ctx)]


@hookimpl
def atlas_startup(ctx: PluginContext) -> list[Callable[[], Awaitable[None]]]:
    from .records import withdraw_left_open

    return [lambda: withdraw_left_open(ctx)]


@hookimpl
def atlas_forgetters(ctx: PluginContext) -> list[Forgetter]:
    from atlas_sdk.forgetting import Rows

    return [Rows(ctx.services, "questions_question", "data", "answer", where="questions you were asked")]
