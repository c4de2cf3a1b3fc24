"""Actions outside the machine, and what would open Atlas itself: the user is asked every time."""

from __future__ import annotations

import re

from atlas_gate.atlas_program import RULES as ATLAS_RULES
from atlas_gate.home_trees import PROGRAMS as HOME_TREE_PROGRAMS
from atlas_gate.home_trees import left_out_words, reads_found_home, reads_home_tree, touches_found_file
from atlas_gate.options import asks_for_help, read_options
from atlas_gate.own_files import RULES as OWN_FILES_RULES
from atlas_gate.parts import Part, Word, is_constant, name_set
from atlas_gate.paths import Ground
from atlas_gate.rules import Rule, RuleList, Verdict

# What each group of `gh` only reads, or does on this machine alone. Source: `gh help`, version 2.60.
_GH_READS: dict[str, frozenset[str]] = {
    group: frozenset(verbs.split())
    for group, verbs in {
        "pr": "list ls view status checks diff checkout co",
        "issue": "list ls view status",
        "repo": "list ls view clone set-default gitignore license read-dir read-file",
        "release": "list ls view download verify verify-asset",
        "run": "list ls view watch download",
        "workflow": "list ls view",
        "gist": "list ls view clone",
        "auth": "status setup-git switch git-credential",
        "config": "get list ls set clear-cache",
        "alias": "list ls set delete import",
        "extension": "list ls search browse install upgrade remove create exec",
        "ext": "list ls search browse install upgrade remove create exec",
        "label": "list ls",
        "secret": "list ls",
        "variable": "list ls get",
        "cache": "list ls",
        "ruleset": "list ls view check",
        "codespace": "list ls view logs",
        "cs": "list ls view logs",
        "project": "list ls view field-list item-list",
        "org": "list ls",
        "ssh-key": "list ls",
        "gpg-key": "list ls",
        "attestation": "verify download trusted-root",
        "at": "verify download trusted-root",
        "agent-task": "list ls view",
        "search": "code commits issues prs repos",
    }.items()
}
_GH_READING_GROUPS = name_set("status browse completion version help search licenses")
_GH_VALUES = ("R", "repo", "hostname")
_GWS_READS = re.compile(
    r"(?:list|get|search|query|export|download|lookup|count|generateIds|batchGet|aggregatedList|schema)(?:[A-Z]\w*)?"
)
_GWS_READING_HELPERS = name_set("+triage +agenda +read +standup-report +meeting-prep +weekly-digest +search +list")
_GCLOUD_READS = re.compile(
    r"(?:list|describe|get|search|read|ls|cat|du|hash|diff|lint|wait|tail|browse|check|analyze|query|info|version|help"
    r"|topic|cheat-sheet|search-help|export-graph|show-\w+|hash-files)(?:-[\w-]+)?"
)
_GCLOUD_WRITES = re.compile(
    r"(?:create|delete|remove|add|set|update|patch|deploy|submit|reset|stop|start|restart|resume|suspend|import|export"
    r"|enable|disable|move|undelete|cancel|approve|reject|rollback|promote|failover|clone|copy|cp|mv|rm|rsync|restore"
    r"|attach|detach|resize|upgrade|revoke|login|activate-service-account|execute|call|publish|pull|ack|ssh|scp"
    r"|connect|drain|migrate|simulate|print|sign-url|access|replace|undo|rename|destroy|apply|run-job|send)(?:-[\w-]+)?"
)
_GCLOUD_LOCAL = (
    ("config",),
    ("builds", "log"),
    ("components", "list"),
    ("auth", "list"),
    ("auth", "configure-docker"),
    ("init",),
)
_GCLOUD_VALUES = [
    "project",
    "account",
    "format",
    "filter",
    "region",
    "zone",
    "configuration",
    "verbosity",
    "impersonate-service-account",
    "billing-project",
    "flatten",
    "limit",
    "sort-by",
    "page-size",
    "access-token-file",
    "flags-file",
    "trace-token",
    "location",
]
_LOOKS_ONLY = name_set(
    "ls cd pushd popd du stat tree find test [ echo printf mkdir file realpath readlink dirname basename pwd"
)
_READS_ONLY = name_set(
    "cat head tail less more bat grep egrep fgrep rg ag ls stat wc diff cmp comm jq yq file md5sum "
    "sha256sum sha1sum shasum b2sum cksum awk cut sort uniq find tree du od xxd hexdump strings nl tac "
    "rev test [ echo printf cd source . column view get-content gc select-string type"
)
_PRINTS = name_set("echo printf test [ cowsay say logger notify-send : true write-output write-host")
_GIT_TALKS = name_set("commit tag notes log grep stash show diff blame status")
_PRINT_TOKEN = re.compile(r"print-(?:\w+-)*token")


