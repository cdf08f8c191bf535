/* Programs in which tasks are many, as support_kinds.c has those of three: each step, or every few,
 * is a task of its own. Tasks that are started and joined one after the other; that are all
 * started, then joined; each of which starts the next and waits for it; the same where somebody
 * cancels, so that joins and ends are operations; races in a row; regions in a row that a deadline
 * of theirs may end at any time; tasks for which the clock moves time and again; regions that a
 * deadline or another task may cancel at any time while tasks are started in them; and tasks that
 * wait for a notification, one for each or one for all, or for each other. */
#ifndef ASX_LAB
#define ASX_LAB 1
#endif
#include "support_frame.h"
#include "support_kinds.h"

enum { TASKS = 1024, CELLS = sizeof cells / sizeof cells[0] };

typedef struct part {
    const shared *of;
    int number;
} part;

static part parts[TASKS];
static asx_task tasks[TASKS];

static void begin_parts(asx_cx *cx, shared *s, const int *steps, asx_region *ret_region)
{
    for (int i = 0; i < TASKS; i++)
        parts[i] = (part){ s, i };
    begin(cx, s, steps, ret_region);
}

static void run_pair(asx_cx *cx, asx_region *r, shared *s, asx_task_fn a, asx_task_fn b)
{
    asx_lab_check(cx, asx_spawn(r, "a", a, s) == ASX_OK);
    asx_lab_check(cx, asx_spawn(r, "b", b, s) == ASX_OK);
    asx_lab_check(cx, asx_region_close(r, ASX_OK) == ASX_OK);
}

static void run_two(asx_cx *cx, const int *steps, asx_task_fn a, asx_task_fn b)
{
    asx_region r;
    shared s;
    begin_parts(cx, &s, steps, &r);
    run_pair(cx, &r, &s, a, b);
}

static asx_status adds(asx_cx *cx, void *arg)
{
    const part *p = arg;
    (void)asx_lab_fetch_add(cx, &cells[p->number % CELLS], 1);
    return ASX_OK;
}

static asx_status loads(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    for (int i = 0; i < s->steps / 2; i++)
        (void)asx_lab_load(cx, &cells[i % CELLS]);
    return ASX_OK;
}

/* ---- joins ---------------------------------------------------------------------------------- */

static asx_status spawns(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    asx_region r;
    asx_status st = asx_region_open(cx, NULL, &r);
    for (int i = 0; i < s->steps / 2 && st >= 0; i++) {
        asx_join_result result;
        st = asx_spawn_task(&r, adds, &parts[i], NULL, &tasks[i]);
        if (st >= 0)
            st = asx_join(cx, &tasks[i], &result);
    }
    return st < 0 ? st : asx_region_close(&r, ASX_OK);
}

static void kind_spawns(asx_cx *cx, void *arg)
{
    run_two(cx, arg, spawns, loads);
}

static asx_status spawns_all(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    asx_region r;
    asx_status st = asx_region_open(cx, NULL, &r);
    for (int i = 0; i < s->steps / 2 && st >= 0; i++)
        st = asx_spawn_task(&r, adds, &parts[i], NULL, &tasks[i]);
    for (int i = 0; i < s->steps / 2 && st >= 0; i++) {
        asx_join_result result;
        st = asx_join(cx, &tasks[i], &result);
    }
    return st < 0 ? st : asx_region_close(&r, ASX_OK);
}

static void kind_spawns_all(asx_cx *cx, void *arg)
{
    run_two(cx, arg, spawns_all, loads);
}

static asx_status nests(asx_cx *cx, void *arg)
{
    part *p = arg;
    asx_region r;
    asx_join_result result;
    (void)asx_lab_fetch_add(cx, &cells[p->number % CELLS], 1);
    if (p->number + 1 >= p->of->steps / 2)
        return ASX_OK;
    asx_status st = asx_region_open(cx, NULL, &r);
    if (st >= 0)
        st = asx_spawn_task(&r, nests, p + 1, NULL, &tasks[p->number]);
    if (st >= 0)
        st = asx_join(cx, &tasks[p->number], &result);
    return st < 0 ? st : asx_region_close(&r, ASX_OK);
}

