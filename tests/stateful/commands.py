"""Rules that are real git commands, as people and agents type them; they may fail, as they do."""

from __future__ import annotations

import os
import shutil
from random import Random

from stateful.edits import content, put, some
from stateful.world import World, rule

_BRANCHES = ("main", "side", "topic")
_TASTES = (
    "core.quotePath false|core.quotePath true|status.showUntrackedFiles no|status.showUntrackedFiles all|"
    "status.renames false|diff.noprefix true|core.untrackedCache true|color.ui always|core.abbrev 40|"
    "merge.conflictStyle diff3|index.version 4|core.checkStat default|core.excludesFile ~/ignored|"
    "status.relativePaths false|core.logAllRefUpdates true"
)
_LINE_ENDS = "core.autocrlf true|core.autocrlf input|core.autocrlf false|core.safecrlf true|core.eol crlf"
_BLIND = "core.fileMode false|core.fileMode true|core.symlinks false|core.symlinks true"
_SPARSE = "set dir|set --no-cone /a /dir/a|disable|reapply|set --sparse-index dir"


def _one_of(draw: Random, ways: str) -> tuple[str, ...]:
    """Draw one of several ways to put it, as words."""
    return tuple(draw.choice(ways.split("|")).split())


def _literal(world: World, draw: Random) -> bytes:
    return b":(literal)" + _path(world, draw)


def _path(world: World, draw: Random) -> bytes:
    return some(world, draw) or b"a"


@rule(14)
def add(world: World, draw: Random) -> None:
    how = _one_of(draw, "-A|-A|--|-f --|-N --")
    world.git("add", *how, *([_literal(world, draw)] if how[-1] == "--" else []))


@rule(5)
def rm(world: World, draw: Random) -> None:
    world.git("rm", "-q", *_one_of(draw, "--cached|-f|--cached -r"), "--", _literal(world, draw))


@rule(4)
def mv(world: World, draw: Random) -> None:
    target = draw.choice(world.names())
    if not target.startswith((b"a/", b"e/")):
        world.git("mv", "-f", "--", _path(world, draw), target)


@rule(14)
def commit(world: World, draw: Random) -> None:
    how = _one_of(draw, "-a||--allow-empty|--amend|-a --amend|--")
    paths = [_literal(world, draw)] if how == ("--",) else []
    world.git("commit", "-q", "-m", f"commit {draw.randrange(1000)}", *how, *paths)


@rule(6)
def commit_everything(world: World, draw: Random) -> None:
    world.git("add", "-A")
    world.git("commit", "-q", "-m", f"everything {draw.randrange(1000)}")


@rule(10)
def switch(world: World, draw: Random) -> None:
    how = _one_of(draw, "checkout -q|checkout -q -f|switch -q -m|checkout -q --detach|checkout -q -B")
    world.git(*how, draw.choice(_BRANCHES))


@rule(2)
def switch_to_an_orphan(world: World, draw: Random) -> None:
    world.git("checkout", "-q", "--orphan", f"orphan-{draw.randrange(1000)}")


@rule(8)
def take_back(world: World, draw: Random) -> None:
    how = _one_of(draw, "checkout --|restore --staged --|checkout side --|checkout HEAD --|restore -s HEAD~1 -W --")
    world.git(*how, b"." if "HEAD" in how else _literal(world, draw))


@rule(8)
def reset(world: World, draw: Random) -> None:
    how = draw.choice(("--soft", "--mixed", "--hard", "--keep", "--merge"))
    world.git("reset", "-q", how, draw.choice(("HEAD", "HEAD~1", "main", "ORIG_HEAD", "side")))


@rule(8)
def stash(world: World, draw: Random) -> None:
    world.git("stash", *_one_of(draw, "push -q|push -q -u|push -q -k|pop -q|pop -q --index|drop -q"))


@rule(6)
def merge(world: World, draw: Random) -> None:
    how = _one_of(draw, "--no-ff|--ff|--squash|--no-commit --no-ff|-X ours|--abort")
    world.git("merge", "-q", *how, *(() if how == ("--abort",) else (draw.choice(_BRANCHES),)))


@rule(6)
def rebase(world: World, draw: Random) -> None:
    how = _one_of(draw, "main|side|--autostash side|--abort|--skip|--continue|--quit|--apply main")
    world.git("-c", "core.editor=true", "rebase", "-q", *how)


@rule(6)
def pick(world: World, draw: Random) -> None:
    verb = draw.choice(("cherry-pick", "revert"))
    world.git(verb, *_one_of(draw, "side|main|HEAD~1|--abort|--quit|--continue|--no-commit side"))


@rule(3)
def tag_or_branch(world: World, draw: Random) -> None:
    name = f"t{draw.randrange(50)}"
    world.git(*_one_of(draw, f"tag -f {name}|tag -f -a -m x {name}|branch -f topic|branch -f {name}|notes add -f -m x"))


