"""The real command line, as processes: exit codes, files, kills, hostile places."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import runner.cli
from tests.conftest import ROOT, command_environment, runs_in
from tests.support.servers import Stub

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

SMALL = ("harness.settings.scenarios=40", "harness.settings.questions=2")
KEY = "sk-" + "a1B2" * 8


def test_one_run_writes_what_the_design_lists(cli: Cli, tmp_path: Path) -> None:
    done = cli("+arm=bm25", *SMALL, fresh=True)
    assert done.returncode == 0, done.stderr
    (run,) = runs_in(tmp_path)
    assert run.name.endswith("-bm25")
    assert {path.name for path in run.iterdir()} == {
        "config.yaml", "instrument.json", "rows.jsonl", "texts.jsonl", "calls.jsonl", "ingest.jsonl",
        "provenance.json", "summary.json", "run.log", "lock", "seal",
    }  # fmt: skip
    rows = [json.loads(line) for line in (run / "rows.jsonl").read_text().splitlines()]
    assert len(rows) == 80
    assert "synthetic" in done.stdout
    assert "Traceback" not in done.stderr
    assert not (run / "run.log").read_text()
    again = cli("resume", str(run))
    assert again.returncode == 0
    assert "nothing to do" in again.stdout


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-m", "+arm=no_memory,oracle", *SMALL), 0, "PASS"),
        pytest.param(("-m", "arm=oracle,no_memory", *SMALL), 3, "FAIL", marks=pytest.mark.long),
        pytest.param(
            ("-m", "+arm=bm25,oracle", "harness.settings.scenarios=4"), 4, "too_few_clusters", marks=pytest.mark.long
        ),
        pytest.param(
            ("-m", "+arm=full_context", "arm.recall.limit=1000,2000", *SMALL), 5, "vacuous", marks=pytest.mark.long
        ),
    ],
    ids=["pass", "fail", "unresolved", "refused"],
)
def test_exit_codes_of_a_sweep(cli: Cli, tmp_path: Path, words: tuple[str, ...], code: int, said: str) -> None:
    done = cli(*words)
    assert done.returncode == code, done.stdout + done.stderr
    assert said in done.stdout
    sweep = runs_in(tmp_path)[0].parent
    verdict = json.loads((sweep / "gate.json").read_text())
    assert verdict["exit_code"] == code
    later = cli("gate", str(sweep))
    assert later.returncode == code
    assert later.stdout == done.stdout[-len(later.stdout) :]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("+arm=arms_of",), "did you mean 'arms_off'"),
        (("+arm=bm25", "harnes=locomo_qa"), "did you mean 'harness'"),
        (("+arm=bm25", "run.repeat=3"), "did you mean 'repeats'"),
        (("+arm=bm25", "run.repeats=zero"), "run.repeats"),
        (("+arm=arms_off", "arm.knobs.grap=true"), "did you mean 'graph'"),
        ((), "usage"),
        (("judge=none",), "choose one, +arm=NAME"),
        (("pln",), "did you mean 'plan'"),
        (("+arm=bm25,dense",), "add -m"),
        (("+arm=bm25", f"reader.params.x={KEY}"), "looks like a credential"),
        (("+arm=bm25", "--config-dir", "nowhere"), "no such folder"),
        (("+arm=bm25", "judge=gpt-4.1"), "no answers to grade"),
        (("+arm=bm25", "reader=gpt-4.1-mini"), "needs a judge"),
        (("+arm=bm25", "reader=gpt-4.1-mini", "judge=gpt-4.1"), "OPENAI_API_KEY"),
        (("+arm=bm25", "harness=locomo_qa", "harness.dataset.path=nowhere.json"), "nowhere.json"),
        (("+arm=bm25", "slice.categories=[nonsense]"), "no category 'nonsense'"),
        (("resume", "nowhere"), "no such directory"),
        (("resume",), "takes one directory"),
        (("gate",), "gate takes"),
        (("gate", "nowhere"), "no such directory"),
        (("diff", "a"), "two run directories"),
        (("report", "."), "neither a run"),
        (("list", "arrms"), "did you mean 'arm'"),
        (("-m", "+arm=bm25,oracle", "harness=locomo_qa", "harness.dataset.path=nowhere.json"), "nowhere.json"),
        (("data", "chekc", "locomo_qa"), "data takes check or fetch"),
        (("plan", "+arm=arms_off", "+arm.knobs.warp=true"), "does not read it"),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, tuple) else None,
)
def test_a_mistake_is_one_clear_line_and_code_2(cli: Cli, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = cli(*words)
    assert done.returncode == 2, done.stdout + done.stderr
    assert said in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    assert "a1B2" not in done.stderr
    assert not runs_in(tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and "a1B2" in path.read_text()]


def test_help_list_version_need_nothing(cli: Cli) -> None:
    assert "exit codes" in cli("--help", fresh=True).stdout
    assert "exit codes" in cli("plan", "--help").stdout
    assert cli("--version").stdout.startswith("agent-memory-runner ")
    listed = cli("list", fresh=True).stdout
    for name in ("arms_on", "locomo_qa", "gpt-4.1-mini", "locomo_pilot", "synthetic_memory"):
        assert name in listed


@pytest.mark.long
def test_hydra_words_work(cli: Cli, tmp_path: Path) -> None:
    shown = cli("--cfg", "job", "+arm=bm25")
    assert shown.returncode == 0
    assert "system: bm25" in shown.stdout
    assert not runs_in(tmp_path)
    mine = tmp_path / "mine" / "arm"
    mine.mkdir(parents=True)
    shutil.copy(ROOT / "conf" / "arm" / "bm25.yaml", mine / "bm25_of_mine.yaml")
    text = (mine / "bm25_of_mine.yaml").read_text().replace("name: bm25", "name: bm25_of_mine")
    (mine / "bm25_of_mine.yaml").write_text(text)
    done = cli("arm=bm25_of_mine", "--config-dir", "mine", *SMALL)
    assert done.returncode == 0, done.stderr
    assert runs_in(tmp_path / "outputs")[0].name.endswith("-bm25_of_mine")


def test_a_secret_in_ones_own_config_is_refused_before_anything_is_written(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "reader"
    mine.mkdir(parents=True)
    (mine / "my.yaml").write_text(f"name: my\nprovider: openai\nmodel: m\nparams:\n  extra: {KEY}\n")
    done = cli("-m", "+arm=bm25,oracle", "reader=my", "judge=lexical_fake", "--config-dir", "mine")
    assert done.returncode == 2
    assert "looks like a credential" in done.stderr
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    "text", ["name: [", "name: \udcff", "- a\n- b\n", "{{}}"], ids=["broken", "bytes", "list", "braces"]
)
def test_a_broken_config_file_is_told(cli: Cli, tmp_path: Path, text: str) -> None:
    mine = tmp_path / "mine" / "arm"
    mine.mkdir(parents=True)
    (mine / "my.yaml").write_bytes(text.encode("utf-8", "surrogateescape"))
    done = cli("+arm=my", "--config-dir", "mine")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    assert not runs_in(tmp_path)


def test_plan_spends_nothing_and_names_what_is_sent(cli: Cli, tmp_path: Path) -> None:
    with Stub() as stub:
        env = {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "unused"}
        done = cli("plan", "-m", "+arm=bm25,no_memory", "reader=gpt-4.1-mini", "judge=gpt-4.1", *SMALL, **env)
        assert done.returncode == 0, done.stderr
        assert stub.state.requests == 0
    assert "nothing was spent" in done.stdout
    assert "160" in done.stdout  # 80 questions, a reader and a judge call each
    assert not runs_in(tmp_path)
    planned = json.loads(cli("plan", "--json", "+arm=arms_off").stdout)
    assert planned[0]["knobs"]["graph"] is False


@pytest.mark.long
def test_kill_at_any_moment_loses_and_repays_nothing(cli: Cli, tmp_path: Path) -> None:
    """Kill -9 three times in a row; what the server saw in excess is at most what was in flight each time."""
    flight = 4
    words = ["+arm=bm25", "reader=gpt-4.1-mini", "judge=gpt-4.1", f"run.concurrency={flight}", *SMALL]
    with Stub(latency_s=0.05) as stub:
        env = {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "unused"}
        begun = [sys.executable, "-m", "runner", *words, "hydra.run.dir=run"]
        kills = 0
        for attempt in range(4):
            argv = begun if attempt == 0 else [sys.executable, "-m", "runner", "resume", "run"]
            seen = stub.state.requests
            child = subprocess.Popen(
                argv, cwd=tmp_path, env=command_environment(**env), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            deadline = time.monotonic() + 60
            while child.poll() is None and time.monotonic() < deadline and attempt < 3:
                if stub.state.requests >= seen + 25:
                    child.send_signal(signal.SIGKILL)
                    kills += 1
                    break
                time.sleep(0.01)
            assert child.wait(60) in (0, -signal.SIGKILL)
        assert child.returncode == 0
        assert kills == 3
        assert 160 <= stub.state.requests <= 160 + kills * flight
        rows = [json.loads(line) for line in (tmp_path / "run" / "rows.jsonl").read_text().splitlines()]
        assert len({row["id"] for row in rows}) == len(rows) == 80
        whole = cli(*words, "hydra.run.dir=whole", **env)
        assert whole.returncode == 0
    a, b = (json.loads((tmp_path / name / "summary.json").read_text())["groups"] for name in ("run", "whole"))
    assert a == b


@pytest.mark.long
def test_ctrl_c_stops_a_sweep_and_says_how_to_resume(cli: Cli, tmp_path: Path) -> None:
    with Stub(latency_s=0.05) as stub:
        env = {"OPENAI_BASE_URL": stub.url, "OPENAI_API_KEY": "unused"}
        words = ["-m", "+arm=bm25,oracle", "reader=gpt-4.1-mini", "judge=gpt-4.1", "run.concurrency=4", *SMALL]
        child = subprocess.Popen(
            [sys.executable, "-m", "runner", *words, "hydra.sweep.dir=sweep"],
            cwd=tmp_path, env=command_environment(**env), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while stub.state.requests < 20 and child.poll() is None:
            time.sleep(0.02)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
        assert child.returncode == 1, out + err
        assert "python -m runner resume sweep/0-bm25" in err
        assert "Traceback" not in err
        assert not (tmp_path / "sweep" / "1-oracle").exists()
        done = cli("resume", "sweep", **env)
        assert done.returncode in (3, 4, 0), done.stdout + done.stderr
        assert (tmp_path / "sweep" / "1-oracle" / "summary.json").exists()
        assert stub.state.requests == 2 * 160


@pytest.mark.long
def test_a_failed_arm_leaves_the_others_gated(cli: Cli, tmp_path: Path) -> None:
    mine = tmp_path / "mine" / "arm"
    mine.mkdir(parents=True)
    (mine / "broken.yaml").write_text("name: broken\nsystem: bm25\nknobs: {nonsense: true}\n")
    done = cli("-m", "+arm=no_memory,broken,oracle", "--config-dir", "mine", *SMALL)
    assert done.returncode == 1, done.stdout
    assert "PASS" in done.stdout
    assert "incomplete" in done.stdout
    assert "nonsense" in done.stderr


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc/self").exists(), reason="needs a file system that refuses")
def test_outputs_that_cannot_be_written(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for words in (("+arm=no_memory", "hydra.run.dir=file/run"), ("-m", "+arm=no_memory", "hydra.sweep.dir=file/sweep")):
        done = cli(*words, *SMALL)
        assert done.returncode == 1, done.stderr
        assert "cannot be written" in done.stderr
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError(errno.ENOSPC, "No space left"), "the output cannot be written (No space left); make room or send it"),
        (OSError(errno.ENOSPC, "No space left", "a.json"), "a.json: cannot be written (No space left); make room"),
        (OSError(errno.ENOENT, "No such file", "a.json"), "a.json: cannot be opened (No such file); check that it is"),
    ],
)
def test_only_a_write_is_told_as_a_write(
    error: OSError, says: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(argv: list[str]) -> int:
        raise error

    monkeypatch.setattr("runner.cli.list_.main", broken)
    monkeypatch.setattr("runner.cli._drop_output", lambda: None)
    assert runner.cli.main(["list"]) == 1
    assert capfd.readouterr().err.startswith(f"error: {says}")


@pytest.mark.long
def test_two_runs_in_one_place(cli: Cli, tmp_path: Path) -> None:
    first = cli("+arm=no_memory", "hydra.run.dir=here", *SMALL)
    assert first.returncode == 0
    before = (tmp_path / "here" / "rows.jsonl").read_bytes()
    second = cli("+arm=oracle", "hydra.run.dir=here", *SMALL)
    assert second.returncode == 1
    assert "already holds a run" in second.stderr
    assert (tmp_path / "here" / "rows.jsonl").read_bytes() == before


@pytest.mark.long
def test_diff_and_report(cli: Cli, tmp_path: Path) -> None:
    cli("-m", "+arm=no_memory,oracle", *SMALL)
    a, b = map(str, runs_in(tmp_path))
    shown = cli("diff", a, b)
    assert shown.returncode == 0
    assert "arm.system" in shown.stdout
    assert "harness.name" not in shown.stdout
    assert "harness.name" in cli("diff", a, b, "--all").stdout
    rows = json.loads(cli("diff", a, b, "--json").stdout)
    assert {"section": "config", "key": "arm.system", "a": "none", "b": "oracle", "change": None} in rows
    assert cli("diff", a, b, "--md").stdout.startswith("| | key |")
    assert cli("diff", a, a).stdout == "no difference\n"
    sweep = str(Path(a).parent)
    assert "PASS" in cli("report", sweep).stdout
    assert set(json.loads(cli("report", sweep, "--json").stdout)) == {"0-no_memory", "1-oracle"}
    verdict = json.loads(cli("gate", sweep, "--json", "gate.min_delta=100").stdout)
    assert verdict["outcome"] == "unresolved"  # 100 points only reach the threshold


def test_an_odd_locale_and_a_closed_pipe(cli: Cli) -> None:
    done = cli("list", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0
    line = f"{sys.executable} -m runner list | head -1; exit ${{PIPESTATUS[0]}}"
    piped = subprocess.run(
        ["bash", "-c", line], env=command_environment(), capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert "Traceback" not in piped.stderr


def test_the_wheel_runs_from_another_folder(tmp_path: Path) -> None:
    """Built, unpacked and run without the checkout: the configs travel inside the package."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    site = tmp_path / "site"
    shutil.unpack_archive(wheel, site, "zip")
    away = tmp_path / "away"
    away.mkdir()
    env = {**command_environment(), "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-m", "runner", "+arm=no_memory", *SMALL],
        cwd=away, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert runs_in(away)
    scripts = next(site.glob("*.dist-info")) / "entry_points.txt"
    assert "memory-runner = runner.cli:entry" in scripts.read_text()
