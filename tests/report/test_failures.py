"""``report --failures`` over runs written by hand and over a real one, through the command line."""

from __future__ import annotations

import json
import subprocess
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from runner.analysis.misses import Missed
from runner.cli import main
from runner.record.rundir import RunDir
from runner.report import failures
from runner.score.failure_stage import STAGES
from runner.types import GOLD_EXCLUDED, NO_SOURCE_OF_TRUTH, Gold, Hit, Passage, Row, Texts
from tests.support.commands import CommandLine
from tests.support.recorded import answered, arm_config, write_run

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

RAW = "Gustav started as a court reporter."
OTHER = Hit(key="o", text="Zelda has a ferret.", sources=("e2",))
# text, sources of the hit; what is stored; links
CASES: dict[str, dict[str, Any]] = {
    "extraction": {"hits": (OTHER,), "stored": ()},
    "graph_resolution": {"hits": (OTHER,), "stored": ("e1", "e2"), "links": True, "evidence": ("e1", "e2")},
    "retrieval_ranking": {"hits": (OTHER, OTHER)},
    "compression_loss": {"hits": (Hit(key="k", text="Gustav has a job.", sources=("e1",)),)},
    "reader": {"hits": (OTHER, Hit(key="k", text=RAW, sources=("e1",)))},
    "not_verbatim": {"hits": (Hit(key="k", text=RAW, sources=("e1",)),), "gold": "He is well paid"},
    "unknown": {"hits": (Hit(key="k", text="Gustav has a job."),)},
}


def texts(row: Row, stage: str, **changes: Any) -> Texts:
    case = {**CASES[stage], **changes}
    return Texts(
        id=row.id,
        question=case.get("question", "What does Gustav do?"),
        gold=Gold(answers=(case.get("gold", "court reporter"),), evidence=case.get("evidence", ("e1",))),
        hits=case["hits"],
        context="\n".join(hit.text for hit in case["hits"]),
        answers=case.get("answers", ("a midwife",)),
        evidence=(Passage(id="e1", text=RAW), Passage(id="e2", text=OTHER.text)),
        stored=case.get("stored"),
        links=case.get("links", False),
    )


def write(path: Path, rows: Sequence[Row], told: Iterable[Texts], **more: Any) -> Path:
    write_run(path, rows, arm=more.pop("arm", arm_config("a")), **more)
    (path / "texts.jsonl").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in told))
    return path


def one_of_each(path: Path, right: Sequence[int] = (), **more: Any) -> Path:
    """A miss of every stage, of categories 1 and 5 in turn; those in ``right`` were answered."""
    rows = [
        answered(number, number in right, keys="k", category="15"[number % 2], **more) for number in range(len(STAGES))
    ]
    return write(path, rows, [texts(row, stage) for row, stage in zip(rows, STAGES, strict=True)])


def told(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> str:
    got = main(["report", *map(str, words)])
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert got == code, out + err
    return out + err


def cells(text: str, head: str) -> list[str]:
    return next(line for line in text.splitlines() if line.startswith(head))[len(head) :].split()


def test_a_miss_of_every_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, one_of_each(tmp_path / "run"), "--failures")
    assert cells(text, "questions of") == ["n", "missed", *STAGES, "errors"]
    # even numbers are of category 1, odd ones of category 5
    assert cells(text, "1 multi-hop") == ["4", "4", *"1010101"]
    assert cells(text, "5 adversarial") == ["3", "3", *"0101010"]
    assert cells(text, "all") == ["7", "7", *"1111111"]
    assert cells(text, "share of misses") == ["14%"] * 7
    for stage in STAGES:
        assert f"WRONG · {stage}" in text
    assert "why      nothing in the store was made from e1" in text
    assert "evidence e1 not delivered, stored; e2 at rank 1, stored" in text
    assert "gold     court reporter" in text
    assert "answer   a midwife" in text
    assert "   *  2  Gustav started as a court reporter." in text


