"""Chat completions against a real server that misbehaves."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from runner.config import ModelConfig
from runner.errors import ConfigError, EndpointUnusable, ModelFault
from runner.llm import Model, Request, RequestBuilder, connect
from runner.llm.prices import Prices
from runner.types import Completion
from tests.support.servers import Stub, closed_port


def config(url: str | None, **more: Any) -> ModelConfig:
    values: dict[str, Any] = {"name": "reader-x", "provider": "openai", "model": "gpt-4.1-mini", "base_url": url}
    return ModelConfig(**{**values, "timeout_s": 5, "deadline_s": 10, "attempts": 1, **more})


def ask(chosen: ModelConfig, count: int = 1) -> tuple[list[Any], Model]:
    """Replies or errors, in order, one after another."""
    model = connect(chosen, Prices.load())
    request = RequestBuilder(chosen).build([{"role": "user", "content": "hello you"}])

    async def main() -> list[Any]:
        replies: list[Any] = []
        for _ in range(count):
            try:
                replies.append(await model.complete(request))
            except ModelFault as fault:
                replies.append(fault)
        await model.close()
        return replies

    replies = asyncio.run(main())
    gc.collect()  # a client that was not closed well would warn here, and a warning is an error
    return replies, model


def test_a_good_reply() -> None:
    with Stub(keep_bodies=True) as stub:
        (reply,), model = ask(config(stub.url, params={"temperature": 0, "seed": 7}))
        (body,) = stub.state.bodies
    assert isinstance(reply, Completion)
    assert (reply.text, reply.model, reply.fingerprint, reply.finish) == (
        "stub answer",
        "gpt-4.1-mini",
        "fp_stub",
        "stop",
    )
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.calls, usage.measured) == (100, 5, 1, True)
    assert usage.usd == pytest.approx(100 * 0.4e-6 + 5 * 1.6e-6)
    assert usage.seconds > 0
    assert model.requests == 1
    assert body == {
        "model": "gpt-4.1-mini",
        "messages": [{"role": "user", "content": "hello you"}],
        "temperature": 0,
        "seed": 7,
    }


FAULTS = [
    ("drop", "broke the connection"),
    ("cut", "broke the connection"),
    ("html", "no chat completion: <!DOCTYPE html>"),
    ("garbage", "no chat completion"),
    ("truncated", 'no chat completion: {"id": "chatcmpl-stub"'),
    ("empty_choices", "no choices"),
    ("empty_text", "empty reply (finish_reason stop)"),
    ("error200", "model overloaded"),
    ("418", "HTTP 418"),
    ("302", "HTTP 302"),
    ("500", "HTTP 500 after 1 request: "),
]


@pytest.mark.parametrize(("fault", "words"), FAULTS)
def test_a_fault_is_one_clear_line_and_the_next_call_works(fault: str, words: str) -> None:
    with Stub(plan=[fault]) as stub:
        (first, second), _ = ask(config(stub.url), 2)
    assert isinstance(first, ModelFault)
    assert not isinstance(first, EndpointUnusable)
    assert words in str(first)
    assert "\n" not in str(first)
    assert str(first).startswith("reader-x: ")
    assert isinstance(second, Completion)


def test_a_request_leaves_no_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with Stub() as stub, caplog.at_level("INFO"):
        ask(config(stub.url))
    assert "HTTP Request" not in caplog.text


def test_retries_are_counted() -> None:
    with Stub(plan=["429", "500"], retry_after="0") as stub:
        (reply,), model = ask(config(stub.url, attempts=2))
        assert reply.usage.calls == model.requests == stub.state.requests == 3


def test_a_hang_names_the_timeout() -> None:
    with Stub(always="hang") as stub:
        (fault,), _ = ask(config(stub.url, timeout_s=0.1))
    assert "within 0.1 s" in str(fault)


def test_usage_that_is_not_told_is_estimated_and_says_so() -> None:
    with Stub(always="no_usage") as stub:
        (reply,), _ = ask(config(stub.url))
    assert not reply.usage.measured
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (9 // 4, 11 // 4)


def test_an_estimate_is_priced_where_the_model_is_listed() -> None:
    with Stub(always="no_usage", reply="x" * 4_000) as stub:
        (reply,), _ = ask(config(stub.url))
    assert not reply.usage.measured
    assert reply.usage.usd == pytest.approx((2 * 0.4 + 1_000 * 1.6) / 1e6)


USAGE = b'"usage": {"prompt_tokens": 1000, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 400}}'
LOST = [
    (b'{"choices": [{"message": {"content": " "}}], %s}' % USAGE, "empty reply"),
    (b'{"choices": [], %s}' % USAGE, "no choices"),
    (b'{"choices": "none", %s}' % USAGE, "no chat completion"),
    (b'{"choices": [{"message": 5}], "model": 7, %s}' % USAGE, "no chat completion"),
    (b'{"error": "cut off", %s}' % USAGE, "an error: cut off"),
]


@pytest.mark.parametrize(("body", "words"), LOST)
def test_a_reply_of_no_use_that_was_paid_for_tells_its_usage(body: bytes, words: str) -> None:
    with Stub(body=body) as stub:
        (fault,), _ = ask(config(stub.url))
    assert isinstance(fault, ModelFault)
    assert words in str(fault)
    assert fault.usage is not None
    usage = fault.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_tokens) == (1000, 10, 400)
    assert (usage.calls, usage.measured) == (1, True)
    assert usage.usd == pytest.approx((600 * 0.4 + 400 * 0.1 + 10 * 1.6) / 1e6)


def test_an_empty_reply_that_tells_no_usage_is_estimated() -> None:
    with Stub(body=b'{"choices": [{"message": {"content": ""}}]}') as stub:
        (fault,), _ = ask(config(stub.url))
    assert fault.usage is not None
    assert (fault.usage.measured, fault.usage.input_tokens, fault.usage.output_tokens) == (False, 2, 0)


@pytest.mark.parametrize("fault", ["html", "truncated", "error200", "empty_choices", "418", "500", "drop", "hang"])
def test_what_tells_no_cost_is_not_counted(fault: str) -> None:
    with Stub(always=fault) as stub:
        (error,), _ = ask(config(stub.url, timeout_s=0.5))
    assert isinstance(error, ModelFault)
    assert error.usage is None


@pytest.mark.parametrize("usage", [b'"many"', b"[]", b'{"prompt_tokens": -1, "completion_tokens": 2}', b"null", b"{}"])
def test_a_strange_usage_block_does_not_cost_the_answer(usage: bytes) -> None:
    with Stub(body=b'{"choices": [{"message": {"content": "Oslo"}}], "usage": %s}' % usage) as stub:
        (reply,), _ = ask(config(stub.url))
    assert (reply.text, reply.usage.measured) == ("Oslo", False)


PARAMS: list[tuple[dict[str, Any], int]] = [
    ({}, 256),
    ({"max_tokens": 200}, 200),
    ({"max_completion_tokens": 50, "max_tokens": 200}, 50),
    ({"max_tokens": None}, 256),
    ({"max_tokens": "many"}, 256),
]


@pytest.mark.parametrize(("params", "out"), PARAMS)
def test_a_call_is_priced_before_it_is_sent(params: dict[str, Any], out: int) -> None:
    chosen = config("http://127.0.0.1:1/v1", params=params)
    request = RequestBuilder(chosen).build([{"role": "user", "content": "x" * 4_000}])
    assert connect(chosen, Prices.load()).estimate(request) == pytest.approx((1_000 * 0.4 + out * 1.6) / 1e6)
    unlisted = config("http://127.0.0.1:1/v1", model="someone/else")
    assert connect(unlisted, Prices.load()).estimate(request) is None


def test_a_cut_reply_says_so_and_an_unlisted_model_has_no_price() -> None:
    with Stub(always="length", model="someone/else") as stub:
        (reply,), _ = ask(config(stub.url))
    assert reply.finish == "length"
    assert reply.model == "someone/else"
    assert reply.usage.usd is None


@pytest.mark.parametrize("status", ["401", "403", "404"])
def test_what_no_retry_can_mend_ends_the_run(status: str) -> None:
    with Stub(always=status) as stub:
        (fault,), model = ask(config(stub.url, attempts=4))
        assert stub.state.requests == model.requests == 1
    assert isinstance(fault, EndpointUnusable)
    assert ("OPENAI_API_KEY" in str(fault)) == (status != "404")
    assert ("gpt-4.1-mini" in str(fault)) == (status == "404")


def test_no_credit_is_not_waited_for() -> None:
    body = '{"error": {"code": "insufficient_quota", "message": "quota"}}'
    with Stub(always="429", retry_after="20", error_body=body) as stub:
        (fault,), _ = ask(config(stub.url))
    assert isinstance(fault, EndpointUnusable)
    assert "no credit" in str(fault)


def test_nobody_listens() -> None:
    (fault,), _ = ask(config(f"http://127.0.0.1:{closed_port()}/v1"))
    assert isinstance(fault, EndpointUnusable)
    assert "start the server" in str(fault)


def test_a_server_that_dies_in_a_run_fails_calls_not_the_run() -> None:
    async def main(stub: Stub) -> None:
        chosen = config(stub.url)
        model = connect(chosen, Prices.load())
        request = RequestBuilder(chosen).build([{"role": "user", "content": "x"}])
        await model.complete(request)
        await asyncio.to_thread(stub.__exit__)
        for _ in range(2):  # the idle connection breaks first, then no new one is made
            with pytest.raises(ModelFault) as caught:
                await model.complete(request)
            assert not isinstance(caught.value, EndpointUnusable)
        await model.close()

    stub = Stub().__enter__()
    asyncio.run(main(stub))


def test_keys_come_from_the_environment_and_never_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_KEY", "plain-key-of-no-known-shape")
    body = "Incorrect API key provided: plain-key-of-no-known-shape"
    with Stub(always="401", error_body=body, keep_bodies=True) as stub:
        (fault,), _ = ask(config(stub.url, api_key_env="SOME_KEY"))
        assert stub.state.headers[0]["authorization"] == "Bearer plain-key-of-no-known-shape"
    assert "plain-key" not in str(fault)
    assert "$SOME_KEY" in str(fault)


def test_a_key_under_any_name_is_hidden_even_where_a_body_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LOGIN", "plain-key-of-no-known-shape")
    body = "x" * 185 + " plain-key-of-no-known-shape"
    for status in ("401", "500"):
        with Stub(always=status, error_body=body) as stub:
            (fault,), _ = ask(config(stub.url, api_key_env="MY_LOGIN"))
        assert "plain" not in str(fault)


def test_no_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OTHER_KEY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ConfigError, match="set OTHER_KEY"):
        connect(config(None, api_key_env="OTHER_KEY"), Prices.load())
    with pytest.raises(ConfigError, match="set OPENAI_API_KEY"):
        connect(config("https://gateway.example/v1"), Prices.load())
    connect(config("http://localhost:1/v1"), Prices.load())  # this machine needs none
    connect(config("https://gateway.example/v1", api_key_env=None), Prices.load())


def test_base_url_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Stub() as stub:
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        (reply,), _ = ask(config(None))
    assert reply.text == "stub answer"


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://x/v1", "http://", "http://127.0.0.1:99999/v1"])
def test_a_bad_url_is_a_config_error(url: str) -> None:
    with pytest.raises(ConfigError, match="base_url"):
        connect(config(url), Prices.load())


def test_params_cannot_replace_what_is_asked() -> None:
    with pytest.raises(ConfigError) as caught:
        connect(config("http://127.0.0.1:1/v1", params={"stream": True, "messages": []}), Prices.load())
    assert len(caught.value.problems) == 2


def test_reader_and_judge_share_one_client_and_one_gate() -> None:
    async def main(url: str) -> None:
        reader, judge = (connect(config(url, name=name), Prices.load()) for name in ("reader", "judge"))
        request = RequestBuilder(config(url)).build([{"role": "user", "content": "x"}])
        await asyncio.gather(reader.complete(request), judge.complete(request))
        one, other = reader._channel.endpoint, judge._channel.endpoint  # type: ignore[attr-defined]
        assert one is other
        await reader.close()
        await judge.complete(request)  # the other still uses it
        await judge.close()
        assert one.client.is_closed()

    with Stub() as stub:
        asyncio.run(main(stub.url))


def test_concurrency_is_bounded_per_model() -> None:
    async def main(url: str) -> None:
        chosen = config(url, concurrency=3)
        model = connect(chosen, Prices.load())
        request = RequestBuilder(chosen).build([{"role": "user", "content": "x"}])
        await asyncio.gather(*(model.complete(request) for _ in range(20)))
        await model.close()

    with Stub(latency_s=0.01) as stub:
        asyncio.run(main(stub.url))
        assert stub.state.max_in_flight == 3


def test_more_connections_than_the_defaults_of_any_client() -> None:
    async def main(url: str) -> None:
        chosen = config(url, concurrency=150)
        model = connect(chosen, Prices.load())
        request = RequestBuilder(chosen).build([{"role": "user", "content": "x"}])
        await asyncio.gather(*(model.complete(request) for _ in range(150)))
        await model.close()

    with Stub(latency_s=0.8) as stub:
        asyncio.run(main(stub.url))
        assert stub.state.max_in_flight == 150


def test_the_hash_of_a_request_covers_all_that_decides_the_reply() -> None:
    def sha(text: str = "x", **more: Any) -> str:
        request: Request = RequestBuilder(config("http://127.0.0.1:1/v1", **more)).build(
            [{"role": "user", "content": text}]
        )
        return request.sha256

    assert sha() == sha() == sha(timeout_s=9, name="other")
    assert len({sha(), sha("y"), sha(model="m"), sha(params={"seed": 1}), sha(provider="fake")}) == 5
    command = {"provider": "command", "command": ["a"]}
    others = [{"command": ["a", "b"]}, {"output": {"text": "answer"}}, {"params": {"seed": 1}}]
    assert len({sha(**command), *(sha(**{**command, **other}) for other in others)}) == 4
    two = RequestBuilder(config("http://127.0.0.1:1/v1"))
    split = two.build([{"role": "user", "content": "a"}, {"role": "user", "content": "b"}])
    assert split.sha256 != two.build([{"role": "user", "content": "auserb"}]).sha256
    assert split.prompt == "a\n\nb"
