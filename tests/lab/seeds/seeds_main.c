/* seeds_main.c - lab-seeds [--from N] [--count N] [--no-faults] [program ...]
 *
 * Runs each program with the seeds N .. N + count - 1 in the laboratory, oracles listening and
 * faults on, and prints one digest over all of its runs. Exit status 1 and the seed, when a run was
 * not clean: an oracle complained, it deadlocked, leaked, or did not give its memory back.
 */
#include "seeds.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/rng.h"
#include "lab/oracle/oracle.h"

typedef struct run {
    uint64_t seed;
    asx__rng draws, faults;
    asx__oracles oracles;
    asx_runtime *rt;
    uint64_t digest;        /* over the runtimes of this run */
    size_t bytes_live;
    bool armed;             /* allocations may fail */
    bool with_faults;
    uint64_t failed_allocations;
    char wrong[320];
} run;

static run now;

uint64_t seeds_draw(uint64_t below)
{
    return asx__rng_below(&now.draws, below);
}

static void wrong(const char *what, const char *detail)
{
    if (now.wrong[0] == '\0')
        (void)snprintf(now.wrong, sizeof now.wrong, "%s: %s", what, detail);
}

static void *take(void *ctx, size_t size)
{
    (void)ctx;
    if (now.armed && asx__rng_below(&now.faults, 100) == 0) {
        now.failed_allocations++;
        return NULL;
    }
    void *memory = malloc(size);
    now.bytes_live += memory != NULL ? size : 0;
    return memory;
}

static void give_back(void *ctx, void *memory, size_t size)
{
    (void)ctx;
    now.bytes_live -= memory != NULL ? size : 0;
    free(memory);
}

static void listen(void *ctx, const asx_event *event)
{
    (void)ctx;
    asx__oracles_hear(&now.oracles, event);
    if (event->kind == ASX_EVENT_TASK_SPAWN)
        now.armed = now.with_faults; /* it runs */
}

asx_status seeds_runtime_create(const asx_runtime_config *config, asx_runtime **ret_runtime)
{
    static const asx_runtime_config none;
    asx_runtime_config c = config != NULL ? *config : none;
    c.lab = c.trace = true;
    c.clock = ASX_CLOCK_VIRTUAL;
    c.workers = 0; /* the laboratory has one thread */
    c.seed = now.seed;
    c.trace_events_max = 64;
    c.trace_overflow = ASX_TRACE_OVERWRITE;
    if (c.memory == NULL)
        c.allocator = (asx_allocator){ take, give_back, NULL };
    now.armed = false;
    asx_status st = asx_runtime_create(&c, ret_runtime);
    if (st < 0)
        return st;
    now.rt = *ret_runtime;
    asx__oracles_begin(&now.oracles);
    return asx_runtime_observe(*ret_runtime, listen, NULL);
}

/* What a run with faults may return: whatever a fault can cause. */
static bool expected(asx_status st)
{
    return st != ASX_E_DEADLOCK && st != ASX_E_DIVERGED && st != ASX_E_OBLIGATION_LEAKED &&
           st != ASX_E_PANICKED && st != ASX_E_ORACLE && st != ASX_E_INVALID_TRANSITION;
}

static asx_status last_status = ASX_OK;

asx_status seeds_runtime_destroy(asx_runtime *rt)
{
    if (rt == NULL || rt != now.rt)
        return asx_runtime_destroy(rt);
    now.armed = false;
    if (asx__oracles_end(&now.oracles, last_status))
        wrong(asx_oracle_str(now.oracles.complaint.oracle), now.oracles.complaint.text);
    if (!expected(last_status))
        wrong("status", asx_status_str(last_status));
    now.digest = asx__hash_avalanche(now.digest ^ asx_runtime_digest(rt));
    (void)asx_runtime_observe(rt, NULL, NULL);
    asx_status st = asx_runtime_destroy(rt);
    if (st < 0)
        wrong("destroy", asx_status_str(st));
    if (now.bytes_live != 0)
        wrong("memory", "not all of it was given back");
    now.rt = NULL;
    return st;
}

int seeds_sigtimedwait(const sigset_t *signals, siginfo_t *ret_info, const struct timespec *most)
{
    static const struct timespec at_once;
    int signal = sigtimedwait(signals, ret_info, &at_once);
    if (signal <= 0 && now.rt != NULL) {
        uint64_t ns = (uint64_t)most->tv_sec * ASX_SEC + (uint64_t)most->tv_nsec;
        (void)asx_runtime_advance(now.rt, ns);
    }
    return signal;
}

