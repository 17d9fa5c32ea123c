"""Files that came from anywhere: whatever is wrong with them is one line, and no file executes or floods anything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.data import jsonl, result_file
from runner.errors import ConfigError, UsageError
from tests.support.imported import bring, rows, said, write_json, write_lines

GOOD = '{"question_id": "q0", "hypothesis": "h", "label": "yes"}'


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "is empty"),
        (b"  \n \n", "nothing but white space"),
        (b"[" + GOOD.encode() + b", " + GOOD.encode().replace(b"q0", b"q1")[:-1], "is truncated: the JSON ends"),
        (b"[" * 100_000, "nested too deeply|not valid JSON"),
        (b'[{"question_id": "q0", "label": NaN}]', "NaN is not JSON"),
        (b'[{"question_id": "q0", "label": Infinity}]', "Infinity is not JSON"),
        (b'[{"question_id": "q0", "label": 1e999}]', r"f.json has a number that is none \(1e999\); export it again"),
        (GOOD.encode() + b'\n{"question_id": "q1", "label": 1e999}\n', "line 2 has a number that is none"),
        (GOOD.encode() + b'\n{"question_id": "\\udfff", "label": "yes"}\n', "line 2 holds half of a character"),
        (b'[{"question_id": "q0", "label": ' + b"9" * 5000 + b"}]", "has a number of 5000 digits"),
        (b'[{"question_id": "q0", "label": "yes", "label": "no"}]', "has the field 'label' twice in one object"),
        (b'{"question_id": "q0", "label": "yes", "label": "no"}\n', "line 1 has the field 'label' twice"),
        (GOOD.encode() + b'\n{"question_id": "q1", "lab\n', "line 2 is truncated: .*; export it again"),
        (GOOD.encode() + b"\n[1]\n", "line 2: expected an object, found a list"),
        (b'[{"question_id": "q\xff", "label": "yes"}]', r"f.json is not UTF-8 \(byte 19\); export it again"),
        (GOOD.encode() + b'\n{"question_id": "\xfe", "label": "yes"}\n', "line 2 is not UTF-8"),
        (b'[{"question_id": "q0", "label": "yes", "hypothesis": "\\ud83d"}]', "half of a character"),
        (b'[{"question_id": "\\ud800", "label": "yes"}]', "half of a character"),
        (b'[{"question_id": "a\\u001b[2J", "label": "yes"}]', "not printable"),
        (b'[{"question_id": "' + b"x" * 300 + b'", "label": "yes"}]', "longer than 256 bytes"),
        (b'[{"question_id": null, "label": "yes"}]', "the id '' is empty"),
        (b'[{"question_id": {"a": 1}, "label": "yes"}]', "expected text, found an object"),
        (b'[{"question_id": "q", "label": "yes", "question_type": "a\\nb"}]', "not printable"),
        (b'[{"question_id": "q", "label": "yes", "answer": [["x"]]}]', "expected text, found a list"),
        (b'"text"', "expected a list of objects or JSON lines, found text"),
        (b"PK\x03\x04garbage", "not UTF-8|not valid JSON"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, data: bytes, expected: str) -> None:
    file = tmp_path / "f.json"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=expected) as told:
        bring("longmemeval", file)
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 400
    assert str(tmp_path) not in str(told.value) or data == b""  # a file goes by its name


def test_a_byte_order_mark_and_numbers_as_ids_are_read(tmp_path: Path) -> None:
    file = tmp_path / "f.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + GOOD.replace('"q0"', "7").encode() + b"\r\n\r\n" + GOOD.encode())
    assert list(rows(bring("longmemeval", file))) == ["7", "q0"]
    whole = tmp_path / "g.json"
    whole.write_bytes(b"\xef\xbb\xbf[" + GOOD.encode() + b"]")
    assert list(rows(bring("longmemeval", whole))) == ["q0"]


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_file, "DOCUMENT", 1000)
    monkeypatch.setattr(jsonl, "LINE", 500)
    large = write_json(tmp_path / "large.json", [json.loads(GOOD)] * 30)
    with pytest.raises(UsageError, match="a JSON document is read up to"):
        bring("longmemeval", large)
    long = tmp_path / "long.jsonl"
    long.write_text(GOOD + "\n" + GOOD.replace('"h"', '"' + "h" * 600 + '"') + "\n")
    with pytest.raises(UsageError, match="line 2: longer than"):
        bring("longmemeval", long)
    many = write_lines(tmp_path / "many.jsonl", *({**json.loads(GOOD), "question_id": f"q{i}"} for i in range(100)))
    assert len(bring("longmemeval", many).rows) == 100  # lines are not bounded as a whole


def test_places_that_are_no_files(tmp_path: Path) -> None:
    for place, expected in (
        (tmp_path, "a folder"),
        (tmp_path / "none.json", "cannot be read"),
        (Path("a\0b"), "cannot be read"),
    ):
        with pytest.raises(UsageError, match=expected):
            bring("longmemeval", place)


def test_the_same_bytes_twice_are_no_repeat(tmp_path: Path) -> None:
    one, two = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for file in (one, two):
        file.write_text(GOOD)
    with pytest.raises(UsageError, match=r"b\.jsonl and a\.jsonl are the same bytes"):
        bring("longmemeval", one, two)


def test_markup_and_credentials_out_of_files_stay_text(tmp_path: Path) -> None:
    name = "[bold red]q[/] <script>"
    file = write_json(tmp_path / "f.json", [{"question_id": name, "label": "yes", "question_type": "[link=x]"}])
    assert list(rows(bring("longmemeval", file, harness="imported"))) == [name]
    key = "sk-" + "a1B2" * 8
    model = write_json(tmp_path / "m.json", [{"question_id": "q", "autoeval_label": {"model": key, "label": True}}])
    with pytest.raises(ConfigError, match="looks like a credential"):
        bring("longmemeval", model)


def test_a_file_wholly_failed_is_recorded_and_one_not_understood_is_not(tmp_path: Path) -> None:
    failed = write_json(tmp_path / "f.json", [{"question_id": "q", "label": None}])
    assert "questions without a label: 1 judge_error" in said(bring("longmemeval", failed))
    strange = write_json(tmp_path / "s.json", [{"question_id": "q", "label": "4 stars"}])
    with pytest.raises(UsageError, match="the files say: '4 stars' 1; is this the right format, or column"):
        bring("longmemeval", strange)


def test_expect_names_a_number(tmp_path: Path) -> None:
    file = write_json(tmp_path / "f.json", [json.loads(GOOD)])
    assert bring("longmemeval", file, expect=1).rows
    with pytest.raises(UsageError, match="f: 1 questions, and --expect says 2"):
        bring("longmemeval", file, expect=2)