static asx_status nests_all(asx_cx *cx, void *arg)
{
    (void)arg;
    return nests(cx, &parts[0]);
}

static void kind_nests(asx_cx *cx, void *arg)
{
    run_two(cx, arg, nests_all, loads);
}

/* ---- the same where somebody cancels -------------------------------------------------------- */

static asx_status does_nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static asx_status cancels(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = loads(cx, arg);
    return st < 0 ? st : asx_task_cancel(&s->first, NULL);
}

static void run_told(asx_cx *cx, const int *steps, asx_task_fn fn)
{
    asx_region r;
    shared s;
    begin_parts(cx, &s, steps, &r);
    run(cx, &r, &s, does_nothing, fn, cancels);
}

static void kind_told(asx_cx *cx, void *arg)
{
    run_told(cx, arg, spawns);
}

static void kind_told_all(asx_cx *cx, void *arg)
{
    run_told(cx, arg, spawns_all);
}

static void kind_told_nests(asx_cx *cx, void *arg)
{
    run_told(cx, arg, nests_all);
}

/* ---- races and deadlines -------------------------------------------------------------------- */

static asx_status races(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    asx_status st = ASX_OK;
    for (int i = 0; i < s->steps / 4 && st >= 0; i++) {
        asx_branch both[2] = { { .fn = adds, .arg = &parts[2 * i] },
                               { .fn = adds, .arg = &parts[2 * i + 1] } };
        st = asx_race_all(cx, both, 2, NULL, NULL, NULL);
    }
    return st;
}

static void kind_races(asx_cx *cx, void *arg)
{
    run_two(cx, arg, races, loads);
}

static asx_status sends(asx_cx *cx, void *arg)
{
    shared *s = arg;
    return send_some(cx, s, s->steps / 2);
}

static void kind_time_outs(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    asx_region r;
    shared s;
    begin_parts(cx, &s, steps, &r);
    asx_lab_check(cx, asx_channel_create(&r, sizeof(int), (uint32_t)*steps, NULL, &s.tx, &s.rx) ==
                          ASX_OK);
    run_pair(cx, &r, &s, sends, waits_a_bit);
}

/* ---- moves of the clock --------------------------------------------------------------------- */

/* Two of them get up at a time. */
static asx_status sleeps(asx_cx *cx, void *arg)
{
    const part *p = arg;
    asx_status st = asx_sleep(cx, (uint64_t)p->number / 2 + 1);
    if (st >= 0)
        (void)asx_lab_fetch_add(cx, &cells[0], 1);
    return st;
}

static asx_status spawns_sleepers(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    asx_region r;
    asx_status st = asx_region_open(cx, NULL, &r);
    for (int i = 0; i < s->steps / 2 && st >= 0; i++)
        st = asx_spawn(&r, NULL, sleeps, &parts[i]);
    return st < 0 ? st : asx_region_close(&r, ASX_OK);
}

static void kind_sleepers(asx_cx *cx, void *arg)
{
    run_two(cx, arg, spawns_sleepers, loads);
}

/* ---- regions that are cancelled while tasks are started in them ----------------------------- */

/* What is started after that is refused. */
static asx_status spawns_in(asx_cx *cx, shared *s, uint64_t timeout_ns, asx_region *region)
{
    asx_status st = asx_region_open(cx, &(asx_region_options){ .timeout_ns = timeout_ns }, region);
    if (st < 0)
        return st;
    asx_lab_store(cx, &s->ready, 1);
    for (int i = 0; i < s->steps / 2 && st >= 0; i++) {
        st = asx_spawn(region, NULL, adds, &parts[i]);
        (void)asx_lab_load(cx, &cells[0]);
    }
    (void)asx_region_close(region, ASX_OK);
    return ASX_OK;
}

