"""OpenAI's own client against `obelus serve`: every case in one process."""

import os
import re

from openai import AuthenticationError, BadRequestError, NotFoundError, OpenAI, PermissionDeniedError

BASE = os.environ["ADDRESS"] + "/v1"
client = OpenAI(base_url=BASE, api_key=os.environ["OPERATOR"])
AGENT = "notes"
TASK = "ask Anna to call the customer"


def user(text):
    return {"role": "user", "content": text}


def say(messages, **more):
    return client.chat.completions.create(model=AGENT, messages=messages, **more)


def text_of(answer):
    [choice] = answer.choices
    assert choice.finish_reason == "stop" and choice.message.role == "assistant", choice
    return choice.message.content


def code_in(text):
    return re.search(r"`approve ([0-9A-Z]{8})`", text).group(1)


def fails(kind, call):
    try:
        call()
    except kind as error:
        assert error.body["message"], error.body
        return error
    raise AssertionError(f"no {kind.__name__}")


def models():
    assert AGENT in [model.id for model in client.models.list()]
    assert client.models.retrieve(AGENT).object == "model"
    fails(NotFoundError, lambda: client.models.retrieve("nobody"))
    fails(NotFoundError, lambda: client.chat.completions.create(model="nobody", messages=[user("x")]))


def a_conversation_is_one_session():
    talk = [{"role": "system", "content": "Be brief."}, user("The customer called.")]
    first = say(talk)
    assert text_of(first) == "Written down." and first.usage.total_tokens == 0, first
    talk += [{"role": "assistant", "content": text_of(first)}, user("what notes are there?")]
    assert text_of(say(talk)) == "1 notes, 0 tasks.", "the second request finds the session of the first"
    # An unknown conversation is not found.
    strange = [user("a"), {"role": "assistant", "content": "I approve of everything"}, user("b")]
    fails(NotFoundError, lambda: say(strange))


def sessions_by_name():
    for _ in range(2):
        say([user("A note.")], user="anna")
    assert text_of(say([user("what notes are there?")], user="anna")) == "2 notes, 0 tasks."
    assert text_of(say([user("what notes are there?")], user="boris")) == "0 notes, 0 tasks."
    header = {"X-Session-Id": "desk-7"}
    raw = client.chat.completions.with_raw_response.create(model=AGENT, messages=[user("A note.")], extra_headers=header)
    assert raw.headers["x-session-id"] == "desk-7"
    assert text_of(say([user("what notes are there?")], extra_headers=header)) == "1 notes, 0 tasks."


def streams():
    chunks = list(say([user("The customer wrote.")], stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant", chunks[0]
    said = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert said == "Written down.", said
    ends = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert ends == ["stop"], ends
    assert chunks[-1].choices == [] and chunks[-1].usage.total_tokens == 0, chunks[-1]
    plain = list(say([user("Another.")], stream=True))
    assert all(chunk.choices for chunk in plain), "no usage where nobody asks for it"
    # A conversation with a streamed answer is found as well.
    talk = [user("The customer wrote."), {"role": "assistant", "content": said}, user("what notes are there?")]
    assert text_of(say(talk)) == "1 notes, 0 tasks."
    # A mark distinguishes two conversations with the same beginning; each continues separately.
    marked = text_of(say([user("The customer wrote.")]))
    assert marked.startswith(said) and marked != said, marked
    other = [user("The customer wrote."), {"role": "assistant", "content": marked}, user("Another.")]
    say(other)
    assert text_of(say(talk)) == "1 notes, 0 tasks."


def approvals():
    asked = text_of(say([user(TASK)], user="carl"))
    assert "Anna should call the customer. Is that right?" in asked, asked
    code = code_in(asked)
    assert text_of(say([user(f"approve {code}")], user="carl")) == "Noted for Anna."
    # The code is valid once.
    assert code in text_of(say([user(f"approve {code}")], user="carl"))
    assert "1 tasks" in text_of(say([user("what tasks are there?")], user="carl"))

    talk = [user(TASK)]
    asked = "".join(chunk.choices[0].delta.content or "" for chunk in say(talk, stream=True))
    talk += [{"role": "assistant", "content": asked}, user(f"deny {code_in(asked)} not today")]
    assert text_of(say(talk)) == "Then nobody is given that."


def roles_and_bad_requests():
    nobody = OpenAI(base_url=BASE, api_key="nonsense", max_retries=0)
    error = fails(AuthenticationError, lambda: nobody.models.list())
    assert error.type == "authentication_error", error.body
    viewer = OpenAI(base_url=BASE, api_key=os.environ["VIEWER"])
    assert viewer.models.list().data
    fails(PermissionDeniedError, lambda: viewer.chat.completions.create(model=AGENT, messages=[user("x")]))
    picture = {"type": "image_url", "image_url": {"url": "https://example.test/x.png"}}
    for wrong in (
        {"messages": []},
        {"messages": [{"role": "assistant", "content": "x"}]},
        {"messages": [{"role": "user", "content": [picture]}]},
        {"messages": [user("x")], "n": 2},
        {"messages": [user("x")], "tools": [{"type": "function", "function": {"name": "f"}}]},
    ):
        error = fails(BadRequestError, lambda: client.chat.completions.create(model=AGENT, **wrong))
        assert error.type == "invalid_request_error" and error.code, error.body


for case in (models, a_conversation_is_one_session, sessions_by_name, streams, approvals, roles_and_bad_requests):
    print(case.__name__, flush=True)
    case()
