"""Counts of LoCoMo's file and every trap met: the lines of ``data check``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from runner.data.fields import first_few
from runner.harness._base.data_check import count_line
from runner.harness.locomo_qa.format import ADVERSARIAL, CATEGORIES, Conversation, QaItem


def check_lines(conversations: Sequence[Conversation]) -> list[str]:
    """Return what is in the parsed file, one fact per line."""
    items = [(conversation, item) for conversation in conversations for item in conversation.items]
    sessions = [session for conversation in conversations for session in conversation.sessions]
    turns = [turn for session in sessions for turn in session.turns]
    by_category = Counter(item.category for _, item in items)
    lines = [
        f"conversations {len(conversations)}, sessions {len(sessions)}, turns {len(turns)}, questions {len(items)}",
        "questions by category: " + ", ".join(f"{key} {name} {by_category[key]}" for key, name in CATEGORIES.items()),
        f"turns with a photo caption, ingested as part of what was said: {sum(bool(turn.caption) for turn in turns)}",
        f"turns with a hidden 'query', never ingested: {sum(turn.hidden_query for turn in turns)}",
    ]
    for conversation in conversations:
        absent = [CATEGORIES[key] for key in CATEGORIES if key not in {item.category for item in conversation.items}]
        if absent:
            lines.append(f"{conversation.id}: no question of category {', '.join(absent)}")
        if conversation.dates_without_session:
            lines.append(f"{conversation.id}: {conversation.dates_without_session} dates without a session, ignored")
    answered = sum("category 5 with an answer" in item.met for _, item in items)
    lines.append(
        f"category 5: {by_category[ADVERSARIAL]} questions whose gold is to abstain; {answered} carry an 'answer', "
        "which is not used; adversarial answers are wrong on purpose and are never gold"
    )
    for trap in (
        "category 5 without adversarial_answer",
        "integer answer",
        "empty evidence",
        "malformed evidence",
        "zero-padded evidence",
        "repeated evidence",
    ):
        where = [f"{conversation.id}/{item.index}" for conversation, item in items if trap in item.met]
        if where:
            lines.append(count_line(trap, where))
    lost = [f"{conversation.id}/{item.index} '{text}'" for conversation, item in items for text in item.unresolved]
    lines.append(count_line("evidence that names no turn after repair", lost))
    blind = sum(item.category != ADVERSARIAL and not item.evidence for _, item in items)
    lines.append(f"questions of categories 1-4 without resolvable evidence, no retrieval metric: {blind}")
    texts: dict[str, list[tuple[str, QaItem]]] = {}
    for conversation, item in items:
        texts.setdefault(item.question, []).append((f"{conversation.id}/{item.index}", item))
    repeated = [group for group in texts.values() if len(group) > 1]
    crossing = [
        " and ".join(name for name, _ in group) for group in repeated if len({i.category for _, i in group}) > 1
    ]
    lines.append(
        f"question texts asked twice: {len(repeated)}; across categories, with contradictory gold: {len(crossing)}"
        + (f" ({first_few(crossing)})" if crossing else "")
    )
    return lines
