"""What decides which program runs, and who gets a key, is shown before consent and is part of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from atlas_sdk.consent import declared, digest, in_words, is_agreed
from atlas_sdk.folder_hooks import LONGEST_COMMAND
from atlas_sdk.manifest import Manifest
from atlas_sdk.manifest_file import FOLDER_COMMAND, ManifestError, read_manifest

HOOK = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": 'sh -c "$CLAUDE_PLUGIN_OPTION_GREETING"'}]}]}}
SERVER = {"s": {"url": "https://${user_config.host}/mcp", "headers": {"Authorization": "Bearer ${TEAM_KEY}"}}}


def read(folder: Path, files: dict[str, Any] | None = None, **manifest: Any) -> Manifest:
    whole = {"name": "helper", "version": "0.1.0", **manifest}
    for name, content in {".claude-plugin/plugin.json": whole, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return read_manifest(folder, source="folder")


def agreed(now: Manifest, before: Manifest) -> bool:
    return is_agreed(now, digest(before), declared(before))


# --- options, whose defaults reach commands, environments and addresses ----------------------------


@pytest.mark.parametrize(
    ("files", "option"),
    [({"hooks/hooks.json": HOOK}, "greeting"), ({".mcp.json": {"mcpServers": SERVER}}, "host")],
    ids=["hook", "server"],
)
def test_an_option_s_default_that_decides_what_runs_is_shown_and_agreed_to(
    files: dict[str, Any], option: str, tmp_path: Path
) -> None:
    before = read(tmp_path, files, userConfig={option: {"default": "true"}})
    after = read(tmp_path, files, userConfig={option: {"default": "touch /tmp/x"}})

    assert f"option defaults: {option} = true" in in_words(declared(before))
    assert f"option defaults: {option} = touch /tmp/x" in in_words(declared(after))
    assert not agreed(after, before)


def test_a_default_is_shown_where_the_setting_of_its_name_gives_it(tmp_path: Path) -> None:
    setting = {"settings": [{"name": "greeting", "default": "touch /tmp/x"}, {"name": "greeting", "default": "true"}]}
    manifest = read(tmp_path, {"hooks/hooks.json": HOOK}, userConfig={"greeting": {}}, atlas=setting)

    assert "option defaults: greeting = touch /tmp/x" in in_words(declared(manifest))


def test_defaults_in_another_order_are_others_since_two_may_be_one_variable(tmp_path: Path) -> None:
    first, second = {"a-b": {"default": "x"}}, {"a_b": {"default": "y"}}
    before = read(tmp_path, {"hooks/hooks.json": HOOK}, userConfig={**first, **second})

    assert not agreed(read(tmp_path, userConfig={**second, **first}), before)


def test_a_default_that_nothing_runs_with_needs_no_consent_and_is_not_shown(tmp_path: Path) -> None:
    servers = {"s": {"command": "x", "args": ["${user_config.a}"]}}
    options = {"a": {"default": "1"}, "b": {"default": "2"}, "key": {"sensitive": True, "default": "3"}, "none": {}}

    assert "option_defaults" not in declared(read(tmp_path, userConfig=options))
    manifest = read(tmp_path, {".mcp.json": servers}, userConfig=options)
    assert declared(manifest)["option_defaults"] == ["a = 1"]


def test_a_default_nobody_would_read_is_none(tmp_path: Path) -> None:
    manifest = read(
        tmp_path, {"hooks/hooks.json": HOOK}, userConfig={"greeting": {"default": "x" * (LONGEST_COMMAND + 1)}}
    )

    assert [setting.default for setting in manifest.settings] == [None]
    assert "option_defaults" not in declared(manifest)


# --- described providers: which key goes where ------------------------------------------------------


def test_a_key_is_agreed_to_for_one_address(tmp_path: Path) -> None:
    paid, free = "https://api.example.test/v1", "https://free.example.test/v1"
    before = read(tmp_path, atlas={"providers": {"a": {"base_url": paid, "key": "A_KEY"}, "b": {"base_url": free}}})
    swapped = read(tmp_path, atlas={"providers": {"a": {"base_url": free, "key": "A_KEY"}, "b": {"base_url": paid}}})
    in_clear = {"a": {"base_url": "http://api.example.test/v1", "key": "A_KEY"}, "b": {"base_url": free}}

    assert "model providers: a (A_KEY → https://api.example.test/v1)" in in_words(declared(before))
    assert not agreed(swapped, before)
    assert not agreed(read(tmp_path, atlas={"providers": in_clear}), before)
    assert agreed(read(tmp_path, atlas={"providers": {"b": {"base_url": free}}}), before)


# --- terminal commands and clients: whose code they are ---------------------------------------------


def test_a_folder_s_command_is_run_by_the_reader_of_folders_whatever_it_names(tmp_path: Path) -> None:
    atlas = {"cli": [{"name": "hi", "target": "os:abort"}], "client": "os:abort"}
    manifest = read(tmp_path, {"__init__.py": "def register(ctx): pass\n"}, atlas=atlas)

    assert [command.target for command in manifest.cli] == [FOLDER_COMMAND]
    assert manifest.client == ""


def test_a_package_s_command_and_client_are_of_its_own_module_and_agreed_to(tmp_path: Path) -> None:
    def package(**atlas: Any) -> Manifest:
        whole = {"name": "helper", "version": "0.1.0", "atlas": atlas}
        (tmp_path / ".claude-plugin").mkdir(exist_ok=True)
        (tmp_path / ".claude-plugin" / "plugin.json").write_text(json.dumps(whole), "utf-8")
        return read_manifest(tmp_path, source="package", module="helper_kit")

    own = package(cli=[{"name": "hi", "target": "helper_kit.cli:app"}], client="helper_kit:connect")
    other = package(cli=[{"name": "hi", "target": "helper_kit.other:app"}], client="helper_kit:connect")

    assert "terminal commands run: hi → helper_kit.cli:app" in in_words(declared(own))
    assert "clients: helper_kit:connect" in in_words(declared(own))
    assert not agreed(other, own)
    for wrong in ({"cli": [{"name": "hi", "target": "os:abort"}]}, {"client": "helper_kitty:connect"}):
        with pytest.raises(ManifestError, match="is not of its own module helper_kit"):
            package(**wrong)
