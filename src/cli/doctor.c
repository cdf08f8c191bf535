/* doctor.c - `asx doctor`: what this machine and this build offer, and whether it works.
 *
 * Every line is `ok|FAIL|note  what: answer`. Essential things that fail make the exit code 1: a
 * clock that goes back, no guarded stack, a lab run that is not the same twice, a live run that
 * does not end as it must.
 */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <asx/asx_lab.h>

#include "fiber/fiber.h"
#include "time/time.h"

__attribute__((format(printf, 3, 4)))
static bool say(bool ok, const char *what, const char *format, ...)
{
    va_list args;
    (void)printf("%s %s: ", ok ? "ok  " : "FAIL", what);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
    return ok;
}

static const char *sanitizer(void)
{
    if (ASX__FIBER_ASAN)
        return "address";
    if (ASX__FIBER_TSAN)
        return "thread";
    return "none";
}

static const char *switch_kind(void)
{
#if defined(ASX_FIBER_UCONTEXT)
    return "ucontext";
#elif defined(__x86_64__)
    return "assembly, x86-64";
#elif defined(__aarch64__)
    return "assembly, aarch64";
#else
    return "assembly, riscv64";
#endif
}

static void describe_build(void)
{
    struct utsname os;
    if (uname(&os) != 0)
        (void)memset(&os, 0, sizeof(os));
    (void)say(true, "version", "asx %d.%d.%d, %s", ASX_VERSION_MAJOR, ASX_VERSION_MINOR,
              ASX_VERSION_PATCH, __VERSION__);
    (void)say(true, "machine", "%s, %s %s, %d-bit, %ld processors", os.machine, os.sysname,
              os.release, (int)sizeof(void *) * 8, sysconf(_SC_NPROCESSORS_ONLN));
    (void)say(true, "assertions", "level %d", ASX_ASSERT_LEVEL);
    (void)say(true, "sanitizer", "%s", sanitizer());
    (void)say(true, "context switch", "%s", switch_kind());
    (void)say(true, "page size", "%ld bytes", sysconf(_SC_PAGESIZE));
}

static bool check_stacks(void)
{
    static const char *const names[] = {
        [ASX__STACK_GUARD_AUTO] = "none",
        [ASX__STACK_GUARD_INSTALL] = "MADV_GUARD_INSTALL, no limit on fibers",
        [ASX__STACK_GUARD_MPROTECT] = "mprotect, fibers end at the system's map count",
        [ASX__STACK_GUARD_CANARY] = "canary, an overflow is found after the fact",
    };
    asx__stack_pool pool;
    asx__stack_config config = { 0 };
    if (asx__stack_pool_init(&pool, &config) < 0)
        return say(false, "stack guard", "no pool");
    asx__stack *stack = asx__stack_acquire(&pool);
    bool ok = stack != NULL;
    (void)say(ok, "stack guard", "%s", ok ? names[stack->guard] : "no stack to be had");
    if (ok) {
        ok = say(stack->size > 4096, "stack", "%zu bytes usable of %zu", stack->size,
                 ASX__STACK_SIZE_DEFAULT);
        asx__stack_release(&pool, stack);
    }
    asx__stack_pool_deinit(&pool);
    return ok;
}

static bool check_clock(void)
{
    asx__monotonic_clock real;
    if (asx__monotonic_clock_init(&real) < 0)
        return say(false, "clock", "no monotonic clock");
    asx__clock clock = asx__monotonic_clock_interface(&real);
    asx_time before = asx__clock_now(&clock), smallest = ASX_TIME_NEVER;
    for (int i = 0; i < 10000; i++) {
        asx_time now = asx__clock_now(&clock);
        if (now < before)
            return say(false, "clock", "went back by %" PRIu64 " ns", before - now);
        if (now > before && now - before < smallest)
            smallest = now - before;
        before = now;
    }
    return say(true, "clock", "monotonic, smallest step seen %" PRIu64 " ns", smallest);
}

