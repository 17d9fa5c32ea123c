"""The movies of MemoryAgentBench's recommendations: their names, and which of them a model means.

``entity2id.json`` maps a resource to the id that the gold cites: ``{"<http://…/Fargo_(1996_film)>": 7008, …}``. A name
is the last part of the address without its underscores and brackets, as published; of ``…/Face/Off`` that is *Off*.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

from runner.data.json_document import decode_json
from runner.data.source import read_bytes
from runner.errors import DatasetError

_BRACKETS: Final = re.compile(r"\([^()]*\)")
_NUMBER: Final = re.compile(r"^(?:\d+[.)、]?\s*[-—–]?\s*)?")
_ITEM: Final = re.compile(r"^[\s*_]*(?:\d+\s*[.):、]|[-•])?\s*")
_FIRST: Final = re.compile(r"(?m)^[\s*_]*1\s*[.):]")
_LONGEST: Final = 200  # characters of a title that are compared
_BAG: Final = 64
_BATCH: Final = 256  # names that are compared at a time


class Movies:
    """Names by id.

    Parameters
    ----------
    by_resource
        The mapping as published.
    """

    def __init__(self, by_resource: Mapping[str, int]) -> None:
        # Two resources of one id: the later one names it, as in the published code.
        self.names: dict[int, str] = {number: title(resource) for resource, number in by_resource.items()}
        distinct = list(dict.fromkeys(self.names.values()))
        self._distinct = distinct
        self._lower: dict[str, int] = {}
        for at, name in enumerate(distinct):
            self._lower.setdefault(name.lower(), at)
        self._nearest = lru_cache(maxsize=100_000)(self._search)

    @classmethod
    def read(cls, path: Path) -> Movies:
        """Read the mapping from a file.

        Raises
        ------
        DatasetError
            When it cannot be read, or does not map names to whole numbers.
        """
        value = decode_json(str(path), read_bytes(path))
        if not isinstance(value, dict) or not value or any(type(number) is not int for number in value.values()):
            raise DatasetError(
                f"{path} is no mapping of movies to whole numbers; give the published entity2id.json with "
                "harness.settings.movies.path=FILE"
            )
        return cls(value)

    def nearest(self, name: str) -> str:
        """Return the name with the smallest edit distance, case aside; of several, the first in the file."""
        return self._nearest(name.lower()[:_LONGEST])

    def _search(self, wanted: str) -> str:
        exact = self._lower.get(wanted)
        if exact is not None:
            return self._distinct[exact]
        import numpy as np

        codes, lengths, bags = self._table
        # No edit distance is smaller than that of the two bags of letters: what cannot be nearer is not looked at.
        apart = bags - _bag(wanted)
        bounds = np.maximum(np.maximum(apart, 0).sum(axis=1), np.maximum(-apart, 0).sum(axis=1))
        order = np.argsort(bounds, kind="stable")
        best, nearest = 1 << 30, 0
        for start in range(0, len(order), _BATCH):
            batch = order[start : start + _BATCH]
            if bounds[batch[0]] > best:
                break
            distances = _distances(codes[: lengths[batch].max(), batch], lengths[batch], wanted)
            first = np.lexsort((batch, distances))[0]  # of equals the first in the file
            best, nearest = min((best, nearest), (int(distances[first]), int(batch[first])))
        return self._distinct[nearest]

    @cached_property
    def _table(self) -> tuple[Any, Any, Any]:
        """Names in lower case: code points, one padded column per name; their lengths; their bags of letters."""
        import numpy as np

        names = [name.lower()[:_LONGEST] for name in self._distinct]
        lengths = np.array([len(name) for name in names])
        codes = np.zeros((max(int(lengths.max()), 1), len(names)), np.uint32)
        for at, name in enumerate(names):
            codes[: len(name), at] = [ord(letter) for letter in name]
        return codes, lengths, np.stack([_bag(name) for name in names])


def _bag(text: str) -> Any:
    """Count each letter. Letters share places, which can only make two bags more alike than they are."""
    import numpy as np

    return np.bincount([ord(letter) % _BAG for letter in text], minlength=_BAG).astype(np.int16)


def _distances(codes: Any, lengths: Any, wanted: str) -> Any:
    """Levenshtein distance of every column of ``codes`` to a text: one row of the table at a time, for all of them."""
    import numpy as np

    most, many = codes.shape
    steps = np.arange(most + 1, dtype=np.int32)[:, None]
    row = np.repeat(steps, many, axis=1)
    for number, letter in enumerate(wanted, start=1):
        new = np.empty_like(row)
        new[0] = number
        new[1:] = np.minimum(row[:-1] + (codes != ord(letter)), row[1:] + 1)
        # An insertion costs one a step along the row: a running minimum, less the steps.
        row = np.minimum.accumulate(new - steps, axis=0) + steps
    return row[lengths, np.arange(many)]


def title(resource: str) -> str:
    """Return the name in a resource.

    >>> title("<http://dbpedia.org/resource/Fargo_(1996_film)>")
    'Fargo'
    """
    plain = re.sub(r"[_\->]", " ", resource.split("/")[-1])
    return " ".join(_BRACKETS.sub("", plain).split())


def recommended(answer: str, *, upstream: bool = False) -> list[str]:
    r"""Return the titles that an answer lists, best first, their numbers and what stands in brackets dropped.

    Lines from the one that begins with 1; without such a line, all lines, or what a single line has between commas. A
    line with nothing in it is no title. ``upstream``: as the published code has it, which starts after the first "1."
    wherever it stands, cuts at commas where there is none, and takes an empty line for a title.

    >>> recommended("Sure:\n1. Fargo (1996)\n2) Heat")
    ['Fargo', 'Heat']
    """
    if upstream:
        before, found, after = answer.partition("1.")
        lines = after.split("\n") if found else before.replace(",", "\n").split("\n")
        return [_clean(_NUMBER, line) for line in lines]  # brackets first, then the number
    start = _FIRST.search(answer)
    text = answer[start.start() :] if start else answer.strip()
    lines = text.split("\n" if start or "\n" in text else ",")
    return [name for name in (_clean(_ITEM, line).strip('*_"“” ') for line in lines) if name]


def _clean(number: re.Pattern[str], line: str) -> str:
    return " ".join(number.sub("", _BRACKETS.sub("", line.strip())).split())


def recall(named: Sequence[str], gold: Sequence[str], depth: int) -> float:
    """Return the share of the gold movies among the first ``depth`` that were named."""
    return sum(name in named[:depth] for name in gold) / len(gold)
