/* scn_exec_region.c - operations on regions, and the reports they give. */
#include "cli/scn_exec.h"

#include <stdlib.h>
#include <string.h>

/* NULL: the operation names no reason. */
static const asx_cancel_reason *reason_of(scn_machine *m, scn_frame *f, const scn_op *op)
{
    if (op->field_count == 0 ||
        (scn_field_of(m, op, F_KIND) == NULL && scn_field_of(m, op, F_MESSAGE) == NULL &&
         scn_field_of(m, op, F_AT) == NULL && scn_field_of(m, op, F_CHAIN) == NULL))
        return NULL;
    const scn_field *message = scn_field_of(m, op, F_MESSAGE);
    uint64_t links = scn_field_number(m, f, op, F_CHAIN, 1);
    if (links < 1 || links > SCN_CHAIN_MAX)
        links = 1;
    if (f->chain == NULL && (f->chain = calloc(SCN_CHAIN_MAX, sizeof *f->chain)) == NULL) {
        scn_fail(m, op->line, "out of memory");
        return NULL;
    }
    for (uint64_t i = 0; i < links; i++) {
        f->chain[i] = (asx_cancel_reason){ .kind = ASX_CANCEL_USER };
        f->chain[i].timestamp = asx_now(f->cx);
        f->chain[i].origin_region = asx_cx_region_id(f->cx);
        f->chain[i].origin_task = asx_cx_task_id(f->cx);
        f->chain[i].cause = i + 1 < links ? &f->chain[i + 1] : NULL;
    }
    asx_cancel_reason *first = &f->chain[0];
    first->kind = (asx_cancel_kind)scn_field_number(m, f, op, F_KIND, ASX_CANCEL_USER);
    first->timestamp = scn_field_number(m, f, op, F_AT, first->timestamp);
    first->message = message == NULL ? NULL : message->text;
    return first;
}

static asx_status do_open(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_region_options options = { .name = m->s->objects[op->object[0]].name };
    asx_budget budget = ASX_BUDGET_INFINITE;
    bool has_budget = false;
    const scn_field *in = NULL;
    for (uint32_t i = 0; i < op->field_count; i++) {
        const scn_field *field = &m->s->fields[op->field_first + i];
        if (field->key == F_IN)
            in = field;
        else if (!scn_region_field(field, scn_value_of(f, &field->value), &options, &budget,
                                   &has_budget))
            scn_fail(m, op->line, "open: a number is too large");
    }
    if (scn_failed(m))
        return ASX_OK;
    if (has_budget)
        options.budget = &budget;
    asx_region made;
    asx_status st;
    if (in == NULL) {
        st = asx_region_open_at(f->cx, &options, &made, scn_site(m, op));
    } else {
        scn_op place = *op;
        asx_region parent;
        place.object[0] = in->object;
        if (!scn_region_of(m, f, &place, 0, &parent))
            return ASX_OK;
        st = asx_region_open_in_at(f->cx, &parent, &options, &made, scn_site(m, op));
    }
    if (st >= 0) {
        scn_thing *thing = scn_slot_of(m, op, 0);
        scn_begin(thing, scn_newest(m, f, ASX_EVENT_REGION_OPEN));
        thing->u.region = made;
        scn_set_made(thing, true);
    }
    return st;
}

static asx_status do_close(scn_machine *m, scn_frame *f, const scn_op *op, asx_region *region)
{
    const scn_field *report_field = scn_field_of(m, op, F_REPORT);
    asx_status body =
        (asx_status)(int64_t)scn_field_number(m, f, op, F_BODY, (uint64_t)(int64_t)ASX_OK);
    const asx_cancel_reason *reason = reason_of(m, f, op);
    if (report_field == NULL && reason == NULL)
        return asx_region_close(region, body);
    if (report_field == NULL)
        return asx_region_close_with(region, body, reason, NULL);
    scn_thing *thing = &m->things[report_field->object];
    if (scn_is_made(thing)) {
        asx_close_report_deinit(&thing->u.report);
        scn_set_made(thing, false);
    }
    memset(&thing->u.report, 0, sizeof(thing->u.report));
    asx_status st = asx_region_close_with(region, body, reason, &thing->u.report);
    /* A call that did not close anything wrote no report. */
    scn_set_made(thing, st != ASX_E_WOULD_BLOCK && thing->u.report.rt_ != NULL);
    return st;
}

