"""``power`` and ``plan --like``: what a number of questions can show, by itself and from recorded runs."""

from __future__ import annotations

import doctest
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.cli import main
from runner.types import Row
from tests.conftest import ROOT
from tests.support.recorded import answered, arm_config, write_run

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert "nan" not in out.lower().split()
    return code, out, err


def value(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code, out, err = told(capsys, "power", *words, "--json")
    assert code == 0, err
    found = json.loads(out)
    assert isinstance(found, dict)
    return found


def rows(right: list[bool], keys: str, size: int = 10) -> list[Row]:
    return [answered(i, good, cluster=i // size, keys=keys) for i, good in enumerate(right)]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """120 questions in 12 clusters: `b` wins 18 and loses 6 (20 %), `c` wins 6 (5 %)."""
    base = [i % 2 == 0 for i in range(120)]
    b = [True if i < 36 and i % 2 else i >= 112 and i % 2 == 1 if i >= 108 and i % 2 == 0 else good
         for i, good in enumerate(base)]  # fmt: skip
    c = [good or i in (1, 3, 5, 7, 9, 11) for i, good in enumerate(base)]
    folder = tmp_path / "sweep"
    write_run(folder / "0-a", rows(base, "a"), arm=arm_config("a"))
    write_run(folder / "1-b", rows(b, "b"), arm=arm_config("b"))
    write_run(folder / "2-c", rows(c, "c"), arm=arm_config("c", knobs={"graph": True, "rerank": True}))
    return folder


def test_as_a_process(cli: Cli) -> None:
    done = cli("power", "n=500", "clusters=10", "effect=5")
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert "500 questions in 10 clusters, 50 each on average" in done.stdout
    assert "detects with 80% power: +11.2 pp (+6.1 pp if questions of one cluster did not go together)" in done.stdout
    assert "assumed, not measured: discordance 0.16 and icc 0.05" in done.stdout
    assert "a gain of 5.0 points" in done.stdout
    assert "nothing was spent" in done.stdout
    missing = cli("power", "outputs/nowhere")
    assert missing.returncode == 2
    assert missing.stderr == "error: outputs/nowhere: no such directory; power takes KEY=VALUE or recorded runs\n"


def test_without_clusters_every_question_stands_alone_and_it_says_so(capsys) -> None:
    code, out, _ = told(capsys, "power", "n=164")
    assert code == 0
    assert "detects with 80% power: +8.7 pp" in out
    assert "every question stands alone" in out
    found = value(capsys)
    assert (found["n"], found["clusters"]) == (500, 500)
    assert found["detects"] == pytest.approx(0.05, abs=1e-4)
    assert {row["effect"]: row["n"] for row in found["needed"]}[0.05] == 500


def test_the_seeds_rows_for_ones_own_n(capsys) -> None:
    """500 with 16 % discordant: 40 / 420 / 40 is -3.6 .. +3.6; with 12 %: 40 / 440 / 20 is +1.0 .. +7.0, a pass."""
    table = {row["what"]: row for row in value(capsys, "n=500")["table"]}
    same = table["the same configuration twice"]
    assert (same["wins"], same["ties"], same["losses"]) == (40, 420, 40)
    assert round(100 * same["verdict"]["percentile"]["low"], 1) == -3.6
    table = {row["what"]: row for row in value(capsys, "n=500", "discordance=.12", "effect=4")["table"]}
    gain = table["a gain of 4.0 points"]
    assert (gain["wins"], gain["ties"], gain["losses"]) == (40, 440, 20)
    assert round(100 * gain["verdict"]["percentile"]["low"], 1) == 1.0
    assert gain["verdict"]["verdict"] == "pass"


def test_from_a_sweep(sweep: Path, capsys) -> None:
    found = value(capsys, str(sweep))
    assert (found["n"], found["clusters"]) == (120, 12)
    assert found["assumed"]["discordance"] == pytest.approx(24 / 120)
    assert found["assumed"]["source"] == "b against a in sweep, accuracy_abstain_wrong"
    assert found["assumed"]["icc"] > 0.2  # the wins lie in four clusters, the losses in another
    assert any("not used: c against a, which disagree on 5.0% (arm=c)" in note for note in found["notes"])
    other = value(capsys, str(sweep), "arm=c")
    assert other["assumed"]["discordance"] == pytest.approx(6 / 120)
    assert not any("assumed, not measured" in note for note in other["notes"])
    code, _, err = told(capsys, "power", str(sweep), "arm=bee")
    assert code == 2
    assert "no such arm here" in err
    assert "there are b, c" in err


def test_what_is_typed_goes_before_what_is_recorded(sweep: Path, capsys) -> None:
    found = value(capsys, str(sweep), "discordance=.1", "icc=0", "power=.9", "n=600")
    assert found["assumed"] == {
        "discordance": 0.1,
        "icc": 0.0,
        "source": "b against a in sweep, accuracy_abstain_wrong",
    }
    assert (found["n"], found["clusters"], found["goal"]["power"]) == (600, 60, 0.9)  # clusters of ten, as recorded
    assert any("clusters of one size are taken, 10.0 questions each" in note for note in found["notes"])
    assert value(capsys, str(sweep), "clusters=30")["n"] == 300


def test_from_a_single_run_the_discordance_stays_assumed(sweep: Path, capsys) -> None:
    found = value(capsys, str(sweep / "0-a"))
    assert (found["n"], found["clusters"]) == (120, 12)
    assert found["assumed"] == {"discordance": 0.16, "icc": 0.05, "source": ""}
    assert any("assumed, not measured: discordance 0.16 and icc 0.05" in note for note in found["notes"])
    code, _, err = told(capsys, "power", str(sweep / "0-a"), "arm=b")
    assert code == 2
    assert "a single run" in err


def test_from_two_runs_the_baseline_first(sweep: Path, capsys) -> None:
    found = value(capsys, str(sweep / "0-a"), str(sweep / "2-c"))
    assert found["assumed"]["discordance"] == pytest.approx(6 / 120)


def test_pairs_that_say_nothing(tmp_path: Path, capsys) -> None:
    base = [i % 2 == 0 for i in range(60)]
    for name in "ab":
        write_run(tmp_path / "same" / f"{'ab'.index(name)}-{name}", rows(base, name), arm=arm_config(name))
    code, _, err = told(capsys, "power", str(tmp_path / "same"))
    assert code == 2
    assert "agree on every question" in err
    write_run(tmp_path / "half" / "0-a", rows(base, "a"), arm=arm_config("a"))
    write_run(
        tmp_path / "half" / "1-b", rows(base[:20], "b"), arm=arm_config("b"), questions=60, slice_of=rows(base, "a")
    )
    code, _, err = told(capsys, "power", str(tmp_path / "half"))
    assert code == 2
    assert "no pair says anything: b: 40 questions are missing" in err
    empty = tmp_path / "empty"
    empty.mkdir()
    assert told(capsys, "power", str(empty))[0] == 2


def test_the_settings_of_a_recorded_gate_are_kept(tmp_path: Path, capsys) -> None:
    base = [i % 2 == 0 for i in range(200)]
    gate = {"gate": {"name": "mine", "interval": "percentile", "min_delta": -2.0, "band": "from:gone"}}
    write_run(tmp_path / "s" / "0-a", rows(base, "a"), arm=arm_config("a"), config=gate)
    b = [not good if i % 9 == 0 else good for i, good in enumerate(base)]
    write_run(tmp_path / "s" / "1-b", rows(b, "b"), arm=arm_config("b"), config=gate)
    found = value(capsys, str(tmp_path / "s"))
    assert found["goal"]["min_delta"] == -0.02
    assert {row["verdict"]["mode"] for row in found["table"]} == {"percentile"}
    assert 0.0 in {row["effect"] for row in found["needed"]}
    assert value(capsys, str(tmp_path / "s"), "min_delta=0", "interval=auto")["goal"]["min_delta"] == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("n=0",), "n: '0' must be a whole number from 1"),
        (("n=1.5",), "n: '1.5' must be a whole number"),
        (("n=nan",), "n: 'nan' is not a number"),
        (("n=many",), "n: 'many' is not a number"),
        (("n=1e99",), "n: '1e99' must be a whole number"),
        (("n=10", "clusters=11"), "clusters: 11 is more than n=10"),
        (("clusters=-1",), "clusters: '-1' must be a whole number"),
        (("discordance=16",), "discordance: 16 lies outside 0 .. 1; it is a share (16 % is discordance=0.16)"),
        (("discordance=16%",), "discordance: '16%' is not a number; it is a share, 16% is discordance=0.16"),
        (("discordance=0",), "discordance: 0 means that the arms never disagree"),
        (("discordance=-0.1",), "discordance: -0.1 lies outside 0 .. 1"),
        (("icc=2",), "icc: 2 lies outside 0 .. 1"),
        (("icc=inf",), "icc: 'inf' is not a number"),
        (("power=1",), "power: 1 must lie between alpha/2 and 1"),
        (("power=80",), "power: 80 lies outside 0 .. 1; it is a share (80 % is power=0.8)"),
        (("alpha=0",), "alpha: 0 must lie between 0 and 1"),
        (("effect=0",), "effect: 0 takes no questions to find; give a difference in percentage points (effect=5)"),
        (("effect=20",), "effect: 20 points cannot be where arms disagree on 16 % of the questions"),
        (("effect=5%",), "effect: '5%' is not a number; write effect=5"),
        (("effect=",), "effect: '' is not a number"),
        (("effect=-2", "min_delta=-2"), "a difference on the threshold is never resolved"),
        (("min_delta=50",), "min_delta: 50 points are more than arms that disagree on 16 %"),
        (("interval=bca",), "interval: 'bca' is not known; choose auto or percentile"),
        (("discordanse=.2",), "discordanse: no such key (did you mean 'discordance'?)"),
        (("n=5", "n=6"), "n: is given twice"),
        (("--jsn",), "power --jsn: no such flag"),
        (("discordance",), "discordance: no such directory (did you mean 'discordance'?)"),
        (("arm=b",), "arm: names an arm of a recorded sweep"),
    ],
)
def test_impossible_values_are_one_clear_line(words: tuple[str, ...], said: str, capsys) -> None:
    code, out, err = told(capsys, "power", *words)
    assert code == 2
    assert not out
    assert said in err
    assert len(err.splitlines()) == 1


