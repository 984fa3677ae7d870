"""Parts of the standard library, at the price of what is used of them.

Agents start this program all day. Of fifty expressions that its modules hold a call matches with a dozen, and `hashlib`
loads all of OpenSSL, where a few small objects are hashed.
"""

from __future__ import annotations

import re
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import _Hash

    regex = re.compile
else:

    class regex:
        """A regular expression that is compiled when it is first used."""

        def __init__(self, *args):
            self._args = args

        def __getattr__(self, name):
            compiled = re.compile(*self._args)
            for method in ("findall", "finditer", "fullmatch", "match", "search", "split", "sub"):
                setattr(self, method, getattr(compiled, method))
            return getattr(compiled, name)


def load_pathlib() -> None:
    """Load `pathlib` without `urllib.parse`, which up to CPython 3.12 it imports for `Path.as_uri` alone."""
    name = "urllib.parse"
    if name in sys.modules or "pathlib" in sys.modules:
        return

    class Later:
        @staticmethod
        def quote_from_bytes(path: bytes) -> str:
            from urllib.parse import quote_from_bytes

            return quote_from_bytes(path)

    sys.modules[name] = Later  # type: ignore[assignment]
    try:
        import pathlib

        _ = pathlib
    finally:
        del sys.modules[name]


WIDTH = {"sha1": 20, "sha256": 32}
"""Bytes of a hash."""
_FEW = 1 << 19
"""Bytes that are hashed in the time that OpenSSL takes to load; it is three to eight times as fast."""
_left = _FEW


def digest(algorithm: str, data: bytes | memoryview = b"", *, more: int = 0) -> _Hash:
    """Return the hash of `data`, as `hashlib.new` does; `more` is how many bytes will be added, as far as is known."""
    global _left
    if _left <= 0:
        return _openssl(algorithm)(data)
    _left -= len(data) + more
    try:
        return (_plain if _left > 0 else _openssl)(algorithm)(data)
    except ImportError:
        return _openssl(algorithm)(data)


def _plain(algorithm: str) -> Callable[[bytes | memoryview], _Hash]:
    """Return what Python has of its own, as its `random` does. Raises: ImportError where it was built without."""
    if algorithm == "sha1":
        from _sha1 import sha1 as found  # type: ignore[import-not-found]
    elif sys.version_info >= (3, 12):
        from _sha2 import sha256 as found
    else:
        from _sha256 import sha256 as found  # type: ignore[import-not-found]
    return found  # type: ignore[no-any-return]


def _openssl(algorithm: str) -> Callable[[bytes | memoryview], _Hash]:
    import hashlib

    return hashlib.sha1 if algorithm == "sha1" else hashlib.sha256
