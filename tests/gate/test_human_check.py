"""gate.human: prediction-powered inference against the closed form by hand, and every file that is none."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from runner.errors import MissingExtra, Refused, UsageError
from runner.gate.human_check import MIN_LABELLED
from runner.gate.sweep import gate
from runner.report.verdict import pair_notes
from runner.stats.ppi import prediction_powered
from tests.support.recorded import answered, arm_config, failed, write_run

_Z = 1.959963984540054

Says = Callable[[str, int], str]


def test_the_closed_form_by_hand() -> None:
    """λ = 1: mean of f over the unlabelled, plus mean of y − f over the labelled; their variances add."""
    y = np.array([1.0, 0, 0, 1, 1, 0, 1, 1])
    f = np.array([1.0, 1, 0, 1, 0, 0, 1, 1])
    rest = np.array([1.0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1])
    found = prediction_powered(y, f, rest, weight=1.0)
    # mean(rest) = 8/12, mean(y − f) = 0 (one +1, one −1)
    assert found.mean == pytest.approx(8 / 12 + 0 / 8)
    error = (8 / 12) * (4 / 12) / 12 + (2 / 8) / 8
    assert found.low == pytest.approx(found.mean - _Z * error**0.5)
    assert found.high == pytest.approx(found.mean + _Z * error**0.5)
    assert (found.labelled, found.unlabelled, found.weight) == (8, 12, 1.0)
    assert found.raw == pytest.approx(13 / 20)
    assert found.people == pytest.approx(5 / 8)
    assert str(found).startswith("+0.6667, 95% CI +0.2")


def test_the_weight_is_tuned() -> None:
    """λ = Cov(y, f) / ((1 + n/N)·Var(f)), as the library tunes it."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    draw = np.random.default_rng(7)
    y = (draw.random(150) < 0.6).astype(float)
    f, rest = np.where(draw.random(150) < 0.85, y, 1 - y), (draw.random(900) < 0.6).astype(float)
    found = prediction_powered(y, f, rest)
    by_hand = np.cov(y, f, ddof=0)[0, 1] / ((1 + 150 / 900) * np.concatenate([f, rest]).var(ddof=1))
    assert found.weight == pytest.approx(by_hand)
    low, high = ppi_mean_ci(y, f, rest, alpha=0.05)
    assert (found.low, found.high) == pytest.approx((float(low[0]), float(high[0])))
    assert found.mean == pytest.approx(float(np.squeeze(ppi_mean_pointestimate(y, f, rest, lam=found.weight))))
    plain = prediction_powered(y, f, rest, weight=0.0)
    assert found.high - found.low < plain.high - plain.low


@pytest.mark.parametrize(
    ("f", "rest"),
    [
        (np.ones(4), np.ones(6)),  # a judge that says the same of everything
        (np.array([0.0, 1, 1, 0]), np.array([0.0, 1, 0, 1])),  # one that is always wrong: no weight below 0
        (np.array([1.0, 0, 0, 1]), np.zeros(0)),  # everything is labelled
    ],
    ids=["constant", "contrary", "all"],
)
def test_without_help_of_the_judge_people_decide_alone(f: np.ndarray, rest: np.ndarray) -> None:
    y = np.array([1.0, 0, 0, 1])
    found = prediction_powered(y, f, rest)
    assert found.weight == 0.0
    assert found.mean == 0.5
    assert found.high == pytest.approx(0.5 + _Z * 0.5 / 2)


def test_no_labels_and_lengths_that_differ() -> None:
    with pytest.raises(UsageError, match="0 labels"):
        prediction_powered(np.zeros(0), np.zeros(0), np.ones(3))
    with pytest.raises(UsageError, match="2 labels for 3"):
        prediction_powered(np.zeros(2), np.zeros(3), np.ones(3))


# --- beside a verdict ------------------------------------------------------------------------------------------------

TOTAL = 800


def judged(name: str, number: int) -> bool:
    """The judge: half right in a, and in b every fifth of the others too."""
    return number % 2 == 0 or (name == "b" and number % 10 == 1)


def truly(name: str, number: int) -> str:
    """People: the judge passes every eighth wrong answer of b."""
    right = judged(name, number) and not (name == "b" and number % 80 == 11)
    return "CORRECT" if right else "WRONG"


