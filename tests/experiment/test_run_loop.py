"""One run against systems and servers that fail in every way: nothing lost, paid twice or scored as wrong."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from runner.config import ArmConfig, Experiment, load
from runner.errors import (
    IngestError,
    NotSettled,
    Refused,
    RunnerError,
    SearchError,
    Stopped,
)
from runner.experiment.execute import execute
from runner.experiment.prepare import PreparedExperiment, prepare
from runner.record.rundir import RunDir
from runner.system import Capabilities, MemorySystem, Opening, Provenance, receipt_of
from runner.types import Event, Hit, Query, Receipt, Retrieval, Row
from tests.support.servers import Stub


class Watch:
    """An observer that counts."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.notes: list[str] = []

    def begin(self, total: int, done: int) -> None:
        self.total, self.done = total, done

    def row(self, row: Row, usd: float) -> None:
        self.rows.append(row)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def end(self) -> None:
        pass


class Recording(MemorySystem):
    """Returns every event of its namespace; keeps what it was given; fails where it is told to."""

    def __init__(self, arm: ArmConfig, faults: dict[str, Exception] | None = None) -> None:
        super().__init__(arm)
        self.faults = faults or {}
        self.store: dict[str, list[Event]] = {}
        self.erased: list[str] = []
        self.queries: list[Query] = []

    def _fail(self, step: str, ns: str) -> None:
        fault = self.faults.get(f"{step} {ns.split('-', 2)[-1]}") or self.faults.get(step)
        if fault is not None:
            raise fault

    async def open(self, opening: Opening) -> Provenance:
        return Provenance(build="test")

    async def reset(self, ns: str) -> None:
        self.store[ns] = []

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        self._fail("write", ns)
        self.store[ns] += events
        return receipt_of(events)

    async def settle(self, ns: str, receipt: Receipt, deadline_s: float) -> None:
        self._fail("settle", ns)

    async def search(self, ns: str, query: Query) -> Retrieval:
        self.queries.append(query)
        self._fail("search", ns)
        return Retrieval(
            hits=tuple(Hit(key=e.id, text=e.text, sources=(e.id,), time=e.time) for e in self.store[ns][: query.k])
        )

    async def erase(self, ns: str) -> None:
        self.erased.append(ns)
        del self.store[ns]


def experiment(url: str | None = None, *, scenarios: int = 3, **run: Any) -> Experiment:
    model = {
        "provider": "openai",
        "model": "gpt-4.1-mini",
        "base_url": url,
        "params": {"temperature": 0},
        "timeout_s": 5,
        "deadline_s": 10,
        "attempts": 1,
    }
    none = {"name": "none", "provider": "none"}
    return load(
        {
            "harness": {
                "name": "synthetic_memory",
                "k": 5,
                "settings": {"seed": 7, "scenarios": scenarios, "events": 60, "questions": 4},
            },
            "arm": {"name": "recording", "system": "none"},
            "reader": {**model, "name": "r", "prompt": "locomo_qa"} if url else none,
            "judge": {**model, "name": "j", "rubric": "locomo_lenient", "abstain_rubric": "abstention"}
            if url
            else none,
            "run": run,
        }
    )


def ready_for(config: Experiment, faults: dict[str, Exception] | None = None) -> tuple[PreparedExperiment, Recording]:
    ready = prepare(config)
    system = Recording(config.arm, faults)
    return dataclasses.replace(ready, system=system), system


def start(path: Path, config: Experiment) -> RunDir:
    run = RunDir(path)
    run.create(config.model_dump(mode="json"))
    return run


def rows_of(run: RunDir) -> dict[str, Row]:
    return {row.id: row for row in run.rows()}


def test_faults_of_a_system_become_statuses_and_the_rest_goes_on(tmp_path: Path) -> None:
    config = experiment(scenarios=6)
    scenarios = [s.id for s in prepare(config).harness.load(config.slice)]
    faults: dict[str, Exception] = {
        f"write {scenarios[0]}": IngestError("429 from the store"),
        f"settle {scenarios[1]}": NotSettled("still indexing"),
        f"search {scenarios[2]}": SearchError("500"),
        f"write {scenarios[3]}": KeyError("a bug of the system"),
        f"search {scenarios[4]}": ValueError("another"),
    }
    ready, system = ready_for(config, faults)
    run = start(tmp_path / "run", config)
    outcome = execute(run, ready, Watch(), cache_dir=None)
    assert outcome.state == "complete"
    by_scenario = {s: {r.status for r in rows_of(run).values() if r.scenario == s} for s in scenarios}
    assert by_scenario == {
        scenarios[0]: {"ingest_error"},
        scenarios[1]: {"not_settled"},
        scenarios[2]: {"search_error"},
        scenarios[3]: {"ingest_error"},
        scenarios[4]: {"search_error"},
        scenarios[5]: {"ok"},
    }
    run_id = run.read_json("provenance.json")["run_id"]
    assert sorted(system.erased) == sorted(f"bench-{run_id}-{s}" for s in scenarios)
    summary = run.read_json("summary.json")
    assert summary["errors"] == 20
    assert summary["groups"]["overall_all"]["errors"] == 20
    assert "a bug of the system" in next(r.error for r in rows_of(run).values() if r.scenario == scenarios[3])


