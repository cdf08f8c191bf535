/* obligation.c - the registry of promises that must be resolved exactly once.
 *
 * Every permit, ack, lease and plain obligation has a slot here, in every build. The table is a
 * power of two in size; ids count up, and the slot of an id is id & mask. When that slot is taken
 * by an older obligation, the id is skipped; after PROBE_MAX skips in a row the table doubles.
 *
 *     live(id)  <=>  slots[id & mask].id == id
 *     an id <= last_id that is not live was resolved, or skipped and never shown to anybody
 *
 * A leaked obligation keeps its slot after its region is gone (owner NULL) until the slot is
 * needed, so that resolving it late is told apart from resolving it twice.
 *
 * Rejected: a free list of slots with a generation each. The head of the free list is stored and
 * loaded again by every message, and that chain costs more than the message.
 */
#include "sched/obligation.h"

#include <string.h>

#define SLOTS_MIN 64u
#define PROBE_MAX 16u

asx_status asx__registry_init(asx_runtime *rt)
{
    asx__registry *reg = &rt->registry;
    size_t size = SLOTS_MIN * sizeof(asx__obligation);
    reg->slots = asx__mem_alloc(rt, size);
    if (reg->slots == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    memset(reg->slots, 0, size);
    reg->mask = SLOTS_MIN - 1u;
    reg->max = rt->config.limits.obligations_max;
    return ASX_OK;
}

void asx__registry_deinit(asx_runtime *rt)
{
    asx__registry *reg = &rt->registry;
    if (reg->slots != NULL)
        asx__mem_free(rt, reg->slots, (size_t)(reg->mask + 1) * sizeof(asx__obligation));
    reg->slots = NULL;
}

uint64_t asx__obligations_live(const asx_runtime *rt)
{
    const asx__registry *reg = &rt->registry;
    uint64_t live = 0;
    for (uint64_t i = 0; i <= reg->mask; i++)
        live += reg->slots[i].id != 0 && reg->slots[i].state == ASX_OBLIGATION_RESERVED;
    return live;
}

/* Leaked, and its region is gone: remembered as long as nobody needs the slot. */
static bool is_memory(const asx__obligation *o)
{
    return o->owner == NULL && o->state == ASX_OBLIGATION_LEAKED;
}

/* Doubles the table until every live id has a slot of its own. */
static asx_status grow(asx_runtime *rt)
{
    asx__registry *reg = &rt->registry;
    uint64_t old_count = reg->mask + 1;
    for (uint64_t count = old_count * 2; count <= UINT64_C(1) << 32; count *= 2) {
        size_t size = (size_t)count * sizeof(asx__obligation);
        asx__obligation *slots = asx__mem_alloc(rt, size);
        if (slots == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        memset(slots, 0, size);
        bool clash = false;
        for (uint64_t i = 0; i < old_count && !clash; i++) {
            const asx__obligation *from = &reg->slots[i];
            asx__obligation *to = &slots[from->id & (count - 1)];
            if (from->id == 0 || is_memory(from))
                continue;
            clash = to->id != 0;
            *to = *from;
        }
        if (!clash) {
            asx__mem_free(rt, reg->slots, (size_t)old_count * sizeof(asx__obligation));
            reg->slots = slots;
            reg->mask = count - 1;
            return ASX_OK;
        }
        asx__mem_free(rt, slots, size);
    }
    return ASX_E_RESOURCE_EXHAUSTED;
}

/* The slot of the next id that has a free one; last_id is moved to it. NULL: none. */
static asx__obligation *take_slot(asx_runtime *rt)
{
    asx__registry *reg = &rt->registry;
    if (reg->max != 0 && asx__obligations_live(rt) >= reg->max)
        return NULL;
    for (int attempt = 0; attempt < 2; attempt++) {
        uint64_t tries = attempt == 0 ? PROBE_MAX : reg->mask + 1;
        for (uint64_t k = 1; k <= tries; k++) {
            asx__obligation *o = asx__obligation_slot(rt, reg->last_id + k);
            if (o->id == 0 || is_memory(o)) {
                reg->last_id += k;
                reg->skipped += k - 1;
                o->id = reg->last_id;
                return o;
            }
        }
        if (attempt == 0)
            (void)grow(rt); /* if it cannot, look at every slot before giving up */
    }
    return NULL;
}

static asx__obligation *fill(asx_runtime *rt, asx__obligation *o, void *owner, void *object,
                             asx_obligation_kind kind, const char *site, uint64_t *chain)
{
    uint64_t older = *chain;
    o->owner = owner;
    o->object = object;
    o->site = site;
    o->older = older;
    o->newer = 0;
    o->kind = (uint8_t)kind;
    o->state = ASX_OBLIGATION_RESERVED;
    o->detail = 0;
    if (older != 0)
        asx__obligation_slot(rt, older)->newer = o->id;
    *chain = o->id;
    if (rt->tracing) {
        o->serial = ++rt->registry.total;
        asx__obligation_trace(rt, ASX_EVENT_OBLIGATION_RESERVE, o);
    }
    return o;
}

asx__obligation *asx__obligation_new_slow(asx_runtime *rt, asx__task *task, void *object,
                                          asx_obligation_kind kind, const char *site)
{
    asx__extra *extra = asx__task_extra(rt, task);
    if (extra == NULL)
        return NULL;
    asx__obligation *o = take_slot(rt);
    return o == NULL ? NULL : fill(rt, o, task, object, kind, site, &extra->obligations);
}

static bool owned_by_region(const asx__obligation *o)
{
    return o->kind == ASX_OBLIGATION_KIND_PLAIN || o->kind == ASX_OBLIGATION_KIND_LEASE;
}

void asx__obligation_trace(asx_runtime *rt, uint32_t event, asx__obligation *o)
{
    uint64_t owner = owned_by_region(o) ? ((asx__region *)o->owner)->generation
                                        : ((asx__task *)o->owner)->generation;
    asx__journal(rt, event, o->serial, o->kind, asx__serial(owner), 0);
}

asx_status asx__obligation_missing(const asx_runtime *rt, uint64_t id)
{
    return id != 0 && id <= rt->registry.last_id ? ASX_E_OBLIGATION_ALREADY_RESOLVED
                                                 : ASX_E_STALE_HANDLE;
}

void asx__obligations_end_task(asx_runtime *rt, asx__task *task)
{
    asx__extra *extra = task->extra;
    while (extra->obligations != 0) {
        uint64_t id = extra->obligations;
        asx__obligation *o = asx__obligation_slot(rt, id);
        ASX__ASSERT(o->id == id);
        task->region->n_aborted++;
        rt->registry.release[o->kind](rt, o);
        ASX__ASSERT(extra->obligations != id);
    }
}

/* ---- plain obligations ---------------------------------------------------------------------- */

/* Takes a region's obligation out of its chain; its slot becomes free. */
static void drop_from_region(asx_runtime *rt, asx__obligation *o)
{
    asx__region *region = o->owner;
    if (o->newer != 0)
        asx__obligation_slot(rt, o->newer)->older = o->older;
    else
        region->obligations = o->older;
    if (o->older != 0)
        asx__obligation_slot(rt, o->older)->newer = o->newer;
    o->id = 0;
}

void asx__obligations_leak_region(asx_runtime *rt, asx__region *region)
{
    for (uint64_t id = region->obligations; id != 0;) {
        asx__obligation *o = asx__obligation_slot(rt, id);
        id = o->older;
        if (o->state != ASX_OBLIGATION_RESERVED)
            continue;
        asx_status st = asx__obligation_step(&o->state, ASX_OBLIGATION_LEAKED);
        ASX__ASSERT(st == ASX_OK);
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
    for (uint64_t id = region->obligations; id != 0;) {
        asx__obligation *o = asx__obligation_slot(rt, id);
        ASX__ASSERT(o->state == ASX_OBLIGATION_LEAKED);
        id = o->older;
        o->owner = NULL;
        o->older = o->newer = 0;
    }
    region->obligations = 0;
}

asx_status asx_obligation_reserve_at(const asx_region *region, asx_obligation_kind kind,
                                     asx_obligation *ret_obligation, const char *site)
{
    asx__region *r;
    if (ret_obligation == NULL ||
        (kind != ASX_OBLIGATION_KIND_PLAIN && kind != ASX_OBLIGATION_KIND_LEASE))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__region_resolve(region, ASX_STATE_MASK_ALL, &r);
    if (st < 0)
        return st;
    asx_runtime *rt = r->rt;
    st = asx__region_gate((asx_region_state)r->state, ASX__GATE_RESERVE_OBLIGATION, false);
    if (st < 0)
        return st;
    if (r->obligations_max != 0 && r->live_obligations >= r->obligations_max)
        return ASX_E_ADMISSION_CLOSED;
    asx__obligation *o = take_slot(rt);
    if (o == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    fill(rt, o, r, NULL, kind, site, &r->obligations);
    r->live_obligations++;
    ret_obligation->rt_ = rt;
    ret_obligation->id = asx_handle_make(ASX_TAG_OBLIGATION, ASX_STATE_MASK_ALL,
                                         (uint32_t)(o->id & 0xffffffffu),
                                         ((uint64_t)rt->number << 48) | o->id);
    return ASX_OK;
}

/* The live slot behind a public handle. */
static asx_status resolve_handle(const asx_obligation *obligation, asx__obligation **ret_o)
{
    if (obligation == NULL || obligation->rt_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx_runtime *rt = obligation->rt_;
    asx_handle h = obligation->id;
    if (asx_handle_tag(h) != ASX_TAG_OBLIGATION)
        return ASX_E_INVALID_ARGUMENT;
    uint64_t id = h.generation & ASX__GENERATION_COUNT_MASK;
    if (h.generation >> 48 != rt->number || asx_handle_index(h) != (uint32_t)(id & 0xffffffffu))
        return ASX_E_STALE_HANDLE;
    asx__obligation *o = asx__obligation_find(rt, id);
    if (o == NULL)
        return asx__obligation_missing(rt, id);
    if (!owned_by_region(o))
        return ASX_E_INVALID_ARGUMENT;
    *ret_o = o;
    return ASX_OK;
}

static asx_status settle(const asx_obligation *obligation, asx_obligation_state to)
{
    asx__obligation *o;
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
    region->live_obligations--;
    drop_from_region(rt, o);
    asx__region_progress(rt, region);
    return ASX_OK;
}

asx_status asx_obligation_commit(const asx_obligation *obligation)
{
    return settle(obligation, ASX_OBLIGATION_COMMITTED);
}

asx_status asx_obligation_abort(const asx_obligation *obligation)
{
    return settle(obligation, ASX_OBLIGATION_ABORTED);
}

asx_status asx_obligation_get_state(const asx_obligation *obligation,
                                    asx_obligation_state *ret_state)
{
    asx__obligation *o;
    if (ret_state == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = resolve_handle(obligation, &o);
    if (st < 0)
        return st;
    *ret_state = (asx_obligation_state)o->state;
    return ASX_OK;
}

asx_status asx_obligation_probe(const asx_obligation *obligation, asx_obligation_state to)
{
    asx__obligation *o;
    asx_status st = resolve_handle(obligation, &o);
    return st < 0 ? st : asx_obligation_transition_legal((asx_obligation_state)o->state, to);
}
