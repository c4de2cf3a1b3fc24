"""Manifests are read before anything of a plugin runs, so they are read as a stranger's."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atlas_sdk import API_VERSION
from atlas_sdk.consent import declared, digest
from atlas_sdk.errors import AtlasError, ExitCode
from atlas_sdk.manifest import CliCommand, DeclaredSecret, DeclaredSetting, Manifest
from atlas_sdk.manifest_file import FOLDER_FORMAT, MANIFEST, ManifestError, plugin_folders, read_manifest

ROOT = Path(__file__).resolve().parents[2]


def written(folder: Path, value: Any) -> Path:
    """Put a manifest into a plugin's folder."""
    path = folder / MANIFEST
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(value, bytes):
        path.write_bytes(value)
    else:
        path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return folder


def read(folder: Path, value: Any) -> Manifest:
    return read_manifest(written(folder, value), source="folder")


def refused(folder: Path, value: Any) -> str:
    with pytest.raises(ManifestError) as refusal:
        read_manifest(written(folder, value), source="package")
    assert refusal.value.exit_code == ExitCode.MISUSE
    return str(refusal.value)


def atlas(**section: Any) -> dict[str, Any]:
    return {"name": "notes", "atlas": section}


# --- what is read --------------------------------------------------------------------------------


def test_a_manifest_is_read_whole(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            "name": "my-notes",
            "version": "1.2.3",
            "description": "Keeps notes.",
            "atlas": {
                "api": 2,
                "provides": ["notes@1"],
                "requires": ["store@1"],
                "uses": ["llm@2"],
                "tools": ["add_note"],
                "network": ["api.example.com"],
                "secrets": ["PLAIN", {"name": "NOTES_KEY", "description": "d", "url": "https://example.com"}],
                "settings": [{"name": "limit", "default": 5, "description": "How many."}],
                "cli": [{"name": "notes", "help": "Notes.", "target": "my_notes.cli:app"}],
                "client": "my_notes:connect",
            },
        },
    )

    assert found == Manifest(
        name="my-notes",
        version="1.2.3",
        description="Keeps notes.",
        source="folder",
        folder=str(tmp_path),
        api=2,
        provides=("notes@1",),
        requires=("store@1", FOLDER_FORMAT),
        uses=("llm@2",),
        tools=("add_note",),
        network=("api.example.com",),
        secrets=(DeclaredSecret("PLAIN"), DeclaredSecret("NOTES_KEY", "d", "https://example.com")),
        settings=(DeclaredSetting("limit", 5, "How many."),),
        cli=(CliCommand("notes", "Notes.", "my_notes.cli:app"),),
        client="my_notes:connect",
    )


def test_what_other_programs_put_there_is_left_alone(tmp_path: Path) -> None:
    found = read(tmp_path, {"name": "notes", "author": {"name": "Ada"}, "hooks": {}, "atlas": {"shine": True}})

    assert found == Manifest("notes", folder=str(tmp_path), requires=(FOLDER_FORMAT,))


def test_only_a_bundled_plugin_is_on_from_the_start(tmp_path: Path) -> None:
    folder = written(tmp_path, atlas(on=True))

    assert [read_manifest(folder, source=source).on for source in ("folder", "package", "bundled")] == [
        False,
        False,
        True,
    ]


@pytest.mark.parametrize("on", ["true", 1, [True], {"a": 1}])
def test_on_is_true_or_nothing(tmp_path: Path, on: Any) -> None:
    assert read_manifest(written(tmp_path, atlas(on=on)), source="bundled").on is False


@pytest.mark.parametrize("path", sorted(ROOT.glob("bundled-plugins/*/src/*")), ids=lambda path: path.name)
def test_the_manifests_of_the_bundle_are_read(path: Path) -> None:
    found = read_manifest(path, source="bundled")

    assert found.description
    assert found.version != "0.0.0"


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "{", "nonsense", '{"name": "a",}', b"\xff\xfe", '"text"', "[]", "null", "7", "NaN"],
    ids=lambda text: repr(text),
)
def test_what_is_no_object_is_refused_by_its_file(tmp_path: Path, text: Any) -> None:
    assert str(tmp_path / MANIFEST) in refused(tmp_path, text)


