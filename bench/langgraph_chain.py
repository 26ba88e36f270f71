"""LangGraph's loop of trivial steps, without a checkpointer: what `chain` of obelus-runtime is measured against.

Prints the CPU time per step in microseconds, the best of some rounds.

    python langgraph_chain.py [STEPS] [ROUNDS]
"""

import sys
import time
from typing import TypedDict

from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    n: int


def loop(steps: int):
    graph = StateGraph(State)
    graph.add_node("next", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "next")
    graph.add_conditional_edges("next", lambda state: "next" if state["n"] < steps else END, ["next", END])
    return graph.compile()


def main() -> None:
    steps, rounds = (int(argument) for argument in (sys.argv[1:] + ["1000", "3"][len(sys.argv) - 1 :]))
    graph = loop(steps)
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        state = graph.invoke({"n": 0}, {"recursion_limit": steps + 10})
        best = min(best, time.process_time() - began)
        assert state == {"n": steps}
    print(f"{best * 1e6 / steps:.3f}")


main()
