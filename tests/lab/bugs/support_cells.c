/* Bugs of the C suites that need cells and locks only. */
#include "support_bugs.h"

static bool bad;
static asx_lab_mutex m1, m2;
static int a, b;

static void fresh(bool with_bug)
{
    bad = with_bug;
    m1 = m2 = (asx_lab_mutex){ 0 };
    a = b = 0;
}

/* ---- account: the balance is read before the lock is taken ----------------------------------- */

static asx_status deposit(asx_cx *cx, void *arg)
{
    (void)arg;
    int seen = bad ? asx_lab_load(cx, &a) : 0;
    LOCK(&m1);
    if (!bad)
        seen = asx_lab_load(cx, &a);
    asx_lab_store(cx, &a, seen + 10);
    UNLOCK(&m1);
    return ASX_OK;
}

static asx_status withdraw(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    asx_lab_store(cx, &a, asx_lab_load(cx, &a) - 5);
    UNLOCK(&m1);
    return ASX_OK;
}

BUG(account, fresh, PLAY(cx, { "deposit", deposit, 1 }, { "withdraw", withdraw, 1 });
    asx_lab_check(cx, a == 5))

/* ---- bluetooth driver: the stop flag is looked at before the request is counted -------------- */

static int stopping, stopped, pending;
static asx_lab_semaphore drained;

static void driver(bool with_bug)
{
    fresh(with_bug);
    stopping = stopped = 0;
    pending = 1;
    drained = (asx_lab_semaphore){ 0 };
}

static void leave(asx_cx *cx)
{
    if (asx_lab_fetch_add(cx, &pending, -1) == 1)
        RELEASE(&drained);
}

static asx_status request(asx_cx *cx, void *arg)
{
    (void)arg;
    if (bad && asx_lab_load(cx, &stopping))
        return ASX_OK;
    (void)asx_lab_fetch_add(cx, &pending, 1);
    if (bad || !asx_lab_load(cx, &stopping))
        asx_lab_check(cx, !asx_lab_load(cx, &stopped));
    leave(cx);
    return ASX_OK;
}

static asx_status stop(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_store(cx, &stopping, 1);
    leave(cx);
    ACQUIRE(&drained);
    asx_lab_store(cx, &stopped, 1);
    return ASX_OK;
}

BUG(bluetooth, driver, PLAY(cx, { "request", request, 1 }, { "stop", stop, 1 }))

/* ---- deadlock01: two locks in opposite orders ------------------------------------------------ */

static asx_status first_then_second(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    LOCK(&m2);
    a++;
    UNLOCK(&m2);
    UNLOCK(&m1);
    return ASX_OK;
}

static asx_status second_then_first(asx_cx *cx, void *arg)
{
    if (!bad)
        return first_then_second(cx, arg);
    LOCK(&m2);
    LOCK(&m1);
    a++;
    UNLOCK(&m1);
    UNLOCK(&m2);
    return ASX_OK;
}

BUG(deadlock01, fresh,
    PLAY(cx, { "forwards", first_then_second, 1 }, { "backwards", second_then_first, 1 }))

/* ---- token ring: a value that three hand on and a fourth compares; nobody waits for its token */

static int ring[3];
static asx_lab_semaphore token[5];

static void tokens(bool with_bug)
{
    fresh(with_bug);
    memset(token, 0, sizeof token);
    token[0].units = 1;
    ring[0] = ring[2] = 1;
    ring[1] = 2;
}

static asx_status pass(asx_cx *cx, void *arg)
{
    intptr_t i = (intptr_t)arg;
    if (!bad)
        ACQUIRE(&token[i]);
    if (i < 3) {
        int before = asx_lab_load(cx, &ring[(i + 2) % 3]);
        asx_lab_store(cx, &ring[i], i == 0 ? (before + 1) % 4 : before);
    } else {
        int first = asx_lab_load(cx, &ring[0]);
        asx_lab_check(cx, asx_lab_load(cx, &ring[1]) == first);
        asx_lab_check(cx, asx_lab_load(cx, &ring[2]) == first);
    }
    if (!bad)
        RELEASE(&token[i + 1]);
    return ASX_OK;
}

BUG(token_ring, tokens, PLAY(cx, { "pass", pass, 4 }))

/* ---- reorder: two stores that somebody sees one of ------------------------------------------- */

static asx_status set_both(asx_cx *cx, void *arg)
{
    (void)arg;
    if (!bad)
        LOCK(&m1);
    asx_lab_store(cx, &a, 1);
    asx_lab_store(cx, &b, -1);
    if (!bad)
        UNLOCK(&m1);
    return ASX_OK;
}

static asx_status check_both(asx_cx *cx, void *arg)
{
    (void)arg;
    if (!bad)
        LOCK(&m1);
    int one = asx_lab_load(cx, &a);
    int two = asx_lab_load(cx, &b);
    if (!bad)
        UNLOCK(&m1);
    asx_lab_check(cx, (one == 0 && two == 0) || (one == 1 && two == -1));
    return ASX_OK;
}

