/* test_supervisor.c - what Erlang/OTP documents of its supervisors, case by case.
 *
 * Each row has three children that live and die by a script, and says what must happen: who is
 * started (+), ends by itself (!) or is stopped (-), in which order, and what the supervisor
 * returns. It is run on a virtual clock, and in the laboratory in every schedule. */
#define ASX_LAB 1
#include <asx/asx.h>

#include <string.h>

#include "harness.h"
#include "lab/dpor/support_classes.h"

enum { CHILDREN = 3, RUNS = 4, LOG = 160 };

/* How a run goes: when it ends by itself, and how. 0: it runs until it is stopped. */
typedef struct fate {
    uint32_t after_ms;
    asx_status status;
    bool panics;
} fate;

typedef struct script {
    char name;
    fate runs[RUNS];    /* of run i; those behind: until stopped */
    asx_status start;   /* what its start says, of run ... */
    uint32_t start_run; /* ... so many, from 1; 0: none fails */
    uint32_t cleanup_ms; /* when it is stopped */
    bool deaf;          /* it has a helper that hears of no cancel */
    uint32_t run, tried;
    struct world *world;
} script;

typedef struct row {
    const char *law;
    asx_supervisor_options options;
    asx_restart restart[CHILDREN];
    script children[CHILDREN];
    uint64_t stop_ns[CHILDREN];
    uint32_t cancel_ms; /* the supervisor is cancelled; 0: not */
    const char *log;
    asx_status status;
    uint32_t forced; /* how many had to be */
    bool unexplored; /* the explorer takes a panic for a failure, and no clean-up for too long */
    uint32_t ended_ms; /* when the supervisor returned; 0: not looked at */
} row;

typedef struct world {
    const row *row;
    script children[CHILDREN];
    asx_supervised specs[CHILDREN];
    asx_supervised_end ends[CHILDREN];
    char log[LOG];
    asx_status got;
    uint32_t ended_ms;
} world;

static void note(script *c, char what)
{
    size_t len = strlen(c->world->log);
    if (len + 3 < LOG) {
        c->world->log[len] = c->name;
        c->world->log[len + 1] = what;
        c->world->log[len + 2] = '\0';
    }
}

static asx_status start_script(asx_cx *cx, void *arg)
{
    script *c = arg;
    (void)cx;
    bool fails = ++c->tried == c->start_run;
    note(c, fails ? 'x' : '+');
    return fails ? c->start : ASX_OK;
}

static asx_poll hears_nothing(asx_cx *cx, void *state)
{
    asx_waker waker;
    (void)state;
    ASX_IGNORE(asx_cx_waker(cx, &waker));
    return ASX_POLL_PENDING;
}

static asx_status run_script(asx_cx *cx, void *arg)
{
    script *c = arg;
    fate none = { 0, ASX_OK, false }, f = c->run < RUNS ? c->runs[c->run] : none;
    c->run++;
    asx_region mine;
    if (c->deaf && asx_cx_region(cx, &mine) == ASX_OK)
        (void)asx_spawn_poll(&mine, "deaf", hears_nothing, NULL);
    asx_status st = asx_sleep(cx, f.after_ms != 0 ? f.after_ms * ASX_MS : 100 * ASX_SEC);
    if (st < 0) {
        if (c->cleanup_ms != 0) {
            (void)asx_mask_begin(cx, 0);
            (void)asx_sleep(cx, c->cleanup_ms * ASX_MS);
            (void)asx_mask_end(cx);
        }
        note(c, '-');
        return st;
    }
    note(c, '!');
    if (f.panics)
        asx_panic(cx, "a child that panics");
    return f.status;
}

static asx_status supervisor(asx_cx *cx, void *arg)
{
    world *w = arg;
    w->got = asx_supervise(cx, w->specs, CHILDREN, &w->row->options, w->ends);
    w->ended_ms = (uint32_t)(asx_now(cx) / ASX_MS);
    return ASX_OK;
}

static void begin(world *w, const row *r)
{
    memset(w, 0, sizeof *w);
    w->row = r;
    w->got = 1;
    for (int i = 0; i < CHILDREN; i++) {
        w->children[i] = r->children[i];
        w->children[i].name = (char)('a' + i);
        w->children[i].world = w;
        w->specs[i] = (asx_supervised){ .name = "child", .fn = run_script, .arg = &w->children[i],
                                   .start = start_script, .restart = r->restart[i],
                                   .stop_ns = r->stop_ns[i] };
    }
}

