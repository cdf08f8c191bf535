/* obligation.c - the registry of promises that must be resolved exactly once.
 *
 * Every permit, ack, lease and plain obligation has a record, in every build. A task that sends
 * message after message holds one plain permit at a time, and that one has its record in the
 * task's own extra part ("own"): reserving it writes the id and the object there, resolving it
 * clears the object. All other records come from a slab and are chained at their owner.
 *
 *     live       <=>  object != NULL
 *     a name fits <=> its record is live and has its id
 *     an id <= last_id that is not live was resolved
 *
 * The own record is not used while a journal or a ceiling on obligations is on, which want to see
 * each of them here.
 *
 * A leaked obligation keeps its record after its region is gone (`memories`), so that resolving it
 * late is told apart from resolving it twice. The oldest are forgotten when there are more than
 * MEMORIES_MAX of them, or when there is no other record.
 *
 * Rejected: one table for all, slot = id & mask. It needs no free list, but each message then
 * writes a record's eight words and computes its place twice, which costs as much as the message.
 */
#include "sched/obligation.h"

#include "sched/engine.h"
#include "sched/region_seam.h"

#include <string.h>

#define RECORDS_PER_CHUNK_LOG2 5
#define MEMORIES_MAX 64u
#define IN_EXTRAS (UINT64_C(1) << 32) /* cursor: past the records of the registry */

void asx__registry_init(asx_runtime *rt)
{
    asx__slab_init(&rt->registry.records, sizeof(asx__obligation), RECORDS_PER_CHUNK_LOG2);
    rt->registry.max = rt->config.limits.obligations_max;
}

void asx__registry_deinit(asx_runtime *rt)
{
    asx__slab_deinit(rt, &rt->registry.records);
}

asx__obligation *asx__obligation_next(const asx_runtime *rt, uint64_t *cursor)
{
    while (*cursor < rt->registry.records.carved) {
        asx__obligation *o = asx__slab_at(&rt->registry.records, (uint32_t)(*cursor)++);
        if (asx__obligation_object(o) != NULL)
            return o;
    }
    if (*cursor < IN_EXTRAS)
        *cursor = IN_EXTRAS;
    while (*cursor - IN_EXTRAS < rt->extras.carved) {
        asx__extra *extra = asx__slab_at(&rt->extras, (uint32_t)((*cursor)++ - IN_EXTRAS));
        if (asx__obligation_object(&extra->permit) != NULL)
            return &extra->permit;
    }
    return NULL;
}

uint64_t asx__obligations_live(const asx_runtime *rt)
{
    uint64_t live = 0;
    uint64_t cursor = 0;
    for (const asx__obligation *o; (o = asx__obligation_next(rt, &cursor)) != NULL;)
        live += o->state == ASX_OBLIGATION_RESERVED;
    return live;
}

/* ---- records -------------------------------------------------------------------------------- */

/* The oldest leak whose region is gone is no longer remembered. NULL: there is none. */
static asx__obligation *forget_oldest(asx__registry *reg)
{
    asx__obligation *o = reg->memories_oldest;
    if (o == NULL)
        return NULL;
    reg->memories_oldest = o->newer;
    if (o->newer != NULL)
        o->newer->older = NULL;
    else
        reg->memories = NULL;
    reg->memory_count--;
    return o;
}

static asx__obligation *take_record(asx_runtime *rt)
{
    asx__registry *reg = &rt->registry;
    if (reg->max != 0 && reg->live >= reg->max)
        return NULL;
    uint32_t index;
    asx__obligation *o = asx__slab_alloc(rt, &reg->records, &index);
    if (o != NULL) {
        o->index = index;
    } else {
        o = forget_oldest(reg);
        if (o == NULL)
            return NULL;
    }
    reg->live++;
    asx__store_relaxed(&o->id, ++reg->last_id);
    return o;
}

static void free_record(asx_runtime *rt, asx__obligation *o)
{
    asx__store_relaxed(&o->object, NULL);
    asx__slab_release(&rt->registry.records, o, o->index);
}

