"""Lexical scores against hand-worked values, rouge-score, sacrebleu and NLTK."""

from __future__ import annotations

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


# --- stems ---------------------------------------------------------------------------------------------------------


def test_stemmed_tokens():
    # the comma goes without leaving a space; a, an, the and *and* go; the rest is stemmed
    assert lexical.stemmed_tokens("Running, and the 1,000 ponies!") == ["run", "1000", "poni"]


def test_articles_keep_to_words_with_accents_of_their_own():
    assert lexical.stemmed_tokens("the\u0301 a\u0301 the") == ["the\u0301", "a\u0301"]  # "thé á", decomposed


def test_porter_equals_nltks_original_mode():
    from nltk.stem import PorterStemmer

    nltk = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM)
    words = "caresses ponies cats feed agreed plastered motoring sing conflated troubled hopping falling happy sky "
    words += "relational conditional vietnamization triplicate formative adjustable probate controll day psychology"
    for word in words.split():
        assert lexical.stemmed_tokens(word) == [nltk.stem(word)]


def test_two_letters_stay_as_in_nltks_default():
    from nltk.stem import PorterStemmer

    for word in ("as", "is", "us"):
        assert lexical.stemmed_tokens(word) == [PorterStemmer().stem(word)] == [word]


def test_named_differences_from_nltks_default():
    from nltk.stem import PorterStemmer

    nltk = PorterStemmer()
    for word in ("day", "dying", "possibly", "psychology"):
        assert lexical.stemmed_tokens(word) != [nltk.stem(word)]


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
