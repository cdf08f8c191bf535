/* object.c - the life of a synchronization object, and its guards in the registry. */
#include "sync/object.h"
#include "sched/region_seam.h"

#define SYNCS_PER_CHUNK_LOG2 4
#define ALIGN ((size_t)16)

/* ---- creation ------------------------------------------------------------------------------- */

static void release_guard(asx_runtime *rt, asx__obligation *guard)
{
    asx__sync *s = asx__obligation_object(guard);
    (void)rt;
    s->type->release(s, guard);
}

/* The runtime below knows nothing of these objects: the first one brings what all of them need. */
static void init_runtime(asx_runtime *rt)
{
    asx__slab_init(&rt->syncs, ASX__SYNC_RECORD_SIZE, SYNCS_PER_CHUNK_LOG2);
    rt->registry.release[ASX_OBLIGATION_KIND_GUARD] = release_guard;
    rt->registry.release[ASX_OBLIGATION_KIND_SEMAPHORE_PERMIT] = release_guard;
    rt->registry.release[ASX_OBLIGATION_KIND_ONESHOT_SENDER] = release_guard;
}

static void finalize(asx_runtime *rt, asx__resident *resident);
static void retire(asx_runtime *rt, asx__resident *resident);
static uint64_t undelivered(const asx__resident *resident);

static const asx__resident_ops resident_ops = { finalize, retire, undelivered };

static void init_object(asx__sync *s, asx__region *region, const asx__sync_type *type,
                        const char *name)
{
    asx_runtime *rt = region->rt;
    s->rt = rt;
    s->type = type;
    s->region = region;
    s->name = name != NULL ? name : "";
    s->generation = asx__endpoint_generation(rt);
    s->first_obligation = rt->registry.last_id;
    asx__list_init(&s->waiters);
    uint64_t serial = ++rt->sync_serials[type->kind];
    for (unsigned i = 0; i < ASX__SYNC_WAITS; i++) {
        s->waits[i].waitable.ops = &type->waits[i];
        s->waits[i].waitable.serial = serial;
        s->waits[i].object = s;
    }
    if (!type->has_house) {
        s->resident.ops = &resident_ops;
        asx__region_host(region, &s->resident);
    }
    rt->live_channels += type->is_channel;
}

