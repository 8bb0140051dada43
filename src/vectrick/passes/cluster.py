"""Passes on a Dask cluster: workers read their partitions, keep them, and answer with small arrays.

A partition and a question determine the answer to the bit, and answers are added in the order of the partitions. So
the result does not depend on how many workers there are, nor on which of them are lost: Dask reads the partitions of a
lost worker again elsewhere. What it cannot know how to make again (features and questions, which came from here) is
sent again.
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


TIMEOUT = "vectrick.worker-timeout"  # of Dask's configuration
_USUAL_TIMEOUT = "10 minutes"
_SENDING, _SLOW = 10.0, 20e6  # seconds that sending something may take, and bytes in a second more
_READING = "count-edges"  # the task that waits for partitions to be read
_RESCUES = 5  # times that lost data are sent again before the cluster is given up


class ClusterError(ValueError):
    """The cluster cannot be used, or did not survive; the message says why."""


class _TaskError(Exception):
    """An error that a task raised, as opposed to one of the cluster."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class ReadPartition:
    """A partition on a worker: its block, and what reading it found."""

    block: EdgeBlock
    counts: Counts


def active_client() -> Any:
    """Return the active Dask client."""
    try:
        import distributed
    except ImportError as error:
        raise ImportError("backend is 'dask', which needs Dask: pip install 'vectrick[dask]'") from error
    try:
        return distributed.get_client()
    except ValueError:
        raise ClusterError(
            "backend is 'dask', but there is no active client: make one with dask.distributed.Client('tcp://…'), or on "
            "the command line with --cluster"
        ) from None


