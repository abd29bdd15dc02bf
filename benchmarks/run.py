"""Runs the benchmarks of this machine and writes one table.

    run.py cpu|gpu --programs FILE --compiler CXX --cuda-include FOLDERS --cuda-libraries FOLDER

A row says what was measured, against what, what was to be reached, and whether it was. A target that is missed is a row
that says so and why, not a failure of this program; a benchmark that cannot run is one.
"""
import argparse
import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

import plot
from measure import Ran, by_turns, growth_exponent, median, median_interval, usage_of

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
ROWS = []
FAILED = []


def row(what, against, figure, target="", met=None, why="", brief=True, **values):
    """`met` is None where there is no target. `why` is shown where it is missed. `brief` rows with a target are in the README."""
    ROWS.append({"what": what, "against": against, "figure": figure, "target": target, "met": met,
                 "why": why if met is False else "",
                 "brief": brief and met is not None, "values": values})
    print(f"{what}, against {against}: {figure}  {verdict(ROWS[-1])}", flush=True)


def verdict(entry):
    if entry["met"] is None:
        return entry["target"]
    return f"{entry['target']}: " + ("met" if entry["met"] else "missed" + (f"; {entry['why']}" if entry["why"] else ""))


def time_text(us):
    if us < 1:
        return f"{us * 1000:.1f} ns"
    if us < 1000:
        return f"{us:.2g} us" if us < 10 else f"{us:.0f} us"
    return f"{us / 1000:.3g} ms" if us < 1e6 else f"{us / 1e6:.3g} s"


def attempt(benchmark, *arguments):
    """One that fails is a row that says so, and does not keep the others from being measured; in the end the run fails."""
    try:
        benchmark(*arguments)
    except Exception as error:  # pylint: disable=broad-except
        FAILED.append(benchmark.__name__)
        row(benchmark.__name__.replace("_", " "), "-", "failed: " + str(error).replace("\n", "; ").replace("|", "/"))


# ---- On any machine --------------------------------------------------------------------------------------------------


