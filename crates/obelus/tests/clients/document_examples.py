"""The examples in docs/compatibility.md, run as they are, with the address and the token of this server."""

import ast
import asyncio
import inspect
import os
import re
from pathlib import Path

DOCUMENT = Path(__file__).resolve().parents[4] / "docs/compatibility.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


async def run(example):
    source = example.replace("http://127.0.0.1:8321", os.environ["ADDRESS"])
    assert source != example, f"it names no server:\n{example}"
    # An example may use `async with` without a function, as in a notebook.
    code = compile(source, str(DOCUMENT), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = {"token": os.environ["OPERATOR"]}
    waits = eval(code, names)
    if inspect.isawaitable(waits):
        await waits
    return names


ran = [asyncio.run(run(example)) for example in EXAMPLES]
assert len(ran) == 3, f"examples of three protocols, not {len(ran)}"
langgraph = next(names for names in ran if "thread" in names)
state = langgraph["client"].threads.get_state(langgraph["thread"])
assert "Noted for Anna." in str(state["values"]["messages"][-1]["content"]), state
