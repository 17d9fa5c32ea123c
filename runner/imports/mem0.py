"""Mem0's evaluation of LoCoMo (mem0ai/mem0, ``evaluation/evals.py``).

Layout: ``{"<conversation>": [{question, answer, response, category, bleu_score, f1_score, llm_score}]}`` with the
conversation's position in the dataset's file, and ``llm_score`` 1 or 0. There are no ids. Questions stand in the order
of the dataset *without category 5*, so a position is the index only where no adversarial question comes before: where
every list has the length that LoCoMo gives it, positions become LoCoMo's indexes; else ids are those of the file.
``--dataset`` then holds question, gold and category against the dataset.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from runner.data.fields import field, gold, listed, mapping, optional, text, word
from runner.data.result_file import ResultFile, read_document
from runner.errors import DatasetError
from runner.harness.locomo_qa.conversations import BENCHMARK, CONVERSATIONS, NAMES
from runner.harness.locomo_qa.format import ADVERSARIAL
from runner.imports import Format, Given, Results
from runner.imports._shared.labels import label_of

_SCORE: Final = "llm_score"


class Mem0(Format):
    name = "mem0"

    def read(self, files: Sequence[ResultFile]) -> list[Results]:
        lists: list[tuple[int, str, int, list[Any]]] = []
        for number, file in enumerate(files):
            for key, items in mapping(read_document(file), file.name).items():
                where = f"{file.name}, conversation {key[:20]}"
                if not key.isascii() or not key.isdigit() or len(key) > 4 or int(key) >= len(NAMES):
                    raise DatasetError(f"{where}: expected the position of a LoCoMo conversation, 0 to 9")
                lists.append((number, where, int(key), listed(items, where)))
        odd = next((entry for entry in lists if not _is_complete(entry[3], NAMES[entry[2]])), None)
        found = Results([], harness=BENCHMARK, cluster="conversation")
        if odd is not None:
            _, where, position, items = odd
            found.lines.append(
                f"{where} holds {len(items)} questions, and LoCoMo has {CONVERSATIONS[NAMES[position]]} there in "
                f"categories 1-4: ids are <conversation>/<position in the file>, and pair with no other layout"
            )
        for number, where, position, items in lists:
            conversation = NAMES[position]
            indexes = answerable(conversation) if odd is None else range(len(items))
            prefix = conversation if odd is None else str(position)
            for index, entry, item in zip(indexes, range(len(items)), items, strict=True):
                place = f"{where}, entry {entry}"
                found.given.append(_question(mapping(item, place), place, f"{prefix}/{index}", conversation, number))
        return [found]


def _is_complete(items: list[Any], conversation: str) -> bool:
    """Tell whether a list can be the conversation's questions of categories 1-4, one and all."""
    adversarial = any(isinstance(item, dict) and str(item.get("category")) == ADVERSARIAL for item in items)
    return len(items) == CONVERSATIONS[conversation] and not adversarial


def answerable(conversation: str) -> list[int]:
    """Return the indexes of a conversation's questions of categories 1-4, in order.

    Everywhere the adversarial questions come last, but in conv-30 one stands at 79, before the last two that count.
    """
    count = CONVERSATIONS[conversation]
    return [*range(79), 80, 81] if conversation == "conv-30" else list(range(count))


def _question(item: dict[str, Any], where: str, name: str, cluster: str, file: int) -> Given:
    label, said = label_of(item.get(_SCORE))
    category = field(item, "category", where, word)
    return Given(
        id=name,
        label=label,
        said=said,
        file=file,
        answer=text(item.get("response"), f"{where}, response"),
        reason="" if _SCORE in item else f"no {_SCORE}",
        cluster=cluster,
        category=category,
        question=optional(item.get("question"), f"{where}, question"),
        gold=gold(item.get("answer"), f"{where}, answer", abstain=category == ADVERSARIAL),
    )


FORMAT = Mem0
