"""The same work by LangGraph, for `cargo xtask bench`. Prints lines of a name and a number; times are CPU microseconds.

    python langgraph_peer.py steps chain|loop SIZES ROUNDS [FOLDER]   a step; with a folder, durable in SQLite
    python langgraph_peer.py once STEPS [FOLDER]                      one run, to be measured from outside
    python langgraph_peer.py fan SIZES ROUNDS                         a branch of a fan-out
    python langgraph_peer.py thread plain|delta MESSAGES FOLDER       a growing thread of messages
    python langgraph_peer.py kill sync|async STEP STEPS FOLDER        kills itself in that step, after the effect of the step
    python langgraph_peer.py resume STEPS FOLDER                      continues after the kill; counts repeated effects
    python langgraph_peer.py prompt AGENT CASES                       characters sent to the model by a ReAct agent

`chain` has one node per step, which is the shape of a plan of calls; `loop` runs one node repeatedly, which is the
smallest graph. Compiling a graph is not counted. The best of the rounds counts, because noise only adds time.
"""

import json
import operator
import os
import signal
import sqlite3
import sys
import time
from pathlib import Path
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Send


class State(TypedDict):
    n: int


def step(state: State) -> State:
    return {"n": state["n"] + 1}


def chain(steps: int) -> StateGraph:
    graph = StateGraph(State)
    names = [f"step{i}" for i in range(steps)]
    for name in names:
        graph.add_node(name, step)
    for before, after in zip([START, *names], [*names, END]):
        graph.add_edge(before, after)
    return graph


def loop(steps: int, node=step) -> StateGraph:
    graph = StateGraph(State)
    graph.add_node("step", node)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["n"] < steps else END, ["step", END])
    return graph


def saver(folder: str, fresh: bool = False) -> SqliteSaver:
    path = Path(folder) / "langgraph.db"
    if fresh:
        for old in Path(folder).glob("langgraph.db*"):
            old.unlink()
    return SqliteSaver(sqlite3.connect(path, check_same_thread=False))


def config(steps: int, thread: str = "t") -> dict:
    return {"recursion_limit": steps + 10, "configurable": {"thread_id": thread}}


def cpu_us(work) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e6


def run(graph, steps: int, thread: str, durable: bool) -> None:
    how = {"durability": "sync"} if durable else {}
    state = graph.invoke({"n": 0}, config(steps, thread), **how)
    assert state == {"n": steps}, state


def steps(shape: str, sizes: str, rounds: str, folder: str | None = None) -> None:
    for size in map(int, sizes.split(",")):
        graph = {"chain": chain, "loop": loop}[shape](size)
        graph = graph.compile(checkpointer=saver(folder, fresh=True) if folder else None)
        run(graph, size, "warm", folder is not None)
        times = [cpu_us(lambda: run(graph, size, f"t{i}", folder is not None)) for i in range(int(rounds))]
        print(size, min(times) / size)


def once(size: str, folder: str | None = None) -> None:
    graph = loop(int(size)).compile(checkpointer=saver(folder, fresh=True) if folder else None)
    run(graph, int(size), "t", folder is not None)


class Branches(TypedDict):
    count: int
    results: Annotated[list, operator.add]


def fan(sizes: str, rounds: str) -> None:
    graph = StateGraph(Branches)
    graph.add_node("branch", lambda state: {"results": [state["n"] + 1]})
    graph.add_conditional_edges(START, lambda state: [Send("branch", {"n": i}) for i in range(state["count"])], ["branch"])
    graph.add_edge("branch", END)
    graph = graph.compile()
    for size in map(int, sizes.split(",")):
        def work():
            assert len(graph.invoke({"count": size, "results": []})["results"]) == size
        print(size, min(cpu_us(work) for _ in range(int(rounds) if size <= 1000 else 1)) / size)


def messages_state(kind: str):
    """The state of a thread. Each checkpoint stores all messages (`plain`) or only the new ones (`delta`)."""
    if kind == "plain":
        return TypedDict("Messages", {"messages": Annotated[list, add_messages]})
    try:
        from langgraph.channels.delta import DeltaChannel
    except ImportError:
        print("missing 1")
        sys.exit(0)

    def appended(state, writes):
        return (state or []) + [message for write in writes for message in (write if isinstance(write, list) else [write])]

    return TypedDict("Messages", {"messages": Annotated[list, DeltaChannel(appended)]})


