"""A small data set of MemoryAgentBench, as Parquet files and as rows, in its source's own layout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from runner.config import HarnessConfig
from tests.support.harness_samples.sample import Sample, config_of, write


def mab_row(source: str, **changes: Any) -> dict[str, Any]:
    """A row in the official layout: every list of the metadata is there, empty where the sub-dataset has none."""
    lists = ("question_ids", "question_dates", "question_types", "previous_events", "keypoints", "haystack_sessions")
    metadata: dict[str, Any] = {
        "source": source,
        "demo": "SECRETDEMO",
        "qa_pair_ids": ["SECRETPAIR"],
        **dict.fromkeys(lists),
        "previous_events": ["SECRETEVENT"],
    }
    row: dict[str, Any] = {"context": "", "questions": [], "answers": []}
    row |= {key: value for key, value in changes.items() if key in row}
    return row | {"metadata": metadata | {key: value for key, value in changes.items() if key not in row}}


def mab_chats(**changes: Any) -> dict[str, Any]:
    """The LongMemEval part: the context is the text of a list and holds the labels; questions tell their date."""
    keys = [
        {"role": "user", "content": "I don't know where my keys are.\nHelp!", "has_answer": False},
        {"role": "assistant", "content": "They are on the hall table.", "has_answer": True},
    ]
    boats = [{"role": "user", "content": "Tell me of boats.", "has_answer": False}]
    context = ["Chat Time: 2022/11/17 (Thu) 12:04", keys, "Chat Time: 2022/12/28 (Wed) 16:10", boats]
    asked = "Current Date: {},\n\n Now Answer the Question: {}"
    row = mab_row(
        "longmemeval_s*",
        context=repr(context),
        questions=[
            asked.format("2023/05/27 (Sat) 22:54", "Where are my keys?"),
            asked.format("2023/05/28 (Sun) 08:00", "What should I cook?"),
            asked.format("2023/05/29 (Mon) 09:30", "What is my cat called?"),
        ],
        answers=[["the hall table SECRETGOLD"], ["would like soup SECRETRUBRIC"], ["no cat was mentioned SECRETWHY"]],
        question_ids=["q1", "q2", "q3_abs"],
        question_dates=["2023/05/27 (Sat) 22:54", "2023/05/28 (Sun) 08:00", "2023/05/29 (Mon) 09:30"],
        question_types=["single-session-assistant", "single-session-preference", "single-session-user"],
        # Of each question: in another order than in the context, with other white space.
        haystack_sessions=[[boats, [keys[0], keys[1] | {"content": "They are on  the hall table."}]], [boats], [boats]],
    )
    return row | changes


def mab_rows() -> dict[str, list[dict[str, Any]]]:
    """One row a task, by split; the two fact rows have one context."""
    events = "These have occurred:\n\n1. Ann left.\n\nPossible events:\n\n['Bob sang.', 'Ann came back.']\n\n Choose."
    example = '\n For example:\n Question: Who?\n A. X \n Output: {"answer":"A. X SECRETDEMO"}\n'
    facts = "Here is a list of facts:\n0. Ann plays golf.\n1. Bob lives in Rome.\n2. Ann plays chess.\n"
    movies = "Dialogue 1: System: Have you seen Heat (1995)? User: Yes."
    return {
        "Accurate_Retrieval": [
            mab_row(
                "ruler_qa1_197K",
                context="Document 1: Normandy is in France. It is green.\n\nDocument 2: Oslo is in Norway.",
                questions=["Where is Normandy?", "Where is Oslo?"],
                answers=[["France SECRETGOLD", "France SECRETGOLD", "the Republic SECRETGOLD"], ["Norway"]],
            ),
            mab_row(
                "eventqa_full",
                context="Ann left the house. Then Ann came back.",
                questions=[events, events.replace("Ann left", "Bob sat")],
                answers=[["Ann came back."], ["Bob sang."]],
            ),
            mab_chats(),
        ],
        "Test_Time_Learning": [
            mab_row(
                "icl_trec_coarse_6600shot_balance",
                context="Who wrote it ?\nlabel: 0\nWhere is it ?\nlabel: 1",
                questions=["Question:Who sang ?", "Question:Where to ?"],
                answers=[["0"], ["1"]],
            ),
            mab_row(
                "recsys_redial_full",
                context=movies,
                questions=["System: Hello. User: I like crime."],
                answers=[["7", "9"]],
            ),
        ],
        "Long_Range_Understanding": [
            mab_row(
                "infbench_sum_eng_shots2",
                context="Once there was a king. He lost a crown. He found it.",
                questions=["Summarize the book. Plot only.\n\nFor example:\n\n[story text]\nSummary: SECRETDEMO"],
                answers=[["A king loses his crown SECRETEXPERT."]],
                keypoints=["The king SECRETPOINT loses his crown.", "He finds it."],
            ),
            mab_row(
                "detective_qa",
                context="The butler had the knife.",
                questions=[f"{example} Now Answer the Question:  Who did it?\nA. The maid\nB.The butler\n Output: "],
                answers=[["B.The butler"]],
            ),
        ],
        "Conflict_Resolution": [
            mab_row(
                f"factconsolidation_{hops}_6k",
                context=facts,
                questions=["What does Ann play?", "Where does the golfer live?"],
                answers=[["chess"], ["Rome"]],
            )
            for hops in ("sh", "mh")
        ],
    }


MAB_MOVIES = {
    "<http://dbpedia.org/resource/Fargo_(1996_film)>": 7,
    "<http://dbpedia.org/resource/Heat_(1995_film)>": 8,
    "<http://dbpedia.org/resource/12_Angry_Men>": 9,
}


def memoryagentbench(folder: Path) -> Sample:
    """The four Parquet files in the folder `data`, the movies beside it."""
    import pyarrow as arrow
    from pyarrow import parquet

    (folder / "data").mkdir(parents=True)
    for split, rows in mab_rows().items():
        parquet.write_table(arrow.Table.from_pylist(rows), folder / "data" / f"{split}-00000-of-00001.parquet")
    write(folder, "entity2id.json", MAB_MOVIES)
    urls = [{"url": f"https://example.org/{split}-00000-of-00001.parquet"} for split in mab_rows()]
    dataset = {"path": str(folder), "sha256": None, **urls[0]}
    secrets = ("SECRET", "has_answer", "_abs", "entity2id", "For example")
    return Sample(HarnessConfig(name="memoryagentbench", dataset=dataset, settings={"more": urls[1:]}), secrets)


def memoryagentbench_rows(folder: Path) -> Sample:
    """All rows in one file of JSON lines."""
    rows = [row for rows in mab_rows().values() for row in rows]
    path = write(folder, "rows.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    write(folder, "entity2id.json", MAB_MOVIES)
    return Sample(config_of("memoryagentbench", path, scoring="upstream"), ("SECRET", "has_answer", "_abs"))


SAMPLES = {"memoryagentbench": memoryagentbench, "memoryagentbench rows": memoryagentbench_rows}
