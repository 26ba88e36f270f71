"""LangGraph's own client for Python against `obelus serve`: every case in one process."""

import os

import httpx
from langgraph_sdk import get_sync_client

URL = os.environ["ADDRESS"]
client = get_sync_client(url=URL, api_key=os.environ["ADMIN"])
AGENT = "notes"


def words(text):
    return {"messages": [{"role": "user", "content": text}]}


def resume(*decisions):
    return {"resume": {"decisions": list(decisions)}}


def fails(status, call):
    """Checks the status of an error. All errors of the client are those of httpx or derive from them."""
    try:
        call()
    except httpx.HTTPStatusError as error:
        assert error.response.status_code == status, error
        error.response.read()
        body = error.response.json()
        assert body["detail"] and body["code"], body
        return
    raise AssertionError(f"no {status}")


def new_thread():
    return client.threads.create()["thread_id"]


def asked(text="ask Anna to call the customer"):
    """A thread that stops at a confirmation."""
    thread = new_thread()
    values = client.runs.wait(thread, AGENT, input=words(text))
    return thread, values["__interrupt__"]


def tasks(thread):
    return client.threads.get_state(thread)["values"]["state"]["tasks"]


def assistants():
    found = client.assistants.search()
    assert AGENT in [one["assistant_id"] for one in found], found
    one = client.assistants.get(AGENT)
    assert one["graph_id"] == AGENT and one["description"], one
    assert client.assistants.get_graph(AGENT)["nodes"]
    assert client.assistants.get_schemas(AGENT)["input_schema"]
    fails(404, lambda: client.assistants.get("nobody"))


def threads():
    thread = client.threads.create(metadata={"team": "sales"})
    id = thread["thread_id"]
    assert thread["status"] == "idle" and thread["metadata"] == {"team": "sales"}, thread
    fails(409, lambda: client.threads.create(thread_id=id))
    assert client.threads.create(thread_id=id, if_exists="do_nothing")["thread_id"] == id
    client.threads.update(id, metadata={"place": 7})
    assert client.threads.get(id)["metadata"] == {"team": "sales", "place": 7}
    assert [one["thread_id"] for one in client.threads.search(metadata={"team": "sales"})] == [id]
    client.runs.wait(id, AGENT, input=words("The customer called."))
    again = client.threads.get(id)
    assert again["metadata"]["graph_id"] == AGENT and again["values"]["messages"], again
    assert client.threads.count(metadata={"place": 7}) == 1
    client.threads.delete(id)
    fails(404, lambda: client.threads.get(id))
    fails(404, lambda: client.runs.wait(id, AGENT, input=words("x")))
    made = client.runs.wait("of-mine", AGENT, input=words("A note."), if_not_exists="create")
    assert made["messages"][0]["content"] == "A note."


def a_run_to_its_end():
    thread = new_thread()
    values = client.runs.wait(thread, AGENT, input=words("The customer called."))
    kinds = [message["type"] for message in values["messages"]]
    assert kinds == ["human", "ai", "tool", "ai"], values
    call, result = values["messages"][1]["tool_calls"][0], values["messages"][2]
    assert call["name"] == "add_note" and call["id"] == result["tool_call_id"], values
    assert values["messages"][3]["content"] == "Written down."
    assert values["state"]["notes"] == [{"text": "The customer called."}], values
    runs = client.runs.list(thread)
    assert len(runs) == 1 and runs[0]["status"] == "success", runs
    assert client.runs.get(thread, runs[0]["run_id"])["assistant_id"] == AGENT
    assert client.runs.join(thread, runs[0]["run_id"]) == values


def streams():
    thread = new_thread()
    seen = {}
    created = []
    parts = client.runs.stream(
        thread,
        AGENT,
        input=words("The customer called."),
        stream_mode=["values", "updates", "messages-tuple"],
        on_run_created=created.append,
    )
    parts = list(parts)
    for part in parts:
        seen.setdefault(part.event, []).append(part.data)
    run = seen["metadata"][0]["run_id"]
    assert created == [{"run_id": run, "thread_id": thread}], created
    assert parts[0].event == "metadata" and parts[-1].event == "end", [part.event for part in parts]
    assert parts[-1].data == {"run_id": run, "status": "success"}
    nodes = [next(iter(update)) for update in seen["updates"]]
    assert nodes == ["model", "tools", "model"], nodes
    chunks = [message for message, meta in seen["messages"] if meta["run_id"] == run]
    texts = [chunk["content"] for chunk in chunks if chunk["type"] == "AIMessageChunk"]
    assert "".join(texts) == "Written down.", chunks
    last = seen["values"][-1]
    assert last["messages"][-1]["content"] == "Written down." and len(last["state"]["notes"]) == 1
    # The same run again: the whole stream, then only the events after one.
    again = list(client.runs.join_stream(thread, run, stream_mode=["updates"]))
    assert [part.data for part in again if part.event == "updates"] == seen["updates"], again
    updates = [part for part in again if part.event == "updates"]
    rest = list(client.runs.join_stream(thread, run, stream_mode=["updates"], last_event_id=updates[0].id))
    assert [part.data for part in rest if part.event == "updates"] == seen["updates"][1:], rest
    partial = list(client.runs.stream(thread, AGENT, input=words("Another."), stream_mode="messages"))
    assert any(part.event == "messages/complete" for part in partial), partial
    typed = list(client.runs.stream(thread, AGENT, input=words("A third."), stream_mode="values", version="v2"))
    assert typed[-1]["type"] == "values" and typed[-1]["interrupts"] == [], typed[-1]


