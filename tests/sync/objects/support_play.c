/* support_play.c - executes the plays of play.h. */
#include "play.h"

#include <string.h>

#include <asx/asx_lab.h>

static void complain(const struct play_actor *a, const struct play_step *step, const char *what,
                     long long got, long long want)
{
    asx_test_fail(__FILE__, __LINE__,
                  "%s%s, seed %llu, vehicles %u: actor %u, step %u (at %u): %s %lld, want %lld",
                  a->run->play->name, a->run->live ? " (live)" : "",
                  (unsigned long long)a->run->seed, a->run->vehicles, a->number, a->pos, step->at,
                  what, got, want);
}

/* ---- steps ---------------------------------------------------------------------------------- */

STEP_OP(op_cancel)
{
    (void)cx;
    return asx_task_cancel(&actor->run->tasks[step->n], NULL);
}

STEP_OP(op_panic)
{
    (void)step;
    play_does_not_return(actor);
    asx_panic(cx, "as the play says");
}

STEP_OP(op_end)
{
    (void)cx;
    actor->ended = true;
    return step->want;
}

STEP_OP(op_mask)
{
    (void)actor;
    (void)step;
    return asx_mask_begin(cx, 0);
}

STEP_OP(op_unmask)
{
    (void)actor;
    (void)step;
    return asx_mask_end(cx);
}

STEP_OP(op_checkpoint)
{
    (void)actor;
    (void)step;
    return asx_checkpoint(cx);
}

STEP_OP(op_log)
{
    char *log = actor->run->log;
    (void)cx;
    size_t len = strlen(log);
    CHECK(len + 1 < sizeof actor->run->log);
    log[len] = (char)step->n;
    return ASX_OK;
}

/* ---- actors --------------------------------------------------------------------------------- */

static const char *const names[ACTORS_MAX] = { "a", "b", "c", "d", "e" };

void play_does_not_return(struct play_actor *actor)
{
    actor->ended = true;
    atomic_store(&actor->run->over[actor->number], UINT_MAX);
}

/* Has the actor come to where its step waits, or ends? That it begins it says before it does. */
static bool is_there(struct play_run *run, unsigned actor)
{
    asx_close_report report;
    CHECK_STATUS(asx_region_report(&run->crowd, &report), ASX_OK);
    bool there = true;
    for (size_t i = 0; i < report.items_len; i++) {
        const asx_report_item *item = &report.items[i];
        if (item->kind == ASX_REPORT_TASK && strcmp(item->name, names[actor]) == 0)
            there = *item->waits_for != '\0';
    }
    asx_close_report_deinit(&report);
    return there;
}

/* On the real clock everybody may be late, and several workers may be at it: what comes earlier in
 * the play is done before, or waits for what comes later. */
static bool others_are_due(struct play_run *run, const struct play_actor *self, unsigned at)
{
    for (unsigned i = 0; run->live && i < ACTORS_MAX; i++)
        if ((self == NULL || i != self->number) && atomic_load(&run->due[i]) < at &&
            (atomic_load(&run->over[i]) < at || !is_there(run, i)))
            return true;
    return false;
}

/* When the actor's step, begun or not, is due. */
static void set_due(struct play_actor *a)
{
    const struct play_step *step = &a->steps[a->pos];
    unsigned due = step->at > a->clock ? step->at : a->clock;
    unsigned over = a->begun && step->done > due ? step->done : due;
    if (a->ended || step->op == NULL)
        due = over = UINT_MAX;
    atomic_store(&a->run->over[a->number], over);
    atomic_store(&a->run->due[a->number], due);
}

static asx_status wait_for_time(asx_cx *cx, struct play_actor *a, unsigned at_ms)
{
    asx_time at = a->run->start + at_ms * ASX_MS;
    bool give_way = a->run->live && at_ms > a->clock; /* also when it is late */
    while (asx_now(cx) < at || a->sleeping || give_way || others_are_due(a->run, a, at_ms)) {
        asx_time until = asx_now(cx) < at ? at : asx_now(cx) + 100 * ASX_US;
        asx_status st = asx_sleep_until(cx, until);
        a->sleeping = st == ASX_E_WOULD_BLOCK;
        if (st < 0)
            return st;
        give_way = false;
    }
    return ASX_OK;
}

/* Does what can be done now. ASX_E_WOULD_BLOCK: a poll function must wait; else how it ended. */
static asx_status act(asx_cx *cx, struct play_actor *a)
{
    for (; !a->ended && a->steps[a->pos].op != NULL; a->pos++, a->begun = false) {
        const struct play_step *step = &a->steps[a->pos];
        set_due(a);
        if (!a->begun && wait_for_time(cx, a, step->at) == ASX_E_WOULD_BLOCK)
            return ASX_E_WOULD_BLOCK; /* a cancelled actor goes on at once */
        a->begun = true;
        a->clock = step->at > a->clock ? step->at : a->clock;
        set_due(a);
        asx_status st = step->op(cx, a, step);
        if (st == ASX_E_WOULD_BLOCK)
            return st;
        if (st != step->want)
            complain(a, step, asx_status_str(st), st, step->want);
        unsigned done = step->done != 0 ? step->done : step->at;
        asx_time now = asx_now(cx) - a->run->start;
        if (!a->run->live && done != 0 && now != done * ASX_MS)
            complain(a, step, "returned at (us)", (long long)(now / ASX_US), done * 1000LL);
    }
    a->ended = true;
    set_due(a);
    return a->pos > 0 && a->steps[a->pos - 1].op == op_end ? a->steps[a->pos - 1].want : ASX_OK;
}

static asx_status act_fiber(asx_cx *cx, void *arg)
{
    return act(cx, arg);
}

