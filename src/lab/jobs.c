/* jobs.c - the keeper (see jobs.h). */
#include "lab/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TICK_MS 20       /* between two looks at the clock */
#define WORTH 32         /* work of so many executions is worth asking for */
/* If not, nobody is asked for so long, then twice as long, up to the second; or so many times what
 * it takes the keeper, up to the last. */
#define PAUSE_NS (ASX_MS / 16)
#define PAUSE_FREE_NS (16 * ASX_MS)
#define SPENT_TIMES 32
#define PAUSE_MOST_NS (500 * ASX_MS)
#define ASIDE_MOST (8u << 20) /* bytes of failures that a bet may put aside */
#define SAMPLES_FIRST 16 /* as many as settle the span of PCT (dpor_draw.c) */
#define SAMPLES_EACH 32  /* at least; up to SAMPLES_MOST, if that takes less than this time */
#define SAMPLES_MOST 8192
#define SAMPLES_NS (2 * ASX_MS)

/* Of which nothing counts yet. Samples that were handed out together: what came of them is told in
 * order of their numbers. A bet: when it is won. */
typedef struct batch {
    struct batch *next;
    bool done;
    uint64_t first, begun_ns;    /* samples */
    asx__pool_place place;       /* a bet */
    bool begun;                  /* a bet: what was done before was reported */
    bool off;                    /* a bet: it was called off */
    asx__tally tally;            /* a bet: at the beginning of the report */
    asx__bytes report, failures; /* failures: each with its length */
} batch;

typedef struct worker {
    pid_t pid;           /* 0: there is none */
    int fd;
    bool busy;
    bool gave;           /* something, since it was asked, or has taken it back */
    bool beside;         /* it got its work while others were at work */
    uint64_t before;     /* how many executions it had done when it got its work */
    uint64_t memory_bytes;
    asx__pool_place place;
    batch *batch;
} worker;

typedef struct keeper {
    const asx_explore_options *options;
    asx_lab_fn fn;
    void *arg;
    asx__common *common;
    asx__pool *pool;
    worker workers[ASX__JOBS_MOST];
    uint32_t jobs;
    bool wide;
    asx__tally sum;      /* of all reports */
    asx__classes classes;
    batch *batches, **batches_end; /* samples */
    batch *bets;
    uint64_t next_sample, span, samples_end;
    uint64_t samples_each; /* to one worker at a time */
    bool sampling;
    bool resumed;        /* the pool has what a checkpoint had */
    bool restart;        /* somebody has met what the workers are not prepared for */
    bool collecting;     /* everything is wanted back */
    bool lost;           /* what is left of somebody's work is not known */
    bool told;           /* something failed, ... */
    bool at_first;       /* ... and that was to be the end */
    asx_explore_stop stopped;
    asx_status status;   /* of the exploration */
    asx_status broken;   /* nothing can be said */
    uint32_t unsupported;
    bool never_bets;     /* too much would have to be put aside */
    bool unsaved;        /* a checkpoint was wanted, and there cannot be one */
    uint64_t started_ns, before_ns, saved_ns;
    uint64_t pause_ns, ask_ns; /* others are not asked for work for so long; until then */
    bool asked;          /* they were, and somebody still has none */
    bool tells;          /* those who give are told what becomes of it */
    uint64_t spent_ns;   /* on that, since the last pause */
    asx__bytes message;
} keeper;

static uint64_t now_ns(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
}

/* ---- workers -------------------------------------------------------------------------------- */

static void be_worker(keeper *k, uint32_t number, int fd)
{
    asx_explore_options o = *k->options;
    asx_explore_result result;
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].pid != 0)
            (void)close(k->workers[i].fd);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGINT, SIG_IGN); /* the keeper hears it, and tells us */
    asx__tie tie = { .fd = fd,
                       .common = k->common,
                       .slot = &k->common->slots[number],
                       .wide = k->wide,
                       .limited = o.executions_max != 0 && !k->sampling,
                       .first_only = o.stop_at_first };
    o.time_max_ns = o.executions_max = 0;
    o.on_progress = NULL;
    o.stop_at_first = false;
    o.sink = NULL;
    asx_status st = asx__explore_alone(&o, k->fn, k->arg, &tie, &result);
    _exit(st < 0 ? 1 : 0);
}

