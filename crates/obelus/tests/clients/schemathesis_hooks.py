"""Hooks of schemathesis that know the sessions, questions and agents of the server.

Values are generated from the description of the API. Every second id is replaced by an existing one, so that requests do
not only get "not found". The statuses of each operation are written to the file of the variable ANSWERED.
"""

import json
import os
import random

import schemathesis

SEEDED = json.loads(os.environ["SEEDED"])
ANSWERED = {}
DRAW = random.Random(1)


def known(name, value):
    """An existing id, or the generated value."""
    ids = {
        "id": SEEDED["sessions"],
        "session": SEEDED["sessions"],
        "question": SEEDED["questions"],
        "agent": ["notes"],
        "name": ["notes"],
        "consent": ["c1"],
    }
    return DRAW.choice(ids[name]) if name in ids and DRAW.random() < 0.5 else value


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    if not path_parameters:
        return path_parameters
    # Removes only spare sessions, which no other operation uses.
    if context.operation.method.upper() == "DELETE" and context.operation.path.endswith("/sessions/{id}"):
        return {"id": DRAW.choice(SEEDED["spare"])}
    return {name: known(name, value) for name, value in path_parameters.items()}


@schemathesis.hook
def map_headers(context, headers):
    # Most requests have no key.
    if headers and DRAW.random() < 0.7:
        headers = {name: value for name, value in headers.items() if name.lower() != "idempotency-key"}
    return headers


@schemathesis.hook
def map_query(context, query):
    query = dict(query or {})
    # Short waits.
    if "timeout" in query or context.operation.path.endswith("/turn"):
        query["timeout"] = 1
    if context.operation.path.endswith("/provenance") and DRAW.random() < 0.5:
        query["path"] = "state.notes"
    return query


@schemathesis.hook
def map_body(context, body):
    if context.operation.path.endswith("/answer") and DRAW.random() < 0.5:
        return {"decision": DRAW.choice(["approve", "deny"])}
    # Generated fields of a new session are rarely valid together. The phase "coverage" has the invalid ones.
    if context.operation.path.endswith("/sessions") and DRAW.random() < 0.8:
        return {"agent": "notes", "id": f"made{DRAW.randrange(10**9)}"}
    if isinstance(body, dict) and isinstance(body.get("timeout"), int):
        body["timeout"] = 1
    return body


@schemathesis.hook
def after_call(context, case, response):
    label = f"{case.method.upper()} {case.path}"
    answers = ANSWERED.setdefault(label, {})
    answers[str(response.status_code)] = answers.get(str(response.status_code), 0) + 1
    with open(os.environ["ANSWERED"], "w") as file:
        json.dump(ANSWERED, file)