static asx_status play(asx_cx *cx, world *w)
{
    asx_region region;
    asx_task task;
    asx_status st = asx_region_open(cx, NULL, &region);
    if (st == ASX_OK)
        st = asx_spawn_task(&region, supervisor, w, &(asx_spawn_options){ .name = "sup" }, &task);
    if (st == ASX_OK && w->row->cancel_ms != 0) {
        st = asx_sleep(cx, w->row->cancel_ms * ASX_MS);
        (void)asx_task_cancel(&task, NULL);
    }
    return asx_region_close(&region, st);
}

static bool went_well(const world *w)
{
    uint32_t forced = 0;
    for (int i = 0; i < CHILDREN; i++)
        forced += w->ends[i].forced;
    return strcmp(w->log, w->row->log) == 0 && w->got == w->row->status &&
           forced == w->row->forced &&
           (w->row->ended_ms == 0 || w->ended_ms == w->row->ended_ms);
}

#define FAILS(ms) { (ms), ASX_E_FULL, false }
#define ENDS(ms) { (ms), ASX_OK, false }
#define PANICS(ms) { (ms), ASX_OK, true }
#define P ASX_RESTART_PERMANENT
#define T ASX_RESTART_TRANSIENT
#define O ASX_RESTART_TEMPORARY

static const row rows[] = {
    { .law = "one_for_one restarts the child that ended and nobody else",
      .options = { .strategy = ASX_ONE_FOR_ONE }, .children[1].runs = { FAILS(10) },
      .cancel_ms = 30, .log = "a+b+c+b!b+c-b-a-", .status = ASX_E_CANCELLED },
    { .law = "one_for_all stops the others in reverse order and starts all in order",
      .options = { .strategy = ASX_ONE_FOR_ALL }, .children[1].runs = { FAILS(10) },
      .cancel_ms = 30, .log = "a+b+c+b!c-a-a+b+c+c-b-a-", .status = ASX_E_CANCELLED },
    { .law = "rest_for_one stops and starts those behind it",
      .options = { .strategy = ASX_REST_FOR_ONE }, .children[1].runs = { FAILS(10) },
      .cancel_ms = 30, .log = "a+b+c+b!c-b+c+c-b-a-", .status = ASX_E_CANCELLED },
    { .law = "a permanent child is always restarted",
      .children[0].runs = { ENDS(10) }, .cancel_ms = 30, .log = "a+b+c+a!a+c-b-a-",
      .status = ASX_E_CANCELLED },
    { .law = "a transient child is restarted only if it ends abnormally: it fails",
      .restart = { T, T, T }, .children[0].runs = { FAILS(10), ENDS(10) }, .cancel_ms = 30,
      .log = "a+b+c+a!a+a!c-b-", .status = ASX_E_CANCELLED },
    { .law = "a transient child is restarted only if it ends abnormally: it panics",
      .restart = { P, P, T }, .children[2].runs = { PANICS(10) }, .cancel_ms = 30,
      .log = "a+b+c+c!c+c-b-a-", .status = ASX_E_CANCELLED, .unexplored = true },
    { .law = "a temporary child is never restarted",
      .restart = { O, P, P }, .children[0].runs = { FAILS(10) }, .cancel_ms = 30,
      .log = "a+b+c+a!c-b-", .status = ASX_E_CANCELLED },
    { .law = "nor when it is stopped because a sibling has failed",
      .options = { .strategy = ASX_ONE_FOR_ALL }, .restart = { O, P, P },
      .children[1].runs = { FAILS(10) }, .cancel_ms = 30, .log = "a+b+c+b!c-a-b+c+c-b-",
      .status = ASX_E_CANCELLED },
    { .law = "the end of a temporary child does not stop its siblings",
      .options = { .strategy = ASX_ONE_FOR_ALL }, .restart = { P, O, P },
      .children[1].runs = { FAILS(10) }, .cancel_ms = 30, .log = "a+b+c+b!c-a-",
      .status = ASX_E_CANCELLED },
    { .law = "more restarts than the intensity within the period: all are stopped, it gives up",
      .options = { .restarts_max = 2 },
      .children[1].runs = { FAILS(10), FAILS(10), FAILS(10) },
      .log = "a+b+c+b!b+b!b+b!c-a-", .status = ASX_E_BUDGET_EXHAUSTED },
    { .law = "the default intensity is one restart",
      .children[1].runs = { FAILS(10), FAILS(10) }, .log = "a+b+c+b!b+b!c-a-",
      .status = ASX_E_BUDGET_EXHAUSTED },
    { .law = "intensity 0: the first end that asks for a restart is the last",
      .options = { .restarts_max = ASX_NO_RESTARTS }, .children[2].runs = { FAILS(10) },
      .log = "a+b+c+c!b-a-", .status = ASX_E_BUDGET_EXHAUSTED },
    { .law = "restarts that lie further apart than the period are not counted together",
      .options = { .period_ns = 5 * ASX_MS },
      .children[1].runs = { FAILS(10), FAILS(10), FAILS(10) }, .cancel_ms = 35,
      .log = "a+b+c+b!b+b!b+b!b+c-b-a-", .status = ASX_E_CANCELLED },
    { .law = "a restart of all is one restart",
      .options = { .strategy = ASX_ONE_FOR_ALL, .restarts_max = 2 },
      .children[0].runs = { FAILS(10), FAILS(10) }, .cancel_ms = 30,
      .log = "a+b+c+a!c-b-a+b+c+a!c-b-a+b+c+c-b-a-", .status = ASX_E_CANCELLED },
    { .law = "children are started in order; if one cannot be, those before it are stopped",
      .children[2] = { .start = ASX_E_BUSY, .start_run = 1 }, .log = "a+b+cxb-a-",
      .status = ASX_E_BUSY },
    { .law = "a start that fails in a restart is tried again, and counted",
      .options = { .restarts_max = 2 },
      .children[1] = { .runs = { FAILS(10) }, .start = ASX_E_BUSY, .start_run = 2 },
      .cancel_ms = 30, .log = "a+b+c+b!bxb+c-b-a-", .status = ASX_E_CANCELLED },
    { .law = "until the intensity is reached",
      .options = { .restarts_max = 1 },
      .children[1] = { .runs = { FAILS(10) }, .start = ASX_E_BUSY, .start_run = 2 },
      .log = "a+b+c+b!bxc-a-", .status = ASX_E_BUDGET_EXHAUSTED },
    { .law = "shutdown: a child has its time to clean up",
      .children[1].cleanup_ms = 20, .cancel_ms = 10, .log = "a+b+c+c-b-a-",
      .status = ASX_E_CANCELLED },
    { .law = "one that does not stop within its time is ended by force, and named",
      .children[1].deaf = true, .stop_ns = { 0, 50 * ASX_MS, 0 }, .cancel_ms = 10,
      .log = "a+b+c+c-b-a-", .status = ASX_E_CANCELLED, .forced = 1, .unexplored = true },
    { .law = "its clean-up is cut off when the time is over",
      .children[1].cleanup_ms = 200, .stop_ns = { 0, 50 * ASX_MS, 0 }, .cancel_ms = 10,
      .log = "a+b+c+c-b-a-", .status = ASX_E_CANCELLED, .ended_ms = 60,
      .unexplored = true },
    { .law = "brutal kill: no time at all",
      .children[2] = { .deaf = true, .cleanup_ms = 2 }, .stop_ns = { 0, 0, ASX_STOP_BRUTAL },
      .cancel_ms = 10, .log = "a+b+c+c-b-a-", .status = ASX_E_CANCELLED, .forced = 1,
      .unexplored = true, .ended_ms = 10 },
    { .law = "infinity: it is waited for",
      .children[1].cleanup_ms = 2000, .stop_ns = { 0, ASX_TIME_NEVER, 0 }, .cancel_ms = 10,
      .log = "a+b+c+c-b-a-", .status = ASX_E_CANCELLED, .ended_ms = 2010 },
    { .law = "when all have ended for good the supervisor returns (here, not in OTP)",
      .restart = { T, O, T },
      .children = { { .runs = { ENDS(10) } }, { .runs = { FAILS(20) } }, { .runs = { ENDS(5) } } },
      .log = "a+b+c+c!a!b!", .status = ASX_OK },
    { .law = "a restart waits for its backoff, and a cancel does not",
      .options = { .backoff_ns = 20 * ASX_MS, .restarts_max = 5 },
      .children[0].runs = { FAILS(10), FAILS(10) }, .cancel_ms = 60, .log = "a+b+c+a!a+a!c-b-",
      .status = ASX_E_CANCELLED },
};
enum { ROWS = sizeof rows / sizeof rows[0] };

