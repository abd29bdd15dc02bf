"""Each finding of the diagnosis has a test that provokes it and one that is spared.

usage: findings.py REPOSITORY
"""

import re
import sys
from pathlib import Path

RUNGS = "gpu|driver|toolkit|gpu_code|jit_cache|surroundings|framework|process|start"


def untested(headers, tests):
    """A sentence for each code of the headers' text without a test of either kind, or that there are none."""
    codes = set(re.findall(rf'"((?:{RUNGS})\.[a-z0-9_]+)"', headers))
    if not codes:
        yield "the headers have no finding"
    for word in ("provokes", "spares"):
        tested = set(re.findall(rf'{word}\([^;]*?"([a-z0-9_]+\.[a-z0-9_]+)"', tests))
        for code in sorted(codes - tested):
            yield f"no test {word} {code}"


def text_of(folder, pattern):
    return "".join(path.read_text() for path in sorted(folder.glob(pattern)))


def self_test():
    """The check fails where it should."""
    headers = '{"gpu.none", "start.no_answer"}'
    good = 'CHECK(provokes(report, "gpu.none")); CHECK(spares(a(b), "gpu.none"));'
    assert list(untested('"gpu.none"', good)) == []
    assert list(untested(headers, good)) == ["no test provokes start.no_answer", "no test spares start.no_answer"]
    assert list(untested("", good)) == ["the headers have no finding"]


def main(repository):
    self_test()
    root = Path(repository)
    problems = list(untested(text_of(root / "include/cuenv/diagnosis", "*.hpp"),
                             text_of(root / "tests/cuenv/diagnosis", "*.test.cpp")))
    print("\n".join(problems) or "each finding is provoked and spared")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
