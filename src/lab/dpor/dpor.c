/* dpor.c - one execution after the other: who goes next, and what each event did.
 *
 * An execution follows its plan, then goes on by default: the task that an event of the plan has
 * overtaken goes as soon as it can; otherwise the running task goes on, or the next in order of
 * number (with a seed: any enabled task, drawn). Which task the default prefers does not matter to
 * what is visited.
 *
 * The other modes use the same events and plans. DFS plans the next larger enabled task at the last
 * step that has one. Those that sample plan nothing (draw.c).
 */
#include "lab/dpor/dpor.h"

#include "lab/dpor/internal.h"

/* ---- life ----------------------------------------------------------------------------------- */

asx__dpor *asx__dpor_create(const asx__dpor_options *options)
{
    asx__dpor *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    d->options = *options;
    d->prefer = d->clock = d->moving = ASX__DPOR_NONE;
    d->stride = ASX__CLOCK_LANES;
    d->levels = 1;
    d->share = 1;
    d->wide = options->mode == ASX__DPOR_SOURCE;
    d->sampling = options->mode >= ASX__DPOR_RANDOM && options->mode <= ASX__DPOR_SAMPLE;
    d->noted = d->sampling;
    asx__rng_seed(&d->rng, options->seed);
    d->stamp = 1;
    d->rows_len = d->own_from = d->stride; /* row 0 */
    if (!asx__dpor_grow_places(d) || !asx__vclock_grow(d) ||
        asx__dpor_name(d, ASX__DPOR_NONE, 0) != 0) {
        asx__dpor_destroy(d);
        return NULL;
    }
    return d;
}

void asx__dpor_destroy(asx__dpor *d)
{
    if (d == NULL)
        return;
    free(d->tasks);
    free(d->rows);
    free(d->asked);
    free(d->waiters.at);
    free(d->sleeping.at);
    free(d->names);
    free(d->events);
    free(d->objects.at);
    free(d->places);
    free(d->races.at);
    free(d->plan.at);
    free(d->blocks.at);
    free(d->untried.at);
    free(d->changes.at);
    free(d->roles.at);
    free(d->classes.at);
    free(d->given.at);
    free(d->heard_late.at);
    free(d->whole.at);
    free(d->saved_steps.at);
    free(d->saved_blocks.at);
    free(d->alternatives.at);
    free(d->moved.at);
    free(d->frames.at);
    asx__tree_clear(d);
    asx__branches_deinit(&d->branches);
    free(d->deed.touches);
    free(d->other.touches);
    free(d->wide_events);
    free(d->accesses.at);
    free(d->prints.at);
    free(d->nodes.at);
    free(d->sleepers.at);
    free(d->pasts.at);
    free(d->marks.at);
    free(d->block.at);
    free(d->stands.at);
    free(d->seen_on.at);
    free(d->kept.at);
    free(d->links.at);
    free(d->cursors.at);
    free(d->by_task.at);
    free(d->starts.at);
    free(d->seen);
    free(d->seen_rows);
    free(d->whereabouts);
    free(d);
}

/* ---- an execution --------------------------------------------------------------------------- */

static void enter(asx__dpor *d, uint32_t task)
{
    asx__dpor_task *k = &d->tasks[task];
    k->done = 0;
    k->children = 0;
    k->clock = 0;
    k->history = 0;
    k->role = NULL;
    k->present = true;
    k->pending = false;
    if (ASX__UNLIKELY(d->sampling))
        asx__draw_enter(d, task);
}

void asx__dpor_begin(asx__dpor *d)
{
    for (uint32_t t = 0; t < d->tasks_len; t++)
        d->tasks[t].present = d->tasks[t].pending = false;
    if (d->sampling)
        asx__draw_begin(d);
    if (d->asked_words != 0)
        memset(d->asked, 0, (d->asked_words + (d->asked_words + 63) / 64) * sizeof *d->asked);
    d->waiters.len = d->sleeping.len = 0;
    d->events_len = 0;
    asx__again_begin(d);
    d->class_sum = 0;
    d->too_long = d->failed = d->blocked = d->lates = false;
    d->epoch = d->preemptions = d->delays = d->costs = 0;
    d->world = ASX__DPOR_NONE;
    d->own_alternatives = d->alternatives.len;
    enter(d, 0);
}

