/* scn_exec_task.c - operations on tasks, and what a task does for itself. */
#include "cli/scn_exec.h"

#include <string.h>

/* ---- spawning and joining ---- */

static asx_status do_spawn(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_region region;
    asx_budget budget = ASX_BUDGET_INFINITE;
    bool has_budget = false;
    const scn_field *as = scn_field_of(m, op, F_AS);
    asx_spawn_options options = { .name = as == NULL ? m->s->bodies[op->body[0]].name
                                                     : m->s->objects[as->object].name };
    if (!scn_region_of(m, f, op, 0, &region))
        return ASX_OK;
    for (uint32_t i = 0; i < op->field_count; i++) {
        const scn_field *field = &m->s->fields[op->field_first + i];
        bool of_budget = field->key == F_POLLS || field->key == F_COST ||
                         field->key == F_DEADLINE || field->key == F_PRIORITY;
        has_budget |= of_budget;
        if (of_budget && !scn_budget_field(field, scn_value_of(f, &field->value), &budget))
            scn_fail(m, op->line, "spawn: a number is too large");
    }
    options.budget = has_budget ? &budget : NULL;
    options.stack_size = (size_t)scn_field_number(m, f, op, F_STACK, 0);
    options.caps = (uint32_t)scn_field_number(m, f, op, F_CAPS, 0);
    scn_frame *frame = scn_failed(m) ? NULL : scn_frame_new(m, op->body[0], op->line);
    if (frame == NULL)
        return ASX_OK;
    bool poll = m->options->vehicle == SCN_POLL;
    if (scn_field_of(m, op, F_POLL) != NULL || scn_field_of(m, op, F_FIBER) != NULL)
        poll = scn_field_of(m, op, F_POLL) != NULL;
    bool handle = as != NULL && scn_field_of(m, op, F_NO_HANDLE) == NULL;
    asx_task task = { 0 };
    asx_task *ret_task = handle ? &task : NULL;
    asx_status st =
        poll ? asx_spawn_poll_task_at(&region, scn_frame_poll, frame, &options, ret_task,
                                      scn_site(m, op))
             : asx_spawn_task_at(&region, scn_frame_call, frame, &options, ret_task,
                                 scn_site(m, op));
    if (st < 0) {
        scn_frame_drop(m, frame);
        return st;
    }
    if (as != NULL) {
        scn_thing *thing = &m->things[as->object];
        scn_begin(thing, scn_newest(m, f, ASX_EVENT_TASK_SPAWN));
        thing->u.task = task;
        scn_set_made(thing, handle);
    }
    return st;
}

static asx_status do_join(scn_machine *m, scn_frame *f, const scn_op *op, asx_task *task)
{
    asx_join_result result;
    memset(&result, 0, sizeof(result));
    asx_status st = asx_join(f->cx, task, &result);
    if (st < 0)
        return st;
    f->it = result.value;
    scn_check(m, f, op, F_RESULT, result.value);
    scn_check_word(m, op, F_OUTCOME, W_OUTCOME, result.outcome.kind);
    scn_check_status(m, op, F_STATUS, result.outcome.status);
    const scn_field *source = scn_field_of(m, op, F_SOURCE);
    if (source != NULL && m->options->mode != SCN_BARE &&
        result.outcome.source != scn_serial_of(m, source->object))
        scn_fail(m, op->line, "join: the outcome is of task %llu, expected %s",
                 (unsigned long long)result.outcome.source, m->s->objects[source->object].name);
    return st;
}

static const asx_cancel_reason *root_of(const asx_cancel_reason *reason)
{
    while (reason->cause != NULL)
        reason = reason->cause;
    return reason;
}

