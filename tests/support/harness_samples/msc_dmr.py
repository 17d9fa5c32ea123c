"""A small data set of MSC-Self-Instruct, in its source's own layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.harness_samples.sample import Sample, config_of, json_lines, write


def msc_row(place: int = 0, **changes: Any) -> dict[str, Any]:
    """One row in the official layout: four earlier sessions without speakers, a fifth with them, and the question."""

    def session(number: int, unit: str, back: str, *texts: str) -> dict[str, Any]:
        told = [["SECRETPERSONA"], ["SECRETPERSONA"]]
        dialog = [{"text": text} for text in texts]
        return {"personas": told, "dialog": dialog, "time_num": number, "time_unit": unit, "time_back": back}

    row: dict[str, Any] = {
        "personas": [["I keep bees SECRETPERSONA."], ["I swim SECRETPERSONA."]],
        "dialog": [
            {"text": "Back again!", "id": "Speaker 1", "convai2_id": f"valid_{place}", "rating": 5},
            {"text": "So am I.", "id": "Speaker 2"},
        ],
        "metadata": {"initial_data_id": f"valid_{place}", "session_id": 4},
        "previous_dialogs": [
            session(5, "hours", "10 days 6 hours ago", "I keep bees.", "What kind?", f"Carniolan ones, {place} hives."),
            session(7, "days", "10 days 1 hour ago", "How was the fair?", "I won a blue teapot."),
            session(1, "hours", "3 days 1 hours ago", "Is it cold?", "It is."),
            session(3, "days", "3 days ago", "I am tired.", "Sleep well."),
        ],
        "init_personas": [["SECRETPERSONA"], ["SECRETPERSONA"]],
        "personas_update1": ["SECRETPERSONA"],
        "personas_update2": ["SECRETPERSONA"],
        "self_instruct": {"B": "What kind of bees did you say you keep?", "A": "Carniolan bees! SECRETGOLD"},
        "summary_speaker_1": [["I keep bees.", "SECRETSUMMARY"]],
        "summary_speaker_2": [["SECRETSUMMARY"]],
    }
    return row | changes


def msc_dmr(folder: Path) -> Sample:
    path = write(folder, "msc_self_instruct.jsonl", json_lines([msc_row(place) for place in range(4)]))
    return Sample(config_of("msc_dmr", path), ("SECRET", "valid_", "init_personas", "summary_speaker"))


SAMPLES = {"msc_dmr": msc_dmr}