class DaskEngine(LakeEngine):
    """Passes on the workers of a Dask cluster.

    A worker reads a partition once and keeps it; a pass is a task for each thread that has partitions, so a round trip
    takes tens of milliseconds. ``vectrick.worker-timeout`` in Dask's configuration says after how long without any
    answer workers that are still busy are given up.
    """

    def __init__(self, edges: ScannedEdges, progress: PassProgress | None = None, client: "Client" = None) -> None:
        super().__init__(edges, progress)
        import dask
        from dask.utils import parse_timedelta

        self.client = active_client() if client is None else client
        self.timeout = parse_timedelta(dask.config.get(TIMEOUT, _USUAL_TIMEOUT))
        self.token = uuid.uuid4().hex[:8]
        self._mark: Any = None  # of the features
        self._features: dict[Any, Any] = {}  # futures of the features, as they were sent (None) and for each worker
        self._reader: Any = None  # the future of what it takes to read a partition
        self._n_tasks = 0
        self._threads: dict[str, int] = {}  # of each worker
        self._placed: Any = None  # where partitions are, while neither they nor the workers change

    @property
    def _blocks(self) -> list[Any]:
        """The futures of the partitions, which the edges keep for the next fit; made where there are none."""
        kept = self.edges.on_cluster
        if kept is None or kept[0] is not self.client:
            kept = self.edges.on_cluster = (self.client, [None] * self.edges.n_partitions)
        blocks: list[Any] = kept[1]
        missing = [number for number, block in enumerate(blocks) if block is None]
        if missing:
            if self._reader is None:
                self._reader = self._scattered(self.edges.reader)
            # In turn: Dask itself would now and then give one worker twice as many as another.
            turns = itertools.cycle(worker for worker, n in sorted(self._threads.items()) for _ in range(n))
            for number, worker in zip(missing, turns, strict=False):
                key = f"read-edges-{self.token}-{number}"
                args = self._reader, number, __version__
                blocks[number] = self.client.submit(_read_edges, *args, key=key, pure=False, **_on(worker))
        return blocks

    def _scattered(self, thing: object) -> Any:
        """Send something to a worker, from which others fetch it; it may die meanwhile, so this ends after a while."""
        from dask.sizeof import sizeof

        def scatter() -> Any:
            return self.client.scatter(thing, direct=True, hash=False, asynchronous=True)

        return self.client.sync(scatter, callback_timeout=_SENDING + sizeof(thing) / _SLOW)

    def read(self, room: int) -> Counts:
        """Let the workers read the lake."""
        self.edges.reader.source.check()
        total = Counts.nothing(len(self.edges.start_table), len(self.edges.end_table))
        for counts in self._gathered(_READING, lambda blocks: [(_counts_of, (block,), None) for block in blocks]):
            total.add(counts)
        self.edges.keep_counts(total)
        return total

    def set_features(self, start: Array, end: Array) -> None:
        """Take the features; they are sent with the next question, unless the workers have them from an earlier fit."""
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

        Each worker makes a result of its own of them: of the copies of one result, Dask removes all but one every few
        seconds, and the next pass would wait until they were sent again.
        """
        if None not in self._features:
            self._features[None] = self._scattered(self._passes)
            self.edges.features_on_cluster = (self._mark, self._features)
        if worker not in self._features:
            key, whole = f"keep-features-{uuid.uuid4().hex[:8]}", self._features[None]
            self._features[worker] = self.client.submit(_same, whole, key=key, pure=False, **_on(worker))
        return self._features[worker]

    def _places(self, blocks: Sequence[Any]) -> list[tuple[Any, list[int]]]:
        """Return which partitions each thread of each worker has; None is the worker of those that nobody has yet."""
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
        # While some are read, places change.
        self._placed = None if None in numbers else (keys, places)
        return places

    def _gathered(self, name: str, calls_of: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
        """Return the answers of all partitions in their order, whatever happens to workers meanwhile."""
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
                self._forget()  # a partition that could not be read may be there the next time
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
        """Return the results of futures that are finished, straight from the workers."""

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
        """Wait for all futures, or for an error; workers that are busy for too long while nothing ends are given up."""
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
                self.told("reading", n_done, len(futures))

    def _give_up_busy(self, name: str, futures: Sequence[Any]) -> None:
        """Remove workers that still have tasks of a pass; others do the work again."""
        wanted = {future.key for future in futures} | {block.key for block in self._blocks}
        busy = [worker for worker, keys in self.client.processing().items() if wanted & set(keys)]
        others = set(self.client.nthreads()) - set(busy)
        if not busy or not others:
            raise ClusterError(
                f"no task of {name!r} ended for {self.timeout:.0f} s, and no other workers are there; set "
                f"{TIMEOUT} in Dask's configuration if that is not too long"
            )
        self.client.run_on_scheduler(_remove_workers, addresses=busy)

    def _forget(self) -> None:
        """Forget what was sent, and partitions that are not there, since some of it is lost; both are made again."""
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
    """Return where to run a task: on a worker while it is there; anywhere if that is None."""
    return {} if worker is None else {"workers": [worker], "allow_other_workers": True}


def _digest(features: Array) -> bytes:
    # Most processors have instructions for it: twice as fast as BLAKE2, and it lets another thread run.
    return hashlib.sha256(features.data).digest()


def _raise_errors(futures: Iterable[Any]) -> None:
    """Raise the error of a task that failed by itself."""
    import distributed

    for future in futures:
        error = future.exception() if future.status == "error" else None
        if error is not None and not isinstance(error, distributed.KilledWorker | distributed.CancelledError):
            raise _TaskError(error)


def _in_order(answers: Sequence[Any]) -> list[Any]:
    """Return the answers of partitions in their order, without those of empty ones."""
    if answers and isinstance(answers[0], Counts):
        return list(answers)
    by_number = sorted((pair for group in answers for pair in group), key=lambda pair: pair[0])
    return [answer for _, answer in by_number if answer is not None]


async def _remove_workers(addresses: Sequence[str], dask_scheduler: Any = None) -> None:
    for address in addresses:
        await dask_scheduler.remove_worker(address, stimulus_id=f"vectrick-hanging-{address}", close=True)


# What workers run.


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
    """Return the answer of each partition; a thread of a worker is one thread, so the bits are the same anywhere."""
    best: Any = None if passes is None else best_passes(passes)  # sums at vertices need no features
    return [
        (number, task.run(best, partition.block, 1) if len(partition.block) else None)
        for number, partition in zip(numbers, partitions, strict=True)
    ]


def _register_sizes() -> None:
    """Tell Dask how large partitions and features are, so that tasks go to them and not they to tasks."""
    from dask.sizeof import sizeof

    register: Any = sizeof.register

    @register(ReadPartition)  # type: ignore[untyped-decorator]
    def _of_partition(partition: ReadPartition) -> int:
        return partition.block.n_bytes + partition.counts.start.nbytes + partition.counts.end.nbytes

    @register(HostPasses)  # type: ignore[untyped-decorator]
    def _of_features(passes: HostPasses) -> int:
        return int(passes.R.nbytes + passes.C.nbytes)


with contextlib.suppress(ImportError):  # there may be no Dask here
    _register_sizes()
