/* fixture_fiber.c - the invariants of execution, read off the journal of busy runs.
 *
 * The execution state of every task can be told from the journal:
 *
 *     spawn -> RUNNABLE -run-> RUNNING -yield-> RUNNABLE
 *                              RUNNING -park--> PARKED -wake-> RUNNABLE
 *                              RUNNING -wake--> WAKING -yield-> RUNNABLE    poll tasks only
 *                              any -complete-> DONE
 *
 * A poll function goes on after its wait was made known, so with several workers somebody may end
 * that wait before the task has left its worker: WAKING.
 *
 * F1  each worker runs at most one task, and nobody else runs that one
 * F2  only a RUNNABLE task is taken to be run
 * F3  only a PARKED task is woken
 * F4  one wake per park: whoever wakes it is the only one to queue it
 * F5  a task that has parked does nothing more until it is run again
 *
 * The program is a scenario with every way of waiting, on both vehicles and under several seeds.
 * Each fixture also breaks a good journal in the way its invariant forbids, and wants to see the
 * automaton notice.
 */
#include "fixture.h"

#include <stdlib.h>

static const char storm[] =
    "scenario storm\n"
    "vehicle both\n"
    "body sender n\n"
    "  for i 1 5\n"
    "    send ch $n$i -> return\n"
    "    note mark $i\n"
    "  end\n"
    "end\n"
    "body reader\n"
    "  repeat 15\n"
    "    recv ch -> return\n"
    "    note mark it\n"
    "    yield -> return\n"
    "  end\n"
    "end\n"
    "body sleeper n\n"
    "  repeat 4\n"
    "    sleep ${n}us -> return\n"
    "    note mark $n\n"
    "  end\n"
    "end\n"
    "body victim\n"
    "  note mark 100\n"
    "  sleep 1h -> return\n"
    "end\n"
    "body waiter\n"
    "  reserve full p -> return\n"
    "  note mark 101\n"
    "end\n"
    "body parent\n"
    "  open inner policy collect\n"
    "  spawn inner sleeper(3) as kid\n"
    "  join kid -> return\n"
    "  note mark 102\n"
    "  close inner -> return\n"
    "  note mark 103\n"
    "end\n"
    "main\n"
    "  open r policy collect\n"
    "  channel r ch 2\n"
    "  channel r full 1\n"
    "  reserve full key\n"
    "  spawn r reader\n"
    "  for i 1 3\n"
    "    spawn r sender($i)\n"
    "  end\n"
    "  spawn r sleeper(1)\n"
    "  spawn r sleeper(2) priority 3\n"
    "  spawn r sleeper(2) deadline 1h\n"
    "  spawn r victim as v\n"
    "  spawn r waiter\n"
    "  spawn r waiter as w\n"
    "  spawn r parent\n"
    "  sleep 2us\n"
    "  cancel task v\n"
    "  cancel task w\n"
    "  permit-abort key\n"
    "  close r -> any\n"
    "end\n";

typedef struct journal {
    asx_event events[4096];
    size_t count;
} journal;

typedef enum exec { NONE, RUNNABLE, RUNNING, WAKING, PARKED, DONE } exec;
enum { WORKERS_MAX = 65 };

typedef struct automaton {
    exec state[256];
    bool poll[256];
    uint64_t running[WORKERS_MAX]; /* task, by worker; 0: none */
    unsigned broken;   /* first invariant that does not hold; 0: all do */
    size_t at;
} automaton;

static void break_rule(automaton *m, unsigned rule, size_t at)
{
    if (m->broken == 0) {
        m->broken = rule;
        m->at = at;
    }
}

static void step_wake(automaton *m, uint64_t t, size_t at)
{
    bool leaving = m->state[t] == RUNNING && m->poll[t];
    if (m->state[t] == RUNNABLE || m->state[t] == WAKING)
        break_rule(m, 4, at);
    else if (m->state[t] != PARKED && !leaving)
        break_rule(m, 3, at);
    m->state[t] = leaving ? WAKING : RUNNABLE;
}

static void step(automaton *m, const asx_event *e, size_t at)
{
    uint64_t t = e->object;
    uint64_t *running = &m->running[e->worker];
    switch (e->kind) {
    case ASX_EVENT_TASK_SPAWN:
        m->state[t] = RUNNABLE;
        m->poll[t] = e->b == 1;
        break;
    case ASX_EVENT_TASK_RUN:
        if (*running != 0)
            break_rule(m, 1, at);
        if (m->state[t] != RUNNABLE)
            break_rule(m, m->state[t] == RUNNING ? 1 : 2, at);
        m->state[t] = RUNNING;
        *running = t;
        break;
    case ASX_EVENT_TASK_YIELD:
    case ASX_EVENT_TASK_PARK:
        if (*running != t)
            break_rule(m, m->state[t] == PARKED ? 5 : 1, at);
        if (m->state[t] == WAKING && e->kind == ASX_EVENT_TASK_PARK)
            break_rule(m, 3, at);
        m->state[t] = e->kind == ASX_EVENT_TASK_PARK ? PARKED : RUNNABLE;
        *running = 0;
        break;
    case ASX_EVENT_TASK_WAKE:
        step_wake(m, t, at);
        break;
    case ASX_EVENT_USER:
        /* What the program itself does, it does while it runs. */
        if (m->state[e->task] == PARKED)
            break_rule(m, 5, at);
        if (*running != e->task)
            break_rule(m, 1, at);
        break;
    case ASX_EVENT_TASK_COMPLETE:
        if (*running == t)
            *running = 0;
        m->state[t] = DONE;
        break;
    default:
        break;
    }
}