class Short(Recording):
    """Takes three events of a history, and says so."""

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        await super().write(ns, events[:3])
        return receipt_of(events[:3])


class Reordering(Recording):
    """Takes everything, in another order."""

    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        return await super().write(ns, events[::-1])


class Crowded(Recording):
    """Keeps one history only, whatever the namespace; counts how many it is given at once."""

    capabilities = Capabilities(namespaces=False)
    at_once = most = 0

    async def reset(self, ns: str) -> None:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        await super().reset(ns)

    async def erase(self, ns: str) -> None:
        self.at_once -= 1
        await super().erase(ns)


class Timeless(Recording):
    capabilities = Capabilities(timestamps=False)


class Slow(Recording):
    async def write(self, ns: str, events: Sequence[Event]) -> Receipt:
        await asyncio.sleep(60)
        raise AssertionError


def run_with(tmp_path: Path, kind: type[Recording], **run: Any) -> tuple[RunDir, Recording]:
    config = experiment(**run)
    system = kind(config.arm)
    run_dir = start(tmp_path / kind.__name__, config)
    execute(run_dir, dataclasses.replace(prepare(config), system=system), Watch(), cache_dir=None)
    return run_dir, system


def test_a_system_that_took_less_than_it_was_given_is_not_scored(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path, Short)
    assert {row.status for row in run.rows()} == {"ingest_error"}
    assert "60 events were written and the system took 3" in next(iter(run.rows())).error


def test_another_order_is_flagged(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path, Reordering)
    assert all("ingest_altered" in row.flags for row in run.rows())


def test_a_system_without_namespaces_gets_one_history_at_a_time(tmp_path: Path) -> None:
    run, system = run_with(tmp_path, Crowded, scenarios=5)
    assert isinstance(system, Crowded)
    assert system.most == 1
    assert run.read_json("provenance.json")["system"]["capabilities"]["namespaces"] is False


def test_a_system_without_timestamps_gets_them_in_the_text(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path, Timeless)
    assert all("times_in_text" in row.flags for row in run.rows())
    hit = next(iter(run.texts())).hits[0]
    assert hit.time is not None
    assert hit.text.startswith(f"[{hit.time:%d %B %Y}, ")


def test_a_write_that_hangs_is_a_status(tmp_path: Path) -> None:
    run, _ = run_with(tmp_path, Slow, write_s=0.05)
    assert {row.status for row in run.rows()} == {"ingest_error"}
    assert "run.write_s" in next(iter(run.rows())).error


def test_a_system_that_does_not_open_is_one_line(tmp_path: Path) -> None:
    class Closed(Recording):
        async def open(self, opening: Opening) -> Provenance:
            raise ConnectionRefusedError(111, "Connection refused")

    with pytest.raises(RunnerError, match="did not open: ConnectionRefusedError"):
        run_with(tmp_path, Closed)


def test_no_gold_reaches_a_system(tmp_path: Path) -> None:
    config = experiment(scenarios=8)
    ready, system = ready_for(config)
    run = start(tmp_path / "run", config)
    execute(run, ready, Watch(), cache_dir=None)
    assert len(system.queries) == 32
    assert all(query.evidence is None for query in system.queries)
    asked = {question.text for s in ready.harness.load(config.slice) for question in s.questions}
    assert {query.text for query in system.queries} == asked
    assert all(query.now is not None and query.now.year < 2026 for query in system.queries)


def test_a_search_that_hangs_is_a_status(tmp_path: Path) -> None:
    class Hanging(Recording):
        async def search(self, ns: str, query: Query) -> Retrieval:
            await asyncio.sleep(60)
            raise AssertionError

    config = experiment(scenarios=1, search_s=0.05)
    ready = dataclasses.replace(prepare(config), system=Hanging(config.arm))
    run = start(tmp_path / "run", config)
    execute(run, ready, Watch(), cache_dir=None)
    assert {r.status for r in rows_of(run).values()} == {"search_error"}
    assert "run.search_s" in next(iter(rows_of(run).values())).error


