"""Mistakes that are none, and more: must_not_compile.py must notice. usage: must_not_compile_test.py COMPILER"""

import contextlib
import io
import sys
import tempfile
import unittest
from pathlib import Path

import must_not_compile

COMPILER = sys.argv.pop(1)


class MustNotCompile(unittest.TestCase):
    def check(self, source, status, output):
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as printed:
            path = Path(folder) / "mistakes.cpp"
            path.write_text(source + "\n")
            self.assertEqual(status, must_not_compile.main(path, COMPILER, "-std=c++17"))
        self.assertRegex(printed.getvalue(), output)

    def with_mistake(self, line):
        return f"#ifdef MISTAKES\n{line}\n#endif"

    def test_a_mistake(self):
        self.check(self.with_mistake("int* p = 1.5;  // refused: cannot"), 0, "1 mistakes, 0 problems")

    def test_a_mistake_that_compiles(self):
        self.check(self.with_mistake("int n = 1.5;  // refused: cannot convert"), 1, "mistakes.cpp:2: this compiles")

    def test_another_reason(self):
        self.check(self.with_mistake("int* p = 1.5;  // refused: deleted"), 1,
                   "mistakes.cpp:2: refused for another reason")

    def test_an_error_that_is_not_marked(self):
        self.check(self.with_mistake("int* p = 1.5;  // refused: cannot\nint* q = 2.5;"), 1, "mistakes.cpp:3: ")

    def test_a_right_way_that_does_not_compile(self):
        self.check("int* q = 2.5;\n" + self.with_mistake("int* p = 1.5;  // refused: cannot"), 1,
                   "mistakes.cpp:1: the right way does not compile")

    def test_no_mistakes(self):
        self.check("int n = 1;", 1, "0 mistakes")


if __name__ == "__main__":
    unittest.main()
