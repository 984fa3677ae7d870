"""The completion scripts offer the verbs and options that there are, and work in real shells."""

from __future__ import annotations

import contextlib
import itertools
import os
import pty
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRepo, run_taskctx
from verbs import CHOICES, FLAGS, OPTIONS, ROOT_OPTIONS

from git_taskctx.cli.completion import PLACES, Shell, render_completion
from git_taskctx.hooks.shims import EVENTS
from git_taskctx.model.schema import SCHEMAS

BASH, ZSH, FISH = map(render_completion, PLACES)
GIT_COMPLETION = (
    Path("/usr/share/bash-completion/completions/git"),
    Path("/usr/share/git-core/contrib/completion/git-completion.bash"),
    Path("/usr/local/share/bash-completion/completions/git"),
)
LONG = {verb: {name for name in options if name != "-h"} for verb, options in OPTIONS.items()}
"""What is offered: the long names."""
ROOT = {name for name in ROOT_OPTIONS if name != "-h"}


@pytest.fixture(scope="session")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The three scripts, each where its shell looks for it below a data folder."""
    share = tmp_path_factory.mktemp("share")
    for shell, place in PLACES.items():
        (share / place).parent.mkdir(parents=True)
        (share / place).write_text(render_completion(shell))
    return share


def bash(script: str, cwd: Path) -> list[str]:
    """Run a script in a bash that has our completion, and return what it printed."""
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{BASH}\n{script}"],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout.splitlines()


def complete(line: str, cwd: Path, *, function: str = "__git_taskctx_main", before: str = "") -> list[str]:
    """Return what bash would offer at the end of a line, divided as bash divides it."""
    words = [word for word in re.split(r"\s+|([=:])", line) if word is not None]
    words = [word for index, word in enumerate(words) if word or index == len(words) - 1]
    script = f"""{before}
        COMP_WORDS=({" ".join(map(shlex.quote, words))}) COMP_CWORD={len(words) - 1}
        COMP_LINE={shlex.quote(line)} COMP_POINT={len(line)}
        {function}
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    return [word.rstrip() for word in bash(script, cwd) if word]


def test_bash_knows_every_verb_and_option(tmp_path: Path) -> None:
    """The verbs and options that are offered are the command line's, and each has a value where it takes one."""
    assert set(complete("git-taskctx ", tmp_path)) == set(OPTIONS)
    for verb, options in {"": ROOT, **LONG}.items():
        offered = complete(f"git-taskctx {verb} -", tmp_path)
        assert (verb, set(offered), len(offered)) == (verb, options, len(options))
        script = f"__taskctx_table '{verb}'; for entry in $table; do echo $entry; done"
        valued = {line.split("=")[0].split("!")[0].rstrip("+") for line in bash(script, tmp_path) if "=" in line}
        assert (verb, {name for name in valued if name.startswith("-")}) == (verb, options - FLAGS)


def test_bash_offers_fixed_values(tmp_path: Path) -> None:
    """Choices are offered as the command line has them, after a blank and after `=`."""
    for (verb, name), values in CHOICES.items():
        if name.startswith("-"):
            assert complete(f"git-taskctx {verb} {name} ", tmp_path) == values
            assert complete(f"git-taskctx {verb} {name}=", tmp_path) == values
        else:
            assert complete(f"git-taskctx {verb} ", tmp_path) == values
    assert complete("git-taskctx schema ", tmp_path) == list(SCHEMAS)
    assert set(complete("git-taskctx help ", tmp_path)) == set(OPTIONS)
    assert complete("git-taskctx get --format j", tmp_path) == ["json"]
    assert complete("git-taskctx get --format=j", tmp_path) == ["json"]


