"""bench/lab.py takes no figure from an exploration that is not what it should be, and knows as
many classes as the tests do: bench_lab.py SOURCE_TREE."""
import json
import re
import sys
from pathlib import Path

sys.dont_write_bytecode = True
tree = Path(sys.argv[1])
sys.path.insert(0, str(tree / "bench"))
import lab
from common import RunFailed

PROGRAM = lab.Program("fib_1", 11, 1500)
GOOD = {"test": "fib_1", "mode": "optimal", "executions": 11, "classes": 11, "redundant": 0,
        "blocked": 0, "deadlocks": 0, "bugs": 0, "complete": True, "seconds": 0.001, "steps": 88}
FAULTS = [{"test": "fib_2"}, {"mode": "source"}, {"executions": 12}, {"classes": 10},
          {"executions": 12, "classes": 12}, {"redundant": 1}, {"blocked": 1}, {"deadlocks": 1},
          {"bugs": 1}, {"complete": False}, {"seconds": 0}]
bad = 0


def expect(what, good):
    global bad
    if not good:
        print(what)
        bad += 1


def refused(status, out):
    try:
        lab.checked(PROGRAM, status, out, "")
    except RunFailed:
        return True
    return False


class Stub:
    """A machine on which every exploration takes the seconds given for its number of jobs."""
    cpus = [0, 1]

    def __init__(self, seconds):
        self.seconds = seconds

    def run_together(self, commands, cpus):
        jobs = int(commands[0][commands[0].index("--jobs") + 1])
        said = GOOD | {"seconds": self.seconds[jobs]}
        return [(0, json.dumps(said), "")] * len(commands)


def figures(unit, ways, seconds):
    """Best and limit of one program; a switch is 2 ns."""
    part = lab.Part("part", unit, 2, 9, "", (PROGRAM,), ways, more_is_better=unit != "ms")
    run = lab.Lab(Stub(seconds), "lab-dpor", 2, {lab.LIMIT: 2.0})
    run.run_part(part)
    return run.figure(part, PROGRAM, max), run.limit(part, PROGRAM)[0], run.reached(part, PROGRAM)


expect("a good run is refused", not refused(0, json.dumps(GOOD)))
expect("a run that failed is taken", refused(1, json.dumps(GOOD)))
expect("a run that says nothing is taken", refused(0, ""))
for fault in FAULTS:
    expect(f"taken: {fault}", refused(0, json.dumps(GOOD | fault)))

near = lambda got, wanted: all(abs(a - b) < 1e-9 * max(1, b) for a, b in zip(got, wanted))
expect("time", near(figures("ms", ("one",), {1: 0.5}), (500, 11 * 8 * 2e-6, True)))
expect("rate", near(figures("1/s", ("one",), {1: 0.5}), (22, 1e9 / 16, False)))
expect("cores", near(figures("times", ("one", "two", "apart"), {1: 0.5, 2: 0.4}),
                     (1.25, 2, False)))

tests = (tree / "tests/lab/dpor/test_published.c").read_text()
known = {name: int(classes) for name, classes in re.findall(r'\{ "(\w+)", (\d+), ', tests)}
for part in lab.PARTS:
    for program in part.programs:
        if program.name in known:
            expect(f"{program.name}: {program.classes} classes, the tests have "
                   f"{known[program.name]}", program.classes == known[program.name])
expect("no program is known", "fib_5" in known)
print(f"bench_lab: {len(FAULTS) + 6} cases, {bad} failures")
sys.exit(bad > 0)
