"""Servers of a bare repository on the loopback, as git ships them."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import CGIHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@contextlib.contextmanager
def served_by_daemon(folder: Path) -> Iterator[str]:
    """Run `git daemon` over `folder`, with pushes allowed; yield the address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = ["--listen=127.0.0.1", f"--port={port}", f"--base-path={folder}", "--export-all", "--enable=receive-pack"]
    daemon = subprocess.Popen(
        ["git", "daemon", "--verbose", "--reuseaddr", *words], process_group=0, stderr=subprocess.PIPE
    )
    try:
        assert daemon.stderr is not None
        assert b"Ready to rumble" in daemon.stderr.readline()
        yield f"git://127.0.0.1:{port}"
    finally:
        os.killpg(daemon.pid, 15)
        daemon.communicate()


@contextlib.contextmanager
def served_by_http(folder: Path, *, wanted: str | None = None) -> Iterator[str]:
    """Run `git http-backend` behind a small server, with pushes allowed; yield the address.

    Without the one `Authorization` that is `wanted` it answers nobody.
    """
    backend = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()

    class Handler(CGIHTTPRequestHandler):
        have_fork = False

        def is_cgi(self) -> bool:
            return True

        def run_cgi(self) -> None:
            if wanted is not None and self.headers.get_all("Authorization") != [wanted]:
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="git"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            path, _, query = self.path.partition("?")
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length) if length else b""
            answer = subprocess.run(
                [f"{backend}/git-http-backend"],
                env={
                    **os.environ, "GIT_PROJECT_ROOT": os.fspath(folder), "GIT_HTTP_EXPORT_ALL": "1",
                    "PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(length),
                    "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""), "REMOTE_USER": "somebody",
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                },
                input=body, capture_output=True, check=True,
            ).stdout  # fmt: skip
            head, _, rest = answer.partition(b"\r\n\r\n")
            fields = dict(line.decode().split(": ", 1) for line in head.split(b"\r\n"))
            self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(rest)))
            self.end_headers()
            self.wfile.write(rest)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the tests' output clean."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
