"""What cuenv promises about its headers, read from their text.

usage: headers.py REPOSITORY

Each promise is a function that yields a sentence for each place where it is broken; its first line says what it is. A
list of exceptions stands beside the promise that it is for, each with its reason. headers_test.py breaks every one.
"""

import re
import sys
from pathlib import Path

# The map of the library. A header includes headers of its own layer and of those above it in this list.
LAYERS = {
    "version": "version.hpp",
    "basis": """detail/bytes.hpp detail/files.hpp detail/search.hpp detail/shared_library.hpp detail/text.hpp
        detail/utf16.hpp detail/windows.hpp""",
    "words": "cuda_version.hpp diagnostic.hpp error.hpp gpu.hpp image.hpp result_code.hpp variable.hpp",
    "system": "detail/file.hpp device_map.hpp driver.hpp environment.hpp machine.hpp nvml.hpp system.hpp",
    "GPU code": """detail/archive.hpp detail/compat_note.hpp detail/cubin.hpp detail/elf.hpp detail/elf_dynamic.hpp
        detail/fatbin.hpp detail/host_code.hpp detail/image_walk.hpp detail/packed.hpp detail/pe.hpp detail/ptx.hpp
        gpu_code_rules.hpp gpu_generations.hpp inspect.hpp judge.hpp service.hpp verdict.hpp verdict_text.hpp""",
    "variables": """explain.hpp explain_visibility.hpp jit_cache.hpp local_rank.hpp mps.hpp mps_values.hpp names.hpp
        plan.hpp settings.hpp this_machine.hpp values.hpp variables.hpp visibility.hpp visible_devices.hpp""",
    "session": """child_environment.hpp detail/session_start.hpp load.hpp program.hpp rank_devices.hpp report.hpp
        session.hpp""",
    "diagnosis": "diagnose.hpp diagnosis/*",
    "whole": "cuenv.hpp cudart.hpp nlohmann_json.hpp",
}

# Not in cuenv.hpp: they need more than the standard library and cuda.h.
ADAPTERS = {"cudart.hpp", "nlohmann_json.hpp"}
DIAGNOSIS = ("diagnose.hpp", "diagnosis/")  # not in the umbrella: it would double the time to compile it

# Each costs every translation unit that includes cuenv a quarter of a second or brings streams in.
FORBIDDEN_INCLUDES = {"filesystem", "fstream", "functional", "iostream", "istream", "ostream", "regex",
                      "sstream"}

MOST_LINES = 399

# What differs between systems is here and nowhere else.
PLATFORM_HEADERS = {
    "child_environment.hpp": "how a program starts itself anew",
    "cudart.hpp": "the CUDA runtime's own header, for an adapter of it",
    "detail/file.hpp": "reading a file in place",
    "detail/files.hpp": "small files, folders and links",
    "detail/shared_library.hpp": "loading libraries",
    "detail/windows.hpp": "everything that is asked of Windows",
    "diagnosis/*": "a rung says what it cannot look at on this system",
    "driver.hpp": "the name of the driver's library, and cuda.h",
    "environment.hpp": "the process environment and its threads",
    "jit_cache.hpp": "where the cache is, and whether it can be written",
    "nvml.hpp": "the name of NVML's library",
    "program.hpp": "the libraries of this program",
    "system.hpp": "the number of this process",
}

# What prints, ends or replaces the process.
LOUD = {
    ("child_environment.hpp", "execve"): "restart_with is asked for by name",
    ("diagnosis/start.hpp", "_exit"): "ends the child that it has forked",
}

# State that outlives a call.
STATE = {
    ("system.hpp", "InitHistory"): "what this process has seen of CUDA's start; of the driver's answers it keeps none",
    ("child_environment.hpp", "variables_"): "an Environment is set through a const reference, as the process's is",
}


# A comment, a string or a character of C++.
TOKEN = r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''


def replace_tokens(replacement, text):
    """The text with each TOKEN replaced, where `replacement` takes its match. An #include has no string."""
    digits = re.sub(r"(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", "", text)  # 1'000
    include = re.sub(r'^#include "(.*)"', r"#include <\1>", digits, flags=re.M)
    return re.sub(TOKEN, replacement, include, flags=re.S)


def code_of(text):
    """The text without comments, strings and characters; its lines stay where they are."""
    return replace_tokens(lambda match: " " + "\n" * match[0].count("\n"), text)


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def includes_of(text):
    """The name of each included header, "cuenv/" left on those of cuenv."""
    return re.findall(r"^\s*#\s*include\s*[<\"]([^>\"]+)", text, flags=re.M)


def own_includes_of(text):
    return [name[len("cuenv/"):] for name in includes_of(text) if name.startswith("cuenv/")]


