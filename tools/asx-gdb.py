"""asx-gdb.py - tasks, call chains and regions of asx in gdb, live and from a core.

    (gdb) source asx-gdb.py
    (gdb) asx tasks           every task: name, spawn site, region path, phase, what it waits for
    (gdb) asx stacks [N...]   the same with call chains; N: serial numbers of tasks
    (gdb) asx stacks user     the same, in each chain the frames of the program before the library's
    (gdb) asx failed          what a lab test failed with, and where: the program's frames first
    (gdb) asx regions         every region: path, state, what is in it
    (gdb) asx fiber N         shows task N to bt, frame, info locals ... ("asx fiber off" ends it)

Needs the debug information of the library (a release build has it). Without, every command says so.

How it works. All runtimes are in the list asx__process. A suspended fiber is shown to gdb by an
unwinder that pretends, for the newest frame of the selected thread, that its caller is
asx__fiber_switch() with the fiber's stack pointer; gdb's own unwinding goes on from there. No
register and no memory of the process is changed, which is why cores work too.

Cores should come from the system (abort(), kill -ABRT). gdb's own generate-core-file gives up on a
mapping at the first page that cannot be read, and the guards of stacks are such pages.
"""
import re

import gdb
from gdb.unwinder import Unwinder

LIMIT = 1 << 20  # longer chains are broken ones


class Missing(Exception):
    """What is needed to understand the process is not there."""


def lookup_type(name):
    try:
        return gdb.lookup_type(name)
    except gdb.error:
        raise Missing("no debug information of asx: the type '%s' is not known.\n"
                      "Load a library or program built with -g, or let the process dump itself: "
                      "asx_dump_on_signal(), asx stacks PID." % name)


def runtimes():
    lookup_type("asx__task")
    try:
        at = gdb.parse_and_eval("(asx_runtime *)asx__process.runtimes.v_")
    except gdb.error:
        raise Missing("there is no asx__process here: the program does not use asx, or has not "
                      "been started, or its symbols were stripped.")
    count = 0
    while int(at) != 0 and count < LIMIT:
        yield at.dereference()
        at = at["registry_next"]
        count += 1


def text(value, instead):
    if int(value) == 0:
        return instead
    try:
        return value.string(errors="replace", length=-1) or instead
    except (gdb.error, gdb.MemoryError):
        return instead


def serial(generation):
    return int(generation) & ((1 << 48) - 1)


def enum_name(type_name, prefix, value):
    try:
        for field in gdb.lookup_type(type_name).strip_typedefs().fields():
            if field.enumval == int(value):
                return field.name.replace(prefix, "").lower().replace("_", "-")
    except gdb.error:
        pass
    return str(int(value))


def wait_name(kind):
    process = gdb.parse_and_eval("asx__process")
    if kind < int(process["wait_count"]):
        return text(process["wait_names"][kind], str(kind))
    return str(kind)


def camel(name):
    return "".join(part.capitalize() for part in name.split("-"))


def slab(records, type_name):
    pointer = lookup_type(type_name).pointer()
    shift, size = int(records["shift"]), int(records["record_size"])
    room = int(records["chunk_count"]) << shift
    for index in range(min(int(records["carved"]), room)):
        chunk = records["chunks"][index >> shift]
        at = int(chunk) + (index & ((1 << shift) - 1)) * size
        record = gdb.Value(at).cast(pointer)
        if int(record["generation"]) != 0:
            yield record


def path_of(region):
    names = []
    while int(region) != 0 and len(names) < 64:
        names.append(text(region["name"], "-"))
        region = region["parent"]
    return "/".join(reversed(names))


# The flags are an enum without a name for the type of the field, so they are looked up one by one.
def flag(name):
    return int(gdb.parse_and_eval("ASX__T_" + name))


class Task:
    def __init__(self, runtime, record):
        self.runtime = runtime
        self.record = record
        self.serial = serial(record["generation"])
        self.name = text(record["name"], "")
        self.site = text(record["site"], "-")
        self.path = path_of(record["region"])
        self.phase = camel(enum_name("asx_task_state", "ASX_TASK_", record["phase"]))
        self.exec = enum_name("enum asx__exec", "ASX__EXEC_", record["exec"])
        flags = int(record["flags"])
        self.poll = flags & flag("POLL") != 0
        self.started = flags & flag("STARTED") != 0
        self.cancelled = flags & flag("CANCEL") != 0

    def ended(self):
        return self.phase == "Completed"

    def waits(self):
        if self.exec != "parked" or int(self.record["w"]["waits"]) == 0:
            return ""
        waitable = self.record["w"]["waits"]
        kind = wait_name(int(waitable["ops"]["kind"]))
        if kind == "join":
            return ": join" + self.join_target()
        number = int(waitable["serial"])
        return ": " + kind + (" %d" % number if number else "")

    def join_target(self):
        task = lookup_type("asx__task").pointer()
        try:
            target = self.record["node"]["next"].cast(task)
            return " task %d \"%s\"" % (serial(target["generation"]), text(target["name"], ""))
        except (gdb.error, gdb.MemoryError):
            return ""

    def line(self):
        cancel = ""
        if self.cancelled and int(self.record["reason"]) != 0:
            kind = enum_name("asx_cancel_kind", "ASX_CANCEL_", self.record["reason"]["kind"])
            cancel = " (%s)" % camel(kind)
        return "task %d \"%s\" (%s) in %s: %s%s, %s%s%s" % (
            self.serial, self.name, self.site, self.path, self.phase, cancel,
            "" if self.started else "has not run, ", self.exec, self.waits())