uint32_t asx__dpor_spawn(asx__dpor *d, uint32_t parent)
{
    uint32_t task = asx__dpor_name(d, parent, d->tasks[parent].children++);
    if (task == ASX__DPOR_NONE)
        return task;
    enter(d, task);
    asx__vclock_share(d);
    d->tasks[task].clock = d->tasks[parent].clock;
    d->tasks[task].history = d->tasks[parent].history;
    return task;
}

void asx__dpor_role(asx__dpor *d, uint32_t task, const char *role)
{
    d->tasks[task].role = role;
}

static __attribute__((noinline)) void note_announced(asx__dpor *d, uint32_t task)
{
    if (d->sampling && !d->tasks[task].pending)
        asx__draw_announce(d, task);
    asx__dpor_asked(d, task, true);
}

void asx__dpor_announce(asx__dpor *d, uint32_t task, const asx__op *op)
{
    d->tasks[task].op = *op;
    if (ASX__UNLIKELY(d->noted))
        note_announced(d, task);
    d->tasks[task].pending = true;
    if (ASX__UNLIKELY(op->kind == ASX__OP_FUTEX_GO_ON) && op->a != 0)
        d->lates = true;
    if (ASX__UNLIKELY(!d->wide && asx__op_is_wide(op))) {
        d->wide = true;
        d->repeated = 0;
        d->restart = d->events_len != 0 || d->stats.executions != 0 || d->later;
    }
}

void asx__dpor_withdraw(asx__dpor *d, uint32_t task)
{
    d->tasks[task].pending = false;
    asx__dpor_asked(d, task, false);
}

uint32_t asx__dpor_clock_task(asx__dpor *d)
{
    uint32_t task = asx__dpor_name(d, ASX__DPOR_NONE, 1);
    if (task == ASX__DPOR_NONE || d->tasks[task].present)
        return task;
    enter(d, task);
    d->clock = task;
    return task;
}

static uint32_t hidden_task(asx__dpor *d, uint32_t owner, uint32_t nth)
{
    uint32_t task = asx__dpor_name(d, owner, nth);
    if (task == ASX__DPOR_NONE || d->tasks[task].present)
        return task;
    enter(d, task);
    asx__vclock_share(d);
    d->tasks[task].clock = d->tasks[owner].clock;
    d->tasks[task].history = d->tasks[owner].history;
    return task;
}

uint32_t asx__dpor_timer_task(asx__dpor *d, uint32_t owner, uint32_t nth)
{
    return hidden_task(d, owner, ASX__DPOR_TIMER | nth);
}

uint32_t asx__dpor_finalizer_task(asx__dpor *d, uint32_t owner, uint32_t nth)
{
    return hidden_task(d, owner, ASX__DPOR_FINALIZER | nth);
}

uint32_t asx__dpor_done(const asx__dpor *d, uint32_t task)
{
    return d->tasks[task].done;
}

void asx__dpor_joined(asx__dpor *d, uint32_t task, uint32_t ended)
{
    if (task == ended)
        return;
    d->tasks[task].clock = asx__vclock_join(d, d->tasks[task].clock, d->tasks[ended].clock);
    d->tasks[task].history = asx__hash_absorb(d->tasks[task].history, d->tasks[ended].history);
}

void asx__dpor_ended(asx__dpor *d, uint32_t task)
{
    d->tasks[task].pending = false;
    asx__dpor_asked(d, task, false);
}

/* ---- who goes next -------------------------------------------------------------------------- */

void asx__dpor_aim(asx__dpor *d, uint32_t task)
{
    if (ASX__LIKELY(d->tasks[task].op.aims == 0) || !d->tasks[task].pending)
        return;
    asx__op op = d->tasks[task].op;
    d->options.aim(d->options.aim_ctx, task, &op);
    if (op.aims == d->tasks[task].op.aims)
        return;
    d->tasks[task].op = op; /* which may be elsewhere by now */
    d->deed_of = NULL;
}