def folder_of(name):
    """"diagnosis/*" for diagnosis/site.hpp: a table may name all headers of a folder."""
    return name.split("/")[0] + "/*"


def layer_of(name):
    for number, members in enumerate(LAYERS.values()):
        if {name, folder_of(name)} & set(members.split()):
            return number
    return None


def layers(headers, cmake):
    """Includes point to the same layer or to one above it in the table, and never in a circle."""
    names = list(LAYERS)
    for name, text in headers.items():
        if layer_of(name) is None:
            yield f"{name} is in no layer: give it one in LAYERS"
        for other in own_includes_of(text):
            if other not in headers:
                yield f"{name} includes {other}, which is not there"
            elif None not in (layer_of(name), layer_of(other)) and layer_of(other) > layer_of(name):
                yield f"{name} ({names[layer_of(name)]}) includes {other} ({names[layer_of(other)]})"
    for member in " ".join(LAYERS.values()).split():
        if member not in headers and not member.endswith("/*"):
            yield f"{member} is in LAYERS and is not there"

    seen = {}

    def circle(name, path):
        if name in path:
            yield "a circle: " + " > ".join([*path[path.index(name):], name])
        elif name not in seen:
            for other in own_includes_of(headers.get(name, "")):
                yield from circle(other, [*path, name])
            seen[name] = True

    for name in headers:
        yield from circle(name, [])


def umbrella(headers, cmake):
    """cuenv.hpp includes every public header but the adapters and the diagnosis, once and in order."""
    wanted = {name for name in headers if not name.startswith(("detail/", *DIAGNOSIS))} - ADAPTERS - {"cuenv.hpp"}
    found = own_includes_of(headers["cuenv.hpp"])
    for name in sorted(wanted ^ set(found)):
        yield f"cuenv.hpp {'lacks' if name in wanted else 'should not include'} {name}"
    if found != sorted(set(found)):
        yield "the includes of cuenv.hpp are not sorted, or one is there twice"


def file_set(headers, cmake):
    """The file set in CMakeLists.txt is every header, once and in order."""
    found = re.findall(r"^\s+include/cuenv/(\S+)$", cmake, flags=re.M)
    for name in sorted(headers.keys() ^ set(found)):
        yield f"CMakeLists.txt {'lacks' if name in headers else 'lists without need'} include/cuenv/{name}"
    if found != sorted(set(found)):
        yield "the headers in CMakeLists.txt are not sorted, or one is there twice"


def guards(headers, cmake):
    """The include guard is the path."""
    for name, text in headers.items():
        guard = "CUENV_" + re.sub(r"\W", "_", name).upper()
        if not text.startswith(f"#ifndef {guard}\n#define {guard}\n"):
            yield f"{name} does not start with the guard {guard}"


def length(headers, cmake):
    """A header can be read in one sitting: below 400 lines."""
    for name, text in headers.items():
        if text.count("\n") > MOST_LINES:
            yield f"{name} has {text.count(chr(10))} lines; {MOST_LINES} are the most"


def cheap_includes(headers, cmake):
    """No header of the standard library that is dear to compile or brings streams in."""
    for name, text in headers.items():
        for include in includes_of(text):
            if include in FORBIDDEN_INCLUDES:
                yield f"{name} includes <{include}>"


def platform(headers, cmake):
    """What depends on the system or on CUDA's headers is in few headers."""
    macro = r"\b(_WIN32|_MSC_VER|__linux__|__unix__|__APPLE__|__GLIBC__|__x86_64__|__aarch64__)\b"
    used = set()
    for name, text in headers.items():
        found = re.findall(macro, code_of(text)) + [include for include in includes_of(text) if include.endswith(".h")]
        used.update([name, folder_of(name)] if found else [])
        if found and not {name, folder_of(name)} & PLATFORM_HEADERS.keys():
            words = ", ".join(sorted(set(found)))
            yield f"{name} depends on the system by {words}: keep that in a header of PLATFORM_HEADERS"
    there = headers.keys() | {folder_of(name) for name in headers}
    yield from stale("PLATFORM_HEADERS", PLATFORM_HEADERS.keys() & there, used)


def macros(headers, cmake):
    """Only macros that start with CUENV_ are left behind."""
    for name, text in headers.items():
        code = code_of(text)
        for match in re.finditer(r"^\s*#\s*define\s+(\w+)", code, flags=re.M):
            macro = match[1]
            undone = re.search(rf"^\s*#\s*undef\s+{macro}\b", code[match.end():], flags=re.M)
            if not macro.startswith("CUENV_") and not undone:
                yield f"{name}:{line_of(code, match.start())}: the macro {macro} is left behind"


