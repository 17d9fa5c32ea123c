"""Gold patches on questions that are streamed: applied one by one, reported over a whole pass."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from msgspec.structs import replace

from runner.errors import DatasetError
from runner.harness._base.gold_patches import Patch, PatchReport, read_patches, reported
from runner.types import GOLD_EXCLUDED, GOLD_FIXED, Question, Scenario


class Patching:
    """The gold patches of a harness that holds no list of its questions.

    Parameters
    ----------
    files
        ``harness.patches`` as configured.

    Raises
    ------
    DatasetError
        On a file that is missing or not understood, and on two patches of one question.
    """

    def __init__(self, files: list[str]) -> None:
        self._harness = harness
        self._patches = read_patches(files, ())
        self.sha256 = self._patches.sha256

    def applied(
        self, scenarios: Iterable[Scenario], unasked: Callable[[], Collection[str]] = tuple
    ) -> Iterator[Scenario]:
        """The scenarios with their gold as patched.

        Parameters
        ----------
        scenarios
            Those that are asked.
        unasked
            Ids of questions that the data has and a sample leaves out, looked up only where a patch names none of
            those that are asked.

        Raises
        ------
        DatasetError
            When a patch was written for other data: another question or answer, evidence that does not exist, or,
            after the last scenario, a question that is not there.
        """
        if not self._patches.by_id:
            yield from scenarios
            return
        pending = set(self._patches.by_id)
        for scenario in scenarios:
            pending -= {question.id for question in scenario.questions}
            questions = tuple(self._question(question, scenario) for question in scenario.questions)
            yield replace(scenario, questions=questions)
        if pending and (pending := pending.difference(unasked())):
            raise DatasetError(
                f"a gold patch names question {sorted(pending)[0]}, which the data does not have"
            )

    def _question(self, question: Question, scenario: Scenario) -> Question:
        patch = self._patches.by_id.get(question.id)
        if patch is None:
            return question
        self._fits(patch, question, scenario)
        gold = question.gold
        if patch.answer is not None:
            gold = replace(gold, answers=(patch.answer,))
        if patch.evidence:
            gold = replace(gold, evidence=tuple(dict.fromkeys(patch.evidence)), sessions=())
        return replace(question, gold=gold)

    def _fits(self, patch: Patch, question: Question, scenario: Scenario) -> None:
        where = f"the gold patch of {patch.id}"
        if patch.question is not None and patch.question != question.text:
            raise DatasetError(f"{where} was written for another question; it does not belong to this dataset")
        if patch.was is not None and (patch.was,) != question.gold.answers:
            raise DatasetError(f"{where} was written for another published answer; it does not belong to this dataset")
        known = {event.id for event in scenario.events} if patch.evidence else set()
        for name in patch.evidence or ():
            if name not in known:
                raise DatasetError(f"{where} cites '{name}', which is no event of {scenario.id}")

    def flags(self, question: Question) -> tuple[str, ...]:
        """``GOLD_EXCLUDED`` or ``GOLD_FIXED`` for a question that a patch touches."""
        patch = self._patches.by_id.get(question.id)
        if patch is None:
            return ()
        return (GOLD_EXCLUDED if patch.action == "exclude" else GOLD_FIXED,)

    def report(self, scenarios: Iterable[Scenario], comparable: Collection[str]) -> PatchReport:
        """What the patches do to the comparable questions of a whole pass."""
        asked = ((question.id, question.category) for scenario in scenarios for question in scenario.questions)
        return reported(self._patches, asked, comparable)
