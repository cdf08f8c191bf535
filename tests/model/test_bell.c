/* Workers that lie down, search, sleep and are rung for, on model atomics: sched/bell.h as
 * workers.c uses it.
 *
 * One or two workers, one or two who put work and ring. Every item is taken, and everyone comes to
 * its end: whoever sleeps while there is an item shows as a deadlock. A deadline is given for the
 * first sleep only, so that no later one covers up a ringing that was lost. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#define ASX__BELL_LOOKS 1u
#define ASX__BELL_PAUSE() ((void)0) /* it may give up at any moment */
#define ASX__BELL_CLOCK_NS() UINT64_MAX
#include "sched/bell.h"

#include "harness.h"

#define ITEMS 2
#define WORKERS_MAX 2

/* Faults in how the protocol is used; those inside of it are planted. */
enum {
    NO_SECOND_LOOK = 1,  /* looks for work, then lies down in a hold of its own */
    SEEN_OUTSIDE = 2,    /* looks at its bell when it has left */
    RUNG_BEFORE_PUT = 4, /* rings in a hold of its own, before the work is there */
};

static asx__lock engine;
static asx__bell bells[WORKERS_MAX];
static model_data asleep[WORKERS_MAX]; /* L, as all that follows */
static model_data waiting;             /* items */
static unsigned taken;
static bool stop;
static unsigned workers, deadlines;
static bool searching;    /* they do so before they sleep ... */
static bool looks_around; /* ... and enter after that, as they do when hardly anybody else does */
static bool only_watch;   /* who rings leaves it asleep */
static unsigned faults;
static bool polling;      /* they wait in something else than their bell ... */
static asx__atomic_u32 ended; /* ... which remembers that it is to end a wait */

static void reset(void)
{
    asx__lock_init(&engine);
    asx__atomic_init(&ended, 0u);
    for (unsigned i = 0; i < WORKERS_MAX; i++) {
        asx__bell_init(&bells[i], ASX__WORKER_ACTIVE);
        model_write(&asleep[i], 0);
    }
    model_write(&waiting, 0);
    taken = 0;
    stop = false;
}

static void enter(void)
{
    asx__lock_take(&engine);
}

/* An eventfd, as it is seen from outside. */
static void wait_elsewhere(void)
{
    while (asx__exchange_acquire(&ended, 0u) == 0)
        (void)asx__futex_wait(&ended, 0u, ASX__FUTEX_FOREVER);
}

static void rouse(asx__bell *bell)
{
    if (!asx__bell_rouse(bell))
        return;
    asx__store_release(&ended, 1u);
    asx__futex_wake(&ended, 1);
}

/* One who sleeps is got up, and has to be roused. A watch looks for itself whether it is needed. */
static asx__bell *call_one(void)
{
    for (unsigned i = 0; i < workers; i++) {
        if (model_read(&asleep[i]) == 0)
            continue;
        if (!only_watch)
            model_write(&asleep[i], 0);
        asx__bell_ring(&bells[i]);
        return &bells[i];
    }
    return NULL;
}

static bool all_asleep(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < workers; i++)
        n += model_read(&asleep[i]) != 0;
    return n == workers;
}

/* Nobody leaves work to those who all sleep. */
static void leave(void)
{
    bool ask = (faults & (NO_SECOND_LOOK | RUNG_BEFORE_PUT)) == 0;
    asx__bell *bell = ask && all_asleep() && model_read(&waiting) != 0 ? call_one() : NULL;
    asx__lock_drop(&engine);
    if (bell != NULL)
        rouse(bell);
}

/* ---- a worker ------------------------------------------------------------------------------- */

