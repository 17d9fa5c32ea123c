"""Arrays in, frozen dataclasses out: is a difference between two arms more than noise?

The names of :data:`__all__` are found here and imported when they are first used, so that importing the package costs
nothing. Results print in a line and export with ``to_dict`` and ``to_json``.

>>> from runner.stats import judge_pairs
>>> print(judge_pairs([0] * 60, [1] * 8 + [0] * 52))
PASS; +13.3 pp; 95% CI +5.0 .. +21.7 pp (percentile); n = 60, 60 clusters, 8 discordant; detects about 12.9 pp

========================  ==============================================================================
``resample``              the seeded draw of clusters, exact to ``random.Random``, shared by many metrics
``bootstrap``             :func:`~runner.stats.bootstrap.paired_bootstrap` and its :class:`Interval`
``exact``                 the same interval in the limit of infinitely many resamples
``clustered``             intervals and exact tests for few clusters
``interval``              the rule that picks the interval that decides
``warnings``              ties, clusters all alike, passes on a handful of pairs
``leverage``              would the verdict stand without any one cluster
``verdict``               pass, fail or unresolved, and why; the null band
``paired``                :func:`~runner.stats.paired.judge_pairs`: all of the above for two arms in one call
``paired_row``            one row of that call
``long_table``            long tables to paired arrays, strict about ids and repeats
``agreement``             majority labels, flip rate, kappa, accuracy and what errors could change
``judge_agreement``       two judges of the same answers: agreement, and which accepts what the other does not
``power``                 sample size, minimum detectable effect, design effect, intraclass correlation
``planning.sample_size``  the same by the gate's own rule, for thresholds other than 0 too
``planning.design``       questions in clusters, what is assumed of the arms, what is asked of a run
``planning.intervals``    how wide the intervals of a design are, and what the gate would say of them
``planning.layout``       wins and losses laid out in clusters, for those
``planning.outlook``      all of a plan in one call
``multiple``              Holm and Benjamini-Hochberg
``judge_error``           what a judge's own errors do to a difference
``ppi``                   prediction-powered inference from labels that people gave
``sequential``            the e-value of a run that is watched while it goes on
========================  ==============================================================================

Everything here is in the unit of the values given: for 0/1 labels a difference of 0.04 is four points.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

_WHERE: Final = {
    "paired_bootstrap": "bootstrap",
    "bootstrap_many": "bootstrap",
    "judge_pairs": "paired",
    "judge_many": "paired",
    "pair_by_id": "long_table",
    "majority_by_id": "long_table",
    "correct_by_id": "long_table",
    "band_from_null": "verdict",
    "cr3_interval": "clustered",
    "sign_flip_test": "clustered",
    "mcnemar_p": "clustered",
    "effective_clusters": "clustered",
    "majority_label": "agreement",
    "flip_rate": "agreement",
    "discordance": "agreement",
    "identical_share": "agreement",
    "stable_pairs": "agreement",
    "cohen_kappa": "agreement",
    "tally": "agreement",
    "disagreement": "judge_agreement",
    "pairs_needed": "power",
    "minimum_detectable_effect": "power",
    "design_effect": "power",
    "intraclass_correlation": "power",
    "holm": "multiple",
    "benjamini_hochberg": "multiple",
    "paired_wilcoxon": "multiple",
    "JudgeRates": "judge_error",
    "correct_for_judge": "judge_error",
    "discordant_e_value": "sequential",
    "is_decided": "sequential",
    "prediction_powered": "ppi",
    "SignWatch": "sequential",
    "Design": "planning.design",
    "Assumed": "planning.design",
    "Goal": "planning.design",
    "outlook": "planning.outlook",
    "width_table": "planning.intervals",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'runner.stats' has no attribute {name!r}")
    return getattr(importlib.import_module(f"runner.stats.{_WHERE[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_WHERE]
