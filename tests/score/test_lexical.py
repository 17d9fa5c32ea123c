"""Lexical scores against hand-worked values, rouge-score, sacrebleu and NLTK."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from math import exp

import pytest

from runner.score import lexical

PAIRS = [
    ("The cat sat on the mat.", "a cat sat on a mat"),
    ("It was in June 2023, I believe", "June 2023"),
    ("seven", "7"),
    ("running shoes and a blue tent", "a tent, blue"),
    ("yes yes yes", "yes"),
    ("one", "one two three four five"),
]


def test_token_f1_by_hand():
    # cat sat on mat / cat sat on mat
    assert lexical.token_f1("The cat sat on the mat.", "a cat sat on a mat") == 1
    # "it was in june 2023 i believe" (7) against 2, two in common: P 2/7, R 1
    assert lexical.token_f1("It was in June 2023, I believe", "June 2023") == pytest.approx(4 / 9)
    assert lexical.token_f1("no", "yes") == 0


def test_both_empty_is_one_and_one_empty_is_zero():
    for empty, other in (("", "x"), ("the", "x")):
        assert lexical.token_f1(empty, empty) == lexical.bleu1(empty, empty) == 1
        assert lexical.token_f1(empty, other) == lexical.token_f1(other, empty) == 0
        assert lexical.bleu1(empty, other) == lexical.bleu1(other, empty) == 0
    assert lexical.rouge_l("", "…")["f1"] == 1
    assert lexical.rouge_l("", "x")["f1"] == lexical.rouge_l("x", "")["f1"] == 0


def test_exact_match():
    assert lexical.exact_match("The  Leopard!", "leopard") == 1
    assert lexical.exact_match("leopards", "leopard") == 0


def test_bleu1_by_hand():
    assert lexical.bleu1("yes yes yes", "yes") == pytest.approx(1 / 3)  # clipped, longer: no penalty
    assert lexical.bleu1("one", "one two three four five") == pytest.approx(exp(1 - 5))


@pytest.mark.parametrize(("answer", "gold"), PAIRS)
def test_bleu1_equals_sacrebleu(answer, gold):
    from sacrebleu.metrics import BLEU

    metric = BLEU(max_ngram_order=1, tokenize="none", smooth_method="none", effective_order=False)
    left, right = " ".join(lexical.squad_tokens(answer)), " ".join(lexical.squad_tokens(gold))
    assert lexical.bleu1(answer, gold) == pytest.approx(metric.corpus_score([left], [[right]]).score / 100)


@pytest.mark.parametrize(("answer", "gold"), [*PAIRS, ("a b c d e f", "b d f a"), ("C'est l'été", "l'ete 2020")])
def test_rouge_l_equals_rouge_score(answer, gold):
    from rouge_score.rouge_scorer import RougeScorer

    theirs = RougeScorer(["rougeL"], use_stemmer=False).score(gold, answer)["rougeL"]
    ours = lexical.rouge_l(answer, gold)
    assert (ours["precision"], ours["recall"], ours["f1"]) == pytest.approx(tuple(theirs))


# --- LoCoMo --------------------------------------------------------------------------------------------------------


def test_locomo_normalisation():
    # the comma goes without leaving a space; a, an, the and *and* go; the rest is stemmed
    assert lexical.locomo_tokens("Running, and the 1,000 ponies!") == ["run", "1000", "poni"]


def test_locomo_f1_single_and_temporal():
    # "7 may 2023" in "on 7 may 2023": 3 of 4 and 3 of 3
    assert lexical.locomo_f1("On 7 May, 2023", "7 May 2023", 2) == pytest.approx(2 * 0.75 / 1.75)
    assert lexical.locomo_f1("adopted dogs", "adopting a dog", 4) == 1
    assert lexical.locomo_f1("", "x", 4) == 0


def test_locomo_f1_multi_hop_takes_the_best_for_each_gold():
    # golds: "pottery", "camping trips"; answers: "camping", "pottery" -> best 1 and 2·1·½/1½ = ⅔
    assert lexical.locomo_f1("camping, pottery", "pottery, camping trips", 1) == pytest.approx((1 + 2 / 3) / 2)
    assert lexical.locomo_f1("pottery", "pottery, swimming", 1) == 0.5
    assert lexical.locomo_f1("pottery", "pottery, swimming", 4) == pytest.approx(2 / 3)


def test_locomo_f1_open_domain_reads_gold_before_the_semicolon():
    assert lexical.locomo_f1("likely yes", "Likely yes; she said so", 3) == 1
    assert lexical.locomo_f1("likely yes", "Likely yes; she said so", 4) < 1


@pytest.mark.parametrize(
    ("answer", "score"),
    [("NOT MENTIONED", 1), ("There is No Information Available here", 1), ("It was not said", 0), ("", 0)],
)
def test_locomo_f1_adversarial(answer, score):
    assert lexical.locomo_f1(answer, "whatever", 5) == score


def test_locomo_articles_keep_to_words_with_accents_of_their_own():
    assert lexical.locomo_tokens("the\u0301 a\u0301 the") == ["the\u0301", "a\u0301"]  # "thé á", decomposed


def test_locomo_f1_refuses_another_category():
    with pytest.raises(ValueError, match="no category 6"):
        lexical.locomo_f1("a", "a", 6)


def _official(answer: str, gold: str, category: int) -> float:
    """The definition of HARNESSES on NLTK's stemmer, which is what the official script uses."""
    from nltk.stem import PorterStemmer

    stem = PorterStemmer().stem

    def tokens(text: str) -> Counter[str]:
        kept = "".join(c for c in text.replace(",", "").lower() if c not in string.punctuation)
        return Counter(stem(word) for word in re.sub(r"\b(a|an|the|and)\b", " ", kept).split())

    def f1(left: str, right: str) -> float:
        a, b = tokens(left), tokens(right)
        same = (a & b).total()
        return 0 if not same else 2 * (same / a.total()) * (same / b.total()) / (same / a.total() + same / b.total())

    if category == 1:
        golds = gold.split(",")
        return sum(max(f1(part, one) for part in answer.split(",")) for one in golds) / len(golds)
    return f1(answer, gold.split(";")[0] if category == 3 else gold)