static bool enabled(asx__dpor *d, uint32_t task)
{
    const asx__dpor_task *k = &d->tasks[task];
    if (!k->present || !k->pending)
        return false;
    /* The targets of others do not decide that. */
    if (ASX__UNLIKELY(k->op.kind == ASX__OP_CLOSE_REGION)) {
        asx__dpor_aim(d, task);
        k = &d->tasks[task];
    }
    if (d->wide)
        return task != d->clock && asx__wide_enabled(d, &k->op);
    if (k->op.kind != ASX__OP_LOCK && k->op.kind != ASX__OP_ACQUIRE)
        return true;
    return asx__op_eval(&k->op, asx__state_read(k->op.object, k->op.size)).enabled;
}

bool asx__dpor_enabled(asx__dpor *d, uint32_t task)
{
    return enabled(d, task);
}

/* The first from `task` on that is to be asked; NONE: there is none. */
static uint32_t next_asked(const asx__dpor *d, uint32_t task)
{
    size_t word = task >> 6, tops = (d->asked_words + 63) / 64;
    if (word >= d->asked_words)
        return ASX__DPOR_NONE;
    uint64_t bits = d->asked[word] & UINT64_MAX << (task & 63);
    uint64_t later = UINT64_MAX << (word & 63) << 1;
    for (size_t top = word >> 6; bits == 0 && top < tops; top++, later = UINT64_MAX) {
        uint64_t words = d->asked[d->asked_words + top] & later;
        if (words == 0)
            continue;
        word = (top << 6) + (size_t)__builtin_ctzll(words);
        bits = d->asked[word];
    }
    return bits != 0 ? (uint32_t)(word << 6) + (uint32_t)__builtin_ctzll(bits) : ASX__DPOR_NONE;
}

/* The next after `task`, round, as long as it has not come to `first`; NONE: it has. */
static uint32_t next_round(const asx__dpor *d, uint32_t first, uint32_t task)
{
    if (ASX__LIKELY(d->levels == 1)) {
        task = task + 1 < d->tasks_len ? task + 1 : 0;
        return task != first ? task : ASX__DPOR_NONE;
    }
    bool wrapped = task < first;
    uint32_t next = next_asked(d, task + 1);
    if (next == ASX__DPOR_NONE && !wrapped) {
        next = next_asked(d, 0);
        wrapped = true;
    }
    return wrapped && next >= first ? ASX__DPOR_NONE : next;
}

/* The first enabled task from `first` on, in order of number, round; NONE: no task is. */
static inline uint32_t first_enabled(asx__dpor *d, uint32_t first)
{
    uint32_t task = first;
    while (task != ASX__DPOR_NONE && !enabled(d, task))
        task = next_round(d, first, task);
    return task;
}

/* A join or a sleep cannot go before what it has just looked at, in d->deed, is changed. So many
 * may wait for each other that to ask them all at each step would cost more than anything else. The
 * clock asks those only whose time has come. */
static void put_aside(asx__dpor *d, uint32_t task)
{
    const asx__dpor_task *k = &d->tasks[task];
    bool sleeps = k->op.kind == ASX__OP_SLEEP;
    if (d->levels == 1 || !k->present || !k->pending || (k->op.kind != ASX__OP_JOIN && !sleeps) ||
        !ASX__VEC_ROOM(d, d->waiters, d->deed.len))
        return;
    for (size_t i = 0; i < d->deed.len; i++) {
        if (sleeps && d->deed.touches[i].name == k->op.name)
            continue;
        uint32_t object = asx__dpor_object_of(d, d->deed.touches[i].name);
        if (object == ASX__DPOR_NONE)
            return;
        d->waiters.at[d->waiters.len++] =
            (asx__change_waiter){ task, d->objects.at[object].waiters };
        d->objects.at[object].waiters = (uint32_t)d->waiters.len;
    }
    asx__dpor_asked(d, task, false);
}

void asx__dpor_wake_waiters(asx__dpor *d, asx__dpor_object *object)
{
    for (uint32_t i = object->waiters; i != 0; i = d->waiters.at[i - 1].next) {
        uint32_t task = d->waiters.at[i - 1].task;
        if (d->tasks[task].present && d->tasks[task].pending)
            asx__dpor_asked(d, task, true);
    }
    object->waiters = 0;
}

static bool is_tree(const asx__dpor *d)
{
    return d->wide && ASX__LIKELY(d->options.mode == ASX__DPOR_OPTIMAL ||
                                  d->options.mode == ASX__DPOR_SOURCE);
}

