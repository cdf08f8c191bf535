/* scn_exec_channel.c - operations on obligations and channels. Messages are 64-bit numbers. */
#include "cli/scn_exec.h"

#include <string.h>

static void count_drop(void *ctx, void *message)
{
    scn_thing *receiver = ctx;
    asx__store_relaxed(&receiver->u.rx.last_drop, *(const uint64_t *)message);
    asx__store_relaxed(&receiver->u.rx.drops, asx__load_relaxed(&receiver->u.rx.drops) + 1);
}

static asx_status do_channel(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_region region;
    scn_thing *tx = scn_slot_of(m, op, 1);
    scn_thing *rx = scn_slot_of(m, op, 2);
    asx_channel_options options = { .name = m->s->objects[op->object[1]].name,
                                    .drop = count_drop,
                                    .drop_ctx = rx };
    asx_channel_sender sender;
    asx_channel_receiver receiver;
    if (!scn_region_of(m, f, op, 0, &region))
        return ASX_OK;
    asx_status st =
        asx_channel_create(&region, sizeof(uint64_t), (size_t)scn_value_of(f, &op->value), &options,
                           &sender, &receiver);
    if (st < 0)
        return st;
    scn_begin(tx, scn_newest(m, f, ASX_EVENT_CHANNEL_CREATE));
    scn_begin(rx, tx->serial);
    tx->u.sender = sender;
    memset(&rx->u, 0, sizeof rx->u);
    rx->u.rx.receiver = receiver;
    scn_set_made(tx, true);
    scn_set_made(rx, true);
    return st;
}

/* ---- obligations ---- */

static asx_status do_oblige(scn_machine *m, scn_frame *f, const scn_op *op)
{
    asx_region region;
    asx_obligation obligation;
    bool lease = scn_field_of(m, op, F_LEASE) != NULL;
    if (!scn_region_of(m, f, op, 0, &region))
        return ASX_OK;
    asx_status st = asx_obligation_reserve_at(
        &region, lease ? ASX_OBLIGATION_KIND_LEASE : ASX_OBLIGATION_KIND_PLAIN, &obligation,
        scn_site(m, op));
    if (st < 0)
        return st;
    scn_thing *slot = scn_slot_of(m, op, 1);
    scn_begin(slot, scn_newest_obligation(m, scn_serial_of(m, op->object[0])));
    slot->u.obligation = obligation;
    scn_set_made(slot, true);
    return st;
}

static asx_status on_obligation(scn_machine *m, scn_frame *f, const scn_op *op,
                                asx_obligation *obligation)
{
    asx_obligation_state state = ASX_OBLIGATION_RESERVED;
    asx_status st;
    switch (op->code) {
    case SCN_OP_COMMIT:
        return asx_obligation_commit(obligation);
    case SCN_OP_ABORT:
        return asx_obligation_abort(obligation);
    case SCN_OP_PROBE_OBLIGATION:
        return asx_obligation_probe(
            obligation,
            (asx_obligation_state)scn_field_number(m, f, op, F_STATE, ASX_OBLIGATION_RESERVED));
    default:
        st = asx_obligation_get_state(obligation, &state);
        if (st >= 0)
            scn_check_word(m, op, F_STATE, W_OBLIGATION_STATE, state);
        return st;
    }
}

/* ---- permits ---- */

static asx_status do_reserve(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_thing *sender = scn_thing_of(m, f, op, 0);
    scn_thing *slot = scn_slot_of(m, op, 1);
    asx_tracked_permit permit;
    asx_status st;
    if (sender == NULL)
        return ASX_OK;
    if (op->code == SCN_OP_RESERVE_TRACKED)
        st = asx_channel_reserve_tracked_at(f->cx, &sender->u.sender, &permit, scn_site(m, op));
    else if (op->code == SCN_OP_TRY_RESERVE)
        st = asx_channel_try_reserve(f->cx, &sender->u.sender, &permit.permit);
    else
        st = asx_channel_reserve(f->cx, &sender->u.sender, &permit.permit);
    if (st >= 0) {
        scn_begin(slot, scn_newest_obligation(m, scn_self(f)));
        slot->u.permit = permit;
        scn_set_made(slot, true);
    }
    return st;
}

