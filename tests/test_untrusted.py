"""Recorded runs, datasets and replies are untrusted: damage is one clear line, and nothing in them is obeyed."""

from __future__ import annotations

import copy
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli import main
from tests.support.commands import CommandLine, command_environment

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
SMALL = ("harness.settings.scenarios=40", "harness.settings.questions=2")
SECRET = "hunter2hunter2hunter2"


@pytest.fixture(scope="module")
def finished_sweep(tmp_path_factory: pytest.TempPathFactory, command_line: CommandLine) -> Path:
    """A real sweep with answers, gated: fake models, so that it needs no server."""
    folder = tmp_path_factory.mktemp("sweep")
    words = ["-m", "+arm=bm25,oracle", "reader=extractive_fake", "judge=lexical_fake", "hydra.sweep.dir=sweep", *SMALL]
    done = command_line.run(*words, cwd=folder, MEMORY_RUNNER_CACHE=str(folder / "cache"))
    assert done.returncode == 5, done.stderr  # fakes never pass
    return folder / "sweep"


@pytest.fixture
def sweep(finished_sweep: Path, tmp_path: Path) -> Path:
    """A copy of its own, its fakes taken for real models: what is damaged must not pass for another reason."""
    copied = tmp_path / "sweep"
    shutil.copytree(finished_sweep, copied)
    for path in copied.glob("*/instrument.json"):
        value = json.loads(path.read_text())
        value["fakes"] = []
        path.write_text(json.dumps(value))
    return copied


def told(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(list(words))
    out, err = capsys.readouterr()
    assert "Traceback" not in out + err
    assert "\x1b" not in out + err
    return code, out + err


def edit_rows(run: Path, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
    rows = [change(json.loads(line)) for line in (run / "rows.jsonl").read_text().splitlines()]
    (run / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if row is not None))


def test_the_sweep_passes_as_long_as_nothing_is_damaged(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = told(capsys, "gate", str(sweep))
    assert code == 0, text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda row: {**row, "label": "BANANA"}, "BANANA"),
        (lambda row: {**row, "label": ""}, "not one that a judge gives"),
        (lambda row: {**row, "status": "fine"}, "'fine'"),
        (lambda row: {**row, "cluster": "one"}, "another cluster"),
        (lambda row: {**row, "category": "1"}, "another category"),
        (lambda row: {**row, "id": row["id"] + "x"}, "other questions"),
        (lambda row: row if row["category"] in "35" else None, "missing"),
        (lambda row: {**row, "id": "i" * 300}, "longer than"),
    ],
    ids=["label", "no-label", "status", "cluster", "category", "ids", "subset", "long-id"],
)
def test_edited_rows_never_pass(sweep: Path, capsys: pytest.CaptureFixture[str], change: Any, said: str) -> None:
    run = sweep / "1-oracle"
    edit_rows(run, change)
    summary = json.loads((run / "summary.json").read_text())
    summary["rows_bytes"] = (run / "rows.jsonl").stat().st_size  # an edit that covers its tracks
    (run / "summary.json").write_text(json.dumps(summary))
    code, text = told(capsys, "gate", str(sweep))
    assert code in (1, 5), text
    assert said in text
    assert "PASS" not in text
    assert "gate: pass" not in text


@pytest.mark.parametrize("value", [7.0, -1.0, 1e300])
def test_a_share_beyond_one_is_damage(sweep: Path, capsys: pytest.CaptureFixture[str], value: float) -> None:
    edit_rows(sweep / "1-oracle", lambda row: {**row, "metrics": dict.fromkeys(row["metrics"], value)})
    code, text = told(capsys, "gate", str(sweep), "gate.metric=fraction@all")
    assert code == 1, text
    assert "outside 0 .. 1" in text


