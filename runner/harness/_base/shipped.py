"""Words and sentences that a benchmark makes its scenarios of: YAML beside its code, read as declared types."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
import yaml

T = TypeVar("T")


def read_shipped(file: Path, kind: type[T]) -> T:
    """Read a YAML file of the package.

    Parameters
    ----------
    file
        Beside the code that reads it.
    kind
        What the file holds: a ``msgspec.Struct`` or a type made of builtins.

    Raises
    ------
    msgspec.ValidationError
        When the file is not of that kind.
    """
    text = file.read_text(encoding="utf-8")
    return msgspec.convert(yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)), kind)