def arms(folder: Path) -> list[Path]:
    return [
        write_run(
            folder / f"{place}-{name}",
            [answered(n, judged(name, n), cluster=n % 40, keys=f"{name}{n}") for n in range(TOTAL)],
            arm=arm_config(name),
        )
        for place, name in enumerate("ab")
    ]


def labels(folder: Path, says: Says = truly, *, arms: str = "ab", numbers: range = range(0, TOTAL, 3)) -> Path:
    path = folder / "labels.csv"
    lines = [f"c{n % 40}/{n},{arm},{says(arm, n)}" for arm in arms for n in numbers]
    path.write_text("\n".join(["id,arm,label", *lines]) + "\n")
    return path


def told(folder: Path, path: Path) -> Any:
    runs = sorted(folder.glob("?-?")) or arms(folder)
    (pair,) = gate(runs, {"human": str(path)}).groups[0].comparisons
    return pair


def test_the_difference_and_each_arm(tmp_path: Path) -> None:
    pair = told(tmp_path, labels(tmp_path))
    found = pair.human
    some = np.arange(0, TOTAL, 3)
    rest = np.setdiff1d(np.arange(TOTAL), some)

    def values(name: str, which: np.ndarray, people: bool) -> np.ndarray:
        return np.array([float(truly(name, n) == "CORRECT" if people else judged(name, n)) for n in which])

    y = values("b", some, True) - values("a", some, True)
    f = values("b", some, False) - values("a", some, False)
    unlabelled = values("b", rest, False) - values("a", rest, False)
    assert found.pairs == found.difference.labelled == len(some) == 267
    assert found.difference.unlabelled == len(rest)
    lam = found.difference.weight
    assert found.difference.mean == pytest.approx(lam * unlabelled.mean() + (y - lam * f).mean())
    half = _Z * ((lam * unlabelled).var() / len(rest) + (y - lam * f).var() / len(some)) ** 0.5
    assert found.difference.low == pytest.approx(found.difference.mean - half)
    assert found.difference.raw == pytest.approx(pair.verdict.delta)
    assert found.arms["a"].people == pytest.approx(values("a", some, True).mean())
    assert found.arms["b"].raw == pytest.approx(values("b", np.arange(TOTAL), False).mean())
    passed_alone = int((values("b", some, False) - values("b", some, True)).sum())
    assert (found.against["b"].judge_only, found.against["b"].people_only) == (passed_alone, 0)
    assert passed_alone > 0
    assert found.against["a"].agreement.kappa == 1.0
    assert found.against["b"].agreement.raw == pytest.approx(1 - passed_alone / 267)
    notes = "\n".join(pair_notes(pair))
    assert "with 267 pairs labelled by people" in notes
    assert "ppi-python does not cluster" in notes
    assert "random sample" in notes
    assert "kappa 1.00" in notes
    assert pair.outcome == gate(sorted(tmp_path.glob("?-?"))).groups[0].comparisons[0].outcome
    json.dumps(pair.to_dict(), allow_nan=False)


def test_words_for_labels_run_directories_and_other_columns(tmp_path: Path) -> None:
    words = {"CORRECT": ("1", "True", "YES", "correct"), "WRONG": ("0", "false", "No", " Wrong ", "ABSTAIN")}
    plain = told(tmp_path, labels(tmp_path)).human
    said = labels(tmp_path, lambda arm, n: words[truly(arm, n)][n % 4])
    lines = said.read_text().splitlines()
    by_folder = [line.replace(",a,", ",0-a,").replace(",b,", ",1-b,") for line in lines[1:]]
    said.write_bytes(
        b"\xef\xbb\xbf" + "\r\n".join(["Note, ID ,Arm,LABEL", *(f'"x, y",{x}' for x in by_folder), ""]).encode()
    )
    found = told(tmp_path, said).human
    assert found.difference == plain.difference
    assert found.arms == plain.arms


def test_labels_outside_the_headline_are_counted(tmp_path: Path) -> None:
    for name in "ab":
        rows = [answered(n, judged(name, n), cluster=n % 40, keys=f"{name}{n}") for n in range(TOTAL)]
        rows[0], rows[3] = replace(rows[0], category="5"), failed(rows[3], "judge_error")
        write_run(tmp_path / f"0-{name}", rows, arm=arm_config(name))
    found = told(tmp_path, labels(tmp_path)).human
    assert found.unused == 4
    assert found.pairs == 265


