/* Small programs whose number of classes was counted by hand from which operations conflict, and is
 * what brute force and optimal exploration must find, whichever task goes by default.
 *
 * A task is a word of letters, an operation each:
 *   s r t p    channel: send, receive, try-send, try-receive
 *   R P A      reserve; send by the permit; abort it
 *   S V T W C  channel of many receivers: the same four, and close
 *   l u k      mutex: lock, unlock; try, and unlock if it has it
 *   d w        read-write lock: read and unlock; write and unlock
 *   a e        semaphore: acquire, release
 *   c h j i    cancel the first task; checkpoint; join the first task; join the second
 *   y          ask why it is cancelled
 *   x X        load a cell, store into it; z: add to it
 *   n N        sleep for one millisecond, for two; U: until the second millisecond of the clock
 *   2 3        choose among so many; ?: choose among two, and go on or end
 */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <string.h>

#include "harness.h"
#include "support_classes.h"

enum { TASKS = 4 };

typedef struct counted {
    const char *task[TASKS];
    uint64_t classes;
    int capacity, filled;   /* of the channel; 0: 1; messages that are in it at first */
    int many;               /* capacity of the other one */
    uint64_t units;         /* of the semaphore; 0: 1 */
    asx_explore_clock clock;
} counted;

typedef struct world {
    const counted *c;
    asx_region region;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mpmc_sender many_tx;
    asx_mpmc_receiver many_rx;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    asx_task first, second;
    int x;
} world;

static world the_world;

typedef struct hand {
    asx_send_permit permit;
    asx_mutex_guard guard;
    asx_semaphore_permit unit;
} hand;

static asx_status channel_op(asx_cx *cx, world *w, hand *h, char op)
{
    int message = 1;
    switch (op) {
    case 's':
        return asx_channel_send(cx, &w->tx, &message);
    case 'r':
        return asx_channel_recv(cx, &w->rx, &message);
    case 't':
        return asx_channel_try_send(cx, &w->tx, &message);
    case 'p':
        return asx_channel_try_recv(cx, &w->rx, &message);
    case 'R':
        return asx_channel_reserve(cx, &w->tx, &h->permit);
    case 'P':
        return asx_send_permit_send(&h->permit, &message);
    case 'A':
        return asx_send_permit_abort(&h->permit);
    case 'S':
        return asx_mpmc_send(cx, &w->many_tx, &message);
    case 'V':
        return asx_mpmc_recv(cx, &w->many_rx, &message);
    case 'T':
        return asx_mpmc_try_send(cx, &w->many_tx, &message);
    case 'W':
        return asx_mpmc_try_recv(cx, &w->many_rx, &message);
    default:
        return asx_mpmc_close(&w->many_tx);
    }
}

static asx_status lock_op(asx_cx *cx, world *w, hand *h, char op)
{
    asx_rwlock_guard guard;
    asx_status st;
    switch (op) {
    case 'l':
        return asx_mutex_lock(cx, &w->mutex, &h->guard);
    case 'u':
        return asx_mutex_unlock(&h->guard);
    case 'k':
        st = asx_mutex_try_lock(cx, &w->mutex, &h->guard);
        return st < 0 ? st : asx_mutex_unlock(&h->guard);
    case 'a':
        return asx_semaphore_acquire(cx, &w->semaphore, 1, &h->unit);
    case 'e':
        return asx_semaphore_release(&h->unit);
    default:
        st = op == 'd' ? asx_rwlock_read(cx, &w->rwlock, &guard)
                       : asx_rwlock_write(cx, &w->rwlock, &guard);
        return st < 0 ? st : asx_rwlock_unlock(&guard);
    }
}

