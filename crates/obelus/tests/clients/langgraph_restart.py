"""LangGraph's own client before and after the server is killed: it resumes by the id of the last event."""

import json
import os
import sys

from langgraph_sdk import get_sync_client

client = get_sync_client(url=os.environ["ADDRESS"], api_key=os.environ["ADMIN"])
AGENT = "notes"
MODES = ["updates", "values"]


def words(text):
    return {"messages": [{"role": "user", "content": text}]}


def before(file):
    thread = client.threads.create(metadata={"team": "sales"})["thread_id"]
    parts = list(client.runs.stream(thread, AGENT, input=words("The customer called."), stream_mode=MODES))
    asking = client.threads.create()["thread_id"]
    values = client.runs.wait(asking, AGENT, input=words("ask Anna to call the customer"))
    with open(file, "w") as kept:
        json.dump([thread, parts, asking, values["__interrupt__"][0]["id"]], kept)


def after(file):
    with open(file) as kept:
        thread, parts, asking, interrupt = json.load(kept)
    assert client.threads.get(thread)["metadata"]["team"] == "sales"
    run = parts[0][1]["run_id"]
    # After each received event: no event is missing or repeated.
    for place in range(1, len(parts) - 1):
        rest = client.runs.join_stream(thread, run, stream_mode=MODES, last_event_id=parts[place][2])
        rest, wanted = list(rest), parts[place + 1 :]
        assert [part.event for part in rest] == [part[0] for part in wanted], (place, rest)
        updates = [part.data for part in rest if part.event == "updates"]
        assert updates == [part[1] for part in wanted if part[0] == "updates"], (place, rest)
    command = {"resume": {interrupt: {"decisions": [{"type": "approve"}]}}}
    values = client.runs.wait(asking, AGENT, command=command)
    assert len(values["state"]["tasks"]) == 1, values


{"before": before, "after": after}[sys.argv[1]](sys.argv[2])