def test_json_has_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = one_of_each(tmp_path / "run")
    got = json.loads(told(capsys, run, "--failures", "--json"))
    (one,) = got["runs"].values()
    assert one["missed"] == 7
    assert {name: one["outcomes"][name] for name in (*STAGES, "right", "error")} == {
        **dict.fromkeys(STAGES, 1),
        "right": 0,
        "error": 0,
    }
    assert one["by_category"]["5 adversarial"]["graph_resolution"] == 1
    assert [miss["stage"] for miss in one["misses"]] == list(STAGES)
    miss = one["misses"][STAGES.index("reader")]
    assert (miss["id"], miss["category"], miss["label"]) == ("c0/4", "1 multi-hop", "WRONG")
    assert miss["evidence"] == [{"id": "e1", "rank": 2, "stored": None, "text": RAW}]
    assert miss["delivered"] == f"{OTHER.text}\n{RAW}"
    assert (miss["question"], miss["gold"]["answers"], miss["answers"]) == (
        "What does Gustav do?",
        ["court reporter"],
        ["a midwife"],
    )


def test_what_is_listed_can_be_chosen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = one_of_each(tmp_path / "run")
    text = told(capsys, run, "--failures", "--stage", "reader")
    assert text.count(" · WRONG · ") == 1
    assert cells(text, "all")[:2] == ["7", "7"]  # the table stays whole
    for name in ("5", "adversarial", "5 Adversarial"):
        text = told(capsys, run, "--failures", f"--category={name}", "--limit", "2")
        assert text.count(" · WRONG · ") == 2
        assert "1 of 3 misses not shown (--limit N)" in text
    got = json.loads(told(capsys, run, "--failures", "--json", "--category", "5", "--limit=1"))
    assert [miss["id"] for miss in got["runs"]["run"]["misses"]] == ["c0/1"]
    assert " · WRONG · " not in told(capsys, run, "--failures", "--limit", "0")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--stage", "readr"], "no such stage (did you mean 'reader'?)"),
        (["--category", "advers"], "there are 1 multi-hop, 5 adversarial"),
        (["--limit", "-1"], "--limit -1: a whole number"),
        (["--limit", "x"], "--limit x: a whole number"),
        (["--stage"], "--stage: give it a value"),
        (["--stage", "--json"], "--stage: give it a value"),
        (["--reference", "opus"], "--reference: no such flag"),
    ],
)
def test_bad_flags_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str):
    text = told(capsys, one_of_each(tmp_path / "run"), "--failures", *words, code=2)
    assert said in text
    assert text.count("\n") == 1


def test_bad_places_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "takes directories" in told(capsys, "--failures", code=2)
    assert "no such directory" in told(capsys, tmp_path / "none", "--failures", code=2)
    run = one_of_each(tmp_path / "run")
    assert "named twice" in told(capsys, run, run, "--failures", code=2)
    assert "there are --json, --reference NAME and --failures" in told(capsys, run, "--stage", "reader", code=2)


def test_errors_and_excluded_gold_are_no_misses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        answered(0, True, keys="k"),
        answered(1, False, keys="k"),
        answered(2, False, keys="k", flags=(GOLD_EXCLUDED,)),
        answered(3, False, keys="k", status="reader_error", label="", labels=("reader_error",)),
        answered(4, False, keys="k", label="ABSTAIN", labels=("ABSTAIN",)),
    ]
    run = write(tmp_path / "run", rows, [texts(row, "reader") for row in rows], questions=9, fakes=["judge f"])
    text = told(capsys, run, "--failures")
    assert cells(text, "all") == ["3", "2", "0", "0", "0", "0", "2", "0", "1"]
    assert "gold patched away, left out: 1 question" in text
    assert "unfinished: 4 questions not asked yet" in text
    assert "FAKE: judge f" in text
    assert "c0/4 · 1 multi-hop · ABSTAIN · reader" in text
    assert "c0/2" not in text
    assert "c0/3" not in text


def test_the_last_row_and_the_last_texts_of_a_question_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failed = answered(1, False, keys="k", status="search_error", label="", labels=())
    rows = [answered(0, False, keys="k"), failed, answered(1, False, keys="k"), answered(0, False, keys="k")]
    said = [texts(rows[0], "reader"), texts(rows[2], "unknown"), texts(rows[0], "compression_loss")]
    text = told(capsys, write(tmp_path / "run", rows, said, questions=2), "--failures")
    assert cells(text, "all") == ["2", "2", "0", "0", "0", "1", "0", "0", "1"]
    assert text.count("c0/0 ·") == 1