static asx_status other_op(asx_cx *cx, world *w, char op)
{
    const asx_cancel_reason *reason;
    switch (op) {
    case 'c':
        return asx_task_cancel(&w->first, NULL);
    case 'h':
        return asx_checkpoint(cx);
    case 'y':
        return asx_cx_cancel_reason(cx, &reason);
    case 'j':
        return asx_join(cx, &w->first, NULL);
    case 'i':
        return asx_join(cx, &w->second, NULL);
    case 'x':
        (void)asx_lab_load(cx, &w->x);
        return ASX_OK;
    case 'X':
        asx_lab_store(cx, &w->x, 1);
        return ASX_OK;
    case 'z':
        (void)asx_lab_fetch_add(cx, &w->x, 1);
        return ASX_OK;
    case 'n':
        return asx_sleep(cx, ASX_MS);
    case 'N':
        return asx_sleep(cx, 2 * ASX_MS);
    case 'U':
        return asx_sleep_until(cx, 2 * ASX_MS);
    case '?':
        return asx_lab_choose(cx, 2) == 1 ? ASX_E_CANCELLED : ASX_OK;
    default:
        (void)asx_lab_choose(cx, (uint32_t)(op - '0'));
        return ASX_OK;
    }
}

static asx_status act(asx_cx *cx, void *arg)
{
    world *w = &the_world;
    hand h;
    memset(&h, 0, sizeof h);
    for (const char *op = arg; *op != 0; op++) {
        asx_status st = strchr("srtpRPASVTWC", *op) != NULL ? channel_op(cx, w, &h, *op)
                        : strchr("lukaedw", *op) != NULL    ? lock_op(cx, w, &h, *op)
                                                            : other_op(cx, w, *op);
        if (st == ASX_E_CANCELLED)
            break;
    }
    return ASX_OK;
}

