from __future__ import annotations

import numpy as np
import pytest

from runner.errors import UsageError
from runner.stats.multiple import benjamini_hochberg, holm, paired_wilcoxon

P = [0.01, 0.04, 0.03, 0.005, 0.5, 0.04, 1.0]


@pytest.mark.parametrize(("ours", "name"), [(holm, "holm"), (benjamini_hochberg, "fdr_bh")])
def test_against_statsmodels(ours, name) -> None:
    from statsmodels.stats.multitest import multipletests

    assert ours(P).tolist() == pytest.approx(multipletests(P, method=name)[1].tolist())
    assert ours([]).size == 0
    assert ours([0.2]).tolist() == [0.2]


@pytest.mark.parametrize("ours", [holm, benjamini_hochberg])
@pytest.mark.parametrize("p", [[0.5, 1.2], [-0.1], [float("nan")]])
def test_bad_p_values(ours, p) -> None:
    with pytest.raises(UsageError):
        ours(p)


def test_wilcoxon() -> None:
    # Six differences of one sign: 2 of 2^6 sign patterns are as far.
    assert paired_wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5, 0.6]) == pytest.approx(2 / 64)
    assert paired_wilcoxon([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.0]) == pytest.approx(2 / 64)
    assert paired_wilcoxon(np.zeros(5)) == 1
    assert paired_wilcoxon([]) == 1
