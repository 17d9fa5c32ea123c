"""No model at all: an extractive reader and a lexical judge, for a first look without a key. Never a pass.

Both are deterministic and grade nothing but word overlap. Everything made with them is named fake.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from typing import Final

from runner.config import ModelConfig, did_you_mean
from runner.errors import ConfigError
from runner.llm import Model, Request
from runner.llm.reader import NOT_MENTIONED
from runner.types import ABSTAIN, CORRECT, WRONG, Completion, Usage

_WORD = re.compile(r"[a-z0-9]+")
_STOP: Final = frozenset(
    _WORD.findall(
        "a an and are as at be been by can could did do does for from had has have he her his how i in is it its me my "
        "of on or our she should so some than that the their them they this to us was we were what when where which "
        "who whose why will with would you your"
    )
)
_ENOUGH = 0.5  # of the gold's words in the answer


def words(text: str) -> set[str]:
    """The words of a text that carry meaning, lower case, a plural or possessive s dropped."""
    found = (word[:-1] if len(word) > 3 and word.endswith("s") else word for word in _WORD.findall(text.lower()))
    return {word for word in found if word not in _STOP and word != "s"}


def extractive(parts: Mapping[str, str]) -> str:
    """The first line of the context that shares most words with the question, or the phrase for none."""
    wanted = words(parts.get("question", ""))
    best, line = 0, NOT_MENTIONED
    for candidate in parts.get("context", "").splitlines():
        shared = len(wanted & words(candidate))
        if shared > best:
            best, line = shared, candidate.strip()
    return line


def lexical(parts: Mapping[str, str]) -> str:
    """CORRECT when half of the words of any gold answer, or of the point that is graded, are in the answer."""
    if parts.get("abstain"):
        label, why = WRONG, "answered where the memory does not hold it"
    elif not words(parts.get("answer", "")):
        label, why = ABSTAIN, "no words"
    else:
        said = words(parts["answer"])
        wanted = [parts["point"]] if parts.get("point") else parts.get("gold", "").splitlines()
        golds = [words(gold) or {gold.strip().lower()} for gold in wanted]
        share = max((len(gold & said) / len(gold) for gold in golds), default=0.0)
        label, why = (CORRECT if share >= _ENOUGH else WRONG), f"{share:.2f} of the gold's words"
    reply = parts.get("reply", "label")
    if reply == "yes-no":
        return f"{'yes' if label == CORRECT else 'no'} {why} (fake judge)"
    if reply == "entailment":
        return "entailment" if label == CORRECT else "neutral"
    if reply == "summary":
        told = int(label == CORRECT)
        counts = {"fluency": 1, "key_points": 1, "told": told, "sentences": 1, "supported": told}
        return json.dumps({**counts, "reason": f"{why} (fake judge)"})
    key, value = ("score", float(label == CORRECT)) if reply in ("score", "whole-score") else ("label", label)
    return json.dumps({key: value, "reason": f"{why} (fake judge)"})


_FAKES: Final[dict[str, Callable[[Mapping[str, str]], str]]] = {"extractive": extractive, "lexical": lexical}


class FakeModel(Model):
    """A function of the request's parts, chosen by the config's ``model``."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        if config.model not in _FAKES:
            hint = did_you_mean(config.model, _FAKES)
            raise ConfigError([f"{config.name}: no fake '{config.model}'{hint}; there are {', '.join(_FAKES)}"])
        self._reply = _FAKES[config.model]

    def estimate(self, request: Request) -> float:
        del request
        return 0.0

    async def complete(self, request: Request) -> Completion:
        start = time.perf_counter()
        text = self._reply(request.parts)
        usage = Usage(usd=0.0, seconds=time.perf_counter() - start)
        return Completion(text=text, model=f"fake:{self.config.model}", finish="stop", usage=usage)
