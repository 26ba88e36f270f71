#!/usr/bin/env python3
"""An MCP server in one file: notes in a JSON file, for whoever calls its tools over stdin and stdout.

It speaks the revision 2025-11-25: a JSON-RPC message on each line. `sign` shows how a server asks a person while a call
is at work (elicitation). The notes are in the file that NOTES_FILE names, else in notes.json in the current folder.
"""

import json
import os
import sys

PROTOCOL = "2025-11-25"
FILE = os.environ.get("NOTES_FILE") or "notes.json"


class Fault(Exception):
    """Something that the caller should know; it ends the call, and not the server."""


class Cancelled(Exception):
    """Nobody waits for this call any more."""


def schema(required=(), **properties):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


NUMBER = {"type": "integer", "minimum": 1, "description": "The note's number"}

TOOLS = [
    {
        "name": "add",
        "title": "Write a note down",
        "description": "Writes a note down, and gives it a number.",
        "inputSchema": schema(["text"], text={"type": "string", "minLength": 1, "maxLength": 10000}),
    },
    {"name": "list", "description": "All notes, oldest first.", "inputSchema": schema()},
    {"name": "remove", "description": "Removes a note for good.", "inputSchema": schema(["number"], number=NUMBER)},
    {
        "name": "sign",
        "description": "Has a note signed. Whose name goes below it is asked of a person.",
        "inputSchema": schema(["number"], number=NUMBER),
    },
]

WHO = {
    "type": "object",
    "properties": {"name": {"type": "string", "title": "Name", "minLength": 1, "maxLength": 100}},
    "required": ["name"],
}


def read_notes():
    try:
        with open(FILE, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return []
    except ValueError as error:
        raise Fault(f"{FILE} is not JSON: {error}") from None


def write_notes(notes):
    """Whole or not at all: what is half written has another name."""
    half = f"{FILE}.new"
    with open(half, "w", encoding="utf-8") as file:
        json.dump(notes, file, ensure_ascii=False, indent=1)
        file.flush()
        os.fsync(file.fileno())
    os.replace(half, FILE)


def find(notes, number):
    for note in notes:
        if note["number"] == number:
            return note
    raise Fault(f"there is no note {number}")


class Server:
    def __init__(self):
        self.can_ask = False
        self.asked = 0
        self.said = {}  # what people said, by what they were asked
        self.cancelled = set()

    def serve(self):
        while (message := self.read()) is not None:
            self.take(message)

    def take(self, message):
        """What a client sends: a request, an answer to what we asked, or a word that needs no answer."""
        method, number = message.get("method"), message.get("id")
        if method is None:
            self.said[number] = message.get("result") or {}
        elif method == "notifications/cancelled":
            self.cancelled.add((message.get("params") or {}).get("requestId"))
        elif number is not None:
            try:
                self.answer(message)
            except Cancelled:
                self.cancelled.discard(number)

    def read(self):
        """The next message; none at the end. What is no message is passed over."""
        for line in sys.stdin:
            try:
                message = json.loads(line)
            except ValueError:
                self.send({"id": None, "error": {"code": -32700, "message": "that is not JSON"}})
                continue
            if isinstance(message, dict):
                return message
        return None

    def send(self, message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def answer(self, request):
        method, params = request["method"], request.get("params") or {}
        if method == "initialize":
            self.can_ask = "elicitation" in (params.get("capabilities") or {})
            about = {"name": "notes", "version": "1.0.0"}
            result = {"protocolVersion": PROTOCOL, "capabilities": {"tools": {}}, "serverInfo": about}
        elif method == "ping":
            result = {}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            result = self.call(request["id"], params.get("name"), params.get("arguments") or {})
        else:
            self.send({"id": request["id"], "error": {"code": -32601, "message": f"there is no method {method}"}})
            return
        self.send({"id": request["id"], "result": result})

    def call(self, request, name, arguments):
        try:
            brought = self.carry_out(request, name, arguments)
        except (Fault, OSError, KeyError, TypeError) as error:
            return {"content": [{"type": "text", "text": f"{error}"}], "isError": True}
        text = json.dumps(brought, ensure_ascii=False)
        return {"content": [{"type": "text", "text": text}], "structuredContent": brought}

    def carry_out(self, request, name, arguments):
        notes = read_notes()
        if name == "list":
            return {"notes": notes}
        if name == "add":
            note = {"number": max((note["number"] for note in notes), default=0) + 1, "text": str(arguments["text"])}
            write_notes([*notes, note])
            return note
        if name == "remove":
            note = find(notes, arguments["number"])
            write_notes([other for other in notes if other is not note])
            return {"removed": note}
        if name == "sign":
            note = find(notes, arguments["number"])
            said = self.ask(request, f"Who signs note {note['number']}, “{note['text'][:60]}”?", WHO)
            if said.get("action") != "accept":
                raise Fault("nobody signed it")
            # Somebody may have taken their time.
            notes = read_notes()
            note = find(notes, arguments["number"])
            note["signed"] = str(said["content"]["name"])
            write_notes(notes)
            return note
        raise Fault(f"there is no tool {name}")

    def ask(self, request, words, wanted):
        """Asks a person through the client, and waits for what they say."""
        if not self.can_ask:
            raise Fault("this needs a client that can ask people")
        self.asked += 1
        asked = f"ask-{self.asked}"
        params = {"mode": "form", "message": words, "requestedSchema": wanted}
        self.send({"id": asked, "method": "elicitation/create", "params": params})
        # Other calls go on while somebody thinks.
        while asked not in self.said:
            if request in self.cancelled or (message := self.read()) is None:
                raise Cancelled
            self.take(message)
        return self.said.pop(asked)


if __name__ == "__main__":
    try:
        Server().serve()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)
