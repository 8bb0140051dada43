"""Files that are written whole or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def check_output(path: Path | str, force: bool) -> Path:
    """Return where to write, or say why nothing can be written there, before any work is done.

    A file that exists is refused unless ``force`` says that it may be replaced.
    """
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder, but the output must be a file")
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no plain file, so that it cannot be replaced by one")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; use --force to replace it, or choose another name")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"{path} cannot be written: the folder {folder} does not allow it")
    return path


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a new, empty file beside ``path`` that takes its place at the end, and is removed if anything fails.

    What is written is on the disk before it gets the name, so that a crash leaves the old file or the new one. A link
    stays a link: what it points to is replaced.
    """
    target = Path(os.path.realpath(path))
    made = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    os.close(os.open(made, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))  # with the rights that the user's mask gives
    rights = made.stat().st_mode
    try:
        yield made
        made.chmod(rights)  # which a library may have written anew with others
        _sync(made)
        os.replace(made, target)
    except BaseException:
        with suppress(OSError):
            made.unlink()
        raise
    with suppress(OSError):  # a system that cannot sync folders has renamed all the same
        _sync(target.parent)


def write_text(path: Path | str, text: str) -> None:
    """Write text to a file, whole or not at all."""
    with replacing(path) as made:
        made.write_text(text, encoding="utf-8")


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
