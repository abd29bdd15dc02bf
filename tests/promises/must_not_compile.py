"""Compiles a file of mistakes twice: as it should be, and with MISTAKES. Then the compiler must refuse each line that
is marked "// refused: REASON", by a message that REASON (a regular expression) is in, and no other line.

usage: must_not_compile.py SOURCE COMPILER ARGUMENT...
"""

import os
import re
import subprocess
import sys
from pathlib import Path


def errors_of(command, source):
    """The compiler's exit status, and (line, message) of each error; line 0 for an error in another file."""
    run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"})  # plain quotes
    found = re.findall(r"^(.*?):(\d+):(?:\d+:)? (?:fatal )?error: (.*)$", run.stderr, flags=re.M)
    return run.returncode, [(int(line) if Path(file).name == source.name else 0, text) for file, line, text in found]


def main(source, compiler, *arguments):
    source = Path(source)
    command = [compiler, *arguments, "-fsyntax-only", "-Wno-unused-variable", "-Werror=unused-result", str(source)]
    if "clang" in subprocess.run([compiler, "--version"], capture_output=True, text=True).stdout:
        command.append("-ferror-limit=0")
    marked = {number: line.split("// refused: ")[1]
              for number, line in enumerate(source.read_text().splitlines(), 1) if "// refused: " in line}
    problems = []

    status, errors = errors_of(command, source)
    if status != 0:
        problems += [f"{source.name}:{line}: the right way does not compile: {text}"
                     for line, text in errors or [(0, "")]]

    status, errors = errors_of([*command, "-DMISTAKES"], source)
    for line, reason in marked.items():
        messages = [text for at, text in errors if at == line]
        if not messages:
            problems.append(f"{source.name}:{line}: this compiles")
        elif not any(re.search(reason, text) for text in messages):
            problems.append(f"{source.name}:{line}: refused for another reason than '{reason}': {messages[0]}")
    problems += [f"{source.name}:{line}: {text}" for line, text in errors if line not in marked]

    print(*problems, sep="\n")
    print(f"{len(marked)} mistakes, {len(problems)} problems")
    return 1 if problems or not marked else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
