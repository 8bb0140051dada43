"""Passes on a Dask cluster: workers read their partitions, keep them, and return small arrays.

A partition and a task determine a result to the bit, and results are added in the order of the partitions. So the sum
does not depend on the number of workers, nor on lost workers: Dask reads the partitions of a lost worker again
elsewhere. Dask cannot recreate features and tasks, because the client made them. So the client sends them again.
"""

import contextlib
import copy
import hashlib
import itertools
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from vectrick._typing import Array
from vectrick._version import __version__
from vectrick.backends.threads import even_parts
from vectrick.data.lake.blocks import EdgeBlock
from vectrick.data.lake.counts import Counts
from vectrick.data.lake.reader import EdgeReader
from vectrick.data.lake.scan import ScannedEdges
from vectrick.passes.engine import LakeEngine, PassProgress
from vectrick.passes.host import HostPasses
from vectrick.passes.places import best_passes
from vectrick.passes.tasks import Task

if TYPE_CHECKING:
    from distributed import Client


TIMEOUT = "vectrick.worker-timeout"  # the key in Dask's configuration
_USUAL_TIMEOUT = "10 minutes"
_SENDING, _SLOW = 10.0, 20e6  # limit of sending in seconds, and bytes that add a second
_READING = "count-edges"  # the task that waits for partitions to be read
_RESCUES = 5  # attempts of a pass before the cluster is given up


class ClusterError(ValueError):
    """Raised if the cluster cannot be used or has failed; the message contains the reason."""


class _TaskError(Exception):
    """An error raised by a task, not by the cluster."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class ReadPartition:
    """A partition on a worker: its block and its counts."""

    block: EdgeBlock
    counts: Counts


def active_client() -> Any:
    """Return the active Dask client."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("backend is 'dask', but Dask is not installed: pip install 'vectrick[dask]'") from error
    try:
        return distributed.get_client()
    except ValueError:
        raise ClusterError(
            "backend is 'dask', but there is no active client: make one with dask.distributed.Client('tcp://…'), or on "
            "the command line with --cluster"
        ) from None


