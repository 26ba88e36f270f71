"""MCP's own client against `obelus serve`, with both revisions of the protocol: every case in one process."""

import asyncio
import os

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ElicitResult

URL = os.environ["ADDRESS"] + "/mcp"
AGENT = "notes"
TASK = "ask Anna to call the customer"


def connect(mode, token="OPERATOR", **more):
    headers = {"Authorization": f"Bearer {os.environ[token]}"}
    http = httpx2.AsyncClient(headers=headers, timeout=60)
    return Client(streamable_http_client(URL, http_client=http), mode=mode, **more)


async def call(client, name, **args):
    result = await client.call_tool(name, args)
    assert not result.is_error, result
    return result.structured_content


async def refused(client, name, **args):
    result = await client.call_tool(name, args)
    assert result.is_error, result
    return result.content[0].text


async def tasks(client, session):
    return (await call(client, "read_state", session=session))["state"]["tasks"]


async def every_tool(mode, version):
    async with connect(mode) as client:
        assert client.protocol_version == version, client.protocol_version
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["list_agents", "talk", "read_session", "read_state", "list_questions", "decide"], names
        assert AGENT in [agent["name"] for agent in (await call(client, "list_agents"))["agents"]]

        noted = await call(client, "talk", agent=AGENT, message="The customer called.")
        assert noted["status"] == "done" and noted["reply"] == "Written down.", noted
        again = await call(client, "talk", session=noted["session"], message="what notes are there?")
        assert again["reply"] == "1 notes, 0 tasks.", again

        asked = await call(client, "talk", agent=AGENT, message=TASK)
        session, [question] = asked["session"], asked["questions"]
        assert asked["status"] == "waiting" and "Anna" in question["text"], asked
        inbox = (await call(client, "list_questions", session=session))["questions"]
        assert [one["id"] for one in inbox] == [question["id"]], inbox
        answer = {"question": question["id"], "digest": question["digest"], "decision": "approve"}
        assert "changed" in await refused(client, "decide", **{**answer, "digest": "0" * 32})
        assert await tasks(client, session) == []
        assert (await call(client, "decide", **answer))["reply"] == "Noted for Anna."
        # A second answer does nothing.
        await refused(client, "decide", **answer)
        assert len(await tasks(client, session)) == 1

        asked = await call(client, "talk", agent=AGENT, message=TASK)
        [question] = asked["questions"]
        answer = {"question": question["id"], "digest": question["digest"], "decision": "edit"}
        await call(client, "decide", **answer, params={"who": "Boris"})
        assert (await tasks(client, asked["session"]))[0]["who"] == "Boris"

        assert "unknown_agent" in await refused(client, "talk", agent="nobody", message="x")
        assert "bad_request" in await refused(client, "talk", message="x")
        assert "unknown_session" in await refused(client, "read_state", session="nobody")


async def the_person_at_the_client_decides(mode):
    seen = []

    async def elicit(_, params):
        seen.append(params.message)
        assert "Anna" in params.message, params
        return answers.pop(0)

    def accept(decision):
        return ElicitResult(action="accept", content={"decision": decision})

    async with connect(mode, elicitation_callback=elicit) as client:
        answers = [accept("approve")]
        done = await call(client, "talk", agent=AGENT, message=TASK)
        assert done["reply"] == "Noted for Anna." and len(await tasks(client, done["session"])) == 1, done
        answers = [accept("deny")]
        done = await call(client, "talk", agent=AGENT, message=TASK)
        assert done["reply"] == "Then nobody is given that." and await tasks(client, done["session"]) == [], done
        answers = [ElicitResult(action="decline")]
        done = await call(client, "talk", agent=AGENT, message=TASK)
        assert await tasks(client, done["session"]) == [] and done["questions"] == [], done
        # After `cancel` the question stays open. The model cannot decide it alone: the person is asked.
        answers = [ElicitResult(action="cancel"), accept("deny")]
        done = await call(client, "talk", agent=AGENT, message=TASK)
        [question] = done["questions"]
        answer = {"question": question["id"], "digest": question["digest"], "decision": "approve"}
        decided = await call(client, "decide", **answer)
        assert decided["reply"] == "Then nobody is given that.", decided
        assert await tasks(client, done["session"]) == [] and len(seen) == 5, seen


async def roles():
    async with connect("auto", token="VIEWER") as viewer:
        assert (await call(viewer, "list_agents"))["agents"]
        assert "forbidden" in await refused(viewer, "talk", agent=AGENT, message="x")
    async with httpx2.AsyncClient() as http:
        answer = await http.post(URL, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert answer.status_code == 401, answer
        headers = {"Authorization": f"Bearer {os.environ['VIEWER']}"}
        for wrong in ([], {"id": 1}, {"jsonrpc": "2.0", "id": 1, "method": 7}):
            answer = await http.post(URL, json=wrong, headers=headers)
            assert answer.status_code == 400 and answer.json()["error"]["code"] == -32600, answer.text
        answer = await http.get(URL, headers=headers)
        assert answer.status_code == 405, answer


async def main():
    await every_tool("auto", "2026-07-28")
    await every_tool("legacy", "2025-11-25")
    await the_person_at_the_client_decides("auto")
    await the_person_at_the_client_decides("legacy")
    await roles()


asyncio.run(main())
