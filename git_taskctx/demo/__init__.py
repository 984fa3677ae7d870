"""A full handoff in a throw-away repository, explained step by step.

Everything shown is real output of real processes. Nothing outside one temporary folder is written, and the user's git
configuration has no effect.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from git_taskctx.demo.pipeline import play_pipeline
from git_taskctx.demo.stage import Mismatch, Player
from git_taskctx.demo.story import play_story
from git_taskctx.errors import Fatal


def play(stream: TextIO, *, environ: Mapping[str, str], colour: bool, keep: bool, pipeline: bool = False) -> int:
    """Play the whole story, or that of a pipeline, to `stream`; the repository is removed, unless `keep`.

    Returns 0 when every command exited as the story expects, else 1. Raises: Fatal without a temporary folder or a
    program.
    """
    try:
        folder = Path(tempfile.mkdtemp(prefix="git-taskctx-demo-"))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise Fatal(f"cannot make a temporary folder: {reason}", hint="TMPDIR=/a/folder git taskctx demo") from error
    try:
        stage = Player(folder, stream, environ=environ, colour=colour)
        try:
            (play_pipeline if pipeline else play_story)(stage)
        except Mismatch as error:
            stage.wrong(str(error))
            return 1
        finally:
            if keep:
                stage.kept()
        return 0
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
