"""Which paths a task may change: macros and globs compiled into one test, and a hash of the matches.

Patterns are git's, plus alternatives: `*`, `?` and `[…]` within a folder, `**` across folders, `{a,b}` alternatives,
`!` excludes. They are untrusted: matching takes linear time whatever the pattern.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

from git_taskctx.errors import BadData
from git_taskctx.lean import digest, regex
from git_taskctx.limits import ALTERNATIVES_LIMIT, MAX_DEPTH, PATTERN_LIMIT, PATTERNS_LIMIT
from git_taskctx.model.values import dataclass
from git_taskctx.shell import shell_word

_PLACES = 200
"""Maximum number of places that are examined one by one."""

_PATTERN = regex(r"!?(?::[A-Za-z][\w-]*|(?!\w+://)\S*(?:[/*]\S*|\.[A-Za-z]\w{0,9}))")
"""A word that is a path: it has a slash, a star or an extension, or is a macro."""
_POSITION = regex(r"(?<=[^:]):[0-9]+(?:[-:,][0-9]+)*$|#L[0-9]+(?:-L?[0-9]+)?$")
"""Positions in a file, as of compilers (`a.py:3:1`) and GitHub (`a.py#L3-L9`)."""
_REMARK = regex(r"\s*$|\s+(?:[(\[#\u2013\u2014\u2192]|--?\s|[-=]>|:\s|lines?\s+[0-9]|L[0-9])|(?<=[:;,])\s")
"""A remark after a path: `(new)`, `- the parser`, `# why`, `lines 3-9`."""
_WITH_BLANKS = regex(r"(?:[^/\s]+(?: [^/\s]+)?/)+(?:[^/\s]+ [^/\s]+\.\w+|[^/\s]*)")
"""An unquoted path with a blank in a folder's name; with more blanks it is a sentence."""
_QUOTED = regex(r"(?P<quote>`+|[\"'])(?P<path>[^`\"']+)(?P=quote)(?P<position>:[0-9][0-9:,-]*|#L[0-9][L0-9-]*)?")


@dataclass(frozen=True)
class Matcher:
    """A compiled list of patterns."""

    includes: re.Pattern[str] | None
    """None: every path that is not excluded."""
    excludes: re.Pattern[str] | None

    def covers(self, path: str) -> bool:
        """Return whether the patterns cover `path`, relative to the worktree's root, with `/` between folders.

        Exclusions win, wherever they are in the list. Without any other pattern everything else is covered.
        """
        if self.excludes and self.excludes.match(path):
            return False
        return self.includes is None or self.includes.match(path) is not None


def is_pattern(text: str) -> bool:
    """Return whether a word is a path rather than prose."""
    return _PATTERN.fullmatch(text) is not None


def paths_named(text: str, *, paths: bool = False) -> tuple[str, ...]:
    """Return the patterns that a scope item names, without positions and remarks; none for prose.

    `src/errors.ts:153 (note)` names `src/errors.ts`. With `paths` the item is in a list of paths, where every word is a
    path and may contain blanks. Quoted text is kept.
    """
    text = text.strip()
    quoted = _QUOTED.match(text)
    if quoted and _REMARK.match(text, quoted.end()) and (paths or is_pattern(quoted["path"])):
        return (quoted["path"].strip(),)
    listed = re.split(r",\s+(?:and\s+)?|\s+and\s+", text)
    if len(listed) > 1 and all(is_pattern(_bare(one)) for one in listed):
        return tuple(map(_bare, listed))
    word = re.match(r"\S+", text)
    if word is None:
        return ()
    bare = _bare(word[0])
    if _REMARK.match(text, word.end()) and (
        is_pattern(bare) or (paths and (bare != word[0] or word.end() == len(text)))
    ):
        return (bare,)
    if not paths:
        return ()
    bare = _bare(re.sub(r"\s+(?:\([^()]*\)|#\s.*|(?:--?|[\u2013\u2014\u2192]|[-=]>)\s.*)$", "", text))
    return (bare,) if _WITH_BLANKS.fullmatch(bare) else ()


def _bare(word: str) -> str:
    """Return a path without position and trailing punctuation."""
    return _POSITION.sub("", word.rstrip(",;").removesuffix(":"))


def compile_patterns(patterns: Sequence[str]) -> Matcher:
    """Compile patterns whose macros are expanded. Raises: BadData for one that is too long or too branched.

    A pattern that ends in a plain name or a slash also covers everything below that folder. A leading `./` or `/`
    means the worktree's root, like no prefix.
    """
    includes = [_clean(pattern) for pattern in patterns if not pattern.startswith("!")]
    excludes = [_clean(pattern[1:]) for pattern in patterns if pattern.startswith("!")]
    return Matcher(_compile(includes) if includes else None, _compile(excludes) if excludes else None)


