"""Data that is damaged, odd or meant to mislead: one clear line, from ``data check`` and from a run alike."""

from __future__ import annotations

import json
import lzma
import os
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.config import HarnessConfig, SliceConfig
from runner.data.tables import rows
from runner.errors import DatasetError
from runner.harness import Harness, build
from runner.harness._base.gold_patches import read_patches
from tests.support.harness_samples import SAMPLES
from tests.support.harness_samples.beam import beam_messages, beam_questions
from tests.support.harness_samples.dialogue_consistency import dialogue_pair, dialogue_pairs
from tests.support.harness_samples.longmemeval import longmemeval_item
from tests.support.harness_samples.membench import membench_qa, membench_seen
from tests.support.harness_samples.memoryagentbench import mab_chats, mab_row
from tests.support.harness_samples.msc_dmr import msc_row


def harness_at(name: str, path: Path, patches: list[str] | None = None, **settings: Any) -> Harness:
    dataset = {"path": str(path), "sha256": None}
    return build(HarnessConfig(name=name, dataset=dataset, patches=patches or [], settings=settings))


def refusal(name: str, path: Path, patches: list[str] | None = None, **settings: Any) -> str:
    """What both say, and that they say the same."""
    told = []
    for run in (lambda harness: harness.check(), lambda harness: harness.census(SliceConfig())):
        with pytest.raises(DatasetError) as caught:
            run(harness_at(name, path, patches, **settings))
        told.append(str(caught.value))
    assert told[0] == told[1]
    assert "\n" not in told[0]
    assert told[0].startswith(f"{name}: ")
    return told[0]


# --- files -----------------------------------------------------------------------------------------------------------

EVERY = ["longmemeval", "beam", "memoryagentbench", "membench", "msc_dmr", "musique", "dialogue_consistency"]