static void run(asx_cx *cx, void *arg)
{
    world *w = &the_world;
    const counted *c = arg;
    int message = 0;
    memset(w, 0, sizeof *w);
    w->c = c;
    CHECK_STATUS(asx_region_open(cx, NULL, &w->region), ASX_OK);
    const asx_region *r = &w->region;
    size_t capacity = c->capacity != 0 ? (size_t)c->capacity : 1;
    CHECK_STATUS(asx_channel_create(r, sizeof(int), capacity, NULL, &w->tx, &w->rx), ASX_OK);
    CHECK_STATUS(asx_mpmc_create(r, sizeof(int), (size_t)c->many, NULL, &w->many_tx, &w->many_rx),
                 ASX_OK);
    CHECK_STATUS(asx_mutex_create(r, &(asx_mutex_options){ .name = "m" }, &w->mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(r, &(asx_rwlock_options){ .name = "l" }, &w->rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(r, c->units != 0 ? c->units : 1,
                                      &(asx_semaphore_options){ .name = "s" }, &w->semaphore),
                 ASX_OK);
    for (int i = 0; i < c->filled; i++)
        CHECK_STATUS(asx_channel_try_send(cx, &w->tx, &message), ASX_OK);
    for (int i = 0; i < TASKS && c->task[i] != NULL; i++) {
        char *word = (char *)(uintptr_t)c->task[i];
        asx_task *handle = i == 0 ? &w->first : &w->second;
        if (i < 2)
            CHECK_STATUS(asx_spawn_task(r, act, word, NULL, handle), ASX_OK);
        else
            CHECK_STATUS(asx_spawn(r, "t", act, word), ASX_OK);
    }
    (void)asx_region_close(&w->region, ASX_OK);
}

static void count(counted c)
{
    uint64_t classes = classes_with(run, &c, c.clock, 0);
    if (classes != c.classes)
        fprintf(stderr, "%s | %s | %s | %s\n", c.task[0], c.task[1] != NULL ? c.task[1] : "",
                c.task[2] != NULL ? c.task[2] : "", c.task[3] != NULL ? c.task[3] : "");
    CHECK_EQ(classes, c.classes);
}

#define COUNT(n, ...) count((counted){ .classes = (n), __VA_ARGS__ })
#define T(...) .task = { __VA_ARGS__ }

/* All write the end of the queue; a receive meets the send of its slot only. */
ASX_TEST(sends_are_ordered_and_receives_meet_their_slot)
{
    COUNT(6, T("s", "s", "s"), .capacity = 3);
    COUNT(2, T("s", "s", "rr"), .capacity = 1);
    COUNT(2, T("s", "s", "rr"), .capacity = 2);
    COUNT(1, T("s", "r"), .capacity = 2, .filled = 1);
    COUNT(2, T("ss", "p"), .capacity = 2); /* before the first, or with it; not the second */
    COUNT(2, T("ss", "p"), .capacity = 1); /* empty, and then nobody makes room; or it does */
}

/* Who fails only reads. */
ASX_TEST(tries_on_a_full_channel_commute_with_each_other)
{
    COUNT(2, T("t", "t"), .capacity = 1);
    COUNT(3, T("t", "t", "t"), .capacity = 1);
    COUNT(2, T("t", "r"), .capacity = 1, .filled = 1);
    COUNT(2, T("t", "rr"), .capacity = 2, .filled = 2); /* the second is of the other slot */
}

/* Both before the send: 1. One before it, 2. Both after it: who is first, 2. */
ASX_TEST(looks_that_find_nothing_commute_with_each_other)
{
    COUNT(5, T("p", "p", "s"));
    COUNT(5, T("W", "W", "S"), .many = 1);
}

/* Claims are ordered, and messages, but a claim and a message of another slot are not. */
ASX_TEST(claims_and_messages_are_ordered_apart)
{
    COUNT(4, T("RP", "RP"), .capacity = 2);
    COUNT(2, T("RA", "s"), .capacity = 1); /* the send first, and then no room: it waits for ever */
}

/* Without room a message is ordered as in a queue, and its acknowledgement comes after it. */
ASX_TEST(channels_of_many_receivers_of_any_capacity)
{
    COUNT(1, T("S", "V"), .many = 0);
    COUNT(2, T("S", "S", "VV"), .many = 0);
    for (int many = 0; many < 3; many++)
        COUNT(4, T("S", "S", "V", "V"), .many = many);
    COUNT(2, T("S", "V", "V"), .many = 1); /* one of them waits for ever */
}

/* A send that comes before the close is received whether the close comes before the receive or not;
 * one that comes after it is refused, and the receiver is told. */
ASX_TEST(a_close_meets_sends_and_those_who_find_nothing)
{
    COUNT(2, T("W", "C"), .many = 1);
    COUNT(2, T("S", "C", "V"), .many = 1);
    /* The look finds the message, whenever the close is; or comes before both; or the send is
     * refused, and the look comes before the close or after it. */
    COUNT(4, T("S", "C", "W"), .many = 1);
}

ASX_TEST(sections_of_a_mutex_are_ordered)
{
    COUNT(2, T("lu", "lu"));
    COUNT(6, T("lu", "lu", "lu"));
    COUNT(3, T("lu", "k")); /* before, after, or in between and without it */
    /* All three have it: 6. One of two fails, in the section of either of the others, which have
     * two orders: 2 x 4. Both fail. */
    COUNT(15, T("lu", "k", "k"));
}

/* A writer asks, has it, gives it back. */
ASX_TEST(readers_commute_and_requests_are_events)
{
    COUNT(1, T("d", "d"));
    COUNT(3, T("d", "w"));
    COUNT(9, T("d", "d", "w"));
    COUNT(8, T("w", "w")); /* who has it first; the other asks at any of four points */
}

ASX_TEST(every_use_of_a_semaphore_is_ordered)
{
    COUNT(2, T("ae", "ae"));
    COUNT(6, T("ae", "ae"), .units = 2);
    COUNT(1, T("a", "h"));
}

/* Cancels write the flag, each of them; every cancellation point reads it. */
ASX_TEST(a_cancel_meets_each_point_and_other_cancels)
{
    COUNT(3, T("hh", "c"));
    COUNT(6, T("h", "c", "c"));
    COUNT(2, T("r", "c", "s"));
    COUNT(3, T("lu", "c", "lu")); /* told; or it has it, before the other or after */
    COUNT(3, T("hx", "c", "X"));  /* told; or not, and the load is before the store or after */
    COUNT(3, T("w", "c"));        /* told before it has asked, before it has it, or not */
}

/* Each cancel may have made the reason another one. */
ASX_TEST(who_asks_why_it_is_cancelled_may_ask_before_or_after)
{
    COUNT(2, T("y", "c"));
    COUNT(3, T("y", "cc"));
    COUNT(6, T("yy", "cc"));
}

ASX_TEST(a_join_comes_after_the_end)
{
    COUNT(1, T("X", "jx"));
    COUNT(2, T("X", "j", "x"));
    COUNT(1, T("h", "j", "j"));
    COUNT(1, T("X", "jx", "jx")); /* both come after it: none is refused because of the other */
    COUNT(2, T("X", "jz", "jz"));
}

/* Who joins whom in a circle waits for ever, whoever comes first. */
ASX_TEST(joins_in_a_circle_are_a_deadlock)
{
    counted c = { T("Xi", "jx"), .classes = 1 };
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL };
    for (options.seed = 0; options.seed < 11; options.seed++) {
        asx_explore_result r = classes_explore(run, &c, &options);
        CHECK_EQ(r.totals.executions, 1);
        CHECK_EQ(r.totals.deadlocks, 1);
    }
}

/* Who has a lock is refused it, and goes on. */
ASX_TEST(a_lock_that_its_holder_asks_for_is_no_deadlock)
{
    counted c = { T("llX"), .classes = 1 };
    asx_explore_result r = classes_explore(run, &c, &(asx_explore_options){ .seed = 0 });
    CHECK_EQ(r.totals.executions, 1);
    CHECK_EQ(r.totals.deadlocks, 0);
}

/* Equal deadlines come at once; those of later ones come after all that comes before. */
ASX_TEST(time_that_waits_for_everybody)
{
    COUNT(2, T("nX", "nX"));
    COUNT(1, T("nX", "NX"));
    COUNT(1, T("nx", "X"));
    COUNT(1, T("n", "c"));
    COUNT(2, T("nX", "nx", "Nx"));
}

/* Each execution begins when the first one did. */
ASX_TEST(a_time_of_the_clock_is_the_same_in_every_execution)
{
    COUNT(2, T("nX", "nX", "Ux"));
    COUNT(2, T("NX", "UX"));
    COUNT(4, T("nX", "nX", "NX", "UX"));
    COUNT(6, T("nX", "nX", "Ux"), .clock = ASX_EXPLORE_ADVERSARIAL);
}

ASX_TEST(time_that_comes_whenever_it_likes)
{
    COUNT(2, T("nX", "NX"), .clock = ASX_EXPLORE_ADVERSARIAL);
    COUNT(2, T("nx", "X"), .clock = ASX_EXPLORE_ADVERSARIAL);
    COUNT(2, T("n", "c"), .clock = ASX_EXPLORE_ADVERSARIAL);
}

ASX_TEST(choices_are_different_events)
{
    COUNT(9, T("3", "3"));
    COUNT(3, T("?X", "x"));
    COUNT(4, T("2X", "x"));
}

/* Who looks at it may come before, between or after them. */
ASX_TEST(a_close_writes_also_when_it_is_the_second)
{
    COUNT(2, T("C", "C"), .many = 1);
    COUNT(3, T("CC", "C"), .many = 1);
    COUNT(6, T("C", "C", "C"), .many = 1);
    COUNT(6, T("C", "C", "W"), .many = 1);
    COUNT(6, T("C", "C", "T"), .many = 1);
}

/* ---- what is in a cell ---------------------------------------------------------------------- */

static asx_status change_negative(asx_cx *cx, void *arg)
{
    int *cell = arg;
    asx_lab_check(cx, asx_lab_cas(cx, cell, -1, -2));
    asx_lab_check(cx, asx_lab_load(cx, cell) == -2);
    asx_lab_check(cx, asx_lab_fetch_add(cx, cell, -1) == -2);
    asx_lab_check(cx, !asx_lab_cas(cx, cell, -2, 0));
    asx_lab_store(cx, cell, -5);
    asx_lab_check(cx, asx_lab_cas(cx, cell, -5, 0));
    return ASX_OK;
}

static void negative(asx_cx *cx, void *arg)
{
    static int cell;
    asx_region r;
    (void)arg;
    cell = -1;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "n", change_negative, &cell), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(cell, 0);
}