def thread(kind: str, count: str, folder: str) -> None:
    turns = int(count) // 2
    graph = StateGraph(messages_state(kind))
    graph.add_node("answer", lambda state: {"messages": [AIMessage("Twelve notes, one of them new.")]})
    graph.add_edge(START, "answer")
    graph.add_edge("answer", END)
    graph = graph.compile(checkpointer=saver(folder, fresh=True))

    def turn(number: int) -> None:
        said = {"messages": [HumanMessage(f"Which notes are there on day {number}?")]}
        graph.invoke(said, config(10), durability="sync")

    tenth = max(turns // 10, 1)
    turn(0)
    print("early", cpu_us(lambda: [turn(i) for i in range(1, tenth)]) / (tenth - 1))
    for i in range(tenth, turns - tenth):
        turn(i)
    print("late", cpu_us(lambda: [turn(i) for i in range(turns - tenth, turns)]) / tenth)
    state = graph.get_state(config(10)).values["messages"]
    assert len(state) == turns * 2, len(state)
    print("read", min(cpu_us(lambda: graph.get_state(config(10))) for _ in range(5)))
    # Closed, so that the write-ahead log is merged into the file.
    graph.checkpointer.conn.close()
    print("bytes", sum(file.stat().st_size for file in Path(folder).glob("langgraph.db*")))

    def resumed() -> None:
        graph.checkpointer = saver(folder)
        turn(turns)
    print("resume", cpu_us(resumed))
    listed = []
    # Only the newest ones, because listing all takes minutes.
    took = cpu_us(lambda: listed.extend(len(state.values) for state in graph.get_state_history(config(10), limit=100)))
    print("history", took / len(listed))


def effects(folder: str) -> list[str]:
    return (Path(folder) / "effects").read_text().split()


def acting(folder: str, fatal: int | None):
    def act(state: State) -> State:
        with open(Path(folder) / "effects", "a") as file:
            file.write(f"{state['n']}\n")
        if state["n"] == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"n": state["n"] + 1}

    return act


def kill(durability: str, fatal: str, count: str, folder: str) -> None:
    (Path(folder) / "effects").unlink(missing_ok=True)
    graph = loop(int(count), acting(folder, int(fatal))).compile(checkpointer=saver(folder, fresh=True))
    graph.invoke({"n": 0}, config(int(count)), durability=durability)


def resume(count: str, folder: str) -> None:
    graph = loop(int(count), acting(folder, None)).compile(checkpointer=saver(folder))
    # If nothing was stored before the kill, the run starts from the beginning.
    begun = graph.get_state(config(1)).next
    graph.invoke(None if begun else {"n": 0}, config(int(count)), durability="sync")
    done = effects(folder)
    print("missing", int(count) - len(set(done)))
    print("repeated", len(done) - len(set(done)))


def prompt(agent: str, cases: str) -> None:
    """The conversation of the cases, with the instructions and tools of an Obelus agent. A request is counted as the JSON of
    OpenAI's API: its tools, then its messages."""
    import yaml
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import convert_to_openai_messages
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import StructuredTool
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.prebuilt import create_react_agent

    agent = yaml.safe_load((Path(agent) / "agent.yaml").read_text())
    turns = json.loads(Path(cases).read_text())[0]["turns"]
    requests: list[str] = []

    class Scripted(BaseChatModel):
        """Makes the calls of the cases: the read, then all others at once, then the words."""

        tools: list = []

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools, **_):
            return Scripted(tools=[convert_to_openai_tool(tool) for tool in tools])

        def _generate(self, messages, stop=None, run_manager=None, **_):
            sent = {"tools": self.tools, "messages": convert_to_openai_messages(messages)}
            requests.append(json.dumps(sent, ensure_ascii=False, separators=(",", ":")))
            users = [at for at, message in enumerate(messages) if message.type == "human"]
            portal = turns[len(users) - 1]["portal"]
            asked = sum(message.type == "ai" for message in messages[users[-1]:])
            calls = [portal[:1], portal[1:], []][asked]
            words = ["I look for the orders.", "I move them.", "The orders are moved, and I wrote about it."][asked]
            calls = [{"name": call["method"], "args": call["params"], "id": f"call_{len(requests)}_{at}"} for at, call in enumerate(calls)]
            return ChatResult(generations=[ChatGeneration(message=AIMessage(words, tool_calls=calls))])

    def tool(name: str, schema: dict) -> StructuredTool:
        def activity(**params):
            return next(
                json.dumps(call["result"], separators=(",", ":"))
                for turn in turns for call in turn["portal"] if (call["method"], call["params"]) == (name, params)
            )

        plain = {key: value for key, value in schema.items() if not key.startswith("x-")}
        plain["properties"] = {key: value for key, value in plain["properties"].items() if not key.startswith("_")}
        description = plain.pop("description")
        return StructuredTool.from_function(activity, name=name, description=description, args_schema=plain)

    tools = [tool(name, schema) for name, schema in agent["tools"].items()]
    graph = create_react_agent(Scripted(), tools, prompt=agent["instructions"], checkpointer=InMemorySaver())
    for turn in turns:
        graph.invoke({"messages": [HumanMessage(turn["user"])]}, config(50))
    prefixes = [len(os.path.commonprefix([before, now])) for before, now in zip(requests, requests[1:])]
    print("requests", len(requests))
    print("chars", sum(map(len, requests)))
    print("prefix", sum(prefixes))


if __name__ == "__main__":
    parts = {"steps": steps, "once": once, "fan": fan, "thread": thread, "kill": kill, "resume": resume, "prompt": prompt}
    parts[sys.argv[1]](*sys.argv[2:])
