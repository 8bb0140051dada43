"""Files that are written whole or not at all, and never over a file that is read."""

import hashlib
import os
import platform
import re
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_UNFINISHED = re.compile(r"\.vectrick-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.tmp")  # names its machine and process
_OLD = 24 * 3600  # seconds after which unfinished work is removed, whatever machine began it


def check_output(path: Path | str, force: bool, advice: str = "use --force") -> Path:
    """Return where to write, or say why nothing can be written there, before any work is done.

    A file that exists is refused unless ``force`` is true.
    """
    path = Path(path)
    try:
        path.lstat()
    except FileNotFoundError:
        pass
    except OSError as error:  # such as a name that is too long
        raise OSError(f"{path} cannot be written: {os.strerror(error.errno or 0)}") from None
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but the output must be a file")
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise OSError(f"{path} cannot be written: it is a link that leads to itself")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no plain file, so it cannot be replaced by one")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; {advice} to replace it, or choose another name")
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder {folder} does not allow it")
    return path


def check_targets(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Refuse outputs, given by the names of their options, if two are one file or one is also an input."""
    targets = {option: Path(os.path.realpath(path)) for option, path in outputs.items() if path is not None}
    if len(set(targets.values())) < len(targets):
        raise ValueError(f"{', '.join(targets)} must be different files")
    read = {Path(os.path.realpath(path)) for path in inputs if path is not None}
    for option, target in targets.items():
        if target in read or any(target.exists() and source.exists() and target.samefile(source) for source in read):
            raise ValueError(f"{option} is {str(outputs[option])!r}, which is read as well; choose another name")


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a new, empty file near ``path`` that takes its place at the end, and is removed if anything fails.

    The content is on the disk before it gets the name: a crash leaves the old file or the new one. A link stays a link:
    its target is replaced.
    """
    target = Path(os.path.realpath(path))
    with _draft_folder(target.parent) as folder:
        draft = folder / "draft"  # short, however long the name of the file is
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # with the rights that the mask gives
        rights = draft.stat().st_mode
        yield draft
        draft.chmod(rights)  # a library may have written it anew with other rights
        _sync(draft)
        os.replace(draft, target)
    with suppress(OSError):  # a system that cannot sync folders has renamed all the same
        _sync(target.parent)


@contextmanager
def replacing_folder(path: Path | str) -> Iterator[Path]:
    """Yield a new, empty folder near ``path`` that takes its place at the end, and is removed if anything fails.

    A folder that was there goes away only after the new one is complete.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with _draft_folder(target.parent) as folder:
        draft = folder / "draft"
        draft.mkdir()
        yield draft
        if target.exists():
            os.rename(target, folder / "old")
        os.rename(draft, target)


@contextmanager
def _draft_folder(parent: Path) -> Iterator[Path]:
    """Lend a new folder that is removed at the end, with all that libraries left in it for themselves.

    Those of earlier processes that were killed are removed first.
    """
    _clean(parent)
    folder = parent / f".vectrick-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_text(path: Path | str, text: str) -> None:
    """Write text to a file, whole or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def _clean(folder: Path) -> None:
    """Remove unfinished work in a folder whose process no longer runs: folders, and files of earlier versions."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            name = _UNFINISHED.fullmatch(entry.name)
            if name is None or entry.is_symlink():
                continue
            with suppress(OSError):
                age = time.time() - _last_change(Path(entry.path))
                if age > _OLD or (name[1] == _machine() and not _is_running(int(name[2]))):
                    if entry.is_dir():
                        shutil.rmtree(entry.path)
                    else:
                        os.unlink(entry.path)


def _last_change(path: Path) -> float:
    """Return when a file, or anything in a folder, was written last."""
    return max(one.lstat().st_mtime for one in (path, *path.rglob("*")))


def _machine() -> str:
    """Return eight digits for this machine or container; others that share a folder have their own processes."""
    try:
        processes = os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        processes = 0
    return hashlib.sha256(f"{platform.node()} {processes}".encode()).hexdigest()[:8]


def _is_running(process: int) -> bool:
    import psutil

    return bool(psutil.pid_exists(process))


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
