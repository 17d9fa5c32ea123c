"""calibration.json is untrusted: an edited or damaged one is a clear error, never a correction."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.calibration.file import read
from runner.errors import RecordError, RunnerError, UsageError
from tests.support.calibrations import calibration, written


def test_what_is_written_is_read(tmp_path: Path) -> None:
    made = calibration()
    path = written(tmp_path, made)
    assert read(path) == read(tmp_path) == made
    assert made.youden["specific"].j == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("kinds", "right", "rate"), 1.5, "does not follow"),
        (("kinds", "right", "rate"), None, "does not follow"),
        (("kinds", "right", "passed"), 101, "cannot be"),
        (("kinds", "right", "passed"), -1, "cannot be"),
        (("kinds", "right", "passed"), 91, "does not follow"),
        (("kinds", "right", "probes"), 10**15, "cannot be"),
        (("kinds", "right", "errors"), 3, "do not go with"),
        (("kinds", "right", "abstained"), 99, "do not go with"),
        (("kinds", "right", "low"), -0.1, "is no share"),
        (("kinds", "vague", "mean_over_repeats"), 7.0, "is no share"),
        (("kinds", "right", "repeats"), [{"graded": 5, "passed": 6}], "cannot be"),
        (("kinds", "odd"), None, "damaged"),
        (("kinds", "right", "graded"), "100", "damaged"),
        (("categories", "1", "specific", "passed"), 99, "does not follow"),
        (("state",), "fine", "is no state"),
        (("format",), 9, "format 9"),
        (("rows",), [], "damaged"),
        (("repeats",), None, "damaged"),
    ],
)
def test_an_edited_one_is_told(tmp_path: Path, place: tuple[str, ...], value: Any, said: str) -> None:
    edited = calibration().to_dict()
    inner = edited
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    with pytest.raises(RecordError, match=said) as caught:
        read(written(tmp_path, edited))
    assert "\n" not in str(caught.value)
    assert "calibrate again" in str(caught.value)


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"format": NaN}', b"[" * 100_000, b'{"format": 1}'],
    ids=["empty", "torn", "list", "null", "bytes", "nan", "deep", "short"],
)
def test_a_damaged_one_is_told(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(RecordError, match="calibrate again"):
        read(written(tmp_path, data))


def test_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere", tmp_path / "nowhere.json"):
        with pytest.raises(UsageError, match="no such calibration"):
            read(path)
    (tmp_path / "calibration.json").mkdir()
    with pytest.raises(RunnerError):
        read(tmp_path)
