/* names.c - names that are the same in every execution.
 *
 * Objects get theirs by the task that made them and as which of the things that it made. Cells are
 * named by their address, those on a task's stack by the task and the place, because a task may get
 * another stack next time.
 */
#include "lab/explore/explore.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/oracle/site.h"

#define MORE_NAMES 0x20000000u /* tasks that are started are fewer */

/* A name has room for few numbers. The others have, each so many of them, a task that never runs:
 * it has a number of its own, the same in every execution and every process. */
uint64_t asx__explorer_make_name(const asx__explorer *x, asx__name_tag tag, uint32_t task,
                                 uint32_t nth)
{
    if (ASX__UNLIKELY(nth > ASX__NAME_NTH_MOST))
        task = asx__dpor_name(x->dpor, task, MORE_NAMES | nth / (ASX__NAME_NTH_MOST + 1));
    return ASX__NAME(tag, task, nth);
}

void asx__explorer_made(asx__explorer *x, const asx__creation *c, uint64_t maker)
{
    asx__lab_task *task = asx__explorer_task(x, maker);
    bool memory = c->event == ASX_EVENT_NONE;
    if (task == NULL || task->id == ASX__DPOR_NONE ||
        !asx__explorer_room(x, (void **)&x->things, &x->things_cap, x->things_len + 1,
                            sizeof *x->things))
        return;
    asx__name_tag tag = c->event == ASX_EVENT_CHANNEL_CREATE ? ASX__NAME_CHANNEL
                        : memory                             ? ASX__NAME_MEMORY
                                                             : ASX__NAME_LOCK;
    uint64_t name = asx__explorer_make_name(x, tag, task->id, task->made++);
    asx__lab_thing *thing = &x->things[x->things_len++];
    uint32_t *head = memory ? &x->memory : &x->heads[asx__explorer_place(c->generation)];
    *thing = (asx__lab_thing){ .type = c->event,
                               .serial = c->generation,
                               .name = name,
                               .region = memory ? c->size : c->region,
                               .prev = *head };
    *head = (uint32_t)x->things_len;
    if (c->event == ASX_EVENT_OBLIGATION_RESERVE) {
        const asx__lab_region *region = asx__explorer_region(x, c->region);
        thing->counted = region != NULL && region->counts_obligations;
    }
    if (c->state != 0)
        asx__dpor_put(x->dpor, name, c->state);
}

void asx__explorer_forget_things(asx__explorer *x)
{
    if (x->things_len > ASX__LAB_HEADS / 8)
        memset(x->heads, 0, sizeof x->heads);
    else
        for (size_t i = 0; i < x->things_len; i++)
            x->heads[asx__explorer_place(x->things[i].serial)] = 0;
    x->things_len = x->memory = 0;
}

/* In memory of a region; 0: it is not. What was given last counts: memory is used again. */
static uint64_t name_in_memory(const asx__explorer *x, uint64_t at)
{
    for (uint32_t i = x->memory; i != 0; i = x->things[i - 1].prev) {
        const asx__lab_thing *thing = &x->things[i - 1];
        if (at - thing->serial < thing->region &&
            at - thing->serial < UINT64_C(1) << ASX__NAME_PART_BITS)
            return thing->name + (at - thing->serial);
    }
    return 0;
}

/* The stack that it is on; NULL: it is on none. */
static const asx__stack *stack_around(const asx_runtime *rt, const void *cell)
{
    for (int i = 0; i < ASX__STACK_CLASSES; i++) {
        asx__stack *stack;
        bool in_guard;
        if (rt->pool_ready[i] &&
            asx__stack_pool_owns(&rt->pools[i], cell, &stack, &in_guard))
            return stack;
    }
    return NULL;
}

/* The place is counted from the top: where a stack ends in its slot differs from slot to slot. */
uint64_t asx__explorer_cell_name(const asx__explorer *x, const void *cell)
{
    const asx__stack *stack = stack_around(x->rt, cell);
    for (size_t i = 0; i < x->tasks_len && stack != NULL; i++) {
        const asx__task *task = x->tasks[i].record;
        if (task != NULL && asx__serial(task->generation) == x->first_serial + i &&
            (task->flags & (ASX__T_POLL | ASX__T_STARTED)) == ASX__T_STARTED &&
            task->u.fiber.stack == stack)
            return ASX__NAME(ASX__NAME_STACK, x->tasks[i].id, 0) +
                   (uint64_t)((const char *)stack - (const char *)cell);
    }
    return name_in_memory(x, (uintptr_t)cell);
}

/* ---- cells that have no other name than their address --------------------------------------- */

/* A cell, and the part of a program or library that it is in. */
typedef struct memory_place {
    uint64_t at, from, len;
} memory_place;

/* Stops at the object that has the address in its data. */
static int has_cell(struct dl_phdr_info *info, size_t size, void *ctx)
{
    memory_place *p = ctx;
    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        p->from = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        p->len = info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && p->at - p->from < p->len)
            return 1;
    }
    return 0;
}

/* There it is where it is in every execution and every process. False also if that is not looked
 * for any more. */
static bool is_in_data(asx__explorer *x, const void *cell)
{
    memory_place p = { .at = (uintptr_t)cell };
    if (p.at - x->data_from < x->data_len)
        return true;
    if (x->allocates || dl_iterate_phdr(has_cell, &p) == 0)
        return false;
    x->data_from = p.from; /* most cells of a test are in one place */
    x->data_len = p.len;
    return true;
}

void asx__explorer_meet_cell(asx__explorer *x, uint32_t task, const void *cell, const char *site)
{
    if (asx__dpor_samples(x->dpor) || is_in_data(x, cell))
        return;
    x->allocates = true;
    if (x->sharing != NULL && !x->elsewhere)
        asx__explorer_prepare(x, &x->elsewhere);
    if (asx__dpor_is_where_it_was(x->dpor, task, (uintptr_t)cell) || x->cell_moved ||
        x->unsupported != 0)
        return;
    x->cell_moved = true;
    x->unsupported_site = site;
}

/* ---- sites that no call has ----------------------------------------------------------------- */

typedef struct asx__fault_site {
    struct asx__fault_site *next;
    const char *site, *words; /* what it was made of */
    char text[];
} asx__fault_site;

const char *asx__explorer_fault_site(asx__explorer *x, const char *site, const char *words)
{
    asx__fault_site *f = x->fault_sites;
    while (f != NULL && (f->site != site || f->words != words))
        f = f->next;
    if (f != NULL)
        return f->text;
    int len = site != NULL ? asx__site_len(site) : 0;
    size_t size = (size_t)len + strlen(words) + 2;
    f = malloc(sizeof *f + size);
    if (f == NULL)
        return words;
    *f = (asx__fault_site){ x->fault_sites, site, words };
    (void)snprintf(f->text, size, "%.*s\n%s", len, site != NULL ? site : "", words);
    x->fault_sites = f;
    return f->text;
}

void asx__explorer_forget_sites(asx__explorer *x)
{
    for (asx__fault_site *f = x->fault_sites, *next; f != NULL; f = next) {
        next = f->next;
        free(f);
    }
    x->fault_sites = NULL;
}