static bool start_worker(keeper *k, uint32_t number)
{
    int ends[2];
    worker *w = &k->workers[number];
    memset(w, 0, sizeof *w);
    memset(&k->common->slots[number], 0, sizeof k->common->slots[number]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        be_worker(k, number, ends[1]);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return false;
    }
    w->pid = pid;
    w->fd = ends[0];
    return true;
}

static void end_worker(worker *w, bool force)
{
    int state;
    if (w->pid == 0)
        return;
    if (force)
        (void)kill(w->pid, SIGKILL);
    (void)close(w->fd);
    while (waitpid(w->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    w->pid = 0;
    w->busy = false;
}

/* Of a bet nothing can be given. */
static void want(keeper *k, asx__giving giving)
{
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].busy && (k->workers[i].batch == NULL || k->sampling))
            asx__store_release(&k->common->slots[i].want, giving);
}

static void settle_bets(keeper *k);

/* Everything is wanted back; bets are called off. */
static void collect(keeper *k)
{
    k->collecting = true;
    settle_bets(k);
    want(k, ASX__GIVE_ALL);
    for (batch *b = k->bets; b != NULL; b = b->next) {
        b->off = asx__pool_bet(k->pool, &b->place) == ASX__BET_OPEN;
        asx__pool_lose(&b->place);
    }
    settle_bets(k);
}

static uint32_t count_busy(const keeper *k)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < k->jobs; i++)
        busy += k->workers[i].busy;
    return busy;
}

static void stop(keeper *k, asx_explore_stop why)
{
    if (k->stopped == ASX_EXPLORE_STOP_NONE)
        k->stopped = why;
    collect(k);
}

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

static bool add_report(keeper *k, const asx__bytes *report)
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

static void progress_of(const keeper *k, asx_explore_progress *ret)
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
    for (const batch *b = k->bets; b != NULL; b = b->next) {
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
        .frontier = asx__pool_len(k->pool) + count_busy(k),
        .frontier_most = s.frames_most,
        .memory_bytes = s.memory_bytes,
        .elapsed_ns = now_ns() - k->started_ns + k->before_ns,
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

static void tell_failure(keeper *k, asx__reader *r, uint64_t before)
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

static void put_aside(keeper *k, batch *b)
{
    asx__bytes_u32(&b->failures, (uint32_t)k->message.len);
    (void)asx__bytes_keep(&b->failures, k->message.at, k->message.len);
    if (b->failures.bad)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    if (k->sampling || b->failures.len <= ASIDE_MOST)
        return;
    k->never_bets = true;
    asx__pool_lose(&b->place);
    settle_bets(k);
}

static void on_failure(keeper *k, worker *w)
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
    progress_of(k, &p);
    uint64_t own = asx__load_relaxed(&k->common->slots[w - k->workers].executions);
    tell_failure(k, &r, p.executions - own);
    if (k->options->stop_at_first) {
        k->at_first = true;
        stop(k, ASX_EXPLORE_STOP_FIRST);
    }
}

/* ---- samples, and bets ---------------------------------------------------------------------- */

static void drop_batch(batch *b)
{
    free(b->report.at);
    free(b->failures.at);
    free(b);
}

static void drop_batches(batch **list)
{
    while (*list != NULL) {
        batch *next = (*list)->next;
        drop_batch(*list);
        *list = next;
    }
}

/* It counts. */
static void settle(keeper *k, const batch *b, uint64_t before)
{
    asx__reader failures = { b->failures.at, b->failures.len, false };
    if (!k->at_first && b->report.len != 0 && !add_report(k, &b->report))
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    while (!k->at_first && failures.len != 0 && !failures.bad) {
        asx__reader one = asx__read_part(&failures);
        tell_failure(k, &one, before);
        k->at_first = k->options->stop_at_first;
    }
}

