"""Reads the answer of a system from its JSON, by the paths that the arm declares."""

from __future__ import annotations

from typing import Any, Final

from runner.config import Strict
from runner.dotted import at, described
from runner.http import start_of
from runner.record.usage import MOST_TOKENS, MOST_USD
from runner.system._bridge.faults import BridgeError
from runner.system._bridge.hit_paths import HitPaths, hits_of, is_number
from runner.system._bridge.value_types import JsonPath
from runner.types import Answer, Hit, Usage

_NAME_CHARS: Final = 200


class UsagePaths(Strict):
    """Dotted paths of what the system's own models used; ``null``: the answer does not say."""

    input_tokens: JsonPath | None = None
    output_tokens: JsonPath | None = None
    usd: JsonPath | None = None


class AnswerPaths(Strict):
    """Dotted paths: of the text of the answer, and of what the system says of it.

    ``answer: null`` takes the whole of what came back for the text. ``hits`` are what the system read for its answer;
    without them, or where an answer has none, it does not say. A list that is empty says that it read nothing.
    """

    answer: JsonPath | None = "answer"
    hits: HitPaths | None = None
    model: JsonPath | None = None
    usage: UsagePaths = UsagePaths()

    def problems(self, key: str) -> list[str]:
        """Return a line for paths that cannot lead to an answer."""
        if self.hits is None or self.hits.at is not None:
            return []
        return [f"{key}hits.at: is missing; name the path of the list of hits, which stands beside the text"]


def answer_of(body: Any, paths: AnswerPaths) -> Answer:
    """The answer that a body holds.

    Raises
    ------
    BridgeError
        When there is no text, or an empty one: that nothing is known is to be said in words. When what stands for a
        hit, the model or a number is none.
    """
    return Answer(
        text=_text(body, paths.answer),
        hits=_hits(body, paths.hits),
        model=_model(at(body, paths.model)),
        usage=_usage(body, paths.usage),
    )


def _text(body: Any, path: str | None) -> str:
    found = body if path is None else at(body, path)
    where = "the answer" if path is None else f"'{path}'"
    if found is None:
        raise BridgeError(f"nothing was answered: there is nothing at {where}; the answer is {described(body)}")
    if not isinstance(found, str):
        raise BridgeError(f"{where} is {described(found)}, and no text")
    if not found.strip():
        raise BridgeError(f"nothing was answered: {where} is an empty text; that nothing is known is said in words")
    return found


def _hits(body: Any, paths: HitPaths | None) -> tuple[Hit, ...] | None:
    if paths is None or at(body, paths.at) is None:
        return None
    return hits_of(body, paths)


def _model(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise BridgeError(f"the model that answered is not a name: {start_of(str(value), 60)}")
    return start_of(value, _NAME_CHARS)


def _usage(body: Any, paths: UsagePaths) -> Usage | None:
    tokens = [_count(at(body, path), path) for path in (paths.input_tokens, paths.output_tokens)]
    usd = at(body, paths.usd)
    if usd is not None and not (is_number(usd) and 0 <= usd <= MOST_USD):
        raise BridgeError(f"'{paths.usd}' is not an amount of money: {start_of(str(usd), 60)}")
    if usd is None and tokens == [None, None]:
        return None
    return Usage(
        input_tokens=tokens[0] or 0,
        output_tokens=tokens[1] or 0,
        usd=None if usd is None else float(usd),
        measured=None not in tokens,
    )


def _count(value: Any, path: str | None) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_TOKENS:
        raise BridgeError(f"'{path}' is not a count of tokens: {start_of(str(value), 60)}")
    return value
