"""``models.toml``: what it adds, and how it refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from atlas_providers.catalog import BUILT_IN
from atlas_providers.models_file import read_endpoints
from atlas_sdk.errors import MisuseError


def read(home: Path, text: str) -> dict[str, object]:
    (home / "models.toml").write_text(text, "utf-8")
    return {one.id: one for one in read_endpoints(home)}


def test_without_the_file_there_are_the_built_in_providers(tmp_path: Path) -> None:
    assert read_endpoints(tmp_path) == BUILT_IN


def test_a_local_model_is_added_and_is_its_servers_default(tmp_path: Path) -> None:
    found = read(tmp_path, '[[models]]\nprovider = "ollama"\nid = "qwen3:32b"\nreasons = true\n')
    info = found["ollama"].models["qwen3:32b"].info  # type: ignore[attr-defined]

    assert (info.default, info.reasons, info.name) == (True, True, "qwen3:32b")


def test_a_window_that_is_not_written_is_not_known(tmp_path: Path) -> None:
    text = '[[models]]\nprovider = "ollama"\nid = "{}"\n'
    models = read(tmp_path, text.format("a") + text.format("b") + "context_window = 32768\n")["ollama"].models  # type: ignore[attr-defined]
    windows = {id: (one.info.context_window, one.info.window_known) for id, one in models.items()}

    assert windows == {"a": (128_000, False), "b": (32_768, True)}


def test_a_model_may_take_the_default_from_the_built_in_one(tmp_path: Path) -> None:
    found = read(tmp_path, '[[models]]\nprovider = "openai"\nid = "gpt-7"\ndefault = true\ninput_price = 1.0\n')
    defaults = [one.info.id for one in found["openai"].models.values() if one.info.default]  # type: ignore[attr-defined]

    assert defaults == ["gpt-7"]


def test_a_provider_of_ones_own(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        '[providers.office]\nname = "Office vLLM"\nbase_url = "http://192.168.0.5:8000/v1/"\nkey = "OFFICE_KEY"\n'
        '[[models]]\nprovider = "office"\nid = "m"\n',
    )
    office = found["office"]

    assert office.base_url == "http://192.168.0.5:8000/v1"  # type: ignore[attr-defined]
    assert office.key_name == "OFFICE_KEY"  # type: ignore[attr-defined]


def test_a_local_server_may_be_elsewhere(tmp_path: Path) -> None:
    found = read(tmp_path, '[providers.ollama]\nbase_url = "http://127.0.0.1:9999/v1"\n')

    assert (found["ollama"].base_url, found["ollama"].local) == ("http://127.0.0.1:9999/v1", True)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("[[model]]\nid = 'x'\n", "unknown field 'model'", "[[models]]"),
        ("[[models]]\nprovider = 'ollama'\nid = 'x'\ncontext = 1\n", "unknown field 'context'", "context_window"),
        ("[[models]]\nid = 'x'\n", "wrong 'provider'", "provider, id"),
        ("[[models]]\nprovider = 'olama'\nid = 'x'\n", "names a provider 'olama'", "ollama"),
        ("[providers.x]\nbase_urll = 'http://x'\n", "[providers.x]", "base_url"),
        (
            "[[models]]\nprovider = 'x'\nid = 'x'\ncontext_window = 'big'\n",
            "context_window takes a whole number, not 'big'.",
            "context_window",
        ),
        ("[providers.x]\nbase_url = 'ftp://x'\n", "wrong 'base_url'", "base_url"),
        ("[providers.openai]\nbase_url = 'http://x/v1'\n", "redefines OpenAI", "my-openai"),
        ("[providers.Ünsinn]\n", "is not valid TOML", "Correct"),
        ("models = 3\n", "shape", "[[models]]"),
    ],
)
def test_a_mistake_is_named_with_what_is_known(tmp_path: Path, text: str, problem: str, hint: str) -> None:
    with pytest.raises(MisuseError) as refused:
        read(tmp_path, text)

    assert problem in refused.value.message
    assert hint in refused.value.hint
    assert "models.toml" in refused.value.message
