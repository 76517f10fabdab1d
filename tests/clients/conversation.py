"""One conversation through the official Python SDK: conversation.py URL KEY MODE.

MODE is `legacy` (a handshake and a session), a protocol version of the modern era, or `auto`.
"""

import json
import sys
import uuid
from pathlib import Path

import anyio
import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, key: str, mode: str) -> None:
    headers = {"X-API-Key": key}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            await converse(client)
            await every_tool(client)
            print(f"python, {mode}: {client.protocol_version} ok")


async def converse(client: Client) -> None:
    tools = [tool.name for tool in (await client.list_tools()).tools]
    assert {"app_chats", "app_projects", "app_read", "app_runs"} <= set(tools), tools

    project = await applied(client, "app_projects", operation="Create", name="From Python")
    chat = await applied(
        client,
        "app_chats",
        operation="Create",
        projectId=project["document"]["id"],
        title="Cormorants",
    )
    chat_id = chat["document"]["id"]

    operation = str(uuid.uuid4())
    submit = dict(
        operation="Submit",
        chatId=chat_id,
        text="Where do cormorants dry their wings?",
        operationId=operation,
        wait=True,
    )
    first = await applied(client, "app_runs", **submit)
    assert first["replayed"] is False, first
    assert first["document"]["run"]["status"] == "Completed", first
    again = await applied(client, "app_runs", **submit)
    assert again["replayed"] is True, again
    assert again["document"]["messageId"] == first["document"]["messageId"], again

    messages = await read(client, resource="Messages", chatId=chat_id, order="OldestFirst")
    assert [m["role"] for m in messages] == ["User", "Assistant"], messages
    assert messages[0]["id"] == operation, messages

    fork = await applied(
        client,
        "app_runs",
        operation="Submit",
        mode="Fork",
        chatId=chat_id,
        fromMessageId=messages[1]["id"],
        text="And where do they sleep?",
        wait=True,
    )
    branch = fork["document"]["branchId"]
    chain = await read(client, resource="Messages", branchId=branch, order="OldestFirst")
    assert len(chain) == 4, chain
    assert [m["id"] for m in chain[:2]] == [m["id"] for m in messages], chain

    rename = dict(operation="Rename", chatId=chat_id, expectedRevision=1)
    await applied(client, "app_chats", title="Cormorants and shags", **rename)
    stale = await client.call_tool("app_chats", dict(title="Too late", **rename))
    assert stale.is_error, stale
    conflict = stale.structured_content
    assert conflict["status"] == "Conflict", conflict
    assert conflict["revision"] == 2, conflict
    assert conflict["document"]["title"] == "Cormorants and shags", conflict

    hits = await read(client, resource="Search", query="cormorants DRY", chatId=chat_id)
    assert [hit["messageId"] for hit in hits if hit["role"] == "User"] == [operation], hits


async def every_tool(client: Client) -> None:
    """The calls of calls.json, one after the other: every tool is called, and all go through."""
    kept: dict[str, str] = {}
    called = set()
    for call in json.loads(Path(__file__).with_name("calls.json").read_text()):
        arguments = filled(call["arguments"], kept)
        result = await client.call_tool(call["tool"], arguments)
        assert not result.is_error, (call, result)
        structured = result.structured_content
        assert "operation" not in arguments or structured["status"] == "Applied", (call, result)
        for name, path in call.get("keep", {}).items():
            value = structured
            for step in path.split("."):
                value = value[int(step)] if isinstance(value, list) else value[step]
            kept[name] = value
        called.add(call["tool"])
    assert called == {tool.name for tool in (await client.list_tools()).tools}, called


def filled(value, kept: dict[str, str]):
    """Puts what was kept in place of `$name`."""
    match value:
        case str() if value.startswith("$"):
            return kept[value[1:]]
        case list():
            return [filled(item, kept) for item in value]
        case dict():
            return {name: filled(item, kept) for name, item in value.items()}
        case _:
            return value


async def applied(client: Client, tool: str, **arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    assert result.structured_content["status"] == "Applied", result
    return result.structured_content


async def read(client: Client, **arguments):
    result = await client.call_tool("app_read", arguments)
    assert not result.is_error, result
    return result.structured_content["items"]


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:4])
