"""Repositories to measure in, made by real git, and the changes that agents make in them."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from proof.many import validated_commits

from benchmarks.measure import Command, check

ROOT = Path(__file__).resolve().parents[2]
SEED = 824
TASK = "TASK-1"
_WORDS = (
    "return",
    "value",
    "parser",
    "context",
    "for",
    "index",
    "each",
    "tree",
    "owner",
    "while",
    "snapshot",
    "import",
)
_KINDS = (("modify", 0.5), ("add", 0.2), ("delete", 0.15), ("rename", 0.1), ("chmod", 0.05))
"""What a set of changes is made of."""


class Bench:
    """The folder of one run: a home of its own, `git taskctx` on PATH, the repositories."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        home, shims = self.folder / "home", self.folder / "bin"
        for made in (home, shims):
            made.mkdir(parents=True, exist_ok=True)
        (home / ".gitconfig").write_text(
            "[user]\n\tname = A U Thor\n\temail = author@example.com\n[init]\n\tdefaultBranch = main\n"
            "[gc]\n\tauto = 0\n[safe]\n\tdirectory = *\n"
        )
        shim = shims / "git-taskctx"
        shim.write_text(f"#!{sys.executable}\nfrom git_taskctx.__main__ import run\nrun()\n")
        shim.chmod(0o755)
        kept = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PYTHON", "XDG_"))}
        self.env = {
            **kept,
            "HOME": os.fspath(home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.fspath(ROOT),
            "LC_ALL": "C.UTF-8",
        }

    def source(self, files: int) -> Path:
        """Return the bare repository with so many files; one that is in the cache is taken as it is."""
        path = self.folder / f"source-{files}"
        if not (path / "complete").exists():
            shutil.rmtree(path, ignore_errors=True)
            self.git(self.folder, "init", "-q", "--bare", os.fspath(path))
            self.import_stream(path, _tree_stream(files))
            (path / "complete").touch()
        return path

    def validated(self, count: int, *, long: bool = False) -> Path:
        """Return a repository with so many commits, each validated by three agents, made once."""
        path = self.folder / ("proofs-long" if long else "proofs")
        if not path.exists():
            self.git(self.folder, "init", "-q", os.fspath(path))
            self.import_stream(path, validated_commits(count, long=long))
            self.git(path, "config", "taskctx.proof.scope", "every")
            self.git(path, "checkout", "-q", "main")
        return path

    def worktree(self, source: Path, name: str) -> Worktree:
        """Clone a repository, which is only read, into a worktree to measure in."""
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        self.git(self.folder, "clone", "-q", "--shared", os.fspath(source), os.fspath(path))
        return Worktree(self, path)

    def git(self, folder: Path, *args: str, stdin: bytes = b"") -> bytes:
        """Run git, untimed."""
        return self.run(Command(("git", *args), folder, self.env), stdin)

    def run(self, command: Command, stdin: bytes = b"") -> bytes:
        """Run a command, untimed. Raises: Failed."""
        done = subprocess.run(
            command.argv, cwd=command.folder, env=command.env, input=stdin, capture_output=True, check=False
        )
        check(command, done.returncode, done.stderr)
        return done.stdout

    def import_stream(self, folder: Path, stream: Iterator[bytes]) -> None:
        """Feed `git fast-import`."""
        argv = ("git", "-c", "core.compression=1", "fast-import", "--quiet", "--depth=0", "--force")
        with subprocess.Popen(argv, cwd=folder, env=self.env, stdin=subprocess.PIPE) as process:
            assert process.stdin is not None
            process.stdin.writelines(stream)
            process.stdin.close()
        check(Command(argv, folder, self.env), process.returncode, b"")


class Worktree:
    """A clone in which a task is begun, and changes are made as agents make them."""

    def __init__(self, bench: Bench, path: Path) -> None:
        self.bench = bench
        self.path = path
        self._round = 0
        self._fresh: list[Path] = []
        self._settle()

    def git(self, *args: str, stdin: bytes = b"") -> bytes:
        """Run git here, untimed."""
        return self.bench.git(self.path, *args, stdin=stdin)

    def taskctx(self, *args: str) -> None:
        """Run `git taskctx` here, untimed."""
        self.bench.run(self.command("git", "taskctx", *args))

    def command(self, *argv: str) -> Command:
        """Return a command to be timed here."""
        return Command(argv, self.path, self.bench.env)

    def begin(self, *, changes: int, snapshot: bool = False) -> None:
        """Come, from whatever was here, to a task with so many changed files."""
        self.git("reset", "-q", "--hard")
        self.git("clean", "-fdqx")
        shutil.rmtree(self.path / ".git/taskctx", ignore_errors=True)
        ours = self.git("for-each-ref", "--format=delete %(refname)", "refs/taskctx", "refs/notes/taskctx")
        self.git("update-ref", "--stdin", stdin=ours)
        self._settle()
        self.taskctx("init", TASK, "--title", "Measure")
        self.change(changes)
        if snapshot:
            self.taskctx("snapshot", "--agent", "implementer", "--allow-clean")

    def change(self, count: int) -> None:
        """Change files all over the tree: modified, added, deleted, renamed, chmodded."""
        chance = random.Random(SEED)
        entries = (entry.split(b"\t", 1) for entry in self.git("ls-files", "-s", "-z").split(b"\0")[:-1])
        plain = [
            os.fsdecode(path)
            for meta, path in entries
            if meta.startswith(b"100") and not path.rpartition(b"/")[2].startswith(b".git")
        ]
        kinds = [kind for kind, share in _KINDS for _ in range(round(count * share))]
        chosen = chance.sample(plain, min(count, len(plain)))
        self._fresh = []
        for kind, name in zip(kinds, chosen, strict=False):
            file = self.path / name
            if kind == "delete":
                file.unlink()
            elif kind == "rename":
                file.rename(file.with_name(f"renamed-{file.name}"))
            elif kind == "chmod":
                file.chmod(file.stat().st_mode ^ 0o111)
            elif kind == "add":
                added = file.with_name(f"added-{file.name}")
                added.write_text("".join(f"{' '.join(chance.choices(_WORDS, k=8))}\n" for _ in range(40)))
                self._fresh.append(added)
            else:
                self._fresh.append(file)
        self.freshen()

    def freshen(self) -> None:
        """Give the modified and the added files a content that no object has yet."""
        self._round += 1
        for file in self._fresh:
            with file.open("ab") as stream:
                stream.write(b"round %06d\n" % self._round)

    def touch_all(self) -> None:
        """Give every tracked file another time, and nothing else."""
        for path in self.git("ls-files", "-z").split(b"\0")[:-1]:
            with contextlib.suppress(OSError):
                os.utime(os.fsencode(self.path) + b"/" + path, follow_symlinks=False)

    def caches(self) -> list[Path]:
        """Return the private files that a call left to be quicker the next time; safe to delete at any time."""
        folder = self.path / ".git/taskctx"
        return [file for file in folder.glob("*") if file.name != "context"] if folder.is_dir() else []

    def forget(self) -> None:
        """Delete the private caches."""
        for file in self.caches():
            if file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink()

    def _settle(self) -> None:
        """Have git write the index once more, later than every file, so that it need not doubt its entries."""
        time.sleep(0.05)
        self.git("status", "--porcelain=v2", "-z")

    # Ledgers

    def fill_notes(self, count: int) -> None:
        """Put so many notes on the ledger's ref, fanned out as git does it."""
        names = (random.Random(SEED + one).randbytes(20).hex() for one in range(count))
        self._import_notes({name: [_line(name)] for name in names}, wide=count > 10_000)

    def fill_tasks(self, count: int) -> None:
        """Put the records of so many earlier tasks on the base commit, each with its refs."""
        base, tree = self.git("rev-parse", "HEAD", "HEAD^{tree}").decode().split()
        anchors = [random.Random(SEED + one).randbytes(20).hex() for one in range(count)]
        lines = {anchor: [_line(anchor)] for anchor in anchors}
        self._import_notes({**lines, base: [_line(anchor) for anchor in anchors]}, wide=False)
        refs = (f"create refs/taskctx/{place % name[:16]} {tree}\n" for name in anchors for place in _PLACES)
        self.git("update-ref", "--stdin", stdin="".join(refs).encode())

    def fill_archive(self, count: int) -> None:
        """Put so many earlier tasks on record and into the archive, and come to where the next one is validated."""
        self.fill_tasks(count)
        self.taskctx("init", TASK, "--title", "Measure")
        with (self.path / "README").open("ab") as file:
            file.write(b"changed\n")
        self.taskctx("snapshot", "--agent", "implementer")
        self.taskctx("snapshot", "--agent", "reviewer")
        self.taskctx("snapshot", "--agent", "validator", "--done")
        self.git("add", "-A")
        folder = self.path / ".agent-output"
        for one in range(count):
            shutil.copytree(folder / "tasks" / TASK, folder / "archive" / random.Random(SEED + one).randbytes(8).hex())

    def _import_notes(self, notes: dict[str, list[str]], *, wide: bool) -> None:
        def stream() -> Iterator[bytes]:
            yield _COMMIT % b"refs/notes/taskctx"
            for name, lines in notes.items():
                path = f"{name[:2]}/{name[2:4]}/{name[4:]}" if wide else f"{name[:2]}/{name[2:]}"
                yield from _file(path, "".join(f"{line}\n" for line in sorted(lines)).encode())

        self.bench.import_stream(self.path, stream())


_COMMIT = b"commit %s\ncommitter A U Thor <author@example.com> 1767225600 +0000\ndata 0\n\n"
_PLACES = ("contexts/%s", "snapshots/%s/init/1", "snapshots/%s/implementer/1")


def _line(name: str) -> str:
    """Return a record as long as ours are."""
    return f'{{"id":"20260101T000000Z-{name[:16]}-000001","v":1,"type":"init","context":"{name[:16]}","task":"OLD"' + (
        f',"agent":"implementer","actor":"A U Thor","time":"2026-01-01T00:00:00Z","seq":1,"base":"{name}"'
        f',"tree":"{name}","commit_tree":null,"commit":"{name}","diff_sha":null,"context_sha":"{name}{name[:24]}"'
        f',"prev":null,"agents":["implementer","reviewer","validator"],"anchor":"{name}","branch":"main"'
        ',"worktree":"main"}'
    )


def _tree_stream(files: int) -> Iterator[bytes]:
    """Yield a commit of so many text files, 20 a folder, folders nested three or four deep."""
    chance = random.Random(SEED)
    text = "\n".join(" ".join(chance.choices(_WORDS, k=chance.randint(1, 14))) for _ in range(20_000)).encode()
    yield _COMMIT % b"refs/heads/main"
    yield from _file(".gitignore", b"*.o\n*.log\nbuild/\n__pycache__/\n!keep.log\n")
    for number in range(files - 1):
        place, last = divmod(number, 20)
        deeper = "/tests" if place % 3 == 0 else ""
        path = f"area{place % 8}/part{place // 8 % 25:02}/piece{place // 200:03}{deeper}/file{place:05}_{last:02}.py"
        size = int(200 * 100 ** chance.random())  # 0.2 to 20 KB, small ones most
        start = chance.randrange(len(text) - size)
        yield from _file(path, b"# file %d\n" % number + text[start : start + size] + b"\n")


def _file(path: str, data: bytes) -> Iterator[bytes]:
    yield f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
