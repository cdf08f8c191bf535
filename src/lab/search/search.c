/* search.c - samples first, then every class; and a smaller schedule that fails in the same way.
 *
 * A schedule is handled as text here: a list of words, one per step (see explore/text.c). What
 * follows the last word goes by default, so any prefix of a schedule is one.
 *
 * Shrinking proposes changes and runs each. A proposal counts if the run fails in the same way and
 * is smaller, and then the steps that it really did until it failed are what is changed next:
 *     without a task      all its words are left out
 *     without a block     a stretch of steps of one task is left out
 *     together            a block is moved to the one of the same task before it, or that one to it
 *     plainer             a choice becomes 0
 * Smaller means: fewer tasks, then fewer switches, then fewer choices other than 0, then fewer
 * steps. A proposal that the program cannot follow is no schedule of it, and is dropped.
 *
 * Rejected: halving as in delta debugging. The blocks of a schedule depend on each other, so that
 * nearly all halves cannot be followed; one block at a time costs more trials, of microseconds.
 */
#include <asx/search.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lab/jobs/jobs.h"

#define TRIALS_DEFAULT 1000

typedef struct word {
    const char *text;
    size_t len;      /* all of it */
    size_t task_len; /* without the choice */
} word;

typedef struct words {
    word *at;
    size_t len;
    const char *head; /* what stands before the first step and is never changed */
    size_t head_len;
} words;

static uint64_t now_ns(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
}

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *made = malloc(size);
    return made != NULL ? memcpy(made, text, size) : NULL;
}

void asx_lab_finding_deinit(asx_lab_finding *finding)
{
    if (finding == NULL)
        return;
    free(finding->text);
    free(finding->site);
    free(finding->schedule);
    free(finding->interleaving);
    memset(finding, 0, sizeof *finding);
}

/* ---- schedules as words --------------------------------------------------------------------- */

/* The words point into `schedule`. */
static bool split(const char *schedule, size_t limit, words *ret)
{
    size_t count = 1;
    for (const char *p = schedule; *p != '\0'; p++)
        count += *p == ' ';
    ret->at = malloc(count * sizeof *ret->at);
    ret->len = 0;
    if (ret->at == NULL)
        return false;
    ret->head = schedule;
    while (*schedule == '+') {
        schedule += strcspn(schedule, " \n\t\r");
        schedule += strspn(schedule, " \n\t\r");
    }
    ret->head_len = (size_t)(schedule - ret->head);
    for (const char *p = schedule; *p != '\0' && ret->len < limit;) {
        size_t len = strcspn(p, " \n\t\r");
        if (len != 0)
            ret->at[ret->len++] = (word){ p, len, strcspn(p, " \n\t\r:") };
        p += len + (p[len] != '\0');
    }
    return true;
}

static char *join(const words *w)
{
    size_t size = w->head_len + 1;
    for (size_t i = 0; i < w->len; i++)
        size += w->at[i].len + 1;
    char *text = malloc(size), *p = text;
    if (text == NULL)
        return NULL;
    if (w->head_len != 0) /* else there may be no head at all */
        memcpy(p, w->head, w->head_len);
    p += w->head_len;
    for (size_t i = 0; i < w->len; i++) {
        if (i != 0)
            *p++ = ' ';
        memcpy(p, w->at[i].text, w->at[i].len);
        p += w->at[i].len;
    }
    *p = '\0';
    return text;
}

static bool same_task(const word *a, const word *b)
{
    return a->task_len == b->task_len && memcmp(a->text, b->text, a->task_len) == 0;
}

static bool chose(const word *w)
{
    return w->len > w->task_len && !(w->len == w->task_len + 2 && w->text[w->len - 1] == '0');
}

static bool is_first_of_task(const words *w, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (same_task(&w->at[i], &w->at[at]))
            return false;
    return true;
}

typedef struct size_of {
    uint64_t tasks, switches, choices, steps;
} size_of;

static size_of measure(const words *w)
{
    size_of s = { .steps = w->len };
    for (size_t i = 0; i < w->len; i++) {
        s.tasks += is_first_of_task(w, i);
        s.switches += i != 0 && !same_task(&w->at[i], &w->at[i - 1]);
        s.choices += chose(&w->at[i]);
    }
    return s;
}

