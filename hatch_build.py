"""Builds the compiled library into the package: for wheels, editable installs and by itself.

`python hatch_build.py` builds it in place. The compiler is $CC, or cc, gcc or clang if there is
one; else pip's package ziglang, which pip fetches by itself where it builds the package. It is
asked what it compiles for, which may be another machine, and takes $CPPFLAGS, $CFLAGS, $LDFLAGS
and, on macOS, $ARCHFLAGS.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import runpy
import shlex
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

ROOT = Path(__file__).parent
FOLDER = ROOT / "src" / "fcgboost" / "_kernels"
# No flag depends on the machine that builds, and none lets sums be reordered, whatever the
# environment's flags say, which come before.
FLAGS = (
    *("-std=gnu99", "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-pthread"),
    *("-fno-fast-math", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=off"),
)
# Libraries by name, and what they are built for.
BUILDS = {"kernels": (), "kernels_v3": ("-mavx2", "-mbmi", "-mbmi2", "-mfma")}
# Processors whose name in tags is that in a compiler's target.
_MACHINES = ("aarch64", "x86_64")
# The first macOS for Apple's own processors.
_FIRST_ARM = (11, 0)


class Target(NamedTuple):
    """What is compiled for: a system and its processors, several only on macOS."""

    system: str
    machines: tuple[str, ...]

    @classmethod
    def of(cls, compiler: Sequence[str]) -> Target:
        """Ask a compiler."""
        command = [*compiler, *flags_of("CFLAGS"), "-dumpmachine"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        machine, _, rest = done.stdout.strip().partition("-")
        if not rest:
            raise RuntimeError(
                f"fcgboost needs a C compiler like gcc or clang: {shlex.join(command)} tells no "
                "target. Set the environment variable CC to another one."
            )
        if "windows" in rest or "mingw" in rest:
            return cls("windows", (machine,))
        if "darwin" in rest or "macos" in rest:
            found = re.findall(r"-arch\s+(\S+)", os.environ.get("ARCHFLAGS", "")) or [machine]
            machines = {machine.replace("aarch64", "arm64") for machine in found}
            return cls("macos", tuple(sorted(machines)))
        return cls("linux" if "linux" in rest else rest, (machine,))

    @property
    def suffix(self) -> str:
        return ".dll" if self.system == "windows" else ".so"

    @property
    def has_x86(self) -> bool:
        return "x86_64" in self.machines

    @property
    def builds(self) -> list[str]:
        """The names of the libraries that can be built."""
        return [name for name, flags in BUILDS.items() if self.has_x86 or not flags]

    def flags(self, name: str) -> list[str]:
        """Return the flags of a library."""
        flags = list(BUILDS[name])
        if self.system == "windows":
            flags.append("-s")  # without what a debugger needs
        if self.system == "macos":
            major, minor = self.macos_version()
            flags.append(f"-mmacosx-version-min={major}.{minor}")
        if flags_of("ARCHFLAGS") and self.system == "macos":
            machines = ("x86_64",) if BUILDS[name] else self.machines
            flags += [word for machine in machines for word in ("-arch", machine)]
        return flags

    def macos_version(self) -> tuple[int, int]:
        """Return the oldest macOS that is to run the library."""
        text = os.environ.get("MACOSX_DEPLOYMENT_TARGET", "")
        found = re.match(r"(\d+)(?:\.(\d+))?", text)
        found = found or re.match(r"macosx-(\d+)\.(\d+)", sysconfig.get_platform())
        version = (int(found[1]), int(found[2] or 0)) if found else _FIRST_ARM
        return version if self.has_x86 else max(version, _FIRST_ARM)

    @property
    def tag(self) -> str:
        """The platform of a wheel."""
        machine = self.machines[0]
        if self.system == "windows":
            return {"x86_64": "win_amd64", "aarch64": "win_arm64"}.get(machine, "win32")
        if self.system == "macos":
            major, minor = self.macos_version()
            what = "universal2" if len(self.machines) > 1 else machine
            return f"macosx_{major}_{minor if major < 11 else 0}_{what}"
        if self.system == "linux" and machine in _MACHINES:
            return f"linux_{machine}"
        return sysconfig.get_platform().replace("-", "_").replace(".", "_")


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
        target = build_kernels()
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{target.tag}"
        for name in target.builds:
            build_data["artifacts"].append(f"src/fcgboost/_kernels/{name}{target.suffix}")


class LinksHook(MetadataHookInterface):
    """Gives the package its links, and the README as text for PyPI."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Set both, by the address in pyproject.toml."""
        address = str(self.config["address"]).rstrip("/")
        readme = (ROOT / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_address(readme, address),
        }
        metadata["urls"] = urls_of(address)


