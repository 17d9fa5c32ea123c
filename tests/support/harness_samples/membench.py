"""A small data set of MemBench, a checkout and the authors' sampled files, in its source's own layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.support.harness_samples.sample import Sample, config_of, write


def membench_qa(right: str, **changes: Any) -> dict[str, Any]:
    """The question of a trajectory: the right choice is C."""
    qa: dict[str, Any] = {
        "qid": 0,
        "question": "What is right?",
        "answer": right,
        "target_step_id": [0],
        "choices": {"A": "SECRETCHOICE one", "B": "SECRETCHOICE two", "C": right, "D": "SECRETCHOICE three"},
        "ground_truth": "C",
        "time": "'2024-10-02 09:00' Wednesday",
    }
    return qa | changes


def membench_seen(texts: Sequence[str], qa: dict[str, Any], tid: int = 0) -> dict[str, Any]:
    """Observation: a flat list of messages an hour apart, the first marked with the fact that it states."""
    messages: list[dict[str, Any]] = [
        {"mid": n, "message": text, "time": f"'2024-10-01 {8 + n:02d}:00' Tuesday", "place": "Oslo"}
        for n, text in enumerate(texts)
    ]
    messages[0] |= {"rel": "boss", "attr": "SECRETATTR", "value": "SECRETVALUE"}
    return {"tid": tid, "message_list": messages, "QA": qa}


def membench_talked(
    sessions: Sequence[Sequence[str]], qa: dict[str, Any], tid: int = 0, long: bool = True
) -> dict[str, Any]:
    """Participation: sessions of exchanges, counted over the whole trajectory."""
    user, assistant, own = ("user_message", "assistant_message", "sid") if long else ("user", "assistant", "mid")
    number = iter(range(99))
    listed = []
    for day, session in enumerate(sessions, start=1):
        listed.append(
            [
                {
                    own: next(number),
                    user: text,
                    assistant: f"I see: {text}",
                    "time": f"'2024-10-{day:02d} 08:{minute:02d}' {('Tuesday', 'Wednesday', 'Thursday')[day - 1]}",
                    "place": "Oslo",
                }
                for minute, text in enumerate(session)
            ]
        )
    return {"tid": tid, "message_list": listed, "QA": qa}


def membench_data(folder: Path) -> Path:
    """The repository's folders: four categories, a tid that returns, a target out of range, one that is missing."""
    first, third = folder / "MemData" / "FirstAgent", folder / "MemData" / "ThirdAgent"
    late = {"time": "'2024-10-03 09:00' Thursday"}
    write(
        first,
        "simple.json",
        {
            "roles": [
                membench_talked(
                    [["My boss is 27.", "It rains."], ["I swim."]],
                    membench_qa("27", **late) | {"target_step_id": [[0, 0]]},
                ),
                membench_talked(
                    [["Hello."], ["My aunt bakes.", "Bye."]],
                    membench_qa("an aunt", **late) | {"target_step_id": [[1, 1], [3, 1]]},
                    tid=1,
                ),
            ],
            "events": [
                membench_talked([["The fair is in May."]], membench_qa("May", target_step_id=[[0, 0]]), tid=2),
            ],
        },
    )
    write(
        first,
        "highlevel_rec.json",
        {
            "movie": [
                membench_talked(
                    [["I like Alien.", "And Heat."]], membench_qa("thrillers", target_step_id=[]), tid=3, long=False
                )
            ]
        },
    )
    write(
        third,
        "noisy.json",
        {
            "roles": [membench_seen(["My boss is 27.", "It rains.", "I swim."], membench_qa("27"))],
            "places": [membench_seen(["My attic is in Bergen.", "It snows."], membench_qa("Bergen"), tid=4)],
        },
    )
    write(
        third,
        "highlevel.json",
        {"food": [membench_seen(["Curry!", "Chili!"], membench_qa("spicy", target_step_id=[0, 1]), tid=5)]},
    )
    return folder / "MemData"


def membench(folder: Path) -> Sample:
    return Sample(config_of("membench", membench_data(folder), noise=1), ("SECRET", "What is right?\\nA."))


def membench_sampled(folder: Path) -> Sample:
    """What the authors sampled: joined files, flat lists of texts with place and time at their ends."""
    plain = membench_qa("27", target_step_id=[1])
    tail = "(place: Oslo; time: '2024-10-01 08:00' Tuesday)"
    talk = [{"user": "Hello.", "agent": "Hi."}, {"user": f"My boss is 27. {tail}", "agent": f"Young! {tail}"}]
    seen = ["Noise without a time.", "My boss is 27. (place: Oslo; time'2024-10-01 08:00' Tuesday)"]
    for name, messages in (("FirstAgentDataLowLevel", talk), ("ThirdAgentDataLowLevel", seen)):
        data = {"simple": {"roles": [{"tid": 0, "message_list": messages, "QA": plain}]}}
        write(folder / "0-10k", f"{name}_multiple_0.json", data)
    return Sample(config_of("membench", folder / "0-10k"), ("SECRET", "time:", "time'"))


SAMPLES = {"membench": membench, "membench sampled": membench_sampled}