def test_porter_equals_nltks_original_mode():
    from nltk.stem import PorterStemmer

    nltk = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    words = "caresses ponies cats feed agreed plastered motoring sing conflated troubled hopping falling happy sky "
    words += "relational conditional vietnamization triplicate formative adjustable probate controll day psychology"
    for word in words.split():
        assert lexical.locomo_tokens(word) == [nltk.stem(word)]


def test_two_letters_stay_as_in_nltks_default():
    from nltk.stem import PorterStemmer

    for word in ("as", "is", "us"):
        assert lexical.locomo_tokens(word) == [PorterStemmer().stem(word)] == [word]


def test_named_differences_from_nltks_default():
    from nltk.stem import PorterStemmer

    nltk = PorterStemmer()
    for word in ("day", "dying", "possibly", "psychology"):
        assert lexical.locomo_tokens(word) != [nltk.stem(word)]


@pytest.mark.parametrize("name", ["gpt-4.1-mini-cot.json", "gpt-4.1-mini-memos.json"])
def test_locomo_f1_meets_the_official_score_on_real_answers(shared_data, name):
    results = json.loads((shared_data / "locomo_audit" / name).read_text())["detailed_results"]
    rows = [row for rows in results.values() for row in rows][::8]
    ours, theirs = (
        [score(row["generated_answer"], str(row["golden_answer"]), int(row["category"])) for row in rows]
        for score in (lexical.locomo_f1, _official)
    )
    assert len(rows) > 150
    assert sum(ours) / len(rows) == pytest.approx(sum(theirs) / len(rows), abs=0.001)
    assert sum(abs(a - b) > 1e-9 for a, b in zip(ours, theirs, strict=True)) <= 0.02 * len(rows)


@pytest.mark.parametrize(
    "answer",
    ["NOT MENTIONED", "Not mentioned.", "No information available", "  no information available.  ", "I don't know",
     "I don’t know.", "It is not mentioned in the conversation.", "Answer: not mentioned",
     "There is no information available in the provided context", "I do not know", "Cannot be determined."],
)  # fmt: skip
def test_abstention(answer):
    assert lexical.is_abstention(answer)


@pytest.mark.parametrize(
    "answer",
    ["", "No", "none", "unknown", "Not mentioned, but probably Leeds", "She said it was not mentioned at work",
     "I don't know anyone in Leeds", "no information desk", "mentioned", "Not mentioned in the will of Anna",
     "It was not mentioned that Caroline moved; she lives in Leeds"],
)  # fmt: skip
def test_not_an_abstention(answer):
    assert not lexical.is_abstention(answer)