/* An enabled task that does not sleep. */
static uint32_t choose_awake(asx__dpor *d)
{
    uint32_t last = d->events_len != 0 ? d->events[d->events_len - 1].task : 0;
    uint64_t count = 0;
    uint32_t chosen = ASX__DPOR_NONE;
    if (ASX__UNLIKELY(d->levels > 1))
        asx__dpor_wake_sleepers(d);
    for (uint32_t task = last; task != ASX__DPOR_NONE; task = next_round(d, last, task)) {
        if (!enabled(d, task)) {
            put_aside(d, task);
            continue;
        }
        if (asx__tree_sleeps(d, task)) {
            d->blocked = true;
            continue;
        }
        if (d->options.seed == 0 || asx__rng_below(&d->rng, ++count) == 0)
            chosen = task;
        if (d->options.seed == 0)
            break;
    }
    if (ASX__UNLIKELY(d->blocked))
        d->blocked = chosen == ASX__DPOR_NONE;
    return chosen;
}

static uint32_t choose_default(asx__dpor *d)
{
    if (is_tree(d))
        return choose_awake(d);
    if (d->prefer != ASX__DPOR_NONE && enabled(d, d->prefer))
        return d->prefer;
    if (d->options.seed != 0)
        return asx__draw_any(d);
    uint32_t last = d->events_len != 0 ? d->events[d->events_len - 1].task : 0;
    return first_enabled(d, last);
}

/* ---- every interleaving --------------------------------------------------------------------- */

/* The running task first, then the others by number; with a bound on delays round from the running
 * one, and whoever goes costs as many delays as enabled tasks stand before it. Whoever can go only
 * because it may be late comes after all of these, and is a preemption if one of them can go. */

static uint32_t last_task(const asx__dpor *d)
{
    return d->events_len != 0 ? d->events[d->events_len - 1].task : 0;
}

/* Can it go without being late? */
static bool eager(asx__dpor *d, uint32_t task)
{
    return enabled(d, task) && (!d->lates || d->tasks[task].op.kind != ASX__OP_FUTEX_GO_ON ||
                                d->deed.found == ASX__FOUND_DONE);
}

static bool is_any_eager(asx__dpor *d)
{
    for (uint32_t task = 0; task < d->tasks_len; task++)
        if (eager(d, task))
            return true;
    return false;
}

/* Would it take the turn from a task that could go on? */
static bool preempts(asx__dpor *d, uint32_t task)
{
    if (d->options.bound == 0 || d->events_len == 0)
        return false;
    if (task != last_task(d) && eager(d, last_task(d)))
        return true;
    return d->lates && !eager(d, task) && is_any_eager(d);
}

static uint32_t round_from(const asx__dpor *d, uint32_t first, uint32_t i)
{
    return first + i < d->tasks_len ? first + i : first + i - d->tasks_len;
}

static uint32_t delays_of(asx__dpor *d, uint32_t task)
{
    uint32_t count = 0, last = last_task(d);
    for (uint32_t i = 0; d->options.delays != 0 && i < d->tasks_len; i++) {
        uint32_t other = round_from(d, last, i);
        if (other == task)
            return count;
        count += enabled(d, other);
    }
    return 0;
}

static bool is_within_bound(asx__dpor *d, uint32_t task)
{
    return (!preempts(d, task) || d->preemptions + 1 < d->options.bound) &&
           (d->options.delays == 0 || d->delays + delays_of(d, task) < d->options.delays);
}

static uint32_t choose_dfs(asx__dpor *d)
{
    uint32_t last = last_task(d);
    if (d->options.delays != 0)
        return first_enabled(d, last);
    if (eager(d, last))
        return last;
    for (uint32_t task = 0; d->lates && task < d->tasks_len; task++)
        if (eager(d, task))
            return task;
    return enabled(d, last) ? last : first_enabled(d, 0); /* late: the first in this order too */
}

static uint32_t nth_by_number(const asx__dpor *d, uint32_t i)
{
    uint32_t last = last_task(d);
    if (d->options.delays != 0)
        return round_from(d, last, i);
    return i == 0 ? last : i <= last ? i - 1 : i;
}

/* The i-th task in the order in which they are tried here; NONE: it cannot go. Twice as many if
 * some may be late. */
