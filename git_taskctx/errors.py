"""The error tree: every way in which a verb can end without a yes, with its exit code.

::

    TaskctxError                70   a bug of ours (never raised on purpose)
    ├── Refused                  1   the answer is no: drift, blocked, not this agent's turn, a secret
    ├── CouldNotTell             3   no answer can be given: at work, objects or records missing
    ├── TryAgain                75   the lock is held, the worktree changed while it was read
    ├── Fatal                  128   no repository, no such context, one exists already
    │   ├── BadData            128   a file of ours, or a task file, cannot be read
    │   ├── BadConfig          128   `.taskctx.toml` or `git config taskctx.*` cannot be read
    │   └── GitFailed          128   git refused, and so do we
    └── Usage                  129   the command line makes no sense

An error is raised near its cause and caught once, in `git_taskctx.__main__`. Messages are lower case without a
full stop. What to type next is chosen where the error is shown, from its `situation`; `hint` is what was chosen, or
what is known at once: the command of git or of the machine that shows the fault.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Sequence

TYPE_CHECKING = False  # typing itself would cost a hook of an agent's more than all that it does without a task
if TYPE_CHECKING:
    from git_taskctx.situation import Situation


class TaskctxError(Exception):
    """Base of all expected errors; a subclass has the exit code and the machine-readable `code`."""

    exit_code = 70
    code = "internal"

    def __init__(
        self,
        message: str,
        situation: Situation | None = None,
        *,
        hint: str | None = None,
        paths: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.situation = situation
        """Input of `report.advice`; None where `hint` suffices, or nothing helps."""
        self.hint = hint
        """The command to type next, or what to do; None when nothing helps."""
        self.paths = tuple(paths)
        """The paths concerned, quoted as git quotes them."""


class Refused(TaskctxError):
    """The answer is no, by the state of the chain or by policy."""

    exit_code = 1
    code = "refused"


class CouldNotTell(TaskctxError):
    """Neither yes nor no: something needed is missing or still changing."""

    exit_code = 3
    code = "could-not-tell"


class TryAgain(TaskctxError):
    """A temporary obstacle; the same command may work in a moment."""

    exit_code = 75
    code = "try-again"


class Fatal(TaskctxError):
    """The command cannot run here at all."""

    exit_code = 128
    code = "fatal"


class BadData(Fatal):
    """A file that we wrote, or were given, has wrong content."""

    code = "bad-data"


class BadConfig(Fatal):
    """The committed policy or the personal configuration cannot be read."""

    code = "bad-config"


class GitFailed(Fatal):
    """A git process failed."""

    code = "git"


class Usage(TaskctxError):
    """The command line makes no sense."""

    exit_code = 129
    code = "usage"


_MACHINE = {
    errno.ENOSPC: "df -h; df -i   # make room, then run the same command again",
    errno.EDQUOT: "quota   # make room, then run the same command again",
    errno.EIO: "dmesg | tail   # what the disk says",
    errno.EMFILE: "ulimit -n",
    errno.ENFILE: "cat /proc/sys/fs/file-nr",
    errno.ENOMEM: "free -m",
    errno.ENAMETOOLONG: None,
    errno.EROFS: None,
    errno.EACCES: None,
    errno.EPERM: None,
}
"""Failures of the machine at any step, not bugs of ours, and what to look at."""


def find_refusal(error: Exception) -> Fatal | None:
    """Return the error for a failure of the machine; None for anything else."""
    if not isinstance(error, OSError) or error.errno not in _MACHINE:
        return None
    name = error.filename if isinstance(error.filename, str) else ""
    reason = (error.strerror or str(error)).lower()
    return Fatal(f"{name}: {reason}" if name else reason, hint=_MACHINE[error.errno] or _find_locked_out(name))


def _find_locked_out(name: str) -> str | None:
    """Return what gives back something of another user's, as a verb run as root left it, in a folder of ours."""
    from git_taskctx.shell import shell_word

    place, locked = os.path.abspath(name), ""  # noqa: PTH100 - no pathlib here
    while name and place != os.path.dirname(place):  # noqa: PTH120
        with contextlib.suppress(OSError):  # not there, or below a folder that we may not enter
            if os.lstat(place).st_uid != os.geteuid():
                locked = place
            elif locked:
                return f'sudo chown -R "$(id -un)" {shell_word(locked)}   # it belongs to another user'
            else:
                return None
        place = os.path.dirname(place)  # noqa: PTH120
    return None


def hint_in(complaint: str) -> str | None:
    """Return the advice on a machine's failure in another program's message."""
    return next((hint for number, hint in _MACHINE.items() if hint and os.strerror(number) in complaint), None)
