"""A small data set for every harness, written in its source's own layout, traps included.

Every module of this folder is found by its name and binds ``SAMPLES``: a name to a function that writes the data into a
folder and gives the config that reads it, with the words of the data that no system may ever receive.
``tests/harness/_base/test_contract.py`` runs on all of them.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.support.harness_samples.sample import Sample


def samples_in(package: str, folders: Iterable[str]) -> dict[str, Callable[[Path], Sample]]:
    """Return the samples of every module in these folders; ``sample`` has what the modules share."""
    samples: dict[str, Callable[[Path], Sample]] = {}
    for module in sorted(info.name for info in pkgutil.iter_modules(folders) if info.name != "sample"):
        for name, write in importlib.import_module(f"{package}.{module}").SAMPLES.items():
            assert name not in samples, f"two samples are named '{name}'"
            samples[name] = write
    return samples


SAMPLES = samples_in(__name__, __path__)
