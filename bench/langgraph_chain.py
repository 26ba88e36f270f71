"""Trivial steps of LangGraph without a checkpointer, to compare with `chain` of obelus-runtime.

`chain` has one node per step, which is the shape of a plan of calls; `loop` runs one node repeatedly. Prints the CPU
time per step in microseconds, the best of the rounds; compiling is not counted.

    python langgraph_chain.py chain|loop STEPS ROUNDS
"""

import sys
import time
from typing import TypedDict

from langgraph.graph import END, START, StateGraph


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


def loop(steps: int) -> StateGraph:
    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["n"] < steps else END, ["step", END])
    return graph


def main(shape: str, steps: int, rounds: int) -> None:
    graph = {"chain": chain, "loop": loop}[shape](steps).compile()
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        state = graph.invoke({"n": 0}, {"recursion_limit": steps + 10})
        best = min(best, time.process_time() - began)
        assert state == {"n": steps}
    print(f"{best * 1e6 / steps:.3f}")


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
