/* tidy.c - gives memory back that a burst of tasks has left behind.
 *
 * What a burst leaves: stacks on the free list of their pool, and free records of tasks. Both are
 * taken again last in first out, so what is not needed sinks to the end. While the runtime has
 * nothing to do, steps are made every STEP_NS:
 *   1. stacks that lay behind the first KEEP_STACKS of the free list at two steps in a row are set
 *      aside, and give their pages back PIECE at a time, with a look at the outside in between;
 *   2. then pages of the task slab in which every record is free, if there were many at two steps.
 * A page of records that was given back reads as zeros, which is what a free record looks like to a
 * handle that is too old. Its records are on no list until somebody needs them: thaw.
 *
 * A runtime without rest for STEP_NS has use for what it has. One that rests and is tidy sleeps.
 *
 * Not given back: extra parts of tasks, records of regions and channels, and timers, whose store
 * says why. They are small, or come from the allocator, which may do as it likes.
 */
#include "sched/sched.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP_NS (150 * ASX_MS)
#define KEEP_STACKS 16u
#define SLACK 64u
#define PIECE 512u
#define RECORDS_MIN 1024u /* so few may lie about */

/* ---- records -------------------------------------------------------------------------------- */

static size_t chunk_bytes(const asx_runtime *rt)
{
    return (size_t)rt->tasks.record_size << rt->tasks.shift;
}

static uint32_t records_per_page(const asx_runtime *rt)
{
    return (uint32_t)sysconf(_SC_PAGESIZE) / rt->tasks.record_size;
}

static uint64_t free_records(const asx_runtime *rt)
{
    uint64_t cold = (uint64_t)rt->tidy.cold_pages * records_per_page(rt);
    return rt->tasks.carved - cold - asx__live_tasks(rt); /* and those that can be joined */
}

/* Room for a count of every page. False: no memory for it. */
static bool make_room(asx_runtime *rt, uint32_t pages)
{
    asx__tidy *tidy = &rt->tidy;
    if (pages <= tidy->page_count)
        return true;
    uint16_t *grown = asx__mem_alloc(rt, pages * sizeof *grown);
    if (grown == NULL)
        return false;
    memset(grown, 0, pages * sizeof *grown);
    if (tidy->page_count != 0)
        memcpy(grown, tidy->pages, tidy->page_count * sizeof *grown);
    asx__mem_free(rt, tidy->pages, tidy->page_count * sizeof *grown);
    tidy->pages = grown;
    tidy->page_count = pages;
    return true;
}

static void count_free(asx_runtime *rt, uint32_t each)
{
    uint16_t *pages = rt->tidy.pages;
    for (uint32_t i = 0; i < rt->tidy.page_count; i++)
        if (pages[i] != ASX__PAGE_COLD)
            pages[i] = 0;
    for (const asx__task *t = rt->tasks_free; t != NULL; t = (asx__task *)(void *)t->node.next)
        pages[t->index / each]++;
}

/* Takes the records of pages that are free from end to end off the list. */
static void unlink_free(asx_runtime *rt, uint32_t each)
{
    asx__task **at = &rt->tasks_free;
    while (*at != NULL) {
        asx__task *task = *at;
        asx__task **next = (asx__task **)(void *)&task->node.next;
        if (rt->tidy.pages[task->index / each] == each)
            *at = *next;
        else
            at = next;
    }
}

static void give_pages_back(asx_runtime *rt, uint32_t each)
{
    uint16_t *pages = rt->tidy.pages;
    uint32_t per_chunk = (1u << rt->tasks.shift) / each;
    size_t size = (size_t)each * rt->tasks.record_size;
    for (uint32_t i = 0; i < rt->tidy.page_count; i++) {
        uint32_t first = i;
        while (i < rt->tidy.page_count && pages[i] == each && i / per_chunk == first / per_chunk)
            pages[i++] = ASX__PAGE_COLD;
        if (i == first)
            continue;
        rt->tidy.cold_pages += i - first;
        /* Else one record would bring all of its neighbours back in a huge page. */
        (void)madvise(rt->tasks.chunks[first / per_chunk], chunk_bytes(rt), MADV_NOHUGEPAGE);
        /* Refused, it costs memory and nothing else: the records are as free as before. */
        (void)madvise(asx__slab_at(&rt->tasks, first * each), (i - first) * size, MADV_DONTNEED);
        i--;
    }
}

