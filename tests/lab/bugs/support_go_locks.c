/* Bugs of the Go kernels that need locks and joins only. */
#include "support_bugs.h"

static bool bad;
static asx_lab_mutex m1, m2;
static int running, closed_times;

static void fresh(bool with_bug)
{
    bad = with_bug;
    m1 = m2 = (asx_lab_mutex){ 0 };
    running = 1;
    closed_times = 0;
}

/* ---- two locks in opposite orders, one of them behind a call --------------------------------- */

static void update(asx_cx *cx)
{
    LOCK(&m2);
    running++;
    UNLOCK(&m2);
}

static asx_status account_then_log(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    update(cx);
    UNLOCK(&m1);
    return ASX_OK;
}

static asx_status log_then_account(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m2);
    if (!bad)
        UNLOCK(&m2);
    LOCK(&m1);
    running--;
    UNLOCK(&m1);
    if (bad)
        UNLOCK(&m2);
    return ASX_OK;
}

BUG(lock_order, fresh,
    PLAY(cx, { "account", account_then_log, 1 }, { "log", log_then_account, 1 }))

/* ---- a stop that holds the lock which a worker needs to stop --------------------------------- */

static asx_status worker(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    bool more = running != 0;
    UNLOCK(&m1);
    if (more) {
        LOCK(&m1);
        closed_times++;
        UNLOCK(&m1);
    }
    return ASX_OK;
}

static void stop(asx_cx *cx, int workers)
{
    asx_region r;
    asx_lab_check(cx, asx_region_open(cx, NULL, &r) == ASX_OK);
    for (int i = 0; i < workers; i++)
        asx_lab_check(cx, asx_spawn(&r, "worker", worker, NULL) == ASX_OK);
    LOCK(&m1);
    running = 0;
    if (!bad)
        UNLOCK(&m1);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
    if (bad)
        UNLOCK(&m1);
}

BUG(stop_under_lock, fresh, stop(cx, 2))

/* ---- a wait-group that is waited for inside the lock its members need ------------------------ */

static asx_status member(asx_cx *cx, void *arg)
{
    LOCK(&m1);
    ((int *)arg)[0]++;
    UNLOCK(&m1);
    return ASX_OK;
}

static void wait_group(asx_cx *cx)
{
    asx_region r;
    asx_task members[2];
    int done = 0;
    asx_lab_check(cx, asx_region_open(cx, NULL, &r) == ASX_OK);
    for (int i = 0; i < 2; i++)
        asx_lab_check(cx, asx_spawn_task(&r, member, &done, NULL, &members[i]) == ASX_OK);
    if (bad)
        LOCK(&m1);
    for (int i = 0; i < 2; i++)
        asx_lab_check(cx, asx_join(cx, &members[i], NULL) == ASX_OK);
    if (!bad)
        LOCK(&m1);
    asx_lab_check(cx, done == 2);
    UNLOCK(&m1);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
}

BUG(wait_group_in_lock, fresh, wait_group(cx))

/* ---- double close: everybody sees it open, everybody closes it ------------------------------- */

static int open_flag;

static void door(bool with_bug)
{
    fresh(with_bug);
    open_flag = 1;
}

static asx_status closer(asx_cx *cx, void *arg)
{
    (void)arg;
    bool mine;
    if (bad) {
        mine = asx_lab_load(cx, &open_flag) == 1;
        if (mine)
            asx_lab_store(cx, &open_flag, 0);
    } else {
        mine = asx_lab_cas(cx, &open_flag, 1, 0);
    }
    if (mine)
        asx_lab_check(cx, asx_lab_fetch_add(cx, &closed_times, 1) == 0);
    return ASX_OK;
}

BUG(double_close, door, PLAY(cx, { "closer", closer, 3 }))
