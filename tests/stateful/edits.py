"""Rules that edit files, as agents and people do."""

from __future__ import annotations

import contextlib
import os
import shutil
from random import Random

from stateful.model import FILE
from stateful.world import TASK_FILES, World, rule

_TEXTS = (
    b"", b"one\n", b"one\ntwo\nthree\n", b"two\n", b"crlf\r\nline\r\n", b"mixed\r\nline\n", b"\0binary\r\n", b"no end",
)  # fmt: skip


def content(draw: Random) -> bytes:
    """Draw what may stand in a file."""
    if draw.random() < 0.02:
        return b"big %d\n" % draw.randrange(9) * 40_000
    return draw.choice(_TEXTS) if draw.random() < 0.6 else b"line %d\n" % draw.randrange(1000)


def make_room(world: World, path: bytes) -> None:
    """Take away what is in the way of a file at `path`."""
    parts = path.split(b"/")
    for depth in range(1, len(parts)):
        parent = world.repo.at(b"/".join(parts[:depth]))
        if os.path.lexists(parent) and (parent.is_symlink() or not parent.is_dir()):
            parent.unlink()
    file = world.repo.at(path)
    if file.is_dir() and not file.is_symlink():
        shutil.rmtree(file)
    file.parent.mkdir(parents=True, exist_ok=True)


def put(world: World, path: bytes, data: bytes) -> None:
    """Write a file, whatever was there."""
    make_room(world, path)
    file = world.repo.at(path)
    if file.is_symlink():
        file.unlink()
    file.write_bytes(data)


def some(world: World, draw: Random) -> bytes | None:
    """Draw a file that is there."""
    found = world.files()
    return draw.choice(found) if found else None


@rule(40)
def write(world: World, draw: Random) -> None:
    path, data = draw.choice(world.names()), content(draw)
    world.tell(f"write {path!r} {data[:20]!r}")
    put(world, path, data)


@rule(15)
def append(world: World, draw: Random) -> None:
    path = some(world, draw)
    if path is not None and not world.repo.at(path).is_symlink():
        world.tell(f"append to {path!r}")
        with world.repo.at(path).open("ab") as file:
            file.write(b"appended %d\n" % draw.randrange(100))


@rule(20, flavour="stealth")
def rewrite_in_secret(world: World, draw: Random) -> None:
    """Other bytes, the same size, the same times: only `--exact` must see it where ctime does not count."""
    path = some(world, draw)
    if path is None or world.repo.at(path).is_symlink():
        return
    file = world.repo.at(path)
    data, found = file.read_bytes(), file.stat()
    if data:
        world.tell(f"rewrite {path!r} in secret")
        file.write_bytes(bytes([data[0] ^ 1]) + data[1:])
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))


@rule(12)
def remove(world: World, draw: Random) -> None:
    path = some(world, draw)
    if path is not None:
        world.tell(f"rm {path!r}")
        world.repo.at(path).unlink()


@rule(10)
def chmod(world: World, draw: Random) -> None:
    path = some(world, draw)
    if path is not None and not world.repo.at(path).is_symlink():
        mode = draw.choice((0o644, 0o755, 0o600, 0o700))
        world.tell(f"chmod {mode:o} {path!r}")
        world.repo.at(path).chmod(mode)


@rule(8)
def touch(world: World, draw: Random) -> None:
    path = some(world, draw)
    if path is not None and not world.repo.at(path).is_symlink():
        world.tell(f"touch {path!r}")
        os.utime(world.repo.at(path))


@rule(8)
def symlink(world: World, draw: Random) -> None:
    path, target = draw.choice(world.names()), draw.choice(("a", "../a", "dir", "nowhere", "/etc/passwd", "."))
    world.tell(f"ln -s {target} {path!r}")
    make_room(world, path)
    with contextlib.suppress(FileNotFoundError):
        world.repo.at(path).unlink()
    world.repo.at(path).symlink_to(target)


@rule(10)
def rename(world: World, draw: Random) -> None:
    path, target = some(world, draw), draw.choice(world.names())
    if path is None or target == path or path.startswith(target + b"/") or target.startswith(path + b"/"):
        return
    world.tell(f"mv {path!r} {target!r}")
    data = world.repo.at(path)
    aside = world.repo.path.parent / "aside"
    data.rename(aside)
    make_room(world, target)
    aside.rename(world.repo.at(target))


@rule(6)
def remove_folder(world: World, draw: Random) -> None:
    name = draw.choice(("dir", "dir/sub", "a", "e"))
    if world.repo.at(name).is_dir() and not world.repo.at(name).is_symlink():
        world.tell(f"rm -r {name}")
        shutil.rmtree(world.repo.at(name))


@rule(3)
def empty_folder(world: World, draw: Random) -> None:
    name = draw.choice((b"empty", b"e/m/p", b"dir/empty"))
    parts = [world.repo.at(b"/".join(name.split(b"/")[: depth + 1])) for depth in range(name.count(b"/") + 1)]
    if all(part.is_dir() or not os.path.lexists(part) for part in parts):
        world.tell(f"mkdir -p {name!r}")
        parts[-1].mkdir(parents=True, exist_ok=True)


@rule(6)
def ignore(world: World, draw: Random) -> None:
    where = draw.choice((".gitignore", "dir/.gitignore", f"{world.repo.common_dir()}/info/exclude"))
    text = draw.choice(("*.o\n", "*.o\n!notes.o\n", "", "dir/*\n!dir/a\n", "b\n", "/e\n*.o\n", ".gitignore\n*.o\n"))
    if where.startswith("dir/") and (not world.repo.at("dir").is_dir() or world.repo.at("dir").is_symlink()):
        return
    if world.repo.at(where).is_symlink() or world.repo.at(where).is_dir():
        return
    world.tell(f"printf {text!r} > {where}")
    world.repo.write(where, text)


@rule(8, flavour="attributes")
def attributes(world: World, draw: Random) -> None:
    lines = ("* text=auto\n", "*.sh eol=crlf\n", "a -text\n", "* text\n", "", "dir/** ident\n", "b binary\n")
    text = draw.choice(lines)
    where = draw.choice((".gitattributes", f"{world.repo.common_dir()}/info/attributes"))
    if world.repo.at(where).is_symlink() or world.repo.at(where).is_dir():
        return
    world.tell(f"printf {text!r} > {where}")
    world.converted = True
    world.repo.write(where, text)


@rule(12, flavour="taskfile")
def write_task_file(world: World, draw: Random) -> None:
    """Keys that may change while the task runs, and text that may not."""
    data = draw.choice(TASK_FILES)
    world.tell(f"write the task file: {data!r}")
    world.repo.write(FILE, data)