/* Inside, and again when it returns. True: it has found something. */
static bool leave_for_sleep(asx__bell *bell, bool searches, uint64_t deadline)
{
    uint32_t seen = 0;
    if ((faults & SEEN_OUTSIDE) == 0)
        seen = asx__bell_lie_down(bell, searches);
    leave();
    if (faults & SEEN_OUTSIDE)
        seen = asx__bell_lie_down(bell, searches);
    bool rung = searches && (asx__bell_search(bell, seen, 0) ||
                             (!polling && asx__bell_fall_asleep(bell, seen)));
    bool found = false;
    if (searches && !rung && looks_around) {
        enter();
        found = model_read(&waiting) != 0;
        leave();
    }
    if (!rung && !found && !polling)
        (void)asx__bell_sleep(bell, seen, deadline);
    else if (!rung && !found && !asx__bell_go_away(bell, seen))
        wait_elsewhere();
    enter();
    return found;
}

static void rest(unsigned self)
{
    bool searches = searching;
    for (unsigned n = 0;; n++) {
        uint64_t deadline = n < deadlines ? 1000 : ASX__FUTEX_FOREVER;
        bool found = leave_for_sleep(&bells[self], searches, deadline);
        searches = false;
        if (model_read(&asleep[self]) == 0)
            break;
        if (stop || found || model_read(&waiting) != 0) {
            model_write(&asleep[self], 0);
            break;
        }
    }
    asx__bell_set(&bells[self], ASX__WORKER_ACTIVE);
}

/* The last item ends it all. */
static void take_one(void)
{
    model_write(&waiting, model_read(&waiting) - 1);
    stop = ++taken == ITEMS;
    for (unsigned i = 0; i < workers && stop; i++) {
        if (model_read(&asleep[i]) == 0)
            continue;
        model_write(&asleep[i], 0);
        asx__bell_ring(&bells[i]);
        rouse(&bells[i]);
    }
}

static void worker(void)
{
    unsigned self = model_self();
    enter();
    while (!stop) {
        if (model_read(&waiting) != 0) {
            take_one();
            continue;
        }
        if (faults & NO_SECOND_LOOK) {
            leave();
            enter();
        }
        if (stop)
            break;
        model_write(&asleep[self], 1);
        rest(self);
    }
    leave();
}

/* ---- who has work --------------------------------------------------------------------------- */

static void put(void)
{
    asx__bell *bell = NULL;
    enter();
    if (faults & RUNG_BEFORE_PUT) {
        bell = call_one();
        leave();
        enter();
    }
    model_write(&waiting, model_read(&waiting) + 1);
    if ((faults & RUNG_BEFORE_PUT) == 0)
        bell = call_one();
    asx__lock_drop(&engine);
    if (bell != NULL)
        rouse(bell);
}

static void put_both(void)
{
    put();
    put();
}

static void nothing_is_left(void)
{
    MODEL_ASSERT(taken == ITEMS);
    MODEL_ASSERT(waiting.value == 0);
    for (unsigned i = 0; i < workers; i++)
        MODEL_ASSERT(asx__bell_is(&bells[i], ASX__WORKER_ACTIVE));
}

/* ---- programs ------------------------------------------------------------------------------- */

static void one(void)
{
    workers = 1;
    searching = true;
    looks_around = only_watch = polling = false;
    deadlines = 0;
    reset();
}

static void one_that_looks(void)
{
    one();
    looks_around = true;
}

static void one_at_once(void)
{
    one();
    searching = false;
}

static void one_late(void)
{
    one();
    deadlines = 1;
}

static void watch(void)
{
    one_late();
    only_watch = true;
}

static void one_away(void)
{
    one();
    polling = true;
}

static void one_away_at_once(void)
{
    one_away();
    searching = false;
}

static void two(void)
{
    one();
    workers = 2;
}

#define PROGRAM(...) MODEL_PROGRAM(nothing_is_left, __VA_ARGS__)

