/* scn_exec_timer.c - operations on timer wheels and on the runtime. */
#include "cli/scn_exec.h"

#include <stdlib.h>
#include <string.h>

/* The waker of every timer: its argument is the timer's thing. */
static void fire(void *arg)
{
    ((scn_thing *)arg)->u.timer.fired++;
}

static asx_status do_wheel(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_thing *slot = scn_slot_of(m, op, 0);
    asx_timer_wheel *wheel = NULL;
    asx_timer_config config = {
        .start = scn_field_number(m, f, op, F_START, 0),
        .max_wheel_duration_ns = scn_field_number(m, f, op, F_MAX_WHEEL, 0),
        .max_timer_duration_ns = scn_field_number(m, f, op, F_MAX_TIMER, 0),
        .max_timers = scn_field_number(m, f, op, F_MAX_TIMERS, 0),
        .coalesce_window_ns = scn_field_number(m, f, op, F_COALESCE_WINDOW, 0),
        .coalesce_min_group = (uint32_t)scn_field_number(m, f, op, F_COALESCE_GROUP, 0),
        .first_generation = scn_field_number(m, f, op, F_FIRST_GENERATION, 0),
        .first_id = scn_field_number(m, f, op, F_FIRST_ID, 0),
    };
    if (scn_is_made(slot) && slot->owned)
        asx_timer_wheel_destroy(slot->u.wheel);
    scn_set_made(slot, false);
    asx_status st = asx_timer_wheel_create(op->field_count == 0 ? NULL : &config, &wheel);
    if (st < 0)
        return st;
    scn_begin(slot, 0);
    slot->owned = true;
    slot->u.wheel = wheel;
    scn_set_made(slot, true);
    return st;
}

static asx_status do_timer(scn_machine *m, scn_frame *f, const scn_op *op, asx_timer_wheel *wheel)
{
    unsigned place = op->code == SCN_OP_TIMER_UPDATE ? 2 : 1;
    scn_thing *slot = scn_slot_of(m, op, place);
    asx_time deadline = scn_value_of(f, &op->value);
    asx_waker waker = { fire, slot };
    asx_timer_handle handle = { 0, 0 };
    asx_status st;
    if (op->code == SCN_OP_TIMER_UPDATE) {
        scn_thing *old = scn_thing_of(m, f, op, 1);
        if (old == NULL)
            return ASX_OK;
        st = asx_timer_update(wheel, &old->u.timer.handle, deadline, waker, &handle);
    } else {
        st = asx_timer_register(wheel, deadline, waker, &handle);
    }
    if (st >= 0) {
        scn_begin(slot, 0);
        memset(&slot->u, 0, sizeof slot->u);
        slot->u.timer.handle = handle;
        scn_set_made(slot, true);
    }
    return st;
}

/* The name of the timer whose thing this is. */
static const char *timer_name(const scn_machine *m, const void *thing)
{
    return m->s->objects[(const scn_thing *)thing - m->things].name;
}

static void check_collected(scn_machine *m, const scn_op *op, const asx_waker *wakers,
                            size_t count)
{
    size_t at = 0;
    bool asked = false;
    for (uint32_t i = 0; i < op->field_count; i++) {
        const scn_field *field = &m->s->fields[op->field_first + i];
        if (field->key != F_FIRED)
            continue;
        asked = true;
        if (field->object == SCN_NONE)
            continue;
        const scn_thing *wanted = &m->things[field->object];
        if (at == count || wakers[at].arg != wanted)
            scn_fail(m, op->line, "collect: as number %zu fires %s, expected %s", at + 1,
                     at == count ? "nothing" : timer_name(m, wakers[at].arg),
                     m->s->objects[field->object].name);
        if (at < count)
            at++;
    }
    if (asked && at < count)
        scn_fail(m, op->line, "collect: %s fires too", timer_name(m, wakers[at].arg));
}

static asx_status do_collect(scn_machine *m, scn_frame *f, const scn_op *op,
                             asx_timer_wheel *wheel)
{
    asx_waker *wakers = calloc(SCN_WAKERS_MAX, sizeof *wakers);
    size_t max = (size_t)scn_field_number(m, f, op, F_MAX, SCN_WAKERS_MAX);
    if (wakers == NULL) {
        scn_fail(m, op->line, "out of memory");
        return ASX_OK;
    }
    if (max > SCN_WAKERS_MAX)
        max = SCN_WAKERS_MAX;
    size_t count = asx_timer_collect_expired(wheel, scn_value_of(f, &op->value), wakers, max);
    for (size_t i = 0; i < count; i++)
        wakers[i].wake(wakers[i].arg);
    f->it = count;
    check_collected(m, op, wakers, count);
    free(wakers);
    return ASX_OK;
}

static asx_status check_wheel(scn_machine *m, scn_frame *f, const scn_op *op,
                              const asx_timer_wheel *wheel)
{
    asx_timer_stats stats;
    asx_timer_wheel_stats(wheel, &stats);
    scn_check(m, f, op, F_LIVE, stats.live);
    scn_check(m, f, op, F_DEAD, stats.dead);
    scn_check(m, f, op, F_LEVEL0, stats.level_entries[0]);
    scn_check(m, f, op, F_LEVEL1, stats.level_entries[1]);
    scn_check(m, f, op, F_LEVEL2, stats.level_entries[2]);
    scn_check(m, f, op, F_LEVEL3, stats.level_entries[3]);
    scn_check(m, f, op, F_OVERFLOW, stats.overflow_entries);
    scn_check(m, f, op, F_NEAR, stats.near_entries);
    scn_check(m, f, op, F_CASCADES, stats.cascades);
    scn_check(m, f, op, F_PURGES, stats.purges);
    scn_check(m, f, op, F_STORAGE, stats.storage_bytes);
    scn_check(m, f, op, F_COUNT, asx_timer_count(wheel));
    return ASX_OK;
}

