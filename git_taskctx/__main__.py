"""The door: run the command line, and turn every ending into one message and one exit code."""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what `signal` wraps, which takes longer to load than a prompt's line to write
import gc
import itertools
import os
import sys
from collections.abc import Sequence

from git_taskctx.errors import TaskctxError, find_refusal

TYPE_CHECKING = False  # typing itself would cost a hook of an agent's more than all that it does without a task
if TYPE_CHECKING:
    from typing import NoReturn

_OPENING = frozenset({
    "status", "start", "snapshot", "diff", "block", "unblock", "update", "verify", "record-qa", "compare-qa", "attach",
    "evidence", "list", "log", "report", "get", "fingerprint", "hook",
})  # fmt: skip
"""Verbs that first open the repository."""
_READING = frozenset({"status", "snapshot", "verify", "fingerprint"})
"""Verbs that then read the worktree, if a task is active; `start` only for another agent."""
_LOOKING = frozenset({"status", "diff", "verify", "list", "log", "get"})
"""Verbs that read a context, most often the active one, without its lock."""
INTERRUPTED = 130
CLOSED = 141


def run() -> NoReturn:
    """Console script `git-taskctx`.

    Every file and process is closed by then. Python would go on to take all that it has loaded apart, object by object,
    which costs as much as what git is asked.
    """
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _fill_streams()
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)  # a parent that ignores it would hide how every git ends
    gc.set_threshold(100_000)  # no looking for garbage while modules are loaded; most verbs never make so much
    try:
        code = main(sys.argv[1:], alone=True)
    except KeyboardInterrupt:  # when all was done, or nothing yet
        code = INTERRUPTED
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):  # `main` has reported it
            code = code or CLOSED
    os._exit(code)


