"""Build the package: libtremolo.so and the program by the project's Makefile, the binding by cffi.

The sources are the project's, one folder up; pip builds in place, so `pip install ./python`
finds them. What the Makefile says about missing Debian packages is passed on as it is. With
TREMOLO_BUILD=FOLDER the library is taken from a folder where it is built already.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
PACKAGE = "tremolo"
LIBRARY = "libtremolo.so.0"


def run_make() -> Path:
    """Build the library and the program, and say where they are."""
    given = os.environ.get("TREMOLO_BUILD")
    if given:
        return Path(given).resolve()
    if not (PROJECT / "Makefile").exists():
        sys.exit(
            f"tremolo: {PROJECT} has no Makefile: the package is built from the project's folder, "
            "pip install ./python; or set TREMOLO_BUILD to a folder with " + LIBRARY
        )
    if shutil.which("make") is None:
        sys.exit("tremolo: there is no make; as root run: apt-get install make")
    # Without the tools for the pages they are left out; a build of its own keeps `make` whole.
    look = [str(PROJECT / "tools" / "setup"), "--look", "web"]
    web = subprocess.run(look, capture_output=True).returncode == 0
    build = PROJECT / "build" if web else PROJECT / "build" / "without-pages"
    options = [f"BUILD={build.relative_to(PROJECT)}", "WEB=" + ("yes" if web else "no")]
    made = subprocess.run(
        ["make", "-C", str(PROJECT), f"-j{os.cpu_count() or 1}", *options,
         f"{build.relative_to(PROJECT)}/tremolo", f"{build.relative_to(PROJECT)}/{LIBRARY}"],
        stderr=subprocess.PIPE, text=True,
    )
    if made.returncode != 0:
        sys.exit("tremolo: the library could not be built:\n" + made.stderr)
    return build


class BuildBinding(build_ext):
    """The binding links the library in its own folder."""

    def run(self) -> None:
        if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
            sys.exit("tremolo: Python's headers are missing; as root run: apt-get install python3-dev")
        build = run_make()
        package = Path(self.build_lib) / PACKAGE
        if self.inplace:
            package = HERE / "src" / PACKAGE
        package.mkdir(parents=True, exist_ok=True)
        shutil.copy2(build / LIBRARY, package / LIBRARY)
        program = build / "tremolo"
        if program.exists():
            shutil.copy2(program, package / "tremolo-program")
        for extension in self.extensions:
            extension.include_dirs += [str(path) for path in sorted(PROJECT.glob("src/*/include"))]
            extension.include_dirs.append(str(PROJECT / "src" / "include"))
            # A struct that grew is compiled again, whatever an earlier build left.
            extension.depends += [str(path) for path in PROJECT.glob("src/**/include/*.h")]
            extension.depends += [str(path) for path in (HERE / "binding").iterdir()]
            extension.extra_link_args += [str(package / LIBRARY), "-Wl,-rpath,$ORIGIN"]
        super().run()


setup(
    version=(PROJECT / "VERSION").read_text().strip() if (PROJECT / "VERSION").exists() else "0",
    cffi_modules=["binding/build.py:ffi"],
    cmdclass={"build_ext": BuildBinding},
    options={"bdist_wheel": {"py_limited_api": "cp39"}},
)
