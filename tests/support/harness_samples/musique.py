"""A small data set of MuSiQue, the answerable set and the full one, in its source's own layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.harness_samples.sample import Sample, config_of, json_lines, write


def musique_row(name: str = "2hop__11_22", *, answerable: bool = True, **changes: Any) -> dict[str, Any]:
    """One question of two hops in the official layout: two supporting paragraphs of four, the second of them first.

    The unanswerable one lacks the paragraph of the second hop, and has others beside it.
    """

    def paragraph(idx: int, title: str, text: str, supporting: bool = False) -> dict[str, Any]:
        return {"idx": idx, "title": title, "paragraph_text": text, "is_supporting": supporting}

    last = paragraph(0, "Mira Stone", "Mira Stone was born in Varn.", True)
    row: dict[str, Any] = {
        "id": name,
        "paragraphs": [
            last if answerable else paragraph(0, "Mira Lake", "A lake in the north."),
            paragraph(1, "Varnish", "A finish for wood."),
            paragraph(2, "The Green Door", "The Green Door is a film by Mira Stone.", True),
            paragraph(3, "Red Door", "A film by nobody."),
        ],
        "question": "Where was the maker of The Green Door born?",
        "question_decomposition": [
            {"id": 11, "question": "The Green Door >> maker", "answer": "SECRETHOP", "paragraph_support_idx": 2},
            {"id": 22, "question": "#1 >> born", "answer": "SECRETHOP", "paragraph_support_idx": last["idx"]},
        ],
        "answer": "Varn",
        "answer_aliases": ["SECRETALIAS", "the Varn"],
        "answerable": answerable,
    }
    return row | changes


def musique(folder: Path) -> Sample:
    names = ("2hop__11_22", "2hop__33_44", "3hop1__1_2_3", "3hop2__4_5_6", "4hop1__1_2_3_4", "4hop3__5_6_7_8")
    path = write(folder, "musique_ans.jsonl", json_lines([musique_row(name) for name in names]))
    secrets = ("SECRET", "supporting", "answerable", "hop", "decomposition")
    return Sample(config_of("musique", path), secrets)


def musique_full(folder: Path) -> Sample:
    """The full set, whose pairs do not stand together in the file."""
    names = ("2hop__11_22", "3hop1__1_2_3", "4hop2__1_2_3_4")
    rows = [musique_row(name, answerable=bool(twin)) for twin in (1, 0) for name in names]
    path = write(folder, "musique_full.jsonl", json_lines(rows))
    return Sample(
        config_of("musique", path, set="full"), ("SECRET", "supporting", "answerable", "hop", "decomposition")
    )


SAMPLES = {"musique": musique, "musique full": musique_full}
