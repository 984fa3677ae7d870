#!/usr/bin/env python3
"""Play the demo and write its handoff, drift and all, to handoff.svg beside this file: the picture in the README."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.fspath(HERE.parent))

from rich.console import Console  # noqa: E402 - the package is found beside this folder
from rich.terminal_theme import TerminalTheme  # noqa: E402
from rich.text import Text  # noqa: E402

from git_taskctx.demo import play  # noqa: E402

SHOWN = {
    "2. the implementer": "$ git status",
    "3. the reviewer": "# What the implementer changed",
    "5. somebody touches the tree between two agents": None,
    "6. the drift is resolved": "# To keep such edits",
    "7. the reviewer again": "# The check is there now",
}
"""Parts of the story that are in the picture, each up to the line that begins so."""
WIDTH = 92
THEME = TerminalTheme(
    (24, 26, 31),
    (211, 215, 222),
    [(24, 26, 31), (235, 105, 98), (126, 192, 112), (222, 180, 92), (110, 165, 240), (190, 140, 220), (98, 186, 196),
     (211, 215, 222)],
    [(120, 126, 138), (245, 130, 122), (150, 215, 135), (240, 205, 120), (140, 190, 255), (210, 165, 240),
     (125, 210, 220), (255, 255, 255)],
)  # fmt: skip
SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<title>git taskctx: a verified handoff, and drift that is found, explained and resolved</title>
<style>
    .{unique_id}-matrix {{
        font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", "Liberation Mono", monospace;
        font-size: {char_height}px;
        line-height: {line_height}px;
        font-variant-east-asian: full-width;
    }}
    .{unique_id}-title {{ font-family: system-ui, sans-serif; font-size: 18px; font-weight: bold; }}
    {styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix" xml:space="preserve">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own picture, without the font that it would fetch from the network."""


def main() -> int:
    """Play, cut, draw."""
    os.environ |= {"TERM": "xterm", "COLORTERM": ""}
    story = io.StringIO()
    code = play(story, environ=os.environ, colour=True, keep=False)
    if code != 0:
        sys.stderr.write(story.getvalue())
        return code
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    for line in _cut(story.getvalue().splitlines()):
        console.print(Text.from_ansi(line), soft_wrap=False, overflow="fold")
    svg = console.export_svg(title="git taskctx", theme=THEME, code_format=SVG, unique_id="handoff")
    HERE.joinpath("handoff.svg").write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE).rstrip() + "\n")
    return 0


def _cut(lines: list[str]) -> list[str]:
    """Return the lines of the parts that are shown."""
    shown: list[str] = []
    until, showing = None, False
    for line in lines:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", line)
        heading = re.fullmatch(r"== (.*?) =+", plain)
        if heading:
            showing, until = heading[1] in SHOWN, SHOWN.get(heading[1])
        elif until is not None and plain.startswith(until):
            showing = False
            while shown and (not shown[-1] or "\x1b[36m#" in shown[-1]):
                shown.pop()  # nor the words that lead up to it
            shown.append("")
        if showing:
            shown.append(line)
    return shown[: -1 if shown and not shown[-1] else None]


if __name__ == "__main__":
    sys.exit(main())
