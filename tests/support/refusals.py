"""What a benchmark says of data that it refuses."""

from __future__ import annotations

import pytest

from runner.config import SliceConfig
from runner.errors import DatasetError
from runner.harness import Harness


def refusal(harness: Harness) -> str:
    """Return why a benchmark refuses its data: one line that begins with the benchmark's name."""
    with pytest.raises(DatasetError) as caught:
        list(harness.load(SliceConfig()))
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{harness.name}: ")
    return message