static bool smaller(const size_of *a, const size_of *b)
{
    if (a->tasks != b->tasks)
        return a->tasks < b->tasks;
    if (a->switches != b->switches)
        return a->switches < b->switches;
    if (a->choices != b->choices)
        return a->choices < b->choices;
    return a->steps < b->steps;
}

/* ---- searching ------------------------------------------------------------------------------ */

typedef struct catch {
    const asx_explore_options *user;
    asx_lab_finding finding;
    uint64_t before; /* schedules run by earlier phases */
    uint64_t started_ns;
    bool no_memory;
} catch;

static void on_failure(void *ctx, const asx_explore_failure *failure)
{
    catch *c = ctx;
    asx_lab_finding *f = &c->finding;
    if (c->user != NULL && c->user->on_failure != NULL)
        c->user->on_failure(c->user->ctx, failure);
    if (f->found)
        return;
    *f = (asx_lab_finding){ .found = true,
                            .verdict = failure->verdict,
                            .schedules = c->before + failure->execution,
                            .elapsed_ns = now_ns() - c->started_ns,
                            .steps = failure->steps,
                            .text = copy(failure->text),
                            .site = copy(failure->site),
                            .schedule = copy(failure->schedule),
                            .interleaving = copy(failure->interleaving) };
    words w = { 0 };
    c->no_memory = f->text == NULL || f->site == NULL || f->schedule == NULL ||
                   f->interleaving == NULL || !split(f->schedule, (size_t)f->steps, &w);
    size_of s = measure(&w);
    f->switches = s.switches;
    f->tasks = s.tasks;
    free(w.at);
}

static bool on_progress(void *ctx, const asx_explore_progress *progress)
{
    const catch *c = ctx;
    if (c->user == NULL || c->user->on_progress == NULL)
        return true;
    return c->user->on_progress(c->user->ctx, progress);
}

static asx_status on_checkpoint(void *ctx, const void *bytes, size_t len)
{
    const catch *c = ctx;
    return c->user->on_checkpoint(c->user->ctx, bytes, len);
}

static asx_status phase(catch *c, asx_explore_options *o, asx_lab_fn fn, void *arg,
                        asx_explore_result *ret_result)
{
    o->on_failure = on_failure;
    o->on_progress = on_progress;
    o->ctx = c;
    asx_status st = asx_explore(fn, arg, o, ret_result);
    if (st >= 0 && c->no_memory)
        st = ASX_E_RESOURCE_EXHAUSTED;
    return st;
}

asx_status asx_lab_search(asx_lab_fn fn, void *arg, uint64_t samples,
                          const asx_explore_options *options, asx_explore_result *ret_result,
                          asx_lab_finding *ret_finding)
{
    static const asx_explore_options none;
    asx_explore_options o = options != NULL ? *options : none;
    asx_explore_result result = { .complete = false };
    catch c = { .user = options, .started_ns = now_ns() };
    if (ret_result == NULL || ret_finding == NULL)
        return ASX_E_INVALID_ARGUMENT;
    uint64_t most = o.executions_max;
    o.mode = ASX_EXPLORE_SAMPLE;
    o.schedule = NULL;
    o.sink = NULL;
    o.stop_at_first = true;
    uint64_t before = asx__saved_samples(&o), wanted = samples != 0 ? samples : ASX_LAB_SAMPLES;
    o.executions_max = wanted > before ? wanted - before : 0;
    if (most != 0 && most < o.executions_max)
        o.executions_max = most;
    if (o.on_checkpoint != NULL)
        o.on_checkpoint = on_checkpoint;
    asx_status st = ASX_OK;
    if (o.executions_max != 0)
        st = phase(&c, &o, fn, arg, &result);
    else
        result.totals.executions = before; /* all of them */
    if (st >= 0 && o.resume != NULL && result.refused != NULL)
        memset(&result, 0, sizeof result); /* of the exploration, which comes after the samples */
    else
        o.resume = NULL;
    uint64_t used = now_ns() - c.started_ns, sampled = result.totals.executions;
    uint64_t now = sampled > before ? sampled - before : 0; /* less: begun again */
    bool in_time = (o.time_max_ns == 0 || used < o.time_max_ns) &&
                   result.stopped != ASX_EXPLORE_STOP_ASKED;
    bool allowed = most == 0 || now < most;
    if (!allowed && result.stopped == ASX_EXPLORE_STOP_SAMPLED)
        result.stopped = ASX_EXPLORE_STOP_EXECUTIONS;
    if (st >= 0 && result.status >= 0 && !c.finding.found && in_time && allowed) {
        c.before = sampled;
        o.mode = ASX_EXPLORE_OPTIMAL;
        o.executions_max = most != 0 ? most - now : 0;
        o.time_max_ns -= o.time_max_ns != 0 ? used : 0;
        st = phase(&c, &o, fn, arg, &result);
    }
    if (st < 0) {
        asx_lab_finding_deinit(&c.finding);
        return st;
    }
    if (!c.finding.found)
        c.finding.schedules = c.before + result.totals.executions;
    *ret_result = result;
    *ret_finding = c.finding;
    return ASX_OK;
}

