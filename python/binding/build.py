"""The binding: cffi compiles what declarations.cffi says against the project's headers.

Structs are declared in part ("...;"): the C compiler lays them out, so a changed header gives
an error at build time and never a wrong offset at run time. Every call releases the GIL.
"""

from pathlib import Path

from cffi import FFI

HERE = Path(__file__).resolve().parent

ffi = FFI()
ffi.cdef((HERE / "declarations.cffi").read_text())
ffi.set_source(
    "tremolo._binding",
    (HERE / "work.c").read_text(),
    py_limited_api=True,
    extra_compile_args=["-std=c11", "-D_GNU_SOURCE"],
)