/* What the last run has left: the next one begins without. */
static void forget_signals(void)
{
    static const struct timespec at_once;
    sigset_t signals, pending;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    if (sigpending(&pending) == 0 && sigismember(&pending, SIGTERM) == 1)
        (void)sigtimedwait(&signals, NULL, &at_once);
}

asx_status seeds_watchdog_start(asx_runtime *runtime, const asx_watchdog_options *options,
                                asx_watchdog **ret_watchdog)
{
    asx_sighting sighting = { .kind = ASX_SIGHTING_NO_YIELD, .name = "greedy", .text = "" };
    (void)runtime;
    options->report(options->ctx, &sighting);
    *ret_watchdog = NULL;
    return ASX_OK;
}

asx_status seeds_watchdog_stop(asx_watchdog *watchdog)
{
    return watchdog == NULL ? ASX_OK : ASX_E_INVALID_ARGUMENT;
}

asx_status seeds_dump_on_signal(int signo, int fd)
{
    return signo > 0 && fd > 0 ? ASX_OK : ASX_E_INVALID_ARGUMENT;
}

int seeds_asx_main(asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    if (seeds_runtime_create(NULL, &rt) < 0)
        return 1;
    last_status = asx_runtime_run(rt, fn, arg);
    asx_status end = seeds_runtime_destroy(rt);
    int code = last_status == ASX_OK && end == ASX_OK ? 0 : 1;
    last_status = ASX_OK;
    return code;
}

static const seeds_program programs[] = {
    { "hundred", hundred_main, false },
#define EXAMPLE(name) { #name, name##_example_main, false },
#include "examples.inc"
#undef EXAMPLE
};

/* True: clean. Adds its digest. */
static bool run_seed(const seeds_program *p, uint64_t seed, bool with_faults, uint64_t *digest,
                     uint64_t *ret_faults)
{
    asx__rng base;
    asx__rng_seed(&base, seed);
    asx__oracles oracles = now.oracles;
    memset(&now, 0, sizeof now);
    now.oracles = oracles;
    now.seed = seed;
    now.with_faults = with_faults;
    asx__rng_seed(&now.draws, asx__rng_next(&base));
    asx__rng_seed(&now.faults, asx__rng_next(&base));
    forget_signals();
    int code = p->run();
    if (now.rt != NULL)
        wrong("runtime", "it was not destroyed");
    if (!with_faults && p->run != hundred_main && code != 0)
        wrong("exit code", "not 0, and there were no faults");
    *digest = asx__hash_avalanche(*digest ^ now.digest ^ seed);
    *ret_faults += now.failed_allocations;
    return now.wrong[0] == '\0';
}

/* Examples print; here nobody wants to read it. Returns where the results go. */
static FILE *quiet(void)
{
    int keep = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);
    if (keep < 0 || null < 0 || dup2(null, STDOUT_FILENO) < 0)
        exit(2);
    close(null);
    return fdopen(keep, "w");
}

int main(int argc, char **argv)
{
    uint64_t from = 1, count = 100;
    bool with_faults = true, any = false;
    int code = 0;
    int first = 1;
    for (; first < argc && strncmp(argv[first], "--", 2) == 0; first++) {
        if (strcmp(argv[first], "--no-faults") == 0)
            with_faults = false;
        else if (strcmp(argv[first], "--from") == 0 && first + 1 < argc)
            from = strtoull(argv[++first], NULL, 0);
        else if (strcmp(argv[first], "--count") == 0 && first + 1 < argc)
            count = strtoull(argv[++first], NULL, 0);
        else
            return 2;
    }
    FILE *out = quiet();
    asx__oracles_init(&now.oracles);
    for (size_t i = 0; i < sizeof programs / sizeof programs[0] && out != NULL; i++) {
        uint64_t digest = 0, faults = 0;
        bool wanted = first == argc;
        for (int a = first; a < argc; a++)
            wanted = wanted || strcmp(argv[a], programs[i].name) == 0;
        if (!wanted)
            continue;
        any = true;
        for (uint64_t seed = from; seed < from + count; seed++)
            if (!run_seed(&programs[i], seed, with_faults, &digest, &faults)) {
                fprintf(out, "%s: seed %llu: %s\n", programs[i].name, (unsigned long long)seed,
                        now.wrong);
                code = 1;
                break;
            }
        fprintf(out, "%s: seeds %llu to %llu, %llu allocations failed, digest %016llx\n",
                programs[i].name, (unsigned long long)from,
                (unsigned long long)(from + count - 1), (unsigned long long)faults,
                (unsigned long long)digest);
    }
    asx__oracles_deinit(&now.oracles);
    return out == NULL || !any ? 2 : code;
}
