"""A compiler that is given the wrong options says first, before hundreds of other errors, what cuenv needs; with the
right ones it says nothing.

usage: needs.py INCLUDE NVCC COMPILER OPTION...     NVCC may be empty: then it is not asked
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HEADERS = ["cuenv/cuenv.hpp", "cuenv/diagnose.hpp"]  # between them they include all the others
RIGHT = ["-std=c++17"]
WRONG = {  # options of g++, and a part of the message that they get
    ("-std=c++14",): "cuenv needs C++17 or newer",
    ("-std=c++17", "-fno-exceptions"): "cuenv needs exceptions",
}


def first_error(command):
    """The first error that a compiler reports; None where it compiles."""
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})
    found = re.search(r"^.*\berror: .*$", run.stderr + run.stdout, flags=re.M)
    return found[0] if found else None if run.returncode == 0 else f"status {run.returncode}"


def problems(command, headers):
    """A sentence for each header and options with another first error than they should have."""
    with tempfile.TemporaryDirectory() as folder:
        for header in headers:
            source = Path(folder) / "source.cu"
            source.write_text(f"#include <{header}>\nint main() {{}}\n")
            for options, message in {**WRONG, tuple(RIGHT): None}.items():
                error = first_error([*command(options), str(source)])
                if error != message and (message is None or message not in (error or "")):
                    yield f"{' '.join(options)}, {header}: the first error is: {error}"


def host(compiler, include, others):
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout
    stop = "-ferror-limit=1" if "clang" in version else "-fmax-errors=1"
    return lambda options: [compiler, *options, "-I", include, *others, stop, "-fsyntax-only", "-x", "c++"]


def cuda(nvcc, include):
    """What nvcc hears of its host compiler before it compiles itself; tests/headers has it compile all headers."""
    given = {"-fno-exceptions": "-Xcompiler=-fno-exceptions"}
    return lambda options: [nvcc, *(given.get(one, one) for one in options), "-I", include, "-E", "-o", os.devnull]


def self_test(compiler):
    """The check fails where it should."""
    good = ('#if __cplusplus < 201703L\n#error "cuenv needs C++17 or newer"\n#endif\n'
            '#ifndef __EXCEPTIONS\n#error "cuenv needs exceptions"\n#endif\n')
    with tempfile.TemporaryDirectory() as folder:
        for text, expected in ((good, []), ("", ["-std=c++14", "-fno-exceptions"]), (good + "mistake\n", ["-std=c++17,"]),
                               ('#error "another"\n' + good, ["-std=c++14", "-fno-exceptions", "-std=c++17,"])):
            (Path(folder) / "x.hpp").write_text(text)
            found = list(problems(host(compiler, folder, []), ["x.hpp"]))
            assert len(found) == len(expected) and all(map(str.__contains__, found, expected)), found


def main(include, nvcc, compiler, *others):
    self_test(compiler)
    found = list(problems(host(compiler, include, others), HEADERS))
    if nvcc:
        found += [f"nvcc {problem}" for problem in problems(cuda(nvcc, include), HEADERS)]
    print("\n".join(found) or "both headers say first what cuenv needs")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