static asx_status spawns_till_late(asx_cx *cx, void *arg)
{
    asx_region r;
    return spawns_in(cx, arg, 10, &r);
}

static void kind_late(asx_cx *cx, void *arg)
{
    run_two(cx, arg, spawns_till_late, loads);
}

static asx_region far;

static asx_status spawns_till_told(asx_cx *cx, void *arg)
{
    return spawns_in(cx, arg, 0, &far);
}

static asx_status cancels_far(asx_cx *cx, void *arg)
{
    shared *s = arg;
    asx_status st = loads(cx, arg);
    if (asx_lab_load(cx, &s->ready) != 0)
        (void)asx_region_cancel(&far, NULL);
    return st;
}

static void kind_far(asx_cx *cx, void *arg)
{
    run_two(cx, arg, spawns_till_told, cancels_far);
}

/* ---- many who wait for the same ------------------------------------------------------------- */

enum { MORE = 8 }; /* for those that come too late, and wait in vain */

static asx_status waits(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    return asx_notify_wait(cx, &s->notify);
}

static asx_status notifies_all(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    (void)cx;
    return asx_notify_all(&s->notify);
}

static asx_status notifies_each(asx_cx *cx, void *arg)
{
    const shared *s = arg;
    (void)cx;
    RETURN_EACH(s->steps / 3 + MORE, asx_notify_one(&s->notify));
}

static void run_waiting(asx_cx *cx, const int *steps, int count, asx_task_fn fn)
{
    asx_region r;
    shared s;
    begin(cx, &s, steps, &r);
    asx_lab_check(cx, asx_notify_create(&r, NULL, &s.notify) == ASX_OK);
    for (int i = 0; i < count + MORE; i++)
        asx_lab_check(cx, asx_spawn(&r, NULL, waits, &s) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&r, NULL, fn, &s) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
}

static void kind_notified(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_waiting(cx, steps, *steps / 2, notifies_all);
}

static void kind_notified_each(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    run_waiting(cx, steps, *steps / 3, notifies_each);
}

static asx_barrier barrier;

static asx_status meets(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_barrier_wait(cx, &barrier, NULL);
}

static void kind_meets(asx_cx *cx, void *arg)
{
    const int *steps = arg;
    int parties = *steps / 2 + 1;
    asx_region r;
    shared s;
    begin(cx, &s, steps, &r);
    asx_lab_check(cx, asx_barrier_create(&r, (uint32_t)parties, NULL, &barrier) == ASX_OK);
    for (int i = 0; i < parties; i++)
        asx_lab_check(cx, asx_spawn(&r, NULL, meets, &s) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
}

const lab_kind lab_task_kinds[LAB_TASK_KINDS] = {
    { "spawns", kind_spawns, ASX_EXPLORE_QUIESCENT },
    { "spawns_all", kind_spawns_all, ASX_EXPLORE_QUIESCENT },
    { "nests", kind_nests, ASX_EXPLORE_QUIESCENT },
    { "told", kind_told, ASX_EXPLORE_QUIESCENT },
    { "told_all", kind_told_all, ASX_EXPLORE_QUIESCENT },
    { "told_nests", kind_told_nests, ASX_EXPLORE_QUIESCENT },
    { "races", kind_races, ASX_EXPLORE_QUIESCENT },
    { "time_outs", kind_time_outs, ASX_EXPLORE_ADVERSARIAL },
    { "sleepers", kind_sleepers, ASX_EXPLORE_QUIESCENT },
    { "late", kind_late, ASX_EXPLORE_ADVERSARIAL },
    { "far", kind_far, ASX_EXPLORE_QUIESCENT },
    { "notified", kind_notified, ASX_EXPLORE_QUIESCENT },
    { "notified_each", kind_notified_each, ASX_EXPLORE_QUIESCENT },
    { "meets", kind_meets, ASX_EXPLORE_QUIESCENT },
};
