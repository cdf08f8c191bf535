/* gather.c - first ok, quorum and hedge: wait until enough branches have ended Ok.
 *
 *     decided  =  oks >= needed  or  count - failed < needed
 *
 * Two regions, as for a race: the branches are tasks of the inner one, and each has a watcher in
 * the outer one. A watcher joins its branch, writes the result into its place, and sends the place
 * into a channel of the call; so the order in which ends are seen is the order of messages, which
 * the laboratory explores. There is room for every message that can come, so sending never waits.
 * The caller receives until it is decided, then cancels the inner region and waits for it.
 *
 * quorum tells of losers, too: the caller cancels them and receives the rest of the ends, masked,
 * before the inner region is closed and their records go.
 *
 * hedge. The next branch is started by a failure or by a ticker, a poll task that sleeps and then
 * sends the number of branches that had been started when it began; a tick that is late says
 * another number and means nothing. The tickers are cancelled with the outer region.
 */
#include "flow/flow.h"

#define TICK (UINT64_C(1) << 63)

typedef struct gather gather;

typedef struct watcher {
    gather *gather;
    asx_task branch;
    bool masked;
} watcher;

typedef struct ticker {
    gather *gather;
    uint64_t started; /* when it began */
} ticker;

struct gather {
    const asx_branch *branches;
    const asx_flow_options *options;
    size_t count, needed;
    uint64_t delay_ns; /* between starts; 0: all at once */
    asx_region outer, inner;
    asx_channel_sender tx; /* of uint64_t: the place of a branch that has ended, or a tick */
    asx_channel_receiver rx;
    watcher *watchers;
    ticker *tickers; /* hedge */
    asx_join_result *results; /* each written by its watcher before it sends */
    bool *ended; /* and seen */
    size_t started, ends, oks;
    bool decided;
    bool wants_all;
    size_t winner; /* the last that has ended Ok */
};

static bool is_decided(const gather *g)
{
    return g->oks >= g->needed || g->count - (g->ends - g->oks) < g->needed;
}

static asx_status send_place(asx_cx *cx, gather *g, uint64_t place)
{
    return asx_channel_try_send(cx, &g->tx, &place);
}

static asx_poll watch(asx_cx *cx, void *state)
{
    watcher *w = state;
    gather *g = w->gather;
    size_t place = (size_t)(w - g->watchers);
    if (!w->masked) { /* a cancel of the call ends the branches, and that must be seen */
        ASX_IGNORE(asx_mask_begin(cx, 0)); /* fails only in a call that was not set up */
        w->masked = true;
    }
    asx_join_result result;
    asx_status st = asx_join(cx, &w->branch, &result);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    if (st == ASX_OK)
        g->results[place] = result;
    (void)send_place(cx, g, place); /* nobody may be there to receive it any more */
    return ASX_POLL_READY;
}

static asx_poll tick(asx_cx *cx, void *state)
{
    ticker *t = state;
    asx_status st = asx_sleep(cx, t->gather->delay_ns);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    (void)send_place(cx, t->gather, TICK | t->started); /* also when there was no timer for it */
    return ASX_POLL_READY;
}

/* ---- set-up --------------------------------------------------------------------------------- */

static asx_status start_next(gather *g)
{
    watcher *w = &g->watchers[g->started];
    *w = (watcher){ .gather = g };
    asx_status st =
        asx__flow_spawn(&g->inner, &g->branches[g->started], g->options, &w->branch);
    if (st == ASX_OK)
        st = asx__flow_watch(&g->outer, watch, w, false);
    if (st < 0)
        return st;
    g->started++;
    if (g->tickers == NULL || g->started == g->count)
        return ASX_OK;
    ticker *t = &g->tickers[g->started - 1];
    *t = (ticker){ g, g->started };
    return asx_spawn_poll_task(&g->outer, tick, t, &(asx_spawn_options){ .name = "ticker" }, NULL);
}

