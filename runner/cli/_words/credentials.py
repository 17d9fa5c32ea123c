"""Credentials on a command line or in YAML of one's own, refused before anything is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import yaml

from runner.config import odd_values
from runner.safe import looks_secret, secrets_in

# A credential by the name of its key, inside a list or mapping written on the command line.
_SECRET_WITHIN = re.compile(
    r"(?i)[{,\s'\"][\w.-]*(password|passwd|secret|token|api[_-]?key|credential)['\"]?\s*:\s*['\"]?[^\s,}\]'\"$]{8,}"
)


def holds_credential(key: str, value: str) -> bool:
    """Return whether the value of an override looks like a credential, or holds one."""
    return looks_secret(key, value.strip("'\"")) or bool(_SECRET_WITHIN.search(value))


def credential_files(folders: Sequence[Path]) -> list[str]:
    """Return a line for every credential in a person's own YAML.

    The sweeper writes composed configs before a job can refuse them.
    """
    problems = []
    for folder in folders:
        for file in sorted(folder.rglob("*.yaml")):
            try:
                value = yaml.safe_load(file.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, yaml.YAMLError):
                continue  # the config system tells this better, if the file is chosen
            except RecursionError:
                problems.append(f"{file}: is nested too deeply")
                continue
            if isinstance(value, dict):
                odd = [f"{file}: {line}" for line in odd_values(value) if "holds itself" in line]
                if odd:
                    problems += odd
                    continue
                problems += [
                    f"{file}: {key} holds what looks like a credential; name an environment variable instead "
                    f"(api_key_env: OPENAI_API_KEY)"
                    for key in secrets_in(value)
                ]
    return problems