def test_nesting_without_an_end_is_refused(tmp_path: Path) -> None:
    refused(tmp_path, '{"name": "notes", "x": ' + "[" * 50_000 + "]" * 50_000 + "}")


def test_a_manifest_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="cannot be read"):
        read_manifest(tmp_path, source="package")


def test_a_manifest_that_is_a_folder_is_said(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).mkdir(parents=True)

    with pytest.raises(ManifestError, match="cannot be read"):
        read_manifest(tmp_path, source="package")


@pytest.mark.parametrize(
    "name", [None, "", 7, [], "My Notes", "notes/..", "../x", "a_b", "-a", "a-", "a--b", "ä", "a\n"]
)
def test_a_name_that_is_no_kebab_case_is_refused(tmp_path: Path, name: Any) -> None:
    assert "name" in refused(tmp_path, {"name": name})


def test_a_long_name_is_not_printed_whole(tmp_path: Path) -> None:
    assert len(refused(tmp_path, {"name": "X" * 10_000})) < 500


@pytest.mark.parametrize("api", [0, -1, 1.5, "1", True, None, [], 10**30])
def test_an_api_that_is_no_version_is_refused(tmp_path: Path, api: Any) -> None:
    refused(tmp_path, atlas(api=api))


def test_a_plugin_for_a_newer_sdk_says_what_to_do(tmp_path: Path) -> None:
    assert "Update Atlas" in refused(tmp_path, atlas(api=API_VERSION + 1))


@pytest.mark.parametrize(
    "service", ["store", "store@", "store@0", "store@x", "Store@1", "@1", "store@1@2", " store@1", ""]
)
@pytest.mark.parametrize("field", ["provides", "requires", "uses"])
def test_a_service_without_a_version_is_refused(tmp_path: Path, field: str, service: str) -> None:
    assert f"atlas.{field}" in refused(tmp_path, atlas(**{field: [service]}))


@pytest.mark.parametrize("field", ["tools", "network", "sections", "providers", "commands"])
@pytest.mark.parametrize("value", ["text", 7, True, [7], [None], [["a"]], None])
def test_a_list_of_names_is_one(tmp_path: Path, field: str, value: Any) -> None:
    assert f"atlas.{field}" in refused(tmp_path, atlas(**{field: value}))


@pytest.mark.parametrize("field", ["secrets", "settings", "cli"])
@pytest.mark.parametrize("value", ["text", 7, {"a": 1}, [7], [None], [["a"]], [{}], [{"name": 7}], None])
def test_a_list_of_objects_is_one(tmp_path: Path, field: str, value: Any) -> None:
    refused(tmp_path, atlas(**{field: value}))


@pytest.mark.parametrize("section", [[], "text", 7, None])
def test_the_section_of_atlas_is_an_object(tmp_path: Path, section: Any) -> None:
    assert "atlas" in refused(tmp_path, {"name": "notes", "atlas": section})


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.sampled_from([*Manifest.__dataclass_fields__, "on", "client"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(FIELDS, ANY_JSON, max_size=4), st.dictionaries(FIELDS, ANY_JSON, max_size=3))
def test_a_hostile_manifest_is_read_or_refused_in_a_sentence(tmp_path: Path, section: Any, top: Any) -> None:
    with contextlib.suppress(AtlasError):
        found = read(tmp_path, {"name": "notes", **top, "atlas": section})
        json.dumps(declared(found))
        assert len(digest(found)) == 32


# --- what consent is given to --------------------------------------------------------------------


def test_consent_names_all_that_a_plugin_adds_and_nothing_empty() -> None:
    manifest = Manifest(
        "notes", tools=("add_note",), network=("*",), secrets=(DeclaredSecret("KEY"),), module="notes", provides=()
    )

    assert declared(manifest) == {"tools": ["add_note"], "network": ["*"], "secrets": ["KEY"], "python": True}
    assert declared(Manifest("quiet")) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"tools": ("add_note", "delete_note")},
        {"network": ("example.com",)},
        {"secrets": (DeclaredSecret("KEY"),)},
        {"settings": (DeclaredSetting("limit"),)},
        {"cli": (CliCommand("notes", "", "notes:app"),)},
        {"providers": ("openai",)},
        {"requires": ("vault@1",)},
        {"module": "notes"},
    ],
)
def test_more_than_was_agreed_to_asks_again(change: dict[str, Any]) -> None:
    before = Manifest("notes", tools=("add_note",))
    after = Manifest("notes", **{"tools": ("add_note",), **change})

    assert digest(before) != digest(after)


