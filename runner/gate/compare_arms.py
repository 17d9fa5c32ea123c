"""From two opened arms to a verdict: may they be compared, on which questions, and what do the statistics say."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from runner.config import GateConfig
from runner.gate.arm import PUBLISHED, Arm
from runner.gate.comparison import Comparison
from runner.gate.declarations import doubts, remedy
from runner.gate.early_stop import not_watched, replay_watch, restricted_to
from runner.gate.refusals import bounds, conclude, too_many_lost
from runner.record.compare import Comparability, drift
from runner.record.compare import compare as compare_records
from runner.score.label_metrics import ACCURACY
from runner.stats.multiple import benjamini_hochberg, paired_wilcoxon, unit_means
from runner.stats.paired import judge_many

AS_PUBLISHED: Final = "all questions (those with corrupt gold included)"
MIN_CATEGORY: Final = 20  # pairs below which a category gets no verdict


def compare_arms(a: Arm, b: Arm, settings: GateConfig) -> Comparison:
    """Return the verdict on an opened pair, B against A."""
    found = compare_records(a.config, b.config, a.instrument.rows, b.instrument.rows, settings.treatment, settings.same)
    axis = str(a.instrument.rows.get("axis", "unknown"))
    pair = Comparison(a.name, b.name, a.metric, axis, "refused", "", found)
    pair.notes = [*found.notes, *drift(a.summary, b.summary)]
    pair.notes += _shared_ingest(a, b, found)
    pair.notes += doubts(a, b, settings)
    pair.notes += [
        f"{arm.name} breaks the contract of a memory system ({broken})"
        for arm in (a, b)
        for broken in arm.instrument.conformance.broken
    ]
    if a.instrument.harness.synthetic:
        pair.notes.append("synthetic data: generated, with gold known exactly; says nothing about real conversations")
    served_a, served_b = set(a.summary.served), set(b.summary.served)
    if served_a and served_b and not served_a & served_b and "served" not in settings.treatment:
        pair.reason = (
            f"not comparable: the servers say they served {', '.join(sorted(served_a))} to {a.name} and "
            f"{', '.join(sorted(served_b))} to {b.name}: other models behind one name "
            f"(gate.treatment=[served] declares it)"
        )
        return pair
    if found.confounds:
        pair.hint = remedy(found, a, b, settings)
        pair.reason = "not comparable: " + "; ".join(confound.line() for confound in found.confounds)
        pair.reason += f"; {pair.hint}" if pair.hint else ""
        return pair
    early = replay_watch(a, b, settings, found)
    pair.notes += not_watched(b)
    unfinished = [arm for arm in (a, b) if arm.state != "complete"]
    if unfinished and (early is None or early.crossing is None):
        pair.notes += [] if early is None else [f"watched, and not decided: {early.standing}"]
        pair.outcome, pair.reason = "incomplete", "; ".join(f"{arm.name}: {arm.reason}" for arm in unfinished)
        return pair
    if early is not None and early.left:
        a = restricted_to(a, b)
    for what in ("cluster", "category"):
        if np.array_equal(a.data.ids, b.data.ids) and not a.data.agree_on(b.data, what):
            pair.reason = f"not comparable: the runs give one question another {what}; a record is damaged"
            return pair
    if not np.array_equal(a.data.ids, b.data.ids):  # both are sorted and unique
        lost = len(np.setxor1d(a.data.ids, b.data.ids, assume_unique=True))
        pair.reason = f"not comparable: {lost} questions are in one run only, although the slices have one hash"
        return pair
    pair = _decide(pair, a, b, settings)
    return pair if early is None else early.conclude(pair)


def _decide(pair: Comparison, a: Arm, b: Arm, settings: GateConfig) -> Comparison:
    """Add the statistics of a pair whose columns line up, row by row."""
    values_a, values_b = a.values, b.values
    ok = a.data.ok & b.data.ok
    measured_a, measured_b = np.isfinite(values_a), np.isfinite(values_b)
    for arm, mine, other in ((a, measured_a, measured_b), (b, measured_b, measured_a)):
        if not (mine & ok).any() and (other & ok).any():
            pair.outcome = "unmeasurable"
            pair.reason = (
                f"{pair.metric} is not measurable for {arm.name}: its hits are not ranked, or do not name the events "
                f"they came from; compare gate.metric=fraction@all, or answers (reader=… judge=…)"
            )
            return pair
    usable = ok & measured_a & measured_b
    about = a.instrument.harness
    category, comparable = a.data.category, a.data.of_categories(about.comparable)
    kept = ~(a.data.excluded | b.data.excluded)
    pair.notes += _unequal_patches(a, b)
    chosen = comparable if settings.categories == "comparable" else np.ones_like(comparable)
    stable = ~a.data.flipped & ~b.data.flipped

    masks: dict[str, NDArray[np.bool_]] = {"headline": chosen & kept}
    if too_many_lost(pair, a, b, (measured_a, measured_b), masks["headline"], settings):
        return pair
    if not kept.all():
        masks[AS_PUBLISHED] = chosen
    if (~comparable & usable).any():
        wide = settings.categories == "comparable"
        masks["overall_all" if wide else "overall_comparable"] = kept if wide else comparable & kept
    if not stable.all():
        masks["stable-only"] = chosen & kept & stable
    for code, name in sorted(enumerate(a.data.categories), key=lambda item: (len(item[1]), item[1])):
        masks[f"category:{name} {about.categories.get(name, name)}"] = (category == code) & kept
    present = np.stack([mask & usable for mask in masks.values()])
    rows_a = np.tile(np.where(usable, values_a, 0.0), (len(masks), 1))
    rows_b = np.tile(np.where(usable, values_b, 0.0), (len(masks), 1))
    if AS_PUBLISHED in masks and pair.metric != ACCURACY:
        row = list(masks).index(AS_PUBLISHED)
        one, two = a.data.values[PUBLISHED + pair.metric], b.data.values[PUBLISHED + pair.metric]
        there = np.isfinite(one) & np.isfinite(two)
        if there.any():
            present[row] = chosen & ok & there
            rows_a[row], rows_b[row] = np.where(there, one, 0.0), np.where(there, two, 0.0)
    verdicts = judge_many(
        rows_a,
        rows_b,
        a.data.cluster,  # codes in the order of the cluster keys
        present=present,
        differ=_labels_differ(a, b)[None, :] if pair.metric == ACCURACY else None,
        min_delta=settings.min_delta / 100,
        band=float(settings.band) / 100,  # a number here: `band.resolved` was asked before
        mode=settings.interval,
        resamples=settings.resamples,
        seed=settings.seed,
    )
    by_name = dict(zip(masks, verdicts, strict=True))
    pair.verdict = by_name.pop("headline")
    pair.categories = {
        key.removeprefix("category:"): verdict
        for key, verdict in by_name.items()
        if key.startswith("category:") and verdict.n >= MIN_CATEGORY
    }
    pair.others = {key: verdict for key, verdict in by_name.items() if not key.startswith("category:")}
    tested = {key: v.companion_p for key, v in pair.categories.items() if v.companion_p is not None}
    if tested:
        adjusted = benjamini_hochberg(list(tested.values()))
        pair.category_p = {key: float(p) for key, p in zip(tested, adjusted, strict=True)}
    pair.bounds = bounds(values_a, values_b, a.data.ok, b.data.ok, masks["headline"])
    pair.wilcoxon_p = _rank_test(a, b, masks["headline"] & usable)
    seen = ok if a.knows_retrieval and b.knows_retrieval else np.zeros_like(ok)
    same = a.data.retrieval == b.data.retrieval
    pair.identical_share = float(same[masks["headline"] & seen].mean()) if (masks["headline"] & seen).any() else None
    return conclude(pair, a, b, bool(same[seen].all()) if seen.any() else False)


def _unequal_patches(a: Arm, b: Arm) -> list[str]:
    """Leave a question that one arm's gold patch excludes out of both: the pair has one denominator."""
    counts = [(arm.name, int((arm.data.excluded & ~other.data.excluded).sum())) for arm, other in ((a, b), (b, a))]
    return [f"the gold patch of {name} leaves {count} questions out of both arms" for name, count in counts if count]