static void remember(asx_runtime *rt, asx__obligation *o)
{
    asx__registry *reg = &rt->registry;
    o->owner = NULL;
    asx__store_relaxed(&o->object, NULL);
    o->newer = NULL;
    o->older = reg->memories;
    if (reg->memories != NULL)
        reg->memories->newer = o;
    else
        reg->memories_oldest = o;
    reg->memories = o;
    if (++reg->memory_count <= MEMORIES_MAX)
        return;
    o = forget_oldest(reg);
    ASX__ASSERT(o != NULL);
    free_record(rt, o);
}

static void unchain(asx__obligation *o, asx__obligation **newest)
{
    if (o->newer != NULL)
        o->newer->older = o->older;
    else
        *newest = o->older;
    if (o->older != NULL)
        o->older->newer = o->newer;
}

static asx__obligation *fill(asx_runtime *rt, asx__obligation *o, void *owner, void *object,
                             asx_obligation_kind kind, const char *site,
                             asx__obligation **newest)
{
    o->owner = owner;
    asx__store_relaxed(&o->object, object);
    o->site = site;
    o->older = *newest;
    o->newer = NULL;
    o->kind = (uint8_t)kind;
    o->state = ASX_OBLIGATION_RESERVED;
    o->detail = 0;
    if (o->older != NULL)
        o->older->newer = o;
    *newest = o;
    if (rt->tracing)
        asx__obligation_trace(rt, ASX_EVENT_OBLIGATION_RESERVE, o);
    return o;
}

asx__obligation *asx__obligation_own(asx_runtime *rt, asx__task *task, void *object)
{
    asx__extra *extra = asx__task_extra(rt, task);
    if (extra == NULL || asx__obligation_object(&extra->permit) != NULL || rt->tracing ||
        rt->registry.max != 0)
        return NULL;
    asx__store_relaxed(&extra->permit.id, ++rt->registry.last_id);
    asx__store_relaxed(&extra->permit.object, object);
    return &extra->permit;
}

asx__obligation *asx__obligation_new(asx_runtime *rt, asx__task *task, void *object,
                                     asx_obligation_kind kind, const char *site)
{
    asx__extra *extra = asx__task_extra(rt, task);
    if (extra == NULL)
        return NULL;
    asx__obligation *o = take_record(rt);
    return o == NULL ? NULL : fill(rt, o, task, object, kind, site, &extra->obligations);
}

void asx__obligation_resolve(asx_runtime *rt, asx__obligation *o, asx_obligation_state to)
{
    if (o->index == ASX__OBLIGATION_OWN) {
        asx__store_relaxed(&o->object, NULL);
        return;
    }
    if (rt->tracing)
        asx__obligation_trace(rt,
                              to == ASX_OBLIGATION_COMMITTED ? ASX_EVENT_OBLIGATION_COMMIT
                                                             : ASX_EVENT_OBLIGATION_ABORT,
                              o);
    unchain(o, &((asx__task *)o->owner)->extra->obligations);
    rt->registry.live--;
    free_record(rt, o);
}

static bool owned_by_region(const asx__obligation *o)
{
    return o->kind == ASX_OBLIGATION_KIND_PLAIN || o->kind == ASX_OBLIGATION_KIND_LEASE;
}

void asx__obligation_trace(asx_runtime *rt, uint32_t event, asx__obligation *o)
{
    uint64_t owner = owned_by_region(o) ? ((asx__region *)o->owner)->generation
                                        : ((asx__task *)o->owner)->generation;
    asx__journal(rt, event, asx__obligation_id(o), o->kind, asx__serial(owner), 0);
}

asx_status asx__obligation_missing(const asx_runtime *rt, uint64_t id)
{
    return id != 0 && id <= rt->registry.last_id ? ASX_E_OBLIGATION_ALREADY_RESOLVED
                                                 : ASX_E_STALE_HANDLE;
}

