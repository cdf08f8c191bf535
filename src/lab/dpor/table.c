/* table.c - the engine's tables: growing arrays, objects by name, tasks by name and by when
 * they get up, classes.
 *
 * An object is known by its name, mostly an address, during one execution; the table of names is
 * emptied by taking a new stamp. A task is known by who started it and as which of its children, so
 * that it has the same number in every execution, whatever else ran before it.
 *
 * Classes. An execution is summed up by 64 bits that do not depend on the order of events that
 * commute (dpor.c adds one term per event). To find out that a class came twice they are kept in a
 * set, of bounded size: when it is full, a further bit of the sums must be zero for them to be kept
 * and compared. So memory is constant; every repetition is seen as long as ASX__CLASSES_MOST are
 * not exceeded, and from then on a known fraction of them. DFS, which is there to count classes,
 * keeps them all.
 *
 * Cells in memory that a test allocates. Trees name them by their address, and what they say is
 * wrong if that is another one next time. Where a task accesses one depends on its past alone, so
 * the address is kept under a hash of that: of the last so many, which is as good as all, because
 * an execution has most of its events in common with those just before.
 */
#include "lab/dpor/internal.h"

#include <sched.h>

bool asx__dpor_grow(asx__dpor *d, void **memory, size_t *cap, size_t need, size_t size)
{
    size_t grown = *cap != 0 ? *cap : 16;
    while (grown < need) {
        if (grown > SIZE_MAX / 4 / size) {
            d->status = ASX_E_RESOURCE_EXHAUSTED;
            return false;
        }
        grown *= 2;
    }
    void *larger = realloc(*memory, grown * size);
    if (larger == NULL) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    d->stats.memory_bytes += (grown - *cap) * size;
    *memory = larger;
    *cap = grown;
    return true;
}

/* ---- objects -------------------------------------------------------------------------------- */

bool asx__dpor_grow_places(asx__dpor *d)
{
    size_t cap = d->places_cap != 0 ? d->places_cap * 2 : 64;
    asx__place *old = d->places;
    size_t old_cap = d->places_cap;
    asx__place *places = calloc(cap, sizeof *places);
    if (places == NULL) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    d->places = places;
    d->places_cap = cap;
    d->places_shift = 64 - (unsigned)__builtin_ctzll(cap);
    d->stats.memory_bytes += (cap - old_cap) * sizeof *places;
    for (size_t i = 0; i < d->objects.len; i++) { /* in the order in which they came */
        asx__dpor_object *object = &d->objects.at[i];
        asx__place *place = asx__dpor_place(d, object->name);
        *place = (asx__place){ object->name, d->stamp, (uint32_t)i };
        object->place = (size_t)(place - places);
    }
    free(old);
    return true;
}

uint32_t asx__dpor_object_add(asx__dpor *d, uint64_t name)
{
    if (d->objects.len * 2 >= d->places_cap && !asx__dpor_grow_places(d))
        return ASX__DPOR_NONE;
    asx__place *place = asx__dpor_place(d, name);
    if (!ASX__VEC_ROOM(d, d->objects, 1))
        return ASX__DPOR_NONE;
    place->name = name;
    place->stamp = d->stamp;
    place->object = (uint32_t)d->objects.len;
    d->objects.at[d->objects.len++] = (asx__dpor_object){
        .last = ASX__DPOR_NONE, .last_write = ASX__DPOR_NONE, .last_change = ASX__DPOR_NONE,
        .name = name, .place = (size_t)(place - d->places) };
    return place->object;
}

/* ---- cells that may move -------------------------------------------------------------------- */

#define WHEREABOUTS_BITS 10

bool asx__dpor_is_where_it_was(asx__dpor *d, uint32_t task, uint64_t address)
{
    const asx__dpor_task *k = &d->tasks[task];
    bool tree = d->options.mode == ASX__DPOR_OPTIMAL || d->options.mode == ASX__DPOR_SOURCE;
    size_t count = (size_t)1 << WHEREABOUTS_BITS;
    if (!d->wide || !tree || d->restart)
        return true;
    if (d->whereabouts == NULL)
        d->whereabouts = calloc(count, sizeof *d->whereabouts);
    if (d->whereabouts == NULL) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return true;
    }
    uint64_t key = asx__hash_avalanche(k->history + k->path + k->done * ASX__HASH_M2) | 1;
    asx__whereabouts *w = &d->whereabouts[key >> (64 - WHEREABOUTS_BITS)];
    bool same = w->key != key || w->address == address;
    *w = (asx__whereabouts){ key, address };
    if (!same && d->status == ASX_OK)
        d->status = ASX_E_DIVERGED;
    return same;
}

/* ---- tasks ---------------------------------------------------------------------------------- */

static asx__task_name *find_name(const asx__dpor *d, uint32_t parent, uint32_t nth)
{
    uint64_t words[1] = { (uint64_t)parent << 32 | nth };
    size_t slot = (size_t)asx__hash_words(0, words, 1) & (d->names_cap - 1);
    while (d->names[slot].task != ASX__DPOR_NONE &&
           (d->names[slot].parent != parent || d->names[slot].nth != nth))
        slot = (slot + 1) & (d->names_cap - 1);
    return &d->names[slot];
}

