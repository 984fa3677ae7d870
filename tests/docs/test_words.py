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
    r"|\b(?:hold|held) (?:the|its) last run|(?<!could[ -]not[ -])(?<!cannot )\btells?\b|\bnot told\b"
    r"|\bstands? (?:twice|above|below|inside|here|alone|apart|before|after|unresolved|in (?!the way))"
    r"|\bdrift budget (?:was )?(?:\d|$)"
    r"|\bdrift budget of [\w ]*(?:: |$)"
    r"|\bneed not be|\bis not proved by it|\bmay_edit leaves it out"
    r"|(?<!there )\bis no (?:agent|ancestor|drift|file|JSON|list|number|object|pass|path|proof)\b"
    r"|(?<!there )\bis no (?:range|report|UTF-8)\b",
    re.IGNORECASE,
)
"""The first column of the glossary's last table, in all forms."""
SHIPPED = (
    "*.md", "docs/*.md", "action.yml", "install.sh", ".pre-commit-hooks.yaml", ".github/verify.sh", "templates/*.yml",
    "plugins/**/*.md", "plugins/**/*.toml", "plugins/**/*.json", ".agents/**/*.md", ".claude-plugin/*.json",
    "git_taskctx/share/**/*.1", "git_taskctx/share/**/*.md", "git_taskctx/report/*.html",
)  # fmt: skip
"""What is read as it is, besides the texts of the modules."""
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
    texts = [(path, 0, path.read_text()) for pattern in SHIPPED for path in ROOT.glob(pattern)]
    texts += [(path, line, text) for path in (ROOT / "git_taskctx").rglob("*.py") for line, text in shown(path)]
    found = [
        (path.relative_to(ROOT).as_posix(), line, match[0])
        for path, line, text in texts
        for match in RETIRED.finditer(" ".join(text.split("## Words that are no longer used")[0].split()))
        if text not in KEYS
    ]
    assert found == []
