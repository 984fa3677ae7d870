"""install.sh puts the tool in place, takes it back, and leaves everything that is not its own alone.

All but one test run it on a private PATH with stand-ins for pipx, uv and Python, without network; the last
one installs for real.
"""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tiers import paired

from git_taskctx.cli import completion

REPO = Path(__file__).resolve().parent.parent

# What a POSIX system has; what install.sh calls beyond these it must look for first.
POSIX_TOOLS = ["cat", "cksum", "dirname", "grep", "id", "ln", "mkdir", "mv", "readlink", "rm", "rmdir", "sed", "sh"]

LAUNCHER = ".local/bin/git-taskctx"
PLACES = [
    LAUNCHER,
    ".local/share/man/man1/git-taskctx.1",
    ".local/share/bash-completion/completions/git-taskctx",
    ".local/share/zsh/site-functions/_git-taskctx",
    ".local/share/fish/vendor_completions.d/git-taskctx.fish",
]

# Stands in for pipx and uv: what they answer and leave behind, for a package whose program exits with 7.
STAND_IN = """#!/bin/sh
bin=$HOME/.local/bin
tools=$HOME/.local/share/stand-in/tools
ours=$tools/git-taskctx
case $* in
    *--bin | *PIPX_BIN_DIR) echo "$bin" ;;
    *' dir' | *PIPX_LOCAL_VENVS) echo "$tools" ;;
    *uninstall*) rm -rf "$ours" ;;
    *install*)
        mkdir -p "$bin" "$ours/bin" "$ours/share/man/man1" "$ours/share/bash-completion/completions" \\
            "$ours/share/zsh/site-functions" "$ours/share/fish/vendor_completions.d"
        echo 'echo "ran: $*"; exit 7' >"$ours/bin/git-taskctx"
        chmod +x "$ours/bin/git-taskctx"
        : >"$ours/bin/python"
        chmod +x "$ours/bin/python"
        : >"$ours/share/man/man1/git-taskctx.1"
        : >"$ours/share/bash-completion/completions/git-taskctx"
        : >"$ours/share/zsh/site-functions/_git-taskctx"
        : >"$ours/share/fish/vendor_completions.d/git-taskctx.fish"
        ln -sf "$ours/bin/git-taskctx" "$bin/git-taskctx"
        echo "${0##*/} in $PWD" >>"$HOME/../calls"
        ;;
esac
"""

# Stands in for Python under --test: it makes an environment of stand-ins that record how they are called.
PREPARING_PYTHON = """#!/bin/sh
case $* in
    *version_info*) printf '3.11\\n%s\\n' "$0" ;;
    *sys.version*) echo "$0 3.11.9" ;;
    '-m venv'*)
        mkdir -p "$4/bin"
        cp "$0" "$4/bin/python"
        for tool in ruff mypy lint-imports pytest; do
            cp "$LOGGER" "$4/bin/$tool"
        done
        ;;
    '-m pip'*install*--editable*) echo "pip installs" ;;
esac
"""
LOGGER = """#!/bin/sh
echo "ran ${0##*/} $*"
case $FAILING in *" ${0##*/} "*) exit 1 ;; esac
"""


