"""A small data set of Dialogue NLI, a list and lines, in its source's own layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.harness_samples.sample import Sample, config_of, write


def dialogue_pair(number: int, label: str, one: str, two: str, *triples: list[str]) -> dict[str, Any]:
    return {
        "label": label,
        "sentence1": one,
        "sentence2": two,
        "triple1": triples[0],
        "triple2": triples[1],
        "dtype": f"SECRETRULE_{label}",
        "id": f"dialogue_nli_test_{number}",
    }


def dialogue_pairs() -> list[dict[str, Any]]:
    """Two pairs a label as published; premises about dogs, work, food, towns and a car."""
    dog, cat = ["i", "have_pet", "dog"], ["i", "have_pet", "cat"]
    cook, nurse = ["i", "has_profession", "cook"], ["i", "has_profession", "nurse"]
    soup, oslo, car, none = (
        ["i", "like_food", "soup"],
        ["i", "live_in", "oslo"],
        ["i", "have_car", "van"],
        ["<none>"] * 3,
    )
    return [
        dialogue_pair(1, "positive", "i walk my dog daily .", "i have a dog .", dog, dog),
        dialogue_pair(2, "negative", "i cook for a living .", "i am a nurse .", cook, nurse),
        dialogue_pair(3, "neutral", "soup is the best .", "i live in oslo .", soup, oslo),
        dialogue_pair(4, "negative", "i walk my dog daily .", "i have only a cat .", dog, cat),
        dialogue_pair(5, "positive", "oslo is home to me .", "i live in oslo .", oslo, oslo),
        dialogue_pair(6, "neutral", "how are you today ?", "i drive a van .", none, car),
    ]


def dialogue(folder: Path) -> Sample:
    path = write(folder, "dialogue_nli/dialogue_nli_test.jsonl", dialogue_pairs())
    sample = config_of("dialogue_consistency", path.parent.parent, distractors=2, sample=None)
    secrets = ("SECRETRULE", "dialogue_nli_test", "positive", "negative", "neutral", "entailment", "contradiction")
    return Sample(sample, (*secrets, "have_pet"))


def dialogue_lines(folder: Path) -> Sample:
    """Lines of JSON with labels under their other names."""
    names = {"positive": "entailment", "negative": "contradiction", "neutral": "neutral"}
    rows = [pair | {"label": names[pair["label"]]} for pair in dialogue_pairs()]
    path = write(folder, "pairs.jsonl", "\n".join(json.dumps(row) for row in rows))
    return Sample(config_of("dialogue_consistency", path, distractors=1, sample=3), ("SECRETRULE", "dialogue_nli_test"))


SAMPLES = {"dialogue_consistency": dialogue, "dialogue_consistency lines": dialogue_lines}