static asx_status on_permit(scn_machine *m, scn_frame *f, const scn_op *op, scn_thing *permit)
{
    uint64_t message = scn_value_of(f, &op->value);
    asx_committed_proof committed = { 0 };
    asx_aborted_proof aborted = { 0 };
    asx_status st;
    switch (op->code) {
    case SCN_OP_PERMIT_SEND:
        return asx_send_permit_send(&permit->u.permit.permit, &message);
    case SCN_OP_PERMIT_ABORT:
        return asx_send_permit_abort(&permit->u.permit.permit);
    case SCN_OP_TRACKED_SEND:
        st = asx_tracked_permit_send(&permit->u.permit, &message, &committed);
        if (st >= 0 && committed.obligation == 0)
            scn_fail(m, op->line, "tracked-send: the proof names no obligation");
        if (st >= 0)
            scn_check(m, f, op, F_PROOF, committed.message_number);
        return st;
    case SCN_OP_TRACKED_ABORT:
        st = asx_tracked_permit_abort(&permit->u.permit, &aborted);
        if (st >= 0 && aborted.obligation == 0)
            scn_fail(m, op->line, "tracked-abort: the proof names no obligation");
        return st;
    default:
        scn_copy_thing(scn_slot_of(m, op, 1), permit);
        return ASX_OK;
    }
}

/* ---- sending and receiving ---- */

static asx_status do_evict(scn_machine *m, scn_frame *f, const scn_op *op, scn_thing *sender)
{
    uint64_t message = scn_value_of(f, &op->value), evicted = 0;
    bool did = false;
    asx_status st =
        asx_channel_send_evict_oldest(f->cx, &sender->u.sender, &message, &evicted, &did);
    if (st < 0)
        return st;
    if (did && scn_field_of(m, op, F_NONE) != NULL)
        scn_fail(m, op->line, "evict: evicted %llu, expected none", (unsigned long long)evicted);
    if (!did && scn_field_of(m, op, F_RESULT) != NULL)
        scn_fail(m, op->line, "evict: evicted nothing");
    if (did) {
        f->it = evicted;
        scn_check(m, f, op, F_RESULT, evicted);
    }
    return st;
}

static void check_info(scn_machine *m, scn_frame *f, const scn_op *op,
                       const asx_channel_info *info)
{
    scn_check_word(m, op, F_STATE, W_CHANNEL, info->state);
    scn_check(m, f, op, F_CAPACITY, info->capacity);
    scn_check(m, f, op, F_USED, info->queued + info->reserved);
    scn_check(m, f, op, F_QUEUED, info->queued);
    scn_check(m, f, op, F_RESERVED, info->reserved);
    scn_check(m, f, op, F_SENDERS, info->senders);
    scn_check(m, f, op, F_SEND_WAITERS, info->send_waiters);
    scn_check(m, f, op, F_RECEIVER_WAITS, info->receiver_waits);
    scn_check(m, f, op, F_SENT, info->sent);
    scn_check(m, f, op, F_RECEIVED, info->received);
    scn_check(m, f, op, F_EVICTED, info->evicted);
    scn_check(m, f, op, F_DISCARDED, info->discarded);
}

static asx_status on_sender(scn_machine *m, scn_frame *f, const scn_op *op, scn_thing *sender)
{
    uint64_t message = scn_value_of(f, &op->value);
    asx_channel_info info;
    asx_channel_sender other;
    asx_status st;
    switch (op->code) {
    case SCN_OP_SEND:
        return asx_channel_send(f->cx, &sender->u.sender, &message);
    case SCN_OP_TRY_SEND:
        return asx_channel_try_send(f->cx, &sender->u.sender, &message);
    case SCN_OP_EVICT:
        return do_evict(m, f, op, sender);
    case SCN_OP_COPY_SENDER:
        scn_copy_thing(scn_slot_of(m, op, 1), sender);
        return ASX_OK;
    case SCN_OP_CLONE:
        st = asx_channel_sender_clone(&sender->u.sender, &other);
        if (st >= 0) {
            scn_begin(scn_slot_of(m, op, 1), sender->serial);
            scn_slot_of(m, op, 1)->u.sender = other;
            scn_set_made(scn_slot_of(m, op, 1), true);
        }
        return st;
    case SCN_OP_DROP_SENDER:
        return asx_channel_sender_drop(&sender->u.sender);
    default:
        st = asx_channel_sender_info(&sender->u.sender, &info);
        if (st >= 0)
            check_info(m, f, op, &info);
        return st;
    }
}