static uint32_t nth_to_try(asx__dpor *d, uint32_t i)
{
    bool late = i >= d->tasks_len;
    uint32_t task = nth_by_number(d, late ? i - d->tasks_len : i);
    if (!enabled(d, task) || (d->lates && d->options.delays == 0 && eager(d, task) == late))
        return ASX__DPOR_NONE;
    return task;
}

/* Notes the next task in this order that is enabled here, and how many more there are. */
static void note_untried(asx__dpor *d, uint32_t chosen)
{
    uint32_t step = d->events_len, i = 0, more = 0;
    bool first = step >= d->plan.len || d->plan.at[step].choice == 0;
    d->untried.len = step;
    if (!ASX__VEC_ROOM(d, d->untried, 1))
        return;
    uint32_t other = ASX__DPOR_NONE;
    uint32_t end = d->lates && d->options.delays == 0 ? 2 * d->tasks_len : d->tasks_len;
    while (i < end && nth_to_try(d, i) != chosen)
        i++;
    for (i++; i < end; i++) {
        uint32_t task = nth_to_try(d, i);
        if (task == ASX__DPOR_NONE)
            continue;
        if (!is_within_bound(d, task)) {
            d->stats.bounded += first;
            continue;
        }
        more++;
        if (other == ASX__DPOR_NONE)
            other = task;
    }
    bool again = step + 1 == d->plan.len && d->untried.cap > step && d->sibling;
    asx__untried *u = &d->untried.at[d->untried.len++];
    *u = (asx__untried){ { other, 0, false }, more, again ? u->begun + 1 : 1 };
}

static uint32_t choose_free(asx__dpor *d)
{
    if (ASX__UNLIKELY(d->options.mode == ASX__DPOR_DFS))
        return choose_dfs(d);
    return ASX__UNLIKELY(d->sampling) ? asx__draw_choose(d) : choose_default(d);
}

void asx__dpor_diverge(asx__dpor *d, uint32_t task, unsigned op)
{
    d->status = ASX_E_DIVERGED;
    d->diverged_at = d->events_len + 1;
    d->diverged_task = task;
    d->diverged_op = op;
}

bool asx__dpor_divergence(const asx__dpor *d, uint32_t *ret_event, uint32_t *ret_task,
                          asx__op_kind *ret_op)
{
    *ret_event = d->diverged_at - 1;
    *ret_task = d->diverged_task;
    *ret_op = (asx__op_kind)d->diverged_op;
    return d->status == ASX_E_DIVERGED && d->diverged_at != 0;
}

/* What the next event was in the execution before, if it is of the same plan. */
static unsigned planned_op(const asx__dpor *d)
{
    return d->events_len < d->repeated ? d->events[d->events_len].kind : (unsigned)ASX__OP_COUNT;
}

uint32_t asx__dpor_choose(asx__dpor *d)
{
    uint32_t chosen;
    if (ASX__UNLIKELY(d->status < 0 || d->restart))
        return ASX__DPOR_NONE;
    if (is_tree(d))
        asx__tree_enter(d);
    if (d->events_len < d->plan.len) {
        chosen = d->plan.at[d->events_len].task;
        if (ASX__LIKELY(chosen < d->tasks_len))
            asx__dpor_aim(d, chosen);
        bool again = ASX__LIKELY(d->events_len < d->repeated) &&
                     ASX__LIKELY(asx__again_is_same(d, chosen));
        if (!again &&
            ASX__UNLIKELY(chosen >= d->tasks_len || !(chosen == d->clock ? d->tasks[chosen].pending
                                                                         : enabled(d, chosen))))
            asx__dpor_diverge(d, chosen, planned_op(d));
        if (ASX__UNLIKELY(d->status < 0))
            return ASX__DPOR_NONE;
    } else {
        chosen = choose_free(d);
        if (ASX__UNLIKELY(chosen == ASX__DPOR_NONE)) {
            chosen = d->clock;
            if (d->blocked || chosen == ASX__DPOR_NONE || !d->tasks[chosen].present ||
                !d->tasks[chosen].pending)
                return ASX__DPOR_NONE;
        }
        if (ASX__UNLIKELY(d->events_len >= d->options.steps_max) && d->options.steps_max != 0) {
            d->too_long = true;
            return ASX__DPOR_NONE;
        }
        asx__dpor_aim(d, chosen);
    }
    if (ASX__UNLIKELY(d->restart))
        return ASX__DPOR_NONE;
    if (ASX__UNLIKELY(d->options.mode == ASX__DPOR_DFS)) {
        if (d->events_len + 1 >= d->plan.len)
            note_untried(d, chosen);
        d->preemptions += preempts(d, chosen);
        d->delays += delays_of(d, chosen);
    }
    return chosen;
}

