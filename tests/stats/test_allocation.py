"""A sample dealt over strata."""

from __future__ import annotations

import pytest

from runner.stats.allocation import proportional_counts


@pytest.mark.parametrize(
    ("counts", "sample", "expected"),
    [
        ((6, 3, 1), 5, (3, 2, 0)),  # 6, 3, 2 and 1.2 go before the 1 of b and c: the first by name among equals
        ((5500, 5500, 5500), 1500, (500, 500, 500)),
        ((1, 1, 1), 9, (1, 1, 1)),
        ((7, 2, 1), 4, (3, 1, 0)),  # 7, 2.33, 2 and 1.4
        ((0, 4, 0), 2, (0, 2, 0)),
    ],
)
def test_shares_by_divisors(counts: tuple[int, ...], sample: int, expected: tuple[int, ...]) -> None:
    assert tuple(proportional_counts(dict(zip("abc", counts, strict=True)), sample).values()) == expected
