/* support_frame.h - what the programs of support_kinds.c, support_sync_kinds.c and
 * support_task_kinds.c have in common: the objects that tasks share, how three of them are started,
 * and what several kinds do. */
#ifndef ASX_TESTS_FRAME_H
#define ASX_TESTS_FRAME_H

#include <asx/asx_lab.h>

typedef struct shared {
    int steps;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mpmc_sender any_tx;
    asx_mpmc_receiver any_rx;
    asx_broadcast broadcast;
    asx_broadcast_receiver heard[2];
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_condition condition;
    asx_notify notify;
    asx_watch watch;
    asx_task first;
    int ready;
} shared;

static int cells[3];

/* Calls it so often, `i` being the number of the call, and returns what the last call said; a
 * failure is the last. */
#define RETURN_EACH(count, call)                                                                   \
    do {                                                                                           \
        asx_status st_ = ASX_OK;                                                                   \
        for (int i = 0; i < (count) && st_ >= 0; i++)                                              \
            st_ = (call);                                                                          \
        return st_;                                                                                \
    } while (0)

static inline void begin(asx_cx *cx, shared *s, const int *steps, asx_region *ret_region)
{
    s->steps = *steps;
    s->ready = cells[0] = cells[1] = cells[2] = 0;
    asx_lab_check(cx, asx_region_open(cx, NULL, ret_region) == ASX_OK);
}

static inline void run(asx_cx *cx, asx_region *r, shared *s, asx_task_fn a, asx_task_fn b,
                       asx_task_fn c)
{
    asx_lab_check(cx, asx_spawn_task(r, a, s, NULL, &s->first) == ASX_OK);
    asx_lab_check(cx, asx_spawn(r, "b", b, s) == ASX_OK);
    asx_lab_check(cx, asx_spawn(r, "c", c, s) == ASX_OK);
    asx_lab_check(cx, asx_region_close(r, ASX_OK) == ASX_OK);
}

/* With nothing but cells. */
static inline void run_alone(asx_cx *cx, const int *steps, asx_task_fn a, asx_task_fn b,
                             asx_task_fn c)
{
    asx_region r;
    shared s;
    begin(cx, &s, steps, &r);
    run(cx, &r, &s, a, b, c);
}

static inline void run_on_channel(asx_cx *cx, const int *steps, int capacity, asx_task_fn a,
                                  asx_task_fn b, asx_task_fn c)
{
    asx_region r;
    shared s;
    begin(cx, &s, steps, &r);
    asx_lab_check(cx, asx_channel_create(&r, sizeof(int), (size_t)capacity, NULL, &s.tx, &s.rx) ==
                          ASX_OK);
    run(cx, &r, &s, a, b, c);
}

static inline void run_on_any(asx_cx *cx, const int *steps, int capacity, asx_task_fn a,
                              asx_task_fn b, asx_task_fn c)
{
    asx_region r;
    shared s;
    begin(cx, &s, steps, &r);
    asx_lab_check(cx, asx_mpmc_create(&r, sizeof(int), (size_t)capacity, NULL, &s.any_tx,
                                      &s.any_rx) ==
                          ASX_OK);
    run(cx, &r, &s, a, b, c);
}

static inline asx_status send_some(asx_cx *cx, shared *s, int count)
{
    RETURN_EACH(count, asx_channel_send(cx, &s->tx, &i));
}

static inline asx_status send_some_to_any(asx_cx *cx, shared *s, int count)
{
    RETURN_EACH(count, asx_mpmc_send(cx, &s->any_tx, &i));
}

static inline asx_status gives(asx_cx *cx, void *arg)
{
    shared *s = arg;
    return send_some_to_any(cx, s, s->steps / 3);
}

static inline asx_status looks(asx_cx *cx, void *arg)
{
    shared *s = arg;
    int message;
    (void)cx;
    for (int i = 0; i < s->steps / 3; i++)
        (void)asx_channel_try_recv(cx, &s->rx, &message);
    return ASX_OK;
}

static inline asx_status looks_for_any(asx_cx *cx, void *arg)
{
    shared *s = arg;
    int message;
    for (int i = 0; i < s->steps / 3; i++)
        (void)asx_mpmc_try_recv(cx, &s->any_rx, &message);
    return ASX_OK;
}

static inline asx_status waits_a_bit(asx_cx *cx, void *arg)
{
    shared *s = arg;
    int message;
    for (int i = 0; i < s->steps / 2; i++) {
        asx_region r;
        if (asx_region_open(cx, &(asx_region_options){ .timeout_ns = 10 }, &r) < 0)
            break;
        asx_status st = asx_channel_recv(cx, &s->rx, &message);
        (void)asx_region_close(&r, st);
    }
    return ASX_OK;
}

#endif