def quiet(headers, cmake):
    """Nothing prints, ends or replaces the process."""
    loud = (r"\b(v?f?printf|f?puts|putc|fputc|putchar|fwrite|perror|cout|cerr|clog|exit|_exit|_Exit|quick_exit|abort"
            r"|terminate|assert|raise|exec[lv]p?e?|system)\s*(\(|<<)")
    used = set()
    for name, text in headers.items():
        code = code_of(text)
        for match in re.finditer(loud, code):
            used.add((name, match[1]))
            if (name, match[1]) not in LOUD:
                yield f"{name}:{line_of(code, match.start())}: {match[1]} prints, ends or replaces the process"
    yield from stale("LOUD", {key for key in LOUD if key[0] in headers}, used)


def stateless(headers, cmake):
    """No state outlives a call: no driver's answer is kept behind the caller's back."""
    # A variable has no parenthesis before its value or its end; a function has. A lambda may be mutable.
    variable = (r"\b(?:static|thread_local)\s+(?!constexpr\b)[^;(={]+[;={]"
                r"|\binline\s+(?!constexpr\b|namespace\b)[^;(={]+[;={]"
                r"|\bmutable\s+(?!\{|noexcept)[^;={]+[;={]")
    used = set()
    for name, text in headers.items():
        code = code_of(text)
        for match in re.finditer(variable, code):
            words = set(re.findall(r"\w+", match[0]))
            if {"static_assert", "operator"} & words:
                continue
            allowed = {(name, word) for word in words} & STATE.keys()
            used |= allowed
            if not allowed:
                yield f"{name}:{line_of(code, match.start())}: '{' '.join(match[0].split())}' outlives a call"
    yield from stale("STATE", {key for key in STATE if key[0] in headers}, used)


def documented(headers, cmake):
    """Every public name has a /// comment: its own, that of the line above, or that of its first overload.

    Operators and to_string mean the same everywhere and need none.
    """
    for name, text in headers.items():
        if name.startswith("detail/"):
            continue
        public_text = re.sub(r"^namespace detail \{.*?^\}  // namespace detail",
                             lambda match: "\n" * match[0].count("\n"), text, flags=re.M | re.S)
        lines = public_text.split("\n")
        with_comment = set()
        for at, line in enumerate(lines):
            # Namespaces are not indented: what starts a line stands in one.
            begins = re.match(r"template|struct|class|enum|using|inline(?! namespace)|constexpr|\[\["
                              r"|[a-z_:]+[\w:<>*& ]* \w+\(", line)
            if not begins or (at > 0 and re.match(r"(template\b|\[\[nodiscard\]\])[^;{]*$", lines[at - 1])):
                continue
            declaration = " ".join(lines[at:at + 4])
            public = name_of(declaration)
            if public is None or public == "to_string" or public.startswith("operator"):
                continue
            above = lines[at - 1] if at > 0 else ""
            group = above.startswith("inline constexpr") and name_of(above) in with_comment
            if above.startswith("///") or "///<" in line or group:
                with_comment.add(public)
            elif public not in with_comment:
                yield f"{name}:{at + 1}: {public} has no /// comment"


def name_of(declaration):
    """The name that a declaration makes; None for a forward declaration and for a member's definition."""
    text = re.sub(r"^template <[^{}();]*?>\s+(?=[\w\[])", "", declaration)
    text = re.sub(r"\[\[.*?\]\]", "", text).strip()
    match = re.match(r"(?:struct|class|enum class|enum|union)\s+(\w+)\s*(.)", text)
    if match:
        return None if match[2] == ";" else match[1]
    match = re.match(r"using\s+(\w+)\s*=", text)
    if match:
        return match[1]
    match = re.match(r"[^;={(]*?(?<![\w:])(operator\s*[^\s(]+|\w+)\s*(?:\[[^\]]*\]\s*)?[({=;]", text)
    return match[1] if match else None


def stale(table, allowed, used):
    for key in sorted(allowed - used):
        yield f"{table} allows {key} what it does not use: take it out"


PROMISES = [layers, umbrella, file_set, guards, length, cheap_includes, platform, macros, quiet, stateless, documented]


def broken(headers, cmake):
    """(promise, sentence) for all that is broken."""
    return [(promise, sentence) for promise in PROMISES for sentence in promise(headers, cmake)]


def main(repository):
    folder = Path(repository) / "include" / "cuenv"
    headers = {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.hpp"))}
    problems = broken(headers, (Path(repository) / "CMakeLists.txt").read_text())
    for promise, sentence in problems:
        print(f"{sentence}\n  promised: {promise.__doc__.splitlines()[0]}")
    if len(headers) < 10 or problems:
        print(f"{len(headers)} headers in {folder}, {len(problems)} promises broken")
        return 1
    print(f"{len(headers)} headers keep {len(PROMISES)} promises")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