def _fill_streams() -> None:
    """Open /dev/null where a standard stream is closed, as git does (`sanitize_stdfds`): the next file would be it."""
    while (number := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(number, True)
    os.close(number)
    sys.stdin = sys.stdin or os.fdopen(0)
    sys.stdout = sys.stdout or os.fdopen(1, "w")
    sys.stderr = sys.stderr or os.fdopen(2, "w")


def main(argv: Sequence[str], *, alone: bool = False) -> int:
    """Run one verb and return its exit code; never raises. `alone`: this process does nothing else."""
    if _is_hook(argv) and os.environ.get("GIT_TASKCTX") == "0":
        return 0
    if sys.platform == "win32":  # before anything is imported that Windows lacks
        sys.stderr.write("error: git-taskctx does not run on Windows itself; run it in WSL (wsl --install)\n")
        return 0 if _is_hook(argv) else 128
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        return _run(argv, alone=alone)
    except TaskctxError as error:
        return _say(error, argv)
    except KeyboardInterrupt as stopped:
        return _stopped(stopped)
    except SystemExit as ending:  # what the command line's library makes of a pipe that closed
        return _closed() if isinstance(ending.__context__, BrokenPipeError) else int(ending.code or 0)
    except BrokenPipeError:
        return _closed()
    except Exception as error:  # a bug of ours, reported as such
        refusal = find_refusal(error)
        if refusal is not None:
            return _say(refusal, argv)
        code = _say_bug(error, argv)
        return 0 if _is_hook(argv) else code  # a bug of ours never blocks git
    finally:
        if "git_taskctx.git.ahead" in sys.modules:
            sys.modules["git_taskctx.git.ahead"].end()


def _run(argv: Sequence[str], *, alone: bool) -> int:
    if argv and argv[0] == "agent-hook":
        from git_taskctx.cli.agenthook import run_plainly

        answered = run_plainly(argv[1:])
        if answered is not None:
            return answered
    if list(argv) == ["status", "--short"]:  # at every prompt: nothing more is loaded
        from git_taskctx.agents.prompt import glance, line_of

        line = line_of(glance("."))
        sys.stdout.write(line and f"{line}\n")
        return 0
    if alone and argv and argv[0] in _OPENING:
        _begin(argv)
    from git_taskctx.lean import load_pathlib

    load_pathlib()
    from git_taskctx.cli.plain import run_plain
    from git_taskctx.cli.signals import catch_signals, ignore_signals

    if alone:
        catch_signals()
    code = run_plain(argv)
    if code is None:
        from git_taskctx.cli.app import run_app

        code = run_app(list(argv))
    if alone:
        ignore_signals()
    return code


def _begin(argv: Sequence[str]) -> None:
    """Let git answer the verb's first questions while we load modules."""
    from git_taskctx.agents.here import FOLDER, find_worktree, is_active, refs_of
    from git_taskctx.git import ahead

    try:
        folder = os.getcwd()  # noqa: PTH109 - no pathlib here
        worktree = find_worktree(folder)
    except (OSError, ValueError):  # reported when the repository is opened
        return
    lock, refs = None, tuple[str, ...]()
    if worktree is not None and argv[0] in _LOOKING:
        refs = refs_of(worktree[1])
    if worktree is not None and argv[0] in _READING and (argv[0] == "fingerprint" or is_active(*worktree)):
        own_way = {"--cold", "--exact"}.intersection(argv) or any(".." in word for word in argv)
        lock = None if own_way else f"{worktree[0]}/{FOLDER}/.context_store.lock"
    ahead.begin(folder, os.environ, worktree, objects=argv[0] not in ("hook", "fingerprint"), scan=lock, refs=refs)


def _stopped(stopped: KeyboardInterrupt) -> int:
    """Return the exit code for Ctrl-C; another signal ends the process itself."""
    if stopped.args:
        from git_taskctx.cli.signals import end_by

        end_by(stopped.args[0])
    sys.stderr.write("\n")
    return INTERRUPTED


def _is_hook(argv: Sequence[str]) -> bool:
    return bool(argv) and argv[0] in ("hook", "agent-hook")


def _closed() -> int:
    """Give up on a closed stdout, as git's own commands do."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return CLOSED


def _say(error: TaskctxError, argv: Sequence[str]) -> int:
    if error.situation is not None:
        from git_taskctx.report.advice import advise

        advise(error)
    if _wants_json(argv):
        from git_taskctx.cli.call import write_text
        from git_taskctx.report.machine import render_json_error

        write_text(render_json_error(error))
        return error.exit_code
    from git_taskctx.cli.call import give_up, use_colour
    from git_taskctx.report.document import Document
    from git_taskctx.report.text import hints

    document = Document()
    document.line(("error: ", "bad"), error.message)
    shown = [path for path in error.paths[:20] if path not in error.message]
    for path in shown:
        document.line("  ", (path, "path"))
    if shown and len(error.paths) > 20:
        document.line(f"  and {len(error.paths) - 20} more")
    hints(document, (error.hint,) if error.hint else ())
    try:
        document.write(sys.stderr, colour=use_colour(sys.stderr))
        sys.stderr.flush()
    except OSError:  # the exit code still says it
        give_up(sys.stderr)
    return error.exit_code


def _say_bug(error: Exception, argv: Sequence[str]) -> int:
    import traceback

    from git_taskctx.report.document import printable
    from git_taskctx.shell import shell_words

    trace = os.environ.get("GIT_TASKCTX_TRACE", "")
    if trace not in ("", "0"):
        sys.stderr.write(printable("".join(traceback.format_exception(error))))
    where = traceback.extract_tb(error.__traceback__)[-1]
    sys.stderr.write(
        f"error: this is a bug in git-taskctx: {type(error).__name__}: {printable(str(error))} "
        f"({os.path.basename(where.filename)}:{where.lineno})\n"  # noqa: PTH119 - no pathlib on the way out
        f"hint: GIT_TASKCTX_TRACE=1 git taskctx {printable(shell_words(argv))}   # where it comes from, to report it\n"
    )
    return TaskctxError.exit_code


def _wants_json(argv: Sequence[str]) -> bool:
    """Return whether JSON was asked for, even if the line cannot be parsed."""
    pairs = itertools.pairwise([*argv, ""])
    return any(word == "--format=json" or (word == "--format" and after == "json") for word, after in pairs)


if __name__ == "__main__":
    run()
