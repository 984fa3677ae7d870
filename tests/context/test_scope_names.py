"""Which paths a scope covers, whatever bytes their names have."""

from __future__ import annotations

from git_taskctx.context.scope import outside
from git_taskctx.git.quoting import quote


def test_odd_names_in_a_folder_are_covered() -> None:
    """A pattern looks at the name itself, not at how it is written for people."""
    inside = [b"src/b\xff.py", b"src/tab\t", b'src/quo"te', "src/ü".encode()]
    beside = [b"b\xff.py", b"srcs\t/x"]
    assert outside(("src/**",), map(quote, [*inside, *beside])) == tuple(sorted(map(quote, beside)))
