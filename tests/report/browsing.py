"""A page as a browser sees it, and what is wrong with it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CONTRAST = """() => {
  const parse = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const light = ([r, g, b]) => {
    const part = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour[3] === 1) return colour;
      if (colour[3] !== 0) throw new Error("a background that is half seen through");
    }
    throw new Error("nothing is behind the text");
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode.data.trim(), element = walker.currentNode.parentElement;
    if (!text) continue;
    const style = getComputedStyle(element);
    const [a, b] = [light(parse(style.color)), light(behind(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found.push([ratio, style.opacity, text.slice(0, 40)]);
  }
  return found;
}"""
"""The contrast of each piece of text with what is behind it, as WCAG 2.2 defines it."""
OUTLINE = "() => [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map((one) => Number(one.tagName[1]))"
IDS = "() => [...document.querySelectorAll('[id]')].map((one) => one.id)"
LINKS = "() => [...document.querySelectorAll('[href]')].map((one) => one.getAttribute('href'))"
NAMES = "() => [...new Set([...document.querySelectorAll('*')].map((one) => one.localName))].sort()"
WIDE = """() => [...document.querySelectorAll('body *')].filter((one) => {
  const place = one.getBoundingClientRect();
  return place.right > document.documentElement.clientWidth + 0.5 && !one.closest('pre') && place.width > 0;
}).map((one) => one.outerHTML.slice(0, 200))"""
COLOURS = "() => { const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]; }"
WATCH = (
    "document.addEventListener('securitypolicyviolation', (event) => console.error('CSP ' + event.violatedDirective))"
)
ELEMENTS = [
    "a", "article", "b", "bdi", "body", "code", "dd", "details", "dl", "dt", "footer", "h1", "h2", "h3", "head",
    "header", "html", "li", "main", "meta", "nav", "ol", "p", "pre", "section", "span", "strong", "style", "summary",
    "time", "title", "ul",
]  # fmt: skip
"""All that a page is made of."""


@contextlib.contextmanager
def opened(browser: Browser, path: Path, *, width: int = 1280, script: bool = True) -> Iterator[Page]:
    """Open a page; it must ask for nothing, and say nothing to the console."""
    context = browser.new_context(viewport={"width": width, "height": 800}, java_script_enabled=script)
    asked, said = list[str](), list[str]()
    context.on("request", lambda request: asked.append(request.url))
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))
    context.on("dialog", lambda dialog: said.append(dialog.message))
    context.add_init_script(WATCH)
    try:
        page = context.new_page()
        page.goto(path.as_uri(), wait_until="load")
        yield page
        if script:  # what a page says as it is painted has been said then
            page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert asked == [path.as_uri()]
        assert said == []
    finally:
        context.close()
