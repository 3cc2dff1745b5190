"""Files are written in full or not at all, and what stands at their place is respected."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest

from fcgboost.files import write_whole, writing


def test_a_file_is_there_in_full(tmp_path) -> None:
    path = tmp_path / "a.txt"
    assert write_whole(path, "größer") == 8
    assert write_whole(path, b"ab") == 2
    assert path.read_bytes() == b"ab"
    assert list(tmp_path.iterdir()) == [path]


def test_after_an_error_the_old_file_is_there(tmp_path) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "old")

    def fail() -> None:
        with writing(path) as file:
            file.write(b"new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed(tmp_path) -> None:
    (tmp_path / "folder").mkdir()
    real, link = tmp_path / "folder" / "real.txt", tmp_path / "link.txt"
    write_whole(real, "old")
    link.symlink_to(real)
    write_whole(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    ahead = tmp_path / "ahead.txt"
    ahead.symlink_to("folder/later.txt")
    write_whole(ahead, "first")
    assert (tmp_path / "folder" / "later.txt").read_text() == "first"


@pytest.mark.skipif(os.name == "nt", reason="permissions are those of Unix")
@pytest.mark.parametrize("mode", [0o600, 0o664])
def test_a_file_keeps_its_permissions(tmp_path, mode) -> None:
    path = tmp_path / "a.txt"
    write_whole(path, "old")
    path.chmod(mode)
    write_whole(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_written_on(tmp_path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()))
    reader.start()
    write_whole(path, "through")
    reader.join(60)
    assert found == [b"through"]
    assert stat.S_ISFIFO(path.stat().st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")
def test_a_device_is_written_on(tmp_path) -> None:
    link = tmp_path / "nothing"
    link.symlink_to(os.devnull)
    write_whole(link, "gone")
    assert link.read_bytes() == b""
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_errors_name_the_path_that_was_given(tmp_path) -> None:
    path = tmp_path / "no folder" / "a.txt"
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(path, "x")
    assert caught.value.filename == str(path)
    with pytest.raises(IsADirectoryError) as caught:
        write_whole(tmp_path, "x")
    assert caught.value.filename == str(tmp_path)


def test_a_name_may_be_as_long_as_names_can_be(tmp_path) -> None:
    path = tmp_path / ("a" * 255)
    write_whole(path, "x")
    assert path.read_text() == "x"


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals of Unix")
def test_what_a_killed_run_left_is_removed_after_a_day(tmp_path) -> None:
    path = tmp_path / "a.txt"
    script = (
        "import os, signal; from fcgboost.files import writing\n"
        f"with writing({str(path)!r}) as file:\n"
        "    file.write(b'half'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode < 0
    (left,) = tmp_path.iterdir()
    others = [tmp_path / ".fcgboost-settings", tmp_path / f"x{left.name}"]
    for other in others:
        other.touch()
        os.utime(other, (0.0, 0.0))
    write_whole(path, "new")
    assert set(tmp_path.iterdir()) == {path, left, *others}
    now = time.time()
    os.utime(left, (now - 90_000.0, now - 90_000.0))
    write_whole(path, "newer")
    assert set(tmp_path.iterdir()) == {path, *others}
    assert path.read_text() == "newer"