def rules(programs):
    """Catch2's figures: the lowest mean of some runs, since whatever else runs here can only add."""
    means = {}
    for _ in range(5):
        ran = subprocess.run([programs["rules_benchmark"], "-r", "xml", "--benchmark-samples", "50"], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        root = xml.fromstring(ran.stdout)
        for result in root.iter("BenchmarkResults"):
            means.setdefault(result.get("name"), []).append(float(result.find("mean").get("value")) / 1000)
        failed = [e.findtext("Expanded").strip() for e in root.iter("Expression") if e.get("success") == "false"]
        if failed and not all(re.fullmatch(r"\d+ == 0", text) for text in failed):
            raise RuntimeError(f"rules_benchmark: {failed}")
    best = {name: min(values) for name, values in means.items()}
    us = best["a full set of settings: parse, check, format"]
    row("a full set of settings: parse, check, format", "-", time_text(us), "under 10 us", us < 10, us=us)
    us = best["128 verdicts: a module of 16 entries for 8 GPUs"] / 128
    row("a verdict, for each entry and GPU (16 entries, 8 GPUs)", "-",
        f"{time_text(us)}, {failed[0].split()[0] if failed else 'no'} allocations", "under 1 us, no allocation",
        us < 1 and not failed, us=us)
    for name in ("resolve 8 indices against 8 GPUs", "resolve 8 UUIDs against 8 GPUs"):
        row(name, "-", time_text(best[name]), "under 2 us", best[name] < 2, brief=False, us=best[name])


def find_libraries(folders, names):
    found = []
    for name in names:
        paths = sorted(path for folder in folders for path in glob.glob(f"{folder}/{name}"))
        if paths:
            found.append(paths[0])
    return found


def memory_of(command):
    """In KiB, where the time command is: a child of this program counts what Python had before the exec as its own."""
    if not os.path.exists("/usr/bin/time"):
        return None
    return int(Ran(["/usr/bin/time", "-f", "%M", *command]).errors.split()[-1])


def read_gpu_code(programs, path):
    """One large library: against the walk, against reading it, and against cuobjdump where that is."""
    name = os.path.basename(path)
    size = os.path.getsize(path)
    title = f"read and judge the GPU code of {name} ({size / 1e6:.0f} MB)"
    inspect = programs["inspect_benchmark"]
    whole = [Ran([inspect, "--read", path]).json()["us"] for _ in range(2)][-1]  # the first brings it into the cache
    # Other work on the machine moves single runs: the median of a few processes, each of 51 rounds.
    runs = [Ran([inspect, path]).json() for _ in range(3)]
    ratio = median([run["ratio"] for run in runs])
    us = median([run["inspect_us"] for run in runs])
    large = runs[0]["headers"] > 1000
    row(title, f"one pread for each of its {runs[0]['headers']} headers", f"{time_text(us)}, {ratio:.2f} times the walk",
        "at most 1.5 times", ratio <= 1.5 if large else None, us=us, ratio=ratio, headers=runs[0]["headers"])
    row(title, "reading all of the file once (cached)", f"{whole / us:.0f} times faster", us=us, whole_us=whole)

    once = [programs["cuenv_tool"], "images", path] if "cuenv_tool" in programs else [inspect, "--once", path]
    seconds = median([usage_of(once)[0] for _ in range(5)])
    memory = Ran([inspect, "--once", path]).json()["memory_kib"]
    command_memory = memory_of(once)
    row(f"largest memory while reading {name}", "-", f"{memory / 1024:.1f} MiB in a program"
        + (f", {command_memory / 1024:.1f} MiB the whole command" if command_memory else ""), "under 32 MiB",
        max(memory, command_memory or 0) < 32 * 1024, brief=False, memory_kib=memory, command_kib=command_memory)
    cuobjdump = shutil.which("cuobjdump") or shutil.which("/usr/local/cuda/bin/cuobjdump")
    if cuobjdump is None:
        row(title, "cuobjdump", f"not measured: cuobjdump is not here; the whole command takes {time_text(seconds * 1e6)}")
        return memory
    try:
        theirs = usage_of([cuobjdump, "--list-elf", path])
    except RuntimeError as error:
        row(title, "cuobjdump", f"not measured: {error}")
        return memory
    judged = name.startswith("libtorch_cuda")
    row(title + ", in a process", f"cuobjdump --list-elf ({theirs[0]:.2f} s, {theirs[2] / 1024:.0f} MiB)",
        f"{time_text(us)}, {theirs[0] / us * 1e6:.0f} times faster", "1,000 times" if judged else "",
        theirs[0] / us * 1e6 >= 1000 if judged else None, us=us, cuobjdump_s=theirs[0], cuobjdump_kib=theirs[2])
    row(title + ", whole command", "the same", f"{time_text(seconds * 1e6)}, {theirs[0] / seconds:.0f} times faster",
        "300 times" if judged else "", theirs[0] / seconds >= 300 if judged else None, s=seconds)
    return memory


def read_libraries(programs, paths):
    if not paths:
        row("read the GPU code of large libraries", "-", "not measured: none of them is here")
        return
    used = {path: read_gpu_code(programs, path) for path in paths}
    if len(used) > 1:
        lowest, highest = min(used.values()), max(used.values())
        sizes = [os.path.getsize(path) / 1e6 for path in used]
        row(f"memory over files of {min(sizes):.0f} to {max(sizes):.0f} MB", "-", f"{lowest / 1024:.1f} to "
            f"{highest / 1024:.1f} MiB", "flat: within 1 MiB", highest - lowest < 1024, lowest_kib=lowest, highest_kib=highest)


GROWTH_REASONS = {
    "resolve a list of UUIDs, by GPUs": "each entry may be the beginning of any GPU's UUID, so all are compared"}


def growth(programs, folder):
    series = {}
    for point in Ran([programs["growth_benchmark"], programs["benchmark_library"]]).json_lines():
        series.setdefault(point["series"], []).append((point["n"], point["us"]))
    for name, points in series.items():
        exponent = growth_exponent(points)
        (first, first_us), (last, last_us) = points[0], points[-1]
        row(name, "-", f"{first} to {last}: {time_text(first_us)} to {time_text(last_us)}, grows with n^{exponent:.2f}",
            "linear or better (at most n^1.1)", exponent <= 1.1, GROWTH_REASONS.get(name, "see Loaded libraries in the notes"), points=points,
            exponent=exponent)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "growth.svg").write_text(plot.growth_plot(series, "How time grows"))


