"""``calibrate`` and the gates that use it: as processes where that matters, else the same command line in this one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from runner.cli import main
from tests.conftest import command_environment
from tests.support.calibrations import honest
from tests.support.recorded import answered, arm_config, write_run
from tests.support.servers import Stub, closed_port

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
Here = Callable[..., "Done"]


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Here:
    """A command line in this process, in a folder of its own and without a key."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)

    def run(*words: str, **env: str) -> Done:
        with monkeypatch.context() as patch:
            for name, value in env.items():
                patch.setenv(name, value)
            code = main(words)
        return Done(code, *capsys.readouterr())

    return run


KEY = "sk-" + "a1B2" * 8
FAKE = ("judge=lexical_fake", "--probes", "12")
REAL = ("judge=gpt-4.1", "--probes=12")


def served(stub: Stub) -> dict[str, str]:
    return {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "unused"}


@pytest.mark.long
def test_a_fake_judge_in_the_default_place_and_the_gate_that_uses_it(cli: Cli, here: Here, tmp_path: Path) -> None:
    small = ("harness.settings.scenarios=8", "run.repeats=3")
    done = cli("calibrate", *FAKE, *small)
    assert done.returncode == 0, done.stderr
    (place,) = tmp_path.glob("outputs/*/*-calibration-lexical_fake")
    assert {path.name for path in place.iterdir()} == {
        "calibration.json", "probes.jsonl", "texts.jsonl", "calls.jsonl", "provenance.json", "run.log", "lock",
    }  # fmt: skip
    for said in (
        "known right (TPR)",
        "known wrong, specific (FPR)",
        "FAKE: judge lexical_fake",
        "J = TPR − FPR with",
        "left out",
    ):
        assert said in done.stdout
    assert f"gate.calibration={place.relative_to(tmp_path)}" in done.stdout
    models = ("reader=extractive_fake", "judge=lexical_fake")
    sweep = here(
        "-m", "+arm=no_memory,bm25", *models, *small, f"gate.calibration={place.relative_to(tmp_path)}",
        "hydra.sweep.dir=s",
    )  # fmt: skip
    assert sweep.returncode == 5
    assert "corrected for the judge (TPR" in sweep.stdout
    assert "the calibration was made with judge lexical_fake" in sweep.stdout
    # The recorded place is absolute: the sweep is gated from any folder.
    assert f"calibration: {place}" in (tmp_path / "s" / "0-no_memory" / "config.yaml").read_text()
    later = here("gate", "s", "--json")
    assert json.loads(later.stdout)["groups"][0]["comparisons"][0]["corrected"]["judge"] == "lexical_fake"
    here("calibrate", *FAKE, small[0], "--into", "one")
    refused = here("gate", "s", "gate.calibration=one")
    assert refused.returncode == 5
    assert "made with another repeats: 1 there, 3 in no_memory" in refused.stderr