# ---- call chains ------------------------------------------------------------------------------


class FrameId:
    def __init__(self, sp, pc):
        self.sp = sp
        self.pc = pc


class FiberUnwinder(Unwinder):
    """Shows one fiber in place of the selected thread's callers."""

    def __init__(self):
        super().__init__("asx fiber")
        self.sp = None

    def show(self, sp):
        self.sp = None
        gdb.invalidate_cached_frames()
        names = gdb.newest_frame().architecture().name()
        self.registers = ("rsp", "rip") if "x86-64" in names else ("sp", "pc")
        frame = gdb.newest_frame()
        self.anchor = [int(frame.read_register(name)) for name in self.registers]
        try:
            resume = int(gdb.parse_and_eval("(unsigned long)&asx__fiber_resume_pc"))
            self.saved = dict(zip(self.registers, (sp, resume)))
        except gdb.error:
            self.saved = self.of_ucontext(sp)
        self.sp = self.saved[self.registers[0]]
        gdb.invalidate_cached_frames()

    def of_ucontext(self, sp):
        """Where the switch is made with ucontext, sp is the address of one."""
        if self.registers[1] != "rip":
            raise Missing("no call chains of fibers that are made with ucontext on this processor")
        try:
            context = gdb.Value(sp).cast(gdb.lookup_type("ucontext_t").pointer())
            words = context["uc_mcontext"]["gregs"]
        except gdb.error:
            raise Missing("no symbol asx__fiber_resume_pc: the program is stripped")
        places = {"rsp": 15, "rip": 16, "rbp": 10, "rbx": 11,
                  "r12": 4, "r13": 5, "r14": 6, "r15": 7}
        return {name: int(words[place]) for name, place in places.items()}

    def hide(self):
        self.sp = None
        gdb.invalidate_cached_frames()

    def __call__(self, pending):
        if self.sp is None:
            return None
        if [int(pending.read_register(name)) for name in self.registers] != self.anchor:
            return None
        # Frames must grow away from the first; so it gets a place below the fiber's.
        word = gdb.lookup_type("unsigned long")
        info = pending.create_unwind_info(FrameId(gdb.Value(self.sp - 16).cast(word),
                                                  gdb.Value(self.anchor[1]).cast(word)))
        for name, value in self.saved.items():
            info.add_saved_register(name, gdb.Value(value & (2 ** 64 - 1)).cast(word))
        return info


unwinder = FiberUnwinder()
gdb.unwinder.register_unwinder(None, unwinder, replace=True)


OWN_FILES = re.compile(r"(^|/)src/(base|kernel|fiber|time|trace|sched|see|sync|io|flow|actor|lab)/")


def name_of(frame):
    name = frame.name() or "??"
    if frame.function() is None:
        name = name.replace("asx.", "asx__")  # gdb takes __ in a bare symbol for Ada's
    return name


def is_own(frame):
    """Is it a frame of the program, and not of asx or without source?"""
    place = frame.find_sal()
    if place.symtab is None or place.line == 0 or name_of(frame).startswith("asx_"):
        return False
    return OWN_FILES.search(place.symtab.filename) is None


def frame_line(frame, number):
    place = frame.find_sal()
    line = "    #%-2d %s" % (number, name_of(frame))
    if place.symtab is not None and place.line != 0:
        return line + " at %s:%d" % (place.symtab.filename, place.line)
    return line + " (0x%x)" % frame.pc()


def print_frames(frame, own_first=False):
    number, later = 0, []
    broken = False
    while frame is not None and number < 64 and not broken:
        if own_first and not is_own(frame):
            later.append(frame_line(frame, number))
        else:
            print(frame_line(frame, number))
        number += 1
        try:
            frame = frame.older()
        except (gdb.error, gdb.MemoryError):
            broken = True
    for line in later:
        print(line)
    if broken:
        print("    (the rest cannot be read)")


def function_at(pointer):
    symbol = gdb.block_for_pc(int(pointer))
    while symbol is not None and symbol.function is None:
        symbol = symbol.superblock
    return symbol.function.name if symbol is not None else "0x%x" % int(pointer)


def thread_of(tid):
    for thread in gdb.selected_inferior().threads():
        if thread.ptid[1] == tid or (thread.ptid[1] == 0 and thread.ptid[0] == tid):
            return thread
    return None


def workers(runtime):
    """What each thread of a runtime runs: (record, thread)."""
    engine = runtime["engine"]
    if int(engine) == 0:
        yield runtime["current"], int(runtime["driver_tid"])
        return
    for index in range(int(engine["workers_max"])):
        worker = engine["workers"][index]
        loaded = int(worker.address) == int(engine["loaded"])
        yield runtime["current"] if loaded else worker["r"]["current"], int(worker["tid"])