def standard_headers():
    """What the umbrella includes besides cuenv's own headers."""
    include = PROJECT / "include"
    seen, others, waiting = set(), set(), ["cuenv/cuenv.hpp"]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for found in re.findall(r"^\s*#\s*include <([^>]+)>", (include / name).read_text(), re.MULTILINE):
            if not found.startswith("cuenv/"):
                others.add(found)
            elif (include / found).exists():  # one that is for another platform may not be there yet
                waiting.append(found)
    return sorted(others)


def compile_times(options):
    compiler = os.path.realpath(options.compiler)
    if os.path.basename(compiler).startswith("ccache"):
        raise RuntimeError(f"{options.compiler} is a cache: name the compiler itself")
    includes = [f"-I{PROJECT / 'include'}"] + [x for folder in options.cuda_include.split(":") for x in ("-isystem", folder)]
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder) / "bare.cpp"
        # Windows' headers are not here, and left out by cuenv as well.
        bare.write_text("".join(f"#if __has_include(<{h}>) && __has_include(<dlfcn.h>)\n#include <{h}>\n#endif\n"
                                for h in standard_headers()) + "int main() {}\n")
        sources = {"cuenv": HERE / "compile" / "cuenv.cpp", "bare": bare}
        for name in ("CLI11", "tomlplusplus", "nlohmann_json"):
            source = HERE / "compile" / f"{name}.cpp"
            if subprocess.run([compiler, "-std=c++17", "-E", "-o", os.devnull, source], stderr=subprocess.DEVNULL).returncode:
                row("`#include <cuenv/cuenv.hpp>`", name, f"not measured: {name} is not installed here")
            else:
                sources[name] = source
        environment = dict(os.environ, CCACHE_DISABLE="1")

        def compilation(source, mode):
            command = [compiler, "-std=c++17", *includes, *mode, str(source), "-o", os.path.join(folder, "out")]
            return lambda: usage_of(command, environment)[1]

        precompiled = Path(folder) / "precompiled.hpp"
        precompiled.write_text("#include <cuenv/cuenv.hpp>\n")
        nothing = Path(folder) / "nothing.cpp"
        nothing.write_text("int main() {}\n")
        Ran([compiler, "-std=c++17", *includes, "-x", "c++-header", precompiled, "-o", f"{precompiled}.gch"])

        for mode in (["-fsyntax-only"], ["-c", "-O0"]):
            # The processors' seconds: other work on the machine counts less than by the clock.
            taken = by_turns(options.rounds, {name: compilation(source, mode) for name, source in sources.items()})
            title = f"`#include <cuenv/cuenv.hpp>`, {' '.join(mode)}"
            brief = mode == ["-fsyntax-only"]
            over = median([a - b for a, b in zip(taken["cuenv"], taken["bare"])]) * 1000
            row(title, f"cuda.h and the standard headers it needs ({median(taken['bare']) * 1000:.0f} ms)",
                f"{median(taken['cuenv']) * 1000:.0f} ms, {over:.0f} ms more", "at most 100 ms more", over <= 100,
                INCLUDE_REASON, brief, over_ms=over, ms=median(taken["cuenv"]) * 1000, bare_ms=median(taken["bare"]) * 1000)
            if brief:
                with_it = by_turns(options.rounds, {"precompiled": compilation(nothing, [*mode, "-include", str(precompiled)]),
                                                    "bare": compilation(bare, mode)})
                over = median([a - b for a, b in zip(with_it["precompiled"], with_it["bare"])]) * 1000
                row("`cuenv.hpp` precompiled (`target_precompile_headers`)", f"the same ({median(with_it['bare']) * 1000:.0f} ms)",
                    f"{median(with_it['precompiled']) * 1000:.0f} ms, {over:.0f} ms more", over_ms=over)
            for name in sources:
                if name in ("cuenv", "bare"):
                    continue
                ratio = median([a / b for a, b in zip(taken["cuenv"], taken[name])])
                row(title, f"{name} ({median(taken[name]) * 1000:.0f} ms)", f"{ratio:.2f} times", "below half", ratio < 0.5,
                    INCLUDE_REASON, brief, ratio=ratio, their_ms=median(taken[name]) * 1000)


