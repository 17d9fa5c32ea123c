"""Command-line models: real processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from runner.config import CommandOutput, ModelConfig
from runner.errors import ConfigError, EndpointUnusable, ModelFault
from runner.llm import RequestBuilder, connect, instrument_params, require
from runner.llm.command import at
from runner.llm.prices import Prices
from runner.types import Completion

GOOD = {
    "type": "result",
    "is_error": False,
    "result": " Paris ",
    "total_cost_usd": 0.0125,
    "usage": {"input_tokens": 812, "output_tokens": 6},
    "modelUsage": {"model-b": {}, "model-a": {}},
}


def run(script: str, prompt: str = "hi", **more: Any) -> Any:
    command = [sys.executable, "-S", "-c", script]
    config = ModelConfig(**{"name": "cli", "provider": "command", "model": "m", "command": command, **more})
    model = connect(config, Prices.load())
    request = RequestBuilder(config).build(
        [{"role": "system", "content": "rules"}, {"role": "user", "content": prompt}]
    )

    async def main() -> Completion:
        try:
            return await model.complete(request)
        finally:
            await model.close()

    try:
        return asyncio.run(main())
    except ModelFault as fault:
        return fault


def test_usage_cost_and_model_come_from_the_json() -> None:
    reply = run(f"print({json.dumps(GOOD)!r})", output={"model": "modelUsage"})
    assert (reply.text, reply.model) == ("Paris", "model-a+model-b")
    usage = reply.usage
    assert (usage.input_tokens, usage.output_tokens, usage.usd, usage.measured) == (812, 6, 0.0125, True)
    assert usage.seconds > 0


def test_the_prompt_arrives_on_stdin_whole() -> None:
    big = "é" * 300_000  # more than a pipe holds
    reply = run("import sys, json; t = sys.stdin.buffer.read(); print(json.dumps({'result': str(len(t))}))", big)
    assert reply.text == str(len(b"rules\n\n") + 600_000)
    assert not reply.usage.measured
    assert reply.usage.usd is None


def test_a_process_that_does_not_read_is_no_error() -> None:
    assert run('print(\'{"result": "ok"}\')', "x" * 1_000_000).text == "ok"


def test_the_last_object_counts_and_noise_around_it_does_not() -> None:
    script = "print('{starting}'); print('{\"result\": \"old\"}'); print('{\"result\": \"new\"}'); print('done')"
    assert run(script).text == "new"


def test_the_model_can_be_named_in_the_command() -> None:
    command = [sys.executable, "-S", "-c", "import sys, json; print(json.dumps({'result': sys.argv[1]}))", "{model}"]
    assert run("", command=command, model="opus").text == "opus"


FAULTS = [
    ("import sys; print('oh no', file=sys.stderr); sys.exit(3)", "code 3 and no JSON; stderr ends: oh no"),
    ("print('plain words')", "no JSON; it printed: plain words"),
    ('print(\'{"result": "Please log in", "is_error": true}\')', "reported an error: Please log in"),
    ('import sys; print(\'{"result": "x"}\'); sys.exit(1)', "code 1 and reported an error: x"),
    ('print(\'{"result": ""}\')', "empty reply"),
    ('print(\'{"answer": "x"}\')', "without text at 'result'"),
    ('print(\'{"result": "x"\')', "no JSON"),
    ("import sys; sys.stderr.write('sk-abcdefghijklmnopqrstuvwx'); sys.exit(1)", "***"),
]


@pytest.mark.parametrize(("script", "words"), FAULTS)
def test_a_fault_is_one_clear_line(script: str, words: str) -> None:
    fault = run(script)
    assert isinstance(fault, ModelFault)
    assert not isinstance(fault, EndpointUnusable)
    assert words in str(fault)
    assert "\n" not in str(fault)


def test_a_reply_of_no_use_that_was_paid_for_tells_its_usage() -> None:
    for lost in ({"is_error": True}, {"result": ""}, {"result": None}):
        fault = run(f"print({json.dumps({**GOOD, **lost})!r})")
        assert isinstance(fault, ModelFault)
        assert fault.usage is not None
        assert (fault.usage.usd, fault.usage.input_tokens, fault.usage.calls) == (0.0125, 812, 1)
    only_cost = run('print(\'{"is_error": true, "total_cost_usd": 0.5}\')')
    assert (only_cost.usage.usd, only_cost.usage.measured) == (0.5, False)
    for script in ('print(\'{"is_error": true, "result": "log in"}\')', "print('words')", "import sys; sys.exit(1)"):
        assert run(script).usage is None


def test_an_estimate_is_priced_where_the_model_is_listed() -> None:
    reply = run('print(\'{"result": "abcdefgh"}\')', "x" * 3_993, model="gpt-4.1-mini")
    assert not reply.usage.measured
    assert reply.usage.usd == pytest.approx((1_000 * 0.4 + 2 * 1.6) / 1e6)  # with "rules" and two line ends: 4,000


def test_cached_tokens_are_read_where_a_path_is_given() -> None:
    script = f"print({json.dumps({**GOOD, 'usage': {'input_tokens': 9, 'output_tokens': 1, 'cache': 7}})!r})"
    assert run(script).usage.cached_tokens == 0
    assert run(script, output={"cached_tokens": "usage.cache"}).usage.cached_tokens == 7


def test_the_words_of_a_command_and_its_paths_are_part_of_the_instrument() -> None:
    config = ModelConfig(name="cli", provider="command", model="m", command=["x", "{model}"])
    told = instrument_params(config)
    assert told["command"] == ["x", "{model}"]
    assert told["output"]["text"] == "result"
    other = config.model_copy(update={"output": CommandOutput(text="answer")})
    assert instrument_params(other) != told
    chat = ModelConfig(name="r", provider="openai", model="m", params={"temperature": 0})
    assert instrument_params(chat) == {"temperature": 0}


@pytest.mark.parametrize(
    "provider", [{"provider": "command", "command": ["x"]}, {"provider": "fake", "model": "lexical"}]
)
def test_parameters_that_nobody_would_send_are_refused(provider: dict[str, Any]) -> None:
    config = ModelConfig(**{"name": "m", "params": {"temperature": 0.5}, **provider})
    for check in (require, lambda config: connect(config, Prices.load())):
        with pytest.raises(ConfigError, match=r"params\.temperature"):
            check(config)


def test_a_command_has_no_price_before_it_has_answered() -> None:
    config = ModelConfig(name="cli", provider="command", model="gpt-4.1-mini", command=["x"])
    request = RequestBuilder(config).build([{"role": "user", "content": "x"}])
    assert connect(config, Prices.load()).estimate(request) is None


def test_a_missing_binary_ends_the_run_and_is_named() -> None:
    fault = run("", command=["no-such-model-cli", "-p"])
    assert isinstance(fault, EndpointUnusable)
    assert "no-such-model-cli" in str(fault)
    assert "install it" in str(fault)


@pytest.mark.parametrize("leader", ["time.sleep(60)", "pass"], ids=["waits", "is gone"])
def test_a_timeout_kills_the_whole_group(tmp_path: Path, leader: str) -> None:
    pid_file = tmp_path / "pid"
    child = "import time; time.sleep(60)"
    script = (
        "import subprocess, sys, time\n"
        f"p = subprocess.Popen([sys.executable, '-S', '-c', {child!r}])\n"
        f"open({str(pid_file)!r}, 'w').write(str(p.pid))\n"
        f"{leader}"
    )
    start = time.monotonic()
    fault = run(script, timeout_s=1.0)
    assert time.monotonic() - start < 10
    assert "longer than 1 s" in str(fault)
    pid = int(pid_file.read_text())
    for _ in range(100):  # the orphan is reaped by init, or stays a zombie where there is none
        stat = Path(f"/proc/{pid}/stat")
        if not _alive(pid) or (stat.exists() and stat.read_text().rsplit(")", 1)[1].split()[0] == "Z"):
            break
        time.sleep(0.02)
    else:
        pytest.fail("a process of the group outlived it")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_concurrency_is_bounded(tmp_path: Path) -> None:
    script = 'import time; time.sleep(0.2); print(\'{"result": "ok"}\')'
    config = ModelConfig(name="cli", provider="command", command=[sys.executable, "-S", "-c", script], concurrency=2)
    model = connect(config, Prices.load())
    request = RequestBuilder(config).build([{"role": "user", "content": "x"}])

    async def main() -> None:
        await asyncio.gather(*(model.complete(request) for _ in range(4)))

    start = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - start >= 0.4
    assert model.requests == 4


def test_dotted_paths() -> None:
    body = {"a": {"b": [{"c": 1}]}}
    assert at(body, "a.b.0.c") == 1
    assert at(body, "a.b.1.c") is None
    assert at(body, "a.x.y") is None
    assert at(body, None) is None
