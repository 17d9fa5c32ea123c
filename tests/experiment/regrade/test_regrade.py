"""Another judge over recorded answers: what is kept, what is new, what has no answer, what is drawn."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from runner.analysis.summary import summary_of
from runner.config import ModelConfig, load
from runner.errors import ConfigError, RecordError, Refused, RunnerError, Stopped, UsageError
from runner.experiment import regrade
from runner.experiment.plan.regrade_forecast import forecast
from runner.experiment.regrade.source import config_of_recorded, open_recorded, sample_ids
from runner.record.provenance import answers_of
from runner.record.rundir import RunDir
from runner.stats.allocation import proportional_counts
from runner.types import Row
from tests.support.answersets import by_rule, item, plain_items, rows_of, texts_of, write_source
from tests.support.servers import Stub


class Silent:
    """Watches and says nothing."""

    def begin(self, total: int, done: int) -> None: ...
    def row(self, row: Row, usd: float) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self) -> None: ...


def values_of(source: Path, judge: dict[str, Any], **run: Any) -> dict[str, Any]:
    return config_of_recorded({"judge": judge, "gate": {}, "run": {"from": str(source), **run}})


def chat(url: str, model: str, **more: Any) -> dict[str, Any]:
    return {
        "name": model,
        "provider": "openai",
        "model": model,
        "rubric": "locomo_lenient",
        "abstain_rubric": "abstention",
        "base_url": url,
        "api_key_env": None,
        **more,
    }


FAKE = {"name": "lexical_fake", "provider": "fake", "model": "lexical", "rubric": "locomo_lenient"}


def regraded(path: Path, values: dict[str, Any], *, retry_errors: bool = False) -> RunDir:
    """Begin a run of a judge, or go on with one."""
    run = RunDir(path)
    experiment = load(values)
    if not run.config_path.exists():
        run.create(experiment.model_dump(mode="json"))
    else:
        run.claim()
    try:
        regrade.execute(run, regrade.prepare(experiment), Silent(), retry_errors=retry_errors)
    finally:
        run.release()
    return run


def test_what_was_recorded_stays_and_the_labels_are_new(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", plain_items(4, 3, 5))
    with Stub(answer=by_rule, fingerprint="fp") as stub:
        run = regraded(tmp_path / "new", values_of(source, chat(stub.url, "strict")))
        assert stub.state.requests == 12
    old, new = rows_of(source), rows_of(run.path)
    assert list(old) != []
    assert old.keys() == new.keys()
    for name, row in new.items():
        then = old[name]
        for key in ("scenario", "cluster", "category", "keys", "context", "hits", "chars", "flags", "metrics"):
            assert row[key] == then[key]
        assert {k: row["usage"][k] for k in ("search", "reader")} == {k: then["usage"][k] for k in ("search", "reader")}
        assert row["usage"]["judge"]["input_tokens"] == 100
        assert row["started"] > then["started"]
        # No call of the old run is recorded, so that who served what is not known: what served stays, and is added to.
        assert row["models"] == ["reader-served", "old-judge-served", "strict"]
        text = texts_of(run.path)[name]
        assert {**text, "reasons": []} == {**texts_of(source)[name], "reasons": []}
        assert text["reasons"] == ["by strict"]
        assert row["label"] == ("CORRECT" if text["answers"][0].startswith("plain") else "WRONG")
    summary = run.summary()
    assert summary is not None
    assert summary.state == "complete"
    # Only the judge's calls are spent: the reader's and the search's were, once.
    assert {stage: spent.calls for stage, spent in summary.usage.items()} == {"search": 0, "judge": 12}
    assert summary.groups["overall_comparable"]["accuracy_abstain_wrong"] == pytest.approx(4 / 12)


def test_the_instrument_is_the_sources_with_another_judge(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", plain_items(2, 0, 2), fakes=["reader r", "judge old"])
    run = regraded(tmp_path / "new", values_of(source, FAKE))
    then, now = RunDir(source).instrument(), run.instrument()
    changed = {name for name, value in now.rows.items() if then.rows[name] != value}
    assert changed == {"judge.model", "judge.params", "judge.rubric"}
    assert now.rows["judge.model"] == "fake:lexical"
    assert now.fakes == ["reader r", "judge lexical_fake"]
    assert (now.census, now.harness) == (then.census, then.harness)
    told = run.read_json("provenance.json")["source"]
    assert told["run"] == "src"
    assert told["judge"]["judge.model"] == "imported:their-judge"
    assert told["answers"] == told["texts_sha256"] == answers_of(run) == answers_of(RunDir(source))
    again = regraded(tmp_path / "again", values_of(run.path, FAKE))
    last = again.read_json("provenance.json")["source"]
    assert last["run"] == "new"
    assert last["texts_sha256"] != told["texts_sha256"]
    assert last["answers"] == told["answers"]  # the same answers, whoever graded them in between
    assert last["judge"] == told["judge"]


def test_who_served_is_told_apart_where_calls_are_recorded(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", plain_items(1, 0, 0))
    calls = [("reader", "served-both"), ("judge", "served-both")]
    lines = [
        json.dumps(
            {"question": "c0/0", "role": role, "repeat": 0, "request": "x", "completion": {"text": "t", "model": m}}
        )
        for role, m in calls
    ]
    (source / "calls.jsonl").write_text("\n".join(lines) + "\n")
    run = regraded(tmp_path / "new", values_of(source, FAKE))
    assert rows_of(run.path)["c0/0"]["models"] == ["served-both", "fake:lexical"]


def test_every_repeat_and_every_kind_of_failure(tmp_path: Path) -> None:
    source = write_source(
        tmp_path / "src",
        [
            item(0, ["plain a", "bad b", "plain c"], ["WRONG", "WRONG", "WRONG"]),
            item(1, ["plain a", "", "bad c"], ["CORRECT", "reader_error", "CORRECT"]),
            item(2, ["", "", ""], ["reader_error"] * 3, status="reader_error"),
            item(3, ["plain a", "plain b", "bad c"], ["judge_error"] * 3, status="judge_error"),
            item(4, ["plain a", "bad b", "bad c"], ["judge_unparseable"] * 3, status="judge_unparseable"),
            item(5, [], [], status="search_error"),
            item(6, "loose graded three times", ["CORRECT", "CORRECT", "WRONG"]),
            item(7, ["plain never graded"], []),
            item(8, [], ["CORRECT"]),  # a label without its answer
            item(9, "I don't know", ["ABSTAIN"]),
        ],
        instrument={"repeats": 3},
        config={"run": {"repeats": 3}},
    )
    with Stub(answer=by_rule) as stub:
        run = regraded(tmp_path / "new", values_of(source, chat(stub.url, "lenient")))
        assert stub.state.requests == 3 + 2 + 3 + 3 + 3 + 1  # what failed, was not said or is a refusal costs nothing
    rows = rows_of(run.path)
    told = {row["id"][-1]: (row.get("status", "ok"), row.get("label"), row.get("labels")) for row in rows.values()}
    right, wrong = "CORRECT", "WRONG"
    assert told == {
        "0": ("ok", right, [right, wrong, right]),
        "1": ("ok", wrong, [right, "reader_error", wrong]),  # a tie is wrong
        "2": ("reader_error", None, ["reader_error"] * 3),
        "3": ("ok", right, [right, right, wrong]),
        "4": ("ok", wrong, [right, wrong, wrong]),
        "5": ("search_error", None, None),
        "6": ("ok", right, [right] * 3),
        "7": ("ok", right, [right]),
        "8": ("reader_error", None, None),
        "9": ("ok", "ABSTAIN", ["ABSTAIN"]),
    }
    assert rows["c0/2"]["error"] == "reader_error of old"
    assert "holds no answer" in rows["c0/8"]["error"]
    assert texts_of(run.path)["c0/6"]["answers"] == ["loose graded three times"] * 3
    assert texts_of(run.path)["c0/1"]["reasons"] == ["by lenient", "old reason", "by lenient"]
    assert "c0/5" not in texts_of(run.path)
    assert summary_of(run, run.instrument()).left == 0


def test_the_judges_own_abstention_rubric_grades_questions_without_an_answer(tmp_path: Path) -> None:
    source = write_source(
        tmp_path / "src",
        [item(0, "bad but declines", ["WRONG"], abstain=True), item(1, "bad invented", ["WRONG"], abstain=True)],
    )
    rubric = tmp_path / "mine.md"
    rubric.write_text("Mine.\n<!-- user -->\n{question} <answer>{answer}</answer> label?")
    with Stub(answer=by_rule, keep_bodies=True) as stub:
        run = regraded(tmp_path / "new", values_of(source, chat(stub.url, "strict", abstain_rubric=str(rubric))))
        prompts = [body["messages"] for body in stub.state.bodies]
    assert all(len(messages) == 1 and messages[0]["content"].startswith("Question") for messages in prompts)
    assert {name: row["label"] for name, row in rows_of(run.path).items()} == {"c0/0": "CORRECT", "c0/1": "WRONG"}


def test_faults_are_statuses_and_are_asked_again_only_where_there_is_an_answer(tmp_path: Path) -> None:
    items = [*plain_items(6, 0, 0), item(6, "", ["reader_error"], status="reader_error")]
    source = write_source(tmp_path / "src", items)
    with Stub(answer=by_rule, plan=["garbage", "500"], retry_after="0") as stub:
        stub.state.plan += ["429"] * 3
        judge = chat(stub.url, "strict", attempts=1)
        values = values_of(source, judge, concurrency=1)
        run = regraded(tmp_path / "new", values)
        counts = Counter(row.get("status", "ok") for row in rows_of(run.path).values())
        assert counts == {"judge_error": 2, "ok": 4, "reader_error": 1}
        assert stub.state.statuses["429"] == 3  # waited for, no failure
        seen = stub.state.requests
        stub.state.answer, stub.state.reply = None, "no label at all"
        regraded(run.path, values, retry_errors=True)
        assert stub.state.requests == seen + 2
        assert summary_of(run, run.instrument()).statuses == {"ok": 4, "judge_unparseable": 2, "reader_error": 1}
        stub.state.answer = by_rule
        regraded(run.path, values, retry_errors=True)
        assert stub.state.requests == seen + 4
    assert summary_of(run, run.instrument()).statuses == {"ok": 6, "reader_error": 1}
    assert summary_of(run, run.instrument()).groups["overall_comparable"]["correct"] == 6


def test_a_budget_stops_cleanly_and_a_changed_source_is_refused(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", plain_items(8, 0, 0))
    with Stub(answer=by_rule) as stub:
        judge = chat(stub.url, "strict")
        with pytest.raises(Stopped, match=r"run\.max_calls=3"):
            regraded(tmp_path / "new", values_of(source, judge, max_calls=3, concurrency=2))
        assert stub.state.requests == 3
        assert len(rows_of(tmp_path / "new")) == 3
        texts = (source / "texts.jsonl").read_text()
        (source / "texts.jsonl").write_text(texts.replace("plain answer 7", "other answer 7"))
        with pytest.raises(Refused, match=r"the answers of the recorded run 'src' changed .* start a new run"):
            regraded(tmp_path / "new", values_of(source, judge))
        (source / "texts.jsonl").write_text(texts)
        rows = (source / "rows.jsonl").read_text()
        (source / "rows.jsonl").write_text(rows.replace("times_in_text", "otherwise"))
        with pytest.raises(Refused, match="the rows of the recorded run"):
            regraded(tmp_path / "new", values_of(source, judge))
        (source / "rows.jsonl").write_text(rows)
        with pytest.raises(Refused, match=r"judge\.model"):
            regraded(tmp_path / "new", values_of(source, chat(stub.url, "lenient")))
        run = regraded(tmp_path / "new", values_of(source, judge))
        assert stub.state.requests == 8
    assert run.read_json("summary.json")["state"] == "complete"


def test_a_price_is_needed_for_a_money_budget(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", plain_items(1, 0, 0))
    with pytest.raises(ConfigError, match="no price is known for strict"):
        regraded(tmp_path / "new", values_of(source, chat("http://127.0.0.1:9/v1", "strict"), max_usd=1.0))


def test_an_endpoint_that_nobody_answers_ends_the_run(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", plain_items(3, 0, 0))
    with Stub(always="401") as stub, pytest.raises(RunnerError, match="401"):
        regraded(tmp_path / "new", values_of(source, chat(stub.url, "strict")))
    assert not (tmp_path / "new" / "rows.jsonl").read_text()


def test_the_last_line_of_a_question_counts(tmp_path: Path) -> None:
    """A question that was asked again has two lines; a torn one is passed over."""
    source = write_source(
        tmp_path / "src", [item(0, "bad first", ["WRONG"]), item(0, "plain then", ["WRONG"])], questions=1
    )
    with (source / "texts.jsonl").open("a") as file:
        file.write('{"id": "c0/0", "answers": ["bad to')
    with Stub(answer=by_rule) as stub:
        run = regraded(tmp_path / "new", values_of(source, chat(stub.url, "strict")))
        assert stub.state.requests == 1
    assert rows_of(run.path)["c0/0"]["label"] == "CORRECT"


# --- what cannot be graded again -------------------------------------------------------------------------------------


def test_a_run_without_answers_is_one_clear_line(tmp_path: Path) -> None:
    bare = write_source(tmp_path / "bare", plain_items(2, 0, 0))
    (bare / "texts.jsonl").unlink()
    with pytest.raises(UsageError, match=r"no answer is recorded \(it was run with run.texts=false, or imported"):
        open_recorded(str(bare))
    failed = write_source(tmp_path / "failed", [item(0, "", ["reader_error"], status="reader_error")])
    with pytest.raises(UsageError, match="its reader failed on all"):
        open_recorded(str(failed))
    half = write_source(tmp_path / "half", plain_items(2, 0, 0), questions=5)
    with pytest.raises(UsageError, match=r"3 of 5 questions have no row; first: python -m runner resume"):
        open_recorded(str(half))
    damaged = write_source(tmp_path / "damaged", plain_items(2, 0, 0))
    (damaged / "texts.jsonl").write_text('{"id": 3}\n')
    with pytest.raises(RecordError, match=r"texts.jsonl"):
        open_recorded(str(damaged))
    with pytest.raises(UsageError, match="no such directory"):
        open_recorded(str(tmp_path / "nowhere"))
    with pytest.raises(UsageError, match=r"is a sweep; name its runs: python -m runner -m run.from=.*bare,.*damaged"):
        open_recorded(str(tmp_path))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="not a run directory"):
        open_recorded(str(tmp_path / "empty"))


def test_what_stands_in_for_an_arm(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", plain_items(1, 0, 0), config={"run": {"repeats": 3, "replicate": 1}})
    values = values_of(source, FAKE, concurrency=5, sample=4)
    run = load(values).run
    assert (run.repeats, run.replicate, run.concurrency, run.sample, run.from_) == (3, 1, 5, 4, str(source))
    assert load(values).arm.system == "imported"
    with pytest.raises(ConfigError, match="arm: cannot be chosen"):
        config_of_recorded({"judge": FAKE, "arm": {"name": "a"}, "run": {"from": str(source)}})
    for judge in ({"name": "none", "provider": "none"}, {"name": "theirs", "provider": "imported"}):
        with pytest.raises(ConfigError, match="needs a judge that can be asked"):
            config_of_recorded({"judge": judge, "run": {"from": str(source)}})
    recall = write_source(
        tmp_path / "recall",
        plain_items(1, 0, 0),
        axis="recall",
        config={k: ModelConfig(name="none").model_dump() for k in ("reader", "judge")},
    )
    with pytest.raises(UsageError, match=r"recall axis \(reader=none\), so there are no answers"):
        config_of_recorded({"judge": FAKE, "run": {"from": str(recall)}})


# --- samples ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sizes", "total", "dealt"),
    [
        # Sainte-Laguë by hand: five each at 50, 16.7, 10, 7.1 and 5.6; then 4.5 against the 2 of a
        ({"a": 2, "b": 50, "c": 50}, 11, {"a": 0, "b": 6, "c": 5}),
        ({"b": 5, "a": 5}, 3, {"a": 2, "b": 1}),
        ({"a": 5}, 9, {"a": 5}),
        ({"a": 1, "b": 1, "c": 9}, 2, {"a": 0, "b": 0, "c": 2}),
        ({"a": 3, "b": 0}, 3, {"a": 3, "b": 0}),
    ],
)
def test_shares_are_in_proportion(sizes: dict[str, int], total: int, dealt: dict[str, int]) -> None:
    assert proportional_counts(sizes, total) == dealt


def test_a_sample_is_seeded_sorted_and_of_what_has_an_answer(tmp_path: Path) -> None:
    items = [item(n, f"plain {n}", ["CORRECT"], category=str(1 + n % 2 + n % 3 // 2)) for n in range(60)]
    items += [item(n, "", ["reader_error"], status="reader_error", category="1") for n in range(60, 70)]
    source = open_recorded(str(write_source(tmp_path / "src", items)))
    mirrored = open_recorded(str(write_source(tmp_path / "mirrored", items[::-1])))
    drawn = sample_ids(source, 12, 7)
    assert drawn == sorted(drawn) == sample_ids(mirrored, 12, 7)
    assert drawn != sample_ids(source, 12, 8)
    assert set(drawn) <= set(sample_ids(source, 24, 7))
    assert Counter(source.rows[name].category for name in drawn) == {"1": 4, "2": 6, "3": 2}  # of 20, 30 and 10
    assert set(drawn) <= source.answered
    assert len(sample_ids(source, 1000, 7)) == 60
    assert len(sample_ids(source, None, 7)) == 70


def test_a_sampled_run_pins_its_own_slice(tmp_path: Path) -> None:
    source = write_source(
        tmp_path / "src", [item(n, f"plain {n}", ["WRONG"], category=str(1 + n % 2)) for n in range(40)]
    )
    run = regraded(tmp_path / "new", values_of(source, FAKE, sample=10))
    other = regraded(tmp_path / "other", values_of(source, FAKE, sample=10, seed=8))
    rows = run.instrument().rows
    assert rows["slice.questions"] == len(rows_of(run.path)) == 10
    assert rows["slice.sha256"] != other.instrument().rows["slice.sha256"]
    assert run.instrument().census.by_category == {"1": 5, "2": 5}
    assert run.read_json("summary.json")["state"] == "complete"
    from runner.config import GateConfig
    from runner.gate import open_arm

    assert open_arm(run, "x", GateConfig()).scored == 5  # which holds the rows against the slice
    same = regraded(tmp_path / "same", values_of(source, FAKE, sample=10))
    assert rows_of(same.path).keys() == rows_of(run.path).keys()


def test_a_plan_counts_calls_exactly(tmp_path: Path) -> None:
    items = [
        item(0, ["plain a", "I don't know", "bad c"], ["CORRECT", "ABSTAIN", "WRONG"]),
        item(1, ["plain a", "", "bad c"], ["CORRECT", "reader_error", "WRONG"], category="5"),
        item(2, [], [], status="search_error"),
    ]
    source = write_source(tmp_path / "src", items, config={"run": {"repeats": 3}})
    listed = forecast(load(values_of(source, chat("http://127.0.0.1:9/v1", "gpt-4.1"))))
    assert (listed.questions, listed.answered, listed.refusals, listed.calls) == (3, 2, 1, 4)
    assert listed.by_category == {"1 multi-hop": 1, "5 adversarial": 1}
    assert listed.output_tokens == 240
    assert listed.usd is not None
    assert listed.usd > 0
    assert forecast(load(values_of(source, chat("http://127.0.0.1:9/v1", "unlisted")))).usd is None
    fake = forecast(load(values_of(source, FAKE, sample=9)))
    assert (fake.calls, fake.usd) == (0, 0.0)
    assert "only 2 questions have an answer" in " ".join(fake.warnings)


def test_answers_that_were_graded_and_are_gone_stop_a_regrading(tmp_path: Path) -> None:
    source = write_source(tmp_path / "src", [item(n, f"plain {n}", ["CORRECT"]) for n in range(20)])
    config = source / "config.yaml"
    config.write_text(config.read_text().replace("system: imported", "system: bm25"))
    lines = (source / "texts.jsonl").read_text().splitlines(keepends=True)
    (source / "texts.jsonl").write_text("".join(lines[:3]))
    with pytest.raises(UsageError, match=r"17 of 20 answers were graded and are not in texts\.jsonl"):
        open_recorded(str(source))
