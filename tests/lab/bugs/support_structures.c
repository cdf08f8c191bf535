/* Bugs of the C suites in queues, stacks and conditions. */
#include "support_bugs.h"

static bool bad;
static asx_lab_mutex m;

/* ---- work-stealing queue: owner and thief both take the last item ---------------------------- */

enum { ITEMS = 2 };
static int items[ITEMS], taken[ITEMS];
static int head, tail;

static void deque(bool with_bug)
{
    bad = with_bug;
    m = (asx_lab_mutex){ 0 };
    head = 0;
    tail = ITEMS;
    for (int i = 0; i < ITEMS; i++) {
        items[i] = i;
        taken[i] = 0;
    }
}

static void take(asx_cx *cx, int item)
{
    asx_lab_check(cx, asx_lab_fetch_add(cx, &taken[item], 1) == 0);
}

/* The owner takes from the tail. Bad: it looks at the head only before it has moved the tail. */
static asx_status owner(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < ITEMS; i++) {
        int h = asx_lab_load(cx, &head);
        int t = asx_lab_load(cx, &tail) - 1;
        if (bad && h > t)
            break;
        asx_lab_store(cx, &tail, t);
        if (!bad) {
            h = asx_lab_load(cx, &head);
            if (h > t) {
                asx_lab_store(cx, &tail, h);
                break;
            }
            if (h == t) {
                bool won = asx_lab_cas(cx, &head, h, h + 1);
                asx_lab_store(cx, &tail, h + 1);
                if (!won)
                    break;
            }
        }
        take(cx, items[t]);
    }
    return ASX_OK;
}

static asx_status thief(asx_cx *cx, void *arg)
{
    (void)arg;
    for (int i = 0; i < ITEMS; i++) {
        int h = asx_lab_load(cx, &head);
        int t = asx_lab_load(cx, &tail);
        if (h >= t)
            break;
        int item = items[h];
        if (asx_lab_cas(cx, &head, h, h + 1))
            take(cx, item);
    }
    return ASX_OK;
}

BUG(work_stealing_queue, deque, PLAY(cx, { "owner", owner, 1 }, { "thief", thief, 1 }))

/* ---- lost wake-up: asked, then slept, and in between it was told ----------------------------- */

static int ready, sleeping;
static asx_lab_semaphore bed;

static void awake(bool with_bug)
{
    bad = with_bug;
    m = (asx_lab_mutex){ 0 };
    ready = sleeping = 0;
    bed = (asx_lab_semaphore){ 0 };
}

static asx_status sleeper(asx_cx *cx, void *arg)
{
    (void)arg;
    if (!bad)
        LOCK(&m);
    bool wait = !asx_lab_load(cx, &ready);
    if (wait)
        asx_lab_store(cx, &sleeping, 1);
    if (!bad)
        UNLOCK(&m);
    if (wait)
        ACQUIRE(&bed);
    return ASX_OK;
}

static asx_status waker(asx_cx *cx, void *arg)
{
    (void)arg;
    if (!bad)
        LOCK(&m);
    asx_lab_store(cx, &ready, 1);
    bool wake = asx_lab_load(cx, &sleeping);
    if (!bad)
        UNLOCK(&m);
    if (wake)
        RELEASE(&bed);
    return ASX_OK;
}

BUG(lost_wakeup, awake, PLAY(cx, { "sleeper", sleeper, 1 }, { "waker", waker, 1 }))

/* ---- queue with a bad check: full and empty are looked at outside of the lock ---------------- */

enum { ROOM = 2 };
static int queued;

static void queue(bool with_bug)
{
    bad = with_bug;
    m = (asx_lab_mutex){ 0 };
    queued = ROOM - 1;
}

static asx_status put(asx_cx *cx, void *arg)
{
    (void)arg;
    if (!bad)
        LOCK(&m);
    bool room = asx_lab_load(cx, &queued) < ROOM;
    if (bad)
        LOCK(&m);
    if (room) {
        int now = asx_lab_fetch_add(cx, &queued, 1) + 1;
        asx_lab_check(cx, now <= ROOM);
    }
    UNLOCK(&m);
    return ASX_OK;
}

BUG(queue_bad_check, queue, PLAY(cx, { "put", put, 2 }))

/* ---- stack pop: the top is what it was, but not the one below (ABA) -------------------------- */

enum { NODES = 3 };
static int top, below[NODES + 1], owned[NODES + 1]; /* node numbers from 1; 0: none */


static void stack_of_nodes(bool with_bug)
{
    bad = with_bug;
    m = (asx_lab_mutex){ 0 };
    top = 1;

    for (int i = 1; i <= NODES; i++) {
        below[i] = i < NODES ? i + 1 : 0;
        owned[i] = 0;
    }
}

/* Repaired: the top carries a version, so that a node that came back is not the same. */
static int pop(asx_cx *cx)
{
    for (;;) {
        int seen = asx_lab_load(cx, &top);
        int node = seen & 0xff;
        if (node == 0)
            return 0;
        int next = asx_lab_load(cx, &below[node]);
        int desired = bad ? next : ((seen + 0x100) & ~0xff) | next;
        if (asx_lab_cas(cx, &top, seen, desired)) {
            asx_lab_check(cx, asx_lab_fetch_add(cx, &owned[node], 1) == 0);
            return node;
        }
    }
}

static void push(asx_cx *cx, int node)
{
    (void)asx_lab_fetch_add(cx, &owned[node], -1);
    for (;;) {
        int seen = asx_lab_load(cx, &top);
        asx_lab_store(cx, &below[node], seen & 0xff);
        int desired = bad ? node : ((seen + 0x100) & ~0xff) | node;
        if (asx_lab_cas(cx, &top, seen, desired))
            return;
    }
}

static asx_status pop_one(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)pop(cx);
    (void)pop(cx);
    return ASX_OK;
}

static asx_status pop_two_push_one(asx_cx *cx, void *arg)
{
    (void)arg;
    int first = pop(cx);
    (void)pop(cx);
    if (first != 0)
        push(cx, first);
    return ASX_OK;
}

BUG(stack_aba, stack_of_nodes,
    PLAY(cx, { "pop", pop_one, 1 }, { "shuffle", pop_two_push_one, 1 }))

/* ---- condition waited for after its signaller returned --------------------------------------- */

static int waiting, signalled;

static void nobody_waits(bool with_bug)
{
    awake(with_bug);
    waiting = signalled = 0;
}

/* A condition: waiting gives the lock back and sleeps; a signal reaches those who wait. */
static void wait_for_signal(asx_cx *cx)
{
    asx_lab_store(cx, &waiting, asx_lab_load(cx, &waiting) + 1);
    UNLOCK(&m);
    ACQUIRE(&bed);
    LOCK(&m);
}

static asx_status signaller(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m);
    asx_lab_store(cx, &signalled, 1);
    if (asx_lab_load(cx, &waiting) > 0)
        RELEASE(&bed);
    UNLOCK(&m);
    return ASX_OK;
}

static asx_status late_waiter(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m);
    if (bad || !asx_lab_load(cx, &signalled))
        wait_for_signal(cx);
    UNLOCK(&m);
    return ASX_OK;
}

BUG(late_wait, nobody_waits, PLAY(cx, { "signaller", signaller, 1 }, { "waiter", late_waiter, 1 }))
