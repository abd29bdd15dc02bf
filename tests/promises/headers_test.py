"""Breaks each promise of headers.py on purpose, and sees that it is noticed: a check that cannot fail is none."""

import unittest

import headers as rules


def header(name, body):
    guard = "CUENV_" + name.replace("/", "_").replace(".", "_").upper()
    return f"#ifndef {guard}\n#define {guard}\n{body}#endif  // {guard}\n"


GOOD = {
    "version.hpp": "#define CUENV_VERSION_MAJOR 0\n",
    "cuenv.hpp": "#include <cuenv/gpu.hpp>\n#include <cuenv/system.hpp>\n#include <cuenv/version.hpp>\n",
    "detail/text.hpp": "#include <cuenv/version.hpp>\n",
    "gpu.hpp": """#include <cuenv/detail/text.hpp>
#include <string_view>
/// A GPU. It says "printf(" and static words only here.
struct Gpu {
  static constexpr int size = 1'000;
  [[nodiscard]] static Gpu of(int index) { return {}; }
  auto add = [count = 0](int by) mutable { return count + by; };
};
[[nodiscard]] constexpr bool operator==(Gpu a, Gpu b) noexcept { return true; }
/// A number.
template <class T>
[[nodiscard]] inline T number_of(Gpu const& gpu) { return print_nothing("exit(1)"); }
inline int number_of(int gpu) { return gpu; }
inline int Gpu::number() { return 1; }
inline constexpr int most = 3;  ///< Most.
""",
    "system.hpp": """#ifdef _WIN32
#endif
inline namespace v0_1 {}
namespace detail {
inline InitHistory& init_history() {
  static InitHistory history;
}
}  // namespace detail
""",
}


def cmake_of(names):
    return "FILES\n" + "".join(f"  include/cuenv/{name}\n" for name in sorted(names)) + ")\n"


