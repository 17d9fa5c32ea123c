"""Prices of models: a dated file of list prices, and ``None`` for a model that it does not list.

The file is JSON: ``{"date", "source", "currency": "USD", "unit": "per million tokens", "models": {name: {"input",
"cached", "output"}}}``. ``cached`` may be left out: cached tokens then cost what others do.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from runner.errors import ConfigError

# What separates a dated snapshot from the name it belongs to: gpt-4.1-mini-2025-04-14, …-20250414.
_SNAPSHOT = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """US dollars a million tokens."""

    input: float
    output: float
    cached: float | None = None


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    date: str
    models: dict[str, Price]
    source: str = ""
    currency: str = "USD"
    unit: str = "per million tokens"


class Prices:
    """A price file.

    Attributes
    ----------
    date
        When the prices were read.
    sha256
        Of the file.
    """

    def __init__(self, models: dict[str, Price], date: str, sha256: str) -> None:
        self.models = models
        self.date = date
        self.sha256 = sha256
        self._found: dict[str, Price | None] = {}

    @classmethod
    def load(cls, path: str | None = None) -> Prices:
        """Read a price file; the shipped one when ``path`` is ``None``.

        Raises
        ------
        ConfigError
            When the file is missing or is not a price file.
        """
        file = Path(path) if path else Path(__file__).with_name("prices.json")
        try:
            data = file.read_bytes()
        except OSError as error:
            raise ConfigError([f"run.prices: cannot read {file}: {error.strerror}"]) from None
        try:
            content = msgspec.json.decode(data, type=_File)
        except msgspec.DecodeError as error:
            raise ConfigError([f"run.prices: {file} is not a price file: {error}"]) from None
        if content.currency != "USD" or content.unit != "per million tokens":
            raise ConfigError([f"run.prices: {file}: prices must be in USD per million tokens"])
        for name, price in content.models.items():
            if min(price.input, price.output, price.cached or 0.0) < 0:
                raise ConfigError([f"run.prices: {file}: a price of '{name}' is negative"])
        return cls(content.models, content.date, hashlib.sha256(data).hexdigest())

    def find(self, model: str) -> Price | None:
        """The price of a model by its exact name, or of the listed name whose dated snapshot it is; never a guess."""
        if model not in self._found:
            self._found[model] = self.models.get(model) or self.models.get(_SNAPSHOT.sub("", model))
        return self._found[model]

    def usd(self, model: str, input_tokens: int, output_tokens: int, cached: int = 0) -> float | None:
        """Dollars of one call, ``None`` when the model is not listed.

        Parameters
        ----------
        input_tokens
            All of the prompt, cached tokens included.
        cached
            How many of them were read from the provider's cache.
        """
        price = self.find(model)
        if price is None:
            return None
        cached = min(cached, input_tokens)
        cheap = price.input if price.cached is None else price.cached
        return ((input_tokens - cached) * price.input + cached * cheap + output_tokens * price.output) / 1e6