INCLUDE_REASON = "see Compile time in the notes"


def program_sizes(programs):
    with tempfile.TemporaryDirectory() as folder:
        sizes = {}
        for name in ("session_benchmark", "bare_benchmark"):
            Ran(["strip", "-o", os.path.join(folder, name), programs[name]])
            sizes[name] = os.path.getsize(os.path.join(folder, name)) / 1024
    size, bare = sizes["session_benchmark"], sizes["bare_benchmark"]
    row("a program that uses a session, stripped", f"the same without ({bare:.0f} KiB)",
        f"{size:.0f} KiB, {size - bare:.0f} KiB more", "under 300 KiB", size < 300, "see Size in the notes", kib=size, bare_kib=bare)


# ---- With a GPU ------------------------------------------------------------------------------------------------------


def start_of_a_session(programs, pairs):
    def start(name):
        def run():
            ran = Ran([programs[name]])
            return float(ran.output.split()[0]) / 1e6, ran.seconds
        return run

    names = ("session_benchmark", "bare_benchmark")
    for name in names:
        start(name)()  # what the first process on a machine pays is nobody's
    taken = by_turns(pairs, {name: start(name) for name in names})
    for i, what in enumerate(("start of a session: validate, apply, init, map", "a whole process that only starts a session")):
        ours, bare = ([t[i] for t in taken[name]] for name in names)
        ratio, low, high = median_interval([a / b for a, b in zip(ours, bare)])
        more = median([a - b for a, b in zip(ours, bare)]) * 1e6
        row(what, f"dlopen, cuInit, cuDeviceGetCount ({time_text(median(bare) * 1e6)}), {pairs} pairs of processes by turns",
            f"{ratio:.4f} times [{low:.4f}, {high:.4f}], {more:+.0f} us",
            "at most 1.01 with its 95 % interval", high <= 1.01,
            f"1 % is {median(bare) * 1e4:.0f} us, and the interval is wider than that", ratio=ratio, low=low, high=high, bare_s=median(bare),
            session_s=median(ours))


def prediction(programs):
    result = Ran([programs["predict_benchmark"], programs["bare_benchmark"]]).json()
    for key, name in (("child", "cuInit in a child"), ("nvml", "NVML: init, list, shut down")):
        row(f"the visible devices predicted without CUDA ({result['devices']} of them)",
            f"{name} ({time_text(result[key + '_us'])})",
            f"{time_text(result['predict_us'])}, {result[key + '_ratio']:.3g} times faster", "100 times",
            result[key + "_ratio"] >= 100,
            "the kernel driver itself takes some 135 us to print a GPU's file in /proc", **result)


