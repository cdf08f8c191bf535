/* Work that is given away and taken: several engines together visit what one would, and so does
 * one that was stopped, saved and read again. */
#include <stdlib.h>

#include "harness.h"
#include "lab/dpor/dpor.h"
#include "lab/jobs/backlog.h"
#include "support_model.h"

enum { ENGINES = 3, NOBODY = -1 };

/* What a bet has done, which does not count yet. */
typedef struct bet {
    struct bet *next;
    asx__backlog_place place;
    int by;
    asx__dpor_stats stats;
    asx__bytes classes;
} bet;

typedef struct crew {
    asx__common_names *names;
    asx__backlog *backlog;
    asx__dpor *engine[ENGINES];
    asx__backlog_place place[ENGINES];
    bool busy[ENGINES];
    bet *bets;
    asx__dpor_stats sum;
    asx__classes classes;
    uint64_t again;  /* classes that came to two of them */
    uint64_t taken, given;
    uint64_t won, lost, off;
    uint64_t heard, too_late; /* what was found for bets meanwhile */
} crew;

static void crew_open(crew *c, asx__dpor_mode mode)
{
    asx__bytes all = { 0 };
    *c = (crew){ .names = calloc(1, sizeof *c->names),
                 .backlog = asx__backlog_create(mode == ASX__DPOR_SOURCE) };
    CHECK(c->names != NULL && c->backlog != NULL);
    for (int i = 0; i < ENGINES; i++) {
        asx__dpor_options options = { .mode = mode, .check = true, .names = c->names };
        c->engine[i] = asx__dpor_create(&options);
        CHECK(c->engine[i] != NULL);
    }
    asx__bytes_u32(&all, ASX__WORK_EVERYTHING);
    asx__bytes_u32(&all, 0);
    asx__bytes_double(&all, 1);
    CHECK_STATUS(asx__backlog_put(c->backlog, all.at, all.len), ASX_OK);
    free(all.at);
}

static void drop_bet(bet *b)
{
    free(b->classes.at);
    free(b);
}

static void crew_close(crew *c)
{
    while (c->bets != NULL) {
        bet *next = c->bets->next;
        drop_bet(c->bets);
        c->bets = next;
    }
    for (int i = 0; i < ENGINES; i++)
        asx__dpor_destroy(c->engine[i]);
    asx__backlog_destroy(c->backlog);
    free(c->names);
    free(c->classes.at);
}

static void add_up(crew *c, const asx__dpor_stats *stats, const asx__bytes *classes)
{
    c->sum.executions += stats->executions;
    c->sum.redundant += stats->redundant;
    c->sum.blocked += stats->blocked;
    c->sum.deadlocks += stats->deadlocks;
    c->sum.done += stats->done;
    asx__reader r = { classes->at, classes->len, false };
    CHECK_EQ(asx__read_u64(&r), 0);
    for (uint32_t left = asx__read_u32(&r); left > 0; left--)
        c->again += asx__classes_add(&c->classes, asx__read_u64(&r), SIZE_MAX) == 2;
    CHECK(!r.bad && r.len == 0);
}

static void report(crew *c, int i)
{
    asx__dpor_stats stats;
    asx__bytes classes = { 0 };
    asx__dpor_report(c->engine[i], &stats, &classes);
    add_up(c, &stats, &classes);
    free(classes.at);
}

static bet *bet_of(const crew *c, int i)
{
    bet *b = c->bets;
    while (b != NULL && b->by != i)
        b = b->next;
    return b;
}

/* False: there is nothing to take. */
static bool take(crew *c, int i, bool bets)
{
    asx__bytes work = { 0 };
    if (!asx__backlog_take(c->backlog, bets, &work, &c->place[i]))
        return false;
    if (asx__backlog_bet(c->backlog, &c->place[i]) == ASX__BET_OPEN) {
        bet *b = calloc(1, sizeof *b);
        CHECK(b != NULL && bets);
        report(c, i);
        *b = (bet){ .next = c->bets, .place = c->place[i], .by = i };
        c->bets = b;
    }
    asx__reader r = { work.at, work.len, false };
    CHECK_STATUS(asx__dpor_take(c->engine[i], &r), ASX_OK);
    CHECK_EQ(r.len, 0);
    free(work.at);
    c->busy[i] = true;
    c->taken++;
    return true;
}

static void give(crew *c, int i, asx__bytes *given)
{
    asx__reader r = { given->at, given->len, false };
    c->given += given->len != 0;
    CHECK_STATUS(asx__backlog_give(c->backlog, &c->place[i], &r), ASX_OK);
    given->len = 0;
}

/* He is at work no longer, and it is lost or does not count before it is won. */
static void leave_bet(crew *c, bet *b)
{
    asx__dpor_report(c->engine[b->by], &b->stats, &b->classes);
    asx__dpor_given(c->engine[b->by])->len = 0;
    c->busy[b->by] = false;
    b->by = NOBODY;
}

