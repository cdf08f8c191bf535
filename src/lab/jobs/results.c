/* results.c - what comes back to the keeper: counters, failures, samples and bets. */
#include "lab/jobs/keeper.h"

#define ASIDE_MOST (8u << 20) /* bytes of failures that a bet may put aside */
#define LATE_MOST (1u << 16)  /* bytes for a bet that somebody gets who may be about to send */
#define SAMPLES_FIRST 16 /* as many as settle the span of PCT (dpor/draw.c) */
#define SAMPLES_EACH 32  /* at least; up to SAMPLES_MOST, if that takes less than this time */
#define SAMPLES_MOST 8192
#define SAMPLES_NS (2 * ASX_MS)

/* ---- sums ----------------------------------------------------------------------------------- */

static void add_stats(asx__dpor_stats *sum, const asx__dpor_stats *more)
{
    sum->executions += more->executions;
    sum->steps += more->steps;
    sum->redundant += more->redundant;
    sum->checked += more->checked;
    sum->deadlocks += more->deadlocks;
    sum->blocked += more->blocked;
    sum->bounded += more->bounded;
    sum->done += more->done;
#define LARGER(field) sum->field = more->field > sum->field ? more->field : sum->field
    LARGER(steps_longest);
    LARGER(tasks_most);
    LARGER(branches_most);
    LARGER(frames_most);
    LARGER(span);
#undef LARGER
}

static bool add_report(asx__keeper *k, const asx__bytes *report)
{
    asx__tally tally;
    asx__reader r = { report->at, report->len, false };
    const char *bytes = asx__read(&r, sizeof tally);
    if (bytes == NULL)
        return false;
    memcpy(&tally, bytes, sizeof tally);
    add_stats(&k->sum.stats, &tally.stats);
    k->sum.bugs += tally.bugs;
    k->sum.too_long += tally.too_long;
    uint64_t mask = asx__read_u64(&r);
    k->classes.mask |= mask; /* masks are ones from the right */
    uint32_t count = asx__read_count(&r, 8);
    for (uint32_t i = 0; i < count; i++) {
        int seen = asx__classes_add(&k->classes, asx__read_u64(&r), SIZE_MAX);
        if (seen < 0)
            return false;
        k->sum.stats.redundant += seen == 2;
    }
    return !r.bad;
}

void asx__keeper_progress(const asx__keeper *k, asx_explore_progress *ret)
{
    asx__dpor_stats s = k->sum.stats;
    uint64_t bugs = k->sum.bugs, too_long = k->sum.too_long;
    for (uint32_t i = 0; i < k->jobs && !k->sampling; i++) {
        asx__slot *slot = &k->common->slots[i];
        s.executions += asx__load_relaxed(&slot->executions);
        s.steps += asx__load_relaxed(&slot->steps);
        s.deadlocks += asx__load_relaxed(&slot->deadlocks);
        s.redundant += asx__load_relaxed(&slot->redundant);
        bugs += asx__load_relaxed(&slot->bugs);
        too_long += asx__load_relaxed(&slot->too_long);
        uint64_t word = asx__load_relaxed(&slot->done);
        double done;
        memcpy(&done, &word, sizeof done);
        s.done += done;
    }
    for (uint32_t i = 0; i < k->jobs; i++)
        s.memory_bytes += k->workers[i].memory_bytes;
    for (const asx__batch *b = k->bets; b != NULL; b = b->next) {
        add_stats(&s, &b->tally.stats);
        bugs += b->tally.bugs;
        too_long += b->tally.too_long;
    }
    const asx_explore_options *o = k->options;
    bool optimal = o->mode == ASX_EXPLORE_OPTIMAL && o->bound == 0 && o->delays == 0;
    *ret = (asx_explore_progress){
        .executions = s.executions,
        .classes = optimal ? s.executions - s.redundant : k->classes.len,
        .redundant = s.redundant,
        .compared = s.checked,
        .blocked = s.blocked,
        .deadlocks = s.deadlocks,
        .bugs = bugs,
        .too_long = too_long,
        .steps = s.steps,
        .steps_longest = s.steps_longest,
        .tasks = s.tasks_most,
        .frontier = asx__backlog_len(k->backlog) + asx__keeper_busy(k),
        .frontier_most = s.frames_most,
        .memory_bytes = s.memory_bytes,
        .elapsed_ns = asx__keeper_now() - k->started_ns + k->before_ns,
        .left_out = s.bounded,
        .span = s.span,
        .estimate = asx__dpor_estimate(s.executions, s.done),
    };
}