class DaskEngine(LakeEngine):
    """Passes on the workers of a Dask cluster.

    A worker reads a partition once and keeps it. A pass has a task for each thread that has partitions, so a round trip
    takes tens of milliseconds. If no task ends within ``vectrick.worker-timeout`` (a key in Dask's configuration),
    workers that are still busy are given up.
    """

    def __init__(self, edges: ScannedEdges, progress: PassProgress | None = None, client: "Client" = None) -> None:
        super().__init__(edges, progress)
        import dask
        from dask.utils import parse_timedelta

        self.client = active_client() if client is None else client
        self.timeout = parse_timedelta(dask.config.get(TIMEOUT, _USUAL_TIMEOUT))
        self.token = uuid.uuid4().hex[:8]
        self._mark: Any = None  # identifies the features
        self._features: dict[Any, Any] = {}  # futures of the features, as sent (None) and for each worker
        self._reader: Any = None  # the future of the reader of partitions
        self._n_tasks = 0
        self._threads: dict[str, int] = {}  # the number for each worker
        self._placed: Any = None  # the places of partitions, until partitions or workers change

    @property
    def _blocks(self) -> list[Any]:
        """The futures of the partitions, created if missing; the edges keep them for the next fit."""
        kept = self.edges.on_cluster
        if kept is None or kept[0] is not self.client:
            kept = self.edges.on_cluster = (self.client, [None] * self.edges.n_partitions)
        blocks: list[Any] = kept[1]
        missing = [number for number, block in enumerate(blocks) if block is None]
        if missing:
            if self._reader is None:
                self._reader = self._scattered(self.edges.reader)
            # In turn, because Dask would sometimes give one worker twice as many as another.
            turns = itertools.cycle(worker for worker, n in sorted(self._threads.items()) for _ in range(n))
            for number, worker in zip(missing, turns, strict=False):
                key = f"read-edges-{self.token}-{number}"
                args = self._reader, number, __version__
                blocks[number] = self.client.submit(_read_edges, *args, key=key, pure=False, **_on(worker))
        return blocks

    def _scattered(self, thing: object) -> Any:
        """Send an object to a worker, for others to fetch; with a time limit, because the worker may die."""
        from dask.sizeof import sizeof

        def scatter() -> Any:
            return self.client.scatter(thing, direct=True, hash=False, asynchronous=True)

        return self.client.sync(scatter, callback_timeout=_SENDING + sizeof(thing) / _SLOW)

    def read(self, room: int) -> Counts:
        """Read the lake on the workers."""
        self.edges.reader.source.check()
        total = Counts.nothing(len(self.edges.start_table), len(self.edges.end_table))
        for counts in self._gathered(_READING, lambda blocks: [(_counts_of, (block,), None) for block in blocks]):
            total.add(counts)
        self.edges.keep_counts(total)
        return total

    def set_features(self, start: Array, end: Array) -> None:
        """Set the features; the next task sends them, unless the workers have them from an earlier fit."""
        self._passes = HostPasses(*((start, end) if self.rows_are_start else (end, start)))
        self._features = {}
        with ThreadPoolExecutor(2) as pool:
            digests = pool.map(_digest, (self._passes.R, self._passes.C))
            self._mark = (*digests, self.client)
        kept = self.edges.features_on_cluster
        if kept is not None and kept[0] == self._mark and kept[1][None].status == "finished":
            self._features = kept[1]

    def lowered(self) -> Self:
        """Return an engine over the same partitions with features in float32."""
        low, features = copy.copy(self), self._passes.lowered()
        low.set_features(*((features.R, features.C) if self.rows_are_start else (features.C, features.R)))
        return low

    def answers(self, task: Task) -> Iterator[Any]:
        """Run a task on all partitions, on the workers that have them."""
        yield from self._gathered(task.name, lambda blocks: self._by_worker(task, blocks))

    def _by_worker(self, task: Task, blocks: Sequence[Any]) -> list[tuple[Callable[..., Any], tuple[Any, ...], Any]]:
        """Return calls for the blocks of each thread of each worker."""
        question = self._scattered(task)
        return [
            (_answers_of, (some, [blocks[number] for number in some], self._features_on(worker), question), worker)
            for worker, some in self._places(blocks)
        ]

    def _features_on(self, worker: Any) -> Any:
        """Return the future of the features on a worker.

        Each worker has its own result with the features. Of the copies of one result, Dask removes all but one every
        few seconds, so the next pass would wait until they were sent again.
        """
        if None not in self._features:
            self._features[None] = self._scattered(self._passes)
            self.edges.features_on_cluster = (self._mark, self._features)
        if worker not in self._features:
            key, whole = f"keep-features-{uuid.uuid4().hex[:8]}", self._features[None]
            self._features[worker] = self.client.submit(_same, whole, key=key, pure=False, **_on(worker))
        return self._features[worker]

    def _places(self, blocks: Sequence[Any]) -> list[tuple[Any, list[int]]]:
        """Return the partitions of each thread of each worker; partitions that no worker has are listed under None."""
        keys = tuple(sorted(self._threads)), tuple(block.key for block in blocks)
        if self._placed is not None and self._placed[0] == keys:
            result: list[tuple[Any, list[int]]] = self._placed[1]
            return result
        holders = self.client.who_has(blocks)
        numbers: dict[Any, list[int]] = {}
        for number, block in enumerate(blocks):
            known = [worker for worker in holders.get(block.key, ()) if worker in self._threads]
            numbers.setdefault(min(known) if known else None, []).append(number)
        places = [
            (worker, own[low:high])
            for worker, own in numbers.items()
            for low, high in even_parts(len(own), len(own) if worker is None else self._threads[worker])
        ]
        # Places change while partitions are being read.
        self._placed = None if None in numbers else (keys, places)
        return places

    def _gathered(self, name: str, calls_of: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Return the results of all partitions in their order, even if workers are lost meanwhile."""
        import distributed

        for _ in range(_RESCUES):
            futures: list[Any] = []
            try:
                self._check_workers()
                self._n_tasks += 1
                for function, args, worker in calls_of(self._blocks):
                    key = f"{name}-{self.token}-{self._n_tasks}-{len(futures)}"
                    futures.append(self.client.submit(function, *args, key=key, pure=False, **_on(worker)))
                self._wait(name, futures)
                return _in_order(self._fetched(futures))
            except _TaskError as raised:
                self._cancel(futures)
                self._forget()  # a partition that could not be read may be readable next time
                raise raised.error from None
            except distributed.CancelledError:
                self._forget()
            except distributed.KilledWorker as error:
                raise ClusterError(
                    f"the workers that ran {name!r} died one after the other; do partitions fit into their memory? "
                    f"{error}"
                ) from error
            except (OSError, TimeoutError, distributed.comm.CommClosedError) as error:
                if not self._is_alive():
                    raise ClusterError(f"the scheduler of the cluster is gone: {error}") from error
                self._forget()
            except BaseException:
                self._cancel(futures)
                self._forget()
                raise
        raise ClusterError(f"the cluster lost the data of a pass {_RESCUES} times, so it was given up")

    def _fetched(self, futures: Sequence[Any]) -> Sequence[Any]:
        """Return the results of finished futures, directly from the workers."""

        def gather() -> Any:
            return self.client.gather(list(futures), direct=True, asynchronous=True)

        answers: Sequence[Any] = self.client.sync(gather, callback_timeout=self.timeout)
        return answers

    def _check_workers(self) -> None:
        if not self._is_alive():
            raise ClusterError("the scheduler of the cluster is gone, or the client is closed")
        self._threads = self.client.nthreads()
        if not self._threads:
            try:
                self.client.wait_for_workers(1, timeout=self.timeout)
            except TimeoutError as error:
                raise ClusterError(
                    f"the cluster has no workers, and none came within {self.timeout:.0f} s ({TIMEOUT} in Dask's "
                    "configuration)"
                ) from error
            self._threads = self.client.nthreads()

    def _is_alive(self) -> bool:
        return bool(self.client.status == "running")

    def _wait(self, name: str, futures: Sequence[Any]) -> None:
        """Wait for all futures, or for an error; give up busy workers if no task ends within the time limit."""
        import distributed

        left, n_done = list(futures), 0
        while left:
            try:
                done = distributed.wait(left, timeout=self.timeout, return_when="FIRST_COMPLETED")
            except distributed.TimeoutError:
                self._give_up_busy(name, left)
                continue
            _raise_errors(done.done)
            left = list(done.not_done)
            n_done += len(done.done)
            if name == _READING:
                self.report("reading", n_done, len(futures))

    def _give_up_busy(self, name: str, futures: Sequence[Any]) -> None:
        """Remove workers that still have tasks of a pass, so that others repeat the work."""
        wanted = {future.key for future in futures} | {block.key for block in self._blocks}
        busy = [worker for worker, keys in self.client.processing().items() if wanted & set(keys)]
        others = set(self.client.nthreads()) - set(busy)
        if not busy or not others:
            raise ClusterError(
                f"no task of {name!r} ended for {self.timeout:.0f} s, and there are no other workers; raise "
                f"{TIMEOUT} in Dask's configuration if tasks may take longer"
            )
        self.client.run_on_scheduler(_remove_workers, addresses=busy)

    def _forget(self) -> None:
        """Forget sent data and missing partitions, because some data were lost; both are created again."""
        self._features, self._reader = {}, None
        self._placed = self.edges.features_on_cluster = None
        self.token = uuid.uuid4().hex[:8]
        kept = self.edges.on_cluster
        if kept is not None:
            blocks = [block if block is not None and block.status == "finished" else None for block in kept[1]]
            self.edges.on_cluster = (self.client, blocks)

    def _cancel(self, futures: Sequence[Any]) -> None:
        if futures and self._is_alive():
            self.client.cancel(list(futures))


def _on(worker: object) -> dict[str, Any]:
    """Return options that run a task on a worker if it is available, or on any worker if it is None."""
    return {} if worker is None else {"workers": [worker], "allow_other_workers": True}


def _digest(features: Array) -> bytes:
    # Most processors have instructions for SHA-256: it is twice as fast as BLAKE2, and other threads can run.
    return hashlib.sha256(features.data).digest()


def _raise_errors(futures: Iterable[Any]) -> None:
    """Raise the error of a failed task, unless the cluster caused it."""
    import distributed

    for future in futures:
        error = future.exception() if future.status == "error" else None
        if error is not None and not isinstance(error, distributed.KilledWorker | distributed.CancelledError):
            raise _TaskError(error)


def _in_order(answers: Sequence[Any]) -> list[Any]:
    """Return the results of partitions in their order, without empty partitions."""
    if answers and isinstance(answers[0], Counts):
        return list(answers)
    by_number = sorted((pair for group in answers for pair in group), key=lambda pair: pair[0])
    return [answer for _, answer in by_number if answer is not None]


async def _remove_workers(addresses: Sequence[str], dask_scheduler: Any = None) -> None:
    for address in addresses:
        await dask_scheduler.remove_worker(address, stimulus_id=f"vectrick-hanging-{address}", close=True)


# Functions that workers run.


def _read_edges(reader: EdgeReader, number: int, version: str) -> ReadPartition:
    if version != __version__:
        raise ClusterError(f"a worker has vectrick {__version__}, but the client has {version}; install the same")
    return ReadPartition(*reader.read(number))


def _same(passes: HostPasses) -> HostPasses:
    return passes


def _counts_of(partition: ReadPartition) -> Counts:
    return partition.counts


def _answers_of(
    numbers: Sequence[int], partitions: Sequence[ReadPartition], passes: HostPasses | None, task: Task
) -> list[Any]:
    """Return the result of each partition, computed in one thread, so the bits are the same on any worker."""
    best: Any = None if passes is None else best_passes(passes)  # sums at vertices need no features
    return [
        (number, task.run(best, partition.block, 1) if len(partition.block) else None)
        for number, partition in zip(numbers, partitions, strict=True)
    ]


def _register_sizes() -> None:
    """Register the sizes of partitions and features, so that Dask moves tasks and not data."""
    from dask.sizeof import sizeof

    register: Any = sizeof.register

    @register(ReadPartition)  # type: ignore[untyped-decorator]
    def _of_partition(partition: ReadPartition) -> int:
        return partition.block.n_bytes + partition.counts.start.nbytes + partition.counts.end.nbytes

    @register(HostPasses)  # type: ignore[untyped-decorator]
    def _of_features(passes: HostPasses) -> int:
        return int(passes.R.nbytes + passes.C.nbytes)


with contextlib.suppress(ImportError):  # Dask is optional
    _register_sizes()
