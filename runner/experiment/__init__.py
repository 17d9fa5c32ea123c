"""One run: scenarios → system → reader → judge → rows.

:mod:`~runner.experiment.prepare` checks all that can be checked before anything is spent;
:mod:`~runner.experiment.execute` starts or finishes a run directory; :mod:`~runner.experiment.run_loop` asks the
questions.
"""