/* ---- failures ------------------------------------------------------------------------------- */

static const char *read_text(asx__reader *r)
{
    uint32_t len = asx__read_u32(r);
    const char *text = asx__read(r, len);
    return text != NULL && len != 0 && text[len - 1] == '\0' ? text : "";
}

static void tell_failure(asx__keeper *k, asx__reader *r, uint64_t before)
{
    asx_explore_failure failure = { 0 };
    failure.verdict = (asx_explore_verdict)asx__read_u32(r);
    failure.execution = before + asx__read_u64(r);
    failure.steps = asx__read_u64(r);
    failure.text = read_text(r);
    failure.site = read_text(r);
    failure.schedule = read_text(r);
    failure.interleaving = read_text(r);
    if (k->options->on_failure != NULL && !r->bad && !(k->told && k->options->tell_first))
        k->options->on_failure(k->options->ctx, &failure);
    k->told = true;
}

static void put_aside(asx__keeper *k, asx__batch *b)
{
    asx__bytes_u32(&b->failures, (uint32_t)k->message.len);
    (void)asx__bytes_keep(&b->failures, k->message.at, k->message.len);
    if (b->failures.bad)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    if (k->sampling || b->failures.len <= ASIDE_MOST)
        return;
    k->never_bets = true;
    asx__backlog_lose(&b->place);
    asx__keeper_settle_bets(k);
}

void asx__keeper_failure(asx__keeper *k, asx__lab_worker *w)
{
    asx__reader r = { k->message.at, k->message.len, false };
    bool one = k->options->stop_at_first || k->options->tell_first; /* it is true in any case */
    if (w->batch != NULL && (k->sampling || !one)) {
        put_aside(k, w->batch);
        return;
    }
    asx_explore_progress p;
    if (k->at_first)
        return;
    asx__keeper_progress(k, &p);
    uint64_t own = asx__load_relaxed(&k->common->slots[w - k->workers].executions);
    tell_failure(k, &r, p.executions - own);
    if (k->options->stop_at_first) {
        k->at_first = true;
        asx__keeper_stop(k, ASX_EXPLORE_STOP_FIRST);
    }
}

/* ---- samples, and bets ---------------------------------------------------------------------- */

static void drop_batch(asx__batch *b)
{
    free(b->report.at);
    free(b->failures.at);
    free(b);
}

void asx__keeper_drop_batches(asx__batch **list)
{
    while (*list != NULL) {
        asx__batch *next = (*list)->next;
        drop_batch(*list);
        *list = next;
    }
}

/* It counts; samples after the first failure do not. */
static void settle(asx__keeper *k, const asx__batch *b, uint64_t before)
{
    asx__reader failures = { b->failures.at, b->failures.len, false };
    bool counts = b->report.len != 0 && !(k->sampling && k->at_first);
    if (counts && !add_report(k, &b->report))
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    while (!k->at_first && failures.len != 0 && !failures.bad) {
        asx__reader one = asx__read_part(&failures);
        tell_failure(k, &one, before);
        k->at_first = k->options->stop_at_first;
    }
}

void asx__keeper_settle_samples(asx__keeper *k, asx__batch *done)
{
    done->done = true;
    if (asx__keeper_now() - done->begun_ns < SAMPLES_NS && k->samples_each < SAMPLES_MOST)
        k->samples_each *= 2;
    while (k->batches != NULL && k->batches->done) {
        asx__batch *b = k->batches;
        settle(k, b, b->first);
        if (k->at_first) { /* those after it do not count */
            k->next_sample = k->sum.stats.executions;
            asx__keeper_stop(k, ASX_EXPLORE_STOP_FIRST);
        }
        if (k->sum.stats.span > k->span)
            k->span = k->sum.stats.span;
        if (b->first == 0 && k->sum.stats.steps_longest > k->span)
            k->span = k->sum.stats.steps_longest;
        k->batches = b->next;
        if (k->batches == NULL)
            k->batches_end = &k->batches;
        drop_batch(b);
    }
}