PROGRAM(one_ringer, one, 2, worker, put_both, NULL, NULL, MODEL_ALL, 2);
PROGRAM(without_a_search, one_at_once, 2, worker, put_both, NULL, NULL, MODEL_ALL, 2);
PROGRAM(with_a_look_around, one_that_looks, 2, worker, put_both, NULL, NULL, MODEL_ALL, 2);
PROGRAM(two_ringers, one, 3, worker, put, put, NULL, 3, 1);
PROGRAM(one_that_may_be_late, one_late, 2, worker, put_both, NULL, NULL, MODEL_ALL, 1);
PROGRAM(a_watch, watch, 2, worker, put_both, NULL, NULL, MODEL_ALL, 1);
PROGRAM(a_watch_of_two_ringers, watch, 3, worker, put, put, NULL, 2, 1);
PROGRAM(away, one_away, 2, worker, put_both, NULL, NULL, MODEL_ALL, 2);
PROGRAM(away_at_once, one_away_at_once, 2, worker, put_both, NULL, NULL, MODEL_ALL, 2);
PROGRAM(away_with_two_ringers, one_away, 3, worker, put, put, NULL, 3, 1);
PROGRAM(two_workers, two, 3, worker, worker, put_both, NULL, 2, 1);
PROGRAM(two_workers_two_ringers, two, 4, worker, worker, put, put, 2, 0);

ASX_TEST_TIMEOUT(no_ringing_is_lost, 120)
{
    model_holds(&one_ringer);
    model_holds(&without_a_search);
    model_holds(&with_a_look_around);
    model_holds(&two_ringers);
    model_holds(&two_workers);
    model_holds(&two_workers_two_ringers);
}

ASX_TEST_TIMEOUT(who_waits_elsewhere_is_roused_there, 120)
{
    model_holds(&away);
    model_holds(&away_at_once);
    model_holds(&away_with_two_ringers);
    model_visit(&away);
    model_plant(MODEL_SKIP, "asx__bell_go_away", "store &b->state", 0);
    model_breaks(&away, "waits elsewhere as one that searches");
    model_heal();
}

ASX_TEST_TIMEOUT(being_late_and_being_rung_for_at_once_is_told_apart, 120)
{
    model_holds(&one_that_may_be_late);
    model_holds(&a_watch);
    model_holds(&a_watch_of_two_ringers);
}

ASX_TEST_TIMEOUT(every_order_is_needed, 120)
{
    static const char *const spared[] = { NULL };
    static const model_program *const programs[] = { &one_ringer, &two_ringers, &away, NULL };
    model_visit(&one_ringer);
    model_visit(&two_ringers);
    model_visit(&away);
    model_weaken_all(programs, "sched/bell.h", spared);
}

ASX_TEST_TIMEOUT(wrong_uses_are_found, 120)
{
    faults = NO_SECOND_LOOK;
    model_breaks(&one_ringer, "no second look after it has said that it sleeps");
    faults = SEEN_OUTSIDE;
    model_breaks(&one_ringer, "looks at its bell when it has left");
    faults = RUNG_BEFORE_PUT;
    model_breaks(&one_ringer, "rings before the work is there");
    faults = 0;
}

ASX_TEST_TIMEOUT(faults_of_the_protocol_are_found, 120)
{
    model_visit(&one_ringer);
    model_visit(&two_ringers);
    model_plant(MODEL_SKIP, "asx__bell_fall_asleep", "store &b->state", 0);
    model_breaks(&one_ringer, "sleeps as one that searches, which nobody wakes");
    model_heal();
    model_plant(MODEL_PRETEND, "asx__bell_rouse", "load &b->state", ASX__WORKER_IDLE_SPIN);
    model_breaks(&one_ringer, "the wake-up is left out for one that searched a moment ago");
    model_heal();
    model_plant(MODEL_SKIP, "asx__bell_rouse", "futex wake &b->rung", 0);
    model_breaks(&one_ringer, "a ringing without its wake-up");
    model_heal();
    model_plant(MODEL_SKIP, "asx__bell_ring", "store &b->rung", 0);
    model_breaks(&one_ringer, "a wake-up without a ringing");
    model_heal();
}