def test_a_new_version_that_adds_nothing_asks_nothing() -> None:
    before = Manifest("notes", version="1", description="Old.", tools=("a",), folder="/a")
    after = Manifest("notes", version="2", description="New.", tools=("a",), folder="/b")

    assert digest(before) == digest(after)


# --- folders, as Claude Code takes them ----------------------------------------------------------


def test_a_folder_without_a_manifest_is_named_after_itself(tmp_path: Path) -> None:
    folder = tmp_path / "My_Notes"
    (folder / "skills").mkdir(parents=True)

    assert read_manifest(folder, source="folder").name == "my-notes"


@pytest.mark.parametrize(
    ("name", "kept"),
    [("notes/..", "notes"), ("My Notes", "my-notes"), ("fooBar", "foo-bar"), ("日本", "place"), (7, "place")],
)
def test_a_folders_name_is_put_in_kebab_case(tmp_path: Path, name: Any, kept: str) -> None:
    folder = tmp_path / "place"
    folder.mkdir()

    assert read_manifest(written(folder, {"name": name}), source="folder").name == kept


def test_a_folders_manifest_may_have_a_comma_too_many(tmp_path: Path) -> None:
    (tmp_path / ".claude-plugin").mkdir()
    (tmp_path / MANIFEST).write_text('\ufeff{"name": "notes", // mine\n "version": "2",}', encoding="utf-8")

    assert read_manifest(tmp_path, source="folder").version == "2"


def test_what_a_folders_files_add_is_part_of_consent(tmp_path: Path) -> None:
    written(tmp_path, {"name": "erp", "userConfig": {"apiToken": {"sensitive": True}, "url": {"default": "https://a"}}})
    before = read_manifest(tmp_path, source="folder")
    (tmp_path / ".mcp.json").write_text(json.dumps({"erp": {"command": "erp", "args": ["${ERP_KEY}", "${HOME}"]}}))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "erp").write_text("#!/bin/sh\n")
    (tmp_path / "hooks").mkdir()
    hook = {"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}
    (tmp_path / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [hook], "SessionEnd": [hook]}}))

    after = read_manifest(tmp_path, source="folder")

    assert declared(before) == {"secrets": ["ERP_API_TOKEN"], "settings": ["url"]}
    assert declared(after) == {
        "secrets": ["ERP_KEY", "ERP_API_TOKEN"],
        "settings": ["url"],
        "hook_commands": ["PreToolUse (Bash): true"],
        "mcp_servers": ["erp (erp ${ERP_KEY} ${HOME})"],
        "programs": ["erp"],
    }
    assert digest(before) != digest(after)


def test_what_is_no_plugin_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "junk" / "src").mkdir(parents=True)
    (tmp_path / ".hidden" / "skills").mkdir(parents=True)
    (tmp_path / "notes" / "skills").mkdir(parents=True)

    assert plugin_folders(tmp_path) == [tmp_path / "notes"]
    assert plugin_folders(tmp_path / "nowhere") == []


def test_a_range_that_is_none_is_refused(tmp_path: Path) -> None:
    wanted = {"name": "helper", "dependencies": [{"name": "b", "version": ">=<1"}]}

    assert "'>=<1' is no range of versions" in refused(tmp_path, wanted)


def test_a_described_provider_declares_its_key_its_host_and_what_opens_it(tmp_path: Path) -> None:
    entry = {"base_url": "http://me@192.168.0.5:8000/v1", "key": "MY_KEY"}
    (tmp_path / ".claude-plugin").mkdir()
    written = {"name": "my-vllm", "atlas": {"providers": {"my-vllm": entry}}}
    (tmp_path / ".claude-plugin" / "plugin.json").write_text(json.dumps(written))

    manifest = read_manifest(tmp_path, source="folder")

    assert manifest.providers == ("my-vllm",)
    assert [secret.name for secret in manifest.secrets] == ["MY_KEY"]
    assert manifest.network == ("192.168.0.5:8000",)
    assert "providers@1" in manifest.requires
