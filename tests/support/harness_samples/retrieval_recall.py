"""Labelled queries of a person's own over a corpus, as CSV and as searches that an agent relied on."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.harness_samples.sample import Sample, config_of, write

LABELS_CSV = """id,query,keys,category,cluster,now
,Who bakes the bread?,bakery_owner|bakery_owner||gone,SECRETCAT,SECRETGROUP,2026-05-02T08:00
SECRETID,When is the oven lit?,"[""oven""]",SECRETCAT,,2026-05-02T08:00+02:00
,who bakes  the bread?,bakery_owner,other,,
,What is never written down?,,other,,
,Where is the mill?,gone,other,,
"""
MEMORIES = [
    {"key": "oven", "text": "The oven is lit at four in the morning.", "time": "2026-05-01T10:00"},
    {"key": "bakery_owner", "text": "Agnes bakes the bread herself.", "time": "2026-04-30"},
    {"key": "flour", "text": "Flour comes on Mondays."},
]


def labels(folder: Path) -> Sample:
    """A labelled CSV over a corpus that is given: keys twice, empty and unknown, a query asked twice."""
    corpus = write(folder, "memories.jsonl", "\n".join(json.dumps(item) for item in MEMORIES))
    path = write(folder, "labels.csv", LABELS_CSV)
    secrets = ("SECRETCAT", "SECRETGROUP", "SECRETID", "gone")
    return Sample(config_of("retrieval_recall", path, corpus=str(corpus)), secrets)


def relied_on(folder: Path) -> Sample:
    """Searches that an agent relied on, over the same corpus."""
    corpus = write(folder, "memories.jsonl", "\n".join(json.dumps(item) for item in MEMORIES))
    rows = [
        {
            "query": "bread",
            "relied_on": ["bakery_owner"],
            "returned": ["oven"],
            "session": "SECRET1",
            "ts": "2026-05-02",
        },
        {"query": "oven", "relied_on": ["oven"], "returned": ["oven", "SECRETKEY"], "session": "SECRET1"},
        {"query": "flour", "used_cited": ["flour"], "session": "SECRET2"},
    ]
    path = write(folder, "relied_on.jsonl", "\n".join(json.dumps(row) for row in rows))
    return Sample(config_of("retrieval_recall", path, corpus=str(corpus)), ("SECRET",))


SAMPLES = {"retrieval_recall": labels, "retrieval_recall relied_on": relied_on}