class Promises(unittest.TestCase):
    def setUp(self):
        self.table = rules.LAYERS
        rules.LAYERS = {"version": "version.hpp", "basis": "detail/text.hpp", "words": "gpu.hpp",
                        "system": "system.hpp", "whole": "cuenv.hpp"}

    def tearDown(self):
        rules.LAYERS = self.table

    def sentences(self, changes, cmake=None):
        bodies = {name: body for name, body in {**GOOD, **changes}.items() if body is not None}
        texts = {name: header(name, body) for name, body in bodies.items()}
        found = rules.broken(texts, cmake or cmake_of(texts))
        return [f"{promise.__name__}: {sentence}" for promise, sentence in found]

    def breaks_in_detail(self, sentence, code):
        self.breaks(sentence, {"gpu.hpp": f"namespace detail {{\n{code}\n}}  // namespace detail\n"})

    def breaks(self, sentence, changes, cmake=None):
        found = self.sentences(changes, cmake)
        self.assertEqual(1, len([line for line in found if sentence in line]), found)

    def test_good_headers_keep_every_promise(self):
        self.assertEqual([], self.sentences({}))

    def test_layers(self):
        self.breaks("layers: detail/text.hpp (basis) includes gpu.hpp (words)",
                    {"detail/text.hpp": "#include <cuenv/gpu.hpp>\n"})
        self.breaks("layers: a circle: gpu.hpp > gpu.hpp", {"gpu.hpp": "#include <cuenv/gpu.hpp>\n"})
        self.breaks("layers: gpu.hpp includes other.hpp, which is not there",
                    {"gpu.hpp": "#include <cuenv/other.hpp>\n"})
        self.breaks("layers: new.hpp is in no layer", {"new.hpp": ""})
        self.breaks("layers: gpu.hpp is in LAYERS and is not there", {"gpu.hpp": None})
        rules.LAYERS["words"] = "gpu.hpp error.hpp"
        self.breaks("layers: a circle: gpu.hpp > error.hpp > gpu.hpp",
                    {"error.hpp": "#include <cuenv/gpu.hpp>\n", "gpu.hpp": "#include <cuenv/error.hpp>\n"})

    def test_umbrella(self):
        all_of_them = GOOD["cuenv.hpp"]
        self.breaks("umbrella: cuenv.hpp lacks gpu.hpp", {"cuenv.hpp": "#include <cuenv/version.hpp>\n"})
        self.breaks("umbrella: cuenv.hpp should not include detail/text.hpp",
                    {"cuenv.hpp": "#include <cuenv/detail/text.hpp>\n" + all_of_them})
        self.breaks("umbrella: cuenv.hpp should not include cudart.hpp",
                    {"cuenv.hpp": "#include <cuenv/cudart.hpp>\n" + all_of_them, "cudart.hpp": ""})
        self.breaks("umbrella: the includes of cuenv.hpp are not sorted",
                    {"cuenv.hpp": all_of_them + "#include <cuenv/gpu.hpp>\n"})

    def test_file_set(self):
        self.breaks("file_set: CMakeLists.txt lacks include/cuenv/gpu.hpp", {}, cmake_of(GOOD.keys() - {"gpu.hpp"}))
        self.breaks("file_set: CMakeLists.txt lists without need include/cuenv/old.hpp", {},
                    cmake_of([*GOOD, "old.hpp"]))
        self.breaks("file_set: the headers in CMakeLists.txt are not sorted", {}, cmake_of([*GOOD, "gpu.hpp"]))

    def test_guards(self):
        texts = {name: header(name, body) for name, body in GOOD.items()}
        texts["gpu.hpp"] = texts["gpu.hpp"].replace("CUENV_GPU_HPP", "GPU_HPP")
        self.assertEqual(["gpu.hpp does not start with the guard CUENV_GPU_HPP"], list(rules.guards(texts, "")))

    def test_length(self):
        self.breaks("length: gpu.hpp has 400 lines", {"gpu.hpp": "\n" * 397})
        self.assertEqual([], self.sentences({"gpu.hpp": "\n" * 396}))

    def test_cheap_includes(self):
        for include in rules.FORBIDDEN_INCLUDES:
            self.breaks(f"cheap_includes: gpu.hpp includes <{include}>", {"gpu.hpp": f"#include <{include}>\n"})

    def test_platform(self):
        self.breaks("platform: gpu.hpp depends on the system by _WIN32", {"gpu.hpp": "#if defined(_WIN32)\n#endif\n"})
        self.breaks("platform: gpu.hpp depends on the system by unistd.h", {"gpu.hpp": "#include <unistd.h>\n"})
        self.breaks("platform: PLATFORM_HEADERS allows system.hpp what it does not use",
                    {"system.hpp": "static InitHistory h;\n"})

    def test_macros(self):
        self.breaks("macros: gpu.hpp:3: the macro HELPER is left behind", {"gpu.hpp": "#define HELPER(x) x\n"})
        self.assertEqual([], self.sentences({"gpu.hpp": "#define HELPER(x) x\n#undef HELPER\n"}))

    def test_quiet(self):
        for call in ["std::printf(1)", "std::cerr << 1", "std::exit(1)", "std::abort()", "std::terminate()",
                     "assert(x)", "::execve(a)", "::fwrite(a)", "std::puts(a)"]:
            self.breaks_in_detail("quiet: gpu.hpp:4: ", f"inline void f() {{ {call}; }}")
        self.breaks("quiet: LOUD allows ('child_environment.hpp', 'execve')", {"child_environment.hpp": ""})

    def test_stateless(self):
        for state in ["static int count = 0;", "static std::string const name{driver()};", "thread_local int x;",
                      "static Table table;"]:
            self.breaks_in_detail("stateless: gpu.hpp:4: ", f"inline void f() {{ {state} }}")
        self.breaks_in_detail("stateless: gpu.hpp:4: ", "inline int count = 0;")
        self.breaks_in_detail("stateless: gpu.hpp:4: ", "struct A { mutable int count; };")
        self.breaks("stateless: STATE allows ('system.hpp', 'InitHistory')", {"system.hpp": "#ifdef _WIN32\n#endif\n"})

    def test_documented(self):
        for name, text in {
            "Bare": "struct Bare {\n};\n",
            "Kind": "enum class Kind { a };\n",
            "N": "using N = int;\n",
            "V": "template <class T>\nclass V {\n};\n",
            "f": "inline int f() {}\n",
            "g": "template <class T>\n[[nodiscard]] T g(T x) {\n}\n",
            "h": "std::string h(int x);\n",
            "most": "inline constexpr int most = 1;\n",
            "ones": "inline constexpr Row ones[] = {1};\n",
        }.items():
            self.breaks(f"documented: gpu.hpp:3: {name} has no /// comment", {"gpu.hpp": text})
            self.assertEqual([], self.sentences({"gpu.hpp": "/// It.\n" + text}))
        hidden = "struct Later;\nnamespace detail {\nint f();\n}  // namespace detail\n"
        self.assertEqual([], self.sentences({"gpu.hpp": hidden}))


if __name__ == "__main__":
    unittest.main()
