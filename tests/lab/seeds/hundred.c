/* A hundred tasks: ten regions of producers, a consumer, sleepers, a racer and one who cancels.
 * What each of them does depends on the seed; that they all end, and end well, does not. */
#include "seeds.h"

#include <stdlib.h>
#include <string.h>

enum { CELLS = 10, PRODUCERS = 4, MESSAGES = 5 };

typedef struct cell {
    asx_channel_sender tx[PRODUCERS];
    asx_channel_receiver rx;
    asx_task victims[PRODUCERS + 1];
    int victims_len;
    uint32_t received;
    int cleaned; /* of the racer: its own frames are gone when that runs */
} cell;

typedef struct producer_arg {
    cell *c;
    int index;
} producer_arg;

static asx_status produce(asx_cx *cx, void *arg)
{
    producer_arg *p = arg;
    asx_channel_sender *tx = &p->c->tx[p->index];
    asx_status st = ASX_OK;
    for (uint32_t i = 0; i < MESSAGES && st >= 0; i++) {
        asx_send_permit permit;
        if (seeds_draw(3) == 0)
            st = asx_sleep(cx, seeds_draw(20) * ASX_MS);
        if (st >= 0)
            st = asx_channel_reserve(cx, tx, &permit);
        if (st < 0)
            break;
        if (seeds_draw(8) == 0)
            st = asx_send_permit_abort(&permit);
        else
            st = asx_send_permit_send(&permit, &i);
    }
    (void)asx_channel_sender_drop(tx);
    return st == ASX_E_DISCONNECTED ? ASX_OK : st;
}

static asx_status consume(asx_cx *cx, void *arg)
{
    cell *c = arg;
    asx_status st = ASX_OK;
    while (st >= 0) {
        uint32_t message;
        asx_ack ack;
        if (seeds_draw(2) == 0) {
            st = asx_channel_recv(cx, &c->rx, &message);
        } else {
            st = asx_channel_recv_with_ack(cx, &c->rx, &message, &ack);
            if (st >= 0)
                st = seeds_draw(4) == 0 ? asx_ack_nack(&ack) : asx_ack_commit(&ack);
        }
        c->received += st >= 0;
        if (st >= 0 && seeds_draw(4) == 0)
            st = asx_sleep(cx, seeds_draw(5) * ASX_MS);
    }
    (void)asx_channel_receiver_drop(&c->rx);
    return st == ASX_E_DISCONNECTED ? ASX_OK : st;
}

static asx_status nap(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = ASX_OK;
    for (uint64_t i = 0; i < 3 && st >= 0; i++)
        st = asx_sleep(cx, (1 + seeds_draw(40)) * ASX_MS);
    return st;
}

static asx_status noted(asx_cx *cx, void *arg)
{
    (void)cx;
    (*(int *)arg)++;
    return ASX_OK;
}

static asx_status race_of_two(asx_cx *cx, void *arg)
{
    const asx_branch branches[] = { { "left", nap, NULL }, { "right", nap, NULL } };
    cell *c = arg;
    size_t winner;
    asx_status st = asx_task_defer(cx, noted, &c->cleaned);
    if (st >= 0)
        st = asx_race_all(cx, branches, 2, NULL, &winner, NULL);
    return st;
}

static asx_status cancel_some(asx_cx *cx, void *arg)
{
    cell *c = arg;
    asx_status st = asx_sleep(cx, seeds_draw(30) * ASX_MS);
    for (int i = 0; i < c->victims_len && st >= 0; i++)
        if (seeds_draw(3) == 0)
            (void)asx_task_cancel(&c->victims[i], NULL);
    return st;
}

static asx_status one_cell(asx_cx *cx, void *arg)
{
    cell c;
    producer_arg args[PRODUCERS];
    asx_region r;
    int closed = 0;
    asx_region_options options = { .name = "cell",
                                   .policy = seeds_draw(2) ? ASX_POLICY_COLLECT
                                                           : ASX_POLICY_FAIL_FAST,
                                   .timeout_ns = (10 + seeds_draw(150)) * ASX_MS };
    (void)arg;
    memset(&c, 0, sizeof c);
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    (void)asx_defer(&r, noted, &closed);
    st = asx_channel_create(&r, sizeof(uint32_t), 1 + seeds_draw(4), NULL, &c.tx[0], &c.rx);
    for (int i = 1; i < PRODUCERS && st >= 0; i++)
        st = asx_channel_sender_clone(&c.tx[0], &c.tx[i]);
    for (int i = 0; i < PRODUCERS && st >= 0; i++) {
        args[i] = (producer_arg){ &c, i };
        st = asx_spawn_task(&r, produce, &args[i], NULL, &c.victims[i]);
        c.victims_len += st >= 0;
    }
    if (st >= 0)
        st = asx_spawn_task(&r, consume, &c, NULL, &c.victims[PRODUCERS]);
    c.victims_len += st >= 0;
    if (st >= 0)
        st = asx_spawn(&r, "nap", nap, NULL);
    if (st >= 0)
        st = asx_spawn(&r, "race", race_of_two, &c);
    if (st >= 0)
        st = asx_spawn(&r, "cancel", cancel_some, &c);
    return asx_region_close(&r, st);
}

static asx_status hundred(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_region_options options = { .policy = ASX_POLICY_COLLECT };
    (void)arg;
    asx_status st = asx_region_open(cx, &options, &r);
    for (int i = 0; i < CELLS && st >= 0; i++)
        st = asx_spawn(&r, "cell", one_cell, NULL);
    return asx_region_close(&r, st);
}

int hundred_main(void)
{
    return seeds_asx_main(hundred, NULL);
}
