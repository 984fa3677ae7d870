"""What a page says, read by the standard library's parser, line by line."""

from __future__ import annotations

from html.parser import HTMLParser

_BLOCKS = {
    "article", "dd", "details", "dt", "footer", "h1", "h2", "h3", "header", "li", "nav", "p", "pre", "section",
    "summary", "title",
}  # fmt: skip


class Page(HTMLParser):
    """The lines of a page, its elements with their attributes, and what its links lead to."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._text = ""
        self._in_style = False
        self.feed(data.decode("utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take an element."""
        self.elements.append((tag, dict(attrs)))
        self._in_style = tag == "style"
        if tag in _BLOCKS:
            self._end_line()

    def handle_endtag(self, tag: str) -> None:
        """End a line where a block ends."""
        self._in_style = False
        if tag in _BLOCKS:
            self._end_line()

    def handle_data(self, data: str) -> None:
        """Take text."""
        if not self._in_style:
            self._text += data

    def _end_line(self) -> None:
        line = " ".join(self._text.split())
        if line:
            self.lines.append(line)
        self._text = ""

    @property
    def names(self) -> set[str]:
        """The names of all elements."""
        return {name for name, _ in self.elements}

    @property
    def ids(self) -> list[str]:
        """All ids."""
        return [attributes["id"] or "" for _, attributes in self.elements if "id" in attributes]

    @property
    def links(self) -> set[str]:
        """All that links lead to."""
        return {attributes["href"] or "" for _, attributes in self.elements if "href" in attributes}

    def section(self, heading: str, end: str) -> list[str]:
        """Return the lines from one heading on, up to another."""
        start = self.lines.index(heading)
        return self.lines[start : self.lines.index(end, start)]
