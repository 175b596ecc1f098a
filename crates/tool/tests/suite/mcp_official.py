"""The same kind of server on the official package: `stdio`, or `http PORT`."""

import asyncio
import sys

try:
    from mcp.server.fastmcp import Context, FastMCP as Server
except ImportError:
    from mcp.server.mcpserver import Context, MCPServer as Server

server = Server("official")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
async def slow(ctx: Context) -> str:
    """Takes a moment."""
    await ctx.report_progress(1, 2)
    await asyncio.sleep(0.5)
    return "slept"


@server.tool()
def broken() -> str:
    """Fails."""
    raise ValueError("on purpose")


if sys.argv[1] == "stdio":
    server.run(transport="stdio")
else:
    try:
        server.settings.port = int(sys.argv[2])
        server.run(transport="streamable-http")
    except (AttributeError, ValueError):
        server.run(transport="streamable-http", port=int(sys.argv[2]))
