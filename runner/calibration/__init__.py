"""The error rates of a judge, from answers whose truth is known, graded with the gate's own repeats.

>>> from pathlib import Path
>>> from runner.calibration.file import read
>>> from runner.calibration.rates import rates_of
>>> made = read(Path("outputs/2026-11-30/093512-123456-calibration-gpt-4.1"))
>>> print(rates_of(made.kinds, "specific"))

``probes`` and ``templates`` make the answers (``reader_wording`` has a reader word them), ``prepare`` checks everything
before it is paid for, ``session`` grades, ``calibrate`` makes a whole calibration, ``from_runs`` one of recorded runs.
``rates`` counts, and ``file`` is what a gate reads (:mod:`runner.gate.judge_correction`).
"""