static asx_status do_report(scn_machine *m, const scn_op *op, const asx_region *region)
{
    scn_thing *thing = scn_slot_of(m, op, region == NULL ? 0 : 1);
    asx_close_report report;
    memset(&report, 0, sizeof(report));
    asx_status st = region == NULL ? asx_runtime_report(m->rt, &report)
                                   : asx_region_report(region, &report);
    if (st < 0)
        return st;
    if (scn_is_made(thing))
        asx_close_report_deinit(&thing->u.report);
    thing->u.report = report;
    scn_set_made(thing, true);
    return st;
}

static asx_status check_report(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_thing *thing = scn_thing_of(m, f, op, 0);
    if (thing == NULL)
        return ASX_OK;
    const asx_close_report *r = &thing->u.report;
    scn_check_word(m, op, F_OUTCOME, W_OUTCOME, r->outcome.kind);
    scn_check_status(m, op, F_STATUS, r->status);
    scn_check_status(m, op, F_ACCOUNT, r->account);
    scn_check_status(m, op, F_SETUP, r->setup);
    scn_check(m, f, op, F_OK, r->tasks_ok);
    scn_check(m, f, op, F_ERR, r->tasks_err);
    scn_check(m, f, op, F_CANCELLED, r->tasks_cancelled);
    scn_check(m, f, op, F_PANICKED, r->tasks_panicked);
    scn_check(m, f, op, F_FORCED, r->tasks_forced);
    scn_check(m, f, op, F_LEAKED, r->obligations_leaked);
    scn_check(m, f, op, F_ABORTED, r->permits_aborted);
    scn_check(m, f, op, F_DISCARDED, r->messages_discarded);
    scn_check(m, f, op, F_FINALIZERS, r->finalizers_run);
    scn_check(m, f, op, F_STACKS_KEPT, r->stacks_kept);
    scn_check(m, f, op, F_ITEMS, r->items_len);
    const scn_field *source = scn_field_of(m, op, F_SOURCE);
    if (source != NULL && m->options->mode != SCN_BARE &&
        r->outcome.source != scn_serial_of(m, source->object))
        scn_fail(m, op->line, "check report: the outcome is of task %llu, expected %s",
                 (unsigned long long)r->outcome.source, m->s->objects[source->object].name);
    return ASX_OK;
}

static void check_one_item(scn_machine *m, scn_frame *f, const scn_op *op,
                           const asx_report_item *item)
{
    scn_check_word(m, op, F_ITEM_KIND, W_ITEM_KIND, item->kind);
    scn_check_text(m, op, F_NAME, item->name);
    scn_check_text(m, op, F_PATH, item->path);
    scn_check_text(m, op, F_STATE, item->state);
    scn_check_text(m, op, F_WAITS, item->waits_for);
    scn_check(m, f, op, F_COUNT, item->count);
    const scn_field *site = scn_field_of(m, op, F_SITE);
    if (site != NULL && (item->site == NULL || strstr(item->site, site->text) == NULL))
        scn_fail(m, op->line, "check item: the site is \"%s\", expected one with \"%s\"",
                 item->site == NULL ? "" : item->site, site->text);
}

/* The item of that number, or any that is as described. */
static asx_status check_item(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_thing *thing = scn_thing_of(m, f, op, 0);
    if (thing == NULL)
        return ASX_OK;
    const asx_close_report *report = &thing->u.report;
    uint64_t index = scn_value_of(f, &op->value);
    if (index != UINT64_MAX && index < report->items_len) {
        check_one_item(m, f, op, &report->items[index]);
        return ASX_OK;
    }
    for (size_t i = 0; index == UINT64_MAX && i < report->items_len; i++) {
        scn_op one = *op;
        one.value = (scn_value){ .source = SCN_NUMBER, .number = i };
        if (scn_would_hold(m, f, &one))
            return ASX_OK;
    }
    if (index == UINT64_MAX)
        scn_fail(m, op->line, "check item: none of the report's %llu items is like that",
                 (unsigned long long)report->items_len);
    else
        scn_fail(m, op->line, "check item: the report has %llu items",
                 (unsigned long long)report->items_len);
    return ASX_OK;
}

