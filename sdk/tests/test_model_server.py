"""The stand-in model server, driven by the real OpenAI and Anthropic SDKs."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from atlas_sdk.testing.model_script import Failure, Obedient, Reply, ScriptedUsage, call, parse_script, say
from atlas_sdk.testing.model_server import ModelServer

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 16).decode()
USAGE = ScriptedUsage(input=100, output=9, cached=64, reasoning=4)
TWO_CALLS = (call("find_files", {"query": "Zürich ☂"}), call("run_command", {"command": "ls -la"}))


def open_openai(server: ModelServer, path: str = "/v1", key: str = "key") -> openai.OpenAI:
    return openai.OpenAI(api_key=key, base_url=server.url + path, max_retries=0)


def open_anthropic(server: ModelServer, key: str = "key") -> anthropic.Anthropic:
    return anthropic.Anthropic(api_key=key, base_url=server.url, max_retries=0)


def ask(server: ModelServer, content: Any = "hi", path: str = "/v1", **more: Any) -> Any:
    messages = more.pop("messages", [{"role": "user", "content": content}])
    with open_openai(server, path) as client:
        return client.chat.completions.create(model="stand-in-1", messages=messages, **more)


def test_chat_completions_stream_text_reasoning_and_split_calls() -> None:
    with (
        ModelServer([Reply(text=("Look", "ing."), reasoning=("Hm",), calls=TWO_CALLS, usage=USAGE)]) as server,
        open_openai(server) as client,
        client.chat.completions.stream(
            model="stand-in-1", messages=[{"role": "user", "content": "hi"}], stream_options={"include_usage": True}
        ) as stream,
    ):
        final = stream.get_final_completion()

    message = final.choices[0].message
    assert message.content == "Looking."
    assert (message.model_extra or {})["reasoning_content"] == "Hm"
    assert [json.loads(one.function.arguments) for one in message.tool_calls or []] == [
        {"query": "Zürich ☂"},
        {"command": "ls -la"},
    ]
    assert final.choices[0].finish_reason == "tool_calls"
    assert final.usage is not None
    assert final.usage.prompt_tokens_details is not None
    assert final.usage.prompt_tokens_details.cached_tokens == 64


def test_chat_completions_answer_in_one_piece() -> None:
    with ModelServer([say("Hello.", usage=USAGE)]) as server:
        answer = ask(server)

    assert answer.choices[0].message.content == "Hello."
    assert answer.usage.total_tokens == 109


def test_responses_stream_typed_events() -> None:
    reply = Reply(text=("Hel", "lo"), reasoning=("Think", "ing"), calls=TWO_CALLS, signature="gAAAA", usage=USAGE)
    with (
        ModelServer([reply]) as server,
        open_openai(server) as client,
        client.responses.stream(model="m", input="hi", include=["reasoning.encrypted_content"]) as stream,
    ):
        kinds = [event.type for event in stream]
        final = stream.get_final_response()

    assert [item.type for item in final.output] == ["reasoning", "message", "function_call", "function_call"]
    assert final.output_text == "Hello"
    assert final.output[0].encrypted_content == "gAAAA"  # type: ignore[union-attr]  # the first item is the reasoning
    assert final.usage is not None
    assert final.usage.input_tokens_details.cached_tokens == 64
    assert "response.function_call_arguments.delta" in kinds
    assert kinds[-1] == "response.completed"


def test_a_responses_reply_cut_by_length_is_incomplete() -> None:
    with ModelServer([say("Half", stop="length")]) as server, open_openai(server) as client:
        answer = client.responses.create(model="m", input="hi")

    assert answer.status == "incomplete"


def test_messages_stream_thinking_text_and_tools() -> None:
    reply = Reply(text=("Hel", "lo"), reasoning=("Let me",), calls=TWO_CALLS, signature="EqoB", usage=USAGE)
    with (
        ModelServer([reply]) as server,
        open_anthropic(server) as client,
        client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]) as stream,
    ):
        final = stream.get_final_message()

    assert [block.type for block in final.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert final.content[0].signature == "EqoB"  # type: ignore[union-attr]  # the first block is the thinking
    assert final.content[2].input == {"query": "Zürich ☂"}  # type: ignore[union-attr]  # a tool_use block
    assert final.stop_reason == "tool_use"
    assert final.usage.cache_read_input_tokens == 64
    assert final.usage.input_tokens == 36


def test_gemini_gives_a_thought_signature_and_refuses_its_call_without_it() -> None:
    signed = Reply(calls=(call("find_files", {"query": "a"}, signature="SIG"),))
    with ModelServer([signed, say("Done.")]) as server:
        first = ask(server, path="/v1beta/openai")
        asked = first.choices[0].message.tool_calls[0]
        bare = {"id": asked.id, "type": "function", "function": {"name": "find_files", "arguments": '{"query": "a"}'}}
        whole = {**bare, "extra_content": asked.model_extra["extra_content"]}
        result = {"role": "tool", "tool_call_id": asked.id, "content": "b"}

        def follow(one: Any) -> Any:
            start = {"role": "user", "content": "hi"}
            return ask(
                server, path="/v1beta/openai", messages=[start, {"role": "assistant", "tool_calls": [one]}, result]
            )

        with pytest.raises(openai.BadRequestError):
            follow(bare)
        answer = follow(whole)

    assert "missing a thought_signature" in server.problems[0]
    assert answer.choices[0].message.content == "Done."


def test_openrouter_reports_its_cost() -> None:
    with ModelServer([say("Hi", cost=0.0125)]) as server:
        answer = ask(server, path="/api/v1")

    assert answer.usage.model_extra["cost"] == 0.0125


@pytest.mark.parametrize(
    ("messages", "problem"),
    [
        ([{"role": "robot", "content": "x"}], "Invalid value: 'robot'"),
        ([{"role": "tool", "tool_call_id": "c", "content": "x"}], "must be a response to a preceeding message"),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}],
                }
            ],
            "did not have response messages: c",
        ),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "a b", "arguments": "{}"}}],
                }
            ],
            "does not match pattern",
        ),
        ([{"role": "assistant", "content": None}], "expected a string, got null"),
        (
            [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/bmp;base64,AA=="}}]}],
            "unsupported image",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{PNG}"}}],
                }
            ],
            "does not match its media type",
        ),
        ([], "empty array"),
    ],
)
def test_chat_completions_refuse_what_the_api_refuses(messages: Any, problem: str) -> None:
    with ModelServer([say("never")]) as server:
        with pytest.raises(openai.BadRequestError) as refused:
            ask(server, messages=messages)

        assert problem in refused.value.message
        assert problem in server.problems[0]


CALL = {"type": "tool_use", "id": "t1", "name": "a", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": "ok"}
ASK = {"role": "user", "content": "hi"}


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"messages": [ASK]}, "max_tokens: Field required"),
        ({"max_tokens": 9, "messages": [{"role": "system", "content": "x"}]}, "Unexpected role"),
        (
            {"max_tokens": 9, "messages": [ASK, {"role": "assistant", "content": [CALL]}, ASK]},
            "`tool_use` ids were found",
        ),
        ({"max_tokens": 9, "messages": [ASK, {"role": "user", "content": [RESULT]}]}, "unexpected `tool_use_id`"),
        (
            {
                "max_tokens": 9,
                "messages": [
                    ASK,
                    {"role": "assistant", "content": [CALL]},
                    {"role": "user", "content": [{"type": "text", "text": "x"}, RESULT]},
                ],
            },
            "`tool_use` ids were found",
        ),
        ({"max_tokens": 9, "messages": [ASK, {"role": "assistant", "content": "x"}]}, "assistant message prefill"),
        ({"max_tokens": 9, "messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]}, "non-empty"),
        ({"max_tokens": 9, "messages": [ASK], "tools": [{"name": "a b", "input_schema": {}}]}, "String should match"),
        ({"max_tokens": 9, "messages": [ASK], "surprise": 1}, "Extra inputs are not permitted"),
        (
            {
                "max_tokens": 9,
                "messages": [
                    ASK,
                    {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "made up"}]},
                    ASK,
                ],
            },
            "Invalid `signature`",
        ),
    ],
)
def test_messages_refuse_what_the_api_refuses(body: dict[str, Any], problem: str) -> None:
    with ModelServer([say("never")]) as server, open_anthropic(server) as client:
        with pytest.raises(anthropic.BadRequestError) as refused:
            client.post("/v1/messages", body={"model": "m", **body}, cast_to=object)

        assert problem in refused.value.message


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([{"type": "function_call_output", "call_id": "c", "output": "x"}], "No tool call found"),
        ([{"type": "function_call", "call_id": "c", "name": "a", "arguments": "{}"}], "No tool output found"),
        ([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}], "Invalid value: 'input_text'"),
        ([{"type": "reasoning", "id": "rs_9", "summary": [], "encrypted_content": "x"}], "could not be verified"),
    ],
)
def test_responses_refuse_what_the_api_refuses(items: Any, problem: str) -> None:
    with ModelServer([say("never")]) as server, open_openai(server) as client:
        with pytest.raises(openai.BadRequestError) as refused:
            client.responses.create(model="m", input=items)

        assert problem in refused.value.message


def test_a_wrong_key_is_refused_everywhere() -> None:
    with ModelServer(key="right") as server:
        with open_openai(server, key="wrong") as client, pytest.raises(openai.AuthenticationError):
            client.models.list()
        with open_anthropic(server, key="wrong") as other, pytest.raises(anthropic.AuthenticationError):
            other.models.list()
        with open_openai(server, key="right") as client:
            listed = [model.id for model in client.models.list()]

    assert listed == ["stand-in-1"]


def test_failures_have_the_shape_and_headers_of_the_real_ones() -> None:
    slow = Failure("rate_limited", headers={"retry-after": "7"})
    with ModelServer([slow, Failure("overloaded"), Failure(close=True)]) as server:
        with pytest.raises(openai.RateLimitError) as limited:
            ask(server)
        with open_anthropic(server) as client, pytest.raises(anthropic.APIStatusError) as overloaded:
            client.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "x"}])
        with pytest.raises(openai.APIConnectionError):
            ask(server)

    assert limited.value.response.headers["retry-after"] == "7"
    assert overloaded.value.status_code == 529


def test_a_cut_stream_breaks_the_connection() -> None:
    with ModelServer([say("a", "b", "c", cut_after=2)]) as server, open_openai(server) as client:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
        with pytest.raises(openai.APIConnectionError):
            list(stream)


def test_a_client_that_leaves_is_noticed() -> None:
    with ModelServer([say("a", "b", idle_after=2)]) as server, open_openai(server) as client:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
        next(iter(stream))
        stream.close()

        assert server.requests[0].disconnected.wait(2)


def test_an_entry_with_a_match_is_taken_before_the_next_in_order() -> None:
    with ModelServer([say("first"), say("a title", match="Name this", keep=True), say("second")]) as server:
        said = [ask(server, text).choices[0].message.content for text in ("x", "Name this chat", "y", "Name this")]

    assert said == ["first", "a title", "second", "a title"]


def test_a_reply_may_be_worked_out_from_the_request() -> None:
    with ModelServer([lambda body: say(body["messages"][-1]["content"].upper())]) as server:
        answer = ask(server, "echo")

    assert answer.choices[0].message.content == "ECHO"


def test_it_obeys_the_script_in_the_last_message_step_by_step() -> None:
    steps = json.dumps([{"text": "one", "calls": [{"name": "look"}]}, "two"])
    parts = [{"type": "text", "text": text} for text in ("It is Monday.", steps)]
    asked: list[dict[str, Any]] = [{"role": "user", "content": "before"}, {"role": "user", "content": parts}]
    said = []
    with ModelServer([Obedient()]) as server, open_openai(server) as client:
        for _ in range(3):
            answer = client.chat.completions.create(model="m", messages=asked).choices[0].message  # type: ignore[arg-type]  # made by hand
            said.append(answer.content)
            asked.append({"role": "assistant", "content": answer.content})

    assert said == ["one", "two", "Done."]


def test_a_streamed_chunk_may_hold_the_time_it_is_sent() -> None:
    began = time.monotonic()
    reply = say("{received} {now}", " {now}", delay_seconds=0.01)
    with ModelServer([reply]) as server, open_openai(server) as client:
        stream = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}], stream=True)
        chunks = [one.choices[0].delta.content for one in stream if one.choices]
    times = [float(one) for one in "".join(chunk or "" for chunk in chunks).split()]

    assert len(times) == 3
    assert began < times[0] < times[1] < times[2] < time.monotonic()


def test_a_misspelt_field_of_a_script_is_named() -> None:
    with pytest.raises(ValueError, match=r"no field 'txt'. It knows .*text"):
        parse_script([{"txt": "hi"}])


@pytest.mark.slow  # starts another Python
def test_the_command_prints_its_address_and_serves_the_script(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps(["Hello.", {"failure": {"kind": "overloaded"}}]))
    command = [sys.executable, "-m", "atlas_sdk.testing.model_server", "--script", str(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            with openai.OpenAI(api_key="key", base_url=url + "/v1", max_retries=0) as client:
                answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x"}])
        finally:
            process.terminate()

    assert answer.choices[0].message.content == "Hello."