@rule(3)
def bisect(world: World, draw: Random) -> None:
    world.git("bisect", *_one_of(draw, "start HEAD HEAD~1|reset|good"))


@rule(8)
def status(world: World, draw: Random) -> None:
    """What refreshes the user's index."""
    world.git("status", "-s")


@rule(4)
def collect_garbage(world: World, draw: Random) -> None:
    """Nothing that a context needs may go: checked here, and by all that follows."""
    world.git(*_one_of(draw, "gc -q --prune=now|repack -q -a -d|prune|pack-refs --all"))
    tasks = [*world.past.values(), *([world.task] if world.task else [])]
    needed = {tree for task in tasks for seat in task.seats.values() for tree in (seen.tree for seen in seat["taken"])}
    needed |= {tree for task in tasks for tree in (task.begun.tree, *task.saved)}
    missing = world.witness.missing(sorted(needed)) if needed else ""
    assert not missing, missing


@rule(2)
def clean(world: World, draw: Random) -> None:
    """`-x` takes `.agent-output` away, as nothing else here does."""
    how = draw.choice(("-fdq", "-fdxq", "-fdXq"))
    world.git("clean", how)
    if how != "-fdq" and world.task is not None:
        world.lost = not world.repo.at(".agent-output/active").exists()


@rule(6)
def configure(world: World, draw: Random) -> None:
    world.git("config", *_one_of(draw, _TASTES))


@rule(8, flavour="stealth")
def trust_no_ctime(world: World, draw: Random) -> None:
    world.git("config", *_one_of(draw, "core.trustctime false|core.trustctime true|core.checkStat minimal"))


@rule(8, flavour="split")
def split(world: World, draw: Random) -> None:
    world.git(*_one_of(draw, "update-index --split-index|update-index --no-split-index|config core.splitIndex true"))


@rule(10, flavour="eol")
def convert(world: World, draw: Random) -> None:
    world.converted = True
    world.git("config", *_one_of(draw, _LINE_ENDS))


@rule(10, flavour="blind")
def blind(world: World, draw: Random) -> None:
    """Modes and links that git does not look at."""
    world.converted = True
    world.git("config", *_one_of(draw, _BLIND))


@rule(14, flavour="flags")
def flag(world: World, draw: Random) -> None:
    world.elsewhere = True
    how = draw.choice(("--assume-unchanged", "--no-assume-unchanged", "--skip-worktree", "--no-skip-worktree"))
    path = _path(world, draw)
    if world.git("update-index", how, "--", path) == 0 and draw.random() < 0.5:
        world.tell(f"edit or remove {path!r}, flagged")
        put(world, path, content(draw))
        if draw.random() < 0.3:
            world.repo.at(path).unlink()


@rule(8, flavour="sparse")
def sparse(world: World, draw: Random) -> None:
    world.elsewhere = True
    world.git("sparse-checkout", *_one_of(draw, _SPARSE))


@rule(8, flavour="submodule")
def submodule(world: World, draw: Random) -> None:
    world.elsewhere = True
    source = world.repo.path.parent / "source"
    if not source.exists():
        world.git("init", "-q", os.fspath(source))
        (source / "file").write_text("theirs\n")
        world.git("add", "-A", cwd=source)
        world.git("commit", "-q", "-m", "theirs", cwd=source)
    inside = world.repo.at("sub")
    if not (inside / ".git").exists():
        world.git("submodule", "add", "-q", "--force", os.fspath(source), "sub")
        return
    how = draw.choice(("dirty", "new", "commit", "back", "deinit", "update"))
    world.tell(f"submodule: {how}")
    if how in ("dirty", "new"):
        (inside / ("file" if how == "dirty" else "new")).write_text(f"{draw.randrange(9)}\n")
    elif how == "commit":
        world.git("commit", "-q", "-a", "--allow-empty", "-m", "inside", cwd=inside)
    elif how == "back":
        world.git("reset", "-q", "--hard", "HEAD~1", cwd=inside)
    else:
        world.git("submodule", how, *(("-f", "sub") if how == "deinit" else ("-q", "--init")))


@rule(5, flavour="nested")
def nested(world: World, draw: Random) -> None:
    """A repository inside the worktree, with and without a commit."""
    world.elsewhere = True
    inside = world.repo.at("nest")
    how = draw.choice(("init", "commit", "remove"))
    world.tell(f"nested repository: {how}")
    if how == "remove":
        shutil.rmtree(inside, ignore_errors=True)
        return
    put(world, b"nest/file", b"%d\n" % draw.randrange(9))
    if not (inside / ".git").exists():
        world.git("init", "-q", cwd=inside)
    if how == "commit":
        world.git("add", "-A", cwd=inside)
        world.git("commit", "-q", "-m", "inside", cwd=inside)