static asx_status do_alloc(scn_frame *f, const scn_op *op, const asx_region *region)
{
    void *memory = NULL;
    size_t size = (size_t)scn_value_of(f, &op->value);
    asx_status st = asx_region_alloc(region, size, &memory);
    if (st >= 0)
        memset(memory, 0xa5, size);
    return st;
}

static asx_status do_defer(scn_machine *m, const scn_op *op, const asx_region *region)
{
    scn_frame *frame = scn_frame_new(m, op->body[0], op->line);
    if (frame == NULL)
        return ASX_OK;
    asx_status st = asx_defer(region, scn_frame_call, frame);
    if (st < 0)
        scn_frame_drop(m, frame);
    return st;
}

static asx_status on_region(scn_machine *m, scn_frame *f, const scn_op *op, asx_region *region)
{
    asx_region_state state = ASX_REGION_OPEN;
    asx_status st;
    switch (op->code) {
    case SCN_OP_CLOSE:
        return do_close(m, f, op, region);
    case SCN_OP_STOP:
        return asx_region_stop(region);
    case SCN_OP_CANCEL_REGION:
        return asx_region_cancel(region, reason_of(m, f, op));
    case SCN_OP_DEFER:
        return do_defer(m, op, region);
    case SCN_OP_ALLOC:
        return do_alloc(f, op, region);
    case SCN_OP_NARROW_REGION: {
        scn_thing *thing = scn_slot_of(m, op, 1);
        scn_begin(thing, m->things[op->object[0]].serial);
        thing->u.region = asx_region_narrow(
            *region, (uint16_t)scn_field_number(m, f, op, F_STATES, ASX_STATE_MASK_ALL));
        scn_set_made(thing, true);
        return ASX_OK;
    }
    case SCN_OP_REPORT_REGION:
        return do_report(m, op, region);
    case SCN_OP_PROBE_REGION:
        return asx_region_probe(
            region, (asx_region_state)scn_field_number(m, f, op, F_STATE, ASX_REGION_OPEN));
    default:
        st = asx_region_get_state(region, &state);
        if (st >= 0)
            scn_check_word(m, op, F_STATE, W_REGION_STATE, state);
        return st;
    }
}

/* The tables of the state machines, asked without an object. */
static asx_status ask_legal(scn_machine *m, scn_frame *f, const scn_op *op)
{
    uint64_t from = scn_field_number(m, f, op, F_FROM, 0);
    uint64_t to = scn_field_number(m, f, op, F_TO, 0);
    if (op->code == SCN_OP_LEGAL_REGION)
        return asx_region_transition_legal((asx_region_state)from, (asx_region_state)to);
    if (op->code == SCN_OP_LEGAL_TASK)
        return asx_task_transition_legal((asx_task_state)from, (asx_task_state)to);
    return asx_obligation_transition_legal((asx_obligation_state)from, (asx_obligation_state)to);
}

asx_status scn_exec_region(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_region region;
    asx_task task;
    switch (op->code) {
    case SCN_OP_OPEN:
        return do_open(m, f, op);
    case SCN_OP_LEGAL_REGION:
    case SCN_OP_LEGAL_TASK:
    case SCN_OP_LEGAL_OBLIGATION:
        return ask_legal(m, f, op);
    case SCN_OP_REPORT_RUNTIME:
        return do_report(m, op, NULL);
    case SCN_OP_CHECK_REPORT:
        return check_report(m, f, op);
    case SCN_OP_CHECK_ITEM:
        return check_item(m, f, op);
    case SCN_OP_CANCEL_TASK:
        if (!scn_task_of(m, f, op, 0, &task))
            return ASX_OK;
        return asx_task_cancel(&task, reason_of(m, f, op));
    default:
        if (!scn_region_of(m, f, op, 0, &region))
            return ASX_OK;
        return on_region(m, f, op, &region);
    }
}