def test_bash_offers_what_is_left(tmp_path: Path) -> None:
    """Beginnings narrow the choice, and an option is not offered twice."""
    assert complete("git-taskctx res", tmp_path) == ["restore", "resolve-drift"]
    assert complete("git-taskctx --task T-1 snap", tmp_path) == ["snapshot"]
    assert complete("git-taskctx snapshot --w", tmp_path) == ["--wip"]
    assert complete("git-taskctx snapshot --wip --w", tmp_path) == []
    assert complete("git-taskctx snapshot --wip --d", tmp_path) == ["--deep"]
    assert complete("git-taskctx get --format=json --fo", tmp_path) == []
    assert complete("git-taskctx restore --paths a --pa", tmp_path) == ["--paths"]
    assert complete("git-taskctx nonsense --", tmp_path) == []


def test_bash_reads_the_active_context(repo: GitRepo, tmp_path: Path) -> None:
    """Agents, tasks, contexts and open findings are those of the context, also from below and with -C."""
    repo.write("tasks/TASK-7-parser.task.yaml", "title: T\n")
    repo.write("tasks/TASK-8.task.md", "---\ntitle: T\n---\n")
    below = repo.write("deep/down/file").parent
    repo.commit()
    run_taskctx("init", "TASK-1", "--title", "T", "--agents", "dev,checker", cwd=repo.path)
    run_taskctx("block", "--agent", "dev", "--finding", 'it says "id": "F9",', cwd=repo.path)
    run_taskctx("block", "--agent", "checker", "--finding", "two", cwd=repo.path)
    run_taskctx("unblock", "--agent", "dev", "--finding", "F1", cwd=repo.path)
    contexts = repo.git("for-each-ref", "--format=%(refname:lstrip=3)", "refs/taskctx/contexts").splitlines()
    for cwd, line in ((repo.path, "git-taskctx"), (below, "git-taskctx"), (tmp_path, f"git-taskctx -C {repo.path}")):
        assert complete(f"{line} start --agent ", cwd) == ["dev", "checker"]
        assert complete(f"{line} restore --agent ", cwd) == ["dev", "checker", "init", "saved"]
        assert complete(f"{line} unblock --agent checker --finding ", cwd) == ["F2"]
        assert complete(f"{line} get --context ", cwd) == contexts
        assert complete(f"{line} --task ", cwd) == ["TASK-1"]
        assert complete(f"{line} init ", cwd) == ["TASK-1"] + (["TASK-7", "TASK-8"] if cwd != below else [])
    run_taskctx("purge", cwd=repo.path)
    assert complete("git-taskctx recover ", repo.path) == ["TASK-1"]


def test_bash_offers_no_files_where_none_are_meant(tmp_path: Path) -> None:
    """Where nothing of ours fits, bash is told not to offer files; a path is completed as ever."""
    told = "compopt () { echo told; }"
    for line in ("unblock --agent dev --finding ", "start --agent ", "status ", "resolve-drift --note "):
        assert complete(f"git-taskctx {line}", tmp_path, before=told)[0] == "told", line
    for line in ("-C ", "init --task-file ", "update --qa-log ", "restore --paths ", "restore --paths=a"):
        assert complete(f"git-taskctx {line}", tmp_path, before=told) == [], line


def test_bash_trusts_nothing_in_the_worktree(repo: GitRepo) -> None:
    """Names that are no names are not offered, and a path in `active` leads nowhere."""
    repo.write(".agent-output/active", "../../elsewhere\n")
    repo.write("elsewhere/context.json", '{\n  "agents": [\n    "dev"\n  ],\n')
    assert complete("git-taskctx start --agent ", repo.path) == ["implementer", "reviewer", "validator"]
    repo.write(".agent-output/active", "TASK-1\n")
    evil = '{\n  "agents": [\n    "$(touch pwned)",\n    "a b",\n    "\\u001b[31m",\n    "good"\n  ],\n'
    repo.write(".agent-output/tasks/TASK-1/context.json", evil)
    repo.write(".agent-output/tasks/$(touch pwned)/context.json", "")
    assert complete("git-taskctx start --agent ", repo.path) == ["good"]
    assert complete("git-taskctx --task ", repo.path) == ["TASK-1"]
    assert not repo.at("pwned").exists()


