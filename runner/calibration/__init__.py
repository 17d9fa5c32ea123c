"""The error rates of a judge, from answers whose truth is known, graded with the gate's own repeats.

>>> from pathlib import Path
>>> from runner.calibration.file import read
>>> from runner.calibration.rates import rates_of
>>> made = read(Path("outputs/2026-11-30/093512-123456-calibration-gpt-4.1"))
>>> print(rates_of(made.kinds, "specific"))

``probes`` and ``phrases`` make the answers (``rephrase`` has a reader word them), ``setup`` checks everything before it
is paid for, ``grading`` is one sitting and ``making`` a whole calibration; ``recorded`` makes one of recorded runs.
``rates`` counts, ``file`` is what is written and what a gate reads (:mod:`runner.gate.judge_correction`).
"""
