"""The nouns of the project: data, no behaviour.

Everything that is written to a run directory is one of these structs. They are ``msgspec`` structs
because a gate must read a million rows in seconds and because decoding is strict and typed: a recorded
run is untrusted data.

Times are naive ``datetime`` values on the scenario's own clock (benchmarks give no zone).
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct, field

OK: Final = "ok"
INGEST_ERROR: Final = "ingest_error"
NOT_SETTLED: Final = "not_settled"
SEARCH_ERROR: Final = "search_error"
READER_ERROR: Final = "reader_error"
JUDGE_ERROR: Final = "judge_error"
JUDGE_UNPARSEABLE: Final = "judge_unparseable"
STATUSES: Final = (OK, INGEST_ERROR, NOT_SETTLED, SEARCH_ERROR, READER_ERROR, JUDGE_ERROR, JUDGE_UNPARSEABLE)

# Flags of a row. A memory system may add notes of its own to them.
GOLD_EXCLUDED: Final = "gold_excluded"  # a gold patch takes the question out of the denominator
GOLD_FIXED: Final = "gold_fixed"  # a gold patch replaced its gold
EXISTING: Final = "existing_corpus"  # it was asked of a corpus that was there already
TIMES_IN_TEXT: Final = "times_in_text"  # the system takes no timestamps: they were written into the text
INGEST_TRUNCATED: Final = "ingest_truncated"  # the system cut the text of an event
INGEST_ALTERED: Final = "ingest_altered"  # what was sent is not what the history holds, or came in another order
# The system keeps nothing that survives the loss of its index: it was not asked, and what it delivers is nothing.
NO_SOURCE_OF_TRUTH: Final = "no_source_of_truth"
SEARCH_CACHED: Final = "search_cached"  # a cache answered: the time says nothing about the system's speed
OVER_LIMIT: Final = "over_limit"  # more hits came back than the budget has room for
OVER_CHARS: Final = "over_chars"  # more text came back than the budget has room for
CUT_HIT: Final = "cut_hit"  # the first hit alone was longer than the budget
SOURCES_UNTOLD: Final = "sources_untold"  # a hit does not name the events that it came from
ANSWER_TRUNCATED: Final = "answer_truncated"  # the answer ended at the token limit
NOT_SIMPLIFIED: Final = "not_simplified"  # the model did not simplify an answer, so it has no lexical score
SINGLE_EVENT: Final = "single_event"  # an ordering question whose reference has one event
CAPABILITIES_UNDECLARED: Final = "capabilities_undeclared"  # the system left something to be assumed
INGEST_CACHED: Final = "ingest_cached"  # nothing of its history was asked of the rewriting model in this run
EMPTY_QUERY: Final = "empty_query"  # nothing was left of the question to search with
ABSTAINED_MIN_OVERLAP: Final = "abstained_min_overlap"  # the system's own gate returned nothing
REPHRASING_REFUSED: Final = "rephrasing_refused"  # the reader's rewording failed or did not pass: the template was used

JUDGE_SCORE: Final = "judge_score"  # the metric of a judge that gives scores, not labels alone

KINDS: Final = ("message", "fact", "doc", "note", "checkpoint", "commit")

CORRECT: Final = "CORRECT"
WRONG: Final = "WRONG"
ABSTAIN: Final = "ABSTAIN"
LABELS: Final = (CORRECT, WRONG, ABSTAIN)


class Checkpoint(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The point at which an agent stopped, for a system that has a primitive for it; the event's text holds it too."""

    task: str = ""
    decisions: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()  # approaches already ruled out
    questions: tuple[str, ...] = ()
    next: str = ""


class Event(Struct, frozen=True, kw_only=True):
    """One thing that happened, as the harness tells it to every system alike.

    ``text`` is all of it in prose, the title and the checkpoint included: a store without structure loses nothing.
    """

    id: str
    text: str
    time: datetime | None = None
    actor: str = ""
    kind: str = "message"  # one of KINDS
    session: str = ""
    project: str = ""
    title: str = ""  # of a doc
    checkpoint: Checkpoint | None = None


