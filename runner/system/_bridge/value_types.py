"""Value types of an arm's YAML: paths, words and names, checked before anything is started."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

# A dotted path into JSON (runner.dotted): names and places, none of them empty.
JsonPath = Annotated[str, Field(min_length=1, max_length=500), AfterValidator(lambda path: _checked_path(path))]
# What an operating system takes as a word, a variable or a path.
Text = Annotated[str, AfterValidator(lambda text: _without_nul(text))]
# The path of a request, below a base URL; what is filled in is escaped.
UrlPath = Annotated[str, AfterValidator(lambda path: _checked_url_path(path))]
NonEmpty = Annotated[str, Field(min_length=1, max_length=200)]


def _checked_path(path: str) -> str:
    if not all(part.strip() for part in path.split(".")):
        raise ValueError("is not a path: a part of it is empty; write it like results.0.text")
    return path


def _checked_url_path(path: str) -> str:
    if not path.startswith("/") or not path.isprintable() or any(char.isspace() for char in path):
        raise ValueError("is not a path of a URL: it begins with / and holds no space")
    return path


def _without_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a zero character, which no command line, variable or path can hold")
    return text