/* ---- shrinking ------------------------------------------------------------------------------ */

typedef struct shrinker {
    const asx_explore_options *options;
    asx_lab_fn fn;
    void *arg;
    asx_lab_finding best;
    words w;      /* the steps of `best` until it failed */
    size_of size;
    uint64_t trials_left;
    uint64_t until_ns; /* 0: no limit */
    asx_status status;
} shrinker;

static bool may_try(const shrinker *s)
{
    return s->status >= 0 && s->trials_left > 0 && (s->until_ns == 0 || now_ns() < s->until_ns);
}

/* Runs the proposal, as text. True: it fails in the same way and is smaller (`any_size`: or not),
 * and is the best from now on. */
static bool try_text(shrinker *s, const char *schedule, bool any_size)
{
    static const asx_explore_options none;
    catch c = { .started_ns = now_ns() };
    asx_explore_options o = s->options != NULL ? *s->options : none;
    asx_explore_result result;
    o.mode = ASX_EXPLORE_OPTIMAL;
    o.schedule = schedule;
    o.time_max_ns = 0;
    o.on_failure = on_failure;
    o.on_progress = NULL;
    o.sink = NULL;
    o.ctx = &c;
    asx_status st = asx_explore(s->fn, s->arg, &o, &result);
    if (st >= 0 && c.no_memory)
        st = ASX_E_RESOURCE_EXHAUSTED;
    s->trials_left -= s->trials_left != 0;
    if (st == ASX_E_RESOURCE_EXHAUSTED)
        s->status = st;
    words w = { 0 };
    bool good = st >= 0 && result.status >= 0 && c.finding.found &&
                c.finding.verdict == s->best.verdict &&
                strcmp(c.finding.site, s->best.site) == 0 &&
                split(c.finding.schedule, (size_t)c.finding.steps, &w);
    size_of size = measure(&w);
    if (!good || (!any_size && !smaller(&size, &s->size))) {
        free(w.at);
        asx_lab_finding_deinit(&c.finding);
        return false;
    }
    c.finding.schedules = s->best.schedules;
    c.finding.elapsed_ns = s->best.elapsed_ns;
    asx_lab_finding_deinit(&s->best);
    free(s->w.at);
    s->best = c.finding;
    s->w = w;
    s->size = size;
    return true;
}

