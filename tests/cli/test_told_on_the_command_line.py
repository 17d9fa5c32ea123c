"""Mistakes of a command line: one line each that says what to type instead, and no second one that follows from it."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.cli._words import overrides
from runner.cli.run import compose
from runner.config import ModelConfig
from runner.errors import ConfigError
from runner.llm import FAKE_JUDGE, require
from tests.conftest import ROOT


def refusal(*words: str) -> str:
    with pytest.raises(ConfigError) as caught:
        overrides.checked(words, ())
    return str(caught.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("+arm=bm25", "k=3"), "k: no such key (did you mean harness.k?); the config has harness, arm,"),
        (("+arm=bm25", "repeats=3"), "repeats: no such key (did you mean run.repeats?)"),
        (("+arm=bm25", "harness.path=x"), "harness.path: no such key (did you mean harness.dataset.path?)"),
        (("+arm=arms_on", "graph=true"), "graph: no such key (did you mean arm.knobs.graph?)"),
        (("+arm=bm25", "limit=3"), "(did you mean arm.recall.limit, slice.limit or budget.limit?)"),
        (
            ("+arm=bm25", "model=x"),
            "(did you mean reader.model, reader.output.model, judge.model or judge.output.model?)",
        ),
        (("+arm=bm25", "run.repeat=3"), "(did you mean 'repeats'?)"),
        (("+arm=bm25", "harness.dataset=labels.csv"), "did you mean harness.dataset.path=labels.csv?"),
        (("+arm=bm25", "arm.recall=10"), "did you mean arm.recall.limit=10?"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_a_key_that_stands_elsewhere(words: tuple[str, ...], says: str) -> None:
    told = refusal(*words)
    assert says in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "word", ["harness.dataset={path: x}", "harness.dataset=null", "harness.settings={}", "~budget"]
)
def test_a_section_may_be_written_whole(word: str) -> None:
    overrides.checked(["+arm=bm25", word], ())


def test_a_misspelt_choice_is_told_alone() -> None:
    told = refusal("+arm=bm25", "harness=retrieval_recal", "harness.settings.corpus=m.jsonl")
    assert told.startswith("harness=retrieval_recal: no such choice (did you mean 'retrieval_recall'?)")
    assert "\n" not in told
    # Keys of other groups are checked all the same.
    assert "knobs.grap:" in refusal("+arm=arms_on", "harness=retrieval_recal", "arm.knobs.grap=true")


def test_an_experiment_may_choose_the_harness() -> None:
    words = ["+experiment=msc_dmr_digest", "harness.settings.current_session=false"]
    assert overrides.checked(words, ()) == words


def test_a_home_that_is_not_expanded() -> None:
    with pytest.raises(ConfigError) as caught:
        compose(["+arm=bm25", "harness=retrieval_recall", "harness.settings.corpus=~/m.jsonl"])
    assert str(caught.value) == (
        "harness.settings.corpus: write the whole path, or quote it ('harness.settings.corpus=\"~/FILE\"'): "
        "`~` is not expanded here"
    )
    quoted = compose(["+arm=bm25", "harness=retrieval_recall", 'harness.settings.corpus="~/m.jsonl"'])
    assert quoted["harness"]["settings"]["corpus"] == "~/m.jsonl"


@pytest.mark.parametrize(
    "text", ["defaults:\n  - override /harness: locomo_qa\n", "harness:\n  k: 3\n"], ids=["defaults", "keys"]
)
def test_an_experiment_without_its_first_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "experiment").mkdir()
    file = tmp_path / "experiment" / "mine.yaml"
    file.write_text(text)
    with pytest.raises(ConfigError, match="an experiment's file begins with the line: # @package _global_"):
        compose(["+experiment=mine", "+arm=bm25"], [tmp_path])
    file.write_text(f"# @package _global_\n{text}")
    assert compose(["+experiment=mine", "+arm=bm25"], [tmp_path])["harness"]["k"] in (3, 10)


def test_a_first_look_at_a_memory_that_answers_takes_a_judge_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    judge = ModelConfig(name="j", provider="openai", model="m")
    with pytest.raises(ConfigError, match="or choose reader=extractive_fake judge=lexical_fake for a first look"):
        require(judge)
    with pytest.raises(ConfigError, match="or choose judge=lexical_fake for a first look"):
        require(judge, FAKE_JUDGE)


def test_the_command_line_of_such_memories(cli, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    done = cli("reader=ask", "+arm=command_example", "judge=gpt-4.1", "harness.settings.scenarios=1")
    assert done.returncode == 2
    assert "local server, or choose judge=lexical_fake for a first look" in done.stderr