def confirmations():
    thread, [interrupt] = asked()
    value = interrupt["value"]
    [action] = value["action_requests"]
    assert action["name"] == "add_task" and "Anna" in action["description"], action
    assert action["args"] == {"who": "Anna", "what": "call the customer"}, action
    [config] = value["review_configs"]
    assert config == {"action_name": "add_task", "allowed_decisions": ["approve", "edit", "reject", "respond"]}
    state = client.threads.get_state(thread)
    assert state["next"] == ["tools"] and state["tasks"][0]["interrupts"] == [interrupt], state
    assert state["interrupts"] == [interrupt] and tasks(thread) == []
    assert client.threads.get(thread)["status"] == "interrupted"
    assert client.runs.list(thread)[0]["status"] == "interrupted"
    assert thread in [one["thread_id"] for one in client.threads.search(status="interrupted")]

    parts = list(client.runs.stream(thread, AGENT, command=resume({"type": "approve"}), stream_mode=["updates", "values"]))
    assert parts[-1].event == "end" and parts[-1].data["status"] == "success", parts[-1]
    assert tasks(thread) == [{"who": "Anna", "what": "call the customer"}]
    # A second answer does nothing, by position and by id.
    fails(409, lambda: client.runs.wait(thread, AGENT, command=resume({"type": "approve"})))
    again = {"resume": {interrupt["id"]: {"decisions": [{"type": "approve"}]}}}
    fails(409, lambda: client.runs.wait(thread, AGENT, command=again))
    assert len(tasks(thread)) == 1

    thread, [interrupt] = asked()
    args = {"who": "Boris", "what": "call the customer"}
    edit = {"type": "edit", "edited_action": {"name": "add_task", "args": args}}
    client.runs.wait(thread, AGENT, command={"resume": {interrupt["id"]: {"decisions": [edit]}}})
    assert tasks(thread) == [args], tasks(thread)

    for decision in ({"type": "reject", "message": "not today"}, {"type": "respond", "message": "ask Boris"}):
        thread, [interrupt] = asked()
        values = client.runs.wait(thread, AGENT, command=resume(decision))
        assert tasks(thread) == [] and "__interrupt__" not in values
        assert values["messages"][-1]["content"] == "Then nobody is given that.", values["messages"][-1]

    thread, [interrupt] = asked()
    for wrong in (
        resume(),
        resume({"type": "approve"}, {"type": "approve"}),
        resume({"type": "nonsense"}),
        resume({"type": "edit", "edited_action": {"name": "add_note", "args": args}}),
        resume({"type": "edit", "edited_action": {"name": "add_task", "args": {"who": "Boris"}}}),
        {"resume": "yes"},
    ):
        fails(400, lambda: client.runs.wait(thread, AGENT, command=wrong))
    # The id of another question than the one shown.
    other = {"resume": {interrupt["id"][:16] + "0" * 16: {"decisions": [{"type": "approve"}]}}}
    fails(409, lambda: client.runs.wait(thread, AGENT, command=other))
    assert tasks(thread) == [] and client.threads.get(thread)["status"] == "interrupted"


def several_questions():
    thread = new_thread()
    values = client.runs.wait(thread, "team", input=words("ask Anna and Boris to call"))
    first, second = values["__interrupt__"]
    fails(400, lambda: client.runs.wait(thread, "team", command=resume({"type": "approve"})))
    reject = {"decisions": [{"type": "reject", "message": "not Boris"}]}
    both = {first["id"]: {"decisions": [{"type": "approve"}]}, second["id"]: reject}
    values = client.runs.wait(thread, "team", command={"resume": both})
    assert values["state"]["tasks"] == [{"who": "Anna", "what": "call"}], values
    assert values["messages"][-1]["content"] == "So be it." and "__interrupt__" not in values


