"""Scope: macros, patterns and the hash over what they match."""

from __future__ import annotations

import hashlib
import itertools

import pytest

from git_taskctx.capture.scope import compile_patterns, expand_macros, places_of, read_macros, scope_hash
from git_taskctx.errors import BadData
from git_taskctx.report.advice import advise

COVERED = [
    # pattern, covered, not covered
    ("src", ["src", "src/a", "src/a/b.ts"], ["srcx", "a/src"]),
    ("src/", ["src/a", "src/a/b"], ["srcx/a"]),
    ("./src", ["src/a"], ["a"]),
    ("/src", ["src/a"], ["a/src/b"]),
    (".", ["a", "a/b"], []),
    ("*", ["a", ".hidden"], ["a/b"]),
    ("src/*", ["src/a"], ["src", "src/a/b"]),
    ("src/*.ts", ["src/a.ts", "src/.ts"], ["src/a.tsx", "src/a/b.ts"]),
    ("src/*/", ["src/a/b", "src/a/b/c"], ["other/a/b"]),
    ("packages/*/src", ["packages/x/src/y"], ["packages/x/y", "packages/x/z/src/y"]),
    ("**", ["a", "a/b"], []),
    ("a/**", ["a/b", "a/b/c"], ["a", "ab/c"]),
    ("**/a", ["a", "x/a", "x/y/a/z"], ["xa", "x/ab"]),
    ("a/**/b", ["a/b", "a/x/b", "a/x/y/b/z"], ["ab", "a/xb"]),
    ("a/**/b/**/c", ["a/b/c", "a/1/b/2/3/c"], ["a/c", "a/b"]),
    ("**.ts", ["a.ts"], ["x/a.ts"]),
    ("?.md", ["a.md"], ["ab.md", "/.md"]),
    ("[a-c]x", ["ax", "cx"], ["dx", "-x"]),
    ("[!a]x", ["bx"], ["ax", "/x"]),
    ("[^a]x", ["bx"], ["ax"]),
    ("[]a]", ["]", "a"], ["b"]),
    ("[z-a]", ["[z-a]"], ["z", "a"]),
    ("[a--b]", ["b", "[a--b]"], ["c"]),
    ("app/[slug]/page.tsx", ["app/[slug]/page.tsx", "app/s/page.tsx"], ["app/slug/page.tsx"]),
    ("app/[...all]/**", ["app/[...all]/x/y"], ["app/all/x"]),
    (r"\*.md", ["*.md"], ["a.md"]),
    ("m/**/*.{ts,tsx}", ["m/a.ts", "m/x/y/b.tsx"], ["m/a.js"]),
    ("{a,b{c,d/{e,f}}}/x", ["a/x", "bc/x", "bd/e/x", "bd/f/x"], ["b/x", "bd/x"]),
    ("a{,.bak}", ["a", "a.bak"], ["a."]),
    ("{a}", ["{a}"], ["a"]),
    ("{a{b,c}", ["{ab", "{ac"], ["ab"]),
    (r"a\{b,c\}", ["a{b,c}"], ["ab"]),
    ("caf\u00e9/*", ["caf\u00e9/x"], ["cafe/x"]),
    ("a b/c", ["a b/c"], []),
    ("../x", [], ["x", "a/x"]),
]


def test_one_pattern() -> None:
    """A pattern covers what git's glob of that name does, a folder with all below it, and nothing else."""
    for pattern, covered, others in COVERED:
        matcher = compile_patterns([pattern])
        assert [path for path in covered if not matcher.covers(path)] == [], pattern
        assert [path for path in others if matcher.covers(path)] == [], pattern


def test_exclusions_win_wherever_they_stand() -> None:
    """A path that any `!pattern` covers is not covered, before or after the pattern that covers it."""
    for patterns in itertools.permutations(["src/**", "!**/*.snap", "docs"]):
        matcher = compile_patterns(patterns)
        covered = [path for path in ("src/a.ts", "src/b.snap", "docs/x.snap", "docs/y") if matcher.covers(path)]
        assert covered == ["src/a.ts", "docs/y"]


def test_nothing_named_is_everything() -> None:
    """No patterns cover every path; exclusions alone cover the rest."""
    assert compile_patterns([]).covers("any/path")
    only_excluded = compile_patterns(["!secret"])
    assert (only_excluded.covers("a"), only_excluded.covers("secret/a")) == (True, False)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 400 + "b", "a" * 4000),
        ("?*" * 400 + "b", "a" * 4000),
        ("**/a/" * 400 + "b", "a/" * 2000),
        ("**/*a*a*a*/" * 100 + "b", "aaaaaa/" * 600),
        ("[[]" * 400 + "b", "[" * 2000 + "[[]" * 399),
    ],
)
def test_matching_is_linear(pattern: str, path: str) -> None:
    """A pattern made to walk back and forth ends at once (it would outlast any patience if it were not linear)."""
    assert not compile_patterns([pattern]).covers(path)


def test_too_many_alternatives() -> None:
    """Braces that stand for over a thousand patterns are refused before they are written out."""
    with pytest.raises(BadData) as caught:
        compile_patterns(["{a,b}" * 30])
    assert caught.value.message == f"scope pattern {('{a,b}' * 16)!r} stands for more than 1000 patterns"
    assert compile_patterns(["{" + ",".join(f"f{n}" for n in range(1000)) + "}"]).covers("f999")


