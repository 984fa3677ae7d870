"""An MCP server with three tools: one writes a file, one only reads, and of one it cannot be told."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
TOOLS = [{"name": name, "description": name, "inputSchema": PATH} for name in ("write_note", "read_note", "frobnicate")]


def answer(method: str, given: Any) -> Any:
    """Return the result of one call."""
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        return {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/call":
        if given["name"] == "write_note":
            Path(given["arguments"]["path"]).write_text("written\n")
        return {"content": [{"type": "text", "text": f"{given['name']} was called"}]}
    return {"tools": TOOLS} if method == "tools/list" else {}


for line in sys.stdin:
    message = json.loads(line)
    if message.get("id") is not None:
        result = answer(message["method"], message.get("params"))
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
