"""The container of model files and checkpoints: safetensors, a JSON header, a checksum of everything.

A file is eight bytes with the length of the header, the header as JSON (with vectrick's description of the tensors
as text under ``__metadata__``), and the tensors. The checksum covers every byte except its own 64 digits. It detects
damage, but it is not a signature.
"""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from vectrick._files import replacing
from vectrick._typing import Array
from vectrick._version import __version__
from vectrick.backends.memory import available_memory, format_bytes

FORMAT = 5  # increased when files contain more than older versions can read; all earlier formats are readable

_PREFIX = b'{"__metadata__":{"vectrick":"{\\"sha256\\": \\"'
_NO_DIGEST = b"0" * 64
_LONGEST_HEADER = 100_000_000  # as in safetensors
_DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"}


class ModelFileError(ValueError):
    """A file is not a model of vectrick, or it is damaged or too new.

    Examples
    --------
    >>> import tempfile, vectrick as vt
    >>> path = tempfile.mkdtemp() + "/model.vt"
    >>> with open(path, "w") as file:
    ...     _ = file.write("not a model")
    >>> try:
    ...     vt.load(path)
    ... except vt.ModelFileError:
    ...     print("refused")
    refused
    """


def write_container(path: Path | str, kind: str, header: dict[str, Any], tensors: dict[str, Array]) -> None:
    """Write a header and tensors to a file, completely or not at all."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    about = {"sha256": _NO_DIGEST.decode(), "kind": kind, "format": FORMAT, "version": __version__, **header}
    plain = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    with replacing(path) as draft:
        try:
            save_file(plain, draft, {"vectrick": json.dumps(about)})
        except SafetensorError as error:  # such as a full disk
            raise OSError(f"{path} cannot be written: {error}") from None
        with open(draft, "r+b") as file:
            start = 8 + len(_PREFIX)
            if file.read(start)[8:] != _PREFIX:
                raise RuntimeError("safetensors writes its header in another order than this version of vectrick reads")
            digest = _digest(np.fromfile(draft, np.uint8))
            file.seek(start)
            file.write(digest)


def read_container(path: Path | str, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the tensors of a file, or raise `ModelFileError`; no code from it is run.

    The tensors are views of one buffer. (The reader of safetensors would copy each tensor, after another pass for the
    checksum: 115 instead of 75 ms for 100 MB.)
    """
    content = _read(Path(path))
    start = 8 + len(_PREFIX)
    length = int.from_bytes(content[:8].tobytes(), "little")
    if content[8:start].tobytes() != _PREFIX:
        raise ModelFileError(f"{path} is not a vectrick file")
    if length > min(_LONGEST_HEADER, len(content) - 8):
        raise ModelFileError(f"{path} is truncated: its header of {length} bytes is incomplete")
    try:
        table = json.loads(content[8 : 8 + length].tobytes())
        about = json.loads(table.pop("__metadata__")["vectrick"])
        version, written_kind = about["format"], about["kind"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelFileError(f"{path} is damaged: its header cannot be read") from None
    if isinstance(version, int) and version > FORMAT:
        raise ModelFileError(
            f"{path} was written by vectrick {about.get('version')!r} in format {version}, but vectrick {__version__} "
            f"reads formats up to {FORMAT}; update vectrick"
        )
    if content[start : start + 64].tobytes() != _digest(content):
        raise ModelFileError(f"{path} is damaged or truncated: its checksum does not match its content")
    if written_kind != kind:
        raise ModelFileError(f"{path} is a {written_kind}, but a {kind} was expected")
    try:
        return about, _tensors(table, content[8 + length :])
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{path} is damaged: {error}") from None


def _read(path: Path) -> Array:
    """Return the bytes of a file that fits into memory."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if not path.is_file():
        raise ModelFileError(f"{path} is not a regular file, so it is not a vectrick model")
    size, free = path.stat().st_size, available_memory()
    if size > free:
        raise MemoryError(f"{path} has {format_bytes(size)}, but there are only {format_bytes(free)} of memory")
    content = np.fromfile(path, np.uint8)
    if len(content) < 8 + len(_PREFIX) + 64:
        raise ModelFileError(f"{path} is not a vectrick file: it has {len(content)} bytes only")
    return content


def _digest(content: Array) -> bytes:
    """Return the checksum of a whole file, with its own digits counted as zeros."""
    start = 8 + len(_PREFIX)
    digest = hashlib.sha256(content[:start].data)
    digest.update(_NO_DIGEST)
    digest.update(content[start + 64 :].data)
    return digest.hexdigest().encode()


def _tensors(table: dict[str, Any], data: Array) -> dict[str, Array]:
    """Return the tensors, stored in the data one after the other."""
    tensors, ends = {}, {0}
    for name, entry in table.items():
        dtype, shape = np.dtype(_DTYPES[entry["dtype"]]), entry["shape"]
        begin, end = entry["data_offsets"]
        if not all(type(n) is int and n >= 0 for n in (begin, end, *shape)):
            raise ValueError(f"the tensor {name!r} has an invalid shape")
        if end - begin != dtype.itemsize * math.prod(shape) or end > len(data):
            raise ValueError(f"the size of the tensor {name!r} does not match its shape")
        values = data[begin:end].view(dtype)
        if dtype.kind == "b" and values.view(np.uint8).max(initial=0) > 1:
            raise ValueError(f"the tensor {name!r} holds values that are neither true nor false")
        tensors[name] = values.reshape(shape)
        tensors[name].flags.writeable = False
        ends.add(end)
    begins = {entry["data_offsets"][0] for entry in table.values()}
    if len(data) not in ends or not begins <= ends:
        raise ValueError("its tensors do not fill it")
    return tensors