/* True: it was settled. */
static bool settle_one(crew *c, bet **at)
{
    bet *b = *at;
    if (b->by == NOBODY && asx__backlog_is_late(&b->place))
        asx__backlog_lose(&b->place);
    asx__bet state = asx__backlog_bet(c->backlog, &b->place);
    if (state == ASX__BET_OPEN)
        return false;
    if (state == ASX__BET_LOST) {
        if (b->by != NOBODY)
            leave_bet(c, b);
        asx__backlog_undo(c->backlog, &b->place);
        c->lost++;
    } else if (b->by == NOBODY) {
        add_up(c, &b->stats, &b->classes);
        asx__backlog_done(c->backlog, &b->place);
        c->won++;
    }
    *at = b->next;
    drop_bet(b);
    return true;
}

static void settle(crew *c)
{
    for (bet **at = &c->bets; *at != NULL;)
        at = settle_one(c, at) ? &c->bets : &(*at)->next;
}

static void lose(crew *c, bet *b)
{
    asx__backlog_lose(&b->place);
    c->off++;
}

/* What was found for the bet of the engine, if there is one. False: nothing. */
static bool hear_late(const crew *c, int i)
{
    const bet *b = bet_of(c, i);
    asx__bytes late = { 0 };
    bool any = b != NULL && asx__backlog_late(&b->place, &late);
    if (any)
        CHECK_STATUS(asx__dpor_hear_late(c->engine[i], &late), ASX_OK);
    free(late.at);
    return any;
}

static void has_heard(crew *c, int i)
{
    bool too_late = asx__dpor_too_late(c->engine[i]);
    if (too_late)
        asx__backlog_lose(&c->place[i]);
    else
        asx__backlog_heard(c->backlog, &c->place[i]);
    c->too_late += too_late;
    c->heard += !too_late;
}

/* One execution. False: the engine has to begin again, wide. */
static bool run(crew *c, int i, const model *m, uint64_t *objects, asx__giving giving)
{
    asx__dpor *d = c->engine[i];
    asx__dpor_stats before, after;
    asx__dpor_stats_get(d, &before);
    asx__dpor_ask(d, giving);
    bool late = before.steps % 4 != 0 && hear_late(c, i);
    bool more = model_run_once(m, d, objects);
    asx__dpor_stats_get(d, &after);
    if (late)
        has_heard(c, i);
    if (after.executions + after.blocked == 0 || before.executions > after.executions)
        return false; /* its counters were set back */
    CHECK_STATUS(asx__dpor_status(d), ASX_OK);
    give(c, i, asx__dpor_given(d));
    settle(c);
    if (!c->busy[i])
        return true;
    if (more) {
        asx__bytes told = { 0 };
        asx__backlog_tell(c->backlog, &c->place[i], (before.steps + after.steps) % 3 == 0, &told);
        asx__reader r = { told.at, told.len, false };
        CHECK_STATUS(asx__dpor_hear(d, &r), ASX_OK);
        free(told.at);
        return true;
    }
    bet *b = bet_of(c, i);
    if (b != NULL) {
        leave_bet(c, b);
    } else {
        asx__backlog_done(c->backlog, &c->place[i]);
        c->busy[i] = false;
    }
    settle(c);
    return true;
}

static bool any_busy(const crew *c)
{
    for (int i = 0; i < ENGINES; i++)
        if (c->busy[i])
            return true;
    return false;
}

static uint64_t same_name(void *ctx, uint64_t name)
{
    return name + *(uint64_t *)ctx;
}

/* Everything is given back, written, read into another backlog, and the engines begin anew. */
static void save_and_load(crew *c, bool source)
{
    asx__bytes file = { 0 }, again = { 0 };
    uint64_t there = 1000, back = (uint64_t)-1000;
    CHECK_STATUS(asx__backlog_rename(c->backlog, same_name, &there), ASX_OK);
    asx__backlog_save(c->backlog, &file);
    asx__backlog_destroy(c->backlog);
    c->backlog = asx__backlog_create(source);
    asx__reader r = { file.at, file.len, false };
    CHECK_STATUS(asx__backlog_load(c->backlog, &r), ASX_OK);
    CHECK_EQ(r.len, 0);
    asx__backlog_save(c->backlog, &again);
    CHECK_EQ(again.len, file.len);
    CHECK_STATUS(asx__backlog_rename(c->backlog, same_name, &back), ASX_OK);
    free(file.at);
    free(again.at);
}

