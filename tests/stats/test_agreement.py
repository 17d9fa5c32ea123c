from __future__ import annotations

import pytest

from runner.errors import UsageError
from runner.stats.agreement import (
    ERROR,
    Tally,
    cohen_kappa,
    discordance,
    flip_rate,
    identical_share,
    majority_label,
    stable_pairs,
    tally,
)

C, W, A, E, U = "CORRECT", "WRONG", "ABSTAIN", "judge_error", "judge_unparseable"


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([C], C),
        ([C, C, W], C),
        ([C, W], W),  # a tie
        ([C, W, W], W),
        ([C, E, E], C),  # repeats that errored are dropped
        ([C, W, E], W),
        ([E, U, E], ERROR),
        ([W, E, E], W),
        ([A, A, C], A),
        ([A, C], W),
        ([A, W, C], W),
        ([A], A),
    ],
)
def test_majority(labels, expected) -> None:
    assert majority_label(labels) == expected


def test_majority_of_nothing() -> None:
    with pytest.raises(UsageError, match="no repeats"):
        majority_label([])


def test_flip_rate_counts_items_with_two_valid_repeats() -> None:
    assert flip_rate([[C, C, C], [C, W, C], [C, E, E], [E, W, C]]) == 2 / 3
    assert flip_rate([[C], [W]]) is None
    assert flip_rate([]) is None


def test_stable_pairs() -> None:
    a = [[C, C], [C, W], [W, W], [C]]
    b = [[W, W], [C, C], [W, E], [W]]
    assert stable_pairs(a, b) == [0, 2, 3]


def test_discordance_leaves_errors_out() -> None:
    assert discordance([C, C, W, ERROR], [C, W, W, C]) == 1 / 3
    assert discordance([ERROR], [C]) is None
    with pytest.raises(UsageError, match="pair them by id"):
        discordance([C], [C, W])


def test_identical_share() -> None:
    assert identical_share([["x", "x"], ["x", "y"], ["z"]]) == 0.5
    assert identical_share([["z"]]) is None


def test_kappa_against_scikit_learn() -> None:
    from sklearn.metrics import cohen_kappa_score

    a = [C, W, C, C, A, W, W, C, C, A, W]
    b = [C, C, C, W, A, W, C, C, C, W, W]
    found = cohen_kappa(a, b)
    assert found.kappa == pytest.approx(cohen_kappa_score(a, b))
    assert found.raw == 7 / 11
    assert cohen_kappa([*a, E], [*b, C]) == found


def test_kappa_is_null_when_chance_agrees_always() -> None:
    found = cohen_kappa([C, C], [C, C])
    assert (found.kappa, found.raw, found.expected) == (None, 1.0, 1.0)
    assert cohen_kappa([C, C], [W, W]).kappa == 0.0
    with pytest.raises(UsageError, match="no item"):
        cohen_kappa([E], [C])


def test_accuracies_by_name_and_bounds() -> None:
    found = tally([C, C, C, W, A, A, ERROR, E])
    assert found == Tally(correct=3, wrong=1, abstain=2, error=2)
    assert found.accuracy == 0.75
    assert found.accuracy_abstain_wrong == 0.5
    assert (found.if_errors_wrong, found.if_errors_right, found.error_share) == (3 / 8, 5 / 8, 2 / 8)
    assert found.to_dict()["accuracy_abstain_wrong"] == 0.5


def test_null_on_a_zero_denominator() -> None:
    assert tally([A, A]).accuracy is None
    assert tally([E]).accuracy_abstain_wrong is None
    assert (tally([E]).if_errors_wrong, tally([E]).if_errors_right) == (0.0, 1.0)
    assert tally([]).if_errors_wrong is None
