"""The command line: a file per verb, imported when it is used.

Exit codes: 0 done, and the gate (if any) passed · 1 a run failed or is incomplete · 2 usage or config · 3 gate failed ·
4 gate unresolved · 5 refused (not comparable, vacuous, fake provider).
"""

from __future__ import annotations

import contextlib
import errno
import importlib
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from runner.errors import RunnerError
from runner.safe import mask, printable

# verb -> module; `import` is a keyword and `list` a builtin, so the modules are named for what they do.
VERBS = {
    "plan": "plan",
    "resume": "resume",
    "gate": "gate",
    "diff": "diff",
    "report": "report",
    "calibrate": "calibrate",
    "power": "power",
    "import": "import_",
    "check": "check",
    "list": "list_",
    "data": "data",
}

HELP = """\
Did this change make memory better, or is it noise, or can the two numbers not be compared at all?

usage: python -m runner [VERB] [KEY=VALUE ...] [-m]

  python -m runner +arm=arms_off                    one run
  python -m runner -m +arm=arms_off,arms_on         a sweep: paired arms, then the gate
  python -m runner +experiment=locomo_ablation      a whole experiment from one YAML
  python -m runner -m run.from=DIR judge=NAME,NAME  the answers recorded in DIR, graded by other judges

  plan KEY=VALUE ...      what it would do: questions, calls, tokens, cost, detectable effect; spends nothing
                          (--like DIR: discordance and correlation of a recorded sweep)
  resume DIR              finish an interrupted run or sweep (--retry-errors asks failed questions again,
                          --config-dir DIR finds a system of your own, --trust runs a record made elsewhere,
                          --to-the-end goes on with an arm that was decided early)
  gate DIR [DIR ...]      verdict from recorded runs (gate.KEY=VALUE to change its settings, --declare ROW=same or
                          ROW=treatment for what an imported record does not know)
  diff A B                what differs between two runs (--all, --json, --md)
  report DIR [DIR ...]    tables of runs and sweeps, and judges of the same answers side by side (--json,
                          --reference NAME)
  report DIR --failures   what was missed, and at which stage it was lost (--stage NAME, --category C,
                          --limit N, --json)
  check +arm=NAME         does a memory system keep its contract? (--json)
  import FORMAT FILE      results of another harness as a run directory that a gate can read
  calibrate KEY=VALUE ... how often a judge passes answers that are known to be right, or wrong
  calibrate DIR --second-judge NAME    a sample of recorded answers under another judge (--sample N, --seed S)
  power KEY=VALUE | DIR   what a number of questions can show, and how many it takes: n= clusters= discordance= icc=
                          effect= power= alpha= min_delta= interval= arm= (--json)
  list [GROUP]            what can be chosen: harness, arm, reader, judge, slice, budget, gate, experiment
  data check|fetch NAME   count a dataset and every trap in it, or fetch and verify it (harness.KEY=VALUE)

  -m, --multirun          sweep: every comma-separated value is a run
  --ask-arms NAME,NAME    arms whose memory answers by itself: -m reader=ask +arm=NAME,NAME (answerer=ask: one)
  --question-type NAME    slice.categories=[NAME]
  --stale-check           harness.settings.stale_check=true (longmemeval)
  --lexical-scores        token F1, BLEU-1, ROUGE-L of an answer that the judge simplifies: run.lexical=judge
                          (--simplify-model NAME: another model at the judge's endpoint, or heuristic)
  --config-dir DIR        add choices of your own: DIR/arm/NAME.yaml, DIR/experiment/NAME.yaml, ...
  --cfg job               print the composed config and run nothing
  --version               print the version
  --hydra-help            the flags of the config system underneath

exit codes: 0 done, gate passed · 1 failed or incomplete · 2 usage or config · 3 gate failed · 4 gate unresolved ·
            5 refused (not comparable, vacuous, fake provider)
"""


# What only a write meets.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)


def main(argv: Sequence[str]) -> int:
    """Run one command line and return the exit code of the process."""
    # A process may be started without streams, and a locale without Δ or × must not end a run.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115  lives as long as the process
        elif hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="replace")
    try:
        code = _dispatch(list(argv))
        sys.stdout.flush()
    except RunnerError as error:
        for line in printable(mask(str(error))).splitlines() or [type(error).__name__]:
            _say(f"error: {line}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return 1
    except OSError as error:
        _drop_output()
        if not isinstance(error, BrokenPipeError):  # a broken pipe is `| head`, which has seen enough
            _say(f"error: {_file_problem(error)}")
        return 1
    return code


def _file_problem(error: OSError) -> str:
    """Return one line on a file. The output has no name; of a file with one, few errors tell that it was written."""
    what = f"{error.filename}: " if error.filename else "the output "
    if not error.filename or error.errno in _NO_ROOM:
        return f"{what}cannot be written ({error.strerror}); make room or send it elsewhere"
    return f"{what}cannot be opened ({error.strerror}); check that it is there and who may use it"


def _say(line: str) -> None:
    with contextlib.suppress(OSError):
        print(line, file=sys.stderr, flush=True)


def _drop_output() -> None:
    """Send what is still buffered nowhere, so that it does not raise again when the process ends."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def entry() -> None:
    """Run the console script ``memory-runner``."""
    sys.exit(main(sys.argv[1:]))


def _dispatch(argv: list[str]) -> int:
    from runner.cli._words import shorthand

    first = argv[0] if argv else ""
    if first not in VERBS or first == "plan":
        argv = shorthand.written_out(argv)
    if first in VERBS:
        rest = argv[1:]
        if "--help" in rest or "-h" in rest:
            print(HELP, end="")
            return 0
        verb = importlib.import_module(f"runner.cli.{VERBS[first]}")
        return int(verb.main(rest))
    if not argv or first == "help" or "--help" in argv or "-h" in argv:
        print(HELP, end="")
        return 0 if argv else 2
    if first == "--version":
        import runner

        print(f"agent-memory-runner {runner.__version__}")
        return 0
    from runner.cli._words import hydra_flags, overrides, rewriting

    if not hydra_flags.passes_through(argv):
        argv = overrides.checked(argv, VERBS)
    from runner.cli import run

    return run.main(rewriting.rewritten(argv))