def test_every_wrong_word_is_told_at_once(capsys) -> None:
    _, _, err = told(capsys, "power", "n=0", "icc=7", "efect=5")
    assert [line.split(":")[1].strip() for line in err.splitlines()] == ["n", "icc", "efect"]


def test_notes_where_a_value_is_likely_meant_otherwise(capsys) -> None:
    _, out, _ = told(capsys, "power", "effect=0.05")
    assert "five points are effect=5" in out
    _, out, _ = told(capsys, "power", "alpha=.1")
    assert "the gate decides on a 95 % interval" in out
    _, out, _ = told(capsys, "power", "n=50", "clusters=5")
    assert "detects nothing: 5 clusters are too few, 6 are needed" in out


def test_plan_takes_discordance_and_correlation_from_a_sweep(sweep: Path, capsys) -> None:
    words = ("plan", "-m", "+arm=no_memory,bm25")
    _, out, _ = told(capsys, *words)
    assert "disagree on 16 % of the questions, with an intraclass correlation of 0 and of 0.05" in out
    assert "both are assumed, not measured" in out
    code, out, err = told(capsys, *words, "--like", str(sweep))
    assert code == 0, err
    assert "disagree on 20 % of the questions" in out
    assert "measured by b against a in sweep, accuracy_abstain_wrong" in out
    assert "both are assumed" not in out
    assert "bm25: the harness of this plan is synthetic_memory, and --like was measured on locomo_qa" in out
    assert "bm25: the metric of this plan is recall@5, and --like was measured on accuracy_abstain_wrong" in out
    planned = json.loads(told(capsys, *words, f"--like={sweep}", "--json")[1])
    assert planned[0]["assumed"]["discordance"] == pytest.approx(0.2)
    assert planned[0]["detectable"]["icc 0"] > 0.1


