/* test_random.c - random programs, written as scenarios and run on the real runtime.
 *
 * A program is a few bodies of random operations on a few shared names; whatever an operation
 * answers is accepted. What must hold of every one of them:
 *   - nothing crashes, no assertion fails, it ends;
 *   - run again, run in steps, run in another profile: the same digest;
 *   - afterwards no task and no region is alive and nothing is reserved, also when it ran without
 *     journal and seed, where the runtime takes its short ways;
 *   - its recording replays.
 */
#include "cli/scn.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "harness.h"

enum { TEXT_MAX = 16384 };

typedef struct text {
    char *buffer;
    size_t len;
    unsigned body; /* that is being written; 0: main */
    asx__rng rng;
} text;

static unsigned pick(text *t, unsigned n)
{
    return (unsigned)asx__rng_below(&t->rng, n);
}

__attribute__((format(printf, 2, 3)))
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->buffer + t->len, TEXT_MAX - t->len, format, args);
    va_end(args);
    CHECK(n >= 0 && (size_t)n < TEXT_MAX - t->len);
    t->len += (size_t)n;
}

static const char *const kinds[] = { "User", "Timeout", "FailFast", "Shutdown" };

static void put_channel_op(text *t)
{
    unsigned c = 1 + pick(t, 2), p = 1 + pick(t, 3);
    switch (pick(t, 17)) {
    case 0: put(t, "send c%u %u", c, pick(t, 100)); break;
    case 1: put(t, "try-send c%u %u", c, pick(t, 100)); break;
    case 2: put(t, "evict c%u %u", c, pick(t, 100)); break;
    case 3: put(t, "reserve c%u p%u", c, p); break;
    case 4: put(t, "try-reserve c%u p%u", c, p); break;
    case 5: put(t, "permit-send p%u 1", p); break;
    case 6: put(t, "permit-abort p%u", p); break;
    case 7: put(t, "recv c%u", c); break;
    case 8: put(t, "try-recv c%u", c); break;
    case 9: put(t, "recv-ack c%u a%u", c, p); break;
    case 10: put(t, "ack a%u", p); break;
    case 11: put(t, "nack a%u", p); break;
    case 12: put(t, "clone c%u d%u", c, c); break;
    case 13: put(t, "drop-sender d%u", c); break;
    case 14: put(t, "send d%u 5", c); break;
    case 15: put(t, "reserve-tracked c%u q%u", c, p); break;
    default: put(t, pick(t, 2) == 0 ? "tracked-send q%u 2" : "tracked-abort q%u", p); break;
    }
}

/* A body that comes later: programs that spawn themselves do not end. */
static const char *later_body(text *t)
{
    static const char *const bodies[] = { "b1", "b2", "b3", "b4", "f" };
    return bodies[t->body + pick(t, 5 - t->body)];
}

static void put_region_op(text *t)
{
    unsigned r = 1 + pick(t, 3), n = 1 + pick(t, 6);
    const char *b = later_body(t);
    switch (pick(t, 14)) {
    case 0: put(t, "spawn r%u %s as t%u", r, b, n); break;
    case 1: put(t, "spawn r%u %s as t%u poll priority %u", r, b, n, pick(t, 4)); break;
    case 2: put(t, "spawn r%u %s as t%u deadline %ums", r, b, n, pick(t, 20)); break;
    case 3: put(t, "spawn r%u %s as t%u polls %u cost 9", r, b, n, pick(t, 9)); break;
    case 4: put(t, "join t%u", n); break;
    case 5: put(t, "cancel task t%u kind %s", n, kinds[pick(t, 4)]); break;
    case 6: put(t, "cancel region r%u kind %s", r, kinds[pick(t, 4)]); break;
    case 7: put(t, "stop r%u", r); break;
    case 8: put(t, "defer r%u f", r); break;
    case 9: put(t, "oblige r%u o%u", r, n); break;
    case 10: put(t, pick(t, 2) == 0 ? "commit o%u" : "abort o%u", n); break;
    case 11: put(t, "link t%u t%u", n, 1 + pick(t, 6)); break;
    case 12: put(t, "alloc r%u %u", r, 1 + pick(t, 4000)); break;
    default: put(t, "close r%u", r); break;
    }
}

