"""The laboratory's figures: how fast it explores on one core, and how much faster on two.

An exploration is one run of tests/lab-dpor in the build folder, in a process of its own. Its time
is what it says of itself, from the first execution on. It counts only if it is complete and has
one execution for each class, as many as are known; else the figure is a failure.

    lab-time    published programs, in milliseconds
    lab-rate    three tasks of twelve steps, in executions per second. Such an exploration takes
                0.2 to 40 ms, so a round has many runs and its figure is the best of them
    lab-cores   --jobs 2 over --jobs 1. The limit is what two processes that know nothing of each
                other do in the same time over what one does alone: two cores are not always two

Each part has so many seconds for a round. On a busy machine it ends with fewer rounds than were
asked for, and says so.
"""
import json
import statistics
import time
from dataclasses import dataclass

from common import RunFailed, VERDICTS, json_figure, number, ratio, row

RATE_RUNS = 20   # of each program in a round
LIMIT = "switch_jmp"


@dataclass(frozen=True)
class Program:
    """`goal` is in the unit of its part; `reference_ms` what the best stateless model checkers
    take on one core of a machine like this: known, not measured here."""
    name: str
    classes: int
    goal: float
    reference_ms: float = 0


@dataclass(frozen=True)
class Part:
    name: str
    unit: str
    cpus: int
    round_s: int            # a round is to take no longer
    what: str
    programs: tuple
    ways: tuple = ("one",)  # of WAYS, interleaved
    runs: int = 1           # of each in a round
    more_is_better: bool = True


# How a program is run: processes that share the exploration, and explorations at the same time.
WAYS = {"one": (1, 1), "two": (2, 1), "apart": (1, 2)}

PARTS = [
    Part("lab-time", "ms", 1, 5, "a published program is explored, one execution per class", (
        Program("lastzero_15", 147456, 3000, 13200),
        Program("fib_5", 218243, 1500, 1750),
        Program("readers_13", 8192, 100, 470),
        Program("indexer_15", 4096, 300, 2840),
    ), more_is_better=False),
    Part("lab-rate", "1/s", 1, 5, "executions of three tasks, twelve steps", (
        Program("three_tasks_12_steps", 151, 200_000),
        Program("three_tasks_12_joins", 90, 200_000),
        Program("three_tasks_12_permits", 10170, 200_000),
        Program("three_tasks_12_messages", 1120, 200_000),
        Program("three_tasks_12_locks", 90, 200_000),
        Program("three_tasks_12_receives", 70, 200_000),
        Program("three_tasks_12_sleeps", 160, 200_000),
    ), runs=RATE_RUNS),
    Part("lab-cores", "times", 2, 11, "two processes explore together, over one alone", (
        Program("lastzero_15", 147456, 1.8),
        Program("fib_5", 218243, 1.8),
        Program("orders_6", 214840, 1.8),
    ), ways=("one", "two", "apart")),
]


def limits_of(parts):
    """The machine's limits that they are held against."""
    return {LIMIT for part in parts if part.unit != "times"}


def checked(program, status, out, err):
    """What an exploration said of itself, if it is what it should be."""
    try:
        said = json.loads(out)
    except ValueError:
        last = (err.strip().splitlines() or ["no summary"])[-1]
        raise RunFailed(f"status {status}: {last}") from None
    wanted = {"test": program.name, "mode": "optimal", "executions": program.classes,
              "classes": program.classes, "redundant": 0, "blocked": 0, "deadlocks": 0, "bugs": 0,
              "complete": True}
    wrong = [f"{key} {said.get(key)} instead of {value}" for key, value in wanted.items()
             if said.get(key) != value]
    if status != 0:
        wrong.append(f"status {status}")
    if wrong:
        raise RunFailed(", ".join(wrong))
    if not said["seconds"] > 0:
        raise RunFailed("no time has passed")
    return said