ASX_TEST(a_cell_of_four_bytes_holds_what_is_negative)
{
    asx_explore_result r = classes_explore(negative, NULL, &(asx_explore_options){ .seed = 0 });
    CHECK_EQ(r.totals.executions, 1);
    CHECK_EQ(r.totals.bugs, 0);
}

/* ---- what is set by no operation ------------------------------------------------------------ */

/* A letter each:
 *   S x        store 1 into the cell; load it
 *   u d v      cas it: 5 to 6; 6 to 5; 6 to 7
 *   a e        semaphore: acquire, release
 *   L l k      mutex: lock; lock and unlock; try, and unlock if it has it */
typedef struct cells {
    int v;
    asx_lab_semaphore s;
    asx_lab_mutex m;
} cells;

typedef enum how { BY_ASSIGNMENT, BY_WRITE, BY_ANOTHER_VARIABLE, HOW_COUNT } how;

/* The tasks of a phase are joined before the cells are set and the next one begins. */
typedef struct phases {
    const char *task[2][TASKS - 1];
    int v[2];
    uint64_t units[2];
    bool wide;              /* somebody sends, which is nothing to the others */
    how how;
} phases;

typedef struct actor {
    cells *c;
    char op;
} actor;

static cells the_cells;
static asx_channel_sender phases_tx;