static asx_status alloc_all(gather *g)
{
    void *memory;
    asx_status st = asx__flow_array(&g->outer, g->count, sizeof *g->watchers, &memory);
    if (st < 0)
        return st;
    g->watchers = memory;
    st = asx__flow_array(&g->outer, g->count, sizeof *g->ended, &memory);
    if (st < 0)
        return st;
    g->ended = memory;
    for (size_t i = 0; i < g->count; i++)
        g->ended[i] = false;
    if (g->delay_ns != 0) {
        st = asx__flow_array(&g->outer, g->count, sizeof *g->tickers, &memory);
        if (st < 0)
            return st;
        g->tickers = memory;
    }
    if (g->results == NULL) { /* the caller's, if it wants them */
        st = asx__flow_array(&g->outer, g->count, sizeof *g->results, &memory);
        if (st < 0)
            return st;
        g->results = memory;
    }
    for (size_t i = 0; i < g->count; i++)
        g->results[i] = asx__flow_no_result(ASX_E_CANCELLED);
    return ASX_OK;
}

static asx_status start(gather *g)
{
    asx_status st = alloc_all(g);
    if (st == ASX_OK)
        st = asx_channel_create(&g->outer, sizeof(uint64_t), 2 * g->count, NULL, &g->tx, &g->rx);
    do
        st = st == ASX_OK ? start_next(g) : st;
    while (st == ASX_OK && g->delay_ns == 0 && g->started < g->count);
    return st;
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* A message has come. */
static asx_status note(gather *g, uint64_t message)
{
    if (message & TICK) {
        bool due = !g->decided && (message & ~TICK) == g->started && g->started < g->count;
        return due ? start_next(g) : ASX_OK;
    }
    size_t place = (size_t)message;
    bool ok = g->results[place].outcome.kind == ASX_OUTCOME_OK;
    g->ended[place] = true;
    g->ends++;
    g->oks += ok;
    if (ok)
        g->winner = place;
    if (!g->decided)
        g->decided = is_decided(g);
    bool next = !ok && !g->decided && g->tickers != NULL && g->started < g->count;
    return next ? start_next(g) : ASX_OK;
}

/* Where the mask does not last, the rest of the losers are said to be cancelled. */
static void drain(asx_cx *cx, gather *g)
{
    bool masked = asx_mask_begin(cx, 0) == ASX_OK;
    asx_status st = ASX_OK;
    while (st == ASX_OK && g->ends < g->started) {
        uint64_t message;
        st = asx_channel_recv(cx, &g->rx, &message);
        if (st == ASX_OK)
            (void)note(g, message);
    }
    if (masked)
        (void)asx_mask_end(cx);
}

static asx_status await_decision(asx_cx *cx, gather *g)
{
    asx_status st = ASX_OK;
    while (st == ASX_OK && !g->decided) {
        uint64_t message;
        st = asx_channel_recv(cx, &g->rx, &message);
        if (st == ASX_OK)
            st = note(g, message);
    }
    return st;
}

/* The worst of those that had failed when it was decided. */
static asx_status worst(const gather *g, size_t *ret_place)
{
    asx_outcome out = ASX_OUTCOME_INIT_OK;
    *ret_place = ASX_NO_BRANCH;
    for (size_t i = 0; i < g->started; i++) {
        if (!g->ended[i])
            continue;
        asx_outcome both = asx_outcome_join(out, g->results[i].outcome);
        if (both.kind != out.kind)
            *ret_place = i;
        out = both;
    }
    return out.kind == ASX_OUTCOME_PANICKED ? ASX_E_PANICKED : out.status;
}

static asx_status open_both(asx_cx *cx, const char *name, gather *g)
{
    asx_status st = asx__flow_open(cx, name, g->options, true, &g->outer);
    if (st < 0)
        return st;
    st = asx__flow_open(cx, "branches", NULL, false, &g->inner);
    if (st < 0) {
        ASX_IGNORE(asx_region_close(&g->outer, st));
        return st;
    }
    asx__flow_close_is_heard(&g->inner, false);
    asx__flow_close_is_heard(&g->outer, g->options == NULL || g->options->timeout_ns == 0 ? false
                                                                                         : true);
    return ASX_OK;
}

/* Runs a call whose inputs are in `g`. *ret_winner: who decided, also when it has failed. */
static asx_status run(asx_cx *cx, const char *name, gather *g, size_t *ret_winner,
                      asx_join_result *ret_result)
{
    asx_cancel_reason lost = { .kind = ASX_CANCEL_RACE_LOST };
    asx_status st = open_both(cx, name, g);
    if (st < 0)
        return st;
    asx_status setup = start(g);
    st = setup;
    if (st == ASX_OK)
        st = await_decision(cx, g);
    if (st < 0) {
        ASX_IGNORE(asx_region_close(&g->inner, st));
        asx_status end = asx_region_close(&g->outer, st);
        return asx__flow_too_late(st) ? asx__flow_tell(cx, end) : st;
    }
    bool ok = g->oks >= g->needed;
    size_t place;
    asx_status failure = worst(g, &place);
    if (ok)
        place = g->winner;
    *ret_result = place != ASX_NO_BRANCH ? g->results[place] : asx__flow_no_result(failure);
    bool some_run = g->ends < g->started;
    if (some_run && g->wants_all) {
        (void)asx_region_cancel(&g->inner, &lost);
        drain(cx, g);
    }
    ASX_IGNORE(asx_region_close_with(&g->inner, ASX_OK, some_run ? &lost : NULL, NULL));
    st = asx_region_close_with(&g->outer, ASX_OK, g->tickers != NULL ? &lost : NULL, NULL);
    *ret_winner = place;
    if (ok)
        return ASX_OK;
    if (st == ASX_E_TIMEOUT && failure == ASX_E_CANCELLED) {
        *ret_winner = ASX_NO_BRANCH;
        return st;
    }
    return asx__flow_tell_too(cx, failure);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static asx_status first(asx_cx *cx, const char *name, uint32_t caps, gather *g, size_t *ret_winner,
                        asx_join_result *ret_result)
{
    asx__task *task;
    size_t winner = ASX_NO_BRANCH;
    asx_join_result result;
    asx_status st = asx__flow_enter(cx, caps, g->branches, g->count, &task);
    if (st == ASX_OK)
        st = g->count == 0 ? ASX_E_NOT_FOUND : run(cx, name, g, &winner, &result);
    if (ret_winner != NULL)
        *ret_winner = winner;
    if (ret_result != NULL)
        *ret_result = winner == ASX_NO_BRANCH ? asx__flow_no_result(st) : result;
    return st;
}

asx_status asx_first_ok(asx_cx *cx, const asx_branch *branches, size_t count,
                        const asx_flow_options *options, size_t *ret_winner,
                        asx_join_result *ret_result)
{
    gather g = { .branches = branches, .options = options, .count = count, .needed = 1 };
    return first(cx, "first-ok", ASX_CAP_SPAWN | ASX_CAP_CHANNEL, &g, ret_winner, ret_result);
}

asx_status asx_hedge(asx_cx *cx, const asx_branch *branches, size_t count, uint64_t delay_ns,
                     const asx_flow_options *options, size_t *ret_winner,
                     asx_join_result *ret_result)
{
    gather g = { .branches = branches, .options = options, .count = count, .needed = 1,
                 .delay_ns = delay_ns };
    return first(cx, "hedge", ASX_CAP_SPAWN | ASX_CAP_CHANNEL | ASX_CAP_TIME, &g, ret_winner,
                 ret_result);
}

asx_status asx_quorum(asx_cx *cx, const asx_branch *branches, size_t count, size_t needed,
                      const asx_flow_options *options, asx_join_result *ret_results,
                      size_t *ret_ok)
{
    asx__task *task;
    size_t winner = ASX_NO_BRANCH;
    asx_join_result result;
    gather g = { .branches = branches, .options = options, .count = count, .needed = needed,
                 .results = ret_results, .wants_all = ret_results != NULL || ret_ok != NULL };
    asx_status st =
        asx__flow_enter(cx, ASX_CAP_SPAWN | ASX_CAP_CHANNEL | ASX_CAP_CANCEL, branches, count,
                        &task);
    if (st == ASX_OK && needed > count)
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK && needed != 0)
        st = run(cx, "quorum", &g, &winner, &result);
    for (size_t i = 0; ret_results != NULL && i < count && g.started == 0; i++)
        ret_results[i] = asx__flow_no_result(st < 0 ? st : ASX_E_CANCELLED);
    if (ret_ok != NULL)
        *ret_ok = g.oks;
    return st;
}
