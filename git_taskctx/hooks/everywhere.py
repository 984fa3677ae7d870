"""Hooks for all repositories of a person: through git's configuration, or the template of new clones."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from git_taskctx import files
from git_taskctx.errors import Fatal
from git_taskctx.git.process import Git
from git_taskctx.hooks import steps
from git_taskctx.hooks.health import read_author, read_script
from git_taskctx.hooks.install import InstallPlan, configure, lead_neighbours, put_file, renew, take, take_files
from git_taskctx.hooks.place import CONFIG_HOOKS, PREFIX, Place, read_version
from git_taskctx.hooks.shims import EVENTS, author


class Home:
    """A person's git configuration, and our data folder."""

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        home = environ.get("HOME")
        if not home:
            raise Fatal("HOME is not set", hint="export HOME=~   # git reads its global configuration there")
        data = environ.get("XDG_DATA_HOME", "")
        self.home = Path(home)
        self.git = Git(folder, environ)
        self.data = Path(data if data.startswith("/") else f"{home}/.local/share") / "git-taskctx"
        self.shims = self.data / "hooks"
        self.template = self.data / "template"
        """The template for new repositories, where the person has not named one."""

    @property
    def has_config_hooks(self) -> bool:
        """Return whether this git supports hooks in its configuration."""
        return read_version(self.git) >= CONFIG_HOOKS

    def path(self, key: str) -> Path | None:
        """Return the folder that a global setting names."""
        found = self.git.run("config", "--global", "--type=path", "--get", key, ok=(0, 1)).out.removesuffix(b"\n")
        return Path(os.fsdecode(found)) if found else None

    def place(self) -> Place:
        """Return a place with the global configuration only."""
        found = self.git.run("config", "--global", "-z", "--get-regexp", r"^hook\.", ok=(0, 1)).out
        pairs = [entry.partition("\n") for entry in os.fsdecode(found).split("\0")[:-1]]
        settings = [(key, value, "file:global") for key, _, value in pairs]
        return Place(self.git, top=None, git_dir=self.data, common_dir=self.data, settings=settings)


def install_everywhere(home: Home, *, dry_run: bool) -> InstallPlan:
    """Install our hooks for every repository, or only plan it. Raises: as `install`."""
    return _carry_out(home, lambda: _plan_install(home), dry_run=dry_run)


def uninstall_everywhere(home: Home, *, dry_run: bool) -> InstallPlan:
    """Undo `install_everywhere`, or only plan it. Raises: as it does."""
    return _carry_out(home, lambda: _plan_uninstall(home), dry_run=dry_run)


def _carry_out(home: Home, make: Callable[[], InstallPlan], *, dry_run: bool) -> InstallPlan:
    if dry_run:
        return make()
    with files.held_folder(home.home):
        named = [one for one in (home.path("core.hooksPath"), home.path("init.templateDir")) if one]
        folders = [*named, home.shims, home.template]
        steps.sweep(*folders, *(folder / part for folder in folders for part in ("hooks", "info")))
        plan = make()
        for step in plan.steps:
            step.run()
    return plan


def _plan_install(home: Home) -> InstallPlan:
    plan = InstallPlan()
    shared = home.path("core.hooksPath")
    if home.has_config_hooks:
        place = home.place()
        for event in EVENTS:
            renew(plan, home.shims / event, event, home.shims)
        for event in EVENTS:
            if not place.config_hooks(event):
                plan.steps += configure(place, "--global", event, home.shims / event)
        return plan
    template = home.path("init.templateDir")
    if shared is not None and shared.is_absolute() and (shared.is_dir() or not os.path.lexists(shared)):
        folder = shared
    elif template is not None:
        folder = template / "hooks"
    else:
        folder = home.template / "hooks"
        missing = [one for one in _gits_template(home) if not one[0].exists()]
        plan.steps += [steps.put(path, data, mode=mode) for path, data, mode in missing]
    for event in EVENTS:
        put_file(plan, folder, event)
    lead_neighbours(plan, folder)
    if shared is None and template is None:
        plan.steps.append(steps.set_config(home.git, "--global", "init.templateDir", os.fspath(home.template)))
    if folder != shared:
        plan.notes.append("repositories that are here already have none of it until it is installed in each")
    return plan


def _gits_template(home: Home) -> Iterator[tuple[Path, bytes, int]]:
    """Yield git's own template: path in ours, bytes and mode."""
    with tempfile.TemporaryDirectory(prefix="taskctx-") as scratch:
        nobody = {"HOME": scratch, "XDG_CONFIG_HOME": scratch, "GIT_CONFIG_GLOBAL": os.devnull}
        git = home.git.with_env(GIT_DIR=None, GIT_TEMPLATE_DIR=None, **nobody)
        git.run("init", "-q", "--bare", f"{scratch}/repo")
        made = Path(scratch, "repo")
        for part in ("description", "info", "hooks"):
            for path in (made / part, *sorted((made / part).rglob("*"))):
                if path.is_file():
                    yield home.template / path.relative_to(made), path.read_bytes(), path.stat().st_mode & 0o777


def _plan_uninstall(home: Home) -> InstallPlan:
    plan = InstallPlan()
    found = home.git.run("config", "--global", "--name-only", "--get-regexp", rf"^{re.escape(PREFIX)}", ok=(0, 1)).out
    for section in sorted({key.rpartition(".")[0] for key in os.fsdecode(found).splitlines()}):
        plan.steps.append(steps.remove_section(home.git, "--global", section))
    shared, template = home.path("core.hooksPath"), home.path("init.templateDir")
    if template == home.template:
        plan.steps.append(steps.unset_config(home.git, "--global", "init.templateDir", os.fspath(home.template)))
    _take_template(plan, home)
    if shared is not None:
        take_files(plan, shared)
    if template is not None and template != home.template:
        take_files(plan, template / "hooks")
    for event in EVENTS:
        if read_author(home.shims / event, event) == "ours":
            take(plan, home.shims / event, event)
    _take_empty(plan, home.shims, home.data)
    return plan


def _take_template(plan: InstallPlan, home: Home) -> None:
    """Remove our template, except what others put in."""
    if not home.template.is_dir():
        return
    copied = {path: data for path, data, _ in _gits_template(home)}
    for path in sorted(home.template.rglob("*")):
        if path.is_dir():
            continue
        data = read_script(path)
        if data is not None and path.name in EVENTS and author(data, path.name) == "ours":
            take(plan, path, path.name)
        elif data is not None and data == copied.get(path):
            plan.steps.append(steps.remove(path))
        else:
            plan.notes.append(f"{path} is not ours, and stays there")
    folders = sorted((path for path in home.template.rglob("*") if path.is_dir()), reverse=True)
    _take_empty(plan, *folders, home.template)


def _take_empty(plan: InstallPlan, *folders: Path) -> None:
    """Remove those folders that only hold what is removed before."""
    for folder in folders:
        gone = {step.target for step in plan.steps if step.what == "remove"}
        if folder.is_dir() and all(os.fspath(entry) in gone for entry in folder.iterdir()):
            plan.steps.append(steps.remove_folder(folder))
