"""``data check NAME`` and ``data fetch NAME``: count a dataset and every trap in it; fetch and verify it."""

from __future__ import annotations

from typing import Final

from runner.cli._words import hydra_flags, overrides
from runner.cli._words.flags import Flags
from runner.config import load
from runner.errors import UsageError
from runner.safe import printable

_FLAGS: Final = Flags("data", many=hydra_flags.CONFIG_DIR)


def main(argv: list[str]) -> int:
    given = _FLAGS.parse(argv)
    if len(given.words) < 2 or given.words[0] not in ("check", "fetch") or "=" in given.words[1]:
        raise UsageError("data takes check or fetch and a harness: python -m runner data check locomo_qa")
    verb, name, *rest = given.words
    words = [f"harness={name}", *rest, "+arm=no_memory"]
    folders = given.typed(*hydra_flags.CONFIG_DIR)
    overrides.checked([*words, *folders], ())
    from runner.cli.run import compose
    from runner.harness import build
    from runner.harness._base.faults import faults_of, own_code

    harness = build(load(compose(words, hydra_flags.config_dirs(folders))).harness)
    if verb == "fetch":
        with own_code(name, "dataset()"), faults_of(name):
            info = harness.dataset()
        state = "pinned" if info.pinned else "unpinned"
        licence = info.licence or "unknown"
        print(printable(f"{name}: {info.version or 'no version'}, sha256 {info.sha256} ({state}), licence {licence}"))
        return 0
    with own_code(name, "check()"), faults_of(name):
        lines = harness.check()
    for line in lines:
        print(printable(line))
    return 0