class Lab:
    """All rates in executions per second, one for each round, by part, program and way."""

    def __init__(self, machine, explorer, rounds, limits):
        self.machine = machine
        self.explorer = explorer  # path of lab-dpor
        self.rounds = rounds
        self.switch_ns = limits.get(LIMIT)
        self.rates = {}
        self.steps = {}     # of an execution, by program
        self.failures = {}  # by part and program
        self.rounds_done = {}

    def explore(self, part, program, way):
        jobs, copies = WAYS[way]
        command = [str(self.explorer), "--mode", "optimal", "--json", "--verbose", "--jobs",
                   str(jobs), program.name]
        rate = 0
        for result in self.machine.run_together([command] * copies, part.cpus):
            said = checked(program, *result)
            rate += said["executions"] / said["seconds"]
            self.steps[program] = said["steps"] / said["executions"]
        return rate

    def run_round(self, part, turn):
        """The best of this round's runs of each program in each way, in rotating order."""
        subjects = [(program, way) for program in part.programs for way in part.ways]
        shift = turn % len(subjects)
        best = {}
        for _ in range(part.runs):
            for program, way in subjects[shift:] + subjects[:shift]:
                if (part, program) in self.failures:
                    continue
                try:
                    rate = self.explore(part, program, way)
                except RunFailed as why:
                    self.failures[part, program] = str(why)
                    continue
                best[program, way] = max(rate, best.get((program, way), 0))
        for (program, way), rate in best.items():
            self.rates.setdefault((part, program, way), []).append(rate)

    def run_part(self, part):
        """All rounds, or as many as there is time for, but one at least."""
        begin = time.monotonic()
        longest = 0
        for turn in range(self.rounds):
            start = time.monotonic()
            if turn > 0 and start - begin + longest > part.round_s * self.rounds:
                break
            self.run_round(part, turn)
            longest = max(longest, time.monotonic() - start)
            self.rounds_done[part] = turn + 1

    def measured(self, part, program):
        return (part, program) not in self.failures and (part, program, part.ways[0]) in self.rates

    def figure(self, part, program, pick):
        """In the unit of the part; `pick` is max for the best, or the median."""
        rate = {way: pick(self.rates[part, program, way]) for way in part.ways}
        if part.unit == "times":
            return rate["two"] / rate["one"]
        return program.classes / rate["one"] * 1e3 if part.unit == "ms" else rate["one"]

    def limit(self, part, program):
        """(value in the unit of the part, text) or None."""
        if part.unit == "times":
            apart, one = (max(self.rates[part, program, way]) for way in ("apart", "one"))
            return apart / one, "two apart"
        if self.switch_ns is None:
            return None
        execution_ns = self.steps[program] * self.switch_ns
        text = f"{self.steps[program]:.3g} x {LIMIT} each"
        return (program.classes * execution_ns / 1e6 if part.unit == "ms" else
                1e9 / execution_ns), text

    def reached(self, part, program):
        """True, False, or None when it was not measured."""
        if not self.measured(part, program):
            return None
        best = self.figure(part, program, max)
        return best >= program.goal if part.more_is_better else best <= program.goal

    def best_ms(self, part, program, way):
        return program.classes / max(self.rates[part, program, way]) * 1e3


def program_line(lab, part, program):
    if not lab.measured(part, program):
        return f"  {program.name:<24}{lab.failures.get((part, program), 'not run')}"
    best = lab.figure(part, program, max)
    line = row(program.name, number(best), number(lab.figure(part, program, statistics.median)))
    line += (f"   {ratio(best, program.goal)} goal ({number(program.goal)}): "
             f"{VERDICTS[lab.reached(part, program)]}")
    if program.reference_ms:
        line += (f"   {ratio(best, program.reference_ms)} model checkers "
                 f"({number(program.reference_ms)})")
    limit = lab.limit(part, program)
    if limit is not None:
        line += f"   {best / limit[0]:.3g} x limit ({limit[1]} = {number(limit[0])})"
    if part.unit == "times":
        line += (f"   one {number(lab.best_ms(part, program, 'one'))} ms, "
                 f"two {number(lab.best_ms(part, program, 'two'))} ms")
    return line


def part_report(lab, part):
    sense = "more is better" if part.more_is_better else "less is better"
    cores = "1 core" if part.cpus == 1 else f"{part.cpus} cores"
    lines = ["", f"{part.name}, {cores}: {part.what}",
             row(f"{part.unit}, {sense}", "best", "median")]
    lines += [program_line(lab, part, program) for program in part.programs]
    if lab.rounds_done[part] < lab.rounds:
        lines.append(f"  {lab.rounds_done[part]} of {lab.rounds} rounds: the machine is busy")
    if part.runs > 1:
        lines.append(f"  a round's figure is the best of {part.runs} runs")
    if any(program.reference_ms for program in part.programs):
        lines.append("  model checkers: the best stateless ones on one core of a machine like "
                     "this; not measured here")
    return "\n".join(lines)


def json_line(lab, part, program):
    best = lab.figure(part, program, max)
    limit = lab.limit(part, program)
    more = {"goal": program.goal, "times_goal": round(best / program.goal, 2),
            "met": lab.reached(part, program)}
    if program.reference_ms:
        more |= {"reference": program.reference_ms, "reference_measured": False,
                 "times_reference": round(best / program.reference_ms, 2)}
    if part.unit == "times":
        more |= {f"{way}_ms": round(lab.best_ms(part, program, way), 3) for way in ("one", "two")}
    if limit is not None:
        more["times_limit"] = float(f"{best / limit[0]:.3g}")
    return json_figure(part.name, "asx", program.name, part.cpus, best,
                       lab.figure(part, program, statistics.median), part.unit, limit,
                       **more)


def report(machine, limits, parts, options):
    """Runs the parts and tells of each. Returns (verdicts of the goals, failures as texts)."""
    say = options.say
    lab = Lab(machine, options.build / "tests" / "lab-dpor", options.rounds, limits)
    there = lab.explorer.exists()
    if parts and not there:
        say("lab: no tests/lab-dpor in the build folder, skipped")
    for part in parts if there else []:
        if part.cpus > len(machine.cpus):
            say(f"{part.name}: one CPU only, left out")
        else:
            lab.run_part(part)
            say(part_report(lab, part))
        for program in part.programs:
            if options.json and lab.measured(part, program):
                print(json_line(lab, part, program), flush=True)
    verdicts = [lab.reached(part, program) for part in parts for program in part.programs]
    return verdicts, [f"{part.name} {program.name}: {why}"
                      for (part, program), why in lab.failures.items()]