def test_answers_are_judged_and_paid_once(tmp_path: Path) -> None:
    with Stub() as stub:
        config = experiment(stub.url, repeats=3)
        ready, _ = ready_for(config)
        run = start(tmp_path / "run", config)
        execute(run, ready, Watch(), cache_dir=None)
        questions = ready.census.questions
        assert stub.state.requests == questions * 3 * 2
        summary = run.read_json("summary.json")
        assert summary["usage"]["reader"]["calls"] == questions * 3
        assert summary["usage"]["judge"]["calls"] == questions * 3
        assert summary["usage"]["reader"]["input_tokens"] == questions * 300
        # 100 tokens in and 5 out a call at 0.40 and 1.60 USD a million
        assert summary["usage"]["reader"]["usd"] == pytest.approx(questions * 3 * (100 * 0.40 + 5 * 1.60) / 1e6)
        assert all(len(r.labels) == 3 for r in rows_of(run).values())
        assert run.finished()
        before = stub.state.requests
        execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        assert stub.state.requests == before


def test_a_kill_between_reader_and_judge_repays_only_the_judge(tmp_path: Path) -> None:
    with Stub() as stub:
        config = experiment(stub.url)
        whole = start(tmp_path / "whole", config)
        execute(whole, ready_for(config)[0], Watch(), cache_dir=None)
        lines = whole.calls_path.read_bytes().splitlines(keepends=True)
        readers = [line for line in lines if json.loads(line)["role"] == "reader"]
        killed = start(tmp_path / "killed", config)
        killed.write_json("instrument.json", whole.read_json("instrument.json"))
        killed.calls_path.write_bytes(b"".join(readers) + b'{"question": "torn')
        before = stub.state.requests
        execute(killed, ready_for(config)[0], Watch(), cache_dir=None)
        assert stub.state.requests - before == len(lines) - len(readers)
    a, b = whole.read_json("summary.json"), killed.read_json("summary.json")
    assert a["groups"] == b["groups"]


@pytest.mark.parametrize("after", [1, 7, 12])
def test_aggregates_after_a_budget_stop_and_resume_equal_an_uninterrupted_run(tmp_path: Path, after: int) -> None:
    with Stub() as stub:
        config = experiment(stub.url)
        whole = start(tmp_path / "whole", config)
        execute(whole, ready_for(config)[0], Watch(), cache_dir=None)
        total = stub.state.requests
        bounded = experiment(stub.url, max_calls=after)
        run = start(tmp_path / "run", bounded)
        with pytest.raises(Stopped, match=f"max_calls={after}"):
            execute(run, ready_for(bounded)[0], Watch(), cache_dir=None)
        assert stub.state.requests - total == after
        assert run.read_json("summary.json")["state"] == "incomplete"
        execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        assert stub.state.requests == 2 * total
    a, b = whole.read_json("summary.json"), run.read_json("summary.json")
    assert a["groups"] == b["groups"]
    assert {k: v["calls"] for k, v in a["usage"].items()} == {k: v["calls"] for k, v in b["usage"].items()}


def test_a_money_budget_needs_prices_and_is_kept(tmp_path: Path) -> None:
    with Stub() as stub:
        price = (100 * 0.40 + 5 * 1.60) / 1e6
        config = experiment(stub.url, max_usd=price * 40, concurrency=8, scenarios=20)
        run = start(tmp_path / "run", config)
        with pytest.raises(Stopped, match="max_usd"):
            execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        # What is spent stays below the budget, the calls in flight included, and comes near it.
        spent = sum(call.completion.usage.usd or 0 for call in run.calls())
        assert sum(1 for _ in run.calls()) == stub.state.requests
        assert price * 10 < spent <= price * 40
    unknown = config.model_copy(update={"reader": config.reader.model_copy(update={"model": "nobody-knows"})})
    run = start(tmp_path / "unknown", unknown)
    with pytest.raises(RunnerError, match="no price is known for nobody-knows"):
        execute(run, ready_for(unknown)[0], Watch(), cache_dir=None)


def test_a_reply_that_cannot_be_parsed_is_its_own_status_and_asked_again_on_request(tmp_path: Path) -> None:
    with Stub() as stub:
        stub.state.reply = "I could not say."
        config = experiment(stub.url, stop_after_errors=None)
        run = start(tmp_path / "run", config)
        execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        rows = rows_of(run)
        assert {r.status for r in rows.values()} == {"judge_unparseable"}
        assert {r.label for r in rows.values()} == {""}
        before = stub.state.requests
        stub.state.reply = None
        execute(run, ready_for(config)[0], Watch(), cache_dir=None, retry_errors=True)
        assert stub.state.requests - before == len(rows)  # the judge alone; the answers are kept
        assert {r.status for r in rows_of(run).values()} == {"ok"}


