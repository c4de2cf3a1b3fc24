"""The tests of dotenv-guard. Run them with: atlas plugins test FOLDER."""

import subprocess

import pytest

from atlas_sdk.testing.model_script import Reply, call

pytestmark = pytest.mark.anyio

# Made for these tests; put together here, so that no scanner takes them for real ones.
OPENAI = "sk-" + "proj-" + "Zq3vT9xL2mN8bK5cR7wY4hJ6"
GITHUB = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
AWS = "AKIA" + "Z7Q3V9X2M8B5C4R6"


@pytest.fixture
def ask(atlas_plugin, tmp_path):
    """Ask the guard about a call, and return why it is refused."""

    async def ask(tool, **arguments):
        plugin = await atlas_plugin()
        told = {"tool_name": tool, "tool_input": arguments, "cwd": str(tmp_path)}
        return (await plugin.fire("PreToolUse", told)).block

    return ask


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (f"KEY = '{OPENAI}'", "an OpenAI key"),
        (f"token: {GITHUB}", "a GitHub token"),
        (f"aws = {AWS}", "an AWS key"),
        ("-----BEGIN RSA PRIVATE KEY-----\nMII", "a private key"),
        ('db_password = "kT9-vX2mQ8zL5c"', "a value for db_password"),
        ('{"apiKey": "9f86d081884c7d659a2f"}', "a value for apiKey"),
    ],
)
async def test_a_secret_is_not_written_into_a_file(ask, content, what):
    why = await ask("Write", file_path="config.py", content=content)

    assert why.startswith(f"config.py would hold {what}. ")


@pytest.mark.parametrize("secret", [OPENAI, GITHUB, AWS])
async def test_the_reason_never_holds_the_secret(ask, secret):
    assert secret not in await ask("Write", file_path="config.py", content=f"key = {secret}")


@pytest.mark.parametrize(
    "content",
    [
        "def main():\n    return 1\n",
        'api_key = os.environ["OPENAI_API_KEY"]',
        "password: ${DB_PASSWORD}",
        "API_KEY=your-key-goes-here-1234",
        "token = settings.token_of_the_service_1",
        "SECRET_NAME = 'the-name-of-it'",
        'password = getpass("Password for 127.0.0.1: ")',
        "sha256 = 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "sk-learn is a library",
    ],
)
async def test_what_only_speaks_of_secrets_is_written(ask, content):
    assert await ask("Write", file_path="config.py", content=content) == ""


async def test_an_edit_is_looked_at_too(ask):
    assert "an AWS key" in await ask("Edit", file_path="a.py", old_string="x", new_string=f"k = '{AWS}'")


async def test_what_stands_in_the_folders_env_file_stays_there(ask, tmp_path):
    (tmp_path / ".env").write_text("PORT=8080\nDATABASE=postgres://me:hunter22@db/app\n")

    why = await ask("Write", file_path="app.py", content="connect('postgres://me:hunter22@db/app')")

    assert why.startswith("app.py would hold the value of DATABASE. ")
    assert await ask("Write", file_path="app.py", content="listen(8080)") == ""


async def test_an_env_file_is_written_where_no_repository_keeps_it(ask, tmp_path):
    assert await ask("Write", file_path=str(tmp_path / ".env"), content=f"KEY={OPENAI}") == ""


@pytest.fixture
def repository(tmp_path):
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)


@pytest.mark.usefixtures("repository")
async def test_an_env_file_is_ignored_by_git_first(ask, tmp_path):
    assert "Add it to .gitignore first" in await ask("Write", file_path=".env", content=f"KEY={OPENAI}")
    (tmp_path / ".gitignore").write_text(".env\n")
    assert await ask("Write", file_path=".env", content=f"KEY={OPENAI}") == ""


async def test_an_example_file_holds_no_secret(ask):
    assert "an OpenAI key" in await ask("Write", file_path=".env.example", content=f"KEY={OPENAI}")


@pytest.mark.parametrize(
    ("command", "stopped"),
    [
        (f"echo 'KEY={OPENAI}' > config.py", True),
        (f"printf {GITHUB} | tee token.txt", True),
        ("cp .env backup/", True),
        ("cat .env > config.txt", True),
        ("cp .env.example .env", False),
        ("ls -la > files.txt", False),
        ("cat README.md", False),
    ],
)
async def test_commands_that_write_secrets_are_stopped(ask, command, stopped):
    assert bool(await ask("Bash", command=command)) is stopped


async def test_the_model_is_told_and_nothing_is_written(atlas_plugin, atlas_app):
    plugin = await atlas_plugin()
    script = [Reply(calls=[call("write_file", {"path": "config.py", "content": OPENAI})]), "I will use a .env file."]

    said = await plugin.converse(atlas_app, "Keep my key.", script, plugins=("files",))

    assert "a hook of dotenv-guard refused it: config.py would hold an OpenAI key" in said[1]
