from __future__ import annotations

import random
import subprocess
import sys

import numpy as np
import pytest

from runner.errors import UsageError
from runner.stats.resample import Resampler


@pytest.mark.parametrize("k", [1, 2, 3, 4, 6, 7, 31, 32, 33, 50, 64, 1000, 1024, 70_000])
@pytest.mark.parametrize("seed", [7, 0, 123456789])
def test_the_stream_is_that_of_random_random(k, seed) -> None:
    resamples = 3 if k > 1000 else 40
    drawn = np.concatenate(list(Resampler(k, resamples, seed).draws()))
    rng = random.Random(seed)
    assert drawn.tolist() == [[rng.randrange(k) for _ in range(k)] for _ in range(resamples)]


def test_chunks_continue_one_stream() -> None:
    drawn = np.concatenate(list(Resampler(5, 1700).draws()))
    rng = random.Random(7)
    assert drawn.shape == (1700, 5)
    assert drawn.ravel().tolist() == [rng.randrange(5) for _ in range(8500)]


def test_ratios_and_absence_by_hand() -> None:
    rng = random.Random(7)
    drawn = [[rng.randrange(3) for _ in range(3)] for _ in range(20)]
    sums, counts = [[1.0, -2.0, 4.0], [3.0, 3.0, 3.0]], [[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]]
    ratios, absent = Resampler(3, 20).ratios_and_absence(sums, counts)
    for i, picks in enumerate(drawn):
        for row in range(2):
            assert ratios[row, i] == sum(sums[row][c] for c in picks) / sum(counts[row][c] for c in picks)
        assert absent[:, i].tolist() == [c not in picks for c in range(3)]
    assert Resampler(3, 20).ratios(sums[0], counts[0]).tolist() == ratios[0].tolist()
    shared = Resampler(3, 20).ratios(sums, counts[0])
    assert shared[0].tolist() == ratios[0].tolist()


@pytest.mark.parametrize(("k", "resamples"), [(0, 10), (3, 0), (2**32, 10)])
def test_refuses_what_cannot_be_drawn(k, resamples) -> None:
    with pytest.raises(UsageError):
        Resampler(k, resamples)


def test_refuses_columns_that_do_not_fit() -> None:
    with pytest.raises(UsageError, match="one column a cluster"):
        Resampler(3, 10).ratios([1.0, 2.0], [1.0, 1.0])


def test_importing_costs_nothing() -> None:
    code = (
        "import sys, runner.stats; assert 'numpy' not in sys.modules; "
        "import runner.stats.paired, runner.stats.multiple, runner.stats.judge_error; "
        "assert not any(name.split('.')[0] == 'scipy' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_one_draw_serves_every_arm(monkeypatch: pytest.MonkeyPatch) -> None:
    from runner.stats import resample

    drawn: list[int] = []
    real = Resampler.draws

    def counting(self: Resampler):
        drawn.append(self.clusters)
        yield from real(self)

    monkeypatch.setattr(Resampler, "draws", counting)
    resample._kept_weights.cache_clear()
    kept = [Resampler(9, 500, 11).ratios(np.arange(9.0) + arm, np.ones(9)) for arm in range(5)]
    assert drawn == [9]
    monkeypatch.setattr(resample, "_KEPT_CELLS", 0)  # and what is not kept is the same draw
    for arm, ratios in enumerate(kept):
        np.testing.assert_array_equal(Resampler(9, 500, 11).ratios(np.arange(9.0) + arm, np.ones(9)), ratios)
    assert drawn == [9] * 6
