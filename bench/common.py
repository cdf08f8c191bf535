"""What run and lab.py share: how programs are started, and how figures are written."""
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

PREWARM_LIMIT_S = 600
NOT_OFFERED = 3


class RunFailed(Exception):
    pass


class Machine:
    """Starts programs: pinned, with memory touched beforehand, and ended when late."""

    def __init__(self, prewarm, run_limit_s):
        self.prewarm = prewarm
        self.run_limit_s = run_limit_s
        self.cpus = sorted(os.sched_getaffinity(0))

    def available_mib(self):
        meminfo = Path("/proc/meminfo").read_text()
        return int(re.search(r"MemAvailable:\s+(\d+)", meminfo).group(1)) // 1024

    def touch_memory(self, mib):
        mib = min(mib, self.available_mib() * 6 // 10)
        subprocess.run([self.prewarm, str(mib)], check=True, timeout=PREWARM_LIMIT_S)

    def run_together(self, commands, cpus):
        """Starts all at once, on the same CPUs. Returns the exit status and both outputs of each,
        which have to be short; the process groups are killed if one is late. They are no sessions
        of their own: Linux shares processors out by session, so two would get more than one."""
        pinned = ["taskset", "-c", ",".join(str(cpu) for cpu in self.cpus[-cpus:])]
        end = time.monotonic() + self.run_limit_s
        running, done = [], []
        try:
            for command in commands:
                running.append(subprocess.Popen(
                    pinned + command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE, preexec_fn=os.setpgrp))
            while running:
                out, err = running[0].communicate(timeout=max(0, end - time.monotonic()))
                done.append((running.pop(0).returncode, out, err))
        except subprocess.TimeoutExpired:
            raise RunFailed(f"ended after {self.run_limit_s} s") from None
        finally:
            for process in running:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        return done

    def run(self, command, cpus):
        """Returns the exit status and both outputs."""
        return self.run_together([command], cpus)[0]

    def measure(self, command, cpus):
        """Returns the value after RESULT, or None if the program does not offer it."""
        status, out, err = self.run(command, cpus)
        if status == NOT_OFFERED:
            return None
        found = re.search(r"^RESULT (-?[0-9.]+)$", out, re.MULTILINE)
        if status != 0 or not found:
            last = (err.strip().splitlines() or ["no RESULT line"])[-1]
            raise RunFailed(f"status {status}: {last}")
        return float(found.group(1))


VERDICTS = {True: "met", False: "not met", None: "not measured"}


def number(value):
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"


def ratio(value, base):
    return f"{value / base:.2f} x" if base > 0 else "-"


def row(name, best, median):
    return f"  {name:<24}{best:>10}{median:>10}"


def json_figure(workload, runtime, variant, workers, best, median, unit, limit=None, **more):
    """One line; `limit` is (value, text) or None."""
    line = {"workload": workload, "runtime": runtime, "variant": variant, "workers": workers,
            "best": round(best, 3), "median": round(median, 3), "unit": unit}
    if runtime == "asx" and limit is not None and limit[0] > 0:
        line["limit"] = limit[1]
        line["times_limit"] = round(best / limit[0], 2)
    return json.dumps(line | more, separators=(",", ":"))