@pytest.mark.parametrize("fault", ["html", "truncated", "empty_text", "drop", "500", "garbage", "empty_choices"])
def test_faults_of_an_endpoint_are_reader_errors_never_wrong(tmp_path: Path, fault: str) -> None:
    with Stub() as stub:
        stub.state.plan = ["ok"] * 2
        stub.state.always = fault
        config = experiment(stub.url, scenarios=2, concurrency=1, scenarios_in_flight=1, stop_after_errors=None)
        run = start(tmp_path / "run", config)
        execute(run, ready_for(config)[0], Watch(), cache_dir=None)
    statuses = [row.status for row in rows_of(run).values()]
    assert statuses.count("ok") == 1
    assert set(statuses) == {"ok", "reader_error"}
    assert all(row.label != "WRONG" for row in rows_of(run).values() if row.status != "ok")


def test_failures_in_a_row_end_the_run_with_the_reason(tmp_path: Path) -> None:
    with Stub(always="500") as stub:
        config = experiment(stub.url, scenarios=20, stop_after_errors=5, concurrency=2)
        run = start(tmp_path / "run", config)
        with pytest.raises(Stopped, match="5 failures in a row"):
            execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        assert stub.state.requests < 20


def test_a_wrong_key_ends_the_run_at_once(tmp_path: Path) -> None:
    with Stub(always="401") as stub:
        config = experiment(stub.url, scenarios=20)
        run = start(tmp_path / "run", config)
        with pytest.raises(RunnerError, match="401"):
            execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        assert not rows_of(run)
        assert run.read_json("summary.json")["state"] == "failed"


def test_an_interrupt_keeps_what_is_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os
    import signal

    with Stub(latency_s=0.2) as stub:
        config = experiment(stub.url, scenarios=10, concurrency=4)
        run = start(tmp_path / "run", config)

        def interrupt() -> None:  # once calls are in flight, however slow the machine
            while stub.state.requests < 4:
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Thread(target=interrupt)
        timer.start()
        watch = Watch()
        with pytest.raises(Stopped, match="interrupted"):
            execute(run, ready_for(config)[0], watch, cache_dir=None)
        timer.join()
        assert "Ctrl-C again" in watch.notes[0]
        sent = stub.state.requests
        assert sum(1 for _ in run.calls()) == sent
        stub.state.latency_s = 0
        execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        assert stub.state.requests == 10 * 4 * 2


def test_resume_refuses_another_instrument(tmp_path: Path) -> None:
    config = experiment()
    run = start(tmp_path / "run", config)
    execute(run, ready_for(config)[0], Watch(), cache_dir=None)
    changed = experiment(scenarios=4)
    with pytest.raises(Refused, match=r"harness\.settings"):
        execute(run, ready_for(changed)[0], Watch(), cache_dir=None)


def test_nothing_finishing_ends_the_run(tmp_path: Path) -> None:
    with Stub(always="hang") as stub:
        config = experiment(stub.url, no_progress_s=0.5)
        run = start(tmp_path / "run", config)
        with pytest.raises(Stopped, match=r"nothing finished for 0\.5 s"):
            execute(run, ready_for(config)[0], Watch(), cache_dir=None)


def test_a_paid_reply_that_is_of_no_use_is_counted(tmp_path: Path) -> None:
    with Stub(always="empty_text") as stub:
        config = experiment(stub.url, scenarios=1, stop_after_errors=None)
        run = start(tmp_path / "run", config)
        execute(run, ready_for(config)[0], Watch(), cache_dir=None)
        assert {row.status for row in run.rows()} == {"reader_error"}
        assert run.read_json("summary.json")["usage"]["reader"]["calls"] == stub.state.requests == 4
        execute(run, ready_for(config)[0], Watch(), cache_dir=None, retry_errors=True)
        assert stub.state.requests == 8  # a fault is never taken for an answer


def test_what_exceeds_the_budget_is_cut_and_flagged(tmp_path: Path) -> None:
    class Greedy(Recording):
        async def search(self, ns: str, query: Query) -> Retrieval:
            return await super().search(ns, Query(text=query.text, k=50))

    config = experiment(scenarios=1)
    config = config.model_copy(
        update={
            "arm": config.arm.model_copy(
                update={"recall": config.arm.recall.model_copy(update={"limit": 3, "max_chars": 200})}
            )
        }
    )
    ready = dataclasses.replace(prepare(config), system=Greedy(config.arm))
    run = start(tmp_path / "run", config)
    execute(run, ready, Watch(), cache_dir=None)
    for row in rows_of(run).values():
        assert row.hits <= 3
        assert row.chars <= 200
        assert "over_limit" in row.flags
    texts = {item.id: item for item in run.texts()}
    assert all(texts[row.id].context.count("\n") == row.hits - 1 for row in rows_of(run).values())
