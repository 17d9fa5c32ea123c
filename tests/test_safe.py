"""What may be shown: every kind of credential is hidden, every kind of control shown as an escape."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable

import pytest

from runner import safe
from runner.cli import data
from runner.safe import looks_secret, mask, masked, printable, secrets_in

SECRET = "plain-value-of-no-known-shape"
BLOCK = "-----BEGIN PRIVATE KEY-----\nMIIBVQIBADANBgkqhkiG9w0BAQEFAASC\nAgEAAkEAq7BFUpkGp3==\n-----END PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://h/v1?api-key=abc123 failed", "GET https://h/v1?api-key=*** failed"),
        ("https://h/v1?a=1&token=abc&b=2", "https://h/v1?a=1&token=***&b=2"),
        ("/callback#access_token=abc;x", "/callback#access_token=***;x"),
        ("'/v1?key=abc'", "'/v1?key=***'"),
        ("https://h/x?X-Amz-Signature=0af&sig=zz", "https://h/x?X-Amz-Signature=***&sig=***"),
        ("https://me:hunter22@h/v1", "https://***@h/v1"),
        ("redis://:p@ss:word@h:1/0", "redis://***@h:1/0"),
        ("sk-abcdefghijklmnopqrstuvwx.", "***."),
        ("Bearer abcdefghijklmnopqrst", "***"),
    ],
)
def test_a_credential_is_hidden_and_the_rest_is_not(text: str, shown: str) -> None:
    assert mask(text) == shown
    assert mask(shown) == shown  # what is hidden stays as it is


@pytest.mark.parametrize(
    "text",
    [
        "http://127.0.0.1:8080/v1 says me@example.org",
        "ssh://git@host/path",
        "https://h/v1?max_tokens=200&limit=5",
        "https://h/v1?key=${oc.env:MY_KEY}",
        "if a == b and key=5",
        "12:30 http://host:80",
    ],
)
def test_what_is_no_credential_stays(text: str) -> None:
    assert mask(text) == text
    assert not looks_secret("x", text)


def test_a_private_key_is_hidden_whole() -> None:
    assert "MIIB" not in mask(f"sent {BLOCK}")
    assert "AgEA" not in mask(json.dumps({"x": BLOCK}))


@pytest.mark.parametrize(
    "name", ["SOME_API_KEY", "hf_token", "CLIENT_SECRET", "DB_PASSWORD", "APPLICATION_CREDENTIALS"]
)
def test_what_the_environment_holds_as_a_secret_is_hidden(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert mask(SECRET) == SECRET
    monkeypatch.setenv(name, f"{SECRET} \n")
    assert mask(f"got '{SECRET}'") == "got '***'"
    monkeypatch.delenv(name)
    assert mask(SECRET) == SECRET


def test_other_variables_and_short_values_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "none")
    monkeypatch.setenv("KEYBOARD", "qwertzuiop")
    monkeypatch.setenv("EMPTY_TOKEN", "          ")
    assert mask("none qwertzuiop           .") == "none qwertzuiop           ."


def test_every_spelling_of_a_value_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    value = 'pa"ss\\w/ö rd\nmore'
    monkeypatch.setenv("DB_PASSWORD", value)
    for text in (value, repr(value), json.dumps(value), "pa%22ss%5Cw%2F%C3%B6%20rd%0Amore", 'pa"ss\\w/ö rd more'):
        assert mask(text).strip("'\"") == "***"


def test_the_longer_of_two_values_is_hidden_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_KEY", "abcdefgh")
    monkeypatch.setenv("B_KEY", "abcdefgh-and-more")
    assert mask("abcdefgh-and-more abcdefgh") == "*** ***"


def test_a_variable_that_a_config_names_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe, "_named", set())
    monkeypatch.setenv("MY_LOGIN", SECRET)
    assert mask(SECRET) == SECRET
    safe.hide_value_of("MY_LOGIN")
    assert mask(SECRET) == "***"


def test_masked_json_is_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIN_PASSWORD", "12345678")
    value = {"a": ["x12345678", {"12345678": 12345678}], "b": None, "c": 0.5}
    assert json.loads(json.dumps(masked(value))) == {"a": ["x***", {"***": 12345678}], "b": None, "c": 0.5}


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("base_url", "https://h/v1?api-key=abc"),
        ("base_url", "https://h/v1?a=b&access_token=abc"),
        ("x", "https://h/?key=k"),
        ("x", "redis://:hunter22@h"),
        ("x", BLOCK),
    ],
)
def test_a_url_may_hold_a_credential(key: str, value: str) -> None:
    assert looks_secret(key, value)


def test_secrets_are_found_at_any_depth() -> None:
    key = "sk-" + "a1B2" * 8
    config = {
        "a": [{"b": [key, {"c": key}]}],
        "d": {"token": "long-enough"},
        "e": ([key],),
        "f": {"token_env": "LONG_NAME"},
    }
    assert secrets_in(config) == ["a.b", "a.b.c", "d.token", "e"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x1b[31mb", "a\\x1b[31mb"),
        ("\x1b]0;title\x07", "\\x1b]0;title\\x07"),
        (
            "bell\x07 back\x08 cr\r tab\t nul\x00 del\x7f csi\x9b",
            "bell\\x07 back\\x08 cr\\r tab\\t nul\\x00 del\\x7f csi\\x9b",
        ),
        ("ab\u202ecd\u2066ef\u200f", "ab\\u202ecd\\u2066ef\\u200f"),
        ("half \ud83d", "half \\ud83d"),
        ("sep\u2028par\u2029 bom\ufeff zero\u200bwidth", "sep\\u2028par\\u2029 bom\\ufeff zero\\u200bwidth"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("one\ntwo\n", "one\ntwo\n"),
        ("日本語 é Δ × 🎉 👩\u200d👧 a\u00a0b می\u200cخواهم", "日本語 é Δ × 🎉 👩\u200d👧 a\u00a0b می\u200cخواهم"),
        ("", ""),
    ],
)
def test_a_terminal_is_shown_what_it_would_obey(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown) == shown
    shown.encode()


@pytest.mark.parametrize("text", ["eyJ-", "&a", "://a:", "sk-", "bearer ", "-----BEGIN A "])
def test_no_text_takes_long(text: str) -> None:
    start = time.process_time()
    mask(text * (100_000 // len(text)))
    assert time.process_time() - start < 2


def test_an_error_of_the_command_line_is_masked_and_inert(cli: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    done = cli("report", f"no\x1b[31m-{SECRET}", SOME_API_KEY=SECRET)
    assert done.returncode in (1, 2)
    assert "\x1b" not in done.stderr
    assert "no\\x1b[31m-***" in done.stderr
    assert SECRET not in done.stderr


def test_a_line_of_the_data_verb_is_inert(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Hostile:
        def check(self) -> list[str]:
            return ["a\x1b[31mb"]

    monkeypatch.setattr("runner.harness.build", lambda config: Hostile())
    assert data.main(["check", "synthetic_memory"]) == 0
    assert capsys.readouterr().out == "a\\x1b[31mb\n"
