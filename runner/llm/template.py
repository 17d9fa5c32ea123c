"""Prompt and rubric files: named, hashed, and filled so that nothing inside the data can change them.

A template is a Markdown file. ``<!-- system -->`` and ``<!-- user -->`` on lines of their own begin the messages; text
before the first of them is a note to people and is not sent. Without them the whole file is one user message.
``{name}`` is a placeholder when ``name`` is one that the role knows. Filling is one pass over pieces cut when the file
is loaded: braces in the data are data. Data sits between tags of the template (``<memory>…</memory>``), and those tags
are defused where they occur inside the data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from runner.config import conf_dir, did_you_mean
from runner.errors import ConfigError

_SECTION = re.compile(r"^<!-- (system|user) -->[ \t]*$", re.MULTILINE)
_REPLY = re.compile(r"^<!-- reply: ([a-z-]+) -->[ \t]*$", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
_TAG = re.compile(r"</?([a-z_]+)>")


class Template:
    """One prompt or rubric.

    Attributes
    ----------
    sha256
        Of the file, line ends normalised.
    reply
        What a rubric asks the judge to reply with, from its line ``<!-- reply: yes-no -->``; ``label`` without one.
    """

    def __init__(
        self,
        text: str,
        known: frozenset[str],
        required: frozenset[str],
        where: str,
        also: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        text = text.replace("\r\n", "\n")
        told = _REPLY.search(text)
        self.reply = told[1] if told else "label"
        self.sha256 = hashlib.sha256(text.encode()).hexdigest()
        cuts = list(_SECTION.finditer(text))
        sections = [("user", text)]
        if cuts:
            ends = [cut.start() for cut in cuts[1:]] + [len(text)]
            sections = [(cut[1], text[cut.end() : end]) for cut, end in zip(cuts, ends, strict=True)]
        # Odd pieces are placeholders: re.split keeps what its group matched.
        self._sections = [(role, _PLACEHOLDER.split(body.strip())) for role, body in sections]
        for _, pieces in self._sections:
            pieces[1::2] = [also.get(name, name) for name in pieces[1::2]]
        used = {piece for _, pieces in self._sections for piece in pieces[1::2]}
        problems = [f"{where}: does not know {{{name}}}{did_you_mean(name, known)}" for name in sorted(used - known)]
        problems += [f"{where}: lacks {{{name}}}" for name in sorted(required - used)]
        if not any(role == "user" for role, _ in self._sections):
            problems.append(f"{where}: has no <!-- user --> part")
        if problems:
            raise ConfigError(problems)
        names = sorted({match[1] for _, pieces in self._sections for match in _TAG.finditer("".join(pieces[::2]))})
        self._tags = re.compile(rf"<(\s*/?\s*(?:{'|'.join(names)})\b)", re.IGNORECASE) if names else None

    @classmethod
    def load(
        cls,
        folder: str,
        name: str,
        key: str,
        known: frozenset[str],
        required: frozenset[str],
        also: Mapping[str, str] = MappingProxyType({}),
    ) -> Template:
        """Read a shipped file of ``conf/<folder>`` by name, one of another folder by its place in ``conf``
        (``judge/rubrics/entailment``), or any file by path.

        Parameters
        ----------
        also
            Other names of placeholders, and what each stands for: by them one file serves two roles.

        Raises
        ------
        ConfigError
            When there is no such file, it is not UTF-8, or its placeholders are not those of the role.
        """
        home = conf_dir() / folder
        if not name:
            raise ConfigError([f"{key}: is missing; name a file of conf/{folder} or a path"])
        candidates = [home / name, home / f"{name}.md", conf_dir() / f"{name}.md", Path(name)]
        file = next((item for item in candidates if item.is_file()), None)
        if file is None:
            shipped = sorted(item.stem for item in home.glob("*.md"))
            choice = did_you_mean(name, shipped)
            raise ConfigError([f"{key}: no file '{name}'{choice}; conf/{folder} has {', '.join(shipped)}"])
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([f"{key}: cannot read '{name}': {error}"]) from None
        return cls(text, known, required, f"{key}: {file.name}", also)

    def fill(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """The messages, with every placeholder replaced by its value."""
        safe = {name: self._defused(text) for name, text in values.items()}
        return [
            {"role": role, "content": "".join(safe[p] if i % 2 else p for i, p in enumerate(pieces))}
            for role, pieces in self._sections
        ]

    def _defused(self, text: str) -> str:
        if not text.isascii():  # a lone surrogate, which JSON data may hold, cannot be sent
            text = text.encode("utf-8", "replace").decode()
        return self._tags.sub(r"&lt;\1", text) if self._tags and "<" in text else text