def runner_of(task):
    for record, tid in workers(task.runtime):
        if int(record) == int(task.record):
            return tid
    return 0


def print_thread(tid, own_first=False):
    thread = thread_of(tid)
    if thread is None:
        print("    (its thread %d is not here)" % tid)
        return
    before = gdb.selected_thread()
    thread.switch()
    try:
        print_frames(gdb.newest_frame(), own_first)
    finally:
        before.switch()


def print_chain(task, own_first=False):
    record = task.record
    if task.exec == "running":
        print_thread(runner_of(task), own_first)
    elif task.poll:
        print("    poll function " + function_at(record["u"]["poll"]["fn"]))
    elif not task.started:
        print("    begins with " + function_at(record["u"]["fresh"]["fn"]))
    else:
        try:
            unwinder.show(int(record["u"]["fiber"]["sp"]))
            print_frames(gdb.newest_frame().older(), own_first)
        except Missing as missing:
            print("    (%s)" % missing)
        finally:
            unwinder.hide()


# ---- commands ---------------------------------------------------------------------------------


def all_tasks():
    for runtime in runtimes():
        for record in slab(runtime["tasks"], "asx__task"):
            task = Task(runtime, record)
            if not task.ended():
                yield task


def say_runtimes():
    found = list(runtimes())
    print("%d runtime%s" % (len(found), "" if len(found) == 1 else "s"))
    for runtime in found:
        threads = [str(tid) for _, tid in workers(runtime) if tid != 0]
        state = "driven by thread " + " ".join(threads) if runtime["driving"] else "not driven now"
        print("runtime %d, %s" % (int(runtime["number"]), state))


class Command(gdb.Command):
    def __init__(self, name, help_text):
        self.__doc__ = help_text
        super().__init__(name, gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        del from_tty
        try:
            self.run(gdb.string_to_argv(argument))
        except Missing as missing:
            raise gdb.GdbError("asx: " + str(missing))


class Tasks(Command):
    def run(self, arguments):
        del arguments
        say_runtimes()
        for task in all_tasks():
            print(task.line())


class Stacks(Command):
    def run(self, arguments):
        own_first = "user" in arguments
        wanted = [int(word) for word in arguments if word != "user"]
        say_runtimes()
        for task in all_tasks():
            if wanted and task.serial not in wanted:
                continue
            print(task.line())
            print_chain(task, own_first)


class Failed(Command):
    def run(self, arguments):
        del arguments
        frame = gdb.newest_frame()
        if frame.name() != "asx_lab_failed_here":
            raise gdb.GdbError("asx failed: no lab test has failed here")
        site = text(frame.read_var("site"), "").split("\n")[0]
        print("failed: %s%s" % (text(frame.read_var("text"), "-"), site and " (%s)" % site))
        print_frames(frame, True)
        while frame is not None and not is_own(frame):
            frame = frame.older()
        if frame is not None:
            frame.select()
            gdb.execute("frame")


class Regions(Command):
    def run(self, arguments):
        del arguments
        say_runtimes()
        for runtime in runtimes():
            for region in slab(runtime["regions"], "asx__region"):
                live = int(region["spawned"]) - sum(
                    int(region[name]) for name in ("n_ok", "n_err", "n_cancelled", "n_panicked"))
                state = enum_name("asx_region_state", "ASX_REGION_", region["state"])
                print("region %d %s (%s): %s, tasks %d, regions %d, obligations %d" % (
                    serial(region["generation"]), path_of(region), text(region["site"], "-"),
                    camel(state), live, int(region["live_regions"]),
                    int(region["live_obligations"])))


class Fiber(Command):
    def run(self, arguments):
        if arguments == ["off"]:
            unwinder.hide()
            return
        if len(arguments) != 1 or not arguments[0].isdigit():
            raise gdb.GdbError("asx fiber: the serial number of a task, or off")
        for task in all_tasks():
            if task.serial != int(arguments[0]):
                continue
            if task.poll or not task.started or task.exec == "running":
                raise gdb.GdbError("asx fiber: task %d has no suspended stack" % task.serial)
            unwinder.show(int(task.record["u"]["fiber"]["sp"]))
            gdb.execute("frame 1")
            return
        raise gdb.GdbError("asx fiber: there is no task " + arguments[0])


class Prefix(gdb.Command):
    """Tasks, call chains and regions of asx."""

    def __init__(self):
        super().__init__("asx", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


Prefix()
Tasks("asx tasks", "Lists every task of every asx runtime.")
Stacks("asx stacks", "Lists tasks with their call chains: asx stacks [user] [SERIAL...].")
Failed("asx failed", "Shows what a lab test failed with, the program's frames first.")
Regions("asx regions", "Lists every region of every asx runtime.")
Fiber("asx fiber", "Shows a suspended task to bt, frame, info locals: asx fiber SERIAL|off.")
