"""Templates, paths and states: the small parts that the bridges share."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.dotted import described
from runner.process import Child, exit_of
from runner.safe import secrets_in
from runner.system._bridge.polling import Condition
from runner.system._bridge.template import fill, fill_text, placeholders_in, unknown_placeholders, url_part
from tests.support.bridging import assert_gone

VALUES: dict[str, Any] = {"k": 3, "ns": "a b", "none": None, "list": [1, 2], "text": 'say "hi"'}


@pytest.mark.parametrize(
    ("template", "filled"),
    [
        ("{k}", 3),
        ("{list}", [1, 2]),
        ("top {k}", "top 3"),
        ("{none}", None),
        ("[{none}]", "[]"),
        ("{list}!", "[1, 2]!"),
        ("{{k}}", "{k}"),
        ("{other} {1} {", "{other} {1} {"),
        ({"a": "{k}", "b": "{none}", "c": {"d": "{none}"}}, {"a": 3, "c": {}}),
        (["{none}", "{k}", True, 1.5, None], [3, True, 1.5, None]),
        ('{"q": "{text}"}', '{"q": "say "hi""}'),
    ],
)
def test_a_template_is_filled(template: Any, filled: Any) -> None:
    assert fill(template, VALUES) == filled


def test_a_value_in_a_url_is_escaped() -> None:
    assert fill_text("/x/{ns}?q={text}", VALUES, url_part) == "/x/a%20b?q=say%20%22hi%22"
    assert url_part("a/b\ud800é") == "a%2Fb%3F%C3%A9"


def test_placeholders_are_found_and_held_against_what_there_is() -> None:
    template = {"a": ["{ns}", "x{k}"], "b": "{{free}} {ns}"}
    assert placeholders_in(template) == ["ns", "k"]
    assert unknown_placeholders(template, ["ns", "k"], "body") == []
    assert unknown_placeholders("{nns}", ["ns", "k"], "body") == [
        "body: there is no {nns} here (did you mean 'ns'?); there are {ns}, {k} (a literal brace is doubled)"
    ]


def test_a_state_compares_values_of_one_kind() -> None:
    assert Condition(at="s", values=["done", 1]).matches({"s": 1})
    assert not Condition(at="s", values=[1]).matches({"s": True})
    assert not Condition(at="s", values=["done"]).matches({"s": None})
    assert not Condition(at="s.t", values=["done"]).matches("text")


def test_a_value_is_described() -> None:
    assert described({"a": 1, "b": 2}) == "an object with a, b"
    assert described({str(n): n for n in range(9)}).endswith(", 7, …")
    assert [described(value) for value in ({}, [1], None, True, 1.5, "x")] == [
        *("an empty object", "a list of 1", "null", "true or false", "a number", "a text")
    ]


def test_a_credential_in_the_environment_or_the_headers_of_an_arm_is_seen() -> None:
    settings = {
        "env": {"MY_API_KEY": "abcdefgh1"},
        "headers": {"Authorization": "Basic abcdefgh"},
        "env_from": ["A_KEY"],
    }
    assert secrets_in({"arm": {"settings": settings}}) == [
        "arm.settings.env.MY_API_KEY",
        "arm.settings.headers.Authorization",
    ]


@pytest.mark.parametrize(
    ("code", "said"),
    [(0, "ended with code 0"), (-9, "was killed by signal 9 (SIGKILL)"), (None, "closed its stdout and went on")],
)
def test_an_exit_is_told_in_words(code: int | None, said: str) -> None:
    assert exit_of(code) == said


def test_a_guard_ends_what_it_guards_when_its_pipe_ends(tmp_path: Path) -> None:
    folder = tmp_path / "its own"
    folder.mkdir()
    (folder / "file").touch()

    async def main() -> None:
        child = await Child.start(
            [sys.executable, "-S", "-c", "import time; time.sleep(60)"], guarded=True, folder=folder
        )
        assert child._guard is not None
        assert child._guard.stdin is not None
        child._guard.stdin.close()  # as the kernel does when this process is killed
        await asyncio.to_thread(assert_gone, child.pid)
        for _ in range(200):
            if not folder.exists():
                break
            await asyncio.sleep(0.02)
        assert not folder.exists()
        await child.kill()
        assert child.code == -9

    asyncio.run(main())
