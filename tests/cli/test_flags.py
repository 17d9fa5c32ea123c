"""How the flags of a verb are read and refused."""

from __future__ import annotations

import pytest

from runner.cli._words.flags import Flags
from runner.errors import UsageError

SHOP = Flags("shop", switches=("--json", "-m"), valued=("--limit", "--into"), many=("--row",))


def test_words_and_flags_keep_their_order_wherever_they_stand() -> None:
    given = SHOP.parse(["a", "--row", "x=1", "--json", "-", "--row=y=2", "b=--c", "--into=d"])
    assert given.words == ["a", "-", "b=--c"]
    assert given.flags == [("--row", "x=1"), ("--json", ""), ("--row", "y=2"), ("--into", "d")]
    assert given.values("--row") == ["x=1", "y=2"]
    assert given.value("--into") == "d"
    assert given.value("--limit") is None
    assert "--json" in given
    assert "-m" not in given
    assert given.typed("--row", "--json") == ["--row", "x=1", "--json", "--row=y=2"]
    assert given.without("--row", "--into") == ["a", "--json", "-", "b=--c"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (
            ["--jsno"],
            "shop --jsno: no such flag (did you mean '--json'?); there are --json, -m, --limit, --into, --row",
        ),
        (["--jso"], "shop --jso: no such flag"),  # a flag is never guessed from its beginning
        (["--json=yes"], "shop --json: takes no value"),
        (["--limit"], "shop: --limit needs a value"),
        (["--limit="], "shop: --limit needs a value"),
        (["--limit", "--json"], "shop: --limit needs a value"),
        (["--limit", "1", "--limit=2"], "shop: --limit was given twice"),
    ],
)
def test_a_mistake_is_one_line(argv: list[str], said: str) -> None:
    with pytest.raises(UsageError) as refused:
        SHOP.parse(argv)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("value", ["-1", "0", "two", "1.0", "²", "9" * 19])
def test_a_number_is_whole_and_bounded(value: str) -> None:
    with pytest.raises(UsageError, match="give a whole number of at least 1"):
        SHOP.parse(["--limit", value]).number("--limit", 1)
    assert SHOP.parse(["--limit", "1"]).number("--limit", 1) == 1
    assert SHOP.parse([]).number("--limit", 1) is None


def test_a_verb_may_say_it_in_its_own_words() -> None:
    own = Flags("shop", valued=("--row",), there="there is --row NAME", missing={"--row": "--row: name a row"})
    with pytest.raises(UsageError, match=r"^shop --rwo: no such flag \(did you mean '--row'\?\); there is --row NAME$"):
        own.parse(["--rwo", "x"])
    with pytest.raises(UsageError, match=r"^--row: name a row$"):
        own.parse(["--row"])


def test_flags_that_are_not_declared_are_taken_where_words_decide_which_there_are() -> None:
    given = Flags("import", others=True).parse(["table", "--map", "x", "f.csv", "--map=y"])
    assert given.words == ["table", "f.csv"]
    assert given.values("--map") == ["x", "y"]