def urls_of(address: str) -> dict[str, str]:
    """Return the links of the package; none without an address."""
    if not address:
        return {}
    return {
        "Homepage": address,
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }


def with_address(text: str, address: str) -> str:
    """Return Markdown with relative links made absolute, or without them if there is no address."""
    relative = r"\[([^\]]*)\]\((?!\w+:)([^)\s]+)\)"
    if not address:
        text = re.sub(r" \(\[more\]\([^)]*\)\)", "", text)
        # A caption follows its picture.
        text = re.sub(rf"^!{relative}\n\n\*.*?\*\n\n", "", text, flags=re.MULTILINE | re.DOTALL)
        return re.sub(relative, r"\1", text)
    text = re.sub(rf"!{relative}", rf"![\1]({address}/raw/main/\2)", text)
    return re.sub(rf"(?<!!){relative}", rf"[\1]({address}/blob/main/\2)", text)


def flags_of(variable: str) -> list[str]:
    """Return the flags in an environment variable."""
    return shlex.split(os.environ.get(variable, ""), posix=os.name == "posix")


def find_compiler() -> list[str] | None:
    """Return the command of a C compiler; None if there is none."""
    if flags_of("CC"):
        return flags_of("CC")
    # On Windows they lack threads, or bring another library, and gcc misplaces wide vectors.
    names = () if os.name == "nt" else ("cc", "gcc", "clang")
    found = next(filter(None, map(shutil.which, names)), None)
    return None if found is None else [found]


def find_zig() -> list[str] | None:
    """Return the command of pip's ziglang; None if it is not installed."""
    package = importlib.util.find_spec("ziglang")
    if package is None or not package.submodule_search_locations:
        return None
    command = [str(Path(package.submodule_search_locations[0]) / "zig"), "cc"]
    machine = platform.machine()
    # An old glibc serves newer ones, too; other systems have a single C library.
    if platform.libc_ver()[0] == "glibc" and machine in _MACHINES:
        command += ["-target", f"{machine}-linux-gnu.2.17"]
    return command


def build_kernels(folder: Path = FOLDER, more_flags: Sequence[str] = ()) -> Target:
    """Build the library into a folder; return what for."""
    compiler = find_compiler() or find_zig()
    if compiler is None:
        raise RuntimeError(
            "fcgboost needs a C compiler to be built: install one, or run "
            "python -m pip install ziglang."
        )
    target = Target.of(compiler)
    sources = sorted(map(str, FOLDER.glob("*.c")))
    for name in target.builds:
        command = [
            *compiler,
            *flags_of("CPPFLAGS"),
            *flags_of("CFLAGS"),
            *FLAGS,
            *target.flags(name),
            *more_flags,
            f'-DFCG_SOURCE_HASH="{source_hash()}"',
            *sources,
            *flags_of("LDFLAGS"),
            "-lm",
        ]
        # Some compilers write more than the library.
        with tempfile.TemporaryDirectory(dir=folder, prefix=".") as room:
            made = Path(room) / f"{name}{target.suffix}"
            subprocess.run([*command, "-o", str(made)], check=True)
            made.replace(folder / made.name)
    return target


def source_hash() -> str:
    """Return the hash of the sources, as the package computes it."""
    return str(runpy.run_path(str(FOLDER / "sources.py"))["source_hash"]())


if __name__ == "__main__":
    build_kernels()
