"""What an arm of a bridge may not say: refused by its key when it is read, nothing started, nothing secret shown."""

from __future__ import annotations

from typing import Any

import pytest

from runner.config import load, odd_values
from runner.dotted import at
from runner.errors import ConfigError
from runner.system import build
from runner.system._bridge.answer_paths import AnswerPaths, UsagePaths, answer_of
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.hit_paths import HitPaths, hits_of
from tests.support.bridging import arm_of

COMMAND = {"command": ["x"]}
HTTP = {
    "base_url": "http://127.0.0.1:1",
    "reset": {"path": "/r"},
    "write": {"path": "/w", "body": {"t": "{event.text}"}},
    "search": {"path": "/s", "hits": {"at": "h"}},
}
MCP = {
    "url": "http://127.0.0.1:1/mcp",
    "reset": {"tool": "r"},
    "write": {"tool": "w", "arguments": {"t": "{event.text}"}},
    "search": {"tool": "s", "hits": {"at": "h"}},
}


@pytest.mark.parametrize(
    ("system", "settings", "says"),
    [
        ("command", {"command": [""]}, "settings.command: its first word is the command, and it is empty"),
        ("command", {"command": ["a", "b\0"]}, "settings.command.1: holds a zero character"),
        ("command", {"env": {"A": "b\0"}}, "settings.env.A: holds a zero character"),
        ("command", {"cwd": "/no/such/folder"}, "settings.cwd: there is no such folder"),
        ("command", {"cwd": "a\0"}, "settings.cwd: holds a zero character"),
        ("command", {"names": {"search": ""}}, "settings.names.search"),
        ("command", {"names": {"search": "ask"}}, "settings.names: two ops have the word 'ask'"),
        ("command", {"hits": {"at": "a..b"}}, "settings.hits.at: is not a path"),
        ("command", {"hits": {"at": ""}}, "settings.hits.at"),
        ("command", {"hits": {"at": "9" * 501}}, "settings.hits.at"),
        ("command", {"modes": []}, "settings.modes"),
        ("command", {"declares": {"build": ""}}, "settings.declares.build"),
        ("http", {"base_url": "http://127.0.0.1:0"}, "settings.base_url"),
        ("http", {"base_url": "http://a b"}, "settings.base_url"),
        ("http", {"base_url": "http://127.0.0.1:1/\r\nX: y"}, "settings.base_url"),
        ("http", {"base_url": f"http://{'a' * 64}.x"}, "settings.base_url"),
        ("http", {"headers": {"X-A": "a\r\nB: c"}}, "settings.headers.X-A: holds characters that no header has"),
        ("http", {"headers": {"X A": "b"}}, "settings.headers: 'X A' is not a name of a header"),
        ("http", {"headers": {"": "b"}}, "settings.headers: '' is not a name of a header"),
        ("http", {"headers": {"X-A": "\u65e5"}}, "settings.headers.X-A: holds characters that no header has"),
        ("http", {"headers": {"Content-Length": "5"}}, "settings.headers.Content-Length: is said by every request"),
        ("http", {"auth": {"env": "A", "prefix": "a\nb"}}, "settings.auth.prefix"),
        ("http", {"reset": {"path": "/a b"}}, "settings.reset.path: is not a path of a URL"),
        ("http", {"reset": {"path": "r"}}, "settings.reset.path: is not a path of a URL"),
        ("mcp", {"headers": {"A": "b\nc"}}, "settings.headers.A: holds characters that no header has"),
        ("mcp", {"reset": {"tool": ""}}, "settings.reset.tool"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key_in_one_line(system: str, settings: dict[str, Any], says: str) -> None:
    base = {"command": COMMAND, "http": HTTP, "mcp": MCP}[system]
    with pytest.raises(ConfigError) as refused:
        build(arm_of(system, {**base, **settings}))
    assert any(f"arm.{says}" in line for line in refused.value.problems), refused.value.problems
    assert all("\n" not in line and "\r" not in line for line in refused.value.problems)


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"a": float("nan")}, "arm.settings.body.a: nan is no number"),
        ({1: "x", "b": 2}, "arm.settings.body.1: a key is a text; write '1' in quotes"),
    ],
)
def test_what_json_cannot_hold_is_refused_by_its_key(body: dict[Any, Any], says: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load({"arm": {"name": "a", "system": "http", "settings": {"body": body}}})
    assert list(refused.value.problems) == [says]


def test_a_yaml_that_holds_itself_is_one_line() -> None:
    body: dict[str, Any] = {}
    body["again"], body["also"] = body, [body]
    (line,) = odd_values({"settings": {"body": body}})
    assert line.startswith("settings.body.")
    assert line.endswith(": holds itself, or more than a config can hold")


def test_aliases_that_multiply_are_one_line() -> None:
    value: list[object] = ["x"]
    for _ in range(40):
        value = [value] * 10
    (line,) = odd_values({"settings": {"body": value}})
    assert line == "settings.body: holds itself, or more than a config can hold"


@pytest.mark.parametrize("part", ["\u00b2", "\u0663", "9" * 5000, "-1"])
def test_a_place_in_a_list_is_told_in_plain_digits(part: str) -> None:
    assert at({"h": ["x"] * 9}, f"h.{part}") is None


def test_whole_numbers_beyond_every_float_are_no_scores_and_no_use() -> None:
    paths = HitPaths(at="h", score="score")
    with pytest.raises(BridgeError, match="score that is not a number"):
        hits_of({"h": [{"text": "t", "score": 10**400}]}, paths)
    used = AnswerPaths(usage=UsagePaths(input_tokens="n", usd="usd"))
    for wrong in ({"usd": 10**400}, {"usd": 1e308}, {"usd": -1}, {"n": 10**30}, {"n": -1}):
        with pytest.raises(BridgeError, match=r"not an amount of money|not a count of tokens"):
            answer_of({"answer": "x", **wrong}, used)