static asx_status act_on_cells(asx_cx *cx, void *arg)
{
    const actor *a = arg;
    cells *c = a->c;
    switch (a->op) {
    case 'S':
        asx_lab_store(cx, &c->v, 1);
        break;
    case 'u':
        (void)asx_lab_cas(cx, &c->v, 5, 6);
        break;
    case 'd':
        (void)asx_lab_cas(cx, &c->v, 6, 5);
        break;
    case 'v':
        (void)asx_lab_cas(cx, &c->v, 6, 7);
        break;
    case 'a':
        return asx_lab_semaphore_acquire(cx, &c->s, 1);
    case 'e':
        return asx_lab_semaphore_release(cx, &c->s, 1);
    case 'L':
        return asx_lab_mutex_lock(cx, &c->m);
    case 'l':
        CHECK_STATUS(asx_lab_mutex_lock(cx, &c->m), ASX_OK);
        return asx_lab_mutex_unlock(cx, &c->m);
    case 'k':
        if (asx_lab_mutex_try_lock(cx, &c->m) == ASX_OK)
            return asx_lab_mutex_unlock(cx, &c->m);
        break;
    default:
        (void)asx_lab_load(cx, &c->v);
        break;
    }
    return ASX_OK;
}

/* Its variable is where it was in the phase before. */
__attribute__((noinline)) static void run_phase(asx_cx *cx, const phases *p, int nth)
{
    cells own, *c = p->how == BY_ANOTHER_VARIABLE ? &own : &the_cells;
    actor actors[TASKS - 1];
    asx_region r;
    memset(&c->m, 0, sizeof c->m);
    c->s.units = p->units[nth];
    if (p->how == BY_WRITE)
        asx_lab_write(cx, &c->v, p->v[nth]);
    else
        c->v = p->v[nth];
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < TASKS - 1 && p->task[nth][i] != NULL; i++) {
        actors[i] = (actor){ c, *p->task[nth][i] };
        CHECK_STATUS(asx_spawn(&r, "t", act_on_cells, &actors[i]), ASX_OK);
    }
    (void)asx_region_close(&r, ASX_OK);
}

static asx_status send_one(asx_cx *cx, void *arg)
{
    int message = 1;
    (void)arg;
    return asx_channel_send(cx, &phases_tx, &message);
}

static void run_phases(asx_cx *cx, void *arg)
{
    const phases *p = arg;
    asx_channel_receiver rx;
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    if (p->wide) {
        CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &phases_tx, &rx), ASX_OK);
        CHECK_STATUS(asx_spawn(&r, "s", send_one, NULL), ASX_OK);
    }
    run_phase(cx, p, 0);
    run_phase(cx, p, 1);
    (void)asx_region_close(&r, ASX_OK);
}

static void count_phases(uint64_t classes, phases p)
{
    for (int i = 0; i < 2 * HOW_COUNT; i++) {
        p.wide = i % 2 == 0;
        p.how = (how)(i / 2);
        CHECK_EQ(classes_of(run_phases, &p), classes);
        asx_explore_options options = { .mode = ASX_EXPLORE_SOURCE };
        asx_explore_result r = classes_explore(run_phases, &p, &options);
        CHECK(r.complete);
        CHECK_EQ(r.totals.classes, classes);
        options = (asx_explore_options){ .jobs = 2 };
        r = classes_explore(run_phases, &p, &options);
        CHECK(r.complete);
        CHECK_EQ(r.totals.executions, classes);
    }
}

