"""The table of one run: its metrics by category, and what a person must know beside them."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from runner.analysis.metrics import metrics_of
from runner.analysis.smoke import smoke_of
from runner.analysis.summary import ALL, COMPARABLE, summary_of
from runner.experiment.prepare import PreparedExperiment
from runner.harness._base.report import figure
from runner.record.files import Figures, Instrument, RunProvenance, Summary
from runner.record.rundir import RunDir
from runner.report.console import category, counted, text
from runner.report.smoke import smoke_lines
from runner.score.lexical_answers import PREFIXES, WARNING
from runner.score.retrieval import SOURCES_PER_HIT
from runner.types import CAPABILITIES_UNDECLARED, SEARCH_CACHED, SOURCES_UNTOLD


def headline(ready: PreparedExperiment, where: str) -> str:
    """Return one line: which arm, on what, how much, where it is recorded."""
    experiment, census = ready.experiment, ready.census
    data = f"{experiment.harness.name}{' (synthetic)' if ready.harness.synthetic else ''}"
    models = "" if experiment.axis == "recall" else f", reader {experiment.reader.name}, judge {experiment.judge.name}"
    return (
        f"{experiment.arm.name} on {data}, {experiment.axis} axis{models}: {counted(census.questions, 'question')}, "
        f"{counted(census.clusters, ready.harness.cluster)} → {where}"
    )


def run_table(run: RunDir) -> Group:
    """Return metrics by category, then what a person must know beside them."""
    instrument = run.instrument()
    summary = summary_of(run, instrument)
    rows, about = instrument.rows, instrument.harness
    groups = summary.groups
    measured = {name for group in groups.values() for name, value in group.items() if isinstance(value, float)}
    axis = str(rows.get("axis"))
    shown = metrics_of(about).columns(about.headline, axis, instrument.k, measured)
    title = f"{about.name}{' (synthetic)' if about.synthetic else ''} · {axis} axis"
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("questions of")
    for name in ("n", "scored", "errors", *(metric.name for metric in shown)):
        table.add_column(name, justify="right")
    everything = {**groups.get(ALL, {}), "questions": 0, "errors": 0}
    repeated = everything == {**groups.get(COMPARABLE, {}), "questions": 0, "errors": 0}
    hidden = {ALL} if repeated else set()
    of_category = [name for key, label in about.categories.items() if (name := f"{key} {label}") in groups]
    if len(about.categories) == 1 and of_category and groups[of_category[0]] == groups[ALL]:
        hidden.add(of_category[0])
    for name, group in groups.items():
        if group["questions"] and name not in hidden:  # what is not scored adds nothing
            cells = [figure(group.get(metric.name), metric.digits) for metric in shown]
            counts = (group["questions"], group["scored"], group["errors"] or "")
            table.add_row(text(category(name)), *map(str, counts), *cells)
    provenance = run.provenance()
    lines = [*footnotes(instrument, summary, provenance.undeclared), *watched(provenance, summary)]
    return Group(text(title, "italic"), table, *(text(line, "dim") for line in lines), *_smoke(run, instrument))


def _smoke(run: RunDir, instrument: Instrument) -> list[Text]:
    """Return a line per threshold of a smoke test, and what keeps it from passing."""
    smoke = smoke_of(run, instrument)
    if smoke is None:
        return []
    return [text(line, "" if smoke.outcome == "pass" else "bold red") for line in smoke_lines(smoke)]


def watched(provenance: RunProvenance, summary: Figures) -> list[str]:
    """Return lines on ``run.stop_when_decided``: against whom the arm was watched, or why not, and if it stopped."""
    lines = []
    for entry in provenance.watched[-1:]:
        if entry.why_not is not None:
            lines.append(f"not watched: {entry.why_not}")
        else:
            by = f"{entry.metric}, over {entry.units} {entry.unit}s"
            lines.append(f"watched against {entry.against} by {by} (run.stop_when_decided)")
    if isinstance(summary, Summary) and summary.state == "decided":
        lines.append(f"{summary.reason}; {summary.left} questions were not asked: the figures are of the rest")
    return lines


def footnotes(instrument: Instrument, summary: Figures, undeclared: Sequence[str] = ()) -> list[str]:
    """Return fakes, errors, flags, cost and time: one line each, only what there is.

    ``undeclared``: capabilities that the system did not declare, so that the careful value was assumed.
    """
    lines = []
    if instrument.fakes:
        lines.append(f"FAKE: {', '.join(instrument.fakes)}: a first look, never a result")
    for broken in instrument.conformance.broken:
        lines.append(f"this system breaks its contract, as `check` found: {broken}")
    if summary.errors:
        counts = ", ".join(f"{n} {status}" for status, n in summary.statuses.items() if status != "ok")
        lines.append(f"errors, in no denominator: {counts}")
        lines += [f"{status}, for example: {error}" for status, error in summary.samples.items()]
    for stage, spent in summary.usage.items():
        if stage == "search" or not spent.calls:
            continue
        usd = spent.usd
        cost = "unknown price" if isinstance(usd, str) else f"${usd:.4f}"
        tokens = f"{spent.input_tokens:,} in and {spent.output_tokens:,} out tokens ({spent.tokens})"
        if spent.tokens == "estimated" and not spent.input_tokens + spent.output_tokens:
            tokens = "tokens unknown"  # whoever made the calls did not tell them, and nothing could be estimated from
        lines.append(f"{stage}: {spent.calls} calls, {tokens}, {cost}, {spent.seconds:.1f} s")
    ingest, search = summary.ingest, summary.search_seconds
    if ingest.scenarios:
        made = ""
        if ingest.embeddings_computed or ingest.embeddings_reused:
            made = f" ({ingest.embeddings_computed} embeddings computed, {ingest.embeddings_reused} reused)"
        each = ingest.seconds / ingest.scenarios
        lines.append(f"ingest: {ingest.events} events, {each:.2f} s a scenario, queueing included{made}")
    if search:
        cached = summary.flags.get(SEARCH_CACHED)
        without = f", {cached} answered from a cache and left out" if cached else ""
        lines.append(f"search: p50 {search['p50'] * 1000:.1f} ms, p90 {search['p90'] * 1000:.1f} ms{without}")
    same = summary.identical_share
    if isinstance(same, float):
        lines.append(f"the memory answered by itself; its repeats retrieved the same for {same:.0%} of the questions")
    if any(name.startswith(PREFIXES) for name in summary.groups[ALL]):
        lines.append(WARNING)
    untold = summary.flags.get(SOURCES_UNTOLD)
    if untold and summary.groups[ALL]["scored"]:
        lines.append(
            f"of {counted(untold, 'question')} the hits do not name the events they came from: nothing of their "
            "retrieval is measured, and the figures are of the others"
        )
    grain = summary.groups[ALL].get(SOURCES_PER_HIT.name)
    if isinstance(grain, float) and grain > 1.5:
        lines.append(f"a hit cites {grain:.1f} events on average: recall@K and ranks count it once, whatever it merges")
    if instrument.axis == "recall" and not summary.groups[ALL]["scored"] and not summary.errors:
        lines.append("recall is not measurable: hits name no events (sources=None); compare answers (reader=… judge=…)")
    flags = {name: n for name, n in summary.flags.items() if name != SEARCH_CACHED}  # told with the latency
    if flags:
        said = {CAPABILITIES_UNDECLARED: f" ({', '.join(undeclared)})"} if undeclared else {}
        lines.append("flags: " + ", ".join(f"{name} {n}{said.get(name, '')}" for name, n in flags.items()))
    return lines
