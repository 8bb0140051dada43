"""Blocks of edges within a memory limit; blocks that do not fit are stored in a file without a name and read ahead."""

import errno
import os
import queue
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vectrick.backends.memory import format_bytes
from vectrick.data.lake.blocks import EdgeBlock, in_one_buffer

_AHEAD = 1  # loaded blocks in the queue, in addition to the block in use and the block being read


@dataclass(frozen=True)
class _Spilled:
    """A block in the file: the block without its long arrays, and the places of the arrays in the file."""

    block: EdgeBlock
    places: tuple[tuple[int, int, Any] | None, ...]  # offset, length and dtype of each array


class BlockStore:
    """Blocks in order of insertion: at most ``limit`` bytes of them in memory, the others in a file.

    The file has no name (if the system supports this), so it is deleted when the process ends, even after a crash.

    >>> import numpy as np
    >>> store = BlockStore(limit=0)
    >>> store.add(EdgeBlock.of(np.array([1, 0]), np.array([0, 1]), np.array([1.0, 2.0]), None, (2, 2)))
    >>> store.n_spilled, [block.label for block in store]
    (1, [array([2., 1.], dtype=float32)])
    """

    def __init__(self, limit: int, folder: Path | str | None = None) -> None:
        self.limit, self.folder = limit, folder
        self.n_bytes = self.n_bytes_spilled = 0
        self._blocks: list[EdgeBlock | _Spilled] = []
        self._file: Any = None

    def __len__(self) -> int:
        return len(self._blocks)

    @property
    def n_spilled(self) -> int:
        """The number of blocks in the file."""
        return sum(isinstance(block, _Spilled) for block in self._blocks)

    @property
    def n_edges(self) -> int:
        """The number of edges in all blocks."""
        return sum(_length(block) for block in self._blocks)

    def add(self, block: EdgeBlock) -> None:
        """Add a block."""
        if self.n_bytes + block.n_bytes <= self.limit:
            self._blocks.append(block)
            self.n_bytes += block.n_bytes
        else:
            self._blocks.append(self._spill(block))
            self.n_bytes_spilled += block.n_bytes

    def _spill(self, block: EdgeBlock) -> _Spilled:
        folder = Path(self.folder or tempfile.gettempdir())
        try:
            if self._file is None:
                # The file stays open until the store is closed.
                self._file = tempfile.TemporaryFile(dir=folder, prefix="vectrick-", buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            free = shutil.disk_usage(folder).free
            if free < block.n_bytes:
                raise OSError(errno.ENOSPC, "no space left")
            places: list[Any] = []
            for array in block.arrays:
                if array is None:
                    places.append(None)
                    continue
                offset = self._file.seek(0, os.SEEK_END)
                left = np.ascontiguousarray(array).data.cast("B")
                while left:
                    left = left[self._file.write(left) :]
                places.append((offset, len(array), array.dtype))
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise OSError(
                errno.ENOSPC,
                f"cache_dir {folder} has no room for another {format_bytes(block.n_bytes)} of edges "
                f"({format_bytes(self.n_bytes_spilled)} are there, {format_bytes(self.n_bytes)} in memory); choose "
                "another cache_dir, or a larger max_memory",
            ) from error
        nothing = np.empty(0, np.uint16)  # a view would keep the whole array in memory
        empty = replace(block, row=nothing, col=nothing, label=None, weight=None)
        return _Spilled(empty, tuple(places))

    def _load(self, spilled: _Spilled) -> EdgeBlock:
        length = _length(spilled)
        arrays = in_one_buffer(length, tuple(None if place is None else place[2] for place in spilled.places))
        for place, array in zip(spilled.places, arrays, strict=True):
            if place is None:
                continue
            offset, left = place[0], array.data.cast("B")
            while left:
                n_read = self._read(left, offset)
                if not n_read:
                    raise OSError("the cache file of edges is shorter than the data written to it")
                left, offset = left[n_read:], offset + n_read
        row, col, label, weight = arrays
        return replace(spilled.block, row=row, col=col, label=label, weight=weight)

    def _read(self, target: memoryview, offset: int) -> int:
        """Read bytes at an offset of the file into a buffer; return their number, possibly less than its length."""
        if hasattr(os, "preadv"):
            return os.preadv(self._file.fileno(), [target], offset)
        self._file.seek(offset)
        return int(self._file.readinto(target))

    def __iter__(self) -> Iterator[EdgeBlock]:
        """Yield the blocks in order; blocks in the file are read while others are used."""
        spilled = [block for block in self._blocks if isinstance(block, _Spilled)]
        if not spilled:
            yield from (block for block in self._blocks if isinstance(block, EdgeBlock))
            return
        ready: queue.Queue[Any] = queue.Queue(_AHEAD)
        stopped = threading.Event()

        def read() -> None:
            try:
                for block in spilled:
                    _put(ready, self._load(block), stopped)
            except BaseException as error:  # it is raised in the thread that uses the blocks
                _put(ready, error, stopped)

        reader = threading.Thread(target=read, name="vectrick-read-ahead", daemon=True)
        reader.start()
        try:
            for block in self._blocks:
                if isinstance(block, EdgeBlock):
                    yield block
                    continue
                loaded = ready.get()
                if isinstance(loaded, BaseException):
                    raise loaded
                yield loaded
        finally:
            stopped.set()
            reader.join()

    def close(self) -> None:
        """Delete all blocks and the file."""
        self._blocks = []
        self.n_bytes = self.n_bytes_spilled = 0
        if self._file is not None:
            self._file.close()
            self._file = None


def _length(block: EdgeBlock | _Spilled) -> int:
    if isinstance(block, EdgeBlock):
        return len(block)
    first = block.places[0]
    return 0 if first is None else first[1]


def _put(ready: "queue.Queue[Any]", item: Any, stopped: threading.Event) -> None:
    """Put an item into a queue, unless its consumer has stopped."""
    while not stopped.is_set():
        try:
            ready.put(item, timeout=0.1)
            return
        except queue.Full:
            continue
