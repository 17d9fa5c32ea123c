"""The example memory over MCP, for the `mcp` bridge: stdio, or streamable HTTP on a port. Needs the package `mcp`.

python examples/memory_server_mcp.py FOLDER [PORT]
"""

import sys
from typing import Any

from mcp.server.mcpserver import MCPServer
from memory_server import Store

store = Store(sys.argv[1])
server = MCPServer("example-memory", version="1", log_level="WARNING")


@server.tool()
def remember(user: str, notes: list[dict[str, Any]]) -> dict[str, Any]:
    """Keep notes of a user: id, text, actor, time."""
    store.write(user, notes)
    return {"stored": len(notes)}


@server.tool()
def recall(user: str, query: str, limit: int | None = None, chars: int | None = None) -> dict[str, Any]:
    """The notes that answer a question, best first."""
    return {"results": store.search(user, query, limit, chars)}


@server.tool()
def answer(user: str, question: str) -> dict[str, Any]:
    """Answer a question from the notes, and say which were read."""
    said, read = store.ask(user, question)
    return {"answer": said, "used": read}


@server.tool()
def forget(user: str) -> dict[str, Any]:
    """Forget everything about a user."""
    store.reset(user)
    return {}


@server.tool()
def reindex(user: str) -> dict[str, Any]:
    """Throw the index away; it is made again from the notes."""
    store.drop_derived(user)
    return {}


if __name__ == "__main__":
    if len(sys.argv) > 2:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[2]))
    else:
        server.run()