static void check_origin(scn_machine *m, scn_frame *f, const scn_op *op,
                         const asx_cancel_reason *reason)
{
    const scn_field *region_field = scn_field_of(m, op, F_ORIGIN_REGION);
    const scn_field *task_field = scn_field_of(m, op, F_ORIGIN_TASK);
    scn_op place = *op;
    asx_region region;
    asx_task task;
    if (region_field != NULL) {
        place.object[0] = region_field->object;
        if (scn_region_of(m, f, &place, 0, &region) &&
            !asx_handle_same(region.id, reason->origin_region))
            scn_fail(m, op->line, "check witness: the origin is another region than %s",
                     m->s->objects[region_field->object].name);
    }
    if (task_field != NULL) {
        place.object[0] = task_field->object;
        if (scn_task_of(m, f, &place, 0, &task) && !asx_handle_same(task.id, reason->origin_task))
            scn_fail(m, op->line, "check witness: the origin is another task than %s",
                     m->s->objects[task_field->object].name);
    }
}

static asx_status check_witness(scn_machine *m, scn_frame *f, const scn_op *op,
                                const asx_task *task)
{
    asx_cancel_witness w;
    asx_status st = asx_task_get_witness(task, &w);
    if (st < 0)
        return st;
    if (!asx_handle_same(w.task, task->id))
        scn_fail(m, op->line, "check witness: it is of another task");
    scn_check_word(m, op, F_KIND, W_CANCEL_KIND, w.reason.kind);
    scn_check_word(m, op, F_PHASE, W_CANCEL_PHASE, w.phase);
    scn_check(m, f, op, F_EPOCH, w.epoch);
    scn_check(m, f, op, F_EXCEEDED, w.cleanup_budget_exceeded);
    scn_check_text(m, op, F_MESSAGE, w.reason.message);
    scn_check(m, f, op, F_DEPTH, asx_cancel_reason_depth(&w.reason));
    const asx_cancel_reason *root = root_of(&w.reason);
    scn_check(m, f, op, F_TRUNCATED, root->truncated || w.reason.truncated);
    scn_check(m, f, op, F_CUT, root->truncated_depth);
    scn_check(m, f, op, F_AT, w.reason.timestamp);
    scn_check_word(m, op, F_ROOT_KIND, W_CANCEL_KIND, root->kind);
    check_origin(m, f, op, root);
    return st;
}

static asx_status on_task(scn_machine *m, scn_frame *f, const scn_op *op, asx_task *task)
{
    asx_task_state state = ASX_TASK_CREATED;
    asx_budget budget;
    asx_status st;
    asx_task other;
    switch (op->code) {
    case SCN_OP_JOIN:
        return do_join(m, f, op, task);
    case SCN_OP_LINK:
        return scn_task_of(m, f, op, 1, &other) ? asx_task_link(task, &other) : ASX_OK;
    case SCN_OP_PROBE_TASK:
        return asx_task_probe(
            task, (asx_task_state)scn_field_number(m, f, op, F_STATE, ASX_TASK_CREATED));
    case SCN_OP_CHECK_TASK:
        st = asx_task_get_state(task, &state);
        if (st >= 0)
            scn_check_word(m, op, F_STATE, W_TASK_STATE, state);
        return st;
    case SCN_OP_CHECK_WITNESS:
        return check_witness(m, f, op, task);
    case SCN_OP_WITNESS:
        st = asx_task_get_witness(task, &scn_slot_of(m, op, 1)->u.witness);
        if (st >= 0)
            scn_set_made(scn_slot_of(m, op, 1), true);
        return st;
    default:
        st = asx_task_get_cleanup(task, &budget);
        if (st >= 0)
            scn_check_budget(m, f, op, &budget);
        return st;
    }
}

/* ---- bodies that are called ---- */

/* The three functions of a bracket get one argument: the first of three frames. */
static asx_status bracket_acquire(asx_cx *cx, void *frame)
{
    return scn_frame_call(cx, frame);
}

static asx_status bracket_use(asx_cx *cx, void *frame)
{
    return scn_frame_call(cx, ((scn_frame *)frame)->also);
}

static asx_status bracket_release(asx_cx *cx, void *frame)
{
    return scn_frame_call(cx, ((scn_frame *)frame)->also->also);
}

static asx_status do_bracket(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_frame *first = NULL;
    for (unsigned i = 3; i-- > 0;) {
        scn_frame *frame = scn_frame_new(m, op->body[i], op->line);
        if (frame == NULL)
            return ASX_OK;
        frame->also = first;
        first = frame;
    }
    return asx_bracket(f->cx, bracket_acquire, bracket_use, bracket_release, first);
}

