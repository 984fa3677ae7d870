"""The page in a real browser: it fetches nothing, runs nothing, fits every screen, and can be read by everybody."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from desk import Desk
from gitrepo import GitRepo
from report.browsing import COLOURS, CONTRAST, ELEMENTS, IDS, LINKS, NAMES, OUTLINE, WIDE, opened
from report.story import HOSTILE_WORDS, account, begun, played
from tiers import some

from git_taskctx.model.context import TaskSnapshot
from git_taskctx.model.values import replace
from git_taskctx.report.document import printable
from git_taskctx.report.page import TEXT, render_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.needs_chromium
WIDTHS = (360, 768, 1280)
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
MEDIA: tuple[Literal["screen", "print"], ...] = ("screen", "print")


STATES = ("plain", "drift", "sealed", "notes alone", "hostile")
_MADE: dict[str, bytes] = {}


def make_pages(folder: Path) -> None:
    """Report one task in several states, and another one with hostile words."""
    desk, path = played(folder / "work"), folder / "made.html"

    def keep(state: str, at: Desk, asked: str) -> None:
        at.ok("report", asked, "-o", str(path))
        _MADE[state] = path.read_bytes()

    keep("plain", desk, "TASK-1")
    desk.repo.write("parser.py", "drift\n")
    keep("drift", desk, "TASK-1")
    desk.repo.write("parser.py", "broken\n")
    desk.repo.commit("Give a discount")
    desk.ok("verify")
    keep("sealed", desk, "TASK-1")
    desk.repo.git("clone", "-q", "--depth=1", desk.repo.path.as_uri(), str(folder / "clone"))
    clone = Desk(GitRepo(folder / "clone"))
    clone.repo.git("fetch", "-q", "origin", "refs/notes/taskctx:refs/notes/taskctx")
    keep("notes alone", clone, "HEAD")
    keep("hostile", played(folder / "hostile", HOSTILE_WORDS), "TASK-1")


@pytest.fixture
def hostile_page(tmp_path: Path) -> Path:
    """A report in which everything that people wrote is hostile."""
    return _page(tmp_path, "hostile")


@pytest.fixture(params=some(STATES, ("drift", "sealed", "hostile")))
def page_file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A report of a task, in several states; they are made once."""
    return _page(tmp_path, request.param)


def _page(folder: Path, state: str) -> Path:
    if not _MADE:
        make_pages(folder)
    path = folder / "report.html"
    path.write_bytes(_MADE[state])
    return path


def test_it_fits_every_screen(browser: Browser, page_file: Path) -> None:
    """At every width, light and dark, nothing sticks out; the two differ."""
    colours = {}
    with opened(browser, page_file) as page:
        for width, scheme in itertools.product(WIDTHS, SCHEMES):
            page.set_viewport_size({"width": width, "height": 800})
            page.emulate_media(color_scheme=scheme)
            seen = page.evaluate("() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]")
            assert seen == [width, width]
            assert page.evaluate(WIDE) == []
            colours[scheme] = page.evaluate(COLOURS)
    assert colours["light"] != colours["dark"]


def test_it_is_sound(browser: Browser, page_file: Path) -> None:
    """Ids are unique, links lead somewhere on the page, headings are in order, and no element is of a kind unknown."""
    with opened(browser, page_file) as page:
        ids = page.evaluate(IDS)
        assert len(ids) == len(set(ids))
        links = page.evaluate(LINKS)
        assert all(link.startswith("#") for link in links)
        assert {link.removeprefix("#") for link in links} <= set(ids)
        outline = page.evaluate(OUTLINE)
        assert (outline[0], outline.count(1)) == (1, 1)
        assert all(below - above <= 1 for above, below in itertools.pairwise(outline))
        assert set(page.evaluate(NAMES)) <= set(ELEMENTS)
        assert page.evaluate("() => document.documentElement.lang") == "en"


def test_every_text_can_be_read(browser: Browser, page_file: Path) -> None:
    """Each piece of text has a contrast of 4.5 with what is behind it, or more; what is folded too, and in print."""
    with opened(browser, page_file) as page:
        page.evaluate("() => document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        for media, scheme in itertools.product(MEDIA, SCHEMES):
            page.emulate_media(media=media, color_scheme=scheme)
            found = page.evaluate(CONTRAST)
            assert len(found) > 50
            assert [one for one in found if one[0] < 4.5 or one[1] != "1"] == [], (media, scheme)


def test_without_script_all_is_there(browser: Browser, page_file: Path) -> None:
    """Whether script may run or not, the same text is there, takes the same room, and fits the smallest screen."""
    seen = []
    for script in (True, False):
        with opened(browser, page_file, width=360, script=script) as page:
            seen.append(page.evaluate("() => document.documentElement.textContent"))
            seen.append(page.evaluate("() => document.body.innerText"))
            assert page.evaluate("() => document.documentElement.scrollWidth") == 360
    assert seen[:2] == seen[2:]


def test_hostile_words_are_text(browser: Browser, hostile_page: Path) -> None:
    """A title that would be markup, script or an escape is shown as what it is, in the heading and in the tab."""
    title = printable(" ".join(HOSTILE_WORDS.title.split()))  # so a title is captured
    finding = printable(HOSTILE_WORDS.finding)
    with opened(browser, hostile_page, width=360) as page:
        assert page.evaluate("() => document.querySelector('h1').textContent") == title
        assert " ".join(page.title().split()) == " ".join(f"TASK-1: {title}".split())
        assert page.evaluate("() => [document.scripts.length, document.images.length]") == [0, 0]
        text = page.evaluate("() => document.body.textContent")
    assert finding in text
    assert "{{ 7*7 }}{% raw %}&lt;b&gt;" in text
    assert not any(character in text for character in "\x1b\x07\x00\u202e\u2066\u2028\x85\ufffd")


@pytest.mark.parametrize("length", [4_000, 100_000])
def test_a_title_without_a_blank_fits(browser: Browser, tmp_path: Path, length: int) -> None:
    """One word of thousands of characters, as only others than us can have recorded it, is broken, and cut at last."""
    task = TaskSnapshot(title="W" * length)
    desk = begun(tmp_path / "work")
    desk.init()
    told = account(desk)
    assert told.context is not None
    context = told.context.replace(immutable=replace(told.context.immutable, task_snapshot=task))
    path = tmp_path / "report.html"
    path.write_bytes(render_page(replace(told, context=context)))
    for width in WIDTHS:
        with opened(browser, path, width=width) as page:
            assert page.evaluate("() => document.documentElement.scrollWidth") == width
            shown = page.evaluate("() => document.querySelector('h1').textContent")
            assert shown == ("W" * length if length <= TEXT else f"{'W' * TEXT}… ({length} characters)")


def test_a_keyboard_is_enough(browser: Browser, hostile_page: Path) -> None:
    """The first stop leads past the head; what scrolls or folds takes the focus, and the focus can be seen."""
    with opened(browser, hostile_page, width=360) as page:
        page.keyboard.press("Tab")
        assert page.evaluate("() => document.activeElement.getAttribute('href')") == "#since"
        stops = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
            name = page.evaluate("() => document.activeElement.localName")
            assert name == "body" or outline == "solid"
            stops.add(name)
        assert {"a", "summary", "pre"} <= stops
        scrolls = "() => [...document.querySelectorAll('pre')].some((one) => one.scrollWidth > one.clientWidth)"
        assert page.evaluate(scrolls)