def test_bash_with_gits_own_completion(desk: Desk) -> None:
    """`git taskctx <TAB>` comes to us through git's completion, as it is installed here."""
    theirs = next((path for path in GIT_COMPLETION if path.exists()), None)
    library = Path("/usr/share/bash-completion/bash_completion")
    if theirs is None:
        pytest.skip("git's own bash completion is not installed")
    before = f"[[ ! -e {library} ]] || source {library}\nsource {theirs}"
    assert run_taskctx("init", "TASK-1", "--title", "T", cwd=desk.repo.path)[0] == 0

    def offered(line: str) -> list[str]:
        return complete(line, desk.repo.path, function="__git_wrap__git_main", before=before)

    assert set(offered("git taskctx ")) == set(OPTIONS)
    assert offered("git taskctx ver") == ["verify"]
    assert set(offered("git taskctx snapshot --")) == LONG["snapshot"]
    assert offered("git taskctx snapshot --agent re") == ["reviewer"]
    assert offered("git -c a.b=c taskctx get --format=j") == ["json"]
    assert offered(f"git -C {desk.repo.path} taskctx --task ") == ["TASK-1"]


def test_bash_is_found_by_the_loader(tmp_path: Path, scripts: Path) -> None:
    """bash-completion loads the file by its name when `git-taskctx` is completed."""
    library = Path("/usr/share/bash-completion/bash_completion")
    if not library.exists():
        pytest.skip("bash-completion is not installed")
    script = f"""export XDG_DATA_DIRS={shlex.quote(str(scripts))}; source {library}
        _completion_loader git-taskctx; complete -p git-taskctx; declare -F _git_taskctx"""
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "-F __git_taskctx_main git-taskctx\n_git_taskctx\n" in done.stdout


def test_zsh_knows_every_verb_and_option() -> None:
    """The specifications of the zsh script are the command line's, with a message where a value is taken."""
    specs = dict(re.findall(r"^    \(([a-z'-]*)\) specs=\(\n(.*?)^    \) ;;$", ZSH, re.MULTILINE | re.DOTALL))
    assert {verb.strip("'") for verb in specs} == {"", *LONG}
    for verb, body in specs.items():
        names = re.findall(r"(--[a-z-]+|-[Co])([=+]?)(?:\}')?\[", body)
        options = LONG.get(verb, ROOT)
        assert (verb, {name for name, _ in names}) == (verb, options)
        assert (verb, {name for name, sign in names if sign}) == (verb, options - FLAGS)
    listed = re.search(r"  verbs=\(\n(.*?)\n  \)", ZSH, re.DOTALL)
    assert listed is not None
    assert set(re.findall(r"^    '([a-z-]+):", listed[1], re.MULTILINE)) == set(OPTIONS)


def test_zsh_reads_it(scripts: Path) -> None:
    """The script is found as `#compdef` says, and zsh finds no fault with its syntax."""
    lines = ZSH.splitlines()
    assert lines[0] == "#compdef git-taskctx"
    assert lines[1].startswith("#description ")
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not on PATH")
    path = scripts / PLACES["zsh"]
    script = f"autoload -Uz compinit; compinit -D; source {shlex.quote(str(path))} 2>/dev/null; whence -w _git-taskctx"
    assert subprocess.run(["zsh", "-f", "-n", path], capture_output=True, check=False).stderr == b""
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "_git-taskctx: function\n"


OFFERED = {
    "ver": ["verify"],
    "snapshot --al": ["--allow-clean"],
    "start --agent ": ["checker", "dev"],
    "restore --agent ": ["checker", "dev", "init", "saved"],
    "unblock --finding ": ["F1"],
    "recover ": ["TASK-1"],
    "init T": ["TASK-1", "TASK-7"],
    "--task ": ["TASK-1"],
    "diff --type ": ["from-base", "incremental"],
    "hook post-": sorted(one for one in EVENTS if one.startswith("post-")),
    "help sn": ["snapshot"],
}
"""What is offered where a context of two agents with an open finding is active, and another task has its file."""


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_complete(shell: Shell, repo: GitRepo, scripts: Path) -> None:
    """zsh and fish offer verbs, options, choices and what is in the context."""
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not on PATH")
    repo.write("TASK-7-parser.task.yaml", "title: T\n")
    repo.commit()
    run_taskctx("init", "TASK-1", "--title", "T", "--agents", "dev,checker", cwd=repo.path)
    run_taskctx("block", "--agent", "checker", "--finding", "one", cwd=repo.path)
    ask = {"zsh": _by_zsh, "fish": _by_fish}[shell]
    found = {line: sorted(ask(f"git-taskctx {line}", repo.path, scripts / PLACES[shell])) for line in OFFERED}
    assert found == OFFERED