def test_too_few_are_refused_and_say_why(tmp_path: Path) -> None:
    few = labels(tmp_path, numbers=range(MIN_LABELLED - 1))
    with pytest.raises(
        Refused, match=r"99 items are labelled in both arms and 100 are needed: .* covers as little as 91 %"
    ):
        told(tmp_path, few)
    with pytest.raises(Refused, match="people say the same of all 100"):
        told(tmp_path, labels(tmp_path, lambda arm, n: "1", numbers=range(100)))
    one = told(tmp_path, labels(tmp_path, arms="a"))  # one arm's accuracy can be had, a difference cannot
    assert one.human.difference is None
    assert one.human.arms["a"] is not None
    assert one.human.arms["b"] is None
    assert any("people: 0 items are labelled in both arms" in line for line in pair_notes(one))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the column 'id' is missing"),
        ("id,arm\nc0/0,a\n", "the column 'label' is missing from the header; it has id, arm"),
        ("id,arm,label,arm\n", "the column 'arm' stands twice"),
        ("id,arm,label\n", "holds no label"),
        ("id,arm,label\n\n,,\n", "holds no label"),
        ("id,arm,label\nc0/0,a,MAYBE\n", "line 2: 'MAYBE' is not a label"),
        ("id,arm,label\nc0/0,a,2\n", "line 2: '2' is not a label"),
        ("id,arm,label\nc0/0,a,\n", "line 2: '' is not a label"),
        ("id,arm,label\nc0/0,a,1,x\n", "line 2: 4 values, and the header has 3"),
        ("id,arm,label\n,a,1\n", "line 2: the id is empty"),
        ("id,arm,label\nc0/0,a,1\nc1/1,a,1\nc0/0,a,1\n", "line 4: 'c0/0' of a is labelled twice"),
        ("id,arm,label\nc0/0,a,1\nc0/0,0-a,0\n", "line 3: 'c0/0' of 0-a is labelled twice"),
        ("id,arm,label\nc9/0,a,1\n", "line 2: a has no question 'c9/0'"),
        ("id,arm,label\nc0/0,aa,1\n", "no arm 'aa' here (did you mean 'a'?); there are a, b"),
        ('id,arm,label\n"c0/0,a,1\n', "is not CSV"),
        ("id,arm,label\nc0/0\x00,a,1\n", ""),
    ],
)
def test_a_file_that_is_none_is_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        told(tmp_path, path)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"gate.human={path}")
    assert "\n" not in str(caught.value).replace("\x00", "")


def test_no_file_bytes_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        told(tmp_path, tmp_path / "nowhere.csv")
    with pytest.raises(UsageError, match="not a CSV file"):
        told(tmp_path, tmp_path)
    (tmp_path / "x.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="not UTF-8"):
        told(tmp_path, tmp_path / "x.csv")


def test_one_name_for_two_arms(tmp_path: Path) -> None:
    for place in range(2):
        rows = [answered(n, judged("ab"[place], n), cluster=n % 40, keys=f"{place}{n}") for n in range(TOTAL)]
        write_run(tmp_path / f"{place}-a", rows, arm=arm_config("a", knobs={"depth": place}))
    with pytest.raises(UsageError, match=r"'a' names 2 arms; name the run directory \(0-a, 1-a\)"):
        told(tmp_path, labels(tmp_path, arms="a"))


def test_without_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "ppi_py":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtra, match=r"agent-memory-runner\[ppi\]"):
        told(tmp_path, labels(tmp_path))


def test_it_is_about_answers(tmp_path: Path) -> None:
    rows = [answered(n, True, keys=str(n), metrics={"recall@10": n % 2}) for n in range(20)]
    for place in (0, 1):
        write_run(tmp_path / f"{place}-{'ab'[place]}", rows, arm=arm_config("ab"[place]), axis="recall")
    path = tmp_path / "labels.csv"
    path.write_text("id,arm,label\nc0/0,a,1\n")
    with pytest.raises(UsageError, match=r"recall@10 is not a label"):
        told(tmp_path, path)