def test_too_long() -> None:
    """One pattern, and all patterns together, are bounded."""
    with pytest.raises(BadData, match="has 9000 characters, more than 8192"):
        compile_patterns(["a" * 9000])
    with pytest.raises(BadData, match="have more than 262144 characters together"):
        compile_patterns([f"{n}" + "a" * 4000 for n in range(100)])


def test_braces_that_never_close_stay_as_they_are() -> None:
    """Unbalanced braces are characters, however many there are."""
    assert compile_patterns(["{" * 4000]).covers("{" * 4000)
    assert compile_patterns(["{a," * 1300]).covers("{a," * 1300)


MACROS = {
    ":ui": ["mobile/src/components/**", ":shared"],
    ":shared": ["shared/**", "README.md"],
    ":a": [":b"],
    ":b": ["x", ":c"],
    ":c": [":a"],
}


def test_macros_expand_in_place_and_once() -> None:
    """A macro gives its patterns, and those of the macros in it, in its place; a pattern stands once."""
    assert expand_macros(["docs", ":ui", "README.md"], MACROS) == (
        "docs",
        "mobile/src/components/**",
        "shared/**",
        "README.md",
    )


def test_an_excluded_macro_excludes_each_of_its_patterns() -> None:
    """`!:name` puts `!` before every pattern that the macro stands for."""
    assert expand_macros(["**", "!:shared"], MACROS) == ("**", "!shared/**", "!README.md")


def test_macros_in_a_circle() -> None:
    """Macros that name each other are refused, and the circle is shown."""
    with pytest.raises(BadData) as caught:
        expand_macros([":a"], MACROS)
    assert caught.value.message == "scope macro :a names itself: :a -> :b -> :c -> :a"


def test_unknown_macro() -> None:
    """An unknown macro is refused with the nearest known one."""
    with pytest.raises(BadData) as caught:
        expand_macros([":sharde"], MACROS)
    assert (caught.value.message, advise(caught.value).hint) == ("unknown scope macro :sharde", "did you mean :shared?")


def test_macros_that_double_do_not_explode() -> None:
    """Thirty macros that each name the next one twice are one pattern; a longer chain is refused."""
    doubling = {f":m{n}": [f":m{n + 1}", f":m{n + 1}"] for n in range(30)} | {":m30": ["x"]}
    assert expand_macros([":m0"], doubling) == ("x",)
    chain = {f":m{n}": [f":m{n + 1}"] for n in range(5000)}
    with pytest.raises(BadData, match="scope macro :m0 is nested more than 32 deep"):
        expand_macros([":m0"], chain)


def test_scope_hash() -> None:
    """The hash is sha256 over the sorted paths, a newline after each, cut to 16 digits; order does not count."""
    expected = hashlib.sha256(b"a\nb/c\n").hexdigest()[:16]
    assert scope_hash(["b/c", "a"]) == scope_hash(iter(["a", "b/c"])) == expected
    assert scope_hash([]) == hashlib.sha256(b"").hexdigest()[:16]
    assert scope_hash(["caf\udce9"]) == hashlib.sha256(b"caf\xe9\n").hexdigest()[:16]


def test_a_file_of_macros() -> None:
    """Names with and without a colon, one pattern or several, also under `macros`; each fault has its place."""
    wanted = {":ui": ("src/ui/**", "x"), ":lib": ("lib/**",)}
    flat = '{"$schema": "x", "ui": ["src/ui/**", "x"], ":lib": "lib/**"}'
    assert read_macros(flat.encode(), name="m.json") == wanted
    assert read_macros(f'{{"macros": {flat}}}'.encode(), name="m.json") == wanted
    with pytest.raises(BadData) as caught:
        read_macros(b'{"a b": ["x"],\n "c": [{}], "d": ["x",]}', name="m.json")
    assert caught.value.message.splitlines() == [
        "m.json:1:9: 'a b' is not a macro name: write ':name'",
        "m.json:2:8: c: expected a pattern, or a list of patterns",
        "m.json:2:22: a comma before the ']': remove it",
    ]
    with pytest.raises(BadData, match="expected an object"):
        read_macros(b"[]", name="m.json")


@pytest.mark.parametrize(
    ("patterns", "places"),
    [
        (["src/**", "docs/a.md", "!src/gen/**"], ("src", "docs/a.md")),
        (["./src//a/./*.py", "/lib/"], ("src/a", "lib")),
        (["{app,web}/x/*"], ("app/x", "web/x")),
        (["src/[id]/page.tsx"], ("src",)),
        (["src/**", "*.md"], ()),
        (["**/x", "src"], ()),
        (["!src/**"], ()),
        ([], ()),
        ([r"a\*/b"], ()),
        ([f"{n}/x" for n in range(1000)], ()),
    ],
)
def test_places_of(patterns: list[str], places: tuple[str, ...]) -> None:
    """All that patterns cover lies in the places that are named; none are named where that may be anywhere."""
    assert places_of(patterns) == places
    covers = compile_patterns(patterns).covers
    for path in (
        "src/a/b.py",
        "src/gen/c",
        "docs/a.md",
        "lib/x",
        "app/x/y",
        "src/[id]/page.tsx",
        "a.md",
        "a*/b",
        "z/x",
    ):
        below = any(path == place or path.startswith(f"{place}/") for place in places)
        assert below or not places or not covers(path)
