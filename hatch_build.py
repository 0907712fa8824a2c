"""Compiles the C core when the package is built: by clang or, where there is none, by the one in the package ziglang.

Where neither is to be had, or it fails, the package is built without: its NumPy twins then serve. The variable
CALIBRANT_TARGET names another system to build for, a key of `TARGETS`, which takes ziglang.
"""

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = Path("src", "calibrant", "_core", "c")
FLAGS = ("-std=c11", "-O3", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fvisibility=hidden", "-Wall", "-Wextra")
ONCE = ("level", "windows")
"""Files that are the same for all levels."""
EXACT = ("counts", "isotonic", "sketch")
"""Files whose floating point numbers must be the same on every machine: products are rounded before they are added."""


@dataclass(frozen=True)
class Target:
    """A system to build for.

    Parameters
    ----------
    triple : str
        Its name for the compiler in ziglang.
    tag : str
        Its name in the names of wheels.
    suffix : str
        How the names of its libraries end.
    levels : tuple of str
        Levels of its processors, each of which is compiled for by itself.
    """

    triple: str
    tag: str
    suffix: str
    levels: tuple[str, ...]


_X86, _ANY = ("v1", "v3", "v4"), ("v1",)

# What ziglang links needs no other library, but for that of macOS which everything needs: on Linux it serves with glibc
# and with musl.
TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu", "manylinux_2_17_x86_64.musllinux_1_1_x86_64", "so", _X86),
    "linux-aarch64": Target("aarch64-linux-gnu", "manylinux_2_17_aarch64.musllinux_1_1_aarch64", "so", _ANY),
    "macos-arm64": Target("aarch64-macos.11.0", "macosx_11_0_arm64", "dylib", _ANY),
    "macos-x86_64": Target("x86_64-macos.11.0", "macosx_11_0_x86_64", "dylib", _X86),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64", "dll", _X86),
}
"""Every system that a compiled core is built for."""


class CoreBuildHook(BuildHookInterface):
    """Builds the library before the wheel is put together, and names the wheel after the system."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Ask for ziglang where it is needed, and where there is such a thing."""
        return [] if _target() is None or _clang() else ["ziglang>=0.14"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (part of the contract)
        """Compile."""
        target, root = _target(), Path(self.root)
        if self.target_name != "wheel" or target is None:
            return
        library = root / FOLDER / f"core.{target.suffix}"
        for old in library.parent.glob("core.*"):
            old.unlink()
        try:
            _build(target, library)
        except (OSError, subprocess.CalledProcessError) as error:
            self.app.display_warning(f"calibrant is built without its compiled core: {error}")
            return
        build_data["artifacts"].append(str(library.relative_to(root)))
        build_data["pure_python"] = False
        # What clang links needs this system's own libraries.
        own = f"{sys.platform}_{platform.machine()}".lower()
        build_data["tag"] = f"py3-none-{own if _clang() else target.tag}"


def _target() -> Target | None:
    """Return the system to build for, or None if it is not one of ours."""
    machine = platform.machine().lower().replace("amd64", "x86_64")
    system = {"darwin": "macos", "win32": "windows"}.get(sys.platform, sys.platform)
    return TARGETS.get(os.environ.get("CALIBRANT_TARGET") or f"{system}-{machine}")


def _clang() -> str | None:
    """Return clang, unless there is none or it would have to build for another system."""
    is_foreign = sys.platform == "win32" or os.environ.get("CALIBRANT_TARGET")
    return None if is_foreign else shutil.which("clang")


def _build(target: Target, library: Path) -> None:
    """Compile every file once per level, and link all of them."""
    with tempfile.TemporaryDirectory() as folder:
        # Ziglang keeps a cache.
        environment = os.environ | dict.fromkeys(("ZIG_GLOBAL_CACHE_DIR", "ZIG_LOCAL_CACHE_DIR"), folder)

        def run(*arguments: str) -> None:
            subprocess.run([*_compiler(target), *FLAGS, *arguments], env=environment, check=True)  # noqa: S603 (our own)

        def compiled(source: Path, level: str) -> str:
            result = f"{folder}/{source.stem}-{level}.o"
            rounding = ["-ffp-contract=off"] if source.stem in EXACT else []
            run(*_processor(target, level), *rounding, f"-DLEVEL={level}", "-c", str(source), "-o", result)
            return result

        jobs = [(source, level) for source in sorted(library.parent.glob("*.c")) for level in target.levels]
        jobs = [(source, level) for source, level in jobs if source.stem not in ONCE or level == "v1"]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(lambda job: compiled(*job), jobs))
        options = [*(["-s"] if target.suffix == "so" else []), *([] if _clang() else ["-nostdlib"])]
        # Linked here, as for Windows a second file is written beside the library.
        linked = f"{folder}/{library.name}"
        run(*_processor(target, "v1"), "-shared", *options, "-o", linked, *objects)
        shutil.copy(linked, library)


def _compiler(target: Target) -> list[str]:
    clang = _clang()
    return [clang] if clang else [sys.executable, "-m", "ziglang", "cc", "-target", target.triple]


def _processor(target: Target, level: str) -> list[str]:
    """Return the option for a level; processors of other families have one."""
    if len(target.levels) == 1:
        return []
    name = {"v1": "x86-64", "v3": "x86-64-v3", "v4": "x86-64-v4"}[level]
    return [f"-march={name}"] if _clang() else [f"-mcpu={name.replace('-', '_')}"]