/* Adds up what is done, as far as nothing before it is missing. */
static void settle_samples(keeper *k)
{
    while (k->batches != NULL && k->batches->done) {
        batch *b = k->batches;
        settle(k, b, b->first);
        if (k->at_first) { /* those after it do not count */
            k->next_sample = k->sum.stats.executions;
            stop(k, ASX_EXPLORE_STOP_FIRST);
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

/* The next samples as a piece of work. */
static bool take_samples(keeper *k, worker *w, asx__bytes *work)
{
    if (k->next_sample >= k->samples_end || (k->next_sample != 0 && k->batches != NULL &&
                                             k->batches->first == 0))
        return false; /* the first ones tell how the others are drawn */
    batch *b = calloc(1, sizeof *b);
    if (b == NULL) {
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    uint64_t left = k->samples_end - k->next_sample, count = left / k->jobs / 2;
    if (count > k->samples_each)
        count = k->samples_each;
    if (count < SAMPLES_EACH || k->next_sample == 0)
        count = k->next_sample == 0 ? SAMPLES_FIRST : SAMPLES_EACH;
    if (count > left)
        count = left;
    b->first = k->next_sample;
    b->begun_ns = now_ns();
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

static bool may_bet(const keeper *k)
{
    const asx_explore_options *o = k->options;
    return o->executions_max == 0 && !(o->stop_at_first && o->on_checkpoint != NULL) &&
           !k->never_bets;
}

static void add_bet(keeper *k, worker *w)
{
    batch *b = calloc(1, sizeof *b);
    if (b == NULL) {
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
        return;
    }
    b->place = w->place;
    b->next = k->bets;
    k->bets = w->batch = b;
}

static worker *who_bets(keeper *k, const batch *b)
{
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].batch == b)
            return &k->workers[i];
    return NULL;
}

/* Won, or lost and nobody is there. What was called off at the end has been done all the same. */
static void end_bet(keeper *k, batch *b, bool won)
{
    bool last = k->stopped != ASX_EXPLORE_STOP_NONE && k->options->on_checkpoint == NULL;
    worker *w = who_bets(k, b);
    if (won || (b->off && last))
        settle(k, b, k->sum.stats.executions);
    if (w != NULL)
        w->batch = NULL;
    else if (won)
        asx__pool_done(k->pool, &b->place);
    else
        asx__pool_undo(k->pool, &b->place);
    drop_batch(b);
}

/* Somebody has given something, or is done. */
static void settle_bets(keeper *k)
{
    for (batch **at = &k->bets; *at != NULL;) {
        batch *b = *at;
        worker *w = who_bets(k, b);
        asx__bet bet = asx__pool_bet(k->pool, &b->place);
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

/* ---- work ----------------------------------------------------------------------------------- */

static bool may_begin(keeper *k)
{
    if (k->options->executions_max == 0 || k->sampling)
        return true;
    uint64_t allowed = asx__load_relaxed(&k->common->allowed);
    while (allowed != 0)
        if (asx__cas_acq_rel(&k->common->allowed, &allowed, allowed - 1))
            return true;
    return false;
}

static void may_not_begin(keeper *k)
{
    if (k->options->executions_max != 0 && !k->sampling)
        (void)asx__fetch_add_relaxed(&k->common->allowed, 1);
}

/* What was asked for was soon done, or nobody could take it: next time later. Who gives shares his
 * nodes from then on, and tells of all that he finds for them; so he takes them back meanwhile. */
static void pause_asking(keeper *k)
{
    k->pause_ns = k->pause_ns < PAUSE_NS ? PAUSE_NS : 2 * k->pause_ns;
    if (k->pause_ns > PAUSE_FREE_NS)
        k->pause_ns = PAUSE_FREE_NS;
    if (k->pause_ns < SPENT_TIMES * k->spent_ns)
        k->pause_ns = SPENT_TIMES * k->spent_ns;
    if (k->pause_ns > PAUSE_MOST_NS)
        k->pause_ns = PAUSE_MOST_NS;
    k->ask_ns = now_ns() + k->pause_ns;
    k->spent_ns = 0;
    k->asked = false;
}

static bool is_pausing(const keeper *k)
{
    return k->ask_ns != 0 && count_busy(k) != 0 && now_ns() < k->ask_ns;
}

static void let_take_back(keeper *k)
{
    for (uint32_t i = 0; i < k->jobs; i++) {
        worker *w = &k->workers[i];
        if (w->busy && w->gave && w->place.node != NULL)
            asx__store_release(&k->common->slots[i].want, ASX__TAKE_BACK);
        w->gave = false;
    }
}

/* Somebody has no work. */
static void ask_for_work(keeper *k)
{
    bool given = false;
    for (uint32_t i = 0; i < k->jobs; i++)
        given = given || k->workers[i].gave;
    if (k->tells && k->asked && given && !is_pausing(k))
        pause_asking(k);
    if (is_pausing(k)) {
        let_take_back(k);
        return;
    }
    want(k, may_bet(k) ? ASX__GIVE_BETS : ASX__GIVE_TOP);
    k->asked = true;
}

/* While others are not asked for work, who is alone gets all that he can have. */
static void send_work(keeper *k, uint32_t i, const asx__bytes *work)
{
    worker *w = &k->workers[i];
    asx__bytes message = { 0 };
    size_t hole = asx__bytes_hole(&message);
    (void)asx__bytes_keep(&message, work->at, work->len);
    asx__bytes_fill(&message, hole);
    if (w->place.node != NULL && count_busy(k) == 0 && now_ns() < k->ask_ns)
        asx__pool_tell(k->pool, &w->place, true, &message);
    asx__store_release(&k->common->slots[i].want, ASX__GIVE_NOTHING);
    w->before = asx__load_relaxed(&k->common->slots[i].executions);
    w->gave = false;
    w->beside = count_busy(k) != 0;
    bool bet = !k->sampling && asx__pool_bet(k->pool, &w->place) == ASX__BET_OPEN;
    if (bet)
        add_bet(k, w);
    w->busy = !message.bad && asx__message_send(w->fd, bet ? ASX__MESSAGE_BET : ASX__MESSAGE_WORK,
                                                message.at, message.len);
    if (!w->busy)
        k->broken = ASX_E_SYSTEM;
    free(message.at);
}

/* Gives work to those who have none. */
static void hand_out(keeper *k)
{
    bool hungry = false;
    for (uint32_t i = 0; i < k->jobs && !k->collecting && k->broken >= 0; i++) {
        worker *w = &k->workers[i];
        if (w->pid == 0 || w->busy)
            continue;
        asx__bytes work = { 0 };
        if (!may_begin(k))
            return;
        bool any = k->sampling ? take_samples(k, w, &work)
                               : !is_pausing(k) && asx__pool_take(k->pool, may_bet(k), &work,
                                                                  &w->place);
        if (!any) {
            may_not_begin(k);
            hungry = true;
        } else if (work.bad) {
            k->broken = ASX_E_RESOURCE_EXHAUSTED;
        } else {
            send_work(k, i, &work);
        }
        free(work.at);
    }
    if (hungry && !k->sampling)
        ask_for_work(k);
}

static void on_given(keeper *k, worker *w)
{
    uint64_t began = now_ns();
    asx__reader r = { k->message.at, k->message.len, false };
    bool asked = asx__read_u32(&r) != 0, back = asx__read_u32(&r) != 0;
    asx_status st = asx__pool_give(k->pool, &w->place, &r);
    if (st < 0)
        k->broken = st;
    w->gave = !back;
    settle_bets(k);
    if (!asked)
        return;
    k->tells = true;
    asx__bytes told = { 0 };
    asx__pool_tell(k->pool, &w->place, back, &told);
    k->spent_ns += now_ns() - began;
    if (told.bad || !asx__message_send(w->fd, ASX__MESSAGE_TOLD, told.at, told.len))
        k->broken = ASX_E_SYSTEM;
    free(told.at);
}

static void on_done(keeper *k, worker *w)
{
    batch *b = w->batch;
    w->busy = false;
    uint64_t executions = asx__load_relaxed(&k->common->slots[w - k->workers].executions);
    if (b != NULL && !k->sampling)
        executions = w->before + (asx__pool_bet(k->pool, &b->place) == ASX__BET_LOST
                                      ? 0 : b->tally.stats.executions);
    if (w->beside && executions >= w->before + WORTH) {
        k->pause_ns /= 8;
        k->ask_ns = 0;
    } else if (w->beside && k->tells) {
        pause_asking(k);
    }
    w->batch = NULL;
    if (b != NULL)
        b->done = true;
    if (k->sampling && now_ns() - b->begun_ns < SAMPLES_NS && k->samples_each < SAMPLES_MOST)
        k->samples_each *= 2;
    if (k->sampling)
        settle_samples(k);
    else if (b == NULL)
        asx__pool_done(k->pool, &w->place);
    settle_bets(k);
}

static void on_report(keeper *k, worker *w)
{
    batch *b = w->batch;
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

static void on_status(keeper *k)
{
    asx__reader r = { k->message.at, k->message.len, false };
    asx_status st = (asx_status)asx__read_u32(&r);
    uint32_t unsupported = asx__read_u32(&r);
    if (st < 0 && k->status >= 0) {
        k->status = st;
        k->unsupported = unsupported;
    }
    if (asx__read_u32(&r) != 0) {
        k->lost = true;
        stop(k, ASX_EXPLORE_STOP_FIRST);
    }
    if (st < 0)
        stop(k, ASX_EXPLORE_STOP_FAILED);
}

/* False: it is gone. */
static bool hear(keeper *k, worker *w)
{
    asx__message kind;
    if (!asx__message_receive(w->fd, &kind, &k->message))
        return false;
    switch (kind) {
    case ASX__MESSAGE_GIVEN:
        on_given(k, w);
        break;
    case ASX__MESSAGE_FAILURE:
        on_failure(k, w);
        break;
    case ASX__MESSAGE_REPORT:
        on_report(k, w);
        break;
    case ASX__MESSAGE_DONE:
        on_done(k, w);
        break;
    case ASX__MESSAGE_RESTART:
        k->restart = true;
        k->wide = true;
        break;
    case ASX__MESSAGE_STATUS: /* its last word, before it was told to go */
        on_status(k);
        end_worker(w, false);
        break;
    default:
        k->broken = ASX_E_SYSTEM;
        break;
    }
    return true;
}

static void wait_for_messages(keeper *k)
{
    struct pollfd fds[ASX__JOBS_MOST];
    uint32_t who[ASX__JOBS_MOST];
    nfds_t count = 0;
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].pid != 0) {
            who[count] = i;
            fds[count++] = (struct pollfd){ .fd = k->workers[i].fd, .events = POLLIN };
        }
    uint64_t now = now_ns();
    uint64_t wait = TICK_MS * ASX_MS;
    if (k->ask_ns > now && k->ask_ns - now < wait)
        wait = k->ask_ns - now;
    if (ppoll(fds, count, &(struct timespec){ .tv_nsec = (long)wait }, NULL) <= 0)
        return;
    for (nfds_t i = 0; i < count && k->broken >= 0 && !k->restart; i++)
        if (fds[i].revents != 0 && k->workers[who[i]].pid != 0 && !hear(k, &k->workers[who[i]]))
            k->broken = ASX_E_SYSTEM; /* the test has ended its process */
}

/* ---- the whole ------------------------------------------------------------------------------ */

static asx_status save(keeper *k)
{
    asx__bytes file = { 0 };
    k->saved_ns = now_ns();
    k->unsaved = (asx__load_relaxed(&k->common->features) & ASX__FEATURE_ELSEWHERE) != 0;
    if (k->unsaved)
        return ASX_OK;
    asx__saved c = { .sum = k->sum,
                          .classes = &k->classes,
                          .names = &k->common->names,
                          .pool = k->pool,
                          .wide = k->wide,
                          .features = asx__load_relaxed(&k->common->features),
                          .next_sample = k->next_sample,
                          .span = k->span,
                          .elapsed_ns = now_ns() - k->started_ns + k->before_ns };
    asx_status st = asx__saved_write(k->options, &c, &file);
    if (st >= 0)
        st = k->options->on_checkpoint(k->options->ctx, file.at, file.len);
    free(file.at);
    return st;
}

/* Who had no work when everything was wanted back has not told what it did before. */
static void ask_for_reports(keeper *k)
{
    for (uint32_t i = 0; i < k->jobs && k->broken >= 0; i++) {
        worker *w = &k->workers[i];
        if (w->pid != 0 && asx__load_relaxed(&k->common->slots[i].executions) != 0 &&
            (!asx__message_send(w->fd, ASX__MESSAGE_ASKED, "", 0) || !hear(k, w)))
            k->broken = ASX_E_SYSTEM;
    }
}

static void look_at_the_clock(keeper *k, uint64_t *told_ns)
{
    const asx_explore_options *o = k->options;
    uint64_t now = now_ns();
    if (k->collecting || now - *told_ns < TICK_MS * ASX_MS)
        return;
    *told_ns = now;
    asx_explore_progress p;
    progress_of(k, &p);
    if (o->time_max_ns != 0 && now - k->started_ns >= o->time_max_ns)
        stop(k, ASX_EXPLORE_STOP_TIME);
    else if (o->on_progress != NULL && !o->on_progress(o->ctx, &p))
        stop(k, ASX_EXPLORE_STOP_ASKED);
    else if (o->on_checkpoint != NULL && o->checkpoint_every_ns != 0 &&
             now - k->saved_ns >= o->checkpoint_every_ns) {
        collect(k);
    }
}

static bool is_left(const keeper *k)
{
    return k->sampling ? k->next_sample < k->samples_end || k->batches != NULL
                       : asx__pool_len(k->pool) != 0;
}

/* Until everything is done, or it has to end, or to begin again. */
static void keep(keeper *k)
{
    uint64_t told_ns = k->started_ns;
    while (k->broken >= 0 && !k->restart) {
        hand_out(k);
        if (count_busy(k) == 0) {
            bool more = is_left(k) && k->stopped == ASX_EXPLORE_STOP_NONE;
            if (!more || !k->collecting)
                break; /* done, told to stop, or no more is allowed */
            if (!k->sampling)
                ask_for_reports(k);
            asx_status st = k->broken >= 0 ? save(k) : k->broken;
            if (st < 0)
                k->broken = st;
            k->collecting = false;
            continue;
        }
        wait_for_messages(k);
        look_at_the_clock(k, &told_ns);
    }
}

static bool start_all(keeper *k)
{
    asx__bytes all = { 0 };
    if (!k->resumed && !k->sampling) {
        asx__bytes_u32(&all, ASX__WORK_EVERYTHING);
        asx__bytes_u32(&all, k->wide);
        asx__bytes_double(&all, 1);
        if (all.bad || asx__pool_put(k->pool, all.at, all.len) < 0)
            k->broken = ASX_E_RESOURCE_EXHAUSTED;
        free(all.at);
    }
    for (uint32_t i = 0; i < k->jobs && k->broken >= 0; i++)
        if (!start_worker(k, i))
            k->broken = ASX_E_SYSTEM;
    return k->broken >= 0;
}

/* Everything from the beginning, prepared for what was met. */
static void begin_again(keeper *k)
{
    for (uint32_t i = 0; i < k->jobs; i++)
        end_worker(&k->workers[i], true);
    if ((asx__load_relaxed(&k->common->features) & ASX__FEATURE_ELSEWHERE) != 0)
        k->jobs = 1;
    drop_batches(&k->batches);
    drop_batches(&k->bets);
    k->batches_end = &k->batches;
    asx__pool_destroy(k->pool);
    k->pool = asx__pool_create(k->options->mode == ASX_EXPLORE_SOURCE);
    if (k->pool == NULL)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    asx__classes_clear(&k->classes);
    memset(&k->sum, 0, sizeof k->sum);
    k->common->names.len = 0;
    asx__store_relaxed(&k->common->names.lock, 0);
    asx__store_relaxed(&k->common->allowed, k->options->executions_max);
    k->next_sample = k->span = k->before_ns = 0;
    k->samples_end = k->options->executions_max;
    k->restart = k->collecting = k->told = k->at_first = k->resumed = false;
    k->stopped = ASX_EXPLORE_STOP_NONE;
}

/* Their last reports, which they make at the same time. */
static void end_all(keeper *k)
{
    for (uint32_t i = 0; i < k->jobs && k->broken >= 0; i++)
        if (k->workers[i].pid != 0 &&
            !asx__message_send(k->workers[i].fd, ASX__MESSAGE_END, "", 0))
            end_worker(&k->workers[i], true);
    for (uint32_t i = 0; i < k->jobs; i++) {
        worker *w = &k->workers[i];
        while (w->pid != 0 && k->broken >= 0 && hear(k, w))
            continue;
        end_worker(w, true);
    }
}

static asx_explore_stop stopped_by(keeper *k)
{
    if (k->status < 0)
        return ASX_EXPLORE_STOP_FAILED;
    if (k->stopped != ASX_EXPLORE_STOP_NONE && (is_left(k) || k->lost || k->sampling))
        return k->stopped;
    if (k->sampling)
        return ASX_EXPLORE_STOP_SAMPLED;
    if (is_left(k))
        return ASX_EXPLORE_STOP_EXECUTIONS;
    if (k->sum.stats.bounded != 0)
        return ASX_EXPLORE_STOP_BOUND;
    return k->sum.too_long != 0 ? ASX_EXPLORE_STOP_TOO_LONG : ASX_EXPLORE_STOP_NONE;
}

static asx_status resume(keeper *k, const char **ret_why)
{
    asx__saved c = { .classes = &k->classes, .names = &k->common->names, .pool = k->pool };
    asx_status st = asx__saved_read(k->options, &c, ret_why);
    if (st < 0)
        return st;
    k->sum = c.sum;
    k->resumed = true;
    k->wide = c.wide;
    asx__store_relaxed(&k->common->features, c.features);
    k->next_sample = c.next_sample;
    k->samples_end += c.next_sample < UINT64_MAX - k->samples_end ? c.next_sample : 0;
    k->span = c.span;
    k->before_ns = c.elapsed_ns;
    return ASX_OK;
}

static void run(keeper *k, asx_explore_result *ret_result)
{
    const asx_explore_options *o = k->options;
    for (bool again = true; again && start_all(k);) {
        keep(k);
        again = k->restart;
        if (again)
            begin_again(k);
    }
    end_all(k);
    bool more = is_left(k) || k->sampling; /* of samples there are always more */
    if (k->broken >= 0 && o->on_checkpoint != NULL && more && k->status >= 0 && !k->lost)
        k->broken = save(k);
    if (k->broken < 0)
        return;
    if (k->unsaved)
        ret_result->unsaved = "a shared cell is in memory that will be elsewhere next time";
    progress_of(k, &ret_result->totals);
    ret_result->status = k->status;
    ret_result->stopped = stopped_by(k);
    ret_result->complete = ret_result->stopped == ASX_EXPLORE_STOP_NONE;
    ret_result->unsupported = k->unsupported != 0 ? asx_event_kind_str(k->unsupported) : NULL;
}

asx_status asx__jobs_run(const asx_explore_options *options, asx_lab_fn fn, void *arg,
                         asx_explore_result *ret_result)
{
    keeper *k = calloc(1, sizeof *k);
    asx_explore_result result = { .refused = NULL };
    if (k == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    k->options = options;
    k->fn = fn;
    k->arg = arg;
    k->jobs = options->jobs > 1 ? options->jobs : 1;
    k->sampling = asx__explore_samples(options);
    k->samples_end = options->executions_max;
    k->samples_each = SAMPLES_EACH;
    k->batches_end = &k->batches;
    k->started_ns = k->saved_ns = now_ns();
    k->pool = asx__pool_create(options->mode == ASX_EXPLORE_SOURCE);
    k->common = mmap(NULL, sizeof *k->common, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (k->pool == NULL || k->common == MAP_FAILED)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    else
        asx__store_relaxed(&k->common->allowed, options->executions_max);
    if (k->broken >= 0 && options->resume != NULL) {
        result.status = resume(k, &result.refused);
        result.stopped = ASX_EXPLORE_STOP_FAILED;
    }
    if (k->broken >= 0 && result.status >= 0)
        run(k, &result);
    asx_status st = k->broken;
    if (st >= 0)
        *ret_result = result;
    for (uint32_t i = 0; i < k->jobs; i++)
        end_worker(&k->workers[i], true);
    drop_batches(&k->batches);
    drop_batches(&k->bets);
    asx__pool_destroy(k->pool);
    if (k->common != MAP_FAILED)
        (void)munmap(k->common, sizeof *k->common);
    free(k->classes.at);
    free(k->message.at);
    free(k);
    return st;
}