#define PHASES(n, ...) count_phases((n), (phases){ __VA_ARGS__ })
#define P(a, ...) .task = { { a }, { __VA_ARGS__ } }

/* The store of the first phase leaves 1, and nothing of the second finds that. */
ASX_TEST(what_is_set_plainly_between_phases_is_seen)
{
    PHASES(2, P("S", "u", "d"), .v = { 0, 5 });
    PHASES(2, P("S", "d", "u"), .v = { 0, 5 });
    PHASES(2, P("S", "u", "v"), .v = { 0, 5 });
    PHASES(2, P("S", "v", "u"), .v = { 0, 5 });
    PHASES(6, P("S", "u", "u", "d"), .v = { 0, 5 });
    PHASES(5, P("S", "u", "d", "d"), .v = { 0, 5 });
    PHASES(5, P("S", "u", "v", "x"), .v = { 0, 5 });
    PHASES(5, P("S", "x", "v", "u"), .v = { 0, 5 }); /* who only looks may be the first to see it */
    PHASES(2, P("u", "x", "u"), .v = { 5, 5 });
    PHASES(2, P("x", "x", "u"), .v = { 0, 5 });
}

ASX_TEST(locks_and_semaphores_that_are_made_anew_are_as_new)
{
    PHASES(2, P("a", "e", "a"), .units = { 1, 1 });
    PHASES(2, P("a", "a", "e"), .units = { 1, 1 });
    PHASES(1, P("e", "e", "a"), .units = { 4, 0 });
    PHASES(2, P("e", "a", "a"), .units = { 4, 1 });
    PHASES(2, P("L", "l", "l"), .v = { 0, 0 });
    PHASES(3, P("L", "l", "k"), .v = { 0, 0 });
}

/* ---- who has a read-write lock and asks for it again ----------------------------------------- */

static asx_rwlock shelf;

static asx_status reads_again(asx_cx *cx, void *arg)
{
    asx_rwlock_guard outer, inner;
    asx_status st = asx_rwlock_read(cx, &shelf, &outer);
    (void)arg;
    if (st < 0)
        return st;
    st = asx_rwlock_read(cx, &shelf, &inner);
    asx_lab_check(cx, st == ASX_OK || st == ASX_E_WOULD_DEADLOCK);
    if (st == ASX_OK)
        st = asx_rwlock_unlock(&inner);
    return asx_rwlock_unlock(&outer);
}

static asx_status wants_to_write_what_it_reads(asx_cx *cx, void *arg)
{
    asx_rwlock_guard outer, inner;
    asx_status st = asx_rwlock_read(cx, &shelf, &outer);
    (void)arg;
    if (st < 0)
        return st;
    asx_lab_check(cx, asx_rwlock_write(cx, &shelf, &inner) == ASX_E_WOULD_DEADLOCK);
    return asx_rwlock_unlock(&outer);
}

static asx_status writes_it(asx_cx *cx, void *arg)
{
    asx_rwlock_guard guard;
    asx_status st = asx_rwlock_write(cx, &shelf, &guard);
    (void)arg;
    return st < 0 ? st : asx_rwlock_unlock(&guard);
}

static void beside_a_writer(asx_cx *cx, void *arg)
{
    const asx_task_fn *reader = arg;
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&r, &(asx_rwlock_options){ .name = "shelf" }, &shelf), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "reader", *reader, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "writer", writes_it, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
}

/* As in any runtime: it is refused where it would have to wait for itself, and nobody is stuck. The
 * request to write comes before the first read-lock and its end too, or in one of the three gaps
 * between the reader's steps, or after all of them. */
ASX_TEST(who_has_a_read_write_lock_is_refused_what_it_would_wait_for)
{
    asx_task_fn again = reads_again, up = wants_to_write_what_it_reads;
    CHECK_EQ(classes_of(beside_a_writer, &again), 5);
    CHECK_EQ(classes_of(beside_a_writer, &up), 4);
}
