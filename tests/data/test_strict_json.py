"""JSON that one decoder reads so and another one otherwise is refused, by the line and by the stream alike."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from runner.data.json_document import decode_json
from runner.data.json_stream import members, records
from runner.data.jsonl import json_lines, objects
from runner.data.result_file import open_result_file, read_document
from runner.data.strict_json import SurrogateGuard, UnsoundJsonError, parse_strictly
from runner.errors import DatasetError, Remedy
from runner.harness._base.faults import faults_of

# A text inside a list, and what is wrong with it; None: nothing.
FACES = r"\ud83d\ude00"
CASES = [
    (r'"\ud83d"', "half of a character"),
    (r'"\uDE00"', "half of a character"),
    (r'"\ud83d\u0041"', "half of a character"),
    (r'"\ude00\ud83d"', "half of a character"),
    (rf'"{FACES}\ud83d"', "half of a character"),
    (r'"\\\ud83d"', "half of a character"),  # a backslash, then the half
    (rf'"{FACES}{FACES}"', None),
    (r'"\\ud83d"', None),  # a backslash and five letters
    (rf'"\\\\\\{FACES}"', None),
    (r'{"\ud83d": 1}', "half of a character"),
    ('{"a": 1, "b": 2, "a": 3}', "has the field 'a' twice in one object"),
    ('{"b": {"a": 1, "a": 1}}', "has the field 'a' twice in one object"),
    ('[{"a": 1}, {"a": 1}]', None),
    ("1e400", "number that is none|numeric"),
    ("-1e400", "number that is none|numeric"),
    ("NaN", "JSON"),
    ("-Infinity", "JSON"),
    ("1" * 5000, "number of 5000 digits|overflow"),
    ("[" * 20_000, "nested too deeply"),
]
IDS = [text[:24] for text, _ in CASES]


@pytest.mark.parametrize(("text", "says"), CASES, ids=IDS)
def test_the_whole_and_the_stream_and_the_line_agree(tmp_path: Path, text: str, says: str | None) -> None:
    whole = f"[{text}]".encode()
    (tmp_path / "list.json").write_bytes(whole)
    (tmp_path / "members.json").write_bytes(b'{"topic": ' + whole + b"}")
    (tmp_path / "lines.jsonl").write_bytes(b'{"item": ' + whole + b"}\n")
    listed, lines = open_result_file(str(tmp_path / "list.json")), open_result_file(str(tmp_path / "lines.jsonl"))
    readers = [
        lambda: decode_json("it", whole),
        lambda: list(records(tmp_path / "list.json")),
        lambda: [value for _, value in members(tmp_path / "members.json", "it is another")],
        lambda: [item for _, value in json_lines(tmp_path / "lines.jsonl") for item in value["item"]],
        lambda: read_document(listed),  # results of another harness
        lambda: [item for _, value in objects(lines) for item in value["item"]],
    ]
    if says is None:
        told = [read() for read in readers]
        assert told == [told[0]] * len(readers)
        return
    for read in readers:
        with pytest.raises(DatasetError, match=says) as caught:
            read()
        assert caught.value.remedy is not Remedy.STATED
        assert "\n" not in str(caught.value)


def test_a_key_of_the_outer_objects_stands_once(tmp_path: Path) -> None:
    (tmp_path / "twice.json").write_text('{"topic": [1], "other": [2], "topic": [3]}')
    with pytest.raises(DatasetError, match="has the field 'topic' twice"):
        list(members(tmp_path / "twice.json", "it is another"))


@pytest.mark.parametrize("size", range(1, 15))
def test_an_escape_that_two_reads_share(size: int) -> None:
    def read(text: str) -> bytes:
        file = SurrogateGuard(io.BytesIO(text.encode()))
        found = b""
        while more := file.read(size):
            found += more
        return found

    for text, says in CASES[:9]:
        padded = f'["padding", {text}, "more"]'
        if says is None:
            assert read(padded) == padded.encode()
        else:
            with pytest.raises(UnsoundJsonError, match=says):
                read(padded)


def test_what_python_reads_is_read() -> None:
    assert parse_strictly('{"a": [1, 2.5, null, true, "\\u00e9"]}') == {"a": [1, 2.5, None, True, "é"]}


def test_white_space_before_a_list_is_none_of_it(tmp_path: Path) -> None:
    (tmp_path / "list.json").write_text(" \n" * 200_000 + "[1]")
    assert list(records(tmp_path / "list.json")) == [1]


def test_a_fault_is_told_once_with_its_benchmark_and_what_to_type() -> None:
    with pytest.raises(DatasetError) as caught, faults_of("musique"), faults_of("musique"):
        decode_json("list.json", b"[1e999]")
    assert str(caught.value) == (
        "musique: list.json has a number that is none (1e999); export it again as UTF-8, mended, or give another copy "
        "with harness.dataset.path=FILE"
    )


def test_nan_is_null_only_where_a_writer_means_it_so() -> None:
    assert decode_json("it", b"[NaN]", nan_is_null=True) == [None]
    with pytest.raises(DatasetError, match="number that is none"):
        decode_json("it", b"[1e999]", nan_is_null=True)
