"""The bars of the bridges through the real command line: a named status on the row, the rest goes on, no orphan."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.cli._launch.trust import refuse_strange
from runner.config import load
from runner.errors import Refused
from tests.conftest import ROOT, command_environment
from tests.support.bridging import REFERENCE, alive, arm_file, assert_gone, broken, children

pytestmark = pytest.mark.long

Cli = Callable[..., "subprocess.CompletedProcess[str]"]

# 4 scenarios of 2 questions, one at a time: which row a fault falls on is known.
SMALL = ("harness.settings.scenarios=4", "harness.settings.questions=2", "harness.settings.events=24")
ONE_BY_ONE = (*SMALL, "run.scenarios_in_flight=1")


def rows_of(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "rows.jsonl").read_text().splitlines()]


def statuses(run: Path) -> list[str]:
    """The status of every row, by scenario and question."""
    return [row.get("status", "ok") for row in sorted(rows_of(run), key=lambda row: row["id"])]


# The third search of a process falls into the second scenario. A process that ends takes the rest of that scenario with
# it and is started again for the third, whose process does the same in the fourth.
OK, BAD = ["ok", "ok"], ["search_error", "search_error"]
ENDS = [*OK, *BAD, *OK, *BAD]
ONCE = [*OK, "search_error", "ok", *OK, *OK]
RUNS: dict[str, tuple[str, str, list[str]]] = {
    "dies": ("dies", "ended with code 3; stderr ends: about to die: out of luck", ENDS),
    "hangs": ("hangs", "took longer than 1 s to answer 'search' and was killed", ENDS),
    "long": ("long_line", "printed a line of more than 32 MB", ENDS),
    "flood_out": ("floods_stdout", "printed on stdout something that is not JSON", ENDS),
    "flood_err": ("floods_stderr", "", [*OK, *OK, *OK, *OK]),
    "garbage": ("garbage", "printed on stdout something that is not JSON", ONCE),
    "order": ("wrong_id", "which is not waiting for an answer", ONCE),
    "errors": ("errors", "index is locked by another process", ONCE),
    "write": ("dies_writing", "write: write: python -S ended with code 3", ["ingest_error"] * 8),
    "partly": ("refuses_third_event", "disk full at event", ["ingest_error"] * 8),
    "fewer": ("takes_fewer", "24 events were sent and 23 were taken", ["ingest_error"] * 8),
    "invents": ("invents_sources", "cites 'no-such-event', which is no event of this scenario", ["search_error"] * 8),
    "greedy": ("ignores_k", "", [*OK, *OK, *OK, *OK]),
    "exits": ("exits", "search: python -S ended with code 5; stderr ends: out of luck", ENDS),  # an MCP server
}


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """Every breakdown as an arm of one sweep, after one that works."""
    pytest.importorskip("mcp", reason="needs the extra 'mcp'")
    folder = tmp_path_factory.mktemp("bridges")
    arm_file(folder / "mine", "good", "command", _command("none"))
    for name, (fault, _, _) in RUNS.items():
        if name == "exits":
            arm_file(folder / "mine", name, "mcp", _mcp(fault))
        else:
            arm_file(folder / "mine", name, "command", _command(fault))
    words = ("-m", f"+arm=good,{','.join(RUNS)}", "--config-dir", "mine", "hydra.sweep.dir=sw", "gate.enabled=false")
    done = subprocess.run(
        [sys.executable, "-m", "runner", *words, *ONE_BY_ONE],
        cwd=folder,
        env=command_environment(MEMORY_RUNNER_CACHE=str(folder / "cache")),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    return folder / "sw", done


def _command(fault: str, **more: Any) -> dict[str, Any]:
    at = 1 if fault == "dies_writing" else 3
    return {**broken(fault, at=at, timeouts={"search": 1.0 if fault == "hangs" else 30}), **more}


def _mcp(fault: str) -> dict[str, Any]:
    """The example arm over the MCP server without an SDK, which declares nothing."""
    tools = yaml.safe_load((ROOT / "conf" / "arm" / "mcp_example.yaml").read_text())["settings"]
    server = [sys.executable, "-S", str(REFERENCE / "broken_mcp.py"), fault, "{dir}", "--at", "3"]
    search = {**tools["search"], "arguments": {"user": "{ns}", "query": "{text}", "limit": "{k}"}}
    return {**tools, "stdio": {"command": server}, "search": search, "drop_derived": None, "declares": {}}


@pytest.mark.parametrize("name", RUNS)
def test_a_breakdown_is_a_named_status_on_its_rows(
    name: str, sweep: tuple[Path, subprocess.CompletedProcess[str]]
) -> None:
    folder, done = sweep
    _, said, expected = RUNS[name]
    run = folder / f"{1 + list(RUNS).index(name)}-{name}"
    assert statuses(run) == expected, done.stderr
    failed = [row for row in rows_of(run) if row.get("status", "ok") != "ok"]
    assert all(row["error"] for row in failed)
    assert not failed or any(said in row["error"] for row in failed), failed[0]["error"]
    assert not any(row.get("metrics") for row in failed)  # nothing is scored as an empty memory
    summary = json.loads((run / "summary.json").read_text())
    assert summary["statuses"] == dict(Counter(expected))
    assert summary["left"] == 0


def test_the_sweep_tells_all_of_it(sweep: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, done = sweep
    assert "Traceback" not in done.stderr + done.stdout
    assert done.returncode == 1  # arms of which no question was scored
    assert statuses(folder / "0-good") == ["ok"] * 8
    assert "errors, in no denominator: 4 search_error" in done.stdout
    assert not [pid for pid in children() if "broken" in _command_line(pid)]


def test_the_examples_run_and_agree(cli: Cli, tmp_path: Path) -> None:
    """Three bridges to one memory retrieve the same, from any folder, and the gate sees that."""
    pytest.importorskip("mcp", reason="needs the extra 'mcp'")
    names = ["command_example", "http_example", "mcp_example"]
    done = cli("-m", f"+arm={','.join(names)}", "hydra.sweep.dir=sw", *SMALL)
    assert done.returncode == 5, done.stderr
    assert "vacuous" in done.stdout
    found = []
    for at, name in enumerate(names):
        run = tmp_path / "sw" / f"{at}-{name}"
        assert statuses(run) == ["ok"] * 8
        assert not {flag for row in rows_of(run) for flag in row.get("flags", ())}
        found.append({row["id"]: (row["keys"], row["context"]) for row in rows_of(run)})
        record = json.loads((run / "provenance.json").read_text())["system"]
        assert record["undeclared"] == []
        assert record["build"].startswith("example-memory 1 ")
    assert found[0] == found[1] == found[2]


def test_what_is_no_error_is_flagged_on_its_rows(sweep: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    folder, _ = sweep
    greedy = rows_of(folder / f"{1 + list(RUNS).index('greedy')}-greedy")
    assert any("over_limit" in row.get("flags", ()) for row in greedy)
    exits = folder / f"{1 + list(RUNS).index('exits')}-exits"
    assert "capabilities_undeclared" in {flag for row in rows_of(exits) for flag in row.get("flags", ())}
    record = json.loads((exits / "provenance.json").read_text())["system"]
    assert "ranked" in record["undeclared"]
    assert record["server"] == "reference 2.1"


# --- the end of a run ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_the_run(number: signal.Signals, tmp_path: Path) -> None:
    """Its server hangs, has a child, and reads no stdin any more: only a signal ends it."""
    pid_file = tmp_path / "pid"
    settings = broken("hangs_with_a_child", at=2, env={"CHILD_PID": str(pid_file)})
    arm_file(tmp_path / "mine", "hangs", "command", settings)
    words = ("+arm=hangs", "--config-dir", "mine", "hydra.run.dir=run", *SMALL)
    environment = command_environment(MEMORY_RUNNER_CACHE=str(tmp_path / "cache"), TMPDIR=str(tmp_path))
    runner = subprocess.Popen(
        [sys.executable, "-m", "runner", *words], cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 60
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert runner.poll() is None, runner.communicate()
        assert time.monotonic() < end
        time.sleep(0.05)
    below = children(runner.pid)
    assert len(below) == 3  # the server, its child, the guard
    assert list(tmp_path.glob("memory-runner-*"))
    runner.send_signal(number)
    if number != signal.SIGKILL:
        time.sleep(0.5)  # what is in flight may finish; it never does, and a second one does not wait
        runner.send_signal(number)
    _, stderr = runner.communicate(timeout=30)
    assert_gone(*below)
    assert not alive(int(pid_file.read_text()))
    end = time.monotonic() + 5
    while list(tmp_path.glob("memory-runner-*")):
        assert time.monotonic() < end, "its folder is left behind"
        time.sleep(0.05)
    if number != signal.SIGKILL:
        assert "Traceback" not in stderr
        assert "resume run" in stderr


def test_a_record_from_elsewhere_starts_nothing_and_reaches_nobody(cli: Cli, tmp_path: Path) -> None:
    mark = tmp_path / "PWNED"
    http = yaml.safe_load((ROOT / "conf" / "arm" / "http_example.yaml").read_text())["settings"]
    mcp = yaml.safe_load((ROOT / "conf" / "arm" / "mcp_example.yaml").read_text())["settings"]
    assert cli("+arm=bm25", "hydra.run.dir=run", *SMALL).returncode == 0
    config = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    (tmp_path / "run" / "rows.jsonl").write_text("")
    (tmp_path / "run" / "summary.json").unlink()
    config["arm"] |= {"system": "command", "settings": {"command": ["touch", str(mark)], "env_from": ["HOME"]}}
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump(config))
    done = cli("resume", "run")
    assert done.returncode == 5, done.stderr
    assert f"run the command 'touch {mark}' with $HOME (arm.settings)" in done.stderr
    assert "--trust" in done.stderr
    assert not mark.exists()
    others: list[tuple[str, dict[str, Any], str]] = [
        (
            "http",
            {**http, "base_url": "http://127.0.0.1:9", "serve": None, "auth": {"env": "HOME"}},
            "send data and $HOME to http://127.0.0.1:9 (arm.settings)",
        ),
        (
            "http",
            http,
            "run the command '{python} {root}/examples/memory_server_http.py {dir} {port}' (arm.settings.serve)",
        ),
        ("mcp", {**mcp, "stdio": {"command": ["touch", "x"]}}, "run the command 'touch x' (arm.settings.stdio)"),
        ("mcp", {**mcp, "stdio": None, "url": "http://h/mcp"}, "send data to http://h/mcp (arm.settings)"),
    ]
    for system, settings, said in others:
        config["arm"] |= {"system": system, "settings": settings}
        with pytest.raises(Refused) as refused:
            refuse_strange(tmp_path / "run", load(config))
        assert said in str(refused.value)


def test_an_interrupted_run_goes_on_by_its_record_alone(
    cli: Cli, sweep: tuple[Path, subprocess.CompletedProcess[str]]
) -> None:
    """An arm that is only YAML is in the record whole: a resume needs no folder of one's own."""
    run = sweep[0] / "0-good"
    rows = run / "rows.jsonl"
    rows.write_bytes(b"".join(rows.read_bytes().splitlines(keepends=True)[:3]))
    (run / "summary.json").unlink()
    done = cli("resume", str(run), MEMORY_RUNNER_CACHE=str(sweep[0].parent / "cache"))
    assert done.returncode == 0, done.stderr
    assert statuses(run) == ["ok"] * 8


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""