static bool grow_names(asx__dpor *d)
{
    size_t cap = d->names_cap != 0 ? d->names_cap * 2 : 64;
    asx__task_name *old = d->names;
    size_t old_cap = d->names_cap;
    asx__task_name *names = malloc(cap * sizeof *names);
    if (names == NULL) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    for (size_t i = 0; i < cap; i++)
        names[i].task = ASX__DPOR_NONE;
    d->names = names;
    d->names_cap = cap;
    d->stats.memory_bytes += (cap - old_cap) * sizeof *names;
    for (size_t i = 0; i < old_cap; i++)
        if (old[i].task != ASX__DPOR_NONE)
            *find_name(d, old[i].parent, old[i].nth) = old[i];
    free(old);
    return true;
}

void asx__dpor_asked_far(asx__dpor *d, uint32_t task, bool asked)
{
    uint64_t *word = &d->asked[task >> 6], bit = UINT64_C(1) << (task & 63);
    uint64_t *top = &d->asked[d->asked_words + (task >> 12)];
    *word = asked ? *word | bit : *word & ~bit;
    bit = UINT64_C(1) << (task >> 6 & 63);
    *top = *word != 0 ? *top | bit : *top & ~bit;
}

/* Twice the words; whoever stands before something is asked. */
static bool grow_asked(asx__dpor *d)
{
    size_t words = d->asked_words != 0 ? d->asked_words * 2 : 2;
    uint64_t *asked = calloc(words + (words + 63) / 64, sizeof *asked);
    if (asked == NULL) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return false;
    }
    d->stats.memory_bytes += (words - d->asked_words) * sizeof *asked;
    free(d->asked);
    d->asked = asked;
    d->asked_words = words;
    for (uint32_t t = 0; t < d->tasks_len; t++)
        if (d->tasks[t].present && d->tasks[t].pending)
            asx__dpor_asked_far(d, t, true);
    return true;
}

static uint32_t add_name(asx__dpor *d, uint32_t parent, uint32_t nth)
{
    if (d->names_len * 2 >= d->names_cap && !grow_names(d))
        return ASX__DPOR_NONE;
    if (d->tasks_len > ASX__NAME_TASK_MOST) { /* two would have one name */
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return ASX__DPOR_NONE;
    }
    size_t cap = d->tasks_cap;
    if (d->tasks_len >= cap &&
        !asx__dpor_grow(d, (void **)&d->tasks, &cap, cap + 1, sizeof *d->tasks))
        return ASX__DPOR_NONE;
    d->tasks_cap = (uint32_t)cap;
    if (!asx__vclock_widen(d, d->tasks_len + 1) ||
        (d->levels > 1 && d->tasks_len >= d->asked_words * 64 && !grow_asked(d)))
        return ASX__DPOR_NONE;
    uint32_t task = d->tasks_len++;
    uint64_t words[2] = { parent < task ? d->tasks[parent].path : parent, nth };
    d->tasks[task] = (asx__dpor_task){ .parent = parent, .nth = nth,
                                       .path = asx__hash_words(1, words, 2) };
    *find_name(d, parent, nth) = (asx__task_name){ parent, nth, task };
    d->names_len++;
    return task;
}

/* All processes give a task the same number; those that others have met become known here too. */
static uint32_t add_common_name(asx__dpor *d, uint32_t parent, uint32_t nth)
{
    asx__common_names *common = d->options.names;
    uint32_t number = asx__common_name(common, parent, nth);
    if (number == ASX__DPOR_NONE) {
        d->status = ASX_E_RESOURCE_EXHAUSTED;
        return number;
    }
    while (d->tasks_len <= number)
        if (add_name(d, common->at[d->tasks_len].parent, common->at[d->tasks_len].nth) ==
            ASX__DPOR_NONE)
            return ASX__DPOR_NONE;
    return number;
}

uint32_t asx__dpor_name(asx__dpor *d, uint32_t parent, uint32_t nth)
{
    if (d->names_cap != 0) {
        const asx__task_name *name = find_name(d, parent, nth);
        if (name->task != ASX__DPOR_NONE)
            return name->task;
    }
    return d->options.names != NULL && !d->sampling ? add_common_name(d, parent, nth)
                                                    : add_name(d, parent, nth);
}

static void common_lock(asx__common_names *common)
{
    uint32_t free_ = 0;
    while (!asx__cas_acquire(&common->lock, &free_, 1)) {
        free_ = 0;
        (void)sched_yield();
    }
}

uint32_t asx__common_name(asx__common_names *common, uint32_t parent, uint32_t nth)
{
    uint32_t number = 0;
    common_lock(common);
    while (number < common->len &&
           (common->at[number].parent != parent || common->at[number].nth != nth))
        number++;
    if (number == ASX__COMMON_NAMES_MOST) {
        number = ASX__DPOR_NONE;
    } else if (number == common->len) {
        common->at[number].parent = parent;
        common->at[number].nth = nth;
        common->len++;
    }
    asx__store_release(&common->lock, 0);
    return number;
}

