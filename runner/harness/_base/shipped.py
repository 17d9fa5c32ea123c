"""Words and sentences that a benchmark makes its scenarios of: YAML beside its code, read as declared types."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from runner.plain_yaml import plain_yaml

T = TypeVar("T")


def read_shipped(file: Path, kind: type[T]) -> T:
    """Read a YAML file of the package.

    Parameters
    ----------
    file
        Beside the code that reads it.
    kind
        Type of its content: a ``msgspec.Struct`` or a type made of builtins.

    Raises
    ------
    msgspec.ValidationError
        When the file has other content.
    """
    return msgspec.convert(plain_yaml(file.read_text(encoding="utf-8")), kind)
