/* report.c - who is alive, who was forced, what leaked: with name, place of creation, region path
 * and what it waits for. A report owns copies of all its strings, since it outlives their region.
 * What does not fit into memory is counted, not lost silently.
 */
#include "sched/engine.h"
#include "sched/obligation.h"

#include <stdio.h>
#include <string.h>

#define PATH_MAX_ 512

/* Written from the end, so that what does not fit is missing at the front. */
void asx__region_path(const asx__region *region, char *buffer, size_t size)
{
    static const char cut[] = "...";
    size_t at = size;
    buffer[--at] = '\0';
    for (; region != NULL; region = region->parent) {
        const char *name = region->name != NULL && *region->name ? region->name : "-";
        size_t len = strlen(name), slash = region->parent != NULL;
        if (len + slash + (slash ? strlen(cut) : 0) > at) {
            at -= strlen(cut);
            memcpy(buffer + at, cut, strlen(cut));
            break;
        }
        at -= len;
        memcpy(buffer + at, name, len);
        if (slash)
            buffer[--at] = '/';
    }
    memmove(buffer, buffer + at, size - at);
}

void asx__report_begin(asx_runtime *rt, asx_close_report *report)
{
    memset(report, 0, sizeof *report);
    report->rt_ = rt;
}

static const char *copy_string(asx_runtime *rt, const char *text)
{
    size_t len = text != NULL ? strlen(text) : 0;
    char *copy = asx__mem_alloc(rt, len + 1);
    if (copy == NULL)
        return NULL;
    if (len != 0)
        memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

static void free_string(asx_runtime *rt, const char *text)
{
    if (text != NULL)
        asx__mem_free(rt, (void *)(uintptr_t)text, strlen(text) + 1);
}

static void free_item(asx_runtime *rt, asx_report_item *item)
{
    free_string(rt, item->name);
    free_string(rt, item->site);
    free_string(rt, item->path);
    free_string(rt, item->state);
    free_string(rt, item->waits_for);
}

static bool make_room(asx_runtime *rt, asx_close_report *report)
{
    if (report->items_len < report->items_cap_)
        return true;
    size_t cap = report->items_cap_ != 0 ? report->items_cap_ * 2 : 8;
    asx_report_item *items = asx__mem_alloc(rt, cap * sizeof *items);
    if (items == NULL)
        return false;
    if (report->items_len != 0)
        memcpy(items, report->items, report->items_len * sizeof *items);
    asx__mem_free(rt, report->items, report->items_cap_ * sizeof *items);
    report->items = items;
    report->items_cap_ = cap;
    return true;
}

/* Copies the item's strings. */
static void add(asx_runtime *rt, asx_close_report *report, asx_report_item item)
{
    if (!make_room(rt, report)) {
        report->items_omitted++;
        return;
    }
    item.name = copy_string(rt, item.name);
    item.site = copy_string(rt, item.site);
    item.path = copy_string(rt, item.path);
    item.state = copy_string(rt, item.state);
    item.waits_for = copy_string(rt, item.waits_for);
    if (item.name == NULL || item.site == NULL || item.path == NULL || item.state == NULL ||
        item.waits_for == NULL) {
        free_item(rt, &item);
        report->items_omitted++;
        return;
    }
    report->items[report->items_len++] = item;
}

void asx_close_report_deinit(asx_close_report *report)
{
    if (report == NULL || report->rt_ == NULL)
        return;
    asx_runtime *rt = report->rt_;
    bool had_it = rt->gate == NULL || asx__engine_enter(rt);
    for (size_t i = 0; i < report->items_len; i++)
        free_item(rt, &report->items[i]);
    asx__mem_free(rt, report->items, report->items_cap_ * sizeof *report->items);
    if (!had_it)
        asx__engine_leave(rt, false);
    report->items = NULL;
    report->items_len = report->items_cap_ = 0;
    report->rt_ = NULL;
}

static const char *waits_for(const asx__task *task)
{
    if (asx__exec_state(task) != ASX__EXEC_PARKED || task->w.waits == NULL)
        return "";
    return asx__wait_str(task->w.waits->ops->kind);
}

void asx__report_task(asx_runtime *rt, asx_close_report *report, const asx__task *task)
{
    char path[PATH_MAX_];
    asx__region_path(task->region, path, sizeof path);
    asx_report_item item = {
        .kind = ASX_REPORT_TASK,
        .serial = asx__serial(task->generation),
        .name = task->name,
        .site = task->site,
        .path = path,
        .state = asx_task_state_str((asx_task_state)task->phase),
        .waits_for = waits_for(task),
    };
    add(rt, report, item);
}

void asx__report_obligation(asx_runtime *rt, asx_close_report *report,
                            const asx__obligation *obligation, const asx__region *region)
{
    static const char *const names[] = {
        "",
#define NAME(name, number, text) [number] = text,
        ASX_OBLIGATION_KIND_LIST(NAME)
#undef NAME
    };
    char path[PATH_MAX_];
    asx__region_path(region, path, sizeof path);
    asx_report_item item = {
        .kind = ASX_REPORT_OBLIGATION,
        .serial = asx__obligation_id(obligation),
        .name = names[obligation->kind],
        .site = obligation->site,
        .path = path,
        .state = asx_obligation_state_str((asx_obligation_state)obligation->state),
        .waits_for = "",
    };
    add(rt, report, item);
}

void asx__report_channel(asx_runtime *rt, asx_close_report *report, const asx__region *region,
                         uint64_t serial, const char *name, uint64_t discarded)
{
    char path[PATH_MAX_];
    asx__region_path(region, path, sizeof path);
    asx_report_item item = {
        .kind = ASX_REPORT_CHANNEL, .serial = serial, .name = name, .site = "", .path = path,
        .state = "discarded", .waits_for = "", .count = discarded,
    };
    add(rt, report, item);
}

static void report_region(asx_runtime *rt, asx_close_report *report, const asx__region *region)
{
    char path[PATH_MAX_];
    asx__region_path(region, path, sizeof path);
    asx_report_item self = {
        .kind = ASX_REPORT_REGION, .serial = asx__serial(region->generation),
        .name = region->name, .site = region->site, .path = path,
        .state = asx_region_state_str((asx_region_state)region->state), .waits_for = "",
    };
    add(rt, report, self);
    for (uint32_t link = region->task_first; link != 0;) {
        const asx__task *task = asx__slab_at(&rt->tasks, link - 1);
        link = task->sibling_next;
        if (task->phase != ASX_TASK_COMPLETED)
            asx__report_task(rt, report, task);
    }
    for (const asx__obligation *o = region->obligations; o != NULL; o = o->older)
        asx__report_obligation(rt, report, o, region);
}

/* Parents first, without recursion: a fiber's stack is small. */
void asx__report_live(asx_runtime *rt, asx_close_report *report, const asx__region *top)
{
    const asx__region *region = top;
    for (;;) {
        report_region(rt, report, region);
        if (!asx__list_empty(&region->children)) {
            region = (const asx__region *)region->children.next;
            continue;
        }
        while (region != top && region->link.next == &region->parent->children)
            region = region->parent;
        if (region == top)
            return;
        region = (const asx__region *)region->link.next;
    }
}

/* For a note that may outlive what it speaks of: names are only borrowed. */
const char *asx__region_keep_name(asx__region *home, const char *name)
{
    size_t len = name != NULL ? strlen(name) : 0;
    char *copy = len != 0 ? asx__region_memory(home, len + 1) : NULL;
    if (copy == NULL)
        return "";
    memcpy(copy, name, len + 1);
    return copy;
}

/* For the shutdown that is under way. */
static void report_forced(asx_runtime *rt, const asx__task *task)
{
    char path[PATH_MAX_];
    asx__region_path(task->region, path, sizeof path);
    asx_report_item item = {
        .kind = ASX_REPORT_TASK, .serial = asx__serial(task->generation), .name = task->name,
        .site = task->site, .path = path, .state = "Forced", .waits_for = waits_for(task),
        .count = asx__cleanup_used(task),
    };
    add(rt, rt->ending, item);
}

/* The last item of a task that was lifted and is forced now is the one that counts. */
static void forget_lifted(asx__region *region, uint64_t serial)
{
    asx__forced_note **at = &region->forced;
    while (*at != NULL && !((*at)->lifted && (*at)->serial == serial))
        at = &(*at)->next;
    if (*at != NULL)
        *at = (*at)->next;
}

void asx__region_note_overrun(asx_runtime *rt, asx__task *task, bool forced)
{
    asx__region *region = task->region;
    bool parked = asx__exec_state(task) == ASX__EXEC_PARKED && task->w.waits != NULL;
    if (forced) {
        forget_lifted(region, asx__serial(task->generation));
        if (rt->ending != NULL)
            report_forced(rt, task);
    } else {
        task->flags |= ASX__T_LIFTED;
        region->n_lifted++;
    }
    asx__forced_note *note = asx__region_memory(region, sizeof *note);
    if (note == NULL)
        return; /* the numbers still count it */
    *note = (asx__forced_note){
        .next = region->forced,
        .name = asx__region_keep_name(region, task->name),
        .site = task->site,
        .serial = asx__serial(task->generation),
        .polls = asx__cleanup_used(task),
        .waited_for = parked ? task->w.waits->ops->kind : 0,
        .lifted = !forced,
    };
    region->forced = note;
}

void asx__region_note_left(asx__region *home, const asx__region *left)
{
    asx__forced_note *note = asx__region_memory(home, sizeof *note);
    if (note == NULL)
        return; /* the status still says that one was left open */
    *note = (asx__forced_note){ .next = home->forced,
                                .name = asx__region_keep_name(home, left->name),
                                .site = left->site,
                                .serial = asx__serial(left->generation),
                                .left_open = true };
    home->forced = note;
}

void asx__report_counts(asx_close_report *report, const asx__region *region)
{
    report->outcome = region->outcome;
    report->status = region->result;
    report->account = region->n_leaked != 0 ? ASX_E_UNRESOLVED_OBLIGATIONS : ASX_OK;
    report->setup = region->setup;
    report->tasks_ok = region->n_ok;
    report->tasks_err = region->n_err;
    report->tasks_cancelled = region->n_cancelled;
    report->tasks_panicked = region->n_panicked;
    report->tasks_forced = region->n_forced;
    report->masks_lifted = region->n_lifted;
    report->obligations_leaked = region->n_leaked;
    report->permits_aborted = region->n_aborted;
    report->messages_discarded = region->n_discarded;
    report->finalizers_run = region->n_finalized;
    report->stacks_kept = region->n_kept;
}

void asx__report_close(asx_runtime *rt, asx_close_report *report, const asx__region *region)
{
    char path[PATH_MAX_];
    asx__region_path(region, path, sizeof path);
    asx__report_counts(report, region);
    for (const asx__forced_note *f = region->forced; f != NULL; f = f->next) {
        asx_report_item item = {
            .kind = f->left_open ? ASX_REPORT_REGION : ASX_REPORT_TASK,
            .serial = f->serial, .name = f->name, .site = f->site,
            .path = path,
            .state = f->left_open ? "LeftOpen" : f->lifted ? "MaskLifted" : "Forced",
            .waits_for = f->waited_for != 0 ? asx__wait_str(f->waited_for) : "", .count = f->polls,
        };
        add(rt, report, item);
    }
    const asx__panic_note *p = region->panic_note;
    if (p != NULL) {
        char state[300];
        snprintf(state, sizeof state, "Panicked: %s", p->message);
        asx_report_item item = { .kind = ASX_REPORT_TASK, .serial = p->serial, .name = p->name,
                                 .site = p->site, .path = path, .state = state, .waits_for = "" };
        add(rt, report, item);
    }
}

asx_status asx_region_report(const asx_region *handle, asx_close_report *ret_report)
{
    asx__region *region;
    asx_status st = asx__region_resolve(handle, ASX_STATE_MASK_ALL, &region);
    if (st < 0) {
        ASX__GATE_REGION(handle, asx_region_report(&in, ret_report));
        ASX__EMPTY(ret_report);
        return st;
    }
    if (ret_report == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__report_begin(region->rt, ret_report);
    asx__report_counts(ret_report, region);
    asx__report_live(region->rt, ret_report, region);
    return ASX_OK;
}