class Place:
    """A HOME, a PATH and a clone, all in a folder whose name holds a space."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "a place"
        self.home = self.folder / "home"
        self.path = self.folder / "bin"
        self.clone = self.folder / "a clone"
        for each in (self.home, self.path, self.clone / "git_taskctx", self.clone / "tests"):
            each.mkdir(parents=True)
        for name in ("install.sh", "pyproject.toml", "tests/gate"):
            shutil.copy2(REPO / name, self.clone / name)
        (self.clone / "git_taskctx/__init__.py").touch()
        for tool in POSIX_TOOLS:
            self.link(tool)

    def link(self, tool: str) -> None:
        """Put the system's own tool on PATH."""
        found = shutil.which(tool)
        assert found is not None, tool
        (self.path / tool).symlink_to(found)

    def fake(self, tool: str, script: str) -> None:
        """Put a script on PATH under the tool's name."""
        (self.path / tool).write_text(script)
        (self.path / tool).chmod(0o755)

    def equip(self, *tools: str) -> None:
        """Put a real git, a real Python, and stand-ins for the tools named on PATH."""
        self.link("git")
        self.link("chmod")
        self.fake("python3", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        for tool in tools:
            self.fake(tool, STAND_IN)

    def run(self, *args: str, shell: str = "sh", **environment: str) -> subprocess.CompletedProcess[str]:
        """Run install.sh from another folder, with nothing in the environment but what it needs."""
        return subprocess.run(
            [shutil.which(shell) or shell, str(self.clone / "install.sh"), *args],
            cwd=self.folder,
            env={"HOME": str(self.home), "PATH": str(self.path), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def listing(self) -> dict[str, bytes | str | None]:
        """All that HOME holds: bytes of files, targets of links, None for folders."""
        found: dict[str, bytes | str | None] = {}
        for path in sorted(self.home.rglob("*")):
            name = str(path.relative_to(self.home))
            if path.is_symlink():
                found[name] = str(path.readlink())
            else:
                found[name] = path.read_bytes() if path.is_file() else None
        return found

    def links(self) -> list[str]:
        """The links in HOME that lead somewhere."""
        return [name for name, target in self.listing().items() if isinstance(target, str)]


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """A fresh place with no more on PATH than POSIX promises."""
    return Place(tmp_path)


every_shell = pytest.mark.parametrize("shell", ["sh", pytest.param("dash", marks=pytest.mark.needs_dash)])


# --- the script itself -------------------------------------------------------------------------------


@every_shell
@pytest.mark.parametrize("script", ["install.sh", "tests/gate"])
def test_every_shell_reads_it(shell: str, script: str) -> None:
    """It holds no syntax that a plain POSIX shell refuses."""
    done = subprocess.run([shell, "-n", str(REPO / script)], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("script", ["install.sh", "tests/gate", ".ci/run"])
def test_scripts_can_be_executed(script: str) -> None:
    """A clone can run them without naming a shell."""
    assert (REPO / script).stat().st_mode & stat.S_IXUSR


@every_shell
@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_is_data(place: Place, shell: str, option: str) -> None:
    """Help that was asked for goes to stdout, and needs neither git nor Python."""
    done = place.run(option, shell=shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: install.sh ")


@pytest.mark.parametrize("args", [["--frob"], ["frob"], ["--demo", "--frob"], ["--uninstall", "--frob"]])
def test_unknown_argument_is_usage(place: Place, args: list[str]) -> None:
    """An argument that is not known is named, on stderr, with git's exit code for usage, and nothing is done."""
    done = place.run(*args)
    assert (done.returncode, done.stdout) == (129, "")
    assert done.stderr.startswith(f"install.sh: error: unknown argument: {args[-1]}\nusage: install.sh ")
    assert place.listing() == {}


def test_outside_a_clone_it_says_where_to_run(place: Place) -> None:
    """A copy of the script without the project beside it installs nothing."""
    shutil.rmtree(place.clone / "git_taskctx")
    done = place.run()
    assert done.returncode == 128
    assert done.stderr == (
        "install.sh: error: there is no git-taskctx beside this script\n"
        "install.sh: hint: run install.sh where it lies in its clone\n"
    )


# --- what must be there ------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [[], ["--demo"], ["--test"]])
def test_git_is_missing(place: Place, action: list[str]) -> None:
    """Without git nothing is begun."""
    done = place.run(*action)
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == (
        "install.sh: error: git is missing\ninstall.sh: hint: install git 2.31 or later, then run install.sh again\n"
    )
    assert place.listing() == {}


@pytest.mark.parametrize("version", ["2.30.9", "1.9.1", "2.9.0.windows.1"])
def test_git_is_too_old(place: Place, version: str) -> None:
    """Versions are compared as numbers, and the one that was found is named."""
    place.fake("git", f"#!/bin/sh\necho git version {version}\n")
    done = place.run()
    assert done.returncode == 128
    assert done.stderr.startswith(f"install.sh: error: git {version} is too old\n")


@pytest.mark.parametrize("version", ["2.31.0", "2.31-rc1", "2.50.1 (Apple Git-155)", "2.100.0", "3.0.0"])
def test_git_is_new_enough(place: Place, version: str) -> None:
    """A version from 2.31 on passes, however it is written: the next thing to be missed is Python."""
    place.fake("git", f"#!/bin/sh\necho 'git version {version}'\n")
    done = place.run()
    assert done.stderr.startswith("install.sh: error: python is missing\n")


def test_python_is_missing(place: Place) -> None:
    """Without Python it says which one to install and how to name another."""
    place.link("git")
    done = place.run()
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == (
        "install.sh: error: python is missing\n"
        "install.sh: hint: install python 3.11 or later, then run install.sh again\n"
        "install.sh: hint: or name one: PYTHON=/path/to/python3 install.sh\n"
    )


@pytest.mark.parametrize("version", ["3.10", "3.9", "2.7"])
def test_python_is_too_old(place: Place, version: str) -> None:
    """A Python before 3.11 is named; nothing is written."""
    place.link("git")
    place.fake("python3", f"#!/bin/sh\nprintf '{version}\\n/x/python\\n'\n")
    done = place.run()
    assert done.returncode == 128
    assert done.stderr.startswith(f"install.sh: error: python {version} is too old\n")
    assert place.listing() == {}


def test_newer_python_beside_an_old_one_is_found(place: Place) -> None:
    """An old python3, and a name that does not run, do not hide a newer Python."""
    place.link("git")
    place.fake("python3", "#!/bin/sh\nprintf '3.9\\n/x/python\\n'\n")
    place.fake("python3.14", "#!/bin/sh\nexit 127\n")
    place.fake("python3.12", "#!/bin/sh\ncase $* in *version_info*) printf '3.12\\n/x/gone\\n' ;; esac\n")
    done = place.run()
    assert done.stderr.startswith("install.sh: error: /x/gone cannot make virtual environments")


@pytest.mark.parametrize("action", [[], ["--test"]])
def test_venv_is_missing(place: Place, action: list[str]) -> None:
    """Where Debian has split venv off, the hint names its package, and nothing is written."""
    for tool in ("chromium", "dash", "git-lfs", "man", "npm"):
        place.fake(tool, "#!/bin/sh\n")
    place.link("git")
    place.fake(
        "python3",
        "#!/bin/sh\ncase $* in\n*ensurepip*) exit 1 ;;\n*version_info*) printf '3.11\\n%s\\n' \"$0\" ;;\nesac\n",
    )
    done = place.run(*action)
    assert done.returncode == 128
    assert done.stderr == (
        f"install.sh: error: {place.path}/python3 cannot make virtual environments (no venv, or no ensurepip)\n"
        "install.sh: hint: on Debian and Ubuntu: apt install python3-venv\n"
    )
    assert place.listing() == {}


def test_home_is_not_set(place: Place) -> None:
    """Without HOME nothing is written anywhere."""
    place.equip("uv")
    done = place.run(HOME="")
    assert done.returncode == 128
    assert done.stderr.startswith("install.sh: error: HOME is not set\n")


# --- with pipx and uv --------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["pipx", "uv"])
def test_install_twice_and_uninstall(place: Place, tool: str) -> None:
    """All links lead into what was installed, a second run changes nothing, and uninstall empties HOME."""
    place.equip(tool)
    first = place.run()
    assert (first.returncode, first.stdout.splitlines()[:2]) == (
        0,
        [f"installing git-taskctx with {tool}", f"installed {place.home}/{LAUNCHER}"],
    )
    assert place.links() == sorted(PLACES)
    assert all((place.home / name).exists() for name in PLACES)
    before = place.listing()

    assert place.run().returncode == 0
    assert place.listing() == before
    assert (place.folder / "calls").read_text() == f"{tool} in {place.clone}\n" * 2

    gone = place.run("--uninstall")
    assert (gone.returncode, gone.stderr) == (0, "")
    assert gone.stdout == (
        "git-taskctx is removed\n"
        "repositories are left alone: contexts stay in their .agent-output and refs; hooks of coding agents,\n"
        "which do nothing now, go with git taskctx agent-setup AGENT --remove, before the next time\n"
    )
    left = {name for name in place.listing() if "stand-in" not in name}
    assert left == {".local", ".local/share"}


def test_pipx_comes_before_uv(place: Place) -> None:
    """Where both are present pipx installs."""
    place.equip("pipx", "uv")
    assert place.run().returncode == 0
    assert (place.folder / "calls").read_text().startswith("pipx in ")


def test_what_uv_installed_stays_with_uv(place: Place) -> None:
    """A pipx that appears later does not take over, and uninstall still finds what uv has put there."""
    place.equip("uv")
    place.run()
    place.fake("pipx", "#!/bin/sh\nexit 1\n")
    assert place.run().returncode == 0
    assert (place.folder / "calls").read_text() == f"uv in {place.clone}\n" * 2
    place.run("--uninstall")
    assert place.links() == []


def test_tool_that_cannot_tell_its_folders_is_passed_over(place: Place) -> None:
    """A pipx too old to name its folders is treated as absent."""
    place.equip("uv")
    place.fake("pipx", "#!/bin/sh\nexit 2\n")
    assert place.run().stdout.startswith("installing git-taskctx with uv\n")


def test_failed_install_can_be_taken_back(place: Place) -> None:
    """When the tool fails it is said, and uninstall removes what had been begun."""
    place.equip("uv")
    place.fake("uv", STAND_IN.replace("*install*)", "*install*) exit 3"))
    done = place.run()
    assert done.returncode == 128
    assert "install.sh: error: git-taskctx could not be installed\n" in done.stderr
    assert place.run("--uninstall").returncode == 0
    assert place.listing() == {}


def test_interrupted_install_is_repeated(place: Place) -> None:
    """An install that was cut short after some links is completed by the next run."""
    place.equip("uv")
    place.run()
    whole = place.listing()
    for name in PLACES[2:]:
        (place.home / name).unlink()
    shutil.rmtree(place.home / ".local/share/stand-in")
    assert place.run().returncode == 0
    assert place.listing() == whole


def test_demo_runs_the_installed_tool_through_git(place: Place) -> None:
    """`--demo` finds the new executable though PATH lacks its folder, and ends with the demo's exit code.

    What is to be done about PATH comes last again, after all that the demo says.
    """
    place.equip("uv")
    done = place.run("--demo", SHELL="/bin/bash")
    line = 'type this line here, and add it to ~/.bashrc for later: export PATH="$HOME/.local/bin:$PATH"'
    assert (done.returncode, done.stdout.splitlines()[-2:]) == (7, ["ran: demo", line])
    again = place.run("--demo", PATH=f"{place.path}:{place.home}/.local/bin")
    assert (again.returncode, again.stdout.splitlines()[-1]) == (7, "ran: demo")


@pytest.mark.parametrize(
    ("shell", "line"),
    [
        ("/bin/bash", 'type this line here, and add it to ~/.bashrc for later: export PATH="$HOME/.local/bin:$PATH"'),
        ("/usr/bin/zsh", 'type this line here, and add it to ~/.zshrc for later: export PATH="$HOME/.local/bin:$PATH"'),
        ("/usr/bin/fish", 'run this once: fish_add_path "$HOME/.local/bin"'),
        ("/bin/sh", 'type this line here, and add it to ~/.profile for later: export PATH="$HOME/.local/bin:$PATH"'),
    ],
)
def test_path_that_lacks_the_folder_is_told(place: Place, shell: str, line: str) -> None:
    """The line to add is given whole, for the user's shell."""
    place.equip("uv")
    done = place.run(SHELL=shell)
    assert line in done.stdout.splitlines()
    assert "is not on PATH, so git does not find the command yet" in done.stderr


def test_path_that_has_the_folder_is_not_told(place: Place) -> None:
    """With the folder on PATH there is nothing left to do."""
    place.equip("uv")
    done = place.run(PATH=f"{place.path}:{place.home}/.local/bin")
    assert (done.returncode, done.stderr) == (0, "")
    assert "PATH" not in done.stdout


def test_another_command_that_comes_first_is_told(place: Place) -> None:
    """A git-taskctx earlier on PATH would be run instead, so it is named."""
    place.equip("uv")
    place.fake("git-taskctx", "#!/bin/sh\n")
    done = place.run(PATH=f"{place.path}:{place.home}/.local/bin")
    assert done.stderr == f"install.sh: note: another git-taskctx comes first on PATH: {place.path}/git-taskctx\n"


@pytest.mark.needs_man
def test_manual_lies_where_man_looks(place: Place) -> None:
    """man looks beside the folder in PATH: the page goes there though XDG_DATA_HOME is elsewhere."""
    place.equip("uv")
    place.run(XDG_DATA_HOME=str(place.home / "data"))
    assert place.links() == sorted([LAUNCHER, PLACES[1], *(p.replace(".local/share", "data") for p in PLACES[2:])])
    env = {"HOME": str(place.home), "PATH": f"{place.home}/.local/bin:{place.path}:{os.defpath}"}
    found = subprocess.run(["man", "-w", "git-taskctx"], env=env, capture_output=True, text=True, check=False)
    assert found.stdout.strip().endswith("/man1/git-taskctx.1")


# --- what is not ours --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "way"), paired(PLACES, ["file, uv", "link, ", "dangling, uv", "file, ", "link, uv", "dangling, "])
)
def test_foreign_file_in_the_way(place: Place, name: str, way: str) -> None:
    """What someone else has put in one of our places is named and left as it is, and nothing is installed."""
    kind, tool = way.split(", ")
    place.equip(*tool.split())
    foreign = place.home / name
    foreign.parent.mkdir(parents=True)
    if kind == "file":
        foreign.write_text("mine")
    else:
        foreign.symlink_to(REPO if kind == "link" else "/nowhere")
    before = place.listing()
    done = place.run()
    assert (done.returncode, done.stdout) == (128, "")
    assert done.stderr == (
        f"install.sh: error: not put there by install.sh: {foreign}\n"
        "install.sh: hint: move it away, then run install.sh again\n"
    )
    assert place.listing() == before


@pytest.mark.parametrize("name", [".local/share/git-taskctx", ".local/share/git-taskctx/venv"])
def test_foreign_environment_in_the_way(place: Place, name: str) -> None:
    """Whatever lies where our own environment would go, without our record beside it, stays."""
    place.equip()
    (place.home / name).parent.mkdir(parents=True)
    (place.home / name).write_text("mine")
    before = place.listing()
    done = place.run()
    assert done.returncode == 128
    assert done.stderr.startswith(f"install.sh: error: not put there by install.sh: {place.home / name}\n")
    assert place.listing() == before


def test_own_install_by_the_user_is_not_taken_over(place: Place) -> None:
    """What the user installed with uv alone is not ours; the way to hand it over is told."""
    place.equip("uv")
    subprocess.run(
        [place.path / "uv", "tool", "install", "x"],
        env={"HOME": str(place.home), "PATH": str(place.path)},
        check=True,
    )
    before = place.listing()
    done = place.run()
    assert done.returncode == 128
    assert done.stderr == (
        "install.sh: error: git-taskctx is installed already, with uv but not by install.sh: "
        f"{place.home}/{LAUNCHER}\n"
        "install.sh: hint: to hand it over: uv tool uninstall git-taskctx, then run install.sh again\n"
    )
    assert place.listing() == before


def test_uninstall_leaves_what_has_become_foreign(place: Place) -> None:
    """A file put in the place of one of our links, and a file in one of our folders, survive uninstall."""
    place.equip("uv")
    place.run()
    (place.home / PLACES[1]).unlink()
    (place.home / PLACES[1]).write_text("mine")
    (place.home / ".local/bin/other").write_text("mine too")
    assert place.run("--uninstall").returncode == 0
    left = {name: content for name, content in place.listing().items() if content is not None}
    assert left == {PLACES[1]: b"mine", ".local/bin/other": b"mine too"}


@pytest.mark.parametrize("tools", ["none", "all"])
def test_uninstall_of_nothing(place: Place, tools: str) -> None:
    """With nothing installed uninstall is no error and changes nothing; it needs neither git nor Python."""
    if tools == "all":
        place.equip("pipx", "uv")
    for _ in range(2):
        done = place.run("--uninstall")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == "git-taskctx was not installed by install.sh: nothing to remove\n"
    assert place.listing() == {}


# --- the gate ----------------------------------------------------------------------------------------


@pytest.fixture
def gate(place: Place) -> tuple[Place, Mapping[str, str]]:
    """A place whose Python makes environments of stand-ins."""
    place.equip()
    place.link("cp")
    for tool in ("chromium", "dash", "git-lfs", "man", "npm"):
        place.fake(tool, "#!/bin/sh\n")
    place.fake("python3", PREPARING_PYTHON)
    place.fake("logger", LOGGER)
    return place, {"LOGGER": str(place.path / "logger"), "FAILING": ""}


def test_gate_runs_everything_and_pytest_last(gate: tuple[Place, Mapping[str, str]]) -> None:
    """Every check runs, pytest with the arguments given, and its last line is the last line."""
    place, env = gate
    done = place.run("--test", "-k", "two words", **env)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if line.startswith("ran")] == [
        "ran ruff check",
        "ran ruff format --check",
        "ran mypy ",
        "ran lint-imports ",
        "ran pytest -n auto --dist worksteal -k two words",
    ]
    assert done.stdout.endswith("ran pytest -n auto --dist worksteal -k two words\n")


def test_gate_names_what_failed(gate: tuple[Place, Mapping[str, str]]) -> None:
    """A check that fails stops none of the others, and each is named in the end."""
    place, env = gate
    done = place.run("--test", **{**env, "FAILING": " ruff mypy "})
    assert done.returncode == 1
    assert done.stdout.endswith("ran pytest -n auto --dist worksteal\n")
    assert done.stderr == "gate: error: failed: ruff check, ruff format, mypy\n"
    assert place.run("--test", **{**env, "FAILING": " pytest "}).returncode == 1


def test_gate_prepares_only_when_something_changed(gate: tuple[Place, Mapping[str, str]]) -> None:
    """A second run installs nothing; another pyproject.toml, or an environment cut short, does."""
    place, env = gate

    def prepared() -> bool:
        return "preparing " in place.run("--test", **env).stdout

    assert prepared()
    assert not prepared()
    with (place.clone / "pyproject.toml").open("a") as file:
        file.write("# changed\n")
    assert prepared()
    assert not prepared()
    stamp = place.clone / ".venv/.prepared"
    stamp.write_text(stamp.read_text().splitlines()[0] + "\n")
    assert prepared()


@pytest.mark.parametrize(
    ("args", "ci", "asked"),
    [
        ((), "", False),
        ((), "1", False),
        ((), "true", True),
        (("--with-system-packages",), "", True),
        (("--quick", "--with-system-packages"), "", False),
    ],
)
def test_gate_asks_the_system_for_packages_only_when_told(
    gate: tuple[Place, Mapping[str, str]], args: tuple[str, ...], ci: str, asked: bool
) -> None:
    """Root or not, apt is called in CI, or by name; else the tool that is missing is named, and the rest runs."""
    place, env = gate
    (place.path / "git-lfs").unlink()
    (place.path / "id").unlink()
    place.fake("id", "#!/bin/sh\necho 0\n")
    place.fake("apt-get", '#!/bin/sh\necho "apt-get $*" >>"$HOME/../apt"\n')
    done = place.run("--test", *args, CI=ci, **env)
    assert done.returncode == 0
    assert (place.folder / "apt").exists() == asked
    quick = "--quick" in args
    assert done.stderr == ("" if quick else "gate: note: git-lfs is missing: tests that need it cannot run\n")
    assert done.stdout.endswith(f"ran pytest -n auto --dist worksteal{' --quick' if quick else ''}\n")


# --- for real ----------------------------------------------------------------------------------------


def test_private_environment(place: Place) -> None:
    """Without pipx and uv the clone is built and installed, runs through git, and goes without a trace."""
    place.path = place.folder / "everything but pipx and uv"
    place.path.mkdir()
    place.equip()
    for folder in os.environ["PATH"].split(os.pathsep):
        for tool in Path(folder).iterdir() if Path(folder).is_dir() else ():
            if tool.name not in {"pipx", "uv", "git-taskctx"} and not (place.path / tool.name).exists():
                (place.path / tool.name).symlink_to(tool.absolute())
    shutil.rmtree(place.clone)
    shutil.copytree(REPO, place.clone, ignore=shutil.ignore_patterns(".*", "__pycache__", "tests"))
    env = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    env["PIP_CACHE_DIR"] = str(place.folder / "cache")

    first = place.run(**env)
    assert first.returncode == 0, first.stderr
    assert place.links()[0] == LAUNCHER
    assert set(PLACES) < set(place.links())
    assert all((place.home / name).is_file() for name in PLACES)
    for shell, name in completion.PLACES.items():
        assert (place.home / ".local/share" / name).read_text() == completion.render_completion(shell)
    (shims,) = (place.home / ".local/share/git-taskctx/venv/lib").glob("python*/site-packages/git_taskctx/hooks/shims")
    assert {shim.name: shim.read_bytes() for shim in shims.iterdir()} == {
        shim.name: shim.read_bytes() for shim in (REPO / "hooks").iterdir()
    }

    demo = place.run("--demo", **env)
    assert demo.returncode == 0, demo.stderr

    assert place.run("--uninstall").returncode == 0
    assert [name for name in place.listing() if "taskctx" in name or name.startswith(".local")] == []
