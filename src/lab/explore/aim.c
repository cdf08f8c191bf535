/* aim.c - whom a cancel reaches.
 *
 * A cancel of a region sets the flags of all its tasks, of the regions in it, and of what these
 * tasks have opened. Which these are is known when the operation is announced, and found again when
 * there are more.
 *
 * Shields. What a task opens under a mask is not reached from around it, nor through the task, as
 * long as the task has a mask; whoever cancels the region itself, or something in it, passes none.
 * Mostly such a region is closed before the mask ends: then it is never among the targets, and
 * where a cancel comes makes no difference to it. If it is still open when the mask ends, that is
 * an operation (SHIELD): it takes the shield down and sets, if the task was cancelled, what that
 * has been kept from. From then on the region is *bare*: it is among the targets, with its shield
 * in front, of which the engine knows where in an execution it is up. To list the shield before
 * that too was rejected: cancels would look at it or not, as the region was opened before them or
 * after, and nothing orders the two.
 *
 *   reached(region) = shield down, and its owner or the region around it is reached
 *
 * Who was stopped by a shield did not look behind it. What it would do without the shield must be
 * known to the engine, also of what is opened and started there later in the execution: nothing
 * orders that and the cancel. So its targets are found once more when the execution is over.
 */
#include "lab/explore/explore.h"

#include <stdlib.h>

uint64_t asx__aim_flag(const asx__explorer *x, uint64_t serial)
{
    const asx__lab_region *r = asx__explorer_region(x, serial);
    const asx__lab_task *owner = r != NULL ? asx__explorer_task(x, r->owner) : NULL;
    return owner != NULL ? asx__explorer_make_name(x, ASX__NAME_REGION, owner->id, r->nth) : 0;
}

uint64_t *asx__aim_room(asx__explorer *x, size_t count)
{
    asx__lab_targets *targets = malloc(sizeof *targets + (count + 1) * sizeof *targets->names);
    if (targets == NULL) {
        x->status = ASX_E_RESOURCE_EXHAUSTED;
        return NULL;
    }
    targets->next = x->targets;
    x->targets = targets;
    return targets->names;
}

void asx__explorer_forget_targets(asx__explorer *x)
{
    while (x->targets != NULL) {
        asx__lab_targets *next = x->targets->next;
        free(x->targets);
        x->targets = next;
    }
}

/* Something that is reached, and the region whose shields are in front of it. */
typedef struct asx__lab_target {
    uint64_t name, region;
} asx__lab_target;

/* A search for targets. It goes down from what is aimed at, so it costs what is reached. */
typedef struct search {
    asx__explorer *x;
    const asx__lab_aim *aim;
    const asx__lab_task *task; /* that is aimed at; NULL: none */
    asx__lab_target *reached;  /* name: the number of a task, or that of a region and REGION */
    size_t len;
} search;

#define REGION (UINT64_C(1) << 63)

/* Does the aim come in there, past this region's shield? */
static bool is_kept_out(const search *s, const asx__lab_region *r)
{
    bool own = s->aim->unmasks && asx__explorer_task(s->x, r->owner) == s->task;
    return s->aim->tag == ASX__NAME_CANCEL && r->shielded && !r->bare && !own;
}

static int compare_targets(const void *x, const void *y)
{
    uint64_t a = ((const asx__lab_target *)x)->name;
    uint64_t b = ((const asx__lab_target *)y)->name;
    return (a > b) - (a < b);
}

/* The shields on the way to what lives in this region, from outside: behind one that is up none is
 * looked at. NULL: count them only. With `unmasks` those of the task do not count, as they go down.
 * *ret_own: there was one. */
static size_t find_shields(const search *s, uint64_t serial, uint64_t *names, bool *ret_own)
{
    size_t count = 0;
    *ret_own = false;
    while (serial != 0 && serial != s->aim->region) {
        const asx__lab_region *r = asx__explorer_region(s->x, serial);
        if (r == NULL)
            break;
        const asx__lab_task *owner = asx__explorer_task(s->x, r->owner);
        bool own = r->shielded && s->aim->unmasks && owner == s->task;
        *ret_own = *ret_own || own;
        if (r->bare && !own) {
            if (names != NULL)
                names[count] = asx__aim_flag(s->x, serial) + ASX__PART_SHIELD;
            count++;
        }
        if (owner != NULL && owner == s->task)
            break;
        serial = owner != NULL && owner->fell == s->x->search ? owner->region : r->parent;
    }
    for (size_t i = 0; names != NULL && i < count / 2; i++) {
        uint64_t inner = names[i];
        names[i] = names[count - 1 - i];
        names[count - 1 - i] = inner;
    }
    return count;
}

