"""A small data set of LoCoMo, in its source's own layout."""

from __future__ import annotations

from pathlib import Path

from tests.support.harness_samples.sample import Sample, config_of, write


def locomo(folder: Path) -> Sample:
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bob",
        "session_10_date_time": "9:00 am on 3 March, 2024",
        "session_10": [{"speaker": "Ann", "dia_id": "D10:1", "text": "I sold the boat."}],
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": [
            {"speaker": "Ann", "dia_id": "D2:1", "text": "I have a boat."},
            {"speaker": "Bob", "dia_id": "D2:2", "text": "Look!", "blip_caption": "a kite", "query": "SECRETQUERY"},
        ],
    }
    questions = [
        {"question": "What did Ann sell?", "answer": "a boat SECRETGOLD", "evidence": ["D10:1"], "category": 4},
        {"question": "How many?", "answer": 1, "evidence": ["D2:1", "D10:1"], "category": 1},
        {"question": "When?", "answer": "May", "evidence": ["D2:1"], "category": 2},
        {"question": "What flew?", "answer": "a kite", "evidence": ["D2:2"], "category": 3},
        {"question": "What did Bob sell?", "adversarial_answer": "SECRETTRAP", "evidence": ["D10:1"], "category": 5},
    ]
    sample = {"sample_id": "conv-1", "conversation": conversation, "qa": questions, "event_summary": {"x": "SECRETSUM"}}
    path = write(folder, "locomo.json", [sample])
    return Sample(config_of("locomo_qa", path), ("SECRETQUERY", "SECRETGOLD", "SECRETTRAP", "SECRETSUM"))


SAMPLES = {"locomo_qa": locomo}
