"""Files that are written completely or not at all, and that never overwrite an input."""

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

_UNFINISHED = re.compile(r"\.vectrick-([0-9a-f]{8})-(\d+)-[0-9a-f]{8}\.tmp")  # contains its machine and process
_OLD = 24 * 3600  # seconds after which unfinished files are removed, even if another machine created them


def check_output(path: Path | str, force: bool, advice: str = "use --force") -> Path:
    """Check that a file can be written before any work is done; return its path.

    An existing file raises an error, unless ``force`` is true.
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
        raise OSError(f"{path} is not a regular file, so it cannot be replaced")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; {advice} to replace it, or choose another name")
    folder = target.parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder {folder} does not allow it")
    return path


def check_targets(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None]) -> None:
    """Raise an error if two outputs are the same file or if one is also an input; the keys are names of options."""
    targets = {option: Path(os.path.realpath(path)) for option, path in outputs.items() if path is not None}
    if len(set(targets.values())) < len(targets):
        raise ValueError(f"{', '.join(targets)} must be different files")
    read = {Path(os.path.realpath(path)) for path in inputs if path is not None}
    for option, target in targets.items():
        if target in read or any(target.exists() and source.exists() and target.samefile(source) for source in read):
            raise ValueError(f"{option} is {str(outputs[option])!r}, but it is also an input; choose another name")


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a new, empty file near ``path`` that replaces it at the end, or is removed if anything fails.

    The content is on the disk before the file is renamed, so a crash leaves either the old file or the new one. If
    ``path`` is a link, its target is replaced.
    """
    target = Path(os.path.realpath(path))
    with _draft_folder(target.parent) as folder:
        draft = folder / "draft"  # a short name, because the name of the file may be long
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # with the permissions of the umask
        rights = draft.stat().st_mode
        yield draft
        draft.chmod(rights)  # a library may have rewritten it with other permissions
        _sync(draft)
        os.replace(draft, target)
    with suppress(OSError):  # the file is renamed even if the system cannot sync folders
        _sync(target.parent)


@contextmanager
def replacing_folder(path: Path | str) -> Iterator[Path]:
    """Yield a new, empty folder near ``path`` that replaces it at the end, or is removed if anything fails.

    An existing folder is removed only after the new one is complete.
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
    """Yield a new folder; remove it at the end, with any files that libraries left in it.

    Folders of killed processes are removed first.
    """
    _clean(parent)
    folder = parent / f".vectrick-{_machine()}-{os.getpid()}-{secrets.token_hex(4)}.tmp"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_text(path: Path | str, text: str) -> None:
    """Write text to a file, completely or not at all."""
    with replacing(path) as draft:
        draft.write_text(text, encoding="utf-8")


def _clean(folder: Path) -> None:
    """Remove drafts of processes that no longer run: folders, and files of earlier versions of vectrick."""
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
    """Return the time of the last change to a file, or to anything in a folder."""
    return max(one.lstat().st_mtime for one in (path, *path.rglob("*")))


def _machine() -> str:
    """Return eight digits for this machine or container, because process ids are unique only within one."""
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