static void reach_task(search *s, uint32_t number)
{
    asx__lab_task *task = &s->x->tasks[number];
    if (task->fell == s->x->search)
        return;
    task->fell = s->x->search;
    s->reached[s->len++] = (asx__lab_target){ number, 0 };
}

/* Unless a shield keeps it out. */
static void reach_region(search *s, uint32_t number)
{
    asx__lab_region *r = &s->x->regions[number];
    if (r->fell == s->x->search || (r->serial != s->aim->region && is_kept_out(s, r)))
        return;
    r->fell = s->x->search;
    s->reached[s->len++] = (asx__lab_target){ number | REGION, 0 };
}

/* What is in a region that is reached, and what a task that is has opened. */
static void find_falling(search *s)
{
    const asx__explorer *x = s->x;
    const asx__lab_region *top = asx__explorer_region(x, s->aim->region);
    if (s->task != NULL)
        reach_task(s, (uint32_t)(s->task - x->tasks));
    if (top != NULL)
        reach_region(s, (uint32_t)(top - x->regions));
    for (size_t at = 0; at < (s->aim->near ? 1 : s->len); at++) {
        uint64_t name = s->reached[at].name;
        if ((name & REGION) == 0) {
            for (uint32_t i = x->tasks[name].regions; i != 0; i = x->regions[i - 1].opened_before)
                reach_region(s, i - 1);
            continue;
        }
        const asx__lab_region *r = &x->regions[name & ~REGION];
        for (uint32_t i = r->tasks; i != 0; i = x->tasks[i - 1].sibling)
            if (x->tasks[i - 1].id != ASX__DPOR_NONE && !x->tasks[i - 1].finalizes)
                reach_task(s, i - 1);
        for (uint32_t i = r->children; i != 0; i = x->regions[i - 1].sibling)
            reach_region(s, i - 1);
    }
}

/* The flags, or the ends. Where others than its owner cancel a region, also the flags of the
 * regions that are cancelled: what is started there and what its close says depends on it. Where
 * there is room for so many always: a start that is refused takes no place. */
static size_t list_targets(search *s)
{
    asx__explorer *x = s->x;
    asx__lab_target *targets = s->reached;
    size_t count = 0;
    for (size_t i = 0; i < s->len; i++) {
        uint64_t number = targets[i].name;
        if ((number & REGION) == 0) {
            const asx__lab_task *task = &x->tasks[number];
            targets[count++] = (asx__lab_target){ ASX__NAME(s->aim->tag, task->id, 0),
                                                  task != s->task ? task->region : 0 };
            continue;
        }
        const asx__lab_region *r = &x->regions[number & ~REGION];
        uint64_t flag = s->aim->tag == ASX__NAME_CANCEL ? asx__aim_flag(x, r->serial) : 0;
        if (flag == 0)
            continue;
        /* Also if it is closed by now: the cancel might have come before. */
        if (!x->far_cancels && asx__explorer_task(x, r->owner) != s->aim->by)
            asx__explorer_prepare(x, &x->far_cancels);
        if (x->far_cancels || x->far_spawns || r->limited)
            targets[count++] = (asx__lab_target){ flag, r->serial };
    }
    if (count > 1)
        qsort(targets, count, sizeof *targets, compare_targets); /* whoever was started first */
    return count;
}

/* Each with the shields in front of it. NULL: no memory. */
static uint64_t *name_targets(const search *s, size_t count, uint32_t *ret_count)
{
    const asx__lab_target *targets = s->reached;
    bool own;
    size_t len = 0;
    bool shields = s->aim->tag == ASX__NAME_CANCEL && (s->x->bare_len != 0 || s->aim->unmasks);
    for (size_t i = 0; i < count; i++)
        len += 1 + (shields ? find_shields(s, targets[i].region, NULL, &own) : 0);
    uint64_t *names = asx__aim_room(s->x, len);
    len = 0;
    for (size_t i = 0; i < count && names != NULL; i++) {
        own = false;
        size_t found = shields ? find_shields(s, targets[i].region, names + len, &own) : 0;
        if (s->aim->unmasks && !own)
            continue;
        len += found;
        names[len++] = targets[i].name;
    }
    *ret_count = (uint32_t)len;
    return names;
}

