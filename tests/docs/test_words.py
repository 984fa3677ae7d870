"""Users read plain words, one for each thing: what the glossary has retired stands in no text that they see."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from gitrepo import ROOT

GLOSSARY = (ROOT / "docs" / "glossary.md").read_text()
RETIRED = re.compile(
    r"\bmend(?:s|ed|ing)?\b|\b(?:go|goes|gone|going|went) around\b|is at work since|is closed since|nobody's work"
    r"|\bstands? against\b|\bheld? against\b|\b(?:is|are|be|was|were) told\b|\bvouch\w*|\bfor you alone\b"
    r"|\b(?:hold|held) (?:the|its) last run|\btells? a task|\bdrift budget (?:was )?(?:\d|$)"
    r"|\bdrift budget of [\w ]*(?:: |$)"
    r"|\bneed not be|\bstands? unresolved|\bis not proved by it|\bmay_edit leaves it out"
    r"|(?<!there )\bis no (?:agent|ancestor|drift|file|JSON|list|number|object|pass|path|proof)\b"
    r"|(?<!there )\bis no (?:range|report|UTF-8)\b",
    re.IGNORECASE,
)
"""The first column of the glossary's last table, in all forms."""
KEYS = {"mend"}
"""Names in JSON that older versions wrote, and that stay."""


def shown(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of a module that may be shown, with their lines: its strings, and the help of its verbs."""
    tree = ast.parse(path.read_text())
    described = {
        id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.lineno, node.value
    if path.parent.name == "cli":
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield node.lineno, ast.get_docstring(node) or ""


def test_the_list_is_the_glossarys() -> None:
    """Every row of the table is found by the pattern, in each of its forms."""
    rows = re.findall(r"^\| (.+?) \|", GLOSSARY.split("## Words that are no longer used")[1], re.MULTILINE)[2:]
    forms = [form.split(" (")[0] for row in rows for form in row.split(", ")]
    assert forms
    assert [form for form in forms if not RETIRED.search(form) and form != "told to be missing"] == []


def test_no_retired_word_is_shown() -> None:
    """Messages, hints, help, pages and the manual use none of them."""
    shared = (ROOT / "git_taskctx" / "share").rglob
    pages = (ROOT / "README.md", ROOT / "CHANGELOG.md", *ROOT.glob("docs/*.md"), *shared("*.1"), *shared("*.md"))
    texts = [(path, 0, path.read_text()) for path in pages]
    texts += [(path, line, text) for path in (ROOT / "git_taskctx").rglob("*.py") for line, text in shown(path)]
    found = [
        (path.relative_to(ROOT).as_posix(), line, match[0])
        for path, line, text in texts
        for match in RETIRED.finditer(text.split("## Words that are no longer used")[0])
        if text not in KEYS
    ]
    assert found == []