def history_and_fork():
    thread, _ = asked()
    client.runs.wait(thread, AGENT, command=resume({"type": "approve"}))
    states = client.threads.get_history(thread, limit=50)
    records = [state["checkpoint"]["checkpoint_id"] for state in states]
    assert records == sorted(records, reverse=True) and len(set(records)) == len(records), records
    assert states[0] == client.threads.get_state(thread)
    assert states[0]["parent_checkpoint"] == states[1]["checkpoint"]
    page = client.threads.get_history(thread, limit=2, before=states[1]["checkpoint"])
    assert [state["checkpoint"] for state in page] == [state["checkpoint"] for state in states[2:4]]
    waiting = next(state for state in states if state["interrupts"])
    assert waiting["values"]["state"]["tasks"] == [] and waiting["next"] == ["tools"]
    assert client.threads.get_state(thread, checkpoint=waiting["checkpoint"]) == waiting
    assert client.threads.get_state(thread, checkpoint_id=waiting["checkpoint"]["checkpoint_id"]) == waiting

    # From the checkpoint of the question, with the other answer: the thread shows the new branch.
    copy = client.threads.copy(thread)["thread_id"]
    values = client.runs.wait(
        thread, AGENT, command=resume({"type": "reject"}), checkpoint_id=waiting["checkpoint"]["checkpoint_id"]
    )
    assert values["messages"][-1]["content"] == "Then nobody is given that.", values
    assert tasks(thread) == [] and len(tasks(copy)) == 1
    assert client.threads.get_state(thread, checkpoint=states[0]["checkpoint"])["values"]["state"]["tasks"] != []
    ids = [one["thread_id"] for one in client.threads.search(limit=100)]
    assert ids.count(thread) == 1 and copy in ids

    # From within a turn: the branch does the same work again.
    begun = states[-1]
    assert begun["next"] == ["model"] and begun["metadata"]["source"] == "input", begun
    values = client.runs.wait(thread, AGENT, checkpoint_id=begun["checkpoint"]["checkpoint_id"])
    assert len(values["__interrupt__"]) == 1 and tasks(thread) == [], values
    fails(400, lambda: client.runs.wait(copy, AGENT))

    edited = client.threads.update_state(copy, {"state": {"notes": [], "tasks": []}})
    state = client.threads.get_state(copy)
    assert state["checkpoint"]["checkpoint_id"] == edited["checkpoint"]["checkpoint_id"], (state, edited)
    assert state["values"]["state"]["tasks"] == [] and state["metadata"]["source"] == "update"
    fails(400, lambda: client.threads.update_state(copy, words("I was never said")))


def stateless_background_and_cancel():
    assert client.runs.wait(None, AGENT, input=words("A note."))["state"]["notes"] == [{"text": "A note."}]
    assert list(client.runs.stream(None, AGENT, input=words("A note.")))[-1].event == "end"
    thread = new_thread()
    run = client.runs.create(thread, AGENT, input=words("A note."))
    queued = client.runs.create(thread, AGENT, input=words("Another note."), multitask_strategy="enqueue")
    assert run["run_id"] != queued["run_id"]
    values = client.runs.join(thread, queued["run_id"])
    assert [note["text"] for note in values["state"]["notes"]] == ["A note.", "Another note."], values
    client.runs.cancel(thread, run["run_id"], wait=True)
    for wrong in (
        {"multitask_strategy": "rollback"},
        {"interrupt_before": ["tools"]},
        {"webhook": "https://example.test/"},
    ):
        fails(422, lambda: client.runs.create(thread, AGENT, input=words("x"), **wrong))
    fails(400, lambda: client.runs.create(thread, AGENT, input={"messages": []}))
    fails(404, lambda: client.runs.create(new_thread(), "nobody", input=words("x")))
    fails(404, lambda: client.runs.get(thread, "00000000-0000-8000-8000-000000000001"))


def a_run_at_work():
    thread = new_thread()
    run = client.runs.create(thread, "slow", input=words("A nap."))
    assert client.threads.get(thread)["status"] == "busy"
    fails(409, lambda: client.runs.create(thread, "slow", input=words("More."), multitask_strategy="reject"))
    client.runs.cancel(thread, run["run_id"], wait=True)
    assert client.runs.get(thread, run["run_id"])["status"] == "interrupted"
    assert client.threads.get(thread)["status"] == "idle"
    messages = client.threads.get_state(thread)["values"]["messages"]
    assert [one["content"] for one in messages if one["type"] == "human"] == ["A nap."], messages


def roles():
    nobody = get_sync_client(url=URL, api_key="nonsense")
    fails(401, lambda: nobody.threads.search())
    viewer = get_sync_client(url=URL, api_key=os.environ["VIEWER"])
    operator = get_sync_client(url=URL, api_key=os.environ["OPERATOR"])
    thread, _ = asked()
    assert viewer.threads.get_state(thread)["interrupts"]
    fails(403, lambda: viewer.runs.wait(thread, AGENT, command=resume({"type": "approve"})))
    fails(403, lambda: operator.threads.update_state(thread, {"state": {}}))
    fails(403, lambda: operator.threads.delete(thread))
    # This client was not shown the question yet.
    fails(400, lambda: operator.runs.wait(thread, AGENT, command=resume({"type": "approve"})))
    operator.threads.get_state(thread)
    operator.runs.wait(thread, AGENT, command=resume({"type": "approve"}))
    assert len(tasks(thread)) == 1


for case in (
    assistants,
    threads,
    a_run_to_its_end,
    streams,
    confirmations,
    several_questions,
    history_and_fork,
    stateless_background_and_cancel,
    a_run_at_work,
    roles,
):
    print(case.__name__, flush=True)
    case()
