"""Another name of :mod:`runner.imports.evermemos`: the audit of LoCoMo publishes its results in that layout."""

from runner.imports.evermemos import FORMAT as FORMAT