def _rank_test(a: Arm, b: Arm, rows: NDArray[np.bool_]) -> float | None:
    """Wilcoxon over the units that move independently: clusters, or questions where each is its own cluster.

    Only where labels were repeated: a mean of several labels is what the test is for.
    """
    if not (rows & a.data.repeated & b.data.repeated).any():
        return None
    differences = unit_means(b.means[rows] - a.means[rows], a.data.cluster[rows])
    return paired_wilcoxon(differences) if differences.size > 1 else None


def _labels_differ(a: Arm, b: Arm) -> NDArray[np.bool_]:
    """Return the rows whose majority labels differ; ABSTAIN differs from WRONG, though both count as wrong."""
    names = sorted({*a.data.labels, *b.data.labels})
    codes = [np.array([names.index(name) for name in arm.data.labels] or [0])[arm.data.label] for arm in (a, b)]
    differ: NDArray[np.bool_] = codes[0] != codes[1]
    return differ


def _shared_ingest(a: Arm, b: Arm, found: Comparability) -> list[str]:
    """Return a note where both arms share a write side: they differ in what they read, not in what they hold."""
    if found.null:
        return []
    side = a.run.provenance().write_side
    if side is None or side != b.run.provenance().write_side:
        return []
    reused = b.summary.ingest.embeddings_reused
    made = f", {reused} embeddings reused" if reused else ""
    return [f"one write side with {a.name} ({side}{made}): the arms differ in how they read"]