/* ---- what it did ---------------------------------------------------------------------------- */

static bool room_for_event(asx__dpor *d)
{
    if (d->events_len < d->events_cap)
        return true;
    size_t cap = d->events_cap;
    if (!asx__dpor_grow(d, (void **)&d->events, &cap, cap + 1, sizeof *d->events))
        return false;
    d->events_cap = (uint32_t)cap;
    return true;
}

/* An event's share of the sum over its class: who it is and which write it comes after. */
static uint64_t class_term(const asx__dpor *d, const asx__dpor_event *event)
{
    uint64_t words[3] = { asx__event_word(d, event), UINT64_MAX,
                          (uint64_t)event->choice << 1 | event->writes };
    if (event->prev_write != ASX__DPOR_NONE)
        words[1] = asx__event_word(d, &d->events[event->prev_write]);
    return asx__hash_words(0, words, 3);
}

uint32_t asx__dpor_choice_of(asx__dpor *d, uint64_t choices)
{
    uint32_t step = d->events_len;
    if (step < d->plan.len) {
        if (d->plan.at[step].choice >= choices)
            asx__dpor_diverge(d, d->plan.at[step].task, ASX__OP_CHOOSE);
        return d->plan.at[step].choice;
    }
    if (d->sampling)
        return (uint32_t)asx__rng_below(&d->rng, choices);
    return 0;
}

uint32_t asx__dpor_answer(asx__dpor *d, asx__op *op)
{
    asx__answers *answers = op->answers;
    uint32_t count = answers->count(answers);
    bool spent = answers->costs && d->options.costs != 0 && d->costs + 1 >= d->options.costs;
    bool drawn = d->sampling && d->events_len >= d->plan.len;
    op->pick = answers->pick = drawn && spent ? 0 : asx__dpor_choice_of(d, count);
    d->costs += answers->costs && op->pick != 0;
    op->answers = NULL;
    return spent && op->pick == 0 ? 1 : count;
}

/* DFS: the next answer is tried before the next task. */
static void note_untried_choice(asx__dpor *d, uint32_t step, uint32_t task, uint64_t choices)
{
    uint32_t choice = d->events[step].choice;
    if (d->options.mode != ASX__DPOR_DFS || step + 1 < d->plan.len || choice + 1 >= choices)
        return;
    d->untried.at[step].step = (asx__step){ task, choice + 1, false };
    d->untried.at[step].more += (uint32_t)choices - choice - 1;
}

static uint64_t commit_wide(asx__dpor *d, uint32_t task)
{
    uint32_t step = d->events_len;
    uint64_t found = asx__wide_commit(d, task);
    if (ASX__UNLIKELY(d->status != ASX_OK))
        return found;
    if (ASX__UNLIKELY(d->wide_events[step].answers > 1))
        note_untried_choice(d, step, task, d->wide_events[step].answers);
    if (ASX__UNLIKELY(d->sampling))
        asx__draw_done(d, step);
    return found;
}