def _gh(part: Part, ground: Ground) -> bool:
    words = part.arguments
    if asks_for_help(words):
        return False
    names = _names(words, _GH_VALUES)
    if not names:
        return False
    group, verb = names[0], names[1] if len(names) > 1 else ""
    texts = part.texts
    if group == "api":
        return _gh_api(words)
    if group == "auth" and verb == "status":
        return any(re.fullmatch(r"-\w*t\w*|--show-token(?:=.*)?", text) for text in texts)
    if group == "config" and "oauth_token" in texts:
        return True
    if group == "issue" and verb == "develop":
        return not any(text in ("--list", "-l") for text in texts)
    if group in _GH_READING_GROUPS:
        return False
    if group in _GH_READS:
        return bool(verb) and verb not in _GH_READS[group]
    return is_constant(group) or True


def _names(words: tuple[Word, ...], with_value: tuple[str, ...] | list[str]) -> list[str]:
    return [word.text for word in read_options(words, with_value=with_value).operands]


def _gh_api(words: tuple[Word, ...]) -> bool:
    with_value = ("X", "method", "f", "F", "field", "raw-field", "H", "header", "input", "q", "jq", "t", "template")
    options = read_options(words, with_value=(*with_value, "p", "preview", "cache", "hostname"))
    given = [(name, value) for name, value in (*options.values, *options.long)]
    method = next((value.lstrip("=").upper() for name, value in reversed(given) if name in ("X", "method")), "")
    fields = [value for name, value in given if name in ("f", "F", "field", "raw-field")]
    has_input = any(name == "input" for name, _ in given)
    if any(word.text.strip("/").lower() == "graphql" for word in options.operands):
        queries = [field.partition("=")[2] for field in fields if field.startswith("query=")]
        readable = bool(queries) and all(is_constant(query) and not query.startswith("@") for query in queries)
        return has_input or not readable or any(re.search(r"\bmutation\b", query) for query in queries)
    if method:
        return method not in ("GET", "HEAD", "OPTIONS")
    return bool(fields) or has_input


def _gws(part: Part, ground: Ground) -> bool:
    words = part.arguments
    if asks_for_help(words) or not words:
        return False
    texts = part.texts
    for before, text in zip(["", *texts], texts, strict=False):
        if text == "--dry-run" and not before.startswith("--"):
            return False
    names: list[str] = []
    for text in texts:
        if text.startswith("-"):
            break
        names.append(text)
    if not names:
        return not any(text in ("--version", "-V", "--help", "-h") for text in texts[:1])
    if names[0] in ("schema", "help", "version", "completion"):
        return False
    if names[0] == "auth":
        return names[1:2] not in (["status"], ["list"])
    if names[-1].startswith("+"):
        return names[-1] not in _GWS_READING_HELPERS
    helper = next((text for text in texts if text.startswith("+") and len(text) > 1), None)
    if helper is not None and len(names) < 2:
        return helper not in _GWS_READING_HELPERS
    return _GWS_READS.fullmatch(names[-1]) is None


def _gcloud(part: Part, ground: Ground) -> bool:
    words = part.arguments
    if asks_for_help(words):
        return False
    options = read_options(words, with_value=_GCLOUD_VALUES)
    names = [word.text for word in options.operands]
    if names[:1] in (["beta"], ["alpha"], ["preview"]):
        names = names[1:]
    if not names:
        return False
    if names[:2] == ["config", "config-helper"]:
        return True
    if any(tuple(names[: len(local)]) == local for local in _GCLOUD_LOCAL):
        return False
    if any(_PRINT_TOKEN.fullmatch(name) for name in names):
        return True
    if names[0] == "storage" and names[1:2] in (["cp"], ["rsync"]):
        return len(names) < 4 or "://" in names[-1] or not is_constant(names[-1])
    for name in names:
        if _GCLOUD_READS.fullmatch(name):
            return False
        if _GCLOUD_WRITES.fullmatch(name):
            return True
    return True