/* Everything that can fail, before anything is changed. */
static asx_status make(asx__region *region, const asx__sync_type *type, const char *name,
                       size_t bytes, asx__sync **ret_s, void **ret_memory)
{
    asx_runtime *rt = region->rt;
    uint64_t most = rt->config.limits.channels_max;
    if ((type->is_channel && most != 0 && rt->live_channels >= most) || bytes > SIZE_MAX / 2)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (rt->syncs.record_size == 0)
        init_runtime(rt);
    if (asx__slab_reserve(rt, &rt->syncs, 1) < 0)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (bytes != 0) {
        void *memory = asx__region_memory(region, bytes);
        if (memory == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        *ret_memory = memory;
    }
    uint32_t index;
    asx__sync *s = asx__slab_alloc(rt, &rt->syncs, &index);
    ASX__ASSERT(s != NULL);
    size_t from = offsetof(asx__sync, generation);
    memset((char *)s + from, 0, ASX__SYNC_RECORD_SIZE - from);
    s->resident.next = NULL;
    if (s->home == NULL)
        s->home = rt;
    s->index = index;
    init_object(s, region, type, name);
    *ret_s = s;
    return ASX_OK;
}

asx_status asx__sync_create(const asx_region *region, const asx__sync_type *type, const char *name,
                            size_t bytes, bool arguments_ok, asx__sync **ret_s, void **ret_memory)
{
    asx__region *r;
    bool no_memory = asx__made_explored(region, true);
    asx_status st = asx__region_resolve(region, ASX_STATE_MASK_ALL, &r);
    if (st < 0)
        return st;
    if (!asx__caller_may(r->rt, ASX_CAP_CHANNEL))
        return ASX_E_CAPABILITY;
    st = asx__region_gate((asx_region_state)r->state, ASX__GATE_CREATE_CHANNEL, false);
    if (st < 0)
        return st;
    if (r->setup < 0)
        return r->setup;
    if (no_memory)
        return asx__region_sticky(r, ASX_E_RESOURCE_EXHAUSTED);
    st = arguments_ok ? make(r, type, name, bytes, ret_s, ret_memory) : ASX_E_INVALID_ARGUMENT;
    return st < 0 ? asx__region_sticky(r, st) : ASX_OK;
}

void asx__sync_created(asx__sync *s, uint64_t a)
{
    if (s->rt->tracing)
        s->seq = asx__sync_journal(s, s->rt->current, s->type->created, a,
                                   asx__serial(s->region->generation), 0);
}

uint64_t asx__sync_journal(asx__sync *s, const asx__task *task, uint32_t kind, uint64_t a,
                           uint64_t b, uint64_t cause)
{
    return asx__journal_as(s->rt, task, kind, s->waits[0].waitable.serial, a, b, cause);
}

/* ---- the end of the region ------------------------------------------------------------------ */

void asx__sync_wake_all(asx__sync *s, asx_status status)
{
    while (s->waiting != 0) {
        asx__task *task = asx__sync_first(s);
        asx__sync_unlink(s, task);
        asx__wake(s->rt, task, status, false);
    }
}

static void end_guards(asx__sync *s)
{
    uint64_t cursor = 0;
    while (s->guards != 0) {
        asx__obligation *o = asx__obligation_next(s->rt, &cursor);
        ASX__ASSERT(o != NULL);
        if (asx__obligation_object(o) != s)
            continue;
        s->region->n_aborted++;
        if (s->type->orphan != NULL)
            s->type->orphan(s, o);
        o->state = ASX_OBLIGATION_ABORTED;
        if (s->region->report != NULL)
            asx__report_obligation(s->rt, s->region->report, o, s->region);
        asx__guard_resolve(s, o, ASX_OBLIGATION_ABORTED);
    }
}

void asx__sync_finalize(asx__sync *s)
{
    if (s->finalized)
        return;
    s->finalized = true;
    s->generation = ASX__NO_GENERATION;
    s->first_obligation = UINT64_MAX;
    s->type->end(s);
    ASX__ASSERT(s->waiting == 0);
    end_guards(s);
}

void asx__sync_retire(asx__sync *s)
{
    asx__sync_finalize(s);
    s->region = NULL;
    s->retired = true;
    s->rt->live_channels -= s->type->is_channel;
    if (s->grants == 0)
        asx__slab_release(&s->rt->syncs, s, s->index);
}

static void finalize(asx_runtime *rt, asx__resident *resident)
{
    (void)rt;
    asx__sync_finalize((asx__sync *)(void *)resident);
}

static void retire(asx_runtime *rt, asx__resident *resident)
{
    (void)rt;
    asx__sync_retire((asx__sync *)(void *)resident);
}

void asx__sync_discard(asx__sync *s, void (*drop)(void *ctx, void *message), void *ctx,
                       void *message)
{
    asx_runtime *rt = s->rt;
    s->region->n_discarded++;
    if (drop == NULL)
        return;
    bool before = rt->in_cleanup;
    rt->in_cleanup = true;
    drop(ctx, message);
    rt->in_cleanup = before;
}

bool asx__sync_ungrant(asx__sync *s)
{
    s->grants--;
    if (!s->finalized)
        return true;
    if (s->retired && s->grants == 0)
        asx__slab_release(&s->rt->syncs, s, s->index);
    return false;
}

static uint64_t undelivered(const asx__resident *resident)
{
    const asx__sync *s = (const asx__sync *)(const void *)resident;
    return s->type->undelivered != NULL ? s->type->undelivered(s) : 0;
}

/* ---- guards --------------------------------------------------------------------------------- */

asx__obligation *asx__guard_new(asx__sync *s, asx__task *task, asx_obligation_kind kind,
                                const char *site, enum asx__guard_note note)
{
    asx_runtime *rt = s->rt;
    asx__task *running = rt->current;
    rt->current = task; /* the journal names the task that reserved */
    asx__obligation *o = asx__obligation_new(rt, task, s, kind, site);
    rt->current = running;
    if (o == NULL)
        return NULL;
    o->note = (uint16_t)note;
    s->guards++;
    return o;
}

void asx__guard_resolve(asx__sync *s, asx__obligation *guard, asx_obligation_state to)
{
    s->guards--;
    asx__obligation_resolve(s->rt, guard, to);
}

asx_status asx__guard_find(const asx__sync *s, uint64_t id, const asx__obligation *record,
                           asx_status gone)
{
    if (s == NULL || id == 0 || record == NULL)
        return ASX_E_INVALID_ARGUMENT;
    if (ASX__LIKELY(asx__obligation_id(record) == id && asx__obligation_object(record) == s))
        return ASX_OK;
    if (asx__obligation_id(record) == id && asx__obligation_object(record) != NULL)
        return ASX_E_INVALID_ARGUMENT; /* something else than a guard of this object */
    return id <= s->first_obligation ? gone : asx__obligation_missing(s->rt, id);
}

bool asx__guard_held_by(const asx__sync *s, const asx__task *task)
{
    if (task->extra == NULL)
        return false;
    for (const asx__obligation *o = task->extra->obligations; o != NULL; o = o->older)
        if (asx__obligation_object(o) == s)
            return true;
    return false;
}

/* What the report of a region says of a guard that one of its tasks left behind. It lives in the
 * region's memory, and is a resident to be told when the report is written. */
typedef struct left_note {
    asx__resident resident;
    asx__region *region;
    asx__obligation guard; /* a copy */
} left_note;

static void report_left(asx_runtime *rt, asx__resident *resident)
{
    left_note *note = (left_note *)(void *)resident;
    if (note->region->report != NULL)
        asx__report_obligation(rt, note->region->report, &note->guard, note->region);
}

static void forget_left(asx_runtime *rt, asx__resident *resident)
{
    (void)rt;
    (void)resident;
}

static uint64_t nothing_left(const asx__resident *resident)
{
    (void)resident;
    return 0;
}

static const asx__resident_ops left_ops = { report_left, forget_left, nothing_left };

void asx__guard_note_left(asx__obligation *guard)
{
    asx__region *region = ((asx__task *)guard->owner)->region;
    left_note *note = asx__region_memory(region, sizeof *note);
    if (note == NULL)
        return; /* permits_aborted still counts it */
    note->resident.ops = &left_ops;
    note->region = region;
    note->guard = *guard;
    note->guard.state = ASX_OBLIGATION_ABORTED;
    asx__region_host(region, &note->resident);
}
