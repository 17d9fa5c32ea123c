"""``check``: the contract of a memory system, held against good and broken ones, as a process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

CODE = """
from runner.system.bm25 import SYSTEM as Base
from runner.types import Hit, Retrieval
from msgspec.structs import replace
from runner.system import Capabilities
from runner.types import Answer


class Mine(Base):
{body}

SYSTEM = Mine
"""

# What one's own system does wrong, the clause that must tell, and how it stands.
FAULTS = {
    "ignores_k": (
        "    async def search(self, ns, query):\n        return await super().search(ns, replace(query, k=None))\n",
        "honours k",
        "hits came back for k = 3",
    ),
    "mixes": (
        "    async def write(self, ns, events):\n        self._all = getattr(self, '_all', []) + list(events)\n"
        "        return await super().write(ns, events)\n"
        "    async def search(self, ns, query):\n        found = await super().search(ns, query)\n"
        "        return Retrieval(hits=tuple(Hit(key=e.id, text=e.text, time=e.time, sources=(e.id,)) "
        "for e in {e.id: e for e in self._all}.values())[-(query.k or 99):] + found.hits[:0])\n",
        "isolates namespaces",
        "is found in another",
    ),
    "invents": (
        "    async def search(self, ns, query):\n        found = await super().search(ns, query)\n"
        "        return Retrieval(hits=tuple(replace(h, sources=('ghost',)) for h in found.hits))\n",
        "keeps time and source",
        "cites 'ghost'",
    ),
    "loses_time": (
        "    async def search(self, ns, query):\n        found = await super().search(ns, query)\n"
        "        return Retrieval(hits=tuple(replace(h, time=None) for h in found.hits))\n",
        "keeps time and source",
        "has the time None",
    ),
    "forgets": (
        "    async def search(self, ns, query):\n        await super().search(ns, query)\n        return Retrieval()\n",
        "finds what it wrote",
        "nothing that was written is found",
    ),
    "keeps_erased": (
        "    async def erase(self, ns):\n        return None\n",
        "erase leaves nothing",
        "after an erase",
    ),
    "untyped": (
        "    async def search(self, ns, query):\n        raise RuntimeError('database is on fire')\n",
        "finds what it wrote",
        "RuntimeError: database is on fire",
    ),
    "takes_half": (
        "    async def write(self, ns, events):\n        return await super().write(ns, events[::2])\n",
        "takes what is written",
        "10 events were written and 5 taken",
    ),
    "answers_with_hits": (
        "    capabilities = Capabilities(answers=True)\n"
        "    async def ask(self, ns, query):\n        return await self.search(ns, query)\n",
        "answers by itself",
        "ask returned Retrieval, not an Answer",
    ),
    "answers_after_an_erase": (
        "    capabilities = Capabilities(answers=True)\n"
        "    async def ask(self, ns, query):\n"
        "        self._kept = getattr(self, '_kept', {})\n"
        "        if ns not in self._kept:\n"
        "            self._kept[ns] = ' '.join(h.text for h in (await self.search(ns, replace(query, k=None))).hits)\n"
        "        return Answer(text='It was ' + self._kept[ns])\n",
        "answers by itself",
        "after an erase it still answers from what was there",
    ),
    "not_durable_after_all": (
        "    capabilities = Capabilities(durable=True)\n"
        "    async def drop_derived(self, ns):\n        await self.reset(ns)\n",
        "survives a wipe",
        "are gone after a wipe",
    ),
}


def mine(folder: Path, name: str, body: str) -> Path:
    system, arm = folder / "system", folder / "arm"
    system.mkdir(parents=True, exist_ok=True)
    arm.mkdir(exist_ok=True)
    (system / f"{name}.py").write_text(CODE.replace("{body}", body))
    (arm / f"{name}.yaml").write_text(f"name: {name}\nsystem: {name}\n")
    return folder


@pytest.mark.parametrize("name", sorted(FAULTS))
def test_a_broken_clause_is_told(cli: Any, tmp_path: Path, name: str) -> None:
    body, clause, detail = FAULTS[name]
    folder = mine(tmp_path / "own", name, body)
    done = cli("check", f"+arm={name}", "--config-dir", str(folder), "--json", MEMORY_RUNNER_CACHE=str(tmp_path / "c"))
    assert done.returncode == 1, done.stderr
    (about,) = json.loads(done.stdout)
    found = {item["check"]: item for item in about["findings"]}
    assert found[clause]["outcome"] == "broken"
    assert detail in found[clause]["detail"]
    assert not about["conforms"]


def test_what_was_found_stands_in_later_runs_and_verdicts(cli: Any, tmp_path: Path) -> None:
    folder = mine(tmp_path / "own", "ignores_k", FAULTS["ignores_k"][0])
    env = {"MEMORY_RUNNER_CACHE": str(tmp_path / "cache")}
    assert cli("check", "+arm=ignores_k", "--config-dir", str(folder), **env).returncode == 1
    words = ("-m", "+arm=bm25,ignores_k", "--config-dir", str(folder), "hydra.sweep.dir=sweep")
    done = cli(*words, **env)
    assert "breaks the contract of a memory system (honours k" in " ".join(done.stdout.split())
    recorded = json.loads((tmp_path / "sweep" / "1-ignores_k" / "instrument.json").read_text())
    assert recorded["conformance"]["broken"][0].startswith("honours k: ")
    clean = json.loads((tmp_path / "sweep" / "0-bm25" / "instrument.json").read_text())
    assert clean["conformance"] == {}


def test_shipped_arms_keep_the_contract(cli: Any, tmp_path: Path) -> None:
    arms = "bm25,full_context,full_dump,oracle,static_file"
    done = cli("check", f"+arm={arms}", "-m", "--json", MEMORY_RUNNER_CACHE=str(tmp_path))
    assert done.returncode == 0, done.stdout
    outcomes = {
        about["arm"]: {f["check"]: f["outcome"] for f in about["findings"]} for about in json.loads(done.stdout)
    }
    assert set(outcomes) == set(arms.split(","))
    assert outcomes["static_file"]["survives a wipe"] == "kept"
    assert outcomes["bm25"]["survives a wipe"] == "stated"
    assert all(found["isolates namespaces"] == "kept" for found in outcomes.values())


def test_own_answers_are_asked_for_where_there_are_any(cli: Any, tmp_path: Path) -> None:
    answers = (
        "    capabilities = Capabilities(answers=True)\n"
        "    async def ask(self, ns, query):\n"
        "        hits = (await self.search(ns, query)).hits\n"
        "        return Answer(text={text}, hits=hits)\n"
    )
    knows = answers.format(text="hits[0].text if hits else 'Nobody said.'")
    folder = mine(tmp_path / "own", "knows", knows)
    mine(folder, "shy", answers.format(text="'I would rather not say.'"))
    done = cli("check", "+arm=knows,shy,bm25", "-m", "--config-dir", str(folder), "--json")
    assert done.returncode == 0, done.stdout
    found = [{item["check"]: item for item in about["findings"]} for about in json.loads(done.stdout)]
    told = [clauses.get("answers by itself", {}) for clauses in found]
    assert [clause.get("outcome") for clause in told] == ["kept", "stated", None]
    assert "3 of 3 with what was written" in told[0]["detail"]
    assert "none of 3 answers holds what was written" in told[1]["detail"]


def test_wrong_words_are_told(cli: Any) -> None:
    assert "no such flag" in cli("check", "+arm=bm25", "--frobnicate").stderr
    done = cli("check", "+arm=nonsense")
    assert (done.returncode, "no such choice" in done.stderr) == (2, True)
