"""The library is built as the environment says, for what the compiler compiles for."""

import importlib.util
import json
import platform
import shutil
import sys
import sysconfig

import pytest

from tests.suites.compilers import ROOT, load_builder

# Says its target, writes down what it is called with, and makes what is asked for.
_COMPILER = """
import json, pathlib, sys
here = pathlib.Path(sys.argv[1])
arguments = sys.argv[2:]
if "-dumpmachine" in arguments:
    print((here / "target").read_text())
else:
    made = pathlib.Path(arguments[arguments.index("-o") + 1])
    made.touch()
    with (here / "calls").open("a") as calls:
        print(json.dumps(arguments), file=calls)
"""
VARIABLES = ("CPPFLAGS", "CFLAGS", "LDFLAGS", "ARCHFLAGS", "MACOSX_DEPLOYMENT_TARGET")


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Build with a compiler for some target; return what for, and the compiler's arguments."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    program = tmp_path / "compiler.py"
    program.write_text(_COMPILER)
    monkeypatch.setenv("CC", f"{sys.executable} {program} {tmp_path}")
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "macosx-10.13-universal2")
    builder = load_builder()

    def run(target, **environment):
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        (tmp_path / "target").write_text(target)
        made_for = builder.build_kernels(tmp_path)
        calls = (tmp_path / "calls").read_text().splitlines()
        return made_for, [json.loads(call) for call in calls]

    return run


@pytest.mark.parametrize(
    ("target", "tag", "names"),
    [
        ("x86_64-linux-gnu", "linux_x86_64", ["kernels.so", "kernels_v3.so"]),
        ("x86_64-alpine-linux-musl", "linux_x86_64", ["kernels.so", "kernels_v3.so"]),
        ("aarch64-linux-gnu", "linux_aarch64", ["kernels.so"]),
        ("x86_64-w64-mingw32", "win_amd64", ["kernels.dll", "kernels_v3.dll"]),
        ("aarch64-unknown-windows-gnu", "win_arm64", ["kernels.dll"]),
        ("x86_64-apple-darwin23.1.0", "macosx_10_13_x86_64", ["kernels.so", "kernels_v3.so"]),
        ("arm64-apple-darwin23.1.0", "macosx_11_0_arm64", ["kernels.so"]),
        ("aarch64-unknown-macos", "macosx_11_0_arm64", ["kernels.so"]),
    ],
)
def test_the_compiler_says_what_is_built(build, tmp_path, target, tag, names) -> None:
    made_for, calls = build(target)
    assert made_for.tag == tag
    assert sorted(path.name for path in tmp_path.glob("kernels*")) == names
    assert ["-mavx2" in call for call in calls] == [False, True][: len(names)]
    # Nothing else is left.
    assert {path.name for path in tmp_path.iterdir()} == {*names, "calls", "compiler.py", "target"}


def test_other_platforms_have_the_tag_of_python(build, monkeypatch) -> None:
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "linux-armv7l")
    assert build("arm-linux-gnueabihf")[0].tag == "linux_armv7l"
    monkeypatch.setattr(sysconfig, "get_platform", lambda: "freebsd-14.1-release-amd64")
    assert build("x86_64-unknown-freebsd14.1")[0].tag == "freebsd_14_1_release_amd64"


def test_flags_of_the_environment_come_before_those_that_keep_the_bits(build) -> None:
    _, calls = build(
        "x86_64-linux-gnu",
        CPPFLAGS="-DA='1 2'",
        CFLAGS="-O2 -ffast-math -ffp-contract=fast",
        LDFLAGS="-Wl,-z,relro -Lsomewhere",
        ARCHFLAGS="-arch arm64",
    )
    for call in calls:
        places = [call.index(flag) for flag in ("-DA=1 2", "-ffast-math", "-fno-fast-math")]
        assert places == sorted(places)
        assert call.index("-ffp-contract=fast") < call.index("-ffp-contract=off")
        assert call.index("-O2") < call.index("-O3")
        assert call.index("-Lsomewhere") < call.index("-lm")
        assert {"-pthread", "-Wl,-z,relro"} <= set(call)
        assert "-arch" not in call


def test_a_wheel_of_macos_is_for_the_processors_it_is_built_for(build) -> None:
    made_for, calls = build("arm64-apple-darwin23", ARCHFLAGS="-arch x86_64")
    assert made_for.tag == "macosx_10_13_x86_64"
    assert ["-mavx2" in call for call in calls] == [False, True]
    assert all(call[call.index("-arch") + 1] == "x86_64" for call in calls)


def test_a_wheel_of_macos_for_both_processors_has_what_each_can_run(build) -> None:
    both = "-arch arm64 -arch x86_64"
    made_for, calls = build("arm64-apple-darwin23", ARCHFLAGS=both, MACOSX_DEPLOYMENT_TARGET="12.3")
    assert made_for.tag == "macosx_12_0_universal2"
    assert [call.count("-arch") for call in calls] == [2, 1]
    assert "arm64" not in calls[1]
    assert all("-mmacosx-version-min=12.3" in call for call in calls)


def test_a_compiler_without_a_target_is_named(build) -> None:
    with pytest.raises(RuntimeError, match=r"compiler\.py .* tells no target.*CC"):
        build("nothing")


@pytest.mark.parametrize(("system", "command"), [("posix", ["/bin/cc"]), ("nt", None)])
def test_on_windows_only_zig_is_found(monkeypatch, system, command) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    builder = load_builder()
    monkeypatch.setattr(builder.os, "name", system)
    assert builder.find_compiler() == command


def test_without_a_compiler_pip_is_asked_for_one(monkeypatch) -> None:
    builder = load_builder()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    hook = builder.KernelsHook(str(ROOT), {}, None, None, str(ROOT), "wheel")
    assert any(name.startswith("ziglang") for name in hook.dependencies())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="C compiler"):
        builder.build_kernels()


@pytest.mark.parametrize(
    ("libc", "machine", "options"),
    [
        ("glibc", "x86_64", ["-target", "x86_64-linux-gnu.2.17"]),
        ("glibc", "riscv64", []),
        ("", "x86_64", []),
        ("musl", "aarch64", []),
    ],
)
def test_zig_builds_for_an_old_glibc_if_there_is_one(
    monkeypatch, tmp_path, libc, machine, options
) -> None:
    (tmp_path / "ziglang").mkdir()
    (tmp_path / "ziglang" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(platform, "libc_ver", lambda: (libc, "2.36"))
    monkeypatch.setattr(platform, "machine", lambda: machine)
    command = [str(tmp_path / "ziglang" / "zig"), "cc", *options]
    assert load_builder().find_zig() == command
