"""Each code of a finding is provoked by a test that names it; those of the diagnosis are spared by another.

usage: findings.py REPOSITORY

A code is `area.what_is_wrong`: every string of the headers with that form is one, whatever its area, but for those in
NO_CODES. What has another form and stands where a code does is noticed as well.
"""

import re
import sys
from pathlib import Path

from headers import replace_tokens, stale

CODE = r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*"

# Strings of the form of a code that are none: libraries and file systems.
NO_CODES = set("""libcuda.so libtorch_cuda.so libtorch_cuda_cpp.so libtorch_cuda_cu.so nvcuda.dll nvml.dll
    fuse.ceph fuse.gcsfuse fuse.glusterfs fuse.juicefs fuse.s3fs fuse.sshfs""".split())


def without_comments(text):
    return replace_tokens(lambda match: match[0] if match[0][0] in "R\"'" else " ", text)


def strings_of(text):
    found = []
    replace_tokens(lambda match: found.append(match[0][1:-1]) if match[0][0] == '"' else "", text)
    return found


def codes_of(headers):
    return {string for string in strings_of(headers) if re.fullmatch(CODE, string)} - NO_CODES


def misshapen(headers):
    """A sentence for each string that stands behind a severity, or is assigned to a code, and does not look like one."""
    code = without_comments(headers)
    for string in re.findall(r'(?:Severity::\w+,|\bcode =)\s*"((?:\\.|[^"\\])*)"', code):
        if not re.fullmatch(CODE, string) or string in NO_CODES:
            yield f'"{string}" stands where a code does, and has not the form area.what_is_wrong'


def untested(headers, tests):
    """A sentence for each code of the headers' text that no test names, or that there are none."""
    codes = codes_of(headers)
    if not codes:
        yield "the headers have no finding"
    # What a test says is not there was not provoked.
    said = re.sub(r'\b(?:CHECK_FALSE|REQUIRE_FALSE|spares)\([^;]*;|!= "[^"]*"', "", without_comments(tests))
    named = set(re.findall(rf"(?<![\w.]){CODE}(?![\w.])", " ".join(strings_of(said))))
    for code in sorted(codes - named):
        yield f"no test names {code}"


def not_on_both_sides(headers, tests):
    """A sentence for each code of the diagnosis without a test of either kind, or that there are none."""
    codes = codes_of(headers)
    if not codes:
        yield "the diagnosis has no finding"
    for word in ("provokes", "spares"):
        tested = set(re.findall(rf'\b{word}\([^;]*?"({CODE})"', without_comments(tests)))
        for code in sorted(codes - tested):
            yield f"no test {word} {code}"


def self_test():
    """Each check fails where it should."""
    def same(found, *expected):
        assert list(found) == list(expected), list(found)

    diagnosis = '{Severity::error, "gpu.none"}, find("start.no_answer")'
    good = 'CHECK(provokes(report, "gpu.none")); CHECK(spares(a(b), "gpu.none"));'
    same(not_on_both_sides('"gpu.none"', good))
    same(not_on_both_sides(diagnosis, good), "no test provokes start.no_answer", "no test spares start.no_answer")
    same(not_on_both_sides('"gpu.none"', "// " + good), "no test provokes gpu.none", "no test spares gpu.none")
    same(not_on_both_sides("", good), "the diagnosis has no finding")

    headers = 'return "a.b"; /* "a.c" */ auto x = {1\'000, R"("a.d")", \'"\', "new_area.x_1"};  // "a.e"'
    same(untested(headers, 'CHECK(x.code == "a.b"); CHECK(after(x) == "refused: new_area.x_1");'))
    same(untested(headers, '#include "a.b"\n// "a.b"\nx.a.b(); "a.b_c", "c_a.b", "new_area.x_1.y"'),
         "no test names a.b", "no test names new_area.x_1")
    for absent in ('CHECK_FALSE(has(x, "a.b"));', 'CHECK(spares(x, "a.b"));', 'CHECK(x.code != "a.b");'):
        same(untested('"a.b"', absent), "no test names a.b")
    same(untested('"libcuda.so", "12.4", "A.b", "a.b c", "4.4."', ""), "the headers have no finding")

    same(misshapen('{Severity::error, "a.b"} finding.code = "a.c"; {Severity::note, code, "A b"} // code = "A"'))
    for string in ("nonsense", "a.b.c", "A.b", "", "libcuda.so"):
        sentence = f'"{string}" stands where a code does, and has not the form area.what_is_wrong'
        same(misshapen(f'{{Severity::error,\n  "{string}"}}'), sentence)
        same(misshapen(f'finding.code = "{string}";'), sentence)


def text_of(folder, pattern):
    return "\n".join(path.read_text() for path in sorted(folder.rglob(pattern)))


def main(repository):
    self_test()
    root = Path(repository)
    headers = text_of(root / "include/cuenv", "*.hpp")
    tests = text_of(root / "tests/cuenv", "*.test.cpp") + text_of(root / "tests/process", "*.cpp")
    problems = [*stale("NO_CODES", NO_CODES, set(strings_of(headers))), *misshapen(headers), *untested(headers, tests),
                *not_on_both_sides(text_of(root / "include/cuenv/diagnosis", "*.hpp"),
                                   text_of(root / "tests/cuenv/diagnosis", "*.test.cpp"))]
    print("\n".join(problems) or f"each of {len(codes_of(headers))} findings is provoked; the diagnosis spares, too")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
