"""``data check NAME`` and ``data fetch NAME``: count a dataset and every trap in it; fetch and verify it."""

from __future__ import annotations

from runner.cli import overrides
from runner.config import load
from runner.errors import UsageError
from runner.safe import printable


def main(argv: list[str]) -> int:
    if len(argv) < 2 or argv[0] not in ("check", "fetch") or "=" in argv[1] or argv[1].startswith("-"):
        raise UsageError("data takes check or fetch and a harness: python -m runner data check locomo_qa")
    verb, name, *rest = argv
    words = [f"harness={name}", *rest]
    overrides.checked([*words, "+arm=no_memory"], ())
    from runner.cli.run import compose
    from runner.harness import build

    chosen, _ = overrides.words(words)
    values = compose([*chosen, "+arm=no_memory"], overrides.config_dirs(rest))
    harness = build(load(values).harness)
    if verb == "fetch":
        info = harness.dataset()
        state = "pinned" if info.pinned else "unpinned"
        licence = info.licence or "unknown"
        print(printable(f"{name}: {info.version or 'no version'}, sha256 {info.sha256} ({state}), licence {licence}"))
        return 0
    for line in harness.check():
        print(printable(line))
    return 0
