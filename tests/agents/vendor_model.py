"""A model that says what a plan tells it to, in the protocol of each vendor, for a program that is run beside it.

    vendor_model.py AGENT PLAN LOG PROGRAM [ARG...]

`{url}` in the program's arguments and environment becomes the address, on loopback. PLAN is a JSON list of turns: a
text, or a tool's name and its input. LOG gets what the model was asked in each of its turns; whatever else a program
asks a model (titles, routing) is answered with a word.
"""

from __future__ import annotations

import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

UP = 0x8914, struct.pack("16sh14x", b"lo", 0x41)
"""SIOCSIFFLAGS of the loopback interface: in a network of one's own it is down."""
LIMIT = 120
Answer = tuple[str, str]
"""The media type, and the text."""


def events(*parts: dict[str, Any]) -> Answer:
    """Return a stream of events."""
    heads = [f"event: {one['type']}\n" if "type" in one else "" for one in parts]
    return "text/event-stream", "".join(
        f"{head}data: {json.dumps(one)}\n\n" for head, one in zip(heads, parts, strict=True)
    )


def claude(turn: Any, number: int) -> Answer:
    """Say a turn as Anthropic's messages API streams it."""
    is_text = isinstance(turn, str)
    block = (
        {"type": "text", "text": ""}
        if is_text
        else {"type": "tool_use", "id": f"toolu_{number}", "name": turn[0], "input": {}}
    )
    delta = (
        {"type": "text_delta", "text": turn}
        if is_text
        else {"type": "input_json_delta", "partial_json": json.dumps(turn[1])}
    )
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "m", "content": []}
    stop = {"stop_reason": "end_turn" if is_text else "tool_use", "stop_sequence": None}
    return events(
        {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": stop, "usage": usage},
        {"type": "message_stop"},
    )


def codex(turn: Any, number: int) -> Answer:
    """Say a turn as OpenAI's responses API streams it; a tool that takes text gets text, and one of a server's both."""
    item: dict[str, Any] = {"id": f"item_{number}", "status": "completed"}
    if isinstance(turn, str):
        content = {"type": "output_text", "text": turn, "annotations": []}
        item |= {"type": "message", "role": "assistant", "content": [content]}
    else:
        space, _, name = turn[0].rpartition("/")
        item |= {"call_id": f"call_{number}", "name": name} | ({"namespace": space} if space else {})
        plain = isinstance(turn[1], str)
        item |= {"type": "custom_tool_call", "input": turn[1]} if plain else {"type": "function_call"}
        item |= {} if plain else {"arguments": json.dumps(turn[1])}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return events(
        {"type": "response.created", "response": {"id": f"resp_{number}"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": f"resp_{number}", "output": [item], "usage": usage}},
    )


def gemini(turn: Any, _: int) -> Answer:
    """Say a turn as Gemini's API streams it."""
    part = {"text": turn} if isinstance(turn, str) else {"functionCall": {"name": turn[0], "args": turn[1]}}
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
    return events({"candidates": [candidate], "usageMetadata": usage})


def is_turn(path: str, body: Any) -> bool:
    """Return whether it is the agent that asks: it brings its tools, or history."""
    return bool(body.get("tools")) or path.startswith("/v1/responses")


def serve(agent: str, plan: list[Any], asked: list[Any]) -> ThreadingHTTPServer:
    """Return the server; it puts what it was asked in its turns into `asked`."""
    say, lock = {"claude": claude, "codex": codex, "gemini": gemini}[agent], threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            with lock:
                turn: Any = "ok"
                if is_turn(self.path, body):
                    asked.append(body)
                    turn = plan.pop(0) if plan else "done"
                kind, text = say(turn, len(asked))
            self.answer(kind, text)

        def do_GET(self) -> None:
            self.answer("application/json", '{"data": [], "models": []}')

        do_HEAD = do_GET

        def answer(self, kind: str, text: str) -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def main(agent: str, plan: str, log: str, *argv: str) -> int:
    """Run a program with a model beside it. Returns: how it ended."""
    with socket.socket() as one:
        fcntl.ioctl(one, *UP)
    asked: list[Any] = []
    port = serve(agent, json.loads(Path(plan).read_text()), asked).server_port
    url = f"http://127.0.0.1:{port}"
    env = {name: value.replace("{url}", url) for name, value in os.environ.items()}
    words = [word.replace("{url}", url) for word in argv]
    done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, timeout=LIMIT, check=False)
    Path(log).write_text(json.dumps(asked))
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