def _by_fish(line: str, cwd: Path, path: Path) -> list[str]:
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {path}; complete -C {shlex.quote(line)}"],
        cwd=cwd,
        env={**os.environ, "TERM": "dumb"},
        capture_output=True,
        text=True,
        check=False,
    )
    return [one.split("\t")[0] for one in done.stdout.splitlines()]


def _by_zsh(line: str, cwd: Path, path: Path) -> list[str]:
    """Type a line and a tab into a zsh on a terminal of its own, which notes what its completion offers, and ends."""
    home = path.parent / "home"
    home.mkdir(exist_ok=True)
    found = home / "found"
    found.write_text("")
    (home / ".zshrc").write_text(
        f"""
        autoload -Uz compinit; compinit -D; source {path} 2>/dev/null; compdef _git-taskctx git-taskctx
        compadd () {{
            if [[ ${{@[1,(i)(-|--)]}} != *-(O|A|D)\\ * ]]; then
                local -a __found
                builtin compadd -O __found "$@"
                (( $#__found )) && print -rl -- $__found >>{found}
            fi
            builtin compadd "$@"
        }}
        note () {{ _main_complete; exit }}
        zle -C note complete-word note; bindkey '^I' note; print ready
        """
    )
    ours, theirs = pty.openpty()
    environ = {**os.environ, "ZDOTDIR": str(home), "TERM": "dumb"}
    with subprocess.Popen(["zsh", "-i"], cwd=cwd, env=environ, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        said = b""
        with contextlib.suppress(OSError):  # it has ended
            while b"ready" not in said:
                said += os.read(ours, 65536)
            os.write(ours, f"{line}\t".encode())
            while os.read(ours, 65536):
                pass
    os.close(ours)
    return [one for one in dict.fromkeys(found.read_text().splitlines()) if one]


def test_fish_knows_every_verb_and_option() -> None:
    """The rules of the fish script are the command line's, and exclusive where a value is taken."""
    found: dict[str, dict[str, bool]] = {verb: {} for verb in ("", *OPTIONS)}
    verbs = set()
    for line in FISH.splitlines():
        words = shlex.split(line) if line.startswith("complete -c git-taskctx -n") else []
        if not words:
            continue
        names = [f"--{after}" for word, after in itertools.pairwise(words) if word == "-l"]
        names += [f"-{after}" for word, after in itertools.pairwise(words) if word == "-s"]
        condition = words[words.index("-n") + 1].split()
        for verb in condition[1:] or [""]:
            found[verb] |= dict.fromkeys(names, bool({"-x", "-rF"} & set(words)))
        verbs |= {
            after for word, after in itertools.pairwise(words) if word == "-a" and condition[1:] == [] and not names
        }
    assert verbs == set(OPTIONS)
    for verb, options in found.items():
        known = LONG.get(verb, ROOT) - {"--help"}
        assert (verb, set(options)) == (verb, known)
        assert (verb, {name for name, valued in options.items() if valued}) == (verb, known - FLAGS)


@pytest.mark.parametrize("shell", PLACES)
def test_completion_prints_the_script(shell: Shell, tmp_path: Path) -> None:
    """`git taskctx completion SHELL` prints what is installed, with no mark of the template left."""
    code, said, _ = run_taskctx("completion", shell, cwd=tmp_path)
    assert (code, said) == (0, render_completion(shell))
    assert not re.search(r"@\w+@", said)
