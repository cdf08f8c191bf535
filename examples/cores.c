/* cores.c - the same tasks on all cores: who has the longest way to 1?
 *
 * Numbers are dealt out in ranges through a channel of many receivers; searchers, one for each
 * core and a few more, take the next range as soon as they are done with one, so that none of them
 * has to know how long a range takes. What they find meets under a mutex. A file that only one
 * thread may use would be written by a task that is pinned: here it is a count in a thread-local.
 */
#include <stdio.h>

#include <asx/asx.h>

#ifndef NUMBERS
#define NUMBERS 1000000
#endif
enum { RANGE = NUMBERS / 100, SEARCHERS = 6 };

struct range {
    uint32_t from, to;
};

ASX_MPMC_TYPE(ranges, struct range)
ASX_MPMC_TYPE(notes, uint32_t)

struct search {
    asx_mpmc_sender ranges_tx;
    asx_mpmc_receiver ranges_rx;
    asx_mpmc_sender notes_tx;
    asx_mpmc_receiver notes_rx;
    asx_mutex lock; /* guards what follows */
    uint32_t best, best_steps;
};

static _Thread_local uint32_t noted; /* one per thread: of no use to a task that moves */

static uint32_t steps_to_one(uint64_t n)
{
    uint32_t steps = 0;
    for (; n != 1; steps++)
        n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

static asx_status search_range(struct search *s, asx_cx *cx, struct range range)
{
    uint32_t best = range.from, best_steps = 0; /* its own: no lock in the loop */
    for (uint32_t n = range.from; n < range.to; n++) { /* asx-lint: bounded by RANGE */
        uint32_t steps = steps_to_one(n);
        if (steps > best_steps) {
            best = n;
            best_steps = steps;
        }
    }
    asx_mutex_guard guard;
    asx_status st = asx_mutex_lock(cx, &s->lock, &guard);
    if (st < 0)
        return st;
    if (best_steps > s->best_steps || (best_steps == s->best_steps && best < s->best)) {
        s->best = best;
        s->best_steps = best_steps;
    }
    return asx_mutex_unlock(&guard);
}

static asx_status searcher(asx_cx *cx, void *arg)
{
    struct search *s = arg;
    struct range range;
    asx_status st;
    while ((st = ranges_recv(cx, &s->ranges_rx, &range)) == ASX_OK) {
        st = search_range(s, cx, range);
        if (st == ASX_OK)
            st = notes_send(cx, &s->notes_tx, range.to - range.from);
        if (st < 0)
            return st;
    }
    return st == ASX_E_CLOSED ? ASX_OK : st; /* nothing left to search */
}

static asx_status note(asx_cx *cx, void *arg)
{
    struct search *s = arg;
    uint32_t count;
    asx_status st;
    while ((st = notes_recv(cx, &s->notes_rx, &count)) == ASX_OK)
        noted += count; /* always the same thread's */
    printf("%u numbers searched\n", noted);
    return st == ASX_E_CLOSED ? ASX_OK : st;
}

static asx_status app(asx_cx *cx, void *arg)
{
    struct search s = { .best = 0 };
    asx_region all, searchers;
    (void)arg;
    asx_region_open(cx, NULL, &all);
    ranges_create(&all, 4, NULL, &s.ranges_tx, &s.ranges_rx);
    notes_create(&all, SEARCHERS, NULL, &s.notes_tx, &s.notes_rx);
    asx_mutex_create(&all, &(asx_mutex_options){ .name = "best" }, &s.lock);
    const asx_spawn_options pinned = { .name = "note", .flags = ASX_PINNED };
    asx_spawn_task(&all, note, &s, &pinned, NULL);
    asx_region_open(cx, NULL, &searchers);
    for (int i = 0; i < SEARCHERS; i++)
        asx_spawn(&searchers, "searcher", searcher, &s);
    asx_status st = ASX_OK;
    for (uint32_t from = 1; st == ASX_OK && from < NUMBERS; from += RANGE)
        st = ranges_send(cx, &s.ranges_tx, (struct range){ from, from + RANGE });
    asx_mpmc_close(&s.ranges_tx);
    st = asx_region_close(&searchers, st); /* every range has been searched, or somebody failed */
    asx_mpmc_close(&s.notes_tx);
    st = asx_region_close(&all, st);
    if (st == ASX_OK)
        printf("%u takes %u steps\n", s.best, s.best_steps);
    return st;
}

int main(void)
{
    asx_runtime *rt;
    if (asx_runtime_create(&(asx_runtime_config){ .workers = ASX_WORKERS_ALL }, &rt) < 0)
        return 1;
    asx_status st = asx_runtime_run(rt, app, NULL);
    return asx_runtime_destroy(rt) < 0 || st < 0;
}