/* True: every class was visited once. False: it has to begin again. */
static bool explore(crew *c, const model *m, asx__rng *rng, bool source)
{
    uint64_t objects[MODEL_OBJECTS];
    for (;;) {
        int i = (int)asx__rng_below(rng, ENGINES);
        if (!c->busy[i] && !take(c, i, asx__rng_below(rng, 2) == 0) && !any_busy(c))
            return true;
        if (!c->busy[i])
            continue;
        uint64_t drawn = asx__rng_below(rng, 6);
        bool all = drawn == 0;
        bet *b = bet_of(c, i);
        if (b != NULL) { /* of which nothing can be given; if it is, it is called off */
            drawn = 3;
            all = all && asx__rng_below(rng, 4) == 0;
            if (all)
                lose(c, b);
        }
        if (!run(c, i, m, objects, all ? ASX__GIVE_ALL : drawn < 3 ? ASX__GIVE_BETS : 0))
            return false;
        if (all)
            CHECK(!c->busy[i]);
        if (!any_busy(c)) {
            CHECK(c->bets == NULL || asx__backlog_len(c->backlog) != 0);
            if (asx__rng_below(rng, 2) == 0) {
                for (bet *one = c->bets; one != NULL; one = one->next)
                    lose(c, one);
                settle(c);
                CHECK(c->bets == NULL);
                save_and_load(c, source);
            }
        }
    }
}

static void together(const model *m, asx__rng *rng, asx__dpor_mode mode, crew *ret)
{
    crew_open(ret, mode);
    while (!explore(ret, m, rng, mode == ASX__DPOR_SOURCE)) {
        /* What one of them met concerns all: they begin again, as it has done. */
        crew_close(ret);
        crew_open(ret, mode);
        for (int i = 0; i < ENGINES; i++) {
            asx__dpor_restart(ret->engine[i]);
            asx__dpor_begin(ret->engine[i]);
            CHECK(asx__dpor_finish(ret->engine[i], false));
        }
    }
    for (int i = 0; i < ENGINES; i++)
        report(ret, i);
    CHECK_EQ(asx__backlog_len(ret->backlog), 0);
    CHECK(ret->bets == NULL);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

/* ASX_WORK_SEED and ASX_WORK_PROGRAMS: others, and more of them. */
static void compare(asx__dpor_mode mode, uint64_t programs, uint32_t steps)
{
    asx__rng rng;
    uint64_t taken = 0, given = 0, won = 0, lost = 0, off = 0, heard = 0, too_late = 0;
    asx__rng_seed(&rng, number_from("ASX_WORK_SEED", 0x90 + (uint64_t)mode));
    programs = number_from("ASX_WORK_PROGRAMS", programs / asx_test_scale());
    for (uint64_t i = 0; i < programs; i++) {
        asx__dpor_stats alone;
        model m;
        crew c;
        model_make(&m, &rng, (model_flavour)(i % MODEL_FLAVOURS), steps);
        CHECK_STATUS(model_explore(&m, mode, 0, 20000, &alone), ASX_OK);
        if (alone.executions == 20000)
            continue;
        together(&m, &rng, mode, &c);
        if (c.sum.executions != alone.executions && mode != ASX__DPOR_SOURCE) {
            model_print(&m);
            asx_test_fail(__FILE__, __LINE__, "program %lu: %lu executions, alone %lu",
                          (unsigned long)i, (unsigned long)c.sum.executions,
                          (unsigned long)alone.executions);
        }
        if (mode == ASX__DPOR_SOURCE) /* which may not lose any either */
            CHECK_STATUS(model_explore(&m, ASX__DPOR_OPTIMAL, 1, 20000, &alone), ASX_OK);
        CHECK_EQ(c.classes.len, alone.classes);
        CHECK_EQ(c.sum.redundant + c.again, c.sum.executions - c.classes.len);
        CHECK_EQ(c.sum.deadlocks != 0, alone.deadlocks != 0);
        CHECK_EQ(asx__dpor_estimate(c.sum.executions, c.sum.done), c.sum.executions);
        if (mode == ASX__DPOR_OPTIMAL)
            CHECK_EQ(c.sum.blocked, 0);
        taken += c.taken;
        given += c.given;
        won += c.won;
        lost += c.lost - c.off;
        off += c.off;
        heard += c.heard;
        too_late += c.too_late;
        crew_close(&c);
    }
    if (mode == ASX__DPOR_OPTIMAL && asx_test_scale() == 1)
        CHECK(won >= 50 && lost >= 20 && off >= 50 && heard >= 20 && too_late >= 1);
    CHECK_GE(taken, programs * 2);
    CHECK_GE(given, programs);
}

ASX_TEST_TIMEOUT(several_engines_visit_every_class_once, 3600)
{
    compare(ASX__DPOR_OPTIMAL, 9000, 10);
}

ASX_TEST_TIMEOUT(several_engines_run_every_interleaving_once, 60)
{
    compare(ASX__DPOR_DFS, 900, 7);
}

ASX_TEST_TIMEOUT(several_engines_visit_every_class_by_source_sets, 60)
{
    compare(ASX__DPOR_SOURCE, 6000, 9);
}
