"""Put the completion scripts into the wheel, made from the table of verbs: hatchling looks for its hooks here."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Completions(BuildHookInterface):
    """Where each shell looks below a prefix, also after an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        sys.path.insert(0, self.root)
        from git_taskctx.cli.completion import PLACES, render_completion

        self._folder = tempfile.TemporaryDirectory()
        for shell, place in PLACES.items():
            script = Path(self._folder.name, shell)
            script.write_text(render_completion(shell), encoding="utf-8")
            build_data["shared_data"][str(script)] = f"share/{place}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        self._folder.cleanup()
