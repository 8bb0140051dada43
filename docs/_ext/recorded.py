"""Recorded tutorials: results of an earlier run, used if the real data are missing or the build must be quick.

``docs/recorded/NAME`` contains the output of sphinx-gallery for the tutorial NAME, with the checksum of its source. A
recording is used if the tutorial reads VECTRICK_DATA and the data are missing, or always with VECTRICK_DOCS=quick. If
the source has changed, the build fails. ``make docs-record`` renews the recordings from a complete build.
"""

import hashlib
import os
import re
import shutil
from datetime import date
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

HERE = Path(__file__).parent.parent
RECORDED, GALLERY, BUILT = HERE / "recorded", HERE / "gallery", HERE / "tutorials"
_MARK = "The results on this page were recorded with vectrick"
_NOTE = """
.. note::

    {mark} {version} on {day}.{data}

"""
_DATA = " They need data that are not part of the project: the environment variable VECTRICK_DATA names their folder."


def data_folder() -> Path | None:
    """Return the folder of the real data, or None if it is missing."""
    folder = Path(os.environ.get("VECTRICK_DATA", HERE.parent.parent / "shared" / "data"))
    return folder.resolve() if folder.is_dir() else None


def needs_data(name: str) -> bool:
    """Return whether a tutorial reads the real data."""
    return "VECTRICK_DATA" in (GALLERY / f"{name}.py").read_text(encoding="utf-8")


def checksum(name: str) -> str:
    """Return the checksum of a tutorial as computed by sphinx-gallery, from the text with Unix line ends."""
    text = (GALLERY / f"{name}.py").read_text(encoding="utf-8", errors="surrogateescape")
    return hashlib.md5(text.encode(errors="surrogateescape")).hexdigest()


def use_recorded(app: Sphinx) -> None:
    """Copy recordings to the folder of finished tutorials, so that sphinx-gallery skips these."""
    folder, quick = data_folder(), os.environ.get("VECTRICK_DOCS") == "quick"
    if folder is not None:
        os.environ["VECTRICK_DATA"] = str(folder)
    for recording in sorted(path for path in RECORDED.glob("*") if path.is_dir()):
        name = recording.name
        if not quick and (folder is not None or not needs_data(name)):
            page = BUILT / f"{name}.rst"
            if page.exists() and _MARK in page.read_text(encoding="utf-8"):  # from an earlier build: run it now
                (BUILT / f"{name}.py.md5").unlink(missing_ok=True)
            continue
        if (recording / f"{name}.py.md5").read_text().strip() != checksum(name):
            raise ExtensionError(
                f"docs/gallery/{name}.py has changed since its results were recorded; run make docs-record with "
                "the real data"
            )
        shutil.copytree(recording, BUILT, dirs_exist_ok=True)


def record(names: list[str]) -> None:
    """Copy the results of some tutorials from a complete build to the recordings."""
    from vectrick import __version__

    for name in names:
        target = RECORDED / name
        shutil.rmtree(target, ignore_errors=True)
        files = [*BUILT.glob(f"{name}.*"), *(BUILT / "images").rglob(f"sphx_glr_{name}_*")]
        for file in files:
            if file.suffix in (".py", ".pickle"):  # the source itself is copied by sphinx-gallery
                continue
            place = target / file.relative_to(BUILT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        page = target / f"{name}.rst"
        note = _NOTE.format(mark=_MARK, version=__version__, day=date.today(), data=_DATA * needs_data(name))
        text = page.read_text(encoding="utf-8")
        if _MARK in text:
            raise SystemExit(f"docs/tutorials/{name}.rst is itself a recording; run make docs with the real data")
        title = re.search(r"\n=+\n", text)  # the note goes below the title
        assert title is not None
        page.write_text(text[: title.end()] + note + text[title.end() :], encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Use recordings before sphinx-gallery runs tutorials."""
    app.connect("builder-inited", use_recorded, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    record([path.stem for path in sorted(GALLERY.glob("[0-9]*.py")) if needs_data(path.stem)])
