"""Standards to measure with: six files, 80 to 100 KB, put together from sentences of the kind that standards have.

Always in the same way, so that two runs measure the same text.
"""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass

_SEED = 824
_FILES = {
    "frontend-tier": (
        "Component standards", "State management", "Accessibility", "Persistence", "Navigation", "Styling",
        "Lists and images", "Offline behaviour", "Internationalisation", "Animations", "Native modules",
        "Error boundaries", "Feature flags", "Deep links",
    ),
    "typescript": (
        "Strict config", "Zod boundaries", "Results pattern", "Module layout", "Naming", "Generics", "Enums and unions",
        "Async code", "Public interfaces", "Declaration files", "Dates and times", "Comments",
    ),
    "testing-standards": (
        "Mobile QA commands", "Mobile coverage", "Backend QA commands", "Shared QA commands", "Test data", "Fixtures",
        "Flaky tests", "Snapshot tests", "Contract tests", "Performance tests", "End-to-end tests",
    ),
    "cross-cutting": (
        "Hard fail controls", "Observability", "Security", "Privacy", "Dependencies", "Secrets", "Rate limits",
        "Retries and timeouts", "Feature removal", "Licences", "Data retention",
    ),
    "global": (
        "Evidence requirements", "Governance", "Release requirements", "Branching", "Reviews", "Decision records",
        "Deprecation", "Incident follow-up", "Documentation", "Ownership", "Exceptions",
    ),
    "AGENTS": (
        "Agent coordination", "Roles", "Prompts", "Working tree", "Handoffs", "Blocking", "Logs", "Tools", "Limits",
        "Escalation",
    ),
}  # fmt: skip
_SUBJECTS = (
    "a component", "a reducer", "a selector", "every exported function", "a screen", "a hook", "a module", "a test",
    "each boundary", "a handler", "the store", "a migration", "a feature", "the adapter", "a public type", "a job",
    "a change", "a pull request", "an agent", "the reviewer", "a release", "a dependency", "a log line", "a script",
)  # fmt: skip
_DEMANDS = (
    "has at most {n} lines, and a cyclomatic complexity of at most {m}",
    "validates what comes from outside with a schema before anything else sees it",
    "returns a result with an error code; exceptions are for bugs alone",
    "is covered to at least {p} % of its lines and {q} % of its branches",
    "does not import from a layer above its own, as `dependency-cruiser` checks",
    "states its owner and the date of its next review in the header",
    "keeps no state of its own that can be derived from the props",
    "names the evidence that it works, with the command and the commit",
    "is reported with the field's name and the schema's version, never with a value",
    "fails the build when the limit is passed by more than {m} %",
    "takes its configuration as an argument, and reads no environment variable",
    "retries at most {m} times, with a delay that doubles from {n} ms",
    "is written so that it can be run twice with the same result",
    "uses the tokens of the theme; a literal colour or size fails the lint",
    "is announced two releases before it goes, with the replacement in the text",
    "leaves the repository as it found it, temporary files included",
)
_REASONS = (
    "The incident of March 2024 came from exactly this.",
    "Reviewers look for it first, and send the change back without reading on.",
    "An exception needs a decision record that names who granted it and until when.",
    "`pnpm turbo run qa:static` checks it; what it cannot see is on the reviewer's list.",
    "Where an older file does otherwise, the next change to that file puts it right.",
    "The rule holds for generated code as well, unless the generator is vendored.",
    "See the decision record on this before you propose something else.",
    "On devices with less than {n} MB of memory the difference is visible.",
    "The limit was {m} until last year, and nobody could hold it.",
    "Numbers are measured on the reference device, warm, as the median of {m} runs.",
)
_EXAMPLES = (
    """\
```ts
const parsed = settingsSchema.safeParse(stored);
if (!parsed.success) {
  return err('settings/invalid', { field: parsed.error.issues[0].path.join('.') });
}
return ok(parsed.data);
```""",
    """\
```ts
export const selectExportQuality = (state: RootState) => state.settings.exportQuality;
export const selectIsLocked = (state: RootState, key: SettingKey) => key in state.settings.locks;
```""",
    """\
```sh
pnpm turbo run lint:fix --filter=photoeditor-mobile
pnpm turbo run test --filter=photoeditor-mobile -- --coverage
```""",
    """\
| what | limit | checked by |
| --- | --- | --- |
| lines of a component | 200 | `eslint max-lines` |
| branches covered | 60 % | `coverage-summary.json` |
| bundle growth | 4 KiB | `bundle:size` |""",
)


@dataclass(frozen=True)
class Section:
    """A section of a standard: where it lies, and its text."""

    file: str
    slug: str
    first: int
    last: int
    text: str

    @property
    def span(self) -> str:
        """The lines, as citations name them."""
        return f"L{self.first}-L{self.last}"


def standards() -> dict[str, str]:
    """Return the standards, by path."""
    chance = random.Random(_SEED)
    return {
        f"standards/{name}.md": "\n\n".join([f"# {name}", *(_section(one, chance) for one in titles)]) + "\n"
        for name, titles in _FILES.items()
    }


def sections() -> list[Section]:
    """Return every section of the standards, with the lines from its heading to the last before the next."""
    found = []
    for file, text in standards().items():
        lines = text.split("\n")
        starts = [number for number, line in enumerate(lines) if line.startswith("## ")] + [len(lines)]
        for start, end in itertools.pairwise(starts):
            body = "\n".join(lines[start:end]).rstrip("\n")
            slug = lines[start].removeprefix("## ").lower().replace(" ", "-")
            found.append(Section(file, slug, start + 1, start + 1 + body.count("\n"), body))
    return found


def _section(title: str, chance: random.Random) -> str:
    parts = [f"## {title}", _sentence(chance) + " " + " ".join(_reason(chance) for _ in range(2))]
    parts.append("\n".join(f"- {_sentence(chance)}" for _ in range(chance.randint(5, 9))))
    parts.append(" ".join((_sentence(chance), _reason(chance), _sentence(chance), _reason(chance))))
    parts.append(" ".join((_sentence(chance), _reason(chance))))
    if chance.random() < 0.5:
        parts.append(chance.choice(_EXAMPLES))
    return "\n\n".join(parts)


def _sentence(chance: random.Random) -> str:
    text = f"{chance.choice(_SUBJECTS)} {_filled(chance.choice(_DEMANDS), chance)}."
    return text[0].upper() + text[1:]


def _reason(chance: random.Random) -> str:
    return _filled(chance.choice(_REASONS), chance)


def _filled(text: str, chance: random.Random) -> str:
    return text.format(
        n=chance.choice((50, 75, 200, 250, 400)), m=chance.choice((3, 5, 8, 10)), p=chance.choice((70, 80, 90)),
        q=chance.choice((50, 60, 70)),
    )  # fmt: skip