def places_of(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return paths that contain everything the patterns cover; none where that may be anywhere."""
    places = list[str]()
    for pattern in patterns:
        for plain in () if pattern.startswith("!") else _alternatives(_clean(pattern)):
            segments = (segment for segment in plain.split("/") if segment not in ("", "."))
            places.append("/".join(itertools.takewhile(lambda one: not re.search(r"[*?\[\\]", one), segments)))
    return tuple(dict.fromkeys(places)) if len(places) <= _PLACES and all(places) else ()


def expand_macros(patterns: Iterable[str], macros: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Replace `:name` by its patterns, each once; `!:name` excludes them.

    Raises: BadData for an unknown macro (naming the nearest) and for circular macros.
    """
    known: dict[str, tuple[str, ...]] = {}
    result: list[str] = []
    for pattern in patterns:
        name = pattern.removeprefix("!")
        if not name.startswith(":"):
            result.append(pattern)
            continue
        expanded = _expand(name, macros, known, ())
        result.extend(expanded if name == pattern else (f"!{item.removeprefix('!')}" for item in expanded))
    return tuple(dict.fromkeys(result))


def read_macros(data: bytes, *, name: str) -> dict[str, tuple[str, ...]]:
    """Read a JSON file of macros: `name` or `:name` to patterns, at the top or under `macros`.

    Raises: BadData with a line for every problem.
    """
    from git_taskctx.capture.strict_json import parse_json
    from git_taskctx.capture.strict_yaml import Problems, decode_text

    problems = Problems(name)
    root = parse_json(decode_text(data, problems), problems)
    found: dict[str, tuple[str, ...]] = {}
    members = root.value if root is not None else {}
    if isinstance(members, dict) and set(members) == {"macros"} and isinstance(members["macros"].value, dict):
        members = members["macros"].value
    if not isinstance(members, dict):
        problems.add(1, 1, 'expected an object, as in {":ui": ["src/ui/**"]}')
        members = {}
    for key, node in members.items():
        if key.startswith("$") or key in ("version", "description"):
            continue
        items = node.value if isinstance(node.value, tuple) else (node,)
        macro = f":{key.removeprefix(':')}"
        if not re.fullmatch(r":[^\s:]+", macro):
            problems.add(node.line, node.column, f"{key[:60]!r} is not a macro name: write ':name'")
        for item in items:
            if not isinstance(item.value, str) or not item.value.strip():
                problems.add(item.line, item.column, f"{key[:60]}: expected a pattern, or a list of patterns")
        found[macro] = tuple(item.value for item in items if isinstance(item.value, str))
    problems.raise_any()
    return found


def scope_hash(paths: Iterable[str]) -> str:
    """Hash a set of paths: the first 16 hex digits of sha256 over the sorted paths, a newline after each."""
    lines = "".join(f"{path}\n" for path in sorted(set(paths)))
    return digest("sha256", lines.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _expand(
    name: str, macros: Mapping[str, Sequence[str]], known: dict[str, tuple[str, ...]], above: tuple[str, ...]
) -> tuple[str, ...]:
    if name in above:
        raise BadData(f"scope macro {name} names itself: {' -> '.join([*above[above.index(name) :], name])}")
    if name not in macros:
        raise BadData(f"unknown scope macro {name}", hint=_nearest(name, macros))
    if len(above) >= MAX_DEPTH:
        raise BadData(f"scope macro {above[0]} is nested more than {MAX_DEPTH} deep")
    if name not in known:
        items = [
            item
            for pattern in macros[name]
            for item in (_expand(pattern, macros, known, (*above, name)) if pattern.startswith(":") else (pattern,))
        ]
        known[name] = tuple(dict.fromkeys(items))
    return known[name]


def _nearest(name: str, macros: Mapping[str, Sequence[str]]) -> str:
    import difflib

    near = difflib.get_close_matches(name[:200], list(macros), n=1)
    return (
        f"did you mean {shell_word(near[0])}?" if near else "macros are defined in .taskctx.toml under [scope.macros]"
    )


def _clean(pattern: str) -> str:
    if len(pattern) > PATTERN_LIMIT:
        raise BadData(f"a scope pattern has {len(pattern)} characters, more than {PATTERN_LIMIT}")
    return re.sub(r"^(?:\./+|/+)+", "", pattern)


def _compile(patterns: Sequence[str]) -> re.Pattern[str]:
    plain = list(dict.fromkeys(item for pattern in patterns for item in _alternatives(pattern)))
    if sum(map(len, plain)) > PATTERNS_LIMIT:
        raise BadData(f"the scope patterns have more than {PATTERNS_LIMIT} characters together")
    return re.compile("|".join(map(_translate, plain)), re.DOTALL)


# Braces.


def _alternatives(pattern: str) -> list[str]:
    """Expand braces: `a{b,c}` is `ab` and `ac`. Braces without a comma stay."""
    done: list[str] = []
    waiting = [pattern]
    while waiting:
        if len(done) + len(waiting) > ALTERNATIVES_LIMIT:
            raise BadData(f"scope pattern {pattern[:80]!r} stands for more than {ALTERNATIVES_LIMIT} patterns")
        text = waiting.pop()
        cuts = _first_braces(text)
        if cuts:
            parts = [text[start + 1 : end] for start, end in itertools.pairwise(cuts)]
            waiting.extend(text[: cuts[0]] + part + text[cuts[-1] + 1 :] for part in reversed(parts))
        else:
            done.append(text)
    return done


def _first_braces(text: str) -> list[int]:
    """Return the positions of the first braces with alternatives, and of their commas."""
    found: list[list[int]] = []
    stack: list[list[int]] = []
    for match in re.finditer(r"\\.|[{},]", text, re.DOTALL):
        if match[0] == "{":
            stack.append([match.start()])
        elif match[0] == "," and stack:
            stack[-1].append(match.start())
        elif match[0] == "}" and stack:
            cuts = stack.pop()
            if len(cuts) > 1:
                found.append([*cuts, match.start()])
    return min(found, default=[])


# Globs. A wildcard that is followed by fixed text is an atomic group that stops at the first place where that text
# fits: leftmost is as good as any other place, and nothing is ever tried twice.

_PIECE = regex(r"\\(?P<escaped>.)|(?P<stars>\*+)|(?P<any>\?)|\[(?P<not>[!^]?)(?P<set>\]?[^\]]*)\]|(?P<text>.)", re.S)


def _translate(pattern: str) -> str:
    """Translate a pattern without braces to a regular expression, anchored at the start by `match`."""
    segments = [segment for segment in pattern.split("/") if segment not in ("", ".")]
    names_folder = pattern.endswith("/") or not (segments and re.search(r"[*?]|\[.+\]", segments[-1]))
    end = r"(?:/|\Z)" if names_folder else r"\Z"
    if not segments:
        return ""
    groups: list[list[str]] = [[]]
    for segment in segments:
        if segment == "**":
            groups.append([])
        else:
            groups[-1].append(_segment(segment))
    first, *others = groups
    result = "/".join(first)
    for index, group in enumerate(others):
        if not group and index < len(others) - 1:
            continue
        slash = "/" if result else ""
        if index == len(others) - 1:
            return result + slash + (rf"(?:[^/]+/)*?{'/'.join(group)}{end}" if group else ".")
        result += rf"{slash}(?>(?:[^/]+/)*?{'/'.join(group)}(?=/))"
    return result + end


def _segment(segment: str) -> str:
    parts: list[str] = [""]
    for piece in _PIECE.finditer(segment):
        if piece["stars"]:
            parts.append("")
        else:
            parts[-1] += _character(piece)
    first, *others = parts
    if not others:
        return first
    *middle, last = others
    return first + "".join(rf"(?>[^/]*?{part})" for part in middle if part) + rf"[^/]*{last}(?=/|\Z)"


def _character(piece: re.Match[str]) -> str:
    if piece["any"]:
        return "[^/]"
    if piece["set"]:
        # Files named like `[id].tsx` exist: the brackets mean themselves, too.
        return rf"(?:{re.escape(piece[0])}|(?!/){_set(piece['set'], negated=bool(piece['not']))})"
    return re.escape(piece["escaped"] or piece["text"] or piece[0])


def _set(text: str, *, negated: bool) -> str:
    items = [
        f"{re.escape(item[1])}-{re.escape(item[2])}" if item[1] else re.escape(item[0])
        for item in re.finditer(r"(.)-(.)|.", text, re.DOTALL)
        if not item[1] or item[1] <= item[2]
    ]
    if not items:
        return "[^/]" if negated else "(?!)"
    return f"[{'^' if negated else ''}{''.join(items)}]"
