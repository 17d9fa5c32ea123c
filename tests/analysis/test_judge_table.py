"""Which judges of a table are the reference itself, asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.analysis.judge_table import judge_table
from runner.record.rundir import RunDir
from tests.support.answersets import plain_items, write_source

MODELS = {"first": "m", "again": "m", "other": "n"}


@pytest.mark.parametrize(("rubric", "alike"), [("strict", ["again"]), ("unknown", [])])
def test_alike_are_the_reference_s_model_parameters_and_rubric_and_not_itself(
    tmp_path: Path, rubric: str, alike: list[str]
) -> None:
    """Three judges, the first is the reference: one of its model, one of another; nobody knows what is unknown."""
    runs = [
        write_source(
            tmp_path / name,
            plain_items(3, 1, 1),
            config={"judge": {"name": name, "provider": "imported", "model": model}},
            instrument={"judge.model": f"imported:{model}", "judge.rubric": rubric},
        )
        for name, model in MODELS.items()
    ]
    table = judge_table([RunDir(path) for path in runs], "first")
    assert (table.reference, table.alike) == ("first", alike)