@pytest.mark.parametrize("name", EVERY)
def test_a_path_that_is_no_file(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    assert "is neither a file nor a folder" in refusal(name, tmp_path / "pipe")
    assert "cannot read" in refusal(name, tmp_path / "loop")
    assert "cannot read" in refusal(name, tmp_path / ("x" * 300))
    assert "there is no file" in refusal(name, tmp_path / "none")


# --- Parquet ---------------------------------------------------------------------------------------------------------


def test_parquet_goes_by_its_first_bytes_and_its_text_is_held_to_utf8(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    row = mab_row("eventqa_full", questions=["What?"], answers=[["that"]])
    table = arrow.Table.from_pylist([row])
    parquet.write_table(table, tmp_path / "rows.PARQUET")
    parquet.write_table(table, tmp_path / "rows")
    for name in ("rows.PARQUET", "rows"):
        assert harness_at("memoryagentbench", tmp_path / name).census(SliceConfig()).scenarios == 1
    place = table.column_names.index("context")
    lengths = arrow.py_buffer(b"\0\0\0\0\2\0\0\0")
    broken = arrow.StringArray.from_buffers(1, lengths, arrow.py_buffer(b"\xff\xfe"))
    parquet.write_table(table.set_column(place, "context", broken), tmp_path / "broken.parquet")
    assert "a text is not UTF-8" in refusal("memoryagentbench", tmp_path / "broken.parquet")
    parquet.write_table(table.set_column(place, "context", arrow.array([b"text"])), tmp_path / "bytes.parquet")
    assert "context: expected text, found bytes" in refusal("memoryagentbench", tmp_path / "bytes.parquet")


def test_a_table_is_read_a_row_group_at_a_time(tmp_path: Path) -> None:
    import pyarrow as arrow
    from pyarrow import parquet

    path = tmp_path / "rows.parquet"
    schema = arrow.schema([("text", arrow.string())])
    with parquet.ParquetWriter(path, schema, compression="none", use_dictionary=False) as made:
        for number in range(40):
            made.write_table(arrow.table({"text": [f"{number}" * 500_000]}, schema))
    assert path.stat().st_size > 20_000_000
    before, most = arrow.total_allocated_bytes(), 0
    seen = 0
    for row in rows(path, list):
        seen += 1
        assert isinstance(row, dict)
        most = max(most, arrow.total_allocated_bytes() - before)
    assert seen == 40
    assert most < 8_000_000


# --- BEAM ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, 1.5, [1], True, " "])
def test_a_chat_needs_an_id(tmp_path: Path, name: object) -> None:
    row = {"conversation_id": name, "chat": beam_messages(), "probing_questions": repr(beam_questions())}
    (tmp_path / "rows.json").write_text(json.dumps([row]))
    assert "conversation_id: " in refusal("beam", tmp_path / "rows.json")


def test_a_literal_loses_no_questions(tmp_path: Path) -> None:
    twice = repr(beam_questions())[:-1] + ", 'abstention': []}"
    half = repr(beam_questions()).replace("SECRETGOLD", "\\ud800")
    for text, says in ((twice, "has the field 'abstention' twice"), (half, "half of a character")):
        row = {"conversation_id": "1", "chat": beam_messages(), "probing_questions": text}
        (tmp_path / "rows.json").write_text(json.dumps([row]))
        assert says in refusal("beam", tmp_path / "rows.json")


# --- the archive -----------------------------------------------------------------------------------------------------

FILE = "dialogue_nli_test.jsonl"


def archive(path: Path, *entries: tuple[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", kind) as made:
        for name, data in entries:
            made.writestr(name, data)
    return path


def pairs_in(path: Path) -> int:
    return harness_at("dialogue_consistency", path, distractors=1, sample=None).census(SliceConfig()).questions


def test_which_file_of_an_archive(tmp_path: Path) -> None:
    data, at = json.dumps(dialogue_pairs()).encode(), tmp_path / "dnli.zip"
    for name in (f"dnli/{FILE}", f"../../{FILE}", f"dnli\\{FILE}"):
        assert pairs_in(archive(at, (f"__MACOSX/dnli/{FILE}", b"x"), (f"{FILE}/", b""), (name, data))) == 6
    assert not list(tmp_path.parent.glob(FILE)), "nothing is unpacked"
    archive(at, (f"a/{FILE}", data), (f"b/{FILE}", b"[]"))
    assert f"holds {FILE} 2 times (a/{FILE}, b/{FILE})" in refusal("dialogue_consistency", at)
    archive(at, (f"{FILE}/", b""))
    assert f"holds no {FILE}" in refusal("dialogue_consistency", at)


def test_a_damaged_archive(tmp_path: Path) -> None:
    data, at = json.dumps(dialogue_pairs() * 9).encode(), tmp_path / "dnli.zip"
    archive(at, (FILE, data), kind=zipfile.ZIP_LZMA)
    whole = bytearray(at.read_bytes())
    whole[80:120] = bytes(40)
    at.write_bytes(whole)
    with zipfile.ZipFile(at) as opened, pytest.raises((lzma.LZMAError, EOFError, zipfile.BadZipFile)):
        opened.read(FILE)
    assert "cannot read the archive" in refusal("dialogue_consistency", at)
    archive(at, (FILE, data))
    at.write_bytes(at.read_bytes()[:-9])
    assert "is damaged" in refusal("dialogue_consistency", at)


def test_a_line_of_pairs_is_named(tmp_path: Path) -> None:
    lines = [json.dumps(pair) for pair in dialogue_pairs()]
    lines[3] = lines[3][:-5]
    (tmp_path / "pairs.jsonl").write_text("\n".join(lines))
    assert "pairs.jsonl, line 4 is truncated" in refusal("dialogue_consistency", tmp_path / "pairs.jsonl")
    at = archive(tmp_path / "dnli.zip", (FILE, "\n".join(lines).encode()))
    assert "dnli.zip, line 4 is truncated" in refusal("dialogue_consistency", at)


def test_the_place_of_a_premise_tells_nothing(tmp_path: Path) -> None:
    """Six hundred premises among three others each: every place is taken about as often."""
    pairs = [
        dialogue_pair(n, label, f"premise {n} .", f"hypothesis {n} .", *[["i", f"r{n}", f"o{n}"]] * 2)
        for n, label in enumerate(["positive", "negative", "neutral"] * 200)
    ]
    (tmp_path / FILE).write_text(json.dumps(pairs))
    harness = harness_at("dialogue_consistency", tmp_path / FILE, distractors=3, sample=None)
    places: dict[str, Counter[str]] = {}
    for scenario in harness.load(SliceConfig()):
        (question,) = scenario.questions
        places.setdefault(question.category, Counter()).update(question.gold.evidence)
    assert [counted.total() for counted in places.values()] == [200, 200, 200]
    for counted in places.values():  # 50 a place, five standard deviations of binomial(200, 1/4)
        assert all(abs(counted[f"e{at:05d}"] - 50) < 5 * 37.5**0.5 for at in range(1, 5))


# --- ids, groups, dates ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a\nb", "a\u202eb", "x" * 300, "a\x1b[31m"])
def test_check_refuses_the_ids_that_a_run_does(tmp_path: Path, name: str) -> None:
    (tmp_path / "items.json").write_text(json.dumps([longmemeval_item(name)]))
    assert "is empty, longer than" in refusal("longmemeval", tmp_path / "items.json")
    (tmp_path / "simple.json").write_text(json.dumps({name: [membench_seen(["Hi."], membench_qa("x"))]}))
    assert "is empty, longer than" in refusal("membench", tmp_path / "simple.json")
    labels = tmp_path / "labels.jsonl"
    labels.write_text(json.dumps({"query": "q", "keys": ["k"], "category": name}))
    assert "is empty, longer than" in refusal("retrieval_recall", labels, namespace="there")


def test_sessions_that_lie_before_all_calendars(tmp_path: Path) -> None:
    row = msc_row()
    row["previous_dialogs"][0] |= {"time_num": 9999, "time_unit": "years"}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    assert "line 1, previous_dialogs 1: it lies 36" in refusal("msc_dmr", tmp_path / "rows.jsonl")


def test_a_list_of_labels_is_told(tmp_path: Path) -> None:
    (tmp_path / "labels.json").write_text(json.dumps([{"query": "q", "keys": ["k"]}]))
    assert "is one JSON array; write one object a line" in refusal(
        "retrieval_recall", tmp_path / "labels.json", namespace="there"
    )


def test_counts_are_lines_whatever_the_data_quotes(tmp_path: Path) -> None:
    item = longmemeval_item("q1")
    item["answer_session_ids"] += ["a\nquestions 500", "x" * 10_000]
    (tmp_path / "items.json").write_text(json.dumps([item]))
    (tmp_path / "labels.jsonl").write_text(json.dumps({"query": "q", "keys": ["a\nb"]}))
    (tmp_path / "corpus.jsonl").write_text(json.dumps({"key": "k", "text": "t"}))
    told = harness_at("longmemeval", tmp_path / "items.json").check()
    told += harness_at("retrieval_recall", tmp_path / "labels.jsonl", corpus=str(tmp_path / "corpus.jsonl")).check()
    assert all("\n" not in line and len(line) < 2000 for line in told)


def test_what_is_missing_is_counted_and_what_is_odd_is_refused(tmp_path: Path) -> None:
    row = msc_row()
    del row["dialog"][0]["id"]
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    told = harness_at("msc_dmr", tmp_path / "rows.jsonl").check()
    assert any(
        line.startswith("turn of the current session that names no speaker, taken to alternate: 1") for line in told
    )
    for tid in ([], {}, True, 1.5, " "):
        (tmp_path / "simple.json").write_text(
            json.dumps({"roles": [membench_seen(["Hi."], membench_qa("x"), tid=tid)]})
        )
        assert "roles/0, tid: " in refusal("membench", tmp_path / "simple.json")
    chats = mab_chats()
    chats["metadata"]["question_ids"] = None
    (tmp_path / "chats.jsonl").write_text(json.dumps(chats))
    told = harness_at("memoryagentbench", tmp_path / "chats.jsonl").check()
    assert f"questions of the chats without an id, taken as answerable: {len(chats['questions'])}" in told
    for key, value in (
        ("keypoints", "text"),
        ("question_types", ""),
        ("haystack_sessions", {}),
        ("haystack_sessions", [3]),
    ):
        chats = mab_chats()
        chats["metadata"][key] = value
        summary = mab_row("infbench_sum_eng_shots2", questions=["Q?"], answers=["A"])
        summary["metadata"][key] = value
        (tmp_path / "chats.jsonl").write_text(json.dumps(summary if key == "keypoints" else chats))
        assert f"{key}: expected " in refusal("memoryagentbench", tmp_path / "chats.jsonl")


# --- gold patches ----------------------------------------------------------------------------------------------------

PATCH = {"id": "q1", "action": "fix", "answer": "x", "reason": "r"}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("p.json", json.dumps([PATCH | {"answer": " "}]), "the answer is empty"),
        ("p.json", '[{"id": "q1", "id": "q2", "action": "fix", "answer": "x", "reason": "r"}]', "'id' twice"),
        ("p.yaml", "- {id: q1, id: q2, action: fix, answer: x, reason: r}", "the key 'id' stands twice (line 1)"),
        ("p.yaml", "- &a {id: q1, action: fix, answer: x, reason: r}\n- *a", "aliases (*name) are not read (line 2)"),
        ("p.yaml", "- &a [x, x]\n- [*a, *a]\n", "aliases (*name) are not read (line 2)"),
        (
            "p.json",
            json.dumps(
                [
                    {
                        "question_id": "locomo_0_qa1",
                        "error_type": "AMBIGUOUS",
                        "question": "q",
                        "golden_answer": "x",
                        "correct_evidence": [],
                    }
                ]
            ),
            "has no 'id'; a patch has id, action and reason, and this may be one of another benchmark",
        ),
    ],
)
def test_patches_that_guess(tmp_path: Path, name: str, text: str, says: str) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / "items.json").write_text(json.dumps([longmemeval_item("q1")]))
    assert says in refusal("longmemeval", tmp_path / "items.json", [str(tmp_path / name)])


def test_a_patch_cites_each_event_once(tmp_path: Path) -> None:
    (tmp_path / "items.json").write_text(json.dumps([longmemeval_item("q1")]))
    (tmp_path / "p.json").write_text(
        json.dumps([{"id": "q1", "action": "fix", "evidence": ["s0001/1", "s0001/1"], "reason": "r"}])
    )
    (scenario,) = harness_at("longmemeval", tmp_path / "items.json", [str(tmp_path / "p.json")]).load(SliceConfig())
    assert scenario.questions[0].gold.evidence == ("s0001/1",)
    assert list(read_patches([str(tmp_path / "p.json")]).by_id) == ["q1"]


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_a_system_that_answers_by_itself_is_asked_no_gold(tmp_path: Path, name: str) -> None:
    """It is asked what a reader would be: the choices and a published worked example stand in it, and no label."""
    sample = SAMPLES[name](tmp_path)
    shown = ("SECRETCHOICE", "SECRETDEMO")
    for scenario in build(sample.config).load(SliceConfig()):
        for question in scenario.questions:
            asked = question.reading or question.text
            for text in shown:
                asked = asked.replace(text, "")
            secrets = {secret for secret in sample.secrets if secret in asked}
            assert secrets <= {"For example", "What is right?\\nA."}
            assert question.id not in asked
            assert not any(f"'{event}'" in asked for event in question.gold.evidence)