static asx_poll act_poll(asx_cx *cx, void *arg)
{
    asx_status st = act(cx, arg);
    return st == ASX_E_WOULD_BLOCK ? ASX_POLL_PENDING
           : st < 0                ? asx_poll_fail(cx, st)
                                   : ASX_POLL_READY;
}

static void spawn_actors(struct play_run *run)
{
    for (unsigned i = 0; i < ACTORS_MAX; i++) {
        run->actors[i] = (struct play_actor){ .run = run, .steps = run->play->steps[i],
                                              .number = i };
        set_due(&run->actors[i]);
    }
    for (unsigned i = 0; i < ACTORS_MAX && run->play->steps[i][0].op != NULL; i++) {
        struct play_actor *a = &run->actors[i];
        asx_spawn_options options = { .name = names[i] };
        if (run->vehicles >> i & 1u)
            CHECK_STATUS(asx_spawn_poll_task(&run->crowd, act_poll, a, &options, &run->tasks[i]),
                         ASX_OK);
        else
            CHECK_STATUS(asx_spawn_task(&run->crowd, act_fiber, a, &options, &run->tasks[i]),
                         ASX_OK);
    }
}

static asx_status direct(asx_cx *cx, void *arg)
{
    struct play_run *run = arg;
    const struct play *play = run->play;
    struct play_actor actors[ACTORS_MAX] = { { 0 } };
    run->actors = actors;
    run->count = 0;
    memset(run->log, 0, sizeof run->log);
    asx_region_options options = { .name = "home", .leaks_allowed = true };
    asx_region *first = play->home_first ? &run->crowd : &run->home;
    asx_region *second = play->home_first ? &run->home : &run->crowd;
    CHECK_STATUS(asx_region_open(cx, &options, first), ASX_OK);
    options.policy = ASX_POLICY_COLLECT;
    CHECK_STATUS(asx_region_open(cx, &options, second), ASX_OK);
    play->setup(cx, run);
    run->start = asx_now(cx);
    spawn_actors(run);
    if (play->home_first) {
        CHECK_STATUS(asx_sleep_until(cx, run->start + play->home_closes_at * ASX_MS), ASX_OK);
        while (others_are_due(run, NULL, play->home_closes_at))
            CHECK_STATUS(asx_sleep(cx, 100 * ASX_US), ASX_OK);
        CHECK_STATUS(asx_region_close_with(&run->home, ASX_OK, NULL, &run->home_report), ASX_OK);
    }
    CHECK_STATUS(asx_region_close_with(&run->crowd, ASX_OK, NULL, &run->crowd_report),
                 play->want_close);
    if (!play->home_first)
        CHECK_STATUS(asx_region_close_with(&run->home, ASX_OK, NULL, &run->home_report), ASX_OK);
    for (unsigned i = 0; i < ACTORS_MAX && play->steps[i][0].op != NULL; i++)
        if (!actors[i].ended)
            complain(&actors[i], &actors[i].steps[actors[i].pos], "ended early", 0, 1);
    if (play->log != NULL)
        CHECK_STR_EQ(run->log, play->log);
    if (play->after != NULL)
        play->after(run);
    asx_close_report_deinit(&run->home_report);
    asx_close_report_deinit(&run->crowd_report);
    return ASX_OK;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static unsigned actor_count(const struct play *play)
{
    unsigned n = 0;
    while (n < ACTORS_MAX && play->steps[n][0].op != NULL)
        n++;
    return n;
}

static void run_once(const asx_runtime_config *config, asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    CHECK_STATUS(asx_runtime_create(config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, fn, arg), ASX_OK);
    CHECK_STATUS(asx_runtime_quiescent(rt), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static uint64_t run_seeded(uint64_t seed, asx_task_fn fn, void *arg)
{
    asx_lab_options options = { .seed = seed };
    asx_lab_result result;
    CHECK_STATUS(asx_lab_run(fn, arg, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    return result.digest;
}

void play_check(const struct play *play)
{
    unsigned all = (1u << actor_count(play)) - 1u;
    asx_runtime_config virtual_clock = { .clock = ASX_CLOCK_VIRTUAL }, real_clock = { 0 };
    for (unsigned vehicles = 0; vehicles <= all; vehicles++) {
        struct play_run run = { .play = play, .vehicles = vehicles };
        run_once(&virtual_clock, direct, &run);
    }
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct play_run run = { .play = play, .vehicles = (unsigned)(seed * 11) & all,
                                .seed = seed };
        uint64_t digest = run_seeded(seed, direct, &run);
        CHECK_EQ(run_seeded(seed, direct, &run), digest);
    }
    for (unsigned vehicles = 0; vehicles <= all; vehicles += all) {
        struct play_run run = { .play = play, .vehicles = vehicles, .live = true };
        run_once(&real_clock, direct, &run);
    }
}

void program_check(asx_task_fn fn, void *arg)
{
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
    run_once(&config, fn, arg);
}

void seeds_check(asx_task_fn fn, void *arg, unsigned seeds)
{
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        uint64_t digest = run_seeded(seed, fn, arg);
        if (seed % 16 == 1)
            CHECK_EQ(run_seeded(seed, fn, arg), digest);
    }
}

bool report_names(const asx_close_report *report, const char *kind, const char *state,
                  const char *file)
{
    for (size_t i = 0; i < report->items_len; i++) {
        const asx_report_item *item = &report->items[i];
        if (item->kind == ASX_REPORT_OBLIGATION && strcmp(item->name, kind) == 0 &&
            strcmp(item->state, state) == 0 && strstr(item->site, file) != NULL)
            return true;
    }
    return false;
}