static void put_own_op(text *t)
{
    static const char *const governors[] = { "NoPreference", "MeetDeadlines", "DrainObligations",
                                             "DrainRegions" };
    unsigned s = 1 + pick(t, 2);
    switch (pick(t, 20)) {
    case 0: put(t, "sleep %uus", pick(t, 5000)); break;
    case 1: put(t, "mask %u", pick(t, 4)); break;
    case 2: put(t, "unmask"); break;
    case 3: put(t, "checkpoint"); break;
    case 4: put(t, "task-defer f"); break;
    case 5: put(t, "consume %u", pick(t, 6)); break;
    case 6: put(t, "note n %u", pick(t, 100)); break;
    /* A waker is valid until its region is closed: that of the root outlives all who call it. */
    case 7: put(t, t->body == 0 ? "waker k1" : "yield"); break;
    case 8: put(t, "wake k%u", 1 + pick(t, 2)); break;
    case 9: put(t, "wait-external"); break;
    case 10: put(t, pick(t, 6) == 0 ? "panic \"x\"" : "set-value 3"); break;
    case 11: put(t, pick(t, 4) == 0 ? "timeout 1ms f" : "masked f"); break;
    case 12: put(t, pick(t, 4) == 0 ? "race f f" : "join-all f f"); break;
    case 13: put(t, "open s%u%s", s, pick(t, 2) == 0 ? "" : " timeout 1ms policy collect"); break;
    case 14: put(t, "spawn s%u f%s", s, pick(t, 2) == 0 ? "" : " poll"); break;
    case 15: put(t, "close s%u", s); break;
    case 16: put(t, "bracket f f f"); break;
    case 17: put(t, pick(t, 20) == 0 ? "shutdown" : "section 2 f"); break;
    case 18: put(t, "governor is %s", governors[pick(t, 4)]); break;
    default: put(t, "yield"); break;
    }
}

static void put_ops(text *t, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        put(t, "  ");
        switch (pick(t, 5)) {
        case 0:
        case 1: put_channel_op(t); break;
        case 2:
        case 3: put_region_op(t); break;
        default: put_own_op(t); break;
        }
        put(t, " -> any\n");
    }
}

/* Something makes every name, so that every text can be read. */
static void put_names(text *t)
{
    put(t, "body names\n");
    for (unsigned i = 1; i <= 6; i++)
        put(t, "  spawn root f as t%u -> any\n  oblige root o%u -> any\n  abort o%u -> any\n", i, i,
            i);
    for (unsigned i = 1; i <= 3; i++)
        put(t, "  reserve c1 p%u -> any\n  permit-abort p%u -> any\n  recv-ack c1 a%u -> any\n"
               "  reserve-tracked c1 q%u -> any\n  tracked-abort q%u -> any\n",
            i, i, i, i, i);
    put(t, "  open s1 -> any\n  open s2 -> any\n  close s2 -> any\n  close s1 -> any\n"
           "  clone c1 d1 -> any\n  clone c2 d2 -> any\n  waker k1 -> any\n  waker k2 -> any\n"
           "  note n 0\nend\n");
}

/* Ceilings that are met often. What a profile needs for itself differs, so such programs are not
 * compared across profiles. */
static bool put_limits(text *t, bool *ret_starved)
{
    if (pick(t, 3) != 0)
        return false;
    put(t, "config trace-max 400\n");
    switch (pick(t, 7)) {
    case 0: put(t, "config tasks-max %u\n", 3 + pick(t, 5)); break;
    case 1: put(t, "config regions-max %u\n", 2 + pick(t, 4)); break;
    case 2: put(t, "config obligations-max %u\n", 1 + pick(t, 4)); break;
    case 3: put(t, "config timers-max %u\n", 1 + pick(t, 3)); break;
    case 4: put(t, "config channels-max 1\n"); break;
    case 5: put(t, "config stacks-max %u\n", 2 + pick(t, 4)); break;
    default:
        put(t, "config memory-max %u\n", 60000 + pick(t, 100000));
        *ret_starved = true;
        break;
    }
    return true;
}

