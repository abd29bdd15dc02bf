"""Processes and files, measured by turns so that all of what is compared meets the same machine."""
import json
import math
import os
import subprocess
import time


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def median_interval(values, level=0.95):
    """The median and an interval that holds the true one at this level, whatever the distribution: order statistics."""
    ordered = sorted(values)
    n = len(ordered)
    outside, k = 0.0, 0  # probability of at most k - 1 values below the median
    while k < n // 2:
        step = math.comb(n, k) * 0.5**n
        if 2 * (outside + step) > 1 - level:
            break
        outside += step
        k += 1
    lowest = max(k - 1, 0)
    return median(ordered), ordered[lowest], ordered[n - 1 - lowest]


class Ran:
    """A process that has ended: seconds by the clock and of the processors, the largest memory, and what it wrote."""

    def __init__(self, command, environment=None):
        self.command = command
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
        self.output, self.errors = (text.decode(errors="replace") for text in process.communicate())
        self.seconds = time.perf_counter() - begin
        self.code = process.returncode
        if self.code != 0:
            raise RuntimeError(f"{' '.join(command)} ended with {self.code}: {self.errors.strip() or self.output.strip()}")

    def json(self):
        return json.loads(self.output)

    def json_lines(self):
        return [json.loads(line) for line in self.output.splitlines() if line]


def usage_of(command, environment=None):
    """Seconds by the clock, seconds of the processors and KiB of memory of one process; its output is dropped."""
    with open(os.devnull, "wb") as nowhere:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def by_turns(rounds, works):
    """Calls each of a dict of functions once a round, forwards and backwards by turns; a dict of lists of results."""
    results = {name: [] for name in works}
    for i in range(rounds):
        for name in list(works) if i % 2 == 0 else reversed(list(works)):
            results[name].append(works[name]())
    return results


def growth_exponent(points):
    """The slope of log(time) over log(n), least squares, in the upper half of the points: 1 is linear."""
    upper = sorted(points)[-max(3, (len(points) + 1) // 2):]
    xs = [math.log(n) for n, _ in upper]
    ys = [math.log(t) for _, t in upper]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys)) / sum((x - x_mean) ** 2 for x in xs)
