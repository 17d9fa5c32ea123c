"""The table of one run, and the lines below it, from records written by hand."""

from __future__ import annotations

import io
import json
from pathlib import Path

from msgspec.structs import replace
from rich.console import Console

from runner.analysis.summary import summarise
from runner.experiment.plan.forecast import Forecast
from runner.record.rundir import RunDir
from runner.report.plan import plan_tables
from runner.report.run import footnotes, run_table
from runner.stats.planning.design import GUESSED
from runner.types import Row, Usage
from tests.support.recorded import arm_config, write_run


def rows(categories: str) -> list[Row]:
    return [
        Row(id=f"q{at}", scenario="s", cluster="s", category=name, metrics={"recall@10": 1.0}, flags=("x",))
        for at, name in enumerate(categories)
    ]


def printed(run: Path) -> str:
    out = io.StringIO()
    Console(file=out, width=200).print(run_table(RunDir(run)))
    return out.getvalue()


def test_one_category_that_is_all_of_it_is_said_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "one", rows("11"), arm=arm_config("a"), axis="recall")
    one = printed(run)
    assert "overall_comparable" in one
    assert "overall_all" not in one
    assert "multi-hop" in one, "which one of several it is must be said"
    instrument = json.loads((run / "instrument.json").read_text())
    instrument["harness"] |= {"categories": {"1": "all"}, "comparable": ["1"]}
    (run / "instrument.json").write_text(json.dumps(instrument))
    assert "1 all" not in printed(run)
    two = printed(write_run(tmp_path / "two", rows("15"), arm=arm_config("a"), axis="recall"))
    assert [name in two for name in ("overall_comparable", "overall_all", "multi-hop", "adversarial")] == [True] * 4
    # Nothing of it is comparable: what is shown is `overall_all`.
    other = printed(write_run(tmp_path / "other", rows("55"), arm=arm_config("a"), axis="recall"))
    assert "overall_all" in other
    assert "adversarial" in other


def test_a_flag_of_what_was_assumed_names_it(tmp_path: Path) -> None:
    assumed = [Row(id="q", scenario="s", cluster="s", category="1", flags=("capabilities_undeclared", "x"))]
    run = write_run(tmp_path / "run", assumed, arm=arm_config("a"), axis="recall")
    assert "flags: capabilities_undeclared 1, x 1" in printed(run)
    (run / "provenance.json").write_text(json.dumps({"system": {"undeclared": ["ranked", "timestamps"]}}))
    assert "flags: capabilities_undeclared 1 (ranked, timestamps), x 1" in printed(run)
    (run / "provenance.json").write_text(json.dumps({"system": "?"}))
    assert "flags: capabilities_undeclared 1, x 1" in printed(run)


def test_tokens_that_nobody_told_are_unknown(tmp_path: Path) -> None:
    run = RunDir(write_run(tmp_path / "run", rows("1"), arm=arm_config("a"), axis="recall"))
    instrument = run.instrument()
    summary = summarise(run, instrument)

    def told(usage: Usage) -> str:
        from runner.analysis.summary import stage_usage

        (line,) = [
            x for x in footnotes(instrument, replace(summary, usage={"ask": stage_usage(usage)})) if x.startswith("ask")
        ]
        return line

    assert told(Usage(calls=120, usd=None, seconds=2, measured=False)) == (
        "ask: 120 calls, tokens unknown, unknown price, 2.0 s"
    )
    assert "5 in and 0 out tokens (estimated)" in told(Usage(calls=1, input_tokens=5, measured=False))
    assert "0 in and 0 out tokens (measured)" in told(Usage(calls=1))


def test_a_plan_lists_categories_where_there_are_several() -> None:
    def told(by_category: dict[str, int]) -> str:
        out = io.StringIO()
        job = Forecast(
            arm="a", system="bm25", axis="recall", harness="h", metric="recall@10", questions=5, scored=5, clusters=5,
            by_category=by_category, events=9, calls=0, input_tokens=0, output_tokens=0, usd=0.0, knobs={}, inert={},
            detectable={"0": 0.1}, assumed=GUESSED, warnings=[],
        )  # fmt: skip
        Console(file=out, width=200).print(plan_tables([job]))
        return out.getvalue()

    assert "questions by category: where 2, who 3" in told({"where": 2, "who": 3})
    assert "questions by category" not in told({"all": 5})