def setting_costs(programs, rounds):
    """Each variant is a process of its own; all variants of a workload take turns."""
    program = programs["setting_benchmark"]

    def measure(what, variants):
        taken = by_turns(rounds, variants)
        default = next(iter(taken))
        base = median([t["us"] for t in taken[default]])
        for name, results in taken.items():
            us = median([t["us"] for t in results])
            memory = median([t.get("gpu_kib", 0) for t in results])
            figure = time_text(us) + (f", {memory / 1024:.0f} MiB of the GPU" if "gpu_kib" in results[0] else "")
            ratio = median([t["us"] / b["us"] for t, b in zip(results, taken[default])])
            row(f"{what}: {name}", "-" if name == default else default,
                figure + ("" if name == default else f", {ratio:.2f} times"), us=us, ratio=ratio, gpu_kib=memory)

    def run(workload, *settings):
        return lambda: Ran([program, workload, *settings]).json()

    measure("20,000 empty kernels one after the other, each",
            {"the default (CUDA_LAUNCH_BLOCKING=0)": run("launches"),
             "CUDA_LAUNCH_BLOCKING=1": run("launches", "CUDA_LAUNCH_BLOCKING=1")})
    measure("32 streams of 4 kernels of 200 us, issued stream by stream",
            {"the default (8)": run("streams"),
             **{f"CUDA_DEVICE_MAX_CONNECTIONS={n}": run("streams", f"CUDA_DEVICE_MAX_CONNECTIONS={n}")
                for n in (1, 8, 32)}})
    with tempfile.TemporaryDirectory() as folder:
        def cached(workload, *settings, cold=False):
            cache = f"{folder}/{workload}"
            os.makedirs(cache, exist_ok=True)

            def once():
                if cold:
                    shutil.rmtree(cache)
                    os.makedirs(cache)
                elif not os.listdir(cache):
                    run(workload, f"CUDA_CACHE_PATH={cache}")()
                return run(workload, f"CUDA_CACHE_PATH={cache}", *settings)()
            return once

        # Cold empties the folder and fills it again, so that warm finds it full.
        measure("PTX of 100 kernels, to the end of the first",
                {"cache warm": cached("jit"), "cache cold": cached("jit", cold=True),
                 "CUDA_CACHE_DISABLE=1": cached("jit", "CUDA_CACHE_DISABLE=1")})
        measure("a module of 2,000 kernels from the cache, to the end of the first",
                {f"CUDA_MODULE_LOADING={mode}": cached("loading", f"CUDA_MODULE_LOADING={mode}")
                 for mode in ("LAZY", "EAGER")})


TORCH = """
import json, time
begin = time.perf_counter()
import torch
free, total = 0, 0
x = torch.ones(256, 256, device='cuda')
torch.mm(x, x).sum().item()
free, total = torch.cuda.mem_get_info()
print(json.dumps({'us': (time.perf_counter() - begin) * 1e6, 'used_kib': (total - free) / 1024}))
"""


def torch_loading(rounds):
    def start(mode):
        return lambda: Ran(["python3", "-c", TORCH], dict(os.environ, CUDA_MODULE_LOADING=mode)).json()

    if subprocess.run(["python3", "-c", "import torch; assert torch.cuda.is_available()"], stderr=subprocess.DEVNULL).returncode:
        row("PyTorch to its first matrix product", "-", "not measured: PyTorch with CUDA is not here")
        return
    taken = by_turns(rounds, {mode: start(mode) for mode in ("LAZY", "EAGER")})
    for mode, results in taken.items():
        us, used = median([r["us"] for r in results]), median([r["used_kib"] for r in results])
        ratio = median([r["us"] / b["us"] for r, b in zip(results, taken["LAZY"])])
        row(f"PyTorch to its first matrix product: CUDA_MODULE_LOADING={mode}", "-" if mode == "LAZY" else "LAZY (the default)",
            f"{time_text(us)}, {used / 1024:.0f} MiB of the GPU in use" + ("" if mode == "LAZY" else f", {ratio:.2f} times"),
            us=us, used_kib=used)


# ---- The table -------------------------------------------------------------------------------------------------------


def first_match(path, pattern, fallback):
    try:
        found = re.search(pattern, Path(path).read_text())
        return found.group(1).strip() if found else fallback
    except OSError:
        return fallback


def machine(options):
    gpus = [first_match(p, r"Model:\s*(.*)", "unknown") for p in sorted(glob.glob("/proc/driver/nvidia/gpus/*/information"))]
    compiler = subprocess.run([options.compiler, "--version"], stdout=subprocess.PIPE).stdout.decode().splitlines()[0].replace("-real", "")
    cpu = first_match("/proc/cpuinfo", r"model name\s*:\s*(.*)", "unknown")
    return {"date": datetime.date.today().isoformat(),
            "cpu": f"{cpu}, {os.cpu_count()} cores",
            "gpu": f"{len(gpus)} x {gpus[0]}" if gpus else "none",
            "driver": first_match("/proc/driver/nvidia/version", r"(\d+\.\d+(?:\.\d+)?)\s", "none"),
            "compiler": compiler,
            "load_before": round(os.getloadavg()[0], 1)}


