"""The completion scripts offer the verbs and options that there are, and work in real shells."""

from __future__ import annotations

import itertools
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from desk import Desk
from gitrepo import GitRepo, run_taskctx
from verbs import CHOICES, FLAGS, OPTIONS, ROOT_OPTIONS

import git_taskctx
from git_taskctx.model.schema import SCHEMAS

SHARE = Path(git_taskctx.__file__).parent / "share"
BASH = SHARE / "bash-completion" / "completions" / "git-taskctx"
ZSH = SHARE / "zsh" / "site-functions" / "_git-taskctx"
FISH = SHARE / "fish" / "vendor_completions.d" / "git-taskctx.fish"
GIT_COMPLETION = (
    Path("/usr/share/bash-completion/completions/git"),
    Path("/usr/share/git-core/contrib/completion/git-completion.bash"),
    Path("/usr/local/share/bash-completion/completions/git"),
)
LONG = {verb: {name for name in options if name != "-h"} for verb, options in OPTIONS.items()}
"""What is offered: the long names."""
ROOT = {name for name in ROOT_OPTIONS if name != "-h"}


def bash(script: str, cwd: Path) -> list[str]:
    """Run a script in a bash that has our completion, and return what it printed."""
    done = subprocess.run(
        ["bash", "--norc", "-c", f"source {shlex.quote(str(BASH))}\n{script}"],
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
    """The tables of the bash script are the command line's."""
    assert set(complete("git-taskctx ", tmp_path)) == set(OPTIONS)
    for verb, options in {"": ROOT, **LONG}.items():
        lines = bash(f"__taskctx_options {shlex.quote(verb)}; printf '%s\\n' $options", tmp_path)
        assert (verb, set(lines)) == (verb, options)
        assert len(lines) == len(set(lines))


def test_bash_knows_which_options_take_a_value(tmp_path: Path) -> None:
    """After an option with a value, no verb and no option is expected; after a flag one is."""
    every = sorted({name for options in [*OPTIONS.values(), ROOT_OPTIONS] for name in options})
    taking = bash(f"for one in {' '.join(every)}; do ! __taskctx_takes_value $one || echo $one; done", tmp_path)
    assert set(taking) == set(every) - FLAGS


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
    assert complete("git-taskctx res", tmp_path) == ["resolve-drift", "restore"]
    assert complete("git-taskctx --task T-1 snap", tmp_path) == ["snapshot"]
    assert complete("git-taskctx snapshot --w", tmp_path) == ["--wip"]
    assert complete("git-taskctx snapshot --wip --w", tmp_path) == []
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


def test_bash_is_found_by_the_loader(tmp_path: Path) -> None:
    """bash-completion loads the file by its name when `git-taskctx` is completed."""
    library = Path("/usr/share/bash-completion/bash_completion")
    if not library.exists():
        pytest.skip("bash-completion is not installed")
    script = f"""export XDG_DATA_DIRS={shlex.quote(str(SHARE))}; source {library}
        _completion_loader git-taskctx; complete -p git-taskctx; declare -F _git_taskctx"""
    done = subprocess.run(["bash", "--norc", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "-F __git_taskctx_main git-taskctx\n_git_taskctx\n" in done.stdout


def zsh_specs() -> dict[str, set[str]]:
    """Return the options that the zsh script has for each verb, its arrays put in."""
    text = ZSH.read_text()
    arrays: dict[str, str] = {}
    body = text[text.index("__git_taskctx_specs () {") : text.index("esac")]

    def expand(part: str) -> str:
        return re.sub(r"\$(help|form|ask|read|actor|act|write)\b", lambda found: arrays[found[1]], part)

    for name, value in re.findall(r"^  (\w+)=\((.*?)\)$", body[: body.index("case $1")], re.MULTILINE | re.DOTALL):
        arrays[name] = expand(value)
    found = {}
    for verbs, value in re.findall(r"^    \(([^\n)]*)\) specs=\((.*?)\) ;;$", body, re.MULTILINE | re.DOTALL):
        options = set(re.findall(r"""['"{,+*)](--[a-z-]+|-[Co])(?==?[\[},+])""", expand(value)))
        for verb in verbs.split("|"):
            found[verb.strip("'")] = options
    return found


def test_zsh_knows_every_verb_and_option() -> None:
    """The specifications of the zsh script are the command line's, and so are its verbs."""
    specs = zsh_specs()
    assert specs.pop("*") == set()
    assert specs == {"": ROOT, **LONG}
    listed = re.search(r"  verbs=\((.*?)\n  \)", ZSH.read_text(), re.DOTALL)
    assert listed is not None
    assert re.findall(r"""^    ['"]([a-z-]+):""", listed[1], re.MULTILINE) == list(OPTIONS)


def test_zsh_knows_which_options_take_a_value() -> None:
    """An option has a message for its value exactly where it takes one."""
    text = ZSH.read_text()
    valued = set(re.findall(r"""['")*](--[a-z-]+|-[Co])[=+]\[""", text))
    plain = set(re.findall(r"""['")*](--[a-z-]+)\[""", text)) | {"-h", "--help"}
    every = {name for options in [*OPTIONS.values(), ROOT_OPTIONS] for name in options}
    assert valued == every - FLAGS
    assert plain == every & FLAGS


def test_zsh_reads_it() -> None:
    """The script is found as `#compdef` says, and zsh finds no fault with its syntax."""
    lines = ZSH.read_text().splitlines()
    assert lines[0] == "#compdef git-taskctx"
    assert lines[1].startswith("#description ")
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not on PATH")
    script = f"autoload -Uz compinit; compinit -D; source {shlex.quote(str(ZSH))} 2>/dev/null; whence -w _git-taskctx"
    assert subprocess.run(["zsh", "-f", "-n", ZSH], capture_output=True, check=False).stderr == b""
    done = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "_git-taskctx: function\n"


def fish_rules() -> dict[str, set[str]]:
    """Return the options that the fish script has for each verb; those of all verbs are added to each."""
    found: dict[str, set[str]] = {verb: set() for verb in ("", *OPTIONS)}
    for line in FISH.read_text().splitlines():
        words = shlex.split(line.replace("\\'", "")) if line.startswith("complete -c git-taskctx -") else []
        names = [f"--{after}" for word, after in itertools.pairwise(words) if word == "-l"]
        names += [f"-{after}" for word, after in itertools.pairwise(words) if word == "-s" and after != "h"]
        condition = words[words.index("-n") + 1] if "-n" in words else None
        if condition is None:
            verbs = list(found) if names else []
        else:
            verbs = [""] if condition == "__git_taskctx_no_verb" else condition.split()[1:]
        for verb in verbs:
            found[verb].update(names)
    return found


def test_fish_knows_every_verb_and_option() -> None:
    """The rules of the fish script are the command line's, and so are its verbs."""
    text = FISH.read_text()
    assert fish_rules() == {"": ROOT, **LONG}
    assert re.findall(r"no_verb -a ([a-z-]+) ", text) == list(OPTIONS)
    told = re.search(r"__git_taskctx_using help' -a '(.*)'", text)
    assert told is not None
    assert told[1].split() == list(OPTIONS)
    for line in text.splitlines():
        name = re.search(r"^complete .* -l ([a-z-]+) ", line)
        takes_value = re.search(r" -(x|xa|rF) ", line) is not None
        assert not name or takes_value != (f"--{name[1]}" in FLAGS), line


def test_fish_completes(repo: GitRepo) -> None:
    """fish offers verbs, options and what is in the context."""
    if shutil.which("fish") is None:
        pytest.skip("fish is not on PATH")
    repo.commit()
    run_taskctx("init", "TASK-1", "--title", "T", "--agents", "dev,checker", cwd=repo.path)
    run_taskctx("block", "--agent", "checker", "--finding", "one", cwd=repo.path)

    def offered(line: str) -> list[str]:
        script = f"source {shlex.quote(str(FISH))}; complete -C {shlex.quote(line)}"
        done = subprocess.run(
            ["fish", "--no-config", "-c", script],
            cwd=repo.path,
            env={**os.environ, "TERM": "dumb"},
            capture_output=True,
            text=True,
            check=False,
        )
        return [line.split("\t")[0] for line in done.stdout.splitlines()]

    assert set(offered("git-taskctx ")) == set(OPTIONS)
    assert set(offered("git-taskctx snapshot --")) == LONG["snapshot"]
    assert offered("git-taskctx start --agent ") == ["checker", "dev"]
    assert offered(f"git-taskctx -C {repo.path} restore --agent ") == ["checker", "dev", "init", "saved"]
    assert offered("git-taskctx unblock --finding ") == ["F1"]
    assert offered("git-taskctx recover ") == ["TASK-1"]
    assert offered("git-taskctx diff --type ") == ["from-base", "incremental"]
    assert sorted(offered("git-taskctx schema ")) == sorted(SCHEMAS)


@pytest.mark.parametrize(("shell", "path"), [("bash", BASH), ("zsh", ZSH), ("fish", FISH)])
def test_completion_prints_the_script(shell: str, path: Path, tmp_path: Path) -> None:
    """`git taskctx completion SHELL` prints the very file."""
    assert run_taskctx("completion", shell, cwd=tmp_path) == (0, path.read_text(), "")