static asx_status on_wheel(scn_machine *m, scn_frame *f, const scn_op *op, scn_thing *thing)
{
    asx_timer_wheel *wheel = thing->u.wheel;
    switch (op->code) {
    case SCN_OP_DESTROY_WHEEL:
        if (thing->owned)
            asx_timer_wheel_destroy(wheel);
        scn_set_made(thing, false);
        return ASX_OK;
    case SCN_OP_TIMER:
    case SCN_OP_TIMER_UPDATE:
        return do_timer(m, f, op, wheel);
    case SCN_OP_TIMER_CANCEL: {
        scn_thing *timer = scn_thing_of(m, f, op, 1);
        if (timer != NULL) {
            f->it = asx_timer_cancel(wheel, &timer->u.timer.handle);
            scn_check(m, f, op, F_RESULT, f->it);
        }
        return ASX_OK;
    }
    case SCN_OP_COLLECT:
        return do_collect(m, f, op, wheel);
    case SCN_OP_NEXT_DEADLINE:
        f->it = asx_timer_next_deadline(wheel);
        scn_check(m, f, op, F_RESULT, f->it);
        return ASX_OK;
    default:
        return check_wheel(m, f, op, wheel);
    }
}

/* ---- runtime ---- */

static asx_status check_stats(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_stats stats;
    asx_fairness_certificate cert;
    uint64_t value;
    asx_status st = op->code == SCN_OP_CHECK_STATS ? asx_runtime_stats(m->rt, &stats)
                                                   : asx_runtime_certificate(m->rt, &cert);
    if (st < 0)
        return st;
    for (uint32_t i = 0; i < op->field_count; i++) {
        scn_key key = (scn_key)m->s->fields[op->field_first + i].key;
        if (op->code == SCN_OP_CHECK_STATS ? scn_stats_field(&stats, key, &value)
                                           : scn_certificate_field(&cert, key, &value))
            scn_check(m, f, op, key, value);
    }
    return st;
}

/* Everything that a refused call may not change. */
static asx_status check_unchanged(scn_machine *m, const scn_op *op)
{
    asx_stats now;
    asx_status st = asx_runtime_stats(m->rt, &now);
    if (st < 0)
        return st;
    for (const scn_field_form *form = scn_fields_stats; form->text != NULL; form++) {
        uint64_t before = 0, after = 0;
        (void)scn_stats_field(&m->snapshot, (scn_key)form->key, &before);
        (void)scn_stats_field(&now, (scn_key)form->key, &after);
        if (before != after && form->key != F_TURNS)
            scn_fail(m, op->line, "check unchanged: %s was %llu and is %llu", form->text,
                     (unsigned long long)before, (unsigned long long)after);
    }
    return st;
}

static asx_status on_runtime(scn_machine *m, scn_frame *f, const scn_op *op)
{
    uint64_t n = scn_value_of(f, &op->value);
    switch (op->code) {
    case SCN_OP_ADVANCE:
        return asx_runtime_advance(m->rt, n);
    case SCN_OP_GOVERNOR:
        return asx_runtime_set_governor(
            m->rt,
            (asx_governor)scn_field_number(m, f, op, F_GOVERNOR, ASX_GOVERNOR_NO_PREFERENCE));
    case SCN_OP_QUIESCENT:
        return asx_runtime_quiescent(m->rt);
    case SCN_OP_SHUTDOWN:
        return asx_runtime_shutdown(m->rt, n, NULL);
    case SCN_OP_SNAPSHOT:
        return asx_runtime_stats(m->rt, &m->snapshot);
    case SCN_OP_CHECK_UNCHANGED:
        return check_unchanged(m, op);
    case SCN_OP_TRACE_STATUS:
        return asx_runtime_trace_status(m->rt);
    default:
        return check_stats(m, f, op);
    }
}

asx_status scn_exec_timer(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_thing *thing;
    if (op->code >= SCN_OP_ADVANCE)
        return on_runtime(m, f, op);
    switch (op->code) {
    case SCN_OP_WHEEL:
        return do_wheel(m, f, op);
    case SCN_OP_RUNTIME_WHEEL:
        thing = scn_slot_of(m, op, 0);
        scn_begin(thing, 0);
        thing->u.wheel = asx_runtime_timers(m->rt);
        scn_set_made(thing, true);
        return ASX_OK;
    case SCN_OP_TIMER_FORGE:
        thing = scn_slot_of(m, op, 0);
        scn_begin(thing, 0);
        memset(&thing->u, 0, sizeof thing->u);
        thing->u.timer.handle.id = scn_field_number(m, f, op, F_ID, 0);
        thing->u.timer.handle.generation = scn_field_number(m, f, op, F_GENERATION, 0);
        scn_set_made(thing, true);
        return ASX_OK;
    case SCN_OP_CHECK_TIMER:
        thing = scn_thing_of(m, f, op, 0);
        if (thing == NULL)
            return ASX_OK;
        scn_check(m, f, op, F_ID, thing->u.timer.handle.id);
        scn_check(m, f, op, F_GENERATION, thing->u.timer.handle.generation);
        scn_check(m, f, op, F_FIRED, thing->u.timer.fired > 0);
        return ASX_OK;
    default:
        thing = scn_thing_of(m, f, op, 0);
        return thing == NULL ? ASX_OK : on_wheel(m, f, op, thing);
    }
}