/* Behind the last record that was ever in use: touched only if a huge page was. */
static void give_rest_back(asx_runtime *rt, uint32_t each)
{
    uint32_t from = (rt->tasks.carved + each - 1) / each * each;
    if (from >= rt->tasks.limit)
        return;
    uint32_t chunk_end = ((from >> rt->tasks.shift) + 1) << rt->tasks.shift;
    (void)madvise(rt->tasks.chunks[from >> rt->tasks.shift], chunk_bytes(rt), MADV_NOHUGEPAGE);
    (void)madvise(asx__slab_at(&rt->tasks, from),
                  (size_t)(chunk_end - from) * rt->tasks.record_size, MADV_DONTNEED);
}

static bool has_records(const asx_runtime *rt)
{
    return asx__mem_is_mapped(rt, chunk_bytes(rt)) &&
           rt->tasks.record_size * records_per_page(rt) == (uint32_t)sysconf(_SC_PAGESIZE) &&
           free_records(rt) >= rt->tidy.records_left + RECORDS_MIN;
}

static void tidy_records(asx_runtime *rt)
{
    uint32_t each = records_per_page(rt);
    if (!make_room(rt, rt->tasks.chunk_count * ((1u << rt->tasks.shift) / each)))
        return;
    count_free(rt, each);
    unlink_free(rt, each);
    give_pages_back(rt, each);
    give_rest_back(rt, each);
    rt->tidy.thaw_from = 0;
    rt->tidy.records_left = free_records(rt);
}

bool asx__tidy_thaw(asx_runtime *rt)
{
    asx__tidy *tidy = &rt->tidy;
    uint32_t each = records_per_page(rt);
    while (tidy->thaw_from < tidy->page_count && tidy->pages[tidy->thaw_from] != ASX__PAGE_COLD)
        tidy->thaw_from++;
    if (tidy->thaw_from == tidy->page_count)
        return false;
    uint32_t page = tidy->thaw_from;
    tidy->pages[page] = 0;
    tidy->cold_pages--;
    tidy->records_left = 0;
    for (uint32_t i = each; i-- > 0;) {
        asx__task *task = asx__slab_at(&rt->tasks, page * each + i);
        task->index = page * each + i;
        task->node.next = (asx__node *)(void *)rt->tasks_free;
        rt->tasks_free = task;
    }
    return true;
}

/* ---- steps ---------------------------------------------------------------------------------- */

static bool may_tidy(const asx_runtime *rt)
{
    return rt->block == NULL && !rt->virtual_clock;
}

asx_time asx__tidy_due(asx_runtime *rt)
{
    asx__tidy *tidy = &rt->tidy;
    if (tidy->turns != rt->turns && may_tidy(rt)) { /* somebody has worked since */
        tidy->turns = rt->turns;
        if (tidy->at == 0 || tidy->at == ASX_TIME_NEVER || tidy->at <= rt->now)
            tidy->at = asx_time_add(rt->now, STEP_NS);
    }
    return tidy->at != 0 ? tidy->at : ASX_TIME_NEVER;
}

void asx__tidy_step(asx_runtime *rt)
{
    bool cut = false, chill = false, records = has_records(rt);
    for (int i = 0; i < ASX__STACK_CLASSES; i++) {
        if (!rt->pool_ready[i])
            continue;
        cut = asx__stack_pool_cut(&rt->pools[i], KEEP_STACKS, SLACK) || cut;
        chill = asx__stack_pool_chill(&rt->pools[i], PIECE) || chill;
    }
    if (chill) {
        rt->tidy.at = rt->now;
        return;
    }
    if (records && rt->tidy.records_seen)
        tidy_records(rt);
    rt->tidy.records_seen = records && !rt->tidy.records_seen;
    bool more = cut || rt->tidy.records_seen;
    rt->tidy.at = more ? asx_time_add(rt->now, STEP_NS) : ASX_TIME_NEVER;
}

void asx__tidy_deinit(asx_runtime *rt)
{
    asx__mem_free(rt, rt->tidy.pages, rt->tidy.page_count * sizeof *rt->tidy.pages);
    rt->tidy.pages = NULL;
    rt->tidy.page_count = 0;
}