def test_json_and_a_second_time(here: Here) -> None:
    first = here("calibrate", *FAKE, "--into", "c", "--json", "--seed=9")
    again = here("calibrate", *FAKE, "--into", "c", "--json", "--seed=9")
    one, two = json.loads(first.stdout), json.loads(again.stdout)
    assert one["kinds"] == two["kinds"]
    assert one["seed"] == 9
    assert "36 of 36 probes are recorded already" in again.stderr
    other = here("calibrate", *FAKE, "--into", "c")
    assert other.returncode == 5
    assert "another seed: 9 there, 7 here" in other.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "a judge is what is calibrated"),
        (("judge=gpt-4.2",), "did you mean 'gpt-4.1'"),
        (("judge=lexical_fake", "run.repeat=3"), "did you mean 'repeats'"),
        (("judge=lexical_fake", "-m"), "one judge is calibrated at a time"),
        (("judge=lexical_fake,gpt-4.1",), "names several"),
        (("judge=lexical_fake", "--probe", "3"), "did you mean '--probes'"),
        (("judge=lexical_fake", "--probes", "0"), "--probes 0"),
        (("judge=lexical_fake", "--probes", "many"), "give a whole number"),
        (("judge=lexical_fake", "--probes"), "needs a value"),
        (("judge=lexical_fake", "--json=yes"), "takes no value"),
        (("judge=lexical_fake", "--phrasing", "poem"), "choose templates or reader"),
        (("judge=lexical_fake", "--phrasing", "reader"), "asks one to word the probes"),
        (("judge=lexical_fake", f"judge.params.x={KEY}"), "looks like a credential"),
        (("judge=lexical_fake", "run.from=x"), "--known-wrong"),
        (("judge=lexical_fake", "slice.categories=[nonsense]"), "no category 'nonsense'"),
        (("judge=lexical_fake", "slice.categories=[unanswerable]"), "no item of the slice can be probed"),
        (("judge=lexical_fake", "harness=locomo_qa", "harness.dataset.path=nowhere.json"), "nowhere.json"),
        (("judge=gpt-4.1",), "OPENAI_API_KEY"),
        (("--known-wrong", "nowhere"), "no such directory"),
        (("--known-right", "."), "known to be wrong too"),
        (("--known-wrong", ".", "judge=gpt-4.1"), "recorded runs say what judged them"),
        (("--known-wrong", "."), "not a run directory"),
        (("--known-wrong", ".", "--declare", "judg=same"), "did you mean 'judge'"),
        (("--declare", "judge"), "give ROW=same"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_a_mistake_is_one_clear_line_and_code_2(here: Here, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = here("calibrate", *words)
    assert done.returncode == 2
    assert said in done.stderr
    assert all(line.startswith("error: ") for line in done.stderr.splitlines())
    assert "a1B2" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_words_of_an_experiment_will_do(here: Here, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "experiment"
    mine.mkdir(parents=True)
    (mine / "mine.yaml").write_text(
        "# @package _global_\ndefaults:\n  - override /reader: extractive_fake\n  - override /judge: lexical_fake\n"
        "run: {repeats: 3}\nhydra:\n  mode: MULTIRUN\n  sweeper:\n    params: {+arm: 'bm25,no_memory'}\n"
    )
    done = here("calibrate", "+experiment=mine", "--config-dir", "mine", "--probes", "6", "--into", "c")
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "c" / "calibration.json").read_text())
    assert (made["judge"], made["repeats"]) == ("lexical_fake", 3)


def test_a_place_that_cannot_be_written_and_one_in_use(here: Here, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = here("calibrate", *FAKE, "--into", "file/c")
    assert done.returncode == 1
    assert "choose another place with --into DIR" in done.stderr
    assert "Traceback" not in done.stderr
    write_run(tmp_path / "run", [answered(0, True)], arm=arm_config("a"))
    done = here("calibrate", *FAKE, "--into", "run")
    assert done.returncode == 2
    assert "holds other files and no calibration" in done.stderr


def test_throttled_it_still_ends_well(here: Here, tmp_path: Path) -> None:
    """429s wait, 5xx are tried again: every probe gets its label."""
    with Stub(answer=honest, capacity=4, retry_after="0", every={7: "500", 11: "429"}) as stub:
        done = here("calibrate", *REAL, "run.concurrency=8", "--into", "c", **served(stub))
        assert done.returncode == 0, done.stderr
        made = json.loads((tmp_path / "c" / "calibration.json").read_text())
        assert stub.state.statuses["429"] > 0
        assert stub.state.statuses["500"] > 0
    assert [(made["kinds"][k]["passed"], made["kinds"][k]["graded"]) for k in ("right", "specific", "vague")] == [
        (12, 12), (0, 12), (0, 12),
    ]  # fmt: skip
    assert len((tmp_path / "c" / "calls.jsonl").read_text().splitlines()) == 36
    assert made["usage"]["judge"]["calls"] == stub.state.requests  # every request that was sent


def test_garbage_and_dropped_connections_give_no_calibration(here: Here, tmp_path: Path) -> None:
    with Stub(answer=honest, every={3: "garbage", 5: "drop"}) as stub:
        done = here("calibrate", *REAL, "--into", "c", "run.stop_after_errors=null", **served(stub))
        assert done.returncode == 5, done.stdout + done.stderr
        assert "could not be graded, above 5%" in done.stderr
        assert "--into c --retry-errors" in done.stderr
        assert json.loads((tmp_path / "c" / "calibration.json").read_text())["state"] == "unusable"
        stub.state.every = {}
        seen = stub.state.requests
        done = here("calibrate", *REAL, "--into", "c", "--retry-errors", "run.stop_after_errors=null", **served(stub))
        assert done.returncode == 0, done.stderr
        assert 0 < stub.state.requests - seen < 36
    assert json.loads((tmp_path / "c" / "calibration.json").read_text())["kinds"]["right"]["passed"] == 12


def test_nobody_listens_and_no_budget(here: Here, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    done = here("calibrate", *REAL, "--into", "c", OPENAI_BASE_URL=url, OPENAI_API_KEY="unused")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    with Stub(answer=honest) as stub:
        done = here("calibrate", *REAL, "--into", "d", "run.max_usd=0.005", **served(stub))
        assert done.returncode == 1
        assert "run.max_usd=0.005 is reached" in done.stderr
        assert (
            "Go on with: python -m runner calibrate judge=gpt-4.1 --probes=12 run.max_usd=0.005 --into d" in done.stderr
        )
        spent = json.loads((tmp_path / "d" / "calibration.json").read_text())["usage"]["judge"]["usd"]
        assert 0 < spent <= 0.005


@pytest.mark.long
def test_kill_at_any_moment_loses_and_repays_nothing(cli: Cli, tmp_path: Path) -> None:
    flight = 3
    words = ["calibrate", *REAL, "run.repeats=2", f"run.concurrency={flight}", "--into", "c"]
    with Stub(answer=honest, latency_s=0.05, every={10: "429"}, retry_after="0") as stub:
        env = command_environment(**served(stub))
        kills = 0
        for attempt in range(2):
            seen = stub.state.requests
            child = subprocess.Popen(
                [sys.executable, "-m", "runner", *words], cwd=tmp_path, env=env,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            while child.poll() is None and attempt < 1:
                if stub.state.requests >= seen + 30:
                    child.send_signal(signal.SIGKILL)
                    kills += 1
                    break
                time.sleep(0.01)
            assert child.wait(60) in (0, -signal.SIGKILL)
        assert child.returncode == 0
        assert kills == 1
        assert 72 <= stub.state.statuses["200"] <= 72 + kills * flight
    rows = [json.loads(line) for line in (tmp_path / "c" / "probes.jsonl").read_text().splitlines()]
    assert len({row["id"] for row in rows}) == len(rows) == 36
    made = json.loads((tmp_path / "c" / "calibration.json").read_text())
    assert made["state"] == "complete"
    assert made["kinds"]["right"]["passed"] == 12


@pytest.mark.long
def test_ctrl_c_says_how_to_go_on(cli: Cli, tmp_path: Path) -> None:
    words = ["calibrate", "judge=gpt-4.1", "--probes", "60", "run.concurrency=2", "--into", "c"]
    with Stub(answer=honest, latency_s=0.05) as stub:
        child = subprocess.Popen(
            [sys.executable, "-m", "runner", *words], cwd=tmp_path, env=command_environment(**served(stub)),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while stub.state.requests < 10 and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert child.returncode == 1, out + err
    assert "Go on with: python -m runner calibrate judge=gpt-4.1 --probes 60 run.concurrency=2 --into c" in err
    assert "Traceback" not in err


def test_recorded_answers(here: Here, tmp_path: Path) -> None:
    wrong = [answered(n, n % 10 == 0) for n in range(100)]
    right = [answered(n, n % 10 != 0) for n in range(100)]
    for name, rows in (("wrong", wrong), ("right", right)):
        write_run(tmp_path / name, rows, arm=arm_config("a"))
    done = here("calibrate", "--known-wrong", "wrong", "--into", "w")
    assert done.returncode == 0, done.stderr
    assert "0.100" in done.stdout
    assert "no known right answer: rates are told, a gate corrects nothing with them" in done.stdout
    assert "use it" not in done.stdout
    done = here("calibrate", "--known-wrong=wrong", "--known-right=right", "--into", "both", "--json")
    assert json.loads(done.stdout)["youden"]["specific"]["j"] == pytest.approx(0.8)
    assert here("calibrate", "--known-wrong=wrong", "--into", "both").returncode == 2
    for name in "ab":
        rows = [
            answered(n, n % 3 == 0 or (name == "b" and n % 3 == 1), cluster=n % 30, keys=f"{name}{n}")
            for n in range(300)
        ]
        write_run(tmp_path / name, rows, arm=arm_config(name))
    refused = here("gate", "a", "b", "gate.calibration=w")
    assert refused.returncode == 5
    assert "has no graded known right answer" in refused.stderr
    passed = here("gate", "a", "b", "gate.calibration=both")
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert (
        "corrected for the judge (TPR 0.900 of 100, FPR 0.100 of 100 specific wrong answers, J +0.800): +41.7 pp"
        in passed.stdout
    )


def test_wrong_answers_imported_from_the_locomo_audit(here: Here, shared_data: Path, tmp_path: Path) -> None:
    """Its judge passes 164 of 1,540 by majority and .1061 over repeats; no arm can be corrected with that alone."""
    audit = shared_data / "locomo_audit"
    for name, file in (("w", "ap_v1_scored"), ("a", "gpt-4.1-mini-memos"), ("b", "gpt-4.1-mini-cot")):
        assert here("import", "evermemos", str(audit / f"{file}.json"), "--into", name).returncode == 0
    done = here("calibrate", "--known-wrong", "w", "--into", "c", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["kinds"]["specific"]
    assert (found["passed"], found["graded"], round(found["mean_over_repeats"], 4)) == (164, 1540, 0.1061)
    declared = ("--declare", "reader=same", "--declare", "judge=same", "--declare", "dataset=same")
    declared += ("--declare", "protocol=same", "--declare", "system=treatment", "gate.interval=percentile")
    raw = here("gate", "a", "b", *declared)
    assert raw.returncode == 0, raw.stdout + raw.stderr
    refused = here("gate", "a", "b", *declared, "gate.calibration=c")
    assert refused.returncode == 5
    assert "has no graded known right answer" in refused.stderr


def test_people(here: Here, tmp_path: Path) -> None:
    for name in "ab":
        rows = [
            answered(n, n % 3 == 0 or (name == "b" and n % 3 == 1), cluster=n % 30, keys=f"{name}{n}")
            for n in range(300)
        ]
        write_run(tmp_path / name, rows, arm=arm_config(name))
    lines = [f"c{n % 30}/{n},{name},{int(n % 3 == 0)}" for name in "ab" for n in range(120)]
    (tmp_path / "labels.csv").write_text("\n".join(["id,arm,label", *lines]))
    done = here("gate", "a", "b", "gate.human=labels.csv")
    assert done.returncode == 0  # the raw verdict's
    assert "people say the same of all 120 labelled items" in done.stdout
    (tmp_path / "labels.csv").write_text("\n".join(["id,arm,label", *lines[:-1], "c29/119,b,1"]))
    done = here("gate", "a", "b", "gate.human=labels.csv")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "with 120 pairs labelled by people" in done.stdout
    (tmp_path / "labels.csv").write_text("id,arm,label\nc0/0,z,1\n")
    done = here("gate", "a", "b", "gate.human=labels.csv")
    assert done.returncode == 2
    assert "no arm 'z' here" in done.stderr