@pytest.mark.parametrize(
    ("like", "said"),
    [
        (["--like"], "--like takes the directory of a recorded sweep"),
        (["--like="], "--like takes the directory of a recorded sweep"),
        (["--like", "nowhere"], "nowhere: no such directory"),
        (["--like", "{run}"], "a single run has nothing to disagree with"),
    ],
)
def test_like_needs_a_sweep(like: list[str], said: str, sweep: Path, capsys) -> None:
    words = [word.format(run=sweep / "0-a") for word in like]
    code, _, err = told(capsys, "plan", "+arm=bm25", *words)
    assert code == 2
    assert said in err


def test_the_page_on_planning_shows_what_is_printed(capsys) -> None:
    page = (ROOT / "docs" / "planning.md").read_text(encoding="utf-8")
    blocks = page.split("```")[1::2]
    at = next(i for i, block in enumerate(blocks) if block.strip().startswith("python -m runner power n="))
    _, out, _ = told(capsys, *blocks[at].split()[3:])
    assert [line.rstrip() for line in out.splitlines()] == blocks[at + 1].strip("\n").splitlines()
    python = next(block for block in blocks if block.startswith("python\n"))
    found = doctest.DocTestParser().get_doctest(python.removeprefix("python\n"), {}, "planning.md", None, None)
    assert doctest.DocTestRunner().run(found).failed == 0