static bool try_words(shrinker *s, words *proposal)
{
    proposal->head = s->w.head;
    proposal->head_len = s->w.head_len;
    char *text = join(proposal);
    if (text == NULL) {
        s->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    bool better = try_text(s, text, false);
    free(text);
    return better;
}

/* The end of the block of one task that begins at `start`. */
static size_t block_end(const words *w, size_t start)
{
    size_t end = start + 1;
    while (end < w->len && same_task(&w->at[end], &w->at[start]))
        end++;
    return end;
}

static bool drop_task(shrinker *s, size_t at, words *p)
{
    p->len = 0;
    for (size_t i = 0; i < s->w.len; i++)
        if (!same_task(&s->w.at[i], &s->w.at[at]))
            p->at[p->len++] = s->w.at[i];
    return try_words(s, p);
}

static bool drop_block(shrinker *s, size_t start, words *p)
{
    size_t end = block_end(&s->w, start);
    p->len = 0;
    for (size_t i = 0; i < s->w.len; i++)
        if (i < start || i >= end)
            p->at[p->len++] = s->w.at[i];
    return try_words(s, p);
}

static void put(words *p, const words *from, size_t start, size_t end)
{
    for (size_t i = start; i < end; i++)
        p->at[p->len++] = from->at[i];
}

/* The block and the one of the same task before it, side by side: at the earlier place or at the
 * later one. */
static bool bring_together(shrinker *s, size_t start, bool early, words *p)
{
    size_t end = block_end(&s->w, start), before_end = start;
    while (before_end > 0 && !same_task(&s->w.at[before_end - 1], &s->w.at[start]))
        before_end--;
    if (before_end == 0)
        return false;
    size_t before = before_end - 1;
    while (before > 0 && same_task(&s->w.at[before - 1], &s->w.at[start]))
        before--;
    p->len = 0;
    put(p, &s->w, 0, before);
    if (early) {
        put(p, &s->w, before, before_end);
        put(p, &s->w, start, end);
        put(p, &s->w, before_end, start);
    } else {
        put(p, &s->w, before_end, start);
        put(p, &s->w, before, before_end);
        put(p, &s->w, start, end);
    }
    put(p, &s->w, end, s->w.len);
    return try_words(s, p);
}

static bool choose_zero(shrinker *s, size_t at, words *p)
{
    char plain[64];
    size_t len = s->w.at[at].task_len;
    if (!chose(&s->w.at[at]) || len + 3 > sizeof plain)
        return false;
    memcpy(plain, s->w.at[at].text, len);
    memcpy(plain + len, ":0", 3);
    p->len = 0;
    put(p, &s->w, 0, s->w.len);
    p->at[at] = (word){ plain, len + 2, len };
    return try_words(s, p);
}

/* One walk over the steps; true: it got smaller. A success changes the words under our feet, so
 * the walk goes on from where it is, and there will be another one. */
static bool walk(shrinker *s)
{
    bool better = false;
    words p = { .at = malloc((s->w.len + 1) * sizeof(word)) };
    size_t room = s->w.len + 1;
    if (p.at == NULL) {
        s->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    for (size_t i = 0; i < s->w.len && s->w.len < room && may_try(s); i++)
        if (is_first_of_task(&s->w, i) && drop_task(s, i, &p))
            better = true;
    for (size_t i = 0; i < s->w.len && s->w.len < room && may_try(s);) {
        bool now = drop_block(s, i, &p) || bring_together(s, i, true, &p) ||
                   bring_together(s, i, false, &p);
        better = better || now;
        if (!now)
            i = block_end(&s->w, i);
    }
    for (size_t i = 0; i < s->w.len && s->w.len < room && may_try(s); i++)
        if (choose_zero(s, i, &p))
            better = true;
    free(p.at);
    return better;
}

asx_status asx_lab_shrink(asx_lab_finding *finding, asx_lab_fn fn, void *arg, uint64_t trials_max,
                          const asx_explore_options *options)
{
    if (fn == NULL || finding == NULL || !finding->found || finding->schedule == NULL ||
        finding->site == NULL)
        return ASX_E_INVALID_ARGUMENT;
    shrinker s = { .options = options,
                   .fn = fn,
                   .arg = arg,
                   .best = *finding,
                   .trials_left = trials_max != 0 ? trials_max : TRIALS_DEFAULT };
    if (options != NULL && options->time_max_ns != 0)
        s.until_ns = now_ns() + options->time_max_ns;
    char *again = copy(finding->schedule);
    if (again == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    s.best.schedule = again; /* what is being run is not to be freed by its own success */
    char *first = copy(again);
    bool same = first != NULL && try_text(&s, first, true);
    free(first);
    if (!same) {
        free(again);
        return s.status < 0 ? s.status : ASX_E_DIVERGED;
    }
    free(finding->schedule);
    while (may_try(&s) && walk(&s))
        continue;
    free(s.w.at);
    *finding = s.best;
    return s.status;
}