static automaton judge(const journal *j)
{
    automaton m = { .broken = 0 };
    for (size_t i = 0; i < j->count; i++) {
        const asx_event *e = &j->events[i];
        bool of_task = e->kind >= ASX_EVENT_TASK_SPAWN && e->kind <= ASX_EVENT_TASK_LINK;
        FIX(e->task < 256 && (e->object < 256 || !of_task) && e->worker < WORKERS_MAX);
        step(&m, &j->events[i], i);
    }
    return m;
}

typedef struct buffer {
    unsigned char bytes[1 << 18];
    size_t len;
} buffer;

static asx_status keep(void *ctx, const void *bytes, size_t len)
{
    buffer *b = ctx;
    if (len > sizeof(b->bytes) - b->len)
        return ASX_E_RESOURCE_EXHAUSTED;
    memcpy(b->bytes + b->len, bytes, len);
    b->len += len;
    return ASX_OK;
}

static void record(unsigned vehicle, uint64_t seed, journal *j)
{
    static buffer trace;
    scn s;
    scn_error error;
    scn_result result;
    asx_trace_reader reader;
    trace.len = 0;
    if (scn_parse("storm", 1, storm, sizeof(storm) - 1, &s, &error) < 0)
        cli_fixture_fail(__FILE__, __LINE__, "%s", error.text);
    scn_run_options options = { .vehicle = vehicle,
                                .mode = cli_fixture_workers() > 1 ? SCN_LIVE : SCN_LAB,
                                .workers = cli_fixture_workers(),
                                .seed = &seed,
                                .sink = keep,
                                .sink_ctx = &trace };
    FIX_STATUS(scn_run(&s, &options, &result), ASX_OK);
    if (!result.passed)
        cli_fixture_fail(__FILE__, __LINE__, "storm:%u: %s", (unsigned)result.line, result.why);
    scn_deinit(&s);
    FIX_STATUS(asx_trace_reader_init(&reader, trace.bytes, trace.len), ASX_OK);
    j->count = 0;
    while (j->count < 4096 && asx_trace_reader_next(&reader, &j->events[j->count]) >= 0)
        j->count++;
    FIX(j->count > 100 && j->count < 4096);
}

static journal *all_hold(unsigned rule)
{
    static journal j;
    for (unsigned vehicle = SCN_FIBER; vehicle <= SCN_POLL; vehicle <<= 1) {
        for (uint64_t seed = 0; seed < 16; seed++) {
            record(vehicle, seed, &j);
            automaton m = judge(&j);
            if (m.broken == rule) {
                char text[200];
                (void)asx_event_format(&j.events[m.at], text, sizeof(text));
                cli_fixture_fail(__FILE__, __LINE__, "F%u does not hold at: %s", rule, text);
            }
        }
    }
    record(SCN_FIBER, 0, &j);
    return &j;
}

/* The n-th event of a kind (from 0). */
static size_t nth(const journal *j, uint32_t kind, size_t n)
{
    for (size_t i = 0; i < j->count; i++) {
        if (j->events[i].kind == kind && n-- == 0)
            return i;
    }
    cli_fixture_fail(__FILE__, __LINE__, "the storm has too few %s", asx_event_kind_str(kind));
}

static void insert(journal *j, size_t at, asx_event event)
{
    memmove(&j->events[at + 1], &j->events[at], (j->count - at) * sizeof(event));
    j->events[at] = event;
    j->count++;
}

static void erase(journal *j, size_t at)
{
    j->count--;
    memmove(&j->events[at], &j->events[at + 1], (j->count - at) * sizeof(j->events[0]));
}

ASX_FIXTURE("F1")
{
    journal *j = all_hold(1);
    /* A second worker runs it, or the one that has not left it yet. */
    size_t run = nth(j, ASX_EVENT_TASK_RUN, 3);
    asx_event again = j->events[run];
    if (again.worker != 0)
        again.worker = again.worker == 1 ? 2 : 1;
    insert(j, run + 1, again);
    FIX_EQ(judge(j).broken, 1);
}

ASX_FIXTURE("F2")
{
    journal *j = all_hold(2);
    /* Somebody is run that nobody woke. */
    erase(j, nth(j, ASX_EVENT_TASK_WAKE, 3));
    FIX_EQ(judge(j).broken, 2);
}

ASX_FIXTURE("F3")
{
    journal *j = all_hold(3);
    /* Somebody is woken who has ended. */
    size_t end = nth(j, ASX_EVENT_TASK_COMPLETE, 2);
    asx_event wake = j->events[nth(j, ASX_EVENT_TASK_WAKE, 0)];
    wake.object = j->events[end].object;
    insert(j, end + 1, wake);
    FIX_EQ(judge(j).broken, 3);
}

ASX_FIXTURE("F4")
{
    journal *j = all_hold(4);
    /* Two wakers, both of whom queue it. */
    size_t wake = nth(j, ASX_EVENT_TASK_WAKE, 3);
    insert(j, wake + 1, j->events[wake]);
    FIX_EQ(judge(j).broken, 4);
}

ASX_FIXTURE("F5")
{
    journal *j = all_hold(5);
    /* Somebody goes on after it has parked. */
    size_t park = nth(j, ASX_EVENT_TASK_PARK, 5);
    asx_event user = { .kind = ASX_EVENT_USER, .task = j->events[park].object, .object = 1 };
    insert(j, park + 1, user);
    FIX_EQ(judge(j).broken, 5);
}