def test_repeats_are_told_by_what_was_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = answered(0, False, keys="k")
    run = write(tmp_path / "run", [row], [texts(row, "reader", answers=("a midwife", "a nurse", "a midwife"))])
    text = told(capsys, run, "--failures")
    assert "answer   (2 of 3) a midwife" in text
    assert "answer   (1 of 3) a nurse" in text


# --- records that do not tell -----------------------------------------------------------------------------------------


def test_a_record_without_the_newer_fields(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Recorded before raw evidence was: lines without `evidence`, `stored` and `links`."""
    rows = [answered(number, False, keys="k") for number in range(3)]
    run = write(tmp_path / "run", rows, [])
    hits = [{"key": "k", "text": "he has a job", "sources": ["e1"]}, {"key": "o", "text": RAW, "sources": ["e1"]}]
    lines = [
        {"id": rows[0].id, "question": "?", "gold": {"answers": ["court reporter"], "evidence": ["e1"]}, "hits": hits},
        {"id": rows[1].id, "question": "?", "gold": {"answers": ["court reporter"]}, "hits": hits[:1]},
        {"id": rows[2].id, "question": "?", "gold": {"answers": ["midwife"], "evidence": ["e1"]}, "hits": hits},
    ]
    (run / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = told(capsys, run, "--failures")
    assert cells(text, "all") == ["3", "3", "0", "0", "0", "0", "1", "0", "2"]
    assert "no event is labelled as evidence, and the raw events are not recorded" in text
    assert "the evidence was delivered without the answer's words, and the raw events are not recorded" in text


def test_a_run_that_kept_no_texts_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [answered(number, number > 0) for number in range(3)]
    off = write_run(tmp_path / "0-off", rows, arm=arm_config("a"), config={"run": {"texts": False}})
    lines = told(capsys, off, "--failures", code=1).splitlines()
    assert len(lines) == 1
    assert "kept no texts of what it missed (run.texts=false), so that no stage can be told" in lines[0]
    one_of_each(tmp_path / "1-on")
    text = told(capsys, tmp_path, "--failures", code=1)  # the other run is told all the same
    assert "0-off: " in text
    assert "WRONG · reader" in text
    got = json.loads(told(capsys, tmp_path, "--failures", "--json", code=1))
    assert list(got["runs"]) == ["1-on"]
    assert list(got["unreadable"]) == ["0-off"]
    right = write_run(tmp_path / "2-right", rows[1:], arm=arm_config("a"))
    assert cells(told(capsys, right, "--failures"), "all")[:2] == ["2", "0"]  # nothing to tell of


def test_misses_without_texts_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [answered(0, False, keys="k"), answered(1, False, keys="k")]
    text = told(capsys, write(tmp_path / "run", rows, [texts(rows[1], "reader")]), "--failures")
    assert cells(text, "all") == ["2", "2", "0", "0", "0", "0", "1", "0", "1"]
    assert "1 miss without recorded texts: counted as unknown, not listed" in text


def test_damage_is_one_line_and_nothing_before_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = one_of_each(tmp_path / "run")
    with (run / "texts.jsonl").open("ab") as file:
        file.write(b'{"id": 7}\n')
    for words in ([], ["--json"]):
        lines = told(capsys, run, "--failures", *words, code=1).splitlines()
        assert len(lines) == 1
        assert "texts.jsonl:8: not a line that this version wrote" in lines[0]
    rows = [answered(0, False, label="BANANA")]
    assert "'BANANA' is not one that a judge gives" in told(
        capsys, write(tmp_path / "b", rows, []), "--failures", code=1
    )


def test_recorded_text_is_not_obeyed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = answered(0, False, keys="k", category="[red]9\x1b[2J")
    evil = "x\x1b[2J\u202e [bold]y[/bold]\nc0/9 · forged · CORRECT · reader " + "z" * 900
    said = texts(row, "reader", question=evil, answers=(evil,), gold=evil, hits=(Hit(key=evil, text=evil),))
    text = told(capsys, write(tmp_path / "run", [row], [said]), "--failures")
    assert "[bold]y[/bold]" in text
    assert "\u202e" not in text
    assert not any(line.startswith("c0/9") for line in text.splitlines())
    assert max(map(len, text.splitlines())) < 500


def test_a_system_that_does_not_say_what_it_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It answers by itself: no digest of keys, no hits. One that found nothing has the digest of no keys."""
    untold, empty = answered(0, False, keys=""), answered(1, False, keys="0123456789abcdef")
    run = write(tmp_path / "run", [untold, empty], [texts(row, "reader", hits=()) for row in (untold, empty)])
    text = told(capsys, run, "--failures")
    assert "what it read for the answer is not recorded" in text
    assert "nothing was delivered" in text
    assert cells(text, "all") == ["2", "2", "0", "0", "1", "0", "0", "0", "1"]


def test_a_system_that_lost_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    row = answered(0, False, keys="k", flags=(NO_SOURCE_OF_TRUTH,))
    text = told(capsys, write(tmp_path / "run", [row], [texts(row, "reader", hits=())]), "--failures")
    assert "WRONG · extraction" in text


# --- the recall axis, sweeps ------------------------------------------------------------------------------------------


def searched(number: int, at_k: float | None, anywhere: float | None) -> Row:
    metrics = {"recall@10": at_k, "recall@all": anywhere}
    return answered(number, True, keys="k", label="", labels=(), metrics=metrics)


def test_the_recall_axis(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        searched(0, 1.0, 1.0),
        searched(1, 0.0, 0.0),
        searched(2, 0.0, 1.0),  # found, beyond the first ten
        searched(3, None, 0.0),  # a system that does not rank
        searched(4, None, None),
    ]
    late = texts(rows[2], "reader", hits=(*[OTHER] * 10, Hit(key="k", text=RAW, sources=("e1",))))
    said = [texts(rows[1], "extraction"), late, texts(rows[3], "retrieval_ranking")]
    text = told(capsys, write(tmp_path / "run", rows, said, axis="recall"), "--failures")
    assert cells(text, "all") == ["4", "3", "1", "0", "2", "0", "0", "0"]
    assert "none of whose hits comes from its evidence (the first 10 hits count)" in text
    assert "the evidence comes at rank 11, beyond the first 10 that count" in text
    assert "not measurable, left out: 1 question" in text
    assert "c0/1 · 1 multi-hop · extraction" in text


def test_the_recall_axis_of_a_share_counts_its_depth_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [searched(0, None, 1.0), searched(1, None, 1.0)]
    rows[0].metrics["fraction@5"], rows[1].metrics["fraction@5"] = 0.5, 0.0  # a part is found; beyond the first five
    late = texts(rows[1], "reader", hits=(*[OTHER] * 5, Hit(key="k", text=RAW, sources=("e1",))))
    path = write(tmp_path / "run", rows, [late], axis="recall")
    instrument = json.loads((path / "instrument.json").read_text())
    instrument["harness"]["headline"] = "fraction@5"
    (path / "instrument.json").write_text(json.dumps(instrument))
    text = told(capsys, path, "--failures")
    assert cells(text, "all")[:2] == ["2", "1"]
    assert "the evidence comes at rank 6, beyond the first 5 that count" in text


def test_what_became_of_them_in_another_arm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one_of_each(tmp_path / "0-a")
    rows = [answered(number, number == 4, keys="k", category="15"[number % 2]) for number in range(len(STAGES))]
    rows[0] = replace(rows[0], status="search_error")
    said = [texts(row, "reader" if number == 2 else STAGES[number]) for number, row in enumerate(rows)]
    write(tmp_path / "1-b", rows, said, arm=arm_config("b"))
    text = told(capsys, tmp_path, "--failures", "--limit", "0")
    assert "0-a → 1-b" in text
    moved = text[text.index("0-a → 1-b") :]
    assert cells(moved, "in 0-a")[0] == "questions"
    assert not any(line.startswith("extraction") for line in moved.splitlines())  # an error there: in neither
    got = json.loads(told(capsys, tmp_path, "--failures", "--json"))["moved"]
    (pair,) = got
    assert (pair["from"], pair["to"]) == ("0-a", "1-b")
    assert {k: n for k, n in pair["questions"]["retrieval_ranking"].items() if n} == {"reader": 1}
    assert {k: n for k, n in pair["questions"]["reader"].items() if n} == {"right": 1}
    assert sum(sum(row.values()) for row in pair["questions"].values()) == 6


def test_runs_of_other_questions_do_not_move(tmp_path: Path) -> None:
    first = Missed(RunDir(one_of_each(tmp_path / "a")))
    rows = [answered(number, False, keys="k") for number in range(40, 44)]
    other = Missed(RunDir(write(tmp_path / "b", rows, [texts(row, "reader") for row in rows])))
    assert first.transitions(other) is None
    recall = Missed(RunDir(write(tmp_path / "c", [searched(0, 1.0, 1.0)], [], axis="recall")))
    assert first.transitions(recall) is None


# --- a real run -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory, command_line: CommandLine) -> Path:
    folder = tmp_path_factory.mktemp("real")
    words = ["-m", "+arm=bm25,oracle", "reader=extractive_fake", "judge=lexical_fake", "hydra.sweep.dir=sweep"]
    small = ["harness.settings.scenarios=12", "harness.settings.questions=4"]
    done = command_line.run(*words, *small, cwd=folder, MEMORY_RUNNER_CACHE=str(folder / "cache"))
    assert done.returncode in (1, 5), done.stderr
    return folder / "sweep"


@pytest.mark.long
def test_a_real_run(sweep: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("report", str(sweep), "--failures", "--json", MEMORY_RUNNER_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    runs = json.loads(done.stdout)["runs"]
    bm25, oracle = runs["0-bm25"], runs["1-oracle"]
    assert bm25["outcomes"]["unknown"] == 0
    for one in (bm25, oracle):
        assert sum(one["outcomes"].values()) == 48
        assert len(one["misses"]) == one["missed"] == sum(one["outcomes"][stage] for stage in STAGES)
    # The oracle delivers the evidence verbatim: whatever is missed then, no search missed it.
    assert {miss["stage"] for miss in oracle["misses"]} <= {"reader", "not_verbatim"}
    assert {miss["stage"] for miss in bm25["misses"]} <= {"retrieval_ranking", "reader", "not_verbatim"}
    for miss in bm25["misses"]:
        ranks = [one["rank"] for one in miss["evidence"]]
        assert all(one["text"] for one in miss["evidence"])
        if miss["stage"] == "retrieval_ranking":
            assert None in ranks
            cited = {source for hit in miss["hits"] for source in hit["sources"]}
            assert not cited & {one["id"] for one in miss["evidence"] if one["rank"] is None}


@pytest.mark.long
def test_a_real_run_is_shown(sweep: Path, cli: Cli, tmp_path: Path) -> None:
    done = cli("report", str(sweep), "--failures", "--limit=2", MEMORY_RUNNER_CACHE=str(tmp_path / "cache"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "0-bm25 → 1-oracle" in done.stdout
    assert done.stdout.count(" · WRONG · ") == 4
    assert "FAKE" in done.stdout


def test_memory_does_not_grow_with_the_misses(tmp_path: Path) -> None:
    """The texts of 800 misses are 32 MB; what is kept of them is a few numbers a question."""
    rows = [answered(number, False, keys="k") for number in range(800)]
    long = Hit(key="k", text="words " * 3400, sources=("e2",))
    run = write(tmp_path / "run", rows, (texts(row, "reader", hits=(long,), stored=("e1",)) for row in rows))
    assert (run / "texts.jsonl").stat().st_size > 32e6
    tracemalloc.start()
    try:
        missed = Missed(RunDir(run))
        pieces = sum(len(piece) for piece in failures.failures_json(missed, missed.misses()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert pieces > 32e6
    assert peak < 12e6
