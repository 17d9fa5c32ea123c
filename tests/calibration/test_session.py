"""Probes against a server that fails in every way: nothing lost, paid twice or counted as wrong."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.calibration import file
from runner.calibration.calibrate import make
from runner.calibration.prepare import prepare
from runner.calibration.session import CalibrationDir
from runner.config import Experiment, load
from runner.errors import ConfigError, EndpointUnusable, Refused, RunnerError, Stopped, UsageError
from runner.types import Row
from tests.support.calibrations import between, honest
from tests.support.servers import Stub

PROBES = 12  # a kind


class Watch:
    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.done = 0

    def begin(self, total: int, done: int) -> None:
        self.total, self.done = total, done

    def row(self, row: Row, usd: float) -> None:
        self.rows.append(row)

    def note(self, text: str) -> None:
        pass

    def end(self) -> None:
        pass


def experiment(url: str, *, repeats: int = 1, **run: Any) -> Experiment:
    model = {
        "provider": "openai", "model": "gpt-4.1-mini", "base_url": url, "params": {"temperature": 0},
        "timeout_s": 5, "deadline_s": 10, "attempts": 1,
    }  # fmt: skip
    return load(
        {
            "harness": {"name": "synthetic_memory"},
            "arm": {"name": "no_memory", "system": "none"},
            "reader": {**model, "name": "r", "prompt": "locomo_qa"},
            "judge": {**model, "name": "j", "rubric": "locomo_lenient", "abstain_rubric": "abstention"},
            "run": {"repeats": repeats, **run},
        }
    )


def calibrate(folder: Path, config: Experiment, *, retry: bool = False, **how: Any) -> file.Calibration:
    place = CalibrationDir(folder)
    place.claim()
    try:
        return make(place, prepare(config, per_kind=PROBES, **how), Watch(), retry_errors=retry)
    finally:
        place.release()


def test_an_honest_judge(tmp_path: Path) -> None:
    with Stub(answer=honest, model="served-1") as stub:
        made = calibrate(tmp_path, experiment(stub.url, repeats=3))
        assert stub.state.requests == 3 * 3 * PROBES
    assert made.state == "complete"
    assert {kind: (t.probes, t.graded, t.passed) for kind, t in made.kinds.items()} == {
        "right": (PROBES, PROBES, PROBES),
        "specific": (PROBES, PROBES, 0),
        "vague": (PROBES, PROBES, 0),
    }
    assert [(r.graded, r.passed) for r in made.kinds["right"].repeats] == [(PROBES, PROBES)] * 3
    assert {c: k["right"].probes for c, k in made.categories.items()} == dict.fromkeys("123456", 2)
    assert made.youden["specific"].j == 1.0
    assert made.served == ["served-1"]
    assert made.fakes == []
    assert made.rows["judge.model"] == "openai:gpt-4.1-mini"
    assert made.rows["repeats"] == 3
    assert made.usage["judge"].calls == 108
    assert file.read(tmp_path) == made
    assert file.read(tmp_path / "calibration.json") == made
    lines = [json.loads(line) for line in (tmp_path / "probes.jsonl").read_text().splitlines()]
    assert Counter(line["kind"] for line in lines) == dict.fromkeys(("right", "specific", "vague"), PROBES)
    assert all(line["wording"].startswith("template:") and line["labels"] for line in lines)
    texts = [json.loads(line) for line in (tmp_path / "texts.jsonl").read_text().splitlines()]
    assert {text["id"] for text in texts} == {line["id"] for line in lines}
    assert texts[0]["reasons"] == ["looked"] * 3


def test_an_abstention_is_no_pass_and_an_error_is_not_wrong(tmp_path: Path) -> None:
    replies = iter(range(10_000))

    def judge(body: dict[str, Any]) -> str:
        return '{"label": "ABSTAIN"}' if next(replies) % 2 else "I would rather not say"

    with Stub(answer=judge) as stub:
        made = calibrate(tmp_path, experiment(stub.url, concurrency=1, stop_after_errors=None))
    for tally in made.kinds.values():
        assert tally.passed == 0
        assert tally.abstained + tally.errors == tally.probes
        assert tally.rate == 0.0
        assert tally.errors == PROBES / 2
    assert made.state == "unusable"
    assert "6 of 12 probes (50.0%) could not be graded, above 5%" in made.reason
    assert "I would rather not say" in made.reason


def test_the_same_place_goes_on_and_a_finished_one_costs_nothing(tmp_path: Path) -> None:
    with Stub(answer=honest) as stub:
        config = experiment(stub.url, repeats=2, max_calls=31, concurrency=4)
        with pytest.raises(Stopped, match="max_calls=31"):
            calibrate(tmp_path, config)
        assert stub.state.requests == 31
        assert file.read(tmp_path).state == "incomplete"
        assert "max_calls=31" in file.read(tmp_path).reason
        made = calibrate(tmp_path, experiment(stub.url, repeats=2))
        assert stub.state.requests == 2 * 3 * PROBES
        assert made.state == "complete"
        again = calibrate(tmp_path, experiment(stub.url, repeats=2))
        assert stub.state.requests == 2 * 3 * PROBES
        assert again.kinds == made.kinds
        assert again.started == made.started


def test_failed_probes_are_asked_again_when_told_and_only_they(tmp_path: Path) -> None:
    with Stub(answer=honest, every={4: "500"}) as stub:
        config = experiment(stub.url, concurrency=1)
        made = calibrate(tmp_path, config)
        assert made.state == "unusable"
        failed = sum(tally.errors for tally in made.kinds.values())
        assert failed == 9
        stub.state.every = {}
        assert calibrate(tmp_path, config).state == "unusable"
        assert stub.state.requests == 36
        made = calibrate(tmp_path, config, retry=True)
        assert stub.state.requests == 36 + failed
    assert made.state == "complete"
    assert made.kinds["right"].passed == PROBES
    assert sum(tally.probes for tally in made.kinds.values()) == 36


@pytest.mark.parametrize("fault", ["garbage", "drop", "html", "empty_text", "truncated"])
def test_a_sick_server_gives_no_calibration(tmp_path: Path, fault: str) -> None:
    with Stub(always=fault) as stub:
        config = experiment(stub.url, stop_after_errors=5, concurrency=2)
        with pytest.raises(RunnerError) as caught:
            calibrate(tmp_path, config)
    assert isinstance(caught.value, Stopped | EndpointUnusable)
    made = file.read(tmp_path)
    assert made.state == "incomplete"
    assert all(tally.rate is None for tally in made.kinds.values())
    assert made.youden == {}


def test_another_calibration_is_not_mixed_in(tmp_path: Path) -> None:
    with Stub(answer=honest) as stub:
        calibrate(tmp_path / "a", experiment(stub.url))
        for how, said in (
            ({"seed": 8}, "another seed: 7 there, 8 here"),
            ({"phrasing": "reader"}, r"another wording \(by\): 'templates' there, 'reader' here"),
        ):
            with pytest.raises(Refused, match=said):
                calibrate(tmp_path / "a", experiment(stub.url), **how)
        with pytest.raises(Refused, match="another repeats: 1 there, 3 here"):
            calibrate(tmp_path / "a", experiment(stub.url, repeats=3))
        seen = stub.state.requests
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        calibrate(tmp_path / "b", experiment("http://127.0.0.1:9/v1"))
    assert seen == 36
    assert {path.name for path in (tmp_path / "b").iterdir()} == {"notes.txt", "lock"}


def test_a_damaged_line_is_one_clear_error(tmp_path: Path) -> None:
    with Stub(answer=honest) as stub:
        config = experiment(stub.url)
        calibrate(tmp_path, config)
        path = tmp_path / "probes.jsonl"
        whole = path.read_bytes()
        path.write_bytes(whole.replace(b'"kind":"vague"', b'"kind":"odd"', 1))
        with pytest.raises(RunnerError, match="is no graded probe"):
            calibrate(tmp_path, config)
        path.write_bytes(whole[:-20])  # a torn last line is graded again, from the recorded reply
        seen = stub.state.requests
        assert calibrate(tmp_path, config).kinds["right"].probes == PROBES
        assert stub.state.requests == seen


# --- worded by a reader ----------------------------------------------------------------------------------------------


def wordy(body: dict[str, Any]) -> str:
    """A reader that rewords, beside an honest judge."""
    prompt = body["messages"][0]["content"]
    if "reword" in prompt:
        return f"I think that it was {between(body, 'answer')}"
    if "sounds like one and says nothing" in prompt:
        return "Oh, they went on about that for a while"
    return honest(body)


def test_a_reader_words_the_probes(tmp_path: Path) -> None:
    with Stub(answer=wordy) as stub:
        made = calibrate(tmp_path, experiment(stub.url), phrasing="reader")
        assert stub.state.requests == 2 * 3 * PROBES
        calibrate(tmp_path, experiment(stub.url), phrasing="reader")
        assert stub.state.requests == 2 * 3 * PROBES
    assert (made.wording.by, made.wording.reader, made.wording.template, made.wording.refused) == ("reader", 36, 0, 0)
    assert made.wording.model == "openai:gpt-4.1-mini"
    assert set(made.wording.prompts) == {"probe_answer", "probe_vague"}
    assert "SQuAD token" in made.wording.check
    assert (made.kinds["right"].rate, made.kinds["specific"].rate, made.kinds["vague"].rate) == (1.0, 0.0, 0.0)
    rows = list(CalibrationDir(tmp_path).rows())
    assert all(row.text.startswith(("I think that it was ", "Oh, they went on")) for row in rows)


@pytest.mark.parametrize("reply", ["NOT MENTIONED", "x" * 5000, "something else entirely"])
def test_a_reply_that_does_not_pass_is_replaced_and_counted(tmp_path: Path, reply: str) -> None:
    def reader(body: dict[str, Any]) -> str:
        return honest(body) if between(body, "reference") else reply

    with Stub(answer=reader) as stub:
        made = calibrate(tmp_path, experiment(stub.url), phrasing="reader")
    vague = 0 if reply != "something else entirely" else PROBES  # which is vague enough for a vague one
    assert (made.wording.reader, made.wording.template, made.wording.refused) == (vague, 36 - vague, 36 - vague)
    assert made.kinds["right"].rate == 1.0


def test_a_reader_that_corrects_a_wrong_answer_is_not_used(tmp_path: Path) -> None:
    config = experiment("http://127.0.0.1:9/v1")
    setup = prepare(config, per_kind=PROBES, phrasing="reader")
    assert setup.rephrasing is not None
    (wrong,) = [probe for probe in setup.plan.probes if probe.kind == "specific"][:1]
    (right,) = [probe for probe in setup.plan.probes if probe.id == wrong.id.replace("specific", "right")]
    for said, passes in (
        (f"It is {wrong.fact}", True),
        (f"It is {wrong.fact}, or rather {wrong.item.gold}", False),
        (wrong.item.gold, False),
        ("", False),
    ):
        assert (setup.rephrasing.accepted(wrong, said) is not None) is passes
    assert setup.rephrasing.accepted(right, f"  It is\n{right.fact} ") == f"It is {right.fact}"


def test_a_failing_reader_costs_no_probe(tmp_path: Path) -> None:
    with Stub(answer=wordy, plan=["500", "ok"] * 36) as stub:  # one by one: the reader fails, the judge answers
        made = calibrate(tmp_path, experiment(stub.url, concurrency=1), phrasing="reader")
    assert made.state == "complete"
    assert (made.wording.reader, made.wording.template, made.wording.refused) == (0, 36, 36)


def test_what_cannot_be_calibrated(tmp_path: Path) -> None:
    config = experiment("http://127.0.0.1:9/v1")
    none = config.model_copy(update={"judge": config.judge.model_copy(update={"provider": "none", "name": "none"})})
    with pytest.raises(ConfigError, match="a judge is what is calibrated"):
        prepare(none, per_kind=9)
    unread = config.model_copy(update={"reader": config.reader.model_copy(update={"provider": "imported"})})
    with pytest.raises(ConfigError, match="asks one to word the probes"):
        prepare(unread, per_kind=9, phrasing="reader")
    with pytest.raises(UsageError, match="--probes 0"):
        prepare(config, per_kind=0)