uint64_t asx__dpor_commit(asx__dpor *d, uint32_t task)
{
    asx__dpor_task *k = &d->tasks[task];
    asx__op *op = &k->op;
    if (d->events_len < d->repeated)
        return asx__again_commit(d, task);
    if (d->wide)
        return commit_wide(d, task);
    if (ASX__UNLIKELY(!room_for_event(d)))
        return 0;
    uint32_t step = d->events_len, answers = 1;
    asx__dpor_event *event = &d->events[step];
    *event = (asx__dpor_event){ .task = task, .ordinal = k->done + 1, .kind = (uint8_t)op->kind,
                                .site = op->site, .object = ASX__DPOR_NONE, .prev = ASX__DPOR_NONE,
                                .prev_write = ASX__DPOR_NONE,
                                .objects = (uint32_t)d->objects.len, .clock = k->clock,
                                .rows = d->rows_len };
    event->by_default = step >= d->plan.len || d->plan.at[step].by_default;
    asx__vclock_share(d);
    uint64_t found;
    if (op->object == NULL) {
        found = event->choice = asx__dpor_choice_of(d, op->a);
        asx__dpor_race_choice(d, step, op->a);
        note_untried_choice(d, step, task, op->a);
    } else {
        if (ASX__UNLIKELY(op->answers != NULL)) {
            answers = asx__dpor_answer(d, op);
            event->choice = op->pick;
        }
        event->object = asx__dpor_object_of(d, asx__op_name(op));
        if (ASX__UNLIKELY(event->object == ASX__DPOR_NONE))
            return 0;
        found = event->before = asx__state_read(op->object, op->size);
        asx__op_effect effect = asx__op_eval(op, found);
        event->writes = effect.writes;
        event->after = effect.after;
        asx__dpor_object *object = &d->objects.at[event->object];
        event->prev = object->last;
        event->prev_write = object->last_write;
        asx__dpor_race(d, step, op);
        if (ASX__UNLIKELY(answers > 1)) {
            asx__dpor_race_choice(d, step, answers);
            note_untried_choice(d, step, task, answers);
        }
        object->last = step;
        if (effect.writes) {
            object->last_write = step;
            asx__state_write(op->object, op->size, effect.after);
        }
    }
    k->done++;
    k->pending = false;
    k->clock = event->clock = asx__vclock_set(d, event->clock, task, k->done);
    event->rows_end = d->rows_len;
    asx__vclock_share(d);
    event->term = class_term(d, event);
    d->class_sum += event->term;
    if (d->prefer == task && step >= d->plan.len)
        d->prefer = ASX__DPOR_NONE;
    d->events_len++;
    if (ASX__UNLIKELY(d->noted)) {
        asx__dpor_asked(d, task, false);
        if (d->sampling)
            asx__draw_done(d, step);
    }
    return found;
}

/* ---- the end of an execution ---------------------------------------------------------------- */

static bool pop_untried(asx__dpor *d)
{
    for (size_t step = d->untried.len; step-- > 0;) {
        if (d->untried.at[step].step.task == ASX__DPOR_NONE)
            continue;
        d->plan.len = 0;
        if (!ASX__VEC_ROOM(d, d->plan, step + 1))
            return false;
        for (size_t i = 0; i < step; i++)
            d->plan.at[i] = (asx__step){ d->events[i].task, d->events[i].choice, false };
        d->plan.at[step] = d->untried.at[step].step;
        d->plan.len = step + 1;
        d->sibling = true;
        return true;
    }
    return false;
}

/* Everything from the beginning, wide: what is left of one object each is no longer looked at. */
static bool begin_again(asx__dpor *d)
{
    uint64_t memory_bytes = d->stats.memory_bytes;
    memset(&d->stats, 0, sizeof d->stats);
    d->stats.memory_bytes = memory_bytes;
    d->restart = false;
    d->sample = d->span = 0;
    d->sibling = false;
    d->share = 1;
    d->used = 0;
    d->share_from = 0;
    if (d->options.mode != ASX__DPOR_REPLAY) /* whose plan is not the engine's */
        d->plan.len = 0;
    d->untried.len = 0;
    asx__classes_clear(&d->classes);
    asx__tree_clear(d);
    free(d->whereabouts);
    d->whereabouts = NULL;
    d->shared = 0;
    return true;
}

/* Finds out what else there is to run. */
static bool finish_wide(asx__dpor *d)
{
    asx__find_races(d);
    if (d->branches.count > d->stats.branches_most)
        d->stats.branches_most = d->branches.count;
    d->stats.frames = d->nodes.len;
    if (d->stats.frames > d->stats.frames_most)
        d->stats.frames_most = d->stats.frames;
    asx__share_used(d);
    if (ASX__UNLIKELY(d->heard_late.len != 0))
        asx__share_late(d);
    asx__share_give(d);
    return asx__tree_pop(d) || asx__share_is_done(d);
}

