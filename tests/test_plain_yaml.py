"""YAML from elsewhere: one loader, which refuses whatever is more than plain values, in one line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from runner.errors import RecordError
from runner.plain_yaml import NotPlainYamlError, plain_yaml
from runner.record.rundir import RunDir

REFUSED = [
    ("a: &x [1]\nb: *x\n", "aliases (*name) are not read (line 2)"),
    ("a: 1\nb: {c: 1, c: 2}\n", "the key 'c' stands twice (line 2)"),
    ("1: a\n'1': b\n", "the key '1' stands twice (line 2)"),
    ("a: !!python/object/apply:os.system [echo]\n", "could not determine a constructor for the tag"),
    ("a: !own 1\n", "could not determine a constructor for the tag"),
    ("a: [", "did not find expected node content (line 2)"),
    ("a: 2026-13-45\n", "month must be in 1..12"),
    ("[" * 100_000, "exceeded maximum nesting depth"),
    ("a: 1\n---\nb: 2\n", "but found another document (line 2)"),
]


@pytest.mark.parametrize(("text", "says"), REFUSED, ids=[says for _, says in REFUSED])
def test_more_than_plain_values_is_refused_in_one_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(NotPlainYamlError) as caught:
        plain_yaml(text)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(RecordError) as told:
        RunDir(tmp_path).raw_config()
    assert says in str(told.value)


def test_plain_values_are_read() -> None:
    assert plain_yaml("a: [1, 2.5, yes, null, 2026-03-02]\nb: {}\n") == {
        "a": [1, 2.5, True, None, date(2026, 3, 2)],
        "b": {},
    }
    assert plain_yaml("") is None
