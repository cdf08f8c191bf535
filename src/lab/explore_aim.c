/* explore_aim.c - whom a cancel reaches.
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
#include "lab/explore.h"

#include <stdlib.h>

uint64_t asx__aim_flag(const asx__explorer *x, uint64_t serial)
{
    const asx__lab_region *r = asx__explorer_region(x, serial);
    const asx__lab_task *owner = r != NULL ? asx__explorer_task(x, r->owner) : NULL;
    return owner != NULL ? ASX__NAME(ASX__NAME_REGION, owner->id, r->nth) : 0;
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

/* A search for targets. */
typedef struct search {
    asx__explorer *x;
    const asx__lab_aim *aim;
    const asx__lab_task *task; /* that is aimed at; NULL: none */
    bool *falls;               /* by number in x->tasks */
} search;

/* Does the aim come in there, past this region's shield? */
static bool is_kept_out(const search *s, const asx__lab_region *r)
{
    bool own = s->aim->unmasks && asx__explorer_task(s->x, r->owner) == s->task;
    return s->aim->tag == ASX__NAME_CANCEL && r->shielded && !r->bare && !own;
}

/* Is what lives in this region reached: by its region, or because it lives in what somebody who is
 * has opened? */
static bool falls_with(const search *s, uint64_t serial)
{
    while (serial != 0) {
        if (serial == s->aim->region)
            return true;
        const asx__lab_region *r = asx__explorer_region(s->x, serial);
        if (r == NULL || is_kept_out(s, r))
            return false;
        const asx__lab_task *owner = asx__explorer_task(s->x, r->owner);
        if (owner != NULL && s->falls[owner - s->x->tasks])
            return true;
        serial = r->parent;
    }
    return false;
}

/* Something that is reached, and the region whose shields are in front of it. */
typedef struct target {
    uint64_t name, region;
} target;

static int compare_targets(const void *x, const void *y)
{
    uint64_t a = ((const target *)x)->name, b = ((const target *)y)->name;
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
        serial = owner != NULL && s->falls[owner - s->x->tasks] ? owner->region : r->parent;
    }
    for (size_t i = 0; names != NULL && i < count / 2; i++) {
        uint64_t inner = names[i];
        names[i] = names[count - 1 - i];
        names[count - 1 - i] = inner;
    }
    return count;
}

static void find_falling(const search *s)
{
    const asx__explorer *x = s->x;
    if (s->task != NULL)
        s->falls[s->task - x->tasks] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < x->tasks_len; i++)
            if (!s->falls[i] && x->tasks[i].id != ASX__DPOR_NONE && !x->tasks[i].finalizes &&
                falls_with(s, x->tasks[i].region))
                more = s->falls[i] = true;
    }
}

/* The flags, or the ends. Where others than its owner cancel a region, also the flags of the
 * regions that are cancelled: what is started there and what its close says depends on it. Where
 * there is room for so many always: a start that is refused takes no place. */
static size_t list_targets(const search *s, target *targets)
{
    asx__explorer *x = s->x;
    size_t count = 0;
    for (size_t i = 0; i < x->tasks_len; i++)
        if (s->falls[i])
            targets[count++] = (target){ ASX__NAME(s->aim->tag, x->tasks[i].id, 0),
                                         &x->tasks[i] != s->task ? x->tasks[i].region : 0 };
    for (size_t i = 0; i < x->regions_len && s->aim->tag == ASX__NAME_CANCEL; i++) {
        uint64_t serial = x->regions[i].serial, flag = asx__aim_flag(x, serial);
        if (flag == 0 || !falls_with(s, serial))
            continue;
        /* Also if it is closed by now: the cancel might have come before. */
        if (!x->far_cancels && asx__explorer_task(x, x->regions[i].owner) != s->aim->by)
            asx__explorer_prepare(x, &x->far_cancels);
        if (x->far_cancels || x->far_spawns || x->regions[i].limited)
            targets[count++] = (target){ flag, serial };
    }
    qsort(targets, count, sizeof *targets, compare_targets); /* whoever was started first */
    return count;
}

/* Each with the shields in front of it. NULL: no memory. */
static uint64_t *name_targets(const search *s, const target *targets, size_t count,
                              uint32_t *ret_count)
{
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
    bool *falls = calloc(x->tasks_len + 1, sizeof *falls);
    target *targets = calloc(x->tasks_len + x->regions_len + 1, sizeof *targets);
    uint64_t *names = NULL;
    search s = { x, aim, asx__explorer_task(x, aim->task), falls };
    *ret_count = 0;
    if (falls != NULL && targets != NULL) {
        find_falling(&s);
        names = name_targets(&s, targets, list_targets(&s, targets), ret_count);
    } else {
        x->status = ASX_E_RESOURCE_EXHAUSTED;
    }
    free(falls);
    free(targets);
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
    op->b = ends;
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

void asx__aim_shot(asx__explorer *x, asx__turn_kind kind, uint64_t serial, uint64_t object,
                   uint64_t a)
{
    size_t events;
    if (ASX__LIKELY(x->bare_len == 0))
        return;
    (void)asx__dpor_events(x->dpor, &events);
    if (events != 0 && asx__explorer_room(x, (void **)&x->shots, &x->shots_cap, x->shots_len + 1,
                                          sizeof *x->shots))
        x->shots[x->shots_len++] = (asx__lab_shot){ (uint32_t)events - 1, kind, serial, object, a,
                                                    asx__aim_known(x) };
}