def _touches_atlas(part: Part, ground: Ground) -> bool:
    for redirect in part.redirects:
        kind = ground.atlas_object(ground.path(part, redirect.target))
        if kind == "closed" or (kind == "settings" and redirect.writes):
            return True
    inside = part.folder is not None and part.folder.lower().startswith(ground.atlas_home)
    own = ground.atlas_home.rpartition("/")[2]
    named = [
        (number, word)
        for number, word in enumerate(part.words)
        if inside or word.is_pattern or own in word.text.lower()
    ]
    if not named or part.name in _PRINTS:
        return False
    if part.name == "git" and set(part.texts[:4]) & _GIT_TALKS and "--no-index" not in part.texts:
        return False
    base = _folder_option(part)
    left_out = set(left_out_words(part))
    for number, word in named:
        if number in left_out:
            continue
        text = word.text
        if base and not text.startswith(("/", "-")):
            text = f"{base}/{text}"
        if ground.atlas_mention.search(text) and (number or "/" in text):
            return True
        for candidate in _candidates(text):
            if _is_touched(part, ground, Word(candidate, word.is_pattern), number=number):
                return True
    return False


def _folder_option(part: Part) -> str | None:
    """The folder `tar -C` goes to before it reads its names."""
    if part.name not in ("tar", "bsdtar"):
        return None
    return next(
        (after.text for word, after in zip(part.words, part.words[1:], strict=False) if word.text == "-C"), None
    )


def _candidates(text: str) -> list[str]:
    """A word, and what stands behind its `=` or `:`: `--file=path`, `of=path`, `-v path:/x`."""
    found = [text]
    if "=" in text:
        found.append(text.partition("=")[2])
    if ":" in text and not re.match(r"[A-Za-z]:[\\/]", text):
        found.extend(text.split(":"))
    return [one for one in found if one and not one.startswith("-")]


def _is_touched(part: Part, ground: Ground, word: Word, *, number: int) -> bool:
    path = ground.path(part, word)
    kind = ground.atlas_object(path, is_pattern=word.is_pattern)
    if kind is None and is_constant(path) and number:
        kind = ground.atlas_object(ground.world.real_path(path))
    if kind is None or (number == 0 and kind != "closed"):
        return False
    if kind == "closed":
        return True
    if kind == "home":
        runs = part.name == "find" and any(text in ("-exec", "-execdir", "-ok", "-okdir") for text in part.texts)
        return runs or part.name not in _LOOKS_ONLY
    if part.name in ("cp", "rsync", "scp"):
        return number == len(part.words) - 1
    if part.name == "sed":
        return any(text.startswith(("-i", "--in-place")) for text in part.texts)
    return part.name not in _READS_ONLY


def _reads_token(part: Part, ground: Ground) -> bool:
    words = [word for word in part.words if ".config" in word.text]
    words += [redirect.target for redirect in part.redirects if ".config" in redirect.target.text]
    return part.name not in _PRINTS and any(ground.holds_token(ground.path(part, word)) for word in words)


_ENVIRONMENT = re.compile(r"/proc/(?!(?:self|thread-self)/)[^/\s]+/(?:task/[^/\s]+/)?environ(?!\w)")


def _reads_environment(part: Part, ground: Ground) -> bool:
    """`cat /proc/$PPID/environ`, `ps eww`: other processes, Atlas the first of them, hold keys a command does not."""
    if part.name in _PRINTS or part.name == "find":
        return False
    if part.name == "ps":
        return bool(part.arguments) and re.fullmatch(r"[a-zA-Z]*e[a-zA-Z]*", part.arguments[0].text) is not None
    words = [*part.words, *(redirect.target for redirect in part.redirects)]
    paths = (ground.path(part, word) for word in words if "environ" in word.text)
    return any(_ENVIRONMENT.search(text) for text in (*paths, *part.texts))


_TREE = "It copies, sends or prints everything in a folder that holds Atlas's own keys and data."

OUTWARD = RuleList(
    Verdict.ASK,
    (
        Rule("outward.gh", "It changes something on GitHub or prints a token of it.", _gh, frozenset(("gh",))),
        Rule("outward.gws", "It changes something in Google Workspace or prints its keys.", _gws, frozenset(("gws",))),
        Rule(
            "outward.gcloud",
            "It changes something in Google Cloud or prints a token of it.",
            _gcloud,
            frozenset(("gcloud",)),
        ),
        *ATLAS_RULES,
        Rule("outward.atlas-home", "It touches Atlas's own plugins, data, keys or settings.", _touches_atlas),
        Rule("outward.atlas-home", _TREE, reads_home_tree, HOME_TREE_PROGRAMS),
        Rule("outward.atlas-home", _TREE, reads_found_home),
        Rule("outward.atlas-home", "It is given a file of Atlas's own that was searched for.", touches_found_file),
        *OWN_FILES_RULES,
        Rule("outward.token-file", "It reads or changes a file that holds a token.", _reads_token),
        Rule("outward.environment", "It reads the environment of other processes, keys and all.", _reads_environment),
    ),
)