/* ---- live ----------------------------------------------------------------------------------- */

static asx_status live(asx_cx *cx, void *arg)
{
    return play(cx, arg);
}

ASX_TEST(supervisors_do_what_otp_documents)
{
    int wrong = 0;
    for (int i = 0; i < ROWS; i++) {
        static world w;
        asx_runtime *rt;
        asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
        begin(&w, &rows[i]);
        CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
        ASX_IGNORE(asx_runtime_run(rt, live, &w));
        CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
        if (!went_well(&w)) {
            fprintf(stderr, "%s: %s %s at %d ms, want %s\n", rows[i].law, w.log,
                    asx_status_str(w.got), (int)w.ended_ms, rows[i].log);
            wrong++;
        }
    }
    CHECK_EQ(wrong, 0);
}

/* ---- in the laboratory ---------------------------------------------------------------------- */

ASX_TEST(and_in_the_laboratory_with_any_seed_twice)
{
    for (int i = 0; i < ROWS; i++) {
        for (uint64_t seed = 1; seed <= 4; seed++) {
            static world w;
            asx_lab_options options = { .seed = seed };
            asx_lab_result first, second;
            begin(&w, &rows[i]);
            CHECK_STATUS(asx_lab_run(live, &w, &options, &first), ASX_OK);
            CHECK(went_well(&w));
            CHECK_EQ(first.complaint.oracle, ASX_ORACLE_NONE);
            begin(&w, &rows[i]);
            CHECK_STATUS(asx_lab_run(live, &w, &options, &second), ASX_OK);
            CHECK_EQ(first.digest, second.digest);
        }
    }
}

