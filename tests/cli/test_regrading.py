"""``run.from=DIR``, ``report DIR DIR`` and ``calibrate --second-judge`` as a person types them."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from runner.cli import main
from tests.conftest import command_environment, runs_in
from tests.support.answersets import by_rule, item, plain_items, rows_of, texts_of, write_judges, write_source
from tests.support.servers import Stub

pytestmark = pytest.mark.long

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Here = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Here:
    """The same command line inside this process, where a process of its own would only cost time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*words: str) -> tuple[int, str, str]:
        capfd.readouterr()
        code = main(list(words))
        told = capfd.readouterr()
        assert "Traceback" not in told.err
        return code, told.out, told.err

    return run


def test_one_runs_answers_under_several_judges(cli: Cli, here: Here, tmp_path: Path) -> None:
    """53 plain, 20 loose and 27 bad answers: a table, no verdict, exit 0; then the same from the files alone."""
    write_source(tmp_path / "src", plain_items(53, 20, 27))
    with Stub(answer=by_rule) as stub:
        write_judges(tmp_path / "mine", stub.url, "strict", "lenient")
        done = cli(
            "-m",
            "run.from=src",
            "judge=strict,lenient",
            "--config-dir",
            "mine",
            "hydra.sweep.dir=sweep",
            "run.prices=null",
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert stub.state.requests == 200
    assert "strict agrees with lenient on 80 of 100 (kappa 0.59): rejects 20 that it accepts, accepts 0" in done.stdout
    assert "nothing to gate (exit 0)" in done.stdout
    assert "refused" not in (done.stdout + done.stderr).lower()
    assert [run.name for run in runs_in(tmp_path / "sweep")] == ["0-strict", "1-lenient"]
    assert not (tmp_path / "sweep" / "gate.json").exists()
    kept = json.loads((tmp_path / "sweep" / "judges.json").read_text())
    assert kept["exit_code"] == 0
    assert kept["table"]["reference"] == "lenient"
    for words in (("gate", "sweep"), ("report", "sweep")):
        code, out, err = here(*words)
        assert code == 0, err
        assert "80 of 100" in out
        assert ("answers of src, graded by strict" in out) == (words[0] == "report")
    _, out, _ = here("report", "src", "sweep/0-strict", "--reference", "strict")
    assert "their-judge agrees with strict on 80 of 100" in out
    assert "more lenient, in one direction only" in out
    told = json.loads(here("report", "src", "sweep", "--json")[1])
    assert list(told["runs"]) == ["src", "0-strict", "1-lenient"]
    (table,) = told["judges"]
    assert table["reference"] == "their-judge"  # the run that asked for the answers
    lines = {line["judge"]: line for line in table["sections"]["overall_comparable"]["judges"]}
    assert {name: line["accuracy_abstain_wrong"] for name, line in lines.items()} == {
        "their-judge": 0.73,
        "strict": 0.53,
        "lenient": 0.73,
    }
    assert lines["strict"]["against_reference"]["only_reference"] == 20
    code, _, err = here("report", "src", "sweep", "--reference", "stict")
    assert code == 2
    assert "did you mean 'strict'" in err


def test_one_job_of_judges_that_fails_leaves_the_others_told(here: Here, tmp_path: Path) -> None:
    write_source(tmp_path / "src", plain_items(6, 2, 2))
    with Stub(answer=by_rule) as stub, Stub(always="401") as closed:
        write_judges(tmp_path / "mine", stub.url, "strict", "lenient")
        write_judges(tmp_path / "mine", closed.url, "shut")
        words = ("-m", "run.from=src", "judge=strict,shut,lenient", "--config-dir", "mine", "hydra.sweep.dir=sweep")
        code, out, _ = here(*words)
        assert code == 1
        assert "strict agrees with lenient on 8 of 10" in out
        assert "incomplete: 1-shut" in out
        write_judges(tmp_path / "mine", stub.url, "shut", model="strict-2")
        # What is recorded counts, not the folder: the run goes on where it was begun.
        assert here("resume", "sweep", "--config-dir", "mine")[0] == 1
        assert stub.state.requests == 20


def test_two_arms_graded_again_are_gated(here: Here, tmp_path: Path) -> None:
    """B's loose answers are right to a lenient judge only: ten of sixty, in clusters of their own."""
    both = [item(n, "bad a", ["WRONG"], cluster=n) for n in range(50)]
    a = [*both, *(item(n, "bad a", ["WRONG"], cluster=n) for n in range(50, 60))]
    b = [*both, *(item(n, "loose b", ["WRONG"], cluster=n) for n in range(50, 60))]
    for name, items in (("a", a), ("b", b)):
        items = [(replace(row, keys=name), texts) for row, texts in items]
        arm = {"name": name, "system": "imported", "recall": {"limit": 5 if name == "a" else 9}}
        write_source(tmp_path / name, items, arm=arm)
    with Stub(answer=by_rule) as stub:
        write_judges(tmp_path / "mine", stub.url, "strict", "lenient")
        words = ("--config-dir", "mine", "gate.resamples=1000", "hydra.sweep.dir=sweep")
        code, out, err = here("-m", "run.from=a,b", "judge=lenient", *words)
        assert code == 0, out + err
        assert "PASS" in out
        assert "+16.7" in out
        verdict = json.loads((tmp_path / "sweep" / "gate.json").read_text())
        (pair,) = verdict["groups"][0]["comparisons"]
        assert (pair["a"], pair["b"], pair["verdict"]["wins"], pair["verdict"]["losses"]) == ("a", "b", 10, 0)
        assert list(pair["treatment"]) == ["arm.recall.limit"]
        shutil.rmtree(tmp_path / "sweep")
        code, _, _ = here("-m", "run.from=a,b", "judge=strict,lenient", *words)
        settings = [
            (g["setting"], g["comparisons"][0]["outcome"])
            for g in json.loads((tmp_path / "sweep" / "gate.json").read_text())["groups"]
        ]
        assert settings == [({"judge.name": "strict"}, "unresolved"), ({"judge.name": "lenient"}, "pass")]
        assert code == 4
        assert here("report", "sweep")[1].count("judges of the same answers") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run.from=nowhere",), "no such directory"),
        (("run.from=.",), "is a sweep; name its runs"),
        (("run.from=src", "judge=none"), "needs a judge that can be asked"),
        (("run.from=src", "+arm=bm25"), "arm: cannot be set with run.from"),
        (("run.from=src", "reader=extractive_fake"), "reader: cannot be set with run.from"),
        (("run.from=src", "harness=locomo_qa"), "harness: cannot be set with run.from"),
        (("run.from=src", "slice.limit=3"), "slice.limit: cannot be set with run.from"),
        (("run.from=src", "run.repeats=3"), "run.repeats: cannot be set with run.from"),
        (("run.from=src", "run.sampel=3"), "did you mean 'sample'"),
        (("run.from=src,src",), "names several: add -m"),
        (("run.from=src", "judge=haiku,opus"), "names several: add -m"),
        (("run.from=bare",), "no answer is recorded"),
        (("run.from=recall",), "recall axis"),
        (("+arm=bm25", "reader=extractive_fake", "run.sample=3"), "run.sample: draws from recorded answers"),
        (("report", "src", "src"), "named twice"),
        (("report", "src", "--reference"), "name a judge"),
        (("report", "src", "--tabel"), "no such flag"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, tuple) else "",
)
def test_a_mistake_is_one_clear_line(here: Here, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    write_source(tmp_path / "src", plain_items(1, 0, 0))
    write_source(tmp_path / "bare", plain_items(1, 0, 0))
    (tmp_path / "bare" / "texts.jsonl").unlink()
    none = {"name": "none", "provider": "none"}
    recall = {"reader": none, "judge": dict(none)}
    write_source(tmp_path / "recall", plain_items(1, 0, 0), axis="recall", config=recall)
    extra = () if words[0] == "report" or any(word.startswith("judge=") for word in words) else ("judge=lexical_fake",)
    code, _, err = here(*words, *extra)
    assert code == 2, err
    assert said in err
    assert not list(tmp_path.glob("outputs/*/*"))


def test_a_plan_counts_the_judges_calls(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_source(tmp_path / "src", [*plain_items(5, 0, 4), item(9, "I don't know", ["ABSTAIN"])])
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    code, out, err = here("plan", "-m", "run.from=src", "judge=gpt-4.1,haiku")
    assert code == 0, err
    jobs = [line.split() for line in out.splitlines() if line.startswith("src")]
    assert [(job[2], job[3], job[6], job[7]) for job in jobs] == [
        ("gpt-4.1", "10", "1", "9"),
        ("haiku", "10", "1", "9"),
    ]
    assert [job[-1] for job in jobs] == ["$0.01", "unknown"]
    assert "a command tells its cost afterwards" in out
    assert "nothing was spent" in out
    assert not (tmp_path / "outputs").exists()


def test_kill_and_resume_pays_nothing_twice(here: Here, tmp_path: Path) -> None:
    """Kill -9; the server saw in excess at most what was in flight. Resumed from another folder."""
    flight, kills = 4, 0
    write_source(tmp_path / "src", plain_items(80, 0, 40))
    with Stub(answer=by_rule, latency_s=0.04) as stub:
        write_judges(tmp_path / "mine", stub.url, "strict")
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        begun = [
            "run.from=src",
            "judge=strict",
            "--config-dir",
            "mine",
            f"run.concurrency={flight}",
            "hydra.run.dir=run",
        ]
        for attempt in range(2):
            argv = begun if attempt == 0 else ["resume", "../run"]
            seen = stub.state.requests
            child = subprocess.Popen(
                [sys.executable, "-m", "runner", *argv],
                cwd=elsewhere if attempt else tmp_path,
                env=command_environment(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            deadline = time.monotonic() + 60
            while child.poll() is None and time.monotonic() < deadline and not attempt:
                if stub.state.requests >= seen + 25:
                    child.send_signal(signal.SIGKILL)
                    kills += 1
                    break
                time.sleep(0.01)
            assert child.wait(60) in (0, -signal.SIGKILL)
        assert (child.returncode, kills) == (0, 1)
        assert 120 <= stub.state.requests <= 120 + kills * flight
    rows = rows_of(tmp_path / "run")
    assert len(rows) == len((tmp_path / "run" / "rows.jsonl").read_text().splitlines()) == 120
    assert sum(row["label"] == "CORRECT" for row in rows.values()) == 80
    source = tmp_path / "src" / "texts.jsonl"
    source.write_text(source.read_text().replace("bad answer 119", "bad answer 120"))
    with (tmp_path / "run" / "rows.jsonl").open("a") as file:
        file.write('{"torn')
    code, _, err = here("resume", "run")
    assert code == 5
    assert "the answers of the recorded run 'src' changed" in err
    shutil.rmtree(tmp_path / "src")
    with (tmp_path / "run" / "rows.jsonl").open("a") as file:
        file.write('{"torn')
    code, _, err = here("resume", "run")
    assert code == 2
    assert "no such directory" in err


def test_a_real_run_is_graded_again_without_its_memory(cli: Cli, here: Here, tmp_path: Path) -> None:
    """From the built-in benchmark to a second judge, a chain of two, and a sweep of both arms."""
    small = ("harness.settings.scenarios=8", "harness.settings.questions=2")
    fakes = ("reader=extractive_fake", "judge=lexical_fake", "run.repeats=2")
    assert here("-m", "+arm=bm25,oracle", *fakes, *small, "hydra.sweep.dir=sweep")[0] == 5  # fakes get no verdict
    with Stub(reply='{"label": "WRONG"}') as stub:
        write_judges(tmp_path / "mine", stub.url, "never")
        code, out, err = here("run.from=sweep/0-bm25", "judge=never", "--config-dir", "mine", "hydra.run.dir=never")
        assert code == 0, err
        assert "python -m runner report sweep/0-bm25 never" in out
        assert stub.state.requests == 32
        assert "FAKE: reader extractive_fake:" in out  # and the judge is none
        second = cli(
            "calibrate", "sweep", "--second-judge", "never", "--sample", "10", "--seed", "3", "--config-dir", "mine",
            "--into", "second",
        )  # fmt: skip
        assert second.returncode == 0, second.stdout + second.stderr
        said = [text["reasons"] for run in runs_in(tmp_path / "second") for text in texts_of(run).values()]
        refusals = sum(reasons.count("explicit refusal") for reasons in said)  # which no judge is asked about
        assert stub.state.requests == 32 + 2 * 20 - refusals
        assert second.stdout.count("judges of the same answers") == 2
        assert second.stdout.count("(a sample of 16)") == 2
        table = json.loads((tmp_path / "second" / "second_judge.json").read_text())
        assert [Path(entry["source"]).name for entry in table] == ["0-bm25", "1-oracle"]
        assert all(len(rows_of(run)) == 10 for run in runs_in(tmp_path / "second"))
    for entry in table:
        whole = entry["sections"]["overall_comparable"]
        mine, theirs = (line["accuracy_abstain_wrong"] for line in whole["judges"])
        assert theirs == 0
        against = whole["judges"][1]["against_reference"]
        assert against["only_reference"] == pytest.approx(mine * whole["questions"])
        assert against["only_judge"] == 0
    code, out, err = here("calibrate", "never", "--second-judge", "lexical_fake", "--json")
    assert code == 0, err
    (chain,) = json.loads(out)
    assert chain["reference"] == "never"
    assert "lexical_fake" in chain["judges"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--second-judge", "lexical_fake"), "name a run or a sweep"),
        (("src", "--second-judge"), "needs a value"),
        (("src", "--second-judge", "lexicl_fake"), "did you mean 'lexical_fake'"),
        (("src", "--second-judge", "lexical_fake", "--sample", "0"), "at least 1"),
        (("src", "--second-judge", "lexical_fake", "--smaple", "9"), "did you mean '--sample'"),
        (("src", "--second-judge", "lexical_fake", "judge=opus"), "give --second-judge instead"),
        (("src", "--second-judge", "lexical_fake", "+arm=bm25"), "cannot be set with run.from"),
        (("nowhere", "--second-judge", "lexical_fake"), "no such directory"),
        (("src", "--second-judge", "lexical_fake", "--into", "src"), "is not empty"),
        (("src", "--second-judge", "none"), "needs a judge that can be asked"),
    ],
    ids=lambda value: " ".join(value)[:50] if isinstance(value, tuple) else "",
)
def test_a_second_judge_that_cannot_be_is_one_line(
    here: Here, tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    write_source(tmp_path / "src", plain_items(1, 0, 0))
    code, _, err = here("calibrate", *words)
    assert code == 2, err
    assert said in err


def test_the_same_judge_twice_measures_its_own_flips(here: Here, tmp_path: Path) -> None:
    """A judge that contradicts itself on every fifth call agrees with itself on four fifths."""
    write_source(tmp_path / "src", plain_items(30, 0, 0))
    with Stub(reply='{"label": "CORRECT"}') as stub:
        write_judges(tmp_path / "mine", stub.url, "same")
        code, _, err = here("run.from=src", "judge=same", "--config-dir", "mine", "hydra.run.dir=once")
        assert code == 0, err
        calls = 0

        def moody(body: object) -> str:
            nonlocal calls
            calls += 1
            return json.dumps({"label": "WRONG" if calls % 5 == 0 else "CORRECT"})

        stub.state.answer = moody
        code, out, err = here("calibrate", "once", "--second-judge", "same", "--config-dir", "mine", "--into", "twice")
    assert code == 0, out + err
    assert "on 24 of 30" in out
    assert "the same model, parameters and rubric" in out