bool asx__keeper_take_samples(asx__keeper *k, asx__lab_worker *w, asx__bytes *work)
{
    if (k->next_sample >= k->samples_end || (k->next_sample != 0 && k->batches != NULL &&
                                             k->batches->first == 0))
        return false; /* the first ones tell how the others are drawn */
    asx__batch *b = calloc(1, sizeof *b);
    if (b == NULL) {
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    uint64_t left = k->samples_end - k->next_sample, count = left / k->jobs / 2;
    if (k->samples_each == 0)
        k->samples_each = SAMPLES_EACH;
    if (count > k->samples_each)
        count = k->samples_each;
    if (count < SAMPLES_EACH || k->next_sample == 0)
        count = k->next_sample == 0 ? SAMPLES_FIRST : SAMPLES_EACH;
    if (count > left)
        count = left;
    b->first = k->next_sample;
    b->begun_ns = asx__keeper_now();
    asx__bytes_u32(work, ASX__WORK_SAMPLES);
    asx__bytes_u32(work, k->wide);
    asx__bytes_double(work, 0);
    asx__bytes_u64(work, k->next_sample);
    asx__bytes_u64(work, count);
    asx__bytes_u64(work, k->span);
    k->next_sample += count;
    *k->batches_end = b;
    k->batches_end = &b->next;
    w->batch = b;
    return true;
}

bool asx__keeper_may_bet(const asx__keeper *k)
{
    const asx_explore_options *o = k->options;
    return o->executions_max == 0 && !(o->stop_at_first && o->on_checkpoint != NULL) &&
           !k->never_bets;
}

void asx__keeper_add_bet(asx__keeper *k, asx__lab_worker *w)
{
    asx__batch *b = calloc(1, sizeof *b);
    if (b == NULL) {
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
        return;
    }
    b->place = w->place;
    b->next = k->bets;
    k->bets = w->batch = b;
}

static asx__lab_worker *who_bets(asx__keeper *k, const asx__batch *b)
{
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].batch == b)
            return &k->workers[i];
    return NULL;
}

/* Won, or lost and nobody is there. What was called off at the end has been done all the same. */
static void end_bet(asx__keeper *k, asx__batch *b, bool won)
{
    bool last = k->stopped != ASX_EXPLORE_STOP_NONE && k->options->on_checkpoint == NULL;
    asx__lab_worker *w = who_bets(k, b);
    if (won || (b->off && last))
        settle(k, b, k->sum.stats.executions);
    if (w != NULL)
        w->batch = NULL;
    else if (won)
        asx__backlog_done(k->backlog, &b->place);
    else
        asx__backlog_undo(k->backlog, &b->place);
    drop_batch(b);
}

/* What was found for a bet is told to who is there; w: NULL: nobody is. */
static void tell_late(const asx__keeper *k, const asx__batch *b, const asx__lab_worker *w)
{
    asx__bytes late = { 0 };
    if (w == NULL && asx__backlog_is_late(&b->place)) {
        asx__backlog_lose(&b->place);
    } else if (w != NULL && asx__backlog_late(&b->place, &late)) {
        if (late.bad || late.len > LATE_MOST) {
            asx__backlog_lose(&b->place);
        } else {
            asx__keeper_say(w, ASX__MESSAGE_LATE, &late);
            asx__store_release(&k->common->slots[w - k->workers].want, ASX__HEAR_LATE);
        }
    }
    free(late.at);
}

void asx__keeper_settle_bets(asx__keeper *k)
{
    for (asx__batch **at = &k->bets; *at != NULL;) {
        asx__batch *b = *at;
        asx__lab_worker *w = who_bets(k, b);
        tell_late(k, b, w);
        asx__bet bet = asx__backlog_bet(k->backlog, &b->place);
        if (bet == ASX__BET_LOST && w != NULL)
            asx__store_release(&k->common->slots[w - k->workers].want, ASX__GIVE_UP);
        if (bet == ASX__BET_OPEN || (bet == ASX__BET_LOST && w != NULL)) {
            at = &b->next;
        } else {
            *at = b->next;
            end_bet(k, b, bet == ASX__BET_WON);
            at = &k->bets; /* others may depend on it */
        }
    }
}

void asx__keeper_report(asx__keeper *k, asx__lab_worker *w)
{
    asx__batch *b = w->batch;
    asx__tally tally;
    if (k->message.len < sizeof tally) {
        k->broken = ASX_E_SYSTEM;
        return;
    }
    memcpy(&tally, k->message.at, sizeof tally);
    w->memory_bytes = tally.stats.memory_bytes;
    if (b != NULL && (k->sampling || b->begun)) {
        (void)asx__bytes_keep(&b->report, k->message.at, k->message.len);
        b->tally = tally;
    } else if (!add_report(k, &k->message)) {
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    }
    if (b != NULL)
        b->begun = true;
}
