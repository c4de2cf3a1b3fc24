"""The calls of Python that matter to the gate, by their dotted names."""

from __future__ import annotations

from atlas_gate.endless_forks import FORKS
from atlas_gate.parts import name_set

SHELL_CALLS = name_set(
    "os.system os.popen subprocess.getoutput subprocess.getstatusoutput commands.getoutput "
    "asyncio.create_subprocess_shell anyio.run_process trio.run_process sh popen2.popen2"
)
PROCESS_CALLS = frozenset(
    f"subprocess.{name}" for name in ("run", "call", "check_call", "check_output", "Popen")
) | frozenset(("asyncio.create_subprocess_exec", "pty.spawn", "pexpect.spawn", "pexpect.run"))
DELETING_CALLS = frozenset(("shutil.rmtree", "rmtree"))
REMOVING_CALLS = frozenset(("os.remove", "os.unlink", "os.rmdir", "os.removedirs"))
OPENING_CALLS = name_set(
    "open io.open os.open sqlite3.connect shutil.copy shutil.copyfile shutil.copytree shutil.move "
    "os.rename os.replace os.symlink os.listdir os.scandir glob.glob os.walk"
)
WALKING_CALLS = name_set("os.walk os.fwalk os.listdir os.scandir walk listdir scandir")
# `for one in sorted(os.walk(x))` goes through as much.
PASSES_ON = name_set("sorted list tuple reversed set iter enumerate map filter tqdm itertools.chain")
KNOWN_CALLS = FORKS | SHELL_CALLS | PROCESS_CALLS | DELETING_CALLS | REMOVING_CALLS | OPENING_CALLS
IMPORTING_CALLS = name_set(
    "__import__ builtins.__import__ importlib.import_module importlib.__import__ importlib.util.find_spec "
    "runpy.run_module pkgutil.resolve_name pydoc.locate"
)
FETCHING_CALLS = name_set(
    "urllib.request.urlopen requests.get requests.request httpx.get urllib2.urlopen requests.post"
)
PATH_METHODS = name_set(
    "read_text read_bytes write_text write_bytes open unlink rmdir rename replace touch mkdir iterdir glob"
)