uint64_t *asx__aim_find(asx__explorer *x, const asx__lab_aim *aim, uint32_t *ret_count)
{
    *ret_count = 0;
    if (!asx__explorer_room(x, (void **)&x->reached, &x->reached_cap,
                            x->tasks_len + x->regions_len + 1, sizeof *x->reached))
        return NULL;
    search s = { x, aim, asx__explorer_task(x, aim->task), x->reached, 0 };
    x->search++;
    find_falling(&s);
    return name_targets(&s, list_targets(&s), ret_count);
}

/* Cancelled, it stops what a shield keeps the cancel out of. */
uint64_t *asx__aim_around(asx__explorer *x, uint64_t serial, uint32_t *ret_count)
{
    const asx__lab_region *r = asx__explorer_region(x, serial);
    uint32_t count = 0;
    *ret_count = 0;
    for (; r != NULL && !r->scoped && asx__aim_flag(x, r->parent) != 0; count += 2)
        r = asx__explorer_region(x, r->parent);
    uint64_t *names = ASX__UNLIKELY(count != 0) ? asx__aim_room(x, count) : NULL;
    if (names == NULL)
        return NULL;
    bool shielded = false;
    r = asx__explorer_region(x, serial);
    for (; !r->scoped && asx__aim_flag(x, r->parent) != 0;
         r = asx__explorer_region(x, r->parent)) {
        uint64_t flag = asx__aim_flag(x, r->parent);
        shielded = shielded || r->shielded;
        names[(*ret_count)++] = flag + ASX__PART_STOPPED;
        if (shielded)
            names[(*ret_count)++] = flag;
    }
    return names;
}

/* ---- masks ---------------------------------------------------------------------------------- */

static bool is_shielded_by(const asx__explorer *x, const asx__lab_region *r,
                           const asx__lab_task *task)
{
    return r->shielded && !r->closed && asx__explorer_task(x, r->owner) == task;
}

bool asx__aim_shields(asx__explorer *x, const asx__lab_task *self, bool ends, asx__op *op)
{
    uint64_t serial = x->first_serial + (uint64_t)(self - x->tasks);
    asx__lab_aim at = { .task = serial, .tag = ASX__NAME_CANCEL, .unmasks = true, .by = self };
    uint32_t behind_len = 0, pairs = 0;
    const uint64_t *behind = ends ? asx__aim_find(x, &at, &behind_len) : NULL;
    uint64_t *names = asx__aim_room(x, 2 * x->regions_len + behind_len);
    if (names == NULL || (ends && behind == NULL))
        return false;
    for (size_t i = 0; i < x->regions_len; i++) {
        if (!is_shielded_by(x, &x->regions[i], self))
            continue;
        uint64_t shield = asx__aim_flag(x, x->regions[i].serial) + ASX__PART_SHIELD;
        uint64_t around = asx__aim_flag(x, x->regions[i].parent);
        names[2 * pairs] = shield;
        names[2 * pairs + 1] = around != 0 ? around : shield;
        pairs++;
    }
    for (uint32_t i = 0; i < behind_len; i++)
        names[2 * pairs + i] = behind[i];
    op->targets = names;
    op->targets_len = 2 * pairs + behind_len;
    op->a = pairs;
    op->b = ends ? ASX__SHIELD_DOWN : ASX__SHIELD_AGAIN;
    return pairs != 0;
}

void asx__aim_bare(asx__explorer *x, const asx__lab_task *self)
{
    for (size_t i = 0; i < x->regions_len; i++) {
        asx__lab_region *r = &x->regions[i];
        if (!is_shielded_by(x, r, self) || r->bare)
            continue;
        r->bare = true;
        x->bare_len++;
    }
}

void asx__aim_shot(asx__explorer *x, uint64_t serial, const asx__operation *what)
{
    size_t events;
    if (ASX__LIKELY(x->bare_len == 0))
        return;
    (void)asx__dpor_events(x->dpor, &events);
    if (events != 0 && asx__explorer_room(x, (void **)&x->shots, &x->shots_cap, x->shots_len + 1,
                                          sizeof *x->shots))
        x->shots[x->shots_len++] = (asx__lab_shot){ (uint32_t)events - 1, *what, serial,
                                                    asx__aim_known(x) };
}
