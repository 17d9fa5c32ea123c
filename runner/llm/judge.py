"""The judge: an answer as a request, and a reply as a label.

Which rubric grades a question is the judge's own choice, unless the benchmark has one for it (``Question.rubric``). A
rubric file says in a line ``<!-- reply: … -->`` what the judge replies with (:mod:`runner.llm.judge_replies`); what a
reply does not say exactly once is ``judge_unparseable``, never WRONG.
"""

from __future__ import annotations

from collections.abc import Iterable

from runner.config import ModelConfig
from runner.errors import ConfigError
from runner.llm import Request, RequestBuilder
from runner.llm.judge_replies import READINGS, parse
from runner.llm.template import Template
from runner.types import ABSTAIN, CORRECT, JUDGE_UNPARSEABLE, Completion, Label, Question

__all__ = ["Judge", "parse"]

_KNOWN = frozenset({"question", "gold", "answer", "point"})
# A file that compares two texts asks whether the reference entails the answer.
_ALSO = {"premise": "gold", "hypothesis": "answer"}
_FOLDER = "judge/rubrics"


class Judge:
    """Builds what is sent to a judge and reads what comes back.

    Parameters
    ----------
    config
        The judge.
    rubrics
        Names of the benchmark's own rubric files, read at once so that a missing one is told before anything is spent.

    Attributes
    ----------
    rubric_sha256, abstain_rubric_sha256
        Of the rubric files: rows of the instrument.

    Raises
    ------
    ConfigError
        When a rubric file is missing or lacks ``{question}``, ``{answer}`` or ``{gold}`` (the abstention rubric has
        no gold to show).
    """

    def __init__(self, config: ModelConfig, rubrics: Iterable[str] = ()) -> None:
        asked = frozenset({"question", "answer"})
        self._rubric = Template.load(_FOLDER, config.rubric, "judge.rubric", _KNOWN, asked | {"gold"})
        self._abstain = Template.load(
            _FOLDER, config.abstain_rubric or "abstention", "judge.abstain_rubric", _KNOWN, asked
        )
        self._own: dict[str, Template] = {}
        for name in rubrics:
            self._of_benchmark(name)
        self._requests = RequestBuilder(config)
        self.rubric_sha256 = self._rubric.sha256
        self.abstain_rubric_sha256 = self._abstain.sha256

    @property
    def identity(self) -> str:
        """The instrument's row of the rubrics: the judge's two, or the benchmark's by name where it has its own."""
        if self._own:
            return " ".join(f"{name}@{self._own[name].sha256}" for name in sorted(self._own))
        return f"{self.rubric_sha256} {self.abstain_rubric_sha256}"

    def _of_benchmark(self, name: str) -> Template:
        if name not in self._own:
            template = Template.load(_FOLDER, name, "the benchmark's rubric", _KNOWN, frozenset({"answer"}), _ALSO)
            if template.reply not in READINGS:
                known = ", ".join(READINGS)
                raise ConfigError([f"{name}: replies with '{template.reply}', which is none of {known}"])
            self._own[name] = template
        return self._own[name]

    def _template(self, question: Question) -> Template:
        if question.rubric:
            return self._of_benchmark(question.rubric)
        return self._abstain if question.gold.abstain else self._rubric

    def requests(self, question: Question, answer: str) -> list[Request] | Label:
        """All that is to be sent for one answer: a request a point where the benchmark grades points, else one."""
        asked: list[Request] = []
        for point in question.gold.points or ("",):
            request = self.request(question, answer, point)
            if isinstance(request, Label):
                return request
            asked.append(request)
        return asked

    def request(self, question: Question, answer: str, point: str = "") -> Request | Label:
        """Build the request for one answer, or return its label when no model is needed.

        An explicit refusal is ABSTAIN where there is an answer to give and CORRECT where there is none; a benchmark's
        own rubric grades refusals as well.

        Parameters
        ----------
        point
            The one point of the rubric that is graded, where a benchmark grades them one by one.
        """
        from runner.score.lexical import is_abstention

        abstain = question.gold.abstain
        if not question.rubric and is_abstention(answer):
            return Label(value=CORRECT if abstain else ABSTAIN, reason="explicit refusal")
        golds = question.gold.answers
        gold = golds[0] if len(golds) == 1 else "\n".join(f"- {item}" for item in golds)
        values = {
            "question": question.text,
            "gold": gold or "(none: the memory does not hold the answer)",
            "answer": answer,
            "point": point,
        }
        template = self._template(question)
        parts = {**values, "gold": "\n".join(golds), "abstain": "yes" if abstain else "", "reply": template.reply}
        return self._requests.build(template.fill(values), parts)

    def label(self, question: Question, completion: Completion) -> Label:
        """The label of a reply: one of ``LABELS``, or ``judge_unparseable`` with the start of the reply."""
        label = READINGS[self._template(question).reply](completion.text)
        if label.value == JUDGE_UNPARSEABLE and completion.finish == "length":
            return Label(value=label.value, reason=f"cut at the token limit: {label.reason}")
        if question.gold.abstain and label.value == ABSTAIN:
            return Label(value=CORRECT, reason=label.reason)  # to abstain is what was right
        return label