static size_t make_program(uint64_t seed, const char *more, char *buffer)
{
    static const char *const policies[] = { "", " policy collect", " cleanup-time 2ms",
                                            " timeout 7ms policy collect", " tasks 4" };
    text t = { .buffer = buffer };
    asx__rng_seed(&t.rng, seed);
    /* The clock is virtual outside the lab too: there a deadlock is seen, not waited for. */
    put(&t, "scenario random-%llu\nconfig clock virtual\nconfig root leaks-allowed%s\n"
            "config seed %u\n",
        (unsigned long long)seed, pick(&t, 2) == 0 ? " policy collect" : "", pick(&t, 3));
    bool starved = false;
    bool limited = put_limits(&t, &starved);
    put(&t, "body f\n  note n 7 -> any\n  yield -> any\nend\n");
    put_names(&t);
    for (unsigned b = 1; b <= 4; b++) {
        put(&t, "body b%u\n", b);
        t.body = b;
        put_ops(&t, 2 + pick(&t, 12));
        put(&t, "%send\n", pick(&t, 4) == 0 ? "  return ASX_E_FULL\n" : "");
    }
    put(&t, "main\n");
    t.body = 0;
    for (unsigned r = 1; r <= 3; r++)
        put(&t, "  open r%u%s%s -> any\n", r, r == 2 && pick(&t, 2) == 0 ? " in r1" : "",
            policies[pick(&t, 5)]);
    put(&t, "  channel r1 c1 %u -> any\n  channel %s c2 %u -> any\n", 1 + pick(&t, 3),
        pick(&t, 2) == 0 ? "root" : "r3", 1 + pick(&t, 3));
    for (unsigned b = 1; b <= 4; b++)
        put(&t, "  spawn r%u b%u as t%u%s -> any\n", 1 + pick(&t, 3), b, b,
            pick(&t, 2) == 0 ? " poll" : "");
    put_ops(&t, 4 + pick(&t, 10));
    put(&t, "  close r3 -> any\n  close r2 -> any\n  close r1 -> any\n");
    put(&t, "  repeat 0\n    masked names -> any\n  end\n");
    put(&t, "end\n");
    /* Without memory there may be no timer to end a masked wait at shutdown. */
    if (!starved)
        put(&t, "expect stats tasks-live 0 regions-live 0 obligations-reserved 0\n");
    put(&t, "expect digest same\nexpect replay\n%s", more);
    if (!limited)
        put(&t, "expect digest same profile embedded\nexpect digest same profile freestanding\n");
    return t.len;
}

/* What the run returned is its own business here. */
static asx_status run_program(const char *program, size_t len, unsigned mode, bool unchecked)
{
    scn s;
    scn_error error;
    scn_result result;
    if (scn_parse("random", 1, program, len, &s, &error) < 0) {
        (void)fprintf(stderr, "%s\n", error.text);
        _exit(3);
    }
    scn_run_options options = { .vehicle = SCN_FIBER, .mode = mode, .unchecked = unchecked };
    if (scn_run(&s, &options, &result) < 0)
        _exit(4);
    if (!result.passed && strstr(result.why, "the run ended with") == NULL) {
        (void)fprintf(stderr, "random:%u: %s\n", (unsigned)result.line, result.why);
        _exit(5);
    }
    scn_deinit(&s);
    return result.status;
}

/* A deadlock is ended by whoever drives: asx_runtime_run() shuts down, a host that drives in steps
 * sees that nothing will come. Other programs run alike either way. */
static void judge_program(uint64_t seed, char *program)
{
    size_t len = make_program(seed, "", program);
    if (run_program(program, len, SCN_LAB, true) != ASX_E_DEADLOCK)
        len = make_program(seed, "expect digest same step 1\n", program);
    (void)run_program(program, len, SCN_LAB, false);
    (void)run_program(program, len, SCN_BARE, false);
}

ASX_TEST_TIMEOUT(random_programs_end_and_can_be_repeated, 900)
{
    static char program[TEXT_MAX];
    const char *from = getenv("ASX_RANDOM_SEED");
    uint64_t first = from == NULL ? 1 : strtoull(from, NULL, 10);
    const char *many = getenv("ASX_RANDOM_COUNT");
    uint64_t count = many == NULL ? 300 / asx_test_scale() : strtoull(many, NULL, 10);
    for (uint64_t seed = first; seed < first + count; seed++) {
        int status = 0;
        size_t len = make_program(seed, "expect digest same step 1\n", program);
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            (void)alarm(20 * asx_test_scale());
            judge_program(seed, program);
            exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        if (status != 0) {
            (void)fprintf(stderr, "%.*s\n", (int)len, program);
            asx_test_fail(__FILE__, __LINE__, "random program %llu: %s %d",
                          (unsigned long long)seed, WIFSIGNALED(status) ? "signal" : "exit code",
                          WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        }
    }
}
