"""Dialogue NLI: does what a speaker said before entail a sentence, contradict it, or neither? (Welleck et al. 2019)

Source: the archive of https://wellecks.com/dialogue_nli (310,110 pairs to train, 16,500 each to develop and to test,
and those of the test set that people verified), made from Persona-Chat. The authors state no licence that we know of;
a copy on Hugging Face says MIT.

- A scenario is one pair. Its premise is remembered among ``distractors`` premises of other pairs, in a seeded order;
  the memory is searched by the hypothesis, and the reader says entailment, neutral or contradiction. Ids are places in
  that order: the published id and ``dtype`` tell the label and go nowhere.
- Distractors must leave the label right: sentences whose triples are all known and share neither a relation nor an
  object with what is known of the two sentences of the pair. Where not all is known of these, they share no word of
  more than three letters either.
- The reader is asked by a rubric file, ``conf/judge/rubrics/entailment.md``, with the memory as premise. The rule
  ``nli_label`` reads the reply: several labels are WRONG, and so is text without one; a refusal or nothing is ABSTAIN.
- Categories are the gold labels. Rows say what was answered (``said_entailment`` …), from which a summary has F1 by
  label and macro-F1; accuracy is the headline.
- The cluster is the premise: many pairs share one.
- ``sample`` takes as many pairs of each label as its share, in a seeded order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, ClassVar, Final, Literal

from msgspec.structs import replace
from pydantic import Field

from runner.config import Strict
from runner.data.source import DataFiles
from runner.errors import DatasetError
from runner.harness._base.draw import Draw
from runner.harness._base.published import Published
from runner.harness.dialogue_consistency.data_check import DialogueDataCheck
from runner.harness.dialogue_consistency.format import LABELS, Pair, find, pairs
from runner.score.choice import nli
from runner.score.lexical import is_abstention
from runner.score.retrieval import profile, profile_metrics, ranked_sources
from runner.stats.allocation import stratified_sample
from runner.types import ABSTAIN, CORRECT, WRONG, Event, Gold, Hit, Label, LabelF1, Metric, Question, Scenario

RULE: Final = "nli_label"
PROMPT: Final = "judge/rubrics/entailment"
# Which label an answer named, and what a summary makes of it.
SAID: Final = tuple(Metric(f"said_{label}", share=True, higher=None, shown="never") for label in LABELS)
MACRO_F1: Final = Metric("macro_f1", share=True, shown="accuracy")
F1: Final = Metric("f1", share=True, shown="accuracy", made=LabelF1(prefix="said_", macro=MACRO_F1.name))
_TRIES: Final = 50  # draws a distractor may take before the pool is gone through
_WORD: Final = re.compile(r"[a-z0-9]{4,}")


class DialogueConsistencySettings(Strict):
    """``sample`` pairs of the split (``None``: all), each premise among ``distractors``; both by ``seed``."""

    split: Literal["train", "dev", "test", "verified_test"] = "test"
    sample: Annotated[int, Field(ge=3)] | None = 1500
    seed: Annotated[int, Field(ge=0)] = 7
    distractors: Annotated[int, Field(ge=0, le=10_000)] = 49


@dataclass
class _Index:
    """A file after a first pass: the pairs that are asked, and what each sentence is known to say."""

    asked: frozenset[str] = frozenset()
    facts: dict[str, frozenset[str]] = field(default_factory=dict)  # of a sentence, from all pairs it stands in
    unknown: frozenset[str] = frozenset()  # sentences of which some pair does not say what they state
    premises: tuple[str, ...] = ()  # that may distract, each once


class DialogueConsistency(Published):
    name = "dialogue_consistency"
    title = "Dialogue NLI"
    licence = "none stated by the authors (a copy on Hugging Face says MIT)"
    categories: ClassVar = {label: label for label in LABELS}
    aliases: ClassVar = {"positive": "entailment", "negative": "contradiction"}  # as the published files spell them
    comparable = frozenset(LABELS)
    cluster = "premise"
    prompts = (PROMPT,)
    rules = (RULE,)
    metrics = (*profile_metrics(), *SAID, F1, MACRO_F1)
    askable = False  # the question is a sentence, and what to say of it stands in the prompt
    documents = False
    Settings = DialogueConsistencySettings
    settings: DialogueConsistencySettings

    @cached_property
    def _file(self) -> DataFiles:
        return find(self.config.dataset, self.settings.split)

    def verified(self) -> DataFiles:
        return self._file

    @property
    def described(self) -> str:
        return f"{self.title} {self.settings.split}"

    @cached_property
    def _index(self) -> _Index:
        index = _Index()
        by_label: dict[str, list[str]] = {label: [] for label in LABELS}
        premises: dict[str, None] = {}
        unknown: set[str] = set()
        for pair in pairs(self._file):
            by_label[pair.label].append(pair.id)
            premises[pair.premise] = None
            for text, facts in ((pair.premise, pair.premise_facts), (pair.hypothesis, pair.hypothesis_facts)):
                index.facts[text] = index.facts.get(text, frozenset()) | facts
                if len(facts) < 2:
                    unknown.add(text)
        total = sum(map(len, by_label.values()))
        index.asked = stratified_sample(by_label, self.settings.sample or total, self.settings.seed)
        index.unknown = frozenset(unknown)
        index.premises = tuple(text for text in premises if text not in unknown)
        return index

    def unasked(self) -> list[str]:
        return [pair.id for pair in pairs(self._file)]

    def scenarios(self) -> Iterator[Scenario]:
        for pair in pairs(self._file):
            if pair.id in self._index.asked:
                yield self._scenario(pair)

    def patched(self, question: Question) -> Question:
        """Return it in the category of its new label: F1 is by gold label."""
        label = question.gold.answers[0]
        if label not in LABELS:
            raise DatasetError(
                f"the gold patch of {question.id} gives {label[:60]!r}, which is none of {', '.join(LABELS)}"
            )
        return replace(question, category=label)

    def _scenario(self, pair: Pair) -> Scenario:
        draw = Draw(self.settings.seed, "distractors", pair.id)
        texts = draw.shuffled([pair.premise, *self._distractors(pair, draw)])
        events = tuple(
            Event(id=f"e{number:05d}", text=text, actor="speaker") for number, text in enumerate(texts, start=1)
        )
        return Scenario(
            id=f"pair-{_digest(pair.id)}",
            cluster=f"premise-{_digest(pair.premise)}",
            events=events,
            questions=(
                Question(
                    id=pair.id,
                    text=pair.hypothesis,
                    category=pair.label,
                    gold=Gold(answers=(pair.label,), evidence=(events[texts.index(pair.premise)].id,)),
                    prompt=PROMPT,
                    rule=RULE,
                ),
            ),
        )

    def _distractors(self, pair: Pair, draw: Draw) -> list[str]:
        """Draw premises of other pairs that say nothing about what this pair is about."""
        index = self._index
        about = index.facts[pair.premise] | index.facts[pair.hypothesis]
        taken = {pair.premise, pair.hypothesis}
        words = _words(pair.premise) | _words(pair.hypothesis) if index.unknown & taken else frozenset()
        chosen: list[str] = []

        def fits(text: str) -> bool:
            return text not in taken and not index.facts[text] & about and not (words and words & _words(text))

        for _ in range(_TRIES * self.settings.distractors if index.premises else 0):
            if len(chosen) == self.settings.distractors:
                break
            text = index.premises[draw.below(len(index.premises))]
            if fits(text):
                taken.add(text)
                chosen.append(text)
        missing = self.settings.distractors - len(chosen)
        if missing:  # few are left: go through all of them
            rest = draw.shuffled([text for text in index.premises if fits(text)])
            if len(rest) < missing:
                raise DatasetError(
                    f"pair {pair.id} can have {len(chosen) + len(rest)} distractors that leave its label "
                    f"right, not {self.settings.distractors}; lower harness.settings.distractors"
                )
            chosen += rest[:missing]
        return chosen

    # --- scores ----------------------------------------------------------------------------------------------------

    def score_retrieval(self, question: Question, hits: Sequence[Hit]) -> dict[str, float | None]:
        """Retrieval metrics over the one premise."""
        return profile(ranked_sources(hits), question.gold.evidence, self.config.k)

    def score_answer(self, question: Question, answer: str) -> dict[str, float | None]:
        """``said_<label>``: 1 for the one label that the answer names, 0 for the others; all 0 when it names none."""
        del question
        named = nli(answer).value
        return {f"said_{label}": float(label == named) for label in LABELS}

    def grade(self, question: Question, answer: str) -> Label:
        """CORRECT for the gold label and no other; ABSTAIN for a refusal or nothing, WRONG for the rest."""
        if not answer.strip() or is_abstention(answer):
            return Label(value=ABSTAIN, reason="explicit refusal" if answer.strip() else "no answer")
        choice = nli(answer)
        if not choice.value:
            return Label(value=WRONG, reason=choice.why.replace("none", "no label", 1))
        right = question.gold.answers[0]
        return Label(value=CORRECT if choice.value == right else WRONG, reason=f"said {choice.value}, right is {right}")

    # --- gold patches and counts -----------------------------------------------------------------------------------

    def counts(self) -> list[str]:
        index, chosen = self._index, self.settings
        check = DialogueDataCheck(index.asked, index.unknown)
        for pair in pairs(self._file):
            check.add(pair)
        sample = f"sample {chosen.sample or 'all'}, seed {chosen.seed}, distractors {chosen.distractors}"
        sentences = (
            f"sentences {len(index.facts)}; premises that may distract, all their triples known: {len(index.premises)}"
        )
        return check.lines(sample, sentences)


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower()))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


HARNESS = DialogueConsistency