static void explored_row(asx_cx *cx, void *arg)
{
    static world w;
    begin(&w, arg);
    (void)asx_lab_expect(cx, ASX_E_FULL);
    (void)play(cx, &w);
    asx_lab_check(cx, went_well(&w));
}

ASX_TEST_TIMEOUT(and_in_every_schedule, 120)
{
    for (int i = 0; i < ROWS; i++) {
        asx_explore_options options = { .trust_reduction = true };
        asx_explore_result result;
        if (rows[i].unexplored)
            continue;
        CHECK_STATUS(asx_explore(explored_row, (void *)(uintptr_t)&rows[i], &options, &result),
                     ASX_OK);
        CHECK_STATUS(result.status, ASX_OK);
        CHECK(result.complete);
        if (result.totals.bugs + result.totals.deadlocks != 0)
            asx_test_fail(__FILE__, __LINE__, "%s: in %d of %d schedules not", rows[i].law,
                          (int)result.totals.bugs + (int)result.totals.deadlocks,
                          (int)result.totals.executions);
    }
}

/* ---- small programs, cancelled and starved everywhere --------------------------------------- */

static int alive;

static asx_status lives_briefly(asx_cx *cx, void *arg)
{
    int *runs = arg;
    alive++;
    asx_status st = asx_checkpoint(cx);
    alive--;
    return st < 0 ? st : ++*runs == 1 ? ASX_E_FULL : ASX_OK;
}

static asx_status two_transients(asx_cx *cx, void *arg)
{
    int runs[2] = { 0, 0 };
    asx_supervised children[] = {
        { .name = "a", .fn = lives_briefly, .arg = &runs[0], .restart = ASX_RESTART_TRANSIENT },
        { .name = "b", .fn = lives_briefly, .arg = &runs[1], .restart = ASX_RESTART_TRANSIENT },
    };
    asx_supervisor_options options = { .restarts_max = 2 };
    asx_supervised_end ends[2];
    (void)arg;
    asx_status st = asx_supervise(cx, children, 2, &options, ends);
    asx_lab_check(cx, alive == 0);
    asx_lab_check(cx, st < 0 || (ends[0].outcome.kind == ASX_OUTCOME_OK && runs[0] == 2));
    return st;
}

static void starved(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options collects = { .policy = ASX_POLICY_COLLECT };
    (void)arg;
    alive = 0;
    (void)asx_lab_expect(cx, ASX_E_FULL);
    if (asx_region_open(cx, &collects, &r) < 0)
        return;
    (void)asx_spawn(&r, "supervisor", two_transients, NULL);
    (void)asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, alive == 0);
}

static void explore_starved(uint32_t faults, uint64_t least)
{
    asx_explore_options options = { .trust_reduction = true, .faults = faults };
    asx_explore_result result = classes_explore(starved, NULL, &options);
    if (!result.complete || result.totals.bugs + result.totals.deadlocks != 0 ||
        result.totals.executions < least)
        asx_test_fail(__FILE__, __LINE__, "%d executions, %d bugs, %d deadlocks",
                      (int)result.totals.executions, (int)result.totals.bugs,
                      (int)result.totals.deadlocks);
}

ASX_TEST_TIMEOUT(no_child_is_left_behind_in_any_schedule, 120)
{
    explore_starved(0, 2);
}

ASX_TEST_TIMEOUT(nor_without_memory_or_stacks, 120)
{
    explore_starved(ASX_EXPLORE_FAULT_ALLOC | ASX_EXPLORE_FAULT_STACK, 10);
}
