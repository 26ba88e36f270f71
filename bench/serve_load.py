"""Load for a server of agents, in a separate process. Prints lines of a name and a number.

    python serve_load.py turns obelus|langgraph ADDRESS TOKEN PID SESSIONS TURNS
    python serve_load.py streams ADDRESS TOKEN PID SESSIONS STREAMS
    python serve_load.py fill ADDRESS TOKEN SESSIONS
    python serve_load.py list ADDRESS TOKEN

The CPU time is that of the process PID and of all its children.
"""

import asyncio
import json
import os
import sys
import time

TICK = os.sysconf("SC_CLK_TCK")


def children(pid):
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return []
    own = [int(child) for task in tasks for child in open(f"/proc/{pid}/task/{task}/children").read().split()]
    return own + [grandchild for child in own for grandchild in children(child)]


def cpu(pid):
    """Seconds of CPU time."""
    total = 0
    for process in [pid, *children(pid)]:
        fields = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def resident(pid):
    """Memory in KiB."""
    lines = open(f"/proc/{pid}/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


class Client:
    """A connection that is kept open."""

    def __init__(self, address, token):
        self.host, self.token = address.removeprefix("http://"), token
        self.reader = self.writer = None

    async def connect(self):
        name, port = self.host.split(":")
        self.reader, self.writer = await asyncio.open_connection(name, int(port))

    async def send(self, method, path, body=None):
        if self.writer is None:
            await self.connect()
        text = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nhost: {self.host}\r\nauthorization: Bearer {self.token}\r\n"
        if body is not None:
            head += f"content-type: application/json\r\ncontent-length: {len(text)}\r\n"
        self.writer.write(head.encode() + b"\r\n" + text)
        await self.writer.drain()

    async def head(self):
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        return int(head.split(" ")[1]), fields

    async def call(self, method, path, body=None):
        await self.send(method, path, body)
        status, fields = await self.head()
        if "content-length" in fields:
            data = await self.reader.readexactly(int(fields["content-length"]))
        else:
            data = b""
            while size := int((await self.reader.readline()).strip() or b"0", 16):
                data += await self.reader.readexactly(size)
                await self.reader.readexactly(2)
            await self.reader.readline()
        assert status < 300, (status, data)
        return json.loads(data) if data.strip() else None


class Obelus:
    async def begin(self, client, number):
        made = await client.call("POST", "/api/v1/sessions", {"agent": "notes"})
        return made["id"]

    async def turn(self, client, session):
        body = {"text": "Which notes are there?", "wait": True}
        said = await client.call("POST", f"/api/v1/sessions/{session}/messages", body)
        assert said["turn"]["ends"] == "output", said


class LangGraph:
    async def begin(self, client, number):
        return (await client.call("POST", "/threads", {}))["thread_id"]

    async def turn(self, client, thread):
        body = {"assistant_id": "agent", "input": {"messages": [{"role": "user", "content": "Which notes are there?"}]}}
        values = await client.call("POST", f"/threads/{thread}/runs/wait", body)
        assert len(values["messages"]) >= 2, values


async def turns(server, address, token, pid, sessions, count):
    """Runs sessions in parallel, each with a number of turns in sequence."""
    server = {"obelus": Obelus, "langgraph": LangGraph}[server]()
    clients = [Client(address, token) for _ in range(sessions)]
    ids = await asyncio.gather(*(server.begin(client, number) for number, client in enumerate(clients)))
    await asyncio.gather(*(server.turn(client, id) for client, id in zip(clients, ids)))
    times = []

    async def talk(client, id):
        for _ in range(count):
            begun = time.perf_counter()
            await server.turn(client, id)
            times.append(time.perf_counter() - begun)

    before, begun = cpu(pid), time.perf_counter()
    await asyncio.gather(*(talk(client, id) for client, id in zip(clients, ids)))
    took, used = time.perf_counter() - begun, cpu(pid) - before
    times.sort()
    print("rate", len(times) / took)
    print("cpu_us", used / len(times) * 1e6)
    print("median_ms", times[len(times) // 2] * 1e3)
    print("p99_ms", times[int(len(times) * 0.99)] * 1e3)


async def streams(address, token, pid, sessions, count):
    """Opens streams on a few sessions. Each stream must get an event."""
    server, client = Obelus(), Client(address, token)
    ids = [await server.begin(client, number) for number in range(sessions)]
    for id in ids:
        await server.turn(client, id)
    before, open_streams = resident(pid), []
    for number in range(count):
        stream = Client(address, token)
        await stream.send("GET", f"/api/v1/sessions/{ids[number % sessions]}/events")
        assert (await stream.head())[0] == 200
        open_streams.append(stream)
    print("stream_kib", (resident(pid) - before) / count)
    for id in ids:
        await server.turn(client, id)

    async def hears(stream):
        while b"rested" not in await stream.reader.readline():
            pass

    await asyncio.wait_for(asyncio.gather(*(hears(stream) for stream in open_streams)), 120)
    print("streams", len(open_streams))
    print("stream_kib_after", (resident(pid) - before) / count)


async def fill(address, token, count):
    """Creates sessions, each with one turn, which then rest."""
    server = Obelus()

    async def some(part):
        client = Client(address, token)
        for number in range(part):
            await server.turn(client, await server.begin(client, number))

    await asyncio.gather(*(some(count // 8 + (number < count % 8)) for number in range(8)))
    print("filled", count)


async def first_page(address, token):
    """The first page of the list of sessions, and how many sessions the server restored for it."""
    client = Client(address, token)

    async def restored():
        await client.send("GET", "/metrics")
        _, fields = await client.head()
        text = (await client.reader.readexactly(int(fields["content-length"]))).decode()
        name = "obelus_sessions_restored_total "
        return next(int(line.removeprefix(name)) for line in text.splitlines() if line.startswith(name))

    before, times = await restored(), []
    for _ in range(21):
        begun = time.perf_counter()
        listed = await client.call("GET", "/api/v1/sessions?limit=10")
        times.append(time.perf_counter() - begun)
        assert len(listed["sessions"]) == 10, listed
    print("page_ms", sorted(times)[10] * 1e3)
    print("restored", await restored() - before)


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        asyncio.run(fill(*sys.argv[2:4], int(sys.argv[4])))
    elif sys.argv[1] == "list":
        asyncio.run(first_page(*sys.argv[2:4]))
    elif sys.argv[1] == "turns":
        asyncio.run(turns(*sys.argv[2:5], *map(int, sys.argv[5:8])))
    else:
        asyncio.run(streams(*sys.argv[2:4], *map(int, sys.argv[4:7])))