/* The newest that the task holds; NULL: none. */
static asx__obligation *newest_of(asx__extra *extra)
{
    asx__obligation *o = extra->obligations;
    if (asx__obligation_object(&extra->permit) != NULL &&
        (o == NULL || asx__obligation_id(o) < asx__obligation_id(&extra->permit)))
        o = &extra->permit;
    return o;
}

void asx__obligations_end_task(asx_runtime *rt, asx__task *task)
{
    for (asx__obligation *o; (o = newest_of(task->extra)) != NULL;) {
        uint64_t id = asx__obligation_id(o);
        task->region->n_aborted++;
        rt->registry.release[o->kind](rt, o);
        ASX__ASSERT(asx__obligation_object(o) == NULL || asx__obligation_id(o) != id);
    }
}

/* ---- plain obligations ---------------------------------------------------------------------- */

void asx__obligations_leak_region(asx_runtime *rt, asx__region *region)
{
    for (asx__obligation *o = region->obligations; o != NULL; o = o->older) {
        if (o->state != ASX_OBLIGATION_RESERVED)
            continue;
        asx_status st = asx__obligation_step(&o->state, ASX_OBLIGATION_LEAKED);
        ASX__ASSERT(st == ASX_OK);
        rt->registry.live--;
        region->live_obligations--;
        region->n_leaked++;
        rt->registry.leaked++;
        if (rt->tracing)
            asx__obligation_trace(rt, ASX_EVENT_OBLIGATION_LEAK, o);
        if (region->report != NULL)
            asx__report_obligation(rt, region->report, o, region);
    }
}

/* The region's record goes away: its leaked obligations belong to nobody. */
void asx__obligations_forget_region(asx_runtime *rt, asx__region *region)
{
    while (region->obligations != NULL) {
        asx__obligation *o = region->obligations;
        ASX__ASSERT(o->state == ASX_OBLIGATION_LEAKED);
        region->obligations = o->older;
        remember(rt, o);
    }
}

