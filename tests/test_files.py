"""Outputs: written whole or not at all, never over an input, and nothing is left of processes that were killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vectrick._files import _machine, check_output, check_targets, replacing, replacing_folder, write_text


def names(folder):
    return sorted(os.listdir(folder))


def test_a_long_name_is_no_matter(tmp_path):
    path = check_output(tmp_path / ("a" * 250), force=False)
    write_text(path, "content")
    assert path.read_text() == "content"
    with pytest.raises(OSError, match="cannot be written: File name too long"):
        check_output(tmp_path / ("a" * 256), force=False)


def test_links(tmp_path):
    (tmp_path / "one").symlink_to(tmp_path / "two")
    (tmp_path / "two").symlink_to(tmp_path / "one")
    with pytest.raises(OSError, match="it is a link that leads to itself"):
        check_output(tmp_path / "one", force=True)
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text(check_output(tmp_path / "link", force=False), "content")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "content"


def test_outputs_are_no_inputs(tmp_path):
    data, other = tmp_path / "data.csv", tmp_path / "other.csv"
    data.write_text("x")
    check_targets({"--output": other, "--report": None}, [data, None])
    (tmp_path / "link.csv").symlink_to(data)
    os.link(data, tmp_path / "hard.csv")
    for path in (data, tmp_path / "link.csv", tmp_path / "hard.csv", Path(os.path.relpath(data))):
        with pytest.raises(ValueError, match=r"--output is .* it is also an input"):
            check_targets({"--output": path}, [data])
    with pytest.raises(ValueError, match="--output, --report must be different files"):
        check_targets({"--output": other, "--report": tmp_path / "." / "other.csv"}, [])


def test_a_failure_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with replacing(path) as draft:
            draft.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert names(tmp_path) == ["file"]
    assert path.read_text() == "old"


KILLED = """
import os, sys, signal
from vectrick._files import replacing
with replacing(sys.argv[1]) as draft:
    draft.write_text("half")
    draft.with_name("of a library").write_text("its own draft")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_next_save_cleans_up_after_a_kill(tmp_path):
    for _ in range(2):
        subprocess.run([sys.executable, "-c", KILLED, tmp_path / "model.vt"], check=False)
    assert len(names(tmp_path)) == 1  # the second removed what the first had left
    write_text(tmp_path / "other", "content")
    assert names(tmp_path) == ["other"]


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "folder"

    def write(content):
        with replacing_folder(path) as draft:
            (draft / content).write_text(content)
            assert content != "bad"

    write("first")
    with pytest.raises(AssertionError):
        write("bad")
    assert names(path) == ["first"]
    write("second")
    assert names(path) == ["second"]
    assert names(path.parent) == ["folder"]


def test_files_of_others_stay(tmp_path):
    kept = [f".vectrick-{_machine()}-{os.getpid()}-01234567.tmp", ".vectrick-01234567-99999999-01234567.tmp", ".x.tmp"]
    for name in kept[1:]:
        (tmp_path / name).write_text("somebody is writing")
    (tmp_path / kept[0]).mkdir()
    (tmp_path / kept[0] / "draft").write_text("somebody is writing")
    write_text(tmp_path / "file", "content")
    assert names(tmp_path) == sorted([*kept, "file"])
    old = time.time() - 2 * 24 * 3600
    for name in kept:
        os.utime(tmp_path / name, (old, old))
    write_text(tmp_path / "file", "content")
    assert names(tmp_path) == sorted([kept[0], ".x.tmp", "file"])  # what is in the folder is new
    os.utime(tmp_path / kept[0] / "draft", (old, old))
    write_text(tmp_path / "file", "content")
    assert names(tmp_path) == [".x.tmp", "file"]
