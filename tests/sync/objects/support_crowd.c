/* support_crowd.c - see crowd.h. */
#include "crowd.h"

/* What a worker can do now. Being inside, it gives way once, and leaves also when it is cancelled
 * there. */
static asx_status work(asx_cx *cx, struct crowd_worker *w)
{
    struct crowd *c = w->crowd;
    while (w->round < c->rounds) {
        asx_status st;
        if (!w->inside) {
            st = c->enter(cx, w);
            if (st < 0)
                return st;
            w->inside = true;
        }
        st = asx_yield(cx);
        if (st == ASX_E_WOULD_BLOCK)
            return st;
        c->leave(w);
        c->passed++;
        w->inside = false;
        w->round++;
        if (st < 0)
            return st;
    }
    return ASX_OK;
}

static asx_status work_fiber(asx_cx *cx, void *arg)
{
    struct crowd_worker *w = arg;
    asx_status st = work(cx, w);
    w->crowd->cancelled += st == ASX_E_CANCELLED;
    return st;
}

static asx_poll work_poll(asx_cx *cx, void *arg)
{
    struct crowd_worker *w = arg;
    asx_status st = work(cx, w);
    if (st == ASX_E_WOULD_BLOCK)
        return ASX_POLL_PENDING;
    w->crowd->cancelled += st == ASX_E_CANCELLED;
    return st < 0 ? asx_poll_fail(cx, st) : ASX_POLL_READY;
}

void crowd_run(asx_cx *cx, const asx_region *region, struct crowd *crowd)
{
    struct crowd_worker workers[CROWD_MAX];
    asx_task tasks[CROWD_MAX];
    CHECK_LE(crowd->workers, CROWD_MAX);
    for (unsigned i = 0; i < crowd->workers; i++) {
        workers[i] = (struct crowd_worker){ .crowd = crowd, .number = i };
        if (i % 2 == 0)
            CHECK_STATUS(asx_spawn_task(region, work_fiber, &workers[i], NULL, &tasks[i]), ASX_OK);
        else
            CHECK_STATUS(asx_spawn_poll_task(region, work_poll, &workers[i], NULL, &tasks[i]),
                         ASX_OK);
    }
    for (unsigned i = 0; i < crowd->cancels; i++) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_task_cancel(&tasks[i], NULL), ASX_OK);
    }
    for (unsigned i = 0; i < crowd->workers; i++)
        CHECK_STATUS(asx_join(cx, &tasks[i], NULL), ASX_OK);
    if (crowd->cancels == 0)
        CHECK_EQ(crowd->passed, crowd->workers * crowd->rounds);
    else /* those that nobody cancelled have come to the end */
        CHECK(crowd->cancelled >= 1 &&
              crowd->passed >= (crowd->workers - crowd->cancels) * crowd->rounds);
}

void crowd_check(asx_task_fn program)
{
    bool cancels = false;
    seeds_check(program, &cancels, 200);
    cancels = true;
    seeds_check(program, &cancels, 200);
}