static asx_status do_recv(scn_machine *m, scn_frame *f, const scn_op *op,
                          asx_channel_receiver *receiver)
{
    uint64_t message = 0;
    asx_ack ack;
    asx_status st;
    if (op->code == SCN_OP_TRY_RECV)
        st = asx_channel_try_recv(f->cx, receiver, &message);
    else if (op->code == SCN_OP_RECV)
        st = asx_channel_recv(f->cx, receiver, &message);
    else
        st = asx_channel_recv_with_ack(f->cx, receiver, &message, &ack);
    if (st < 0)
        return st;
    if (op->code == SCN_OP_RECV_ACK) {
        scn_thing *slot = scn_slot_of(m, op, 1);
        scn_begin(slot, scn_newest_obligation(m, scn_self(f)));
        slot->u.ack = ack;
        scn_set_made(slot, true);
    }
    f->it = message;
    scn_check(m, f, op, F_RESULT, message);
    return st;
}

static asx_status on_receiver(scn_machine *m, scn_frame *f, const scn_op *op, scn_thing *rx)
{
    asx_channel_info info;
    asx_status st;
    switch (op->code) {
    case SCN_OP_DROP_RECEIVER:
        return asx_channel_receiver_drop(&rx->u.rx.receiver);
    case SCN_OP_CHECK_DROPS:
        scn_check(m, f, op, F_COUNT, asx__load_relaxed(&rx->u.rx.drops));
        scn_check(m, f, op, F_LAST, asx__load_relaxed(&rx->u.rx.last_drop));
        return ASX_OK;
    case SCN_OP_CHECK_CHANNEL:
        st = asx_channel_receiver_info(&rx->u.rx.receiver, &info);
        if (st >= 0)
            check_info(m, f, op, &info);
        return st;
    default:
        return do_recv(m, f, op, &rx->u.rx.receiver);
    }
}

asx_status scn_exec_channel(scn_machine *m, scn_frame *f, const scn_op *op)
{
    scn_thing *thing;
    switch (op->code) {
    case SCN_OP_OBLIGE:
        return do_oblige(m, f, op);
    case SCN_OP_CHANNEL:
        return do_channel(m, f, op);
    case SCN_OP_RESERVE:
    case SCN_OP_TRY_RESERVE:
    case SCN_OP_RESERVE_TRACKED:
        return do_reserve(m, f, op);
    default:
        break;
    }
    thing = scn_thing_of(m, f, op, 0);
    if (thing == NULL)
        return ASX_OK;
    switch (op->code) {
    case SCN_OP_COMMIT:
    case SCN_OP_ABORT:
    case SCN_OP_PROBE_OBLIGATION:
    case SCN_OP_CHECK_OBLIGATION:
        return on_obligation(m, f, op, &thing->u.obligation);
    case SCN_OP_PERMIT_SEND:
    case SCN_OP_PERMIT_ABORT:
    case SCN_OP_TRACKED_SEND:
    case SCN_OP_TRACKED_ABORT:
    case SCN_OP_COPY_PERMIT:
        return on_permit(m, f, op, thing);
    case SCN_OP_ACK:
        return asx_ack_commit(&thing->u.ack);
    case SCN_OP_NACK:
        return asx_ack_nack(&thing->u.ack);
    case SCN_OP_COPY_ACK:
        scn_copy_thing(scn_slot_of(m, op, 1), thing);
        return ASX_OK;
    case SCN_OP_RECV:
    case SCN_OP_TRY_RECV:
    case SCN_OP_RECV_ACK:
    case SCN_OP_DROP_RECEIVER:
    case SCN_OP_CHECK_CHANNEL:
    case SCN_OP_CHECK_DROPS:
        return on_receiver(m, f, op, thing);
    default:
        return on_sender(m, f, op, thing);
    }
}