static void describe_limits(void)
{
    struct rlimit files = { 0, 0 }, memory = { 0, 0 };
    FILE *maps = fopen("/proc/sys/vm/max_map_count", "r");
    long count = 0;
    (void)getrlimit(RLIMIT_NOFILE, &files);
    (void)getrlimit(RLIMIT_AS, &memory);
    (void)say(true, "open files", "%llu", (unsigned long long)files.rlim_cur);
    if (memory.rlim_cur == RLIM_INFINITY)
        (void)say(true, "address space", "unlimited");
    else
        (void)say(true, "address space", "%llu bytes", (unsigned long long)memory.rlim_cur);
    if (maps != NULL) {
        if (fscanf(maps, "%ld", &count) == 1)
            (void)say(true, "memory maps", "%ld", count);
        (void)fclose(maps);
    }
}

/* ---- self-check ---- */

typedef struct pipe_arg {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    uint64_t sum;
} pipe_arg;

static asx_status producer(asx_cx *cx, void *arg)
{
    pipe_arg *p = arg;
    for (uint64_t i = 1; i <= 100; i++) {
        asx_status st = asx_channel_send(cx, &p->tx, &i);
        if (st < 0)
            return st;
    }
    return asx_channel_sender_drop(&p->tx);
}

static asx_status consumer(asx_cx *cx, void *arg)
{
    pipe_arg *p = arg;
    uint64_t n = 0;
    asx_status st;
    while ((st = asx_channel_recv(cx, &p->rx, &n)) >= 0)
        p->sum += n;
    return st == ASX_E_DISCONNECTED ? ASX_OK : st;
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_sleep(cx, 3600 * ASX_SEC);
}

/* A pipe through a channel, and a region that times out around a task that sleeps too long. */
static asx_status program(asx_cx *cx, void *arg)
{
    pipe_arg *p = arg;
    asx_region r;
    asx_region_options options = { .name = "pipe" };
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    (void)asx_channel_create(&r, sizeof(uint64_t), 4, NULL, &p->tx, &p->rx);
    (void)asx_spawn(&r, "producer", producer, p);
    (void)asx_spawn(&r, "consumer", consumer, p);
    st = asx_region_close(&r, ASX_OK);
    if (st < 0)
        return st;
    options = (asx_region_options){ .name = "short", .timeout_ns = ASX_MS };
    st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    (void)asx_spawn(&r, "sleeper", sleeper, NULL);
    st = asx_region_close(&r, ASX_OK);
    return st == ASX_E_TIMEOUT ? ASX_OK : st < 0 ? st : ASX_E_EXPECTATION;
}

static bool check_lab(void)
{
    asx_lab_options options = { .seed = 7, .program = "doctor" };
    asx_lab_result one, two;
    pipe_arg p = { .sum = 0 };
    asx_status st = asx_lab_run(program, &p, &options, &one);
    if (st >= 0)
        st = asx_lab_run(program, &p, &options, &two);
    if (st < 0)
        return say(false, "lab run", "%s", asx_status_str(st));
    if (one.status < 0 || p.sum != 2 * 5050)
        return say(false, "lab run", "%s, sum %" PRIu64, asx_status_str(one.status), p.sum);
    return say(one.digest == two.digest, "lab run", "%" PRIu64 " events, digest %016" PRIx64 "%s",
               one.events, one.digest,
               one.digest == two.digest ? ", the same twice" : ", another one the second time");
}

static bool check_live(void)
{
    asx_runtime *rt = NULL;
    pipe_arg p = { .sum = 0 };
    asx_status st = asx_runtime_create(NULL, &rt);
    if (st < 0)
        return say(false, "live run", "%s", asx_status_str(st));
    st = asx_runtime_run(rt, program, &p);
    asx_status rest = asx_runtime_quiescent(rt);
    (void)asx_runtime_destroy(rt);
    bool ok = st == ASX_OK && p.sum == 5050 && rest == ASX_OK;
    return say(ok, "live run", "%s, sum %" PRIu64 ", %s", asx_status_str(st), p.sum,
               rest == ASX_OK ? "quiescent" : asx_status_str(rest));
}

int cli_doctor(int argc, char **argv)
{
    if (argc > 1)
        return cli_error("doctor: '%s' is not expected", argv[1]);
    describe_build();
    bool ok = check_stacks();
    ok = check_clock() && ok;
    describe_limits();
    ok = check_lab() && ok;
    ok = check_live() && ok;
    return ok ? CLI_OK : CLI_FAILED;
}