void asx__dpor_forget_names(asx__dpor *d)
{
    for (size_t i = 0; i < d->names_cap; i++)
        d->names[i].task = ASX__DPOR_NONE;
    d->known = 0;
    d->names_len = d->tasks_len = 0;
    (void)asx__dpor_name(d, ASX__DPOR_NONE, 0); /* there was room for it */
}

/* ---- times ---------------------------------------------------------------------------------- */

void asx__dpor_sleeps(asx__dpor *d, uint32_t task, uint64_t until)
{
    if (!ASX__VEC_ROOM(d, d->sleeping, 1))
        return;
    asx__timed_waiter *heap = d->sleeping.at;
    size_t i = d->sleeping.len++;
    for (; i != 0 && heap[(i - 1) / 2].until > until; i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = (asx__timed_waiter){ until, task };
}

static void forget_soonest(asx__dpor *d)
{
    asx__timed_waiter *heap = d->sleeping.at;
    size_t len = --d->sleeping.len, i = 0;
    asx__timed_waiter last = heap[len];
    for (size_t child = 1; child < len; child = 2 * i + 1) {
        child += child + 1 < len && heap[child + 1].until < heap[child].until;
        if (heap[child].until >= last.until)
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
}

/* It was woken, or cancelled, and may wait for something else by now. */
static bool has_gone(const asx__dpor *d, const asx__timed_waiter *s)
{
    const asx__dpor_task *k = &d->tasks[s->task];
    return !k->pending || (k->op.kind != ASX__OP_SLEEP && k->op.kind != ASX__OP_RELAX) ||
           k->op.a != s->until;
}

uint64_t asx__dpor_soonest(asx__dpor *d)
{
    while (d->sleeping.len != 0 && has_gone(d, &d->sleeping.at[0]))
        forget_soonest(d);
    return d->sleeping.len != 0 ? d->sleeping.at[0].until : UINT64_MAX;
}

void asx__dpor_wake_sleepers(asx__dpor *d)
{
    if (d->sleeping.len == 0)
        return;
    uint64_t now = asx__dpor_state(d, ASX__NAME(ASX__NAME_CLOCK, 0, 0));
    for (; asx__dpor_soonest(d) <= now; forget_soonest(d))
        asx__dpor_asked(d, d->sleeping.at[0].task, true);
}

/* ---- classes -------------------------------------------------------------------------------- */

static bool class_insert(uint64_t *set, size_t cap, uint64_t sum)
{
    size_t slot = (size_t)(sum >> 20) & (cap - 1);
    while (set[slot] != 0) {
        if (set[slot] == sum)
            return false;
        slot = (slot + 1) & (cap - 1);
    }
    set[slot] = sum;
    return true;
}

/* Twice the room or, when that is not wanted, half of the entries. */
static bool class_room(asx__classes *c, size_t most)
{
    bool bounded = c->len >= most;
    size_t cap = c->cap == 0 ? 256 : bounded ? c->cap : c->cap * 2;
    uint64_t *set = calloc(cap, sizeof *set);
    if (set == NULL)
        return false;
    if (bounded)
        c->mask = c->mask << 1 | 1u;
    size_t len = 0;
    for (size_t i = 0; i < c->cap; i++)
        if (c->at[i] != 0 && (c->at[i] & c->mask) == 0)
            len += class_insert(set, cap, c->at[i]);
    free(c->at);
    c->at = set;
    c->cap = cap;
    c->len = len;
    return true;
}

int asx__classes_add(asx__classes *c, uint64_t sum, size_t most)
{
    if ((sum & c->mask) != 0)
        return 0;
    if (c->len * 2 >= c->cap && !class_room(c, most))
        return -1;
    if ((sum & c->mask) != 0)
        return 0;
    bool seen_first = class_insert(c->at, c->cap, sum);
    c->len += seen_first;
    return seen_first ? 1 : 2;
}

void asx__classes_clear(asx__classes *c)
{
    c->len = 0;
    c->mask = 0;
    if (c->cap != 0)
        memset(c->at, 0, c->cap * sizeof *c->at);
}

void asx__dpor_class_note(asx__dpor *d)
{
    uint64_t sum = asx__hash_avalanche(d->class_sum ^ ASX__HASH_START);
    if (sum == 0)
        sum = UINT64_C(1) << 63;
    size_t cap = d->classes.cap;
    int seen = asx__classes_add(&d->classes, sum,
                                d->options.mode == ASX__DPOR_DFS ? SIZE_MAX : ASX__CLASSES_MOST);
    d->stats.memory_bytes += (d->classes.cap - cap) * sizeof *d->classes.at;
    if (seen < 0)
        d->status = ASX_E_RESOURCE_EXHAUSTED;
    d->stats.checked += seen > 0;
    d->stats.classes += seen == 1;
    d->stats.redundant += seen == 2;
}
