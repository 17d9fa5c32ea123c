"""Read YAML that a person wrote, or that may have been changed since it was recorded, as plain values only.

It lies below ``data`` and ``record`` because both need it: gold patches, scenarios and column maps come from elsewhere,
and so may a run directory.
"""

from __future__ import annotations

from typing import Any

import yaml
from yaml.constructor import SafeConstructor


class NotPlainYamlError(ValueError):
    """A document that is damaged, or more than plain values; the message is one line and names the line of the file."""


def plain_yaml(text: str) -> Any:
    """Return the value of a document, ``None`` of an empty one.

    Tags of Python objects are refused, and aliases, of which a few lines expand to gigabytes, and keys that stand twice
    in one mapping, of which the last would win silently.

    Raises
    ------
    NotPlainYamlError
        When the document is anything else.
    """
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise yaml.MarkedYAMLError(problem="aliases (*name) are not read", problem_mark=event.start_mark)
        tree = yaml.compose(text, Loader=loader)
        if tree is None:
            return None
        _refuse_duplicates(tree)
        return SafeConstructor().construct_document(tree)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = "" if mark is None else f" (line {mark.line + 1})"
        raise NotPlainYamlError(" ".join(f"{error.problem or error.context}{where}".split())) from None
    except RecursionError:
        raise NotPlainYamlError("nested too deeply") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise NotPlainYamlError((str(error).splitlines() or [type(error).__name__])[0]) from None


def _refuse_duplicates(tree: yaml.Node) -> None:
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
        elif isinstance(node, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in node.value:
                name = str(key.value)
                if name in keys:
                    raise yaml.MarkedYAMLError(problem=f"the key '{name}' stands twice", problem_mark=key.start_mark)
                keys.add(name)
                pending += (key, value)