bool asx__dpor_finish(asx__dpor *d, bool stuck)
{
    if (d->restart)
        return d->status == ASX_OK && begin_again(d);
    d->known = d->events_len;
    ASX__AUDIT_ASSERT(d->status < 0 || asx__dpor_is_valid(d));
    if (d->events_len < d->plan.len && d->status == ASX_OK)
        asx__dpor_diverge(d, d->plan.at[d->events_len].task, planned_op(d));
    if (d->status < 0)
        return false;
    if (d->blocked) {
        d->stats.blocked++;
        d->stats.steps += d->events_len;
        return finish_wide(d);
    }
    d->stats.executions++;
    d->stats.steps += d->events_len;
    d->stats.deadlocks += stuck && !d->too_long && !d->failed;
    if (d->events_len > d->stats.steps_longest)
        d->stats.steps_longest = d->events_len;
    if (d->tasks_len > d->stats.tasks_most)
        d->stats.tasks_most = d->tasks_len;
    if (d->options.check || d->options.mode == ASX__DPOR_DFS)
        asx__dpor_class_note(d);
    switch (d->options.mode) {
    case ASX__DPOR_SOURCE:
    case ASX__DPOR_OPTIMAL:
        if (d->wide)
            return finish_wide(d);
        if (stuck)
            asx__dpor_race_pending(d);
        asx__share_used(d);
        asx__dpor_push(d);
        asx__share_give(d);
        return asx__dpor_pop(d);
    case ASX__DPOR_DFS:
        d->untried.len = d->events_len;
        asx__share_used(d);
        asx__share_give(d);
        return pop_untried(d);
    case ASX__DPOR_REPLAY:
        return false;
    default:
        return d->status == ASX_OK && d->sample != d->sample_end;
    }
}

void asx__dpor_saw(asx__dpor *d, uint64_t value)
{
    if (d->events_len != 0 && d->events[d->events_len - 1].kind == ASX__OP_LOAD)
        d->events[d->events_len - 1].found = value;
}

/* ---- asking --------------------------------------------------------------------------------- */

asx_status asx__dpor_status(const asx__dpor *d)
{
    return d->status;
}

bool asx__dpor_blocked(const asx__dpor *d)
{
    return d->blocked;
}

bool asx__dpor_is_wide(const asx__dpor *d)
{
    return d->wide;
}

void asx__dpor_restart(asx__dpor *d)
{
    d->wide = d->restart = true;
    d->repeated = 0;
}

bool asx__dpor_restarts(const asx__dpor *d)
{
    return d->restart;
}

void asx__dpor_fails(asx__dpor *d)
{
    d->failed = true;
}

bool asx__dpor_too_long(const asx__dpor *d)
{
    return d->too_long;
}

void asx__dpor_stats_get(const asx__dpor *d, asx__dpor_stats *ret_stats)
{
    *ret_stats = d->stats;
    ret_stats->branches = d->branches.count;
    ret_stats->memory_bytes += d->branches.bytes;
}

const asx__dpor_event *asx__dpor_events(const asx__dpor *d, size_t *ret_count)
{
    *ret_count = d->events_len;
    return d->events;
}

const asx__op *asx__dpor_op_of(const asx__dpor *d, size_t event)
{
    return d->wide && event < d->wide_cap ? &d->wide_events[event].op : NULL;
}

const asx__op *asx__dpor_pending(const asx__dpor *d, uint32_t task)
{
    if (task >= d->tasks_len || !d->tasks[task].present || !d->tasks[task].pending)
        return NULL;
    return &d->tasks[task].op;
}

uint32_t asx__dpor_tasks(const asx__dpor *d)
{
    return d->tasks_len;
}

void asx__dpor_name_of(const asx__dpor *d, uint32_t task, uint32_t *ret_parent, uint32_t *ret_nth)
{
    *ret_parent = d->tasks[task].parent;
    *ret_nth = d->tasks[task].nth;
}

asx_status asx__dpor_plan(asx__dpor *d, const asx__step *steps, size_t count)
{
    d->plan.len = 0;
    if (count != 0 && !ASX__VEC_ROOM(d, d->plan, count))
        return d->status;
    if (count != 0)
        memcpy(d->plan.at, steps, count * sizeof *steps);
    d->plan.len = count;
    return ASX_OK;
}