static asx_status do_call(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_frame *frame = scn_frame_new(m, op->body[0], op->line);
    asx_status st;
    if (frame == NULL)
        return ASX_OK;
    frame->it = f->it;
    switch (op->code) {
    case SCN_OP_MASKED:
        return asx_with_cancel_mask(f->cx, scn_frame_call, frame);
    case SCN_OP_SECTION:
        return asx_commit_section(f->cx, (uint32_t)scn_value_of(f, &op->value), scn_frame_call,
                                  frame);
    case SCN_OP_TIMEOUT: {
        asx_branch branch = { "timeout", scn_frame_call, frame };
        return asx_timeout(f->cx, &branch, scn_value_of(f, &op->value), NULL, NULL);
    }
    default:
        st = asx_task_defer(f->cx, scn_frame_call, frame);
        if (st < 0)
            scn_frame_drop(m, frame);
        return st;
    }
}

static asx_status do_flow(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_branch branches[3];
    size_t count = 0;
    for (; count < 3 && op->body[count] != SCN_NONE; count++) {
        scn_frame *frame = scn_frame_new(m, op->body[count], op->line);
        if (frame == NULL)
            return ASX_OK;
        branches[count] =
            (asx_branch){ m->s->bodies[op->body[count]].name, scn_frame_call, frame };
    }
    if (op->code == SCN_OP_JOIN_ALL) {
        asx_outcome outcome = ASX_OUTCOME_INIT_OK;
        asx_status st = asx_join_all(f->cx, branches, count, NULL, NULL, &outcome);
        scn_check_word(m, op, F_OUTCOME, W_OUTCOME, outcome.kind);
        return st;
    }
    size_t winner = SIZE_MAX;
    asx_join_result result;
    memset(&result, 0, sizeof(result));
    asx_status st = asx_race_all(f->cx, branches, count, NULL, &winner, &result);
    scn_check(m, f, op, F_WINNER, winner);
    scn_check_word(m, op, F_OUTCOME, W_OUTCOME, result.outcome.kind);
    return st;
}

/* ---- the running task ---- */

static asx_status check_self(scn_machine *m, scn_frame *f, const scn_op *op)
{
    const asx_cancel_reason *reason = NULL;
    asx_budget budget;
    scn_check(m, f, op, F_CANCELLED, asx_is_cancelled(f->cx));
    scn_check(m, f, op, F_NOW, asx_now(f->cx));
    scn_check(m, f, op, F_CAPS, asx_cx_caps(f->cx));
    asx_status st = asx_cx_budget(f->cx, &budget);
    if (st < 0)
        return st;
    scn_check_budget(m, f, op, &budget);
    if (scn_field_of(m, op, F_KIND) == NULL && scn_field_of(m, op, F_MESSAGE) == NULL)
        return st;
    st = asx_cx_cancel_reason(f->cx, &reason);
    if (st < 0)
        return st;
    scn_check_word(m, op, F_KIND, W_CANCEL_KIND, reason->kind);
    scn_check_text(m, op, F_MESSAGE, reason->message);
    return st;
}

static asx_status do_narrow(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_cx narrowed;
    asx_status st =
        asx_cx_narrow(f->cx, (uint32_t)scn_field_number(m, f, op, F_CAPS, ASX_CAP_NONE), &narrowed);
    if (st >= 0) {
        f->narrowed = narrowed;
        f->is_narrowed = true;
        f->cx = &f->narrowed;
    }
    return st;
}

static asx_status do_waker(scn_machine *m, scn_frame *f, const scn_op *op)
{
    if (op->code == SCN_OP_WAKER) {
        scn_thing *slot = scn_slot_of(m, op, 0);
        asx_status st = asx_cx_waker(f->cx, &slot->u.waker.call);
        if (st >= 0)
            st = asx_cx_region(f->cx, &slot->u.waker.region);
        if (st >= 0)
            scn_set_made(slot, true);
        return st;
    }
    const scn_thing *thing = scn_thing_of(m, f, op, 0);
    asx_region_state state = ASX_REGION_CLOSED;
    if (thing == NULL)
        return ASX_OK;
    asx_status st = asx_region_get_state(&thing->u.waker.region, &state);
    if (st < 0 || state == ASX_REGION_CLOSED)
        scn_fail(m, op->line, "wake: the region of its task is closed, and the waker with it");
    else
        thing->u.waker.call.wake(thing->u.waker.call.arg);
    return ASX_OK;
}