asx_status asx_obligation_reserve_at(const asx_region *region, asx_obligation_kind kind,
                                     asx_obligation *ret_obligation, const char *site)
{
    ASX__EMPTY(ret_obligation);
    asx__region *r;
    if (ret_obligation == NULL ||
        (kind != ASX_OBLIGATION_KIND_PLAIN && kind != ASX_OBLIGATION_KIND_LEASE))
        return ASX_E_INVALID_ARGUMENT;
    asx__reserve_explored(region);
    asx_status st = asx__region_resolve(region, ASX_STATE_MASK_ALL, &r);
    if (st < 0) {
        ASX__GATE_REGION(region, asx_obligation_reserve_at(&in, kind, ret_obligation, site));
        return st;
    }
    asx_runtime *rt = r->rt;
    if (!asx__caller_may(rt, ASX_CAP_OBLIGATION))
        return ASX_E_CAPABILITY;
    st = asx__region_gate((asx_region_state)r->state, ASX__GATE_RESERVE_OBLIGATION, false);
    if (st < 0)
        return st;
    if (r->obligations_max != 0 && r->live_obligations >= r->obligations_max)
        return ASX_E_ADMISSION_CLOSED;
    asx__obligation *o = take_record(rt);
    if (o == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    fill(rt, o, r, r, kind, site, &r->obligations);
    r->live_obligations++;
    asx__creates(rt, .event = ASX_EVENT_OBLIGATION_RESERVE, .generation = asx__obligation_id(o),
                 .region = asx__serial(r->generation));
    ret_obligation->rt_ = asx__handle_runtime(rt);
    ret_obligation->id = asx_handle_make(ASX_TAG_OBLIGATION, ASX_STATE_MASK_ALL, o->index,
                                         ((uint64_t)rt->number << 48) | asx__obligation_id(o));
    return ASX_OK;
}

/* The record behind a public handle, live or leaked. */
static asx_status resolve_handle(const asx_obligation *obligation, asx__obligation **ret_o)
{
    if (obligation == NULL || obligation->rt_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx_runtime *rt = obligation->rt_;
    asx_handle h = obligation->id;
    if (asx_handle_tag(h) != ASX_TAG_OBLIGATION)
        return ASX_E_INVALID_ARGUMENT;
    uint64_t id = h.generation & ASX__GENERATION_COUNT_MASK;
    if (h.generation >> 48 != rt->number || asx_handle_index(h) >= rt->registry.records.carved)
        return ASX_E_STALE_HANDLE;
    asx__obligation *o = asx__slab_at(&rt->registry.records, asx_handle_index(h));
    if (asx__obligation_id(o) != id ||
        (asx__obligation_object(o) == NULL && o->state != ASX_OBLIGATION_LEAKED))
        return asx__obligation_missing(rt, id);
    if (!owned_by_region(o))
        return ASX_E_INVALID_ARGUMENT;
    *ret_o = o;
    return ASX_OK;
}

#define GATE(obligation, call)                                                                     \
    do {                                                                                           \
        if ((obligation) != NULL && asx__is_gate((obligation)->rt_)) {                             \
            asx_obligation in = { (obligation)->rt_->behind, (obligation)->id };                   \
            ASX__THROUGH(asx_status, in.rt_, call);                                                \
        }                                                                                          \
    } while (0)

/* Explored: others may settle it too, wait for its place, or close its region, where it leaks. */
static void settle_explored(const asx_obligation *obligation)
{
    const asx_runtime *rt = obligation != NULL ? obligation->rt_ : NULL;
    if (ASX__LIKELY(rt == NULL || rt->seam == NULL))
        return;
    (void)asx__announce(rt, rt->current, ASX__OP_SETTLE,
                        obligation->id.generation & ASX__GENERATION_COUNT_MASK);
}

static asx_status settle(const asx_obligation *obligation, asx_obligation_state to)
{
    asx__obligation *o;
    GATE(obligation, settle(&in, to));
    settle_explored(obligation);
    asx_status st = resolve_handle(obligation, &o);
    if (st < 0)
        return st;
    st = asx__obligation_step(&o->state, to);
    if (st < 0)
        return st;
    if ((asx_handle_mask(obligation->id) & ASX_STATE_BIT(ASX_OBLIGATION_RESERVED)) == 0) {
        o->state = ASX_OBLIGATION_RESERVED;
        return ASX_E_CAPABILITY;
    }
    asx_runtime *rt = obligation->rt_;
    asx__region *region = o->owner;
    if (rt->tracing)
        asx__obligation_trace(rt,
                              to == ASX_OBLIGATION_COMMITTED ? ASX_EVENT_OBLIGATION_COMMIT
                                                             : ASX_EVENT_OBLIGATION_ABORT,
                              o);
    rt->registry.live--;
    region->live_obligations--;
    unchain(o, &region->obligations);
    free_record(rt, o);
    asx__region_progress(rt, region);
    return ASX_OK;
}

asx_status asx_obligation_commit(asx_obligation *obligation)
{
    return settle(obligation, ASX_OBLIGATION_COMMITTED);
}

asx_status asx_obligation_abort(asx_obligation *obligation)
{
    return settle(obligation, ASX_OBLIGATION_ABORTED);
}

asx_status asx_obligation_get_state(const asx_obligation *obligation,
                                    asx_obligation_state *ret_state)
{
    ASX__EMPTY(ret_state);
    asx__obligation *o;
    if (ret_state == NULL)
        return ASX_E_INVALID_ARGUMENT;
    GATE(obligation, asx_obligation_get_state(&in, ret_state));
    asx_status st = resolve_handle(obligation, &o);
    if (st < 0)
        return st;
    *ret_state = (asx_obligation_state)o->state;
    return ASX_OK;
}

asx_status asx_obligation_probe(const asx_obligation *obligation, asx_obligation_state to)
{
    asx__obligation *o;
    GATE(obligation, asx_obligation_probe(&in, to));
    asx_status st = resolve_handle(obligation, &o);
    return st < 0 ? st : asx_obligation_transition_legal((asx_obligation_state)o->state, to);
}