JUNK = [[], {}, "x", -1, 0.5, None, 10**400, [[]], {"a": []}]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        found += [p for key in list(value)[:6] for p in places(value[key], (*path, key))]
    elif isinstance(value, list) and value:
        found += places(value[0], (*path, 0))
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", ["instrument.json", "summary.json", "provenance.json", "../sweep.json", "config.yaml"])
def test_mutated_records_crash_nothing(sweep: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Every place of a file, every kind of junk: a verdict or one line, whatever the verb."""
    path = sweep / "1-oracle" / name
    read, write = (yaml.safe_load, yaml.safe_dump) if name.endswith("yaml") else (json.loads, json.dumps)
    original = read(path.read_text())
    verbs = (
        ["gate", str(sweep)],
        ["report", str(sweep), "--json"],
        ["diff", str(sweep / "0-bm25"), str(sweep / "1-oracle")],
    )
    spots = places(original)
    for number, spot in enumerate(spots[:: max(1, len(spots) // 24)]):
        value = copy.deepcopy(original)
        target = value
        for key in spot[:-1]:
            target = target[key]
        target[spot[-1]] = JUNK[number % len(JUNK)]
        path.write_text(write(value))
        for words in verbs:
            code, text = told(capsys, *words)
            assert code in (0, 1, 2, 3, 4, 5), text
            assert "nan" not in text.lower().split()
    path.write_text(write(original))
    assert told(capsys, "gate", str(sweep))[0] == 0


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_no_nan_from_a_record(sweep: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    for name in ("summary.json", "instrument.json"):
        path = sweep / "1-oracle" / name
        before = path.read_text()
        path.write_text(before.replace('"questions": 80', f'"questions": {text}', 1))
        for words in (["report", str(sweep)], ["diff", str(sweep / "0-bm25"), str(sweep / "1-oracle"), "--json"]):
            assert "nan" not in told(capsys, *words)[1].lower().replace("\n", " ").split()
        path.write_text(before)


def test_an_alias_bomb_is_refused_at_once(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 11))
    with (sweep / "0-bm25" / "config.yaml").open("a") as file:
        file.write(bomb)
    start = time.monotonic()
    for words in (["gate", str(sweep)], ["diff", str(sweep / "0-bm25"), str(sweep / "1-oracle")]):
        code, text = told(capsys, *words)
        assert code == 1
        assert "aliases" in text
    assert time.monotonic() - start < 10


def test_resume_runs_no_command_that_a_record_names(cli: Cli, sweep: Path, tmp_path: Path) -> None:
    run = sweep / "0-bm25"
    config = yaml.safe_load((run / "config.yaml").read_text())
    for role in ("reader", "judge"):
        config[role] |= {"provider": "command", "command": ["touch", str(tmp_path / "PWNED")]}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    for name in ("summary.json", "instrument.json", "rows.jsonl", "calls.jsonl"):
        (run / name).unlink()
    done = cli("resume", str(run))
    assert done.returncode == 5, done.stderr
    assert "made elsewhere or edited" in done.stderr
    assert "touch" in done.stderr
    assert "--trust" in done.stderr
    assert not (tmp_path / "PWNED").exists()


@pytest.mark.long
def test_text_from_data_is_shown_and_never_obeyed(cli: Cli, tmp_path: Path) -> None:
    evil = "\x1b[31mEVIL\nerror: pwned"
    data = [{"sample_id": evil, "qa": [], "conversation": {"speaker_a": "a", "speaker_b": "b"}}]
    (tmp_path / "data.json").write_text(json.dumps(data))
    words = ("harness.dataset.path=data.json", "harness.dataset.sha256=null")
    for verb in (("data", "check", "locomo_qa"), ("+arm=bm25", "harness=locomo_qa")):
        done = cli(*verb, *words)
        assert "\x1b" not in done.stdout + done.stderr
        assert not [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("error: pwned")]
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("where", ["text", "question", "sample_id"])
def test_half_a_character_in_a_dataset(cli: Cli, tmp_path: Path, where: str) -> None:
    turn = {"speaker": "a", "dia_id": "D1:1", "text": "hello"}
    item = {"question": "what?", "answer": "hello", "evidence": ["D1:1"], "category": 4}
    data: dict[str, Any] = {
        "sample_id": "conv-1",
        "qa": [item],
        "conversation": {
            "speaker_a": "a", "speaker_b": "b",
            "session_1": [turn], "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "event_summary": {}, "observation": {}, "session_summary": {},
    }  # fmt: skip
    holder = {"text": turn, "question": item, "sample_id": data}[where]
    holder[where] += "\ud800"
    (tmp_path / "data.json").write_text(json.dumps([data]))
    done = cli("+arm=bm25", "harness=locomo_qa", "harness.dataset.path=data.json", "harness.dataset.sha256=null")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_half_a_character_in_a_reply_is_recorded_all_the_same(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text('import sys; sys.stdin.read(); print(\'{"result": "answer \\\\ud800 x"}\')')
    command = f"[{sys.executable},{tmp_path / 'model.py'}]"
    done = cli(
        "+arm=bm25", "harness.settings.scenarios=1", "reader=sonnet", "judge=sonnet",
        f"reader.command={command}", f"judge.command={command}", "hydra.run.dir=run",
    )  # fmt: skip
    assert done.returncode == 1, done.stderr  # nothing was scored
    assert "Traceback" not in done.stderr
    rows = [json.loads(line) for line in (tmp_path / "run" / "rows.jsonl").read_text().splitlines()]
    assert {row["status"] for row in rows} == {"judge_unparseable"}
    assert len((tmp_path / "run" / "calls.jsonl").read_text().splitlines()) == 2 * len(rows)


@pytest.mark.parametrize(
    "words",
    [
        ("+reader.params.user=${oc.env:ODDKEY}",),
        ("+reader.params.tools=[{password: hunter2hunter2hunter2}]",),
        ("+reader.params={password: hunter2hunter2hunter2}",),
        ("+reader.params.tools=[{auth_token: hunter2hunter2hunter2}]",),
        ("reader.base_url='http://hunter2hunter2hunter2@127.0.0.1:1/v1'",),
        ("reader.base_url='http://127.0.0.1:1/v1?api-key=hunter2hunter2hunter2'",),
        ("reader.name=${oc.env:ODDKEY}",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("sweeping", [False, True], ids=["run", "sweep"])
def test_no_secret_under_outputs_or_in_a_message(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], sweeping: bool
) -> None:
    arms = ("-m", "+arm=bm25,no_memory") if sweeping else ("+arm=bm25",)
    done = cli(*arms, "reader=local", "judge=local", *words, *SMALL, ODDKEY=SECRET)
    assert done.returncode == 2, done.stdout + done.stderr
    assert SECRET not in done.stdout + done.stderr
    holding = [path for path in tmp_path.rglob("*") if path.is_file() and SECRET in path.read_text(errors="replace")]
    assert not holding


@pytest.mark.parametrize(
    "words", [("{}",), ("resume", "{}"), ("list", "{}"), ("+arm=bm25", "{}=1"), ("+arm=bm25", "--api-key={}")]
)
def test_a_key_in_the_wrong_place_is_not_repeated(cli: Cli, words: tuple[str, ...]) -> None:
    key = "sk-proj-" + "A1b2" * 8
    done = cli(*(word.format(key) for word in words))
    assert done.returncode == 2
    assert key not in done.stdout + done.stderr


@pytest.mark.long
def test_streams_that_are_closed_or_full(sweep: Path, tmp_path: Path) -> None:
    env = {**command_environment(), "SWEEP": str(sweep), "PY": sys.executable}
    for line, code in (
        ('"$PY" -m runner gate "$SWEEP" >&-', 0),
        ('"$PY" -m runner gate "$SWEEP" 2>&-', 0),
        ('"$PY" -m runner gate "$SWEEP" >/dev/full', 1),
        ('"$PY" -m runner list >/dev/full', 1),
        (f'"$PY" -m runner +arm=no_memory {" ".join(SMALL)} hydra.run.dir=a >&- 2>&-', 0),
    ):
        done = subprocess.run(["bash", "-c", line], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == code, (line, done.stderr)
        assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounting a small disk needs root")
def test_a_full_disk_is_one_line_and_a_resume_finishes(cli: Cli, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48k", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("no tmpfs can be mounted here")
    try:
        done = cli("+arm=bm25", "hydra.run.dir=disk/run", *SMALL)
        assert done.returncode == 1, done.stdout
        assert "No space left" in done.stderr
        assert "Traceback" not in done.stderr
        assert "Logging error" not in done.stderr
        assert "resume" in done.stderr
        subprocess.run(["mount", "-o", "remount,size=20m", str(disk)], check=True)
        again = cli("resume", "disk/run")
        assert again.returncode == 0, again.stderr
        rows = (disk / "run" / "rows.jsonl").read_text().splitlines()
        assert len({json.loads(line)["id"] for line in rows}) == len(rows) == 80
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        refused = cli("+arm=bm25", "hydra.run.dir=disk/other", *SMALL)
        assert refused.returncode == 1
        assert "Traceback" not in refused.stderr
        assert "Read-only" in refused.stderr
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.long
def test_a_sweep_from_elsewhere_runs_no_command(cli: Cli, tmp_path: Path) -> None:
    assert cli("-m", "+arm=no_memory,oracle", "hydra.sweep.dir=sw", *SMALL).returncode == 0
    mark = tmp_path / "PWNED"
    words = ["+arm=bm25", "reader=sonnet", f"reader.command=[touch,{mark}]", "judge=lexical_fake"]
    (tmp_path / "sw" / "sweep.json").write_text(json.dumps({"format": 1, "jobs": [{"number": 7, "overrides": words}]}))
    done = cli("resume", "sw")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "--trust" in done.stderr
    assert not mark.exists()
    told = cli("gate", "sw")
    assert told.returncode == 1
    assert "no place in sweep.json" in told.stdout
    (tmp_path / "sw" / "sweep.json").write_text('{"format":1,"jobs":[],"config_folders":["/nope\\u0000"]}')
    assert cli("resume", "sw").returncode == 1


def test_a_run_in_which_everything_failed_is_no_success(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "fail.py").write_text("import sys; sys.exit(3)")
    words = ("reader=sonnet", "judge=lexical_fake", f"reader.command=[{sys.executable},{tmp_path / 'fail.py'}]")
    done = cli("+arm=bm25", *words, "harness.settings.scenarios=2", "hydra.run.dir=run")
    assert done.returncode == 1
    assert "no question was scored, all 8 failed" in done.stderr
    assert "resume run --retry-errors" in done.stderr


@pytest.mark.long
def test_a_command_that_floods_or_leaves_children_is_ended(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "flood.sh").write_text("head -c 60000000 /dev/zero\n")
    (tmp_path / "child.sh").write_text('(exec >/dev/null 2>&1 </dev/null; sleep 4242) &\necho \'{"result": "x"}\'\n')
    for name, limit, status in (("flood.sh", 3, 1), ("child.sh", 20, 0)):
        start = time.monotonic()
        words = (
            "reader=sonnet",
            "judge=lexical_fake",
            f"reader.command=[bash,{tmp_path / name}]",
            f"reader.timeout_s={limit}",
        )
        done = cli("+arm=bm25", *words, "harness.settings.scenarios=1", timeout=100)
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        assert time.monotonic() - start < 60
    left = subprocess.run(["pgrep", "-f", "sleep 4242"], capture_output=True, text=True, check=False)
    assert not left.stdout


def test_flags_that_do_not_go_together_and_keys_left_at_their_default(cli: Cli) -> None:
    done = cli("+arm=no_memory", "--resolve")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    shown = cli("+arm=no_memory", "reader.attempts=2", "--cfg", "job")
    assert shown.returncode == 0, shown.stderr
    assert "attempts: 2" in shown.stdout
    assert cli("+arm=no_memory", "harness.settings.scenarios=1000000000").returncode == 2


def test_a_model_of_the_arm_is_looked_at_too(cli: Cli, tmp_path: Path) -> None:
    """A record may name a command wherever a model may stand, such as the query expansion of an arm."""
    mark = tmp_path / "PWNED"
    words = ["+arm=hybrid_hyde", "arm.settings.hyde.provider=command", f"++arm.settings.hyde.command=[touch,{mark}]"]
    (tmp_path / "sw").mkdir()
    (tmp_path / "sw" / "sweep.json").write_text(json.dumps({"format": 1, "jobs": [{"number": 0, "overrides": words}]}))
    done = cli("resume", "sw")
    assert done.returncode == 5, done.stdout + done.stderr
    assert "(arm.settings.hyde)" in done.stderr
    assert not mark.exists()


@pytest.mark.long
def test_one_refused_run_does_not_stop_the_others_of_a_sweep(cli: Cli, tmp_path: Path) -> None:
    """A run whose instrument changed is refused by itself; the job that never started runs all the same."""
    assert cli("-m", "+arm=no_memory,bm25,oracle", "hydra.sweep.dir=sw", *SMALL).returncode in (0, 3, 4)
    sw = tmp_path / "sw"
    shutil.rmtree(sw / "2-oracle")
    (sw / "1-bm25" / "summary.json").unlink()
    rows = sw / "1-bm25" / "rows.jsonl"
    rows.write_bytes(b"".join(rows.read_bytes().splitlines(keepends=True)[:10]))
    instrument = json.loads((sw / "1-bm25" / "instrument.json").read_text())
    instrument["rows"]["server_build"] = "an older one"
    (sw / "1-bm25" / "instrument.json").write_text(json.dumps(instrument))
    done = cli("resume", "sw")
    assert "the instrument changed" in done.stderr
    assert len((sw / "2-oracle" / "rows.jsonl").read_text().splitlines()) == 80
    assert done.returncode == 1
    assert "incomplete" in done.stdout
    assert "PASS" in done.stdout  # of the pair that is whole


def test_a_system_that_acts_outside_is_refused_whatever_its_keys_are_called(tmp_path: Path) -> None:
    from runner.cli._launch.trust import refuse_strange
    from runner.config import load
    from runner.errors import Refused

    models = {"reader": {"name": "none"}, "judge": {"name": "none"}}
    strange = {"name": "theirs", "system": "command", "settings": {"program": "rm"}}
    with pytest.raises(Refused, match=r"run the system 'command' with the record's settings"):
        refuse_strange(tmp_path, load({"harness": {"name": "synthetic_memory"}, "arm": strange, **models}))
    plain = {"name": "ours", "system": "bm25"}
    refuse_strange(tmp_path, load({"harness": {"name": "synthetic_memory"}, "arm": plain, **models}))