/* All other tasks wait for something. */
static asx_status check_settled(scn_machine *m, const scn_frame *f, const scn_op *op)
{
    asx_close_report report;
    memset(&report, 0, sizeof report);
    asx_status st = asx_runtime_report(m->rt, &report);
    if (st < 0)
        return st;
    for (size_t i = 0; i < report.items_len; i++) {
        const asx_report_item *item = &report.items[i];
        if (item->kind == ASX_REPORT_TASK && item->waits_for[0] == '\0' &&
            item->serial != scn_self(f))
            scn_fail(m, op->line, "settle: %s does not wait", item->name);
    }
    asx_close_report_deinit(&report);
    return st;
}

static asx_status for_itself(scn_machine *m, scn_frame *f, const scn_op *op)
{
    uint64_t n = scn_value_of(f, &op->value);
    switch (op->code) {
    case SCN_OP_SET_VALUE:
        return asx_task_set_value(f->cx, n);
    case SCN_OP_PANIC:
        asx_panic(f->cx, "%s", op->text == NULL ? "" : op->text);
    case SCN_OP_CHECKPOINT:
        return asx_checkpoint(f->cx);
    case SCN_OP_MASK:
        return asx_mask_begin(f->cx, (uint32_t)n);
    case SCN_OP_UNMASK:
        return asx_mask_end(f->cx);
    case SCN_OP_CONSUME:
        return asx_consume_cost(f->cx, n);
    case SCN_OP_SETTLE:
        return check_settled(m, f, op);
    case SCN_OP_YIELD:
        return asx_yield(f->cx);
    case SCN_OP_SLEEP:
        return asx_sleep(f->cx, n);
    case SCN_OP_SLEEP_UNTIL:
        return asx_sleep_until(f->cx, n);
    case SCN_OP_WAIT_EXTERNAL:
        return asx_wait_external(f->cx);
    case SCN_OP_NOTE:
        return asx_trace_user(f->cx, m->s->objects[op->object[0]].code, n);
    case SCN_OP_NARROW:
        return do_narrow(m, f, op);
    default:
        return check_self(m, f, op);
    }
}

asx_status scn_exec_task(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_task task;
    switch (op->code) {
    case SCN_OP_SPAWN:
        return do_spawn(m, f, op);
    case SCN_OP_WITNESS_STEP: {
        scn_thing *prev = scn_thing_of(m, f, op, 0);
        scn_thing *next = scn_thing_of(m, f, op, 1);
        if (prev == NULL || next == NULL)
            return ASX_OK;
        return asx_cancel_witness_check(&prev->u.witness, &next->u.witness);
    }
    case SCN_OP_JOIN:
    case SCN_OP_LINK:
    case SCN_OP_PROBE_TASK:
    case SCN_OP_CHECK_TASK:
    case SCN_OP_CHECK_WITNESS:
    case SCN_OP_WITNESS:
    case SCN_OP_CHECK_CLEANUP:
        return scn_task_of(m, f, op, 0, &task) ? on_task(m, f, op, &task) : ASX_OK;
    case SCN_OP_MASKED:
    case SCN_OP_SECTION:
    case SCN_OP_TASK_DEFER:
    case SCN_OP_TIMEOUT:
        return do_call(m, f, op);
    case SCN_OP_BRACKET:
        return do_bracket(m, f, op);
    case SCN_OP_JOIN_ALL:
    case SCN_OP_RACE:
        return do_flow(m, f, op);
    case SCN_OP_WAKER:
    case SCN_OP_WAKE:
        return do_waker(m, f, op);
    default:
        return for_itself(m, f, op);
    }
}
