"""Builds the compiled library into the package: for wheels, editable installs and by itself.

`python hatch_build.py` builds it in place. The compiler is $CC, or cc, gcc or clang if there is
one; else pip's package ziglang, which pip fetches by itself where it builds the package.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path(__file__).parent / "src" / "fcgboost" / "_kernels"
# No flag depends on the machine that builds, and none lets sums be reordered.
FLAGS = (
    *("-std=gnu99", "-O3", "-fPIC", "-shared", "-fvisibility=hidden"),
    *("-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"),
)
# Libraries by name, and what they are built for.
BUILDS = {"kernels": (), "kernels_v3": ("-mavx2", "-mbmi", "-mbmi2", "-mfma")}


class KernelsHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds the library before files are collected."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for a compiler where there is none."""
        return [] if find_compiler() or self.target_name != "wheel" else ["ziglang>=0.13"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build, and say that the wheel is for this platform."""
        if self.target_name != "wheel":
            return
        build_kernels()
        build_data["pure_python"] = False
        tag = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{tag}"
        build_data["artifacts"].append("src/fcgboost/_kernels/*.so")


def find_compiler() -> list[str] | None:
    """Return the command of a C compiler; None if there is none."""
    if os.environ.get("CC"):
        return shlex.split(os.environ["CC"])
    found = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return None if found is None else [found]


def find_zig() -> list[str] | None:
    """Return the command of pip's ziglang; None if it is not installed."""
    package = importlib.util.find_spec("ziglang")
    if package is None or not package.submodule_search_locations:
        return None
    target = ["-target", f"{platform.machine()}-linux-gnu.2.17"]
    command = [str(Path(package.submodule_search_locations[0]) / "zig"), "cc"]
    return [*command, *(target if sys.platform == "linux" else [])]


def build_kernels(folder: Path = FOLDER, more_flags: Sequence[str] = ()) -> None:
    """Build the library into a folder."""
    compiler = find_compiler() or find_zig()
    if compiler is None:
        raise RuntimeError(
            "fcgboost needs a C compiler to be built: install one, or run "
            "python -m pip install ziglang."
        )
    is_x86 = platform.machine().lower() in ("x86_64", "amd64")
    sources = sorted(map(str, FOLDER.glob("*.c")))
    for name, flags in BUILDS.items():
        if flags and not is_x86:
            continue
        made = folder / f".{name}.{os.getpid()}"
        command = [*compiler, *FLAGS, *flags, *more_flags, f'-DFCG_SOURCE_HASH="{source_hash()}"']
        try:
            subprocess.run([*command, *sources, "-lm", "-o", str(made)], check=True)
            made.replace(folder / f"{name}.so")
        finally:
            made.unlink(missing_ok=True)


def source_hash() -> str:
    """Return the hash of the sources, as the package computes it."""
    return str(runpy.run_path(str(FOLDER / "sources.py"))["source_hash"]())


if __name__ == "__main__":
    build_kernels()
