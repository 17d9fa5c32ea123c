"""Arrays in, frozen dataclasses out: is a difference between two arms more than noise?

Nothing is imported here, so that importing the package costs nothing; name the module you need.

====================  ==============================================================================
``resample``          the seeded draw of clusters, exact to ``random.Random``, shared by many metrics
``bootstrap``         :func:`~runner.stats.bootstrap.paired_bootstrap` and its :class:`Interval`
``exact``             the same interval in the limit of infinitely many resamples
``clustered``         intervals and exact tests for few clusters
``interval``          the rule that picks the interval that decides
``cautions``          ties, clusters all alike, passes on a handful of pairs
``leverage``          would the verdict stand without any one cluster
``verdict``           pass, fail or unresolved, and why; the null band
``pairs``             :func:`~runner.stats.pairs.judge_pairs`: all of the above for two arms in one call
``row``               one row of that call
``agreement``         majority labels, flip rate, kappa, accuracy and what errors could change
``power``             sample size, minimum detectable effect, design effect, intraclass correlation
``multiple``          Holm and Benjamini-Hochberg
``calibration``       what a judge's own errors do to a difference
``sequential``        the e-value of a run that is watched while it goes on
====================  ==============================================================================

Everything here is in the unit of the values given: for 0/1 labels a difference of 0.04 is four points.
"""