#define REORDER(n)                                                                                 \
    BUG(reorder_##n, fresh, PLAY(cx, { "set", set_both, (n) - 1 }, { "check", check_both, 1 }))
REORDER(3)
REORDER(4)
REORDER(5)
REORDER(10)
REORDER(20)

/* ---- two-stage: two locks for what belongs together ------------------------------------------ */

static asx_status stage_writer(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    asx_lab_store(cx, &a, 1);
    if (bad) {
        UNLOCK(&m1);
        LOCK(&m2);
    }
    asx_lab_store(cx, &b, 2);
    UNLOCK(bad ? &m2 : &m1);
    return ASX_OK;
}

static asx_status stage_reader(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    int one = asx_lab_load(cx, &a);
    if (bad) {
        UNLOCK(&m1);
        LOCK(&m2);
    }
    int two = asx_lab_load(cx, &b);
    UNLOCK(bad ? &m2 : &m1);
    asx_lab_check(cx, one == 0 || two == one + 1);
    return ASX_OK;
}

#define TWO_STAGE(n)                                                                               \
    BUG(two_stage_##n, fresh,                                                                      \
        PLAY(cx, { "writer", stage_writer, n }, { "reader", stage_reader, 1 }))
TWO_STAGE(2)
TWO_STAGE(19)
TWO_STAGE(49)
TWO_STAGE(99)

/* ---- wrong lock: the same data under different locks ----------------------------------------- */

static asx_status under_one(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    int before = asx_lab_load(cx, &a);
    asx_lab_store(cx, &a, before + 1);
    asx_lab_check(cx, asx_lab_load(cx, &a) == before + 1);
    UNLOCK(&m1);
    return ASX_OK;
}

static asx_status under_other(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(bad ? &m2 : &m1);
    asx_lab_store(cx, &a, asx_lab_load(cx, &a) + 1);
    UNLOCK(bad ? &m2 : &m1);
    return ASX_OK;
}

BUG(wrong_lock_1, fresh, PLAY(cx, { "one", under_one, 1 }, { "other", under_other, 1 }))
BUG(wrong_lock_3, fresh, PLAY(cx, { "one", under_one, 1 }, { "other", under_other, 3 }))

/* ---- dining philosophers --------------------------------------------------------------------- */

enum { SEATS_MAX = 16 };
static asx_lab_mutex forks[SEATS_MAX];
static intptr_t seats;

static void table_is_laid(bool with_bug)
{
    fresh(with_bug);
    memset(forks, 0, sizeof forks);
}

/* Repaired: the last one is right-handed. */
static asx_status dine(asx_cx *cx, void *arg)
{
    intptr_t left = (intptr_t)arg, right = (left + 1) % seats;
    if (!bad && right == 0) {
        right = left;
        left = 0;
    }
    LOCK(&forks[left]);
    LOCK(&forks[right]);
    UNLOCK(&forks[right]);
    UNLOCK(&forks[left]);
    return ASX_OK;
}

#define DINNER(n) BUG(philosophers_##n, table_is_laid, seats = (n); PLAY(cx, { "diner", dine, n }))
DINNER(2)
DINNER(3)
DINNER(4)
DINNER(5)
DINNER(6)
DINNER(7)

/* ---- double-checked initialization: the flag is set before the value ------------------------- */

static asx_status use(asx_cx *cx, void *arg)
{
    (void)arg;
    if (!asx_lab_load(cx, &a)) {
        LOCK(&m1);
        if (!asx_lab_load(cx, &a)) {
            if (bad)
                asx_lab_store(cx, &a, 1);
            asx_lab_store(cx, &b, 42);
            if (!bad)
                asx_lab_store(cx, &a, 1);
        }
        UNLOCK(&m1);
    }
    asx_lab_check(cx, asx_lab_load(cx, &b) == 42);
    return ASX_OK;
}

BUG(double_checked_init, fresh, PLAY(cx, { "use", use, 2 }))

/* ---- stateful readers and writers: who is in is counted, but not under the lock -------------- */

static int readers, writing;

static void nobody_in(bool with_bug)
{
    fresh(with_bug);
    readers = writing = 0;
}

static asx_status read_shared(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    bool free_to_read = !asx_lab_load(cx, &writing);
    if (bad)
        UNLOCK(&m1);
    if (free_to_read)
        (void)asx_lab_fetch_add(cx, &readers, 1);
    if (!bad)
        UNLOCK(&m1);
    if (!free_to_read)
        return ASX_OK;
    asx_lab_check(cx, !asx_lab_load(cx, &writing));
    (void)asx_lab_fetch_add(cx, &readers, -1);
    return ASX_OK;
}

static asx_status write_shared(asx_cx *cx, void *arg)
{
    (void)arg;
    LOCK(&m1);
    bool alone = asx_lab_load(cx, &readers) == 0 && !asx_lab_load(cx, &writing);
    if (alone)
        asx_lab_store(cx, &writing, 1);
    UNLOCK(&m1);
    if (!alone)
        return ASX_OK;
    asx_lab_store(cx, &writing, 0);
    return ASX_OK;
}

BUG(readers_writers, nobody_in,
    PLAY(cx, { "reader", read_shared, 2 }, { "writer", write_shared, 1 }))