class Fact(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that is looked for in a text: one of ``any``, and every one of ``all``."""

    label: str
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()


class Gold(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The correct answer. It stays with the harness and the judge; no system ever sees it."""

    answers: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()  # event ids
    sessions: tuple[str, ...] = ()  # evidence that is labelled by session only: all their events are in `evidence`
    abstain: bool = False  # the right answer is that the memory does not hold it
    points: tuple[str, ...] = ()  # points that are graded one by one, where the benchmark grades so
    carry: tuple[Fact, ...] = ()  # must be in what is delivered
    avoid: tuple[Fact, ...] = ()  # must not: superseded, corrected, of another project
    signal: tuple[Fact, ...] = ()  # knowledge about the answer: its age, its author, that nothing is known


class Question(Struct, frozen=True, kw_only=True):
    """One question asked of a scenario. ``id`` is ``<scenario>/<index>``; ``category`` the source's id as text.

    ``tags`` are what a report groups by besides the category; they are recorded with the row.
    """

    id: str
    text: str
    category: str
    gold: Gold
    now: datetime | None = None
    project: str = ""
    agent: str = ""  # who asks
    budget: int | None = None  # tokens that the asking agent has room for
    tags: dict[str, str] = field(default_factory=dict)
    rubric: str = ""  # the rubric file that the benchmark grades this question by; empty: the judge's own
    prompt: str = ""  # the prompt file that the benchmark asks this question with; empty: the reader's own
    reading: str = ""  # what a reader is asked, with its choices; a memory is searched by `text` alone
    cluster: str = ""  # which questions it moves with, where one history is asked by several; empty: the scenario's
    rule: str = ""  # the benchmark's own rule that grades the answer without a judge (`Harness.grade`); empty: a judge


class Scenario(Struct, frozen=True, kw_only=True):
    """One ingest unit: a history in time order and the questions asked of it."""

    id: str
    cluster: str  # items of one cluster move together; the bootstrap resamples whole clusters
    events: tuple[Event, ...]
    questions: tuple[Question, ...]
    drop_derived: bool = False  # everything that can be rebuilt is deleted between writing and reading
    existing: str = ""  # namespace of a corpus that is there already: searched, never reset, written or erased


class Query(Struct, frozen=True, kw_only=True):
    """A query to a system. It carries no gold and no question id.

    ``k`` and ``max_chars`` are ``None`` when the arm sets no bound. ``evidence`` is filled for a system whose
    capabilities say ``reads_gold`` (the oracle control) and for no other.
    """

    text: str
    now: datetime | None = None
    k: int | None = None
    max_chars: int | None = None
    max_tokens: int | None = None  # room that the asking agent has, at four characters a token
    project: str = ""
    agent: str = ""
    mode: str = "default"
    evidence: tuple[str, ...] | None = None


class Hit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One returned memory. ``sources`` are the event ids it came from, ``None`` when the system cannot tell."""

    key: str
    text: str
    score: float | None = None  # whatever the system ranks by
    sources: tuple[str, ...] | None = None
    time: datetime | None = None
    cosine: float | None = None  # similarity of query and memory before any fusion, where the system tells it


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens, money and time of one stage. ``usd`` is ``None`` when no price is known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = 0.0
    calls: int = 0
    seconds: float = 0.0
    measured: bool = True  # False: tokens or price were estimated


class Retrieval(Struct, frozen=True, kw_only=True):
    """The result of a search, best hit first."""

    hits: tuple[Hit, ...] = ()
    notes: tuple[str, ...] = ()  # what the system wants the row to say, e.g. a gate that abstained
    cached: bool = False  # a model's results came from a cache: its time says nothing about the system's speed


class Answer(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A system's own answer. ``hits`` are what it read for it, ``None`` when it does not say."""

    text: str
    hits: tuple[Hit, ...] | None = None
    model: str = ""  # what it says that it asked
    usage: Usage | None = None  # of its own models, where it says so
    notes: tuple[str, ...] = ()


class Receipt(Struct, frozen=True, kw_only=True):
    """The receipt of a write: enough to prove order, times and truncation."""

    events: int
    sha256: str  # over (id, time, actor, text) in the order sent
    times: str  # "native", "in_text" or "none"
    truncated: int = 0  # events whose text was cut
    computed: int = 0  # expensive artifacts (embeddings) made for this write
    reused: int = 0  # the same, found in a content-addressed cache


class Completion(Struct, frozen=True, kw_only=True):
    """One model reply. ``model`` and ``fingerprint`` are what the server says that it served."""

    text: str
    model: str = ""
    fingerprint: str = ""
    finish: str = ""
    usage: Usage = field(default_factory=Usage)


class Label(Struct, frozen=True, kw_only=True):
    """A judge's verdict on one answer: one of ``LABELS`` or an error status; ``score`` in [0, 1] where it gives one."""

    value: str
    reason: str = ""
    score: float | None = None


class Call(Struct, frozen=True, kw_only=True):
    """One line of ``calls.jsonl``: a finished model call, keyed by request, question and repeat."""

    question: str
    role: str  # "reader", "judge", "simplify", "ask", "search_model" or "ingest_model"
    repeat: int
    request: str  # sha256 of everything that was sent
    completion: Completion


class Ingest(Struct, frozen=True, kw_only=True):
    """One line of ``ingest.jsonl``: what one scenario's write really did."""

    scenario: str
    receipt: Receipt
    write_seconds: float
    settle_seconds: float


class PairProduct(Struct, frozen=True, kw_only=True, tag="pair_product", omit_defaults=True):
    """A metric made of two questions that share a cluster: the product of metrics of both.

    Row by row the two would earn points that only the pair deserves. A pair is whole when both rows have ``both``.
    """

    first: tuple[str, ...]  # metrics of the first question, multiplied
    second: tuple[str, ...]  # with these of the second one
    both: str  # a metric that both must have
    only_first: str  # a metric that the second question never has: tells them apart where there are no tags
    second_tag: tuple[str, str]  # the tag and its value by which rows say which is the second one


class LabelF1(Struct, frozen=True, kw_only=True, tag="label_f1", omit_defaults=True):
    """A metric made of answers that name a category: F1 of every category over all rows.

    A row has the metrics ``<prefix><category>``: 1 for the category that its answer named, 0 for the others.
    """

    prefix: str
    macro: str  # the name of the unweighted mean over categories


class Metric(Struct, frozen=True, omit_defaults=True):
    """The declaration of a metric, beside the function that measures it; it is recorded with the run.

    ``name`` is spelled as in rows; ``recall@K`` stands for every depth (``recall@5``).
    """

    name: str
    share: bool = False  # lies in 0..1; a gate compares shares
    higher: bool | None = True  # higher is better; None: neither is
    unit: str = ""  # of what is no share, in words ("tokens")
    shown: Literal["always", "recall", "accuracy", "never"] = "always"  # the axis whose table has it as a column
    digits: Annotated[int, Meta(ge=0, le=9)] = 3  # decimals in a table
    made: PairProduct | LabelF1 | None = None  # of several rows; None: each row has it


class Row(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``rows.jsonl``: one question in one arm, small enough that a gate reads a million of them."""

    id: str
    scenario: str
    cluster: str
    category: str
    status: str = OK
    error: str = ""
    label: str = ""  # the majority over repeats; empty on the recall axis
    labels: tuple[str, ...] = ()  # a label or an error status per repeat
    metrics: dict[str, float | None] = field(default_factory=dict)
    keys: str = ""  # digest of the ordered keys retrieved
    repeat_keys: tuple[str, ...] = ()  # the same per repeat, where a system answers by itself and retrieves each time
    context: str = ""  # digest of the context handed to the reader
    hits: int = 0
    chars: int = 0  # length of that context
    flags: tuple[str, ...] = ()
    usage: dict[str, Usage] = field(default_factory=dict)  # by stage: search, reader, judge
    started: float = 0.0  # wall clock, unix seconds: tells whether two arms ran in one window
    models: tuple[str, ...] = ()  # what the servers say they served
    tags: dict[str, str] = field(default_factory=dict)  # what a report groups by, from the question


class Passage(Struct, frozen=True, kw_only=True):
    """One event as it was told, its time in front: what a failure is held against."""

    id: str
    text: str


class Texts(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of ``texts.jsonl``: the long part of a row, which no gate needs."""

    id: str
    question: str
    gold: Gold
    hits: tuple[Hit, ...] = ()
    context: str = ""
    answers: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    rubric: str = ""  # the benchmark's own rubric file for this question
    rule: str = ""  # the benchmark's own rule that graded it, where no judge was asked
    # Raw events that hold the answer: those labelled, else those that hold its words; None: not recorded.
    evidence: tuple[Passage, ...] | None = None
    stored: tuple[str, ...] | None = None  # which of them any stored memory came from; None: the system cannot tell
    links: bool = False  # the system follows links between its memories