def table(facts):
    head = (f"# Benchmarks, {facts['kind']}\n\n{facts['date']}; CPU: {facts['cpu']}; GPU: {facts['gpu']}; driver: "
            f"{facts['driver']}; compiler: {facts['compiler']}. Load before: {facts['load_before']}. Written by "
            "`benchmarks/run.py`.\n\n| what | against | measured | to reach |\n| --- | --- | --- | --- |\n")
    return head + "".join(f"| {r['what']} | {r['against']} | {r['figure']} | {verdict(r) or '-'} |\n" for r in facts["rows"])


def readme_table():
    """The rows with a target of the latest results of each kind, in the README between its two marks."""
    lines = []
    for kind in ("cpu", "gpu"):
        path = HERE / "results" / f"{kind}.json"
        if not path.exists():
            continue
        facts = json.loads(path.read_text())
        on = facts["gpu"] if kind == "gpu" else facts["cpu"]
        lines.append(f"\n{facts['date']}, {on}, {facts['compiler']}"
                     + (f", driver {facts['driver']}" if kind == "gpu" else "") + f" ([all rows](benchmarks/results/{kind}.md)):\n")
        lines.append("| what | against | measured | to reach |\n| --- | --- | --- | --- |")
        lines += [f"| {r['what']} | {r['against']} | {r['figure']} | {verdict(r)} |" for r in facts["rows"] if r["brief"]]
    readme = PROJECT / "README.md"
    text = readme.read_text()
    begin, end = "<!-- benchmarks -->\n", "\n<!-- end of benchmarks -->"
    if begin in text and end in text:
        readme.write_text(text[:text.index(begin) + len(begin)] + "\n".join(lines) + text[text.index(end):])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=["cpu", "gpu"])
    parser.add_argument("--programs", required=True, help="lines: name, path")
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--cuda-include", required=True, help="folders, with colons between them")
    parser.add_argument("--cuda-libraries", default="/usr/local/cuda/lib64")
    parser.add_argument("--pairs", type=int, default=int(os.environ.get("CUENV_BENCHMARK_PAIRS", "200")))
    parser.add_argument("--rounds", type=int, default=5, help="processes for each setting, and compilations of each file")
    parser.add_argument("--output", type=Path, help="another folder for tables and plot; the README stays as it is")
    options = parser.parse_args()
    programs = dict(line.split(" ", 1) for line in Path(options.programs).read_text().splitlines())
    if options.kind == "cpu":
        programs.pop("cuenv_tool", None)
    facts = {"kind": options.kind, **machine(options)}
    libraries = ["libcublasLt.so.*", "libcusparse.so.*", "libnccl.so.*"]
    if options.kind == "cpu":
        attempt(rules, programs)
        attempt(read_libraries, programs, find_libraries([options.cuda_libraries], libraries))
        attempt(growth, programs, options.output or PROJECT / "docs")
        attempt(compile_times, options)
        attempt(program_sizes, programs)
    else:
        if not os.path.exists("/dev/nvidiactl"):
            sys.exit("run.py gpu: there is no GPU here")
        attempt(start_of_a_session, programs, options.pairs)
        attempt(prediction, programs)
        attempt(setting_costs, programs, options.rounds)
        attempt(torch_loading, 3)
        torch = subprocess.run(["python3", "-c", "import os, torch; print(os.path.dirname(torch.__file__))"],
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.decode().strip()
        folders = ([f"{torch}/lib", *glob.glob(f"{os.path.dirname(torch)}/nvidia/*/lib")] if torch else []) + [options.cuda_libraries]
        attempt(read_libraries, programs, find_libraries(folders, ["libtorch_cuda.so", *libraries]))
    facts["rows"] = ROWS
    folder = options.output or HERE / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{options.kind}.json").write_text(json.dumps(facts, indent=1) + "\n")
    (folder / f"{options.kind}.md").write_text(table(facts))
    if options.output is None:
        readme_table()
    missed = sum(r["met"] is False for r in ROWS)
    print(f"\n{len(ROWS)} rows, {sum(r['met'] is True for r in ROWS)} targets met, {missed} missed: {folder}/{options.kind}.md")
    if FAILED:
        sys.exit(f"failed: {', '.join(FAILED)}")


if __name__ == "__main__":
    main()
