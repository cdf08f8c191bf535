/* Every operation of an interleaving has the line of the call that made it. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static char *lanes, *failure_text;

static void keep(void *ctx, const asx_explore_failure *failure)
{
    (void)ctx;
    free(lanes);
    free(failure_text);
    lanes = strdup(failure->interleaving);
    failure_text = strdup(failure->text);
}

static void explore_with(asx_lab_fn fn, uint32_t faults)
{
    asx_explore_options options = { .stop_at_first = true, .on_failure = keep, .faults = faults };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(fn, NULL, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    CHECK(lanes != NULL);
}

static void explore(asx_lab_fn fn)
{
    explore_with(fn, 0);
}

/* The line of the interleaving that has this operation ends with this place. */
static void shows(const char *operation, int line)
{
    char place[64];
    const char *at = strstr(lanes, operation);
    (void)snprintf(place, sizeof place, "test_sites.c:%d\n", line);
    if (at == NULL)
        asx_test_fail(__FILE__, __LINE__, "no %s in\n%s", operation, lanes);
    const char *end = strchr(at, '\n');
    if (end == NULL || end + 1 - at < (long)strlen(place) ||
        memcmp(end + 1 - strlen(place), place, strlen(place)) != 0)
        asx_test_fail(__FILE__, __LINE__, "%s is not at %s in\n%s", operation, place, lanes);
}

/* ---- channels and locks --------------------------------------------------------------------- */

static struct {
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_mutex mutex;
    asx_rwlock rwlock;
    asx_semaphore semaphore;
    int reserve, permit, ack, commit, lock, unlock, read, read_unlock, acquire, release, drop;
} all;

static asx_status one_of_each(asx_cx *cx, void *arg)
{
    asx_send_permit permit;
    asx_mutex_guard guard;
    asx_rwlock_guard reads;
    asx_semaphore_permit units;
    asx_ack ack;
    int message = 1;
    (void)arg;
    all.reserve = __LINE__ + 1;
    CHECK_STATUS(asx_channel_reserve(cx, &all.tx, &permit), ASX_OK);
    all.permit = __LINE__ + 1;
    CHECK_STATUS(asx_send_permit_send(&permit, &message), ASX_OK);
    all.ack = __LINE__ + 1;
    CHECK_STATUS(asx_channel_recv_with_ack(cx, &all.rx, &message, &ack), ASX_OK);
    all.commit = __LINE__ + 1;
    CHECK_STATUS(asx_ack_commit(&ack), ASX_OK);
    all.lock = __LINE__ + 1;
    CHECK_STATUS(asx_mutex_lock(cx, &all.mutex, &guard), ASX_OK);
    all.unlock = __LINE__ + 1;
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    all.read = __LINE__ + 1;
    CHECK_STATUS(asx_rwlock_read(cx, &all.rwlock, &reads), ASX_OK);
    all.read_unlock = __LINE__ + 1;
    CHECK_STATUS(asx_rwlock_unlock(&reads), ASX_OK);
    all.acquire = __LINE__ + 1;
    CHECK_STATUS(asx_semaphore_acquire(cx, &all.semaphore, 1, &units), ASX_OK);
    all.release = __LINE__ + 1;
    CHECK_STATUS(asx_semaphore_release(&units), ASX_OK);
    all.drop = __LINE__ + 1;
    CHECK_STATUS(asx_channel_sender_drop(&all.tx), ASX_OK);
    asx_lab_check(cx, message == 2);
    return ASX_OK;
}

static void channels_and_locks(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &all.tx, &all.rx), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, &(asx_mutex_options){ .name = "m" }, &all.mutex), ASX_OK);
    CHECK_STATUS(asx_rwlock_create(&r, &(asx_rwlock_options){ .name = "rw" }, &all.rwlock), ASX_OK);
    CHECK_STATUS(asx_semaphore_create(&r, 1, &(asx_semaphore_options){ .name = "s" },
                                      &all.semaphore), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "each", one_of_each, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(channels_and_locks_are_shown_with_the_line_of_their_call)
{
    explore(channels_and_locks);
    shows("reserve", all.reserve);
    shows("send by permit", all.permit);
    shows("receive with ack", all.ack);
    shows("commit ack", all.commit);
    shows("lock all.mutex ", all.lock);
    shows("unlock all.mutex ", all.unlock);
    shows("read-lock", all.read);
    shows("read-unlock", all.read_unlock);
    shows("acquire", all.acquire);
    shows("release", all.release);
    shows("drop sender", all.drop);
}

/* ---- what objects are called ----------------------------------------------------------------- */

static asx_mutex pair[2], single;

static asx_status locks_a_pair(asx_cx *cx, void *arg)
{
    asx_mutex_guard guard;
    (void)arg;
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(asx_mutex_lock(cx, &pair[i], &guard), ASX_OK);
        CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    }
    CHECK_STATUS((asx_mutex_lock_at)(cx, &single, &guard, "elsewhere"), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    CHECK_STATUS(asx_mutex_lock(cx, (&single), &guard), ASX_OK);
    CHECK_STATUS(asx_mutex_unlock(&guard), ASX_OK);
    asx_lab_check(cx, arg != NULL);
    return ASX_OK;
}

static void pair_and_single(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, &(asx_mutex_options){ .name = "0" }, &pair[0]), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, &(asx_mutex_options){ .name = "1" }, &pair[1]), ASX_OK);
    CHECK_STATUS(asx_mutex_create(&r, &(asx_mutex_options){ .name = "s" }, &single), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "locker", locks_a_pair, NULL), ASX_OK);
    (void)asx_region_close(&r, ASX_OK);
}

/* As in the source; if that could be another one, with a number. A call that does not say it, as
 * one that has a guard, calls it as the others do. */
ASX_TEST(objects_are_called_as_the_calls_call_them)
{
    static const char *const steps[] = { "lock pair[i] x0",   "unlock pair[i] x0",
                                         "lock pair[i] x1",   "unlock pair[i] x1",
                                         "lock single\n",     "unlock single ",
                                         "lock single ",      "unlock single " };
    explore(pair_and_single);
    const char *line = lanes;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        line = strchr(line, '\n');
        CHECK(line != NULL);
        line++;
        if (strncmp(line, steps[i], strlen(steps[i])) != 0)
            asx_test_fail(__FILE__, __LINE__, "no %s in\n%s", steps[i], lanes);
    }
}

/* ---- tasks and time ------------------------------------------------------------------------- */

static struct {
    int sleep, checkpoint, cancel, join, start;
} tasks;

static asx_status sleeps(asx_cx *cx, void *arg)
{
    (void)arg;
    tasks.sleep = __LINE__ + 1;
    (void)asx_sleep(cx, ASX_MS);
    tasks.checkpoint = __LINE__ + 1;
    return asx_checkpoint(cx) < 0 ? ASX_E_CANCELLED : ASX_OK;
}

static void tasks_and_time(asx_cx *cx, void *arg)
{
    asx_spawn_options options = { .name = "other" };
    asx_join_result joined;
    asx_region r;
    asx_task task;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    tasks.start = __LINE__ + 1;
    CHECK_STATUS(asx_spawn_task(&r, sleeps, NULL, &options, &task), ASX_OK);
    tasks.cancel = __LINE__ + 1;
    CHECK_STATUS(asx_task_cancel(&task, NULL), ASX_OK);
    tasks.join = __LINE__ + 1;
    CHECK_STATUS(asx_join(cx, &task, &joined), ASX_OK);
    asx_lab_check(cx, false);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(tasks_and_time_are_shown_with_the_line_of_their_call)
{
    explore(tasks_and_time);
    shows("cancel", tasks.cancel);
    shows("sleep", tasks.sleep);
    shows("checkpoint", tasks.checkpoint);
    shows("end", tasks.start);
    shows("join", tasks.join);
}

/* ---- who waits ------------------------------------------------------------------------------ */

static int first_recv;

static void waits_for_ever(asx_cx *cx, void *arg)
{
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_region r;
    int message;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &tx, &rx), ASX_OK);
    first_recv = __LINE__ + 1;
    (void)asx_channel_recv(cx, &rx, &message);
    (void)asx_region_close(&r, ASX_OK);
}

ASX_TEST(who_waits_is_shown_with_the_line_of_the_call)
{
    char place[64];
    explore(waits_for_ever);
    (void)snprintf(place, sizeof place, "(test_sites.c:%d)", first_recv);
    CHECK(strstr(failure_text, place) != NULL);
}

/* A function that was reached without the macro has no line, and takes none from elsewhere. */
static void without_a_line(asx_cx *cx, void *arg)
{
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_region r;
    int message = 1;
    (void)arg;
    CHECK_STATUS((asx_region_open_at)(cx, NULL, &r, "-"), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &tx, &rx), ASX_OK);
    CHECK_STATUS((asx_channel_send)(cx, &tx, &message), ASX_OK);
    asx_lab_enter("folder/somewhere.c:7"); /* as the macros do */
    CHECK_STATUS(asx_lab_left((asx_channel_recv)(cx, &rx, &message)), ASX_OK);
    asx_lab_check(cx, false);
    (void)asx_region_close(&r, ASX_OK);
}

static void shows_no_line(const char *operation)
{
    const char *at = strstr(lanes, operation);
    CHECK(at != NULL && strchr(at, '\n') != NULL);
    const char *file = strstr(at, ".c:");
    if (file != NULL && file < strchr(at, '\n'))
        asx_test_fail(__FILE__, __LINE__, "%s has a line in\n%s", operation, lanes);
}

ASX_TEST(a_call_that_does_not_say_its_line_is_shown_without)
{
    explore(without_a_line);
    shows_no_line("send x");
    const char *receives = strstr(lanes, "receive x");
    CHECK(receives != NULL && strstr(receives, " somewhere.c:7\n") != NULL);
}

/* ---- what is set up, callbacks, branches ----------------------------------------------------- */

static struct {
    asx_obligation obligation;
    asx_once once;
    asx_waker waker;
    asx_lab_semaphore known;
    int drop, settle, sets_up, once_call, race;
} more;

static asx_status drops_it(asx_cx *cx, void *arg)
{
    (void)arg;
    more.drop = __LINE__ + 1;
    return asx_channel_sender_drop(&all.tx) == ASX_OK ? asx_checkpoint(cx) : ASX_E_BUSY;
}

static asx_status makes_things(asx_cx *cx, void *arg)
{
    (void)arg;
    more.settle = __LINE__ + 1;
    CHECK_STATUS(asx_obligation_commit(&more.obligation), ASX_OK);
    more.once_call = __LINE__ + 1;
    return asx_once_call(cx, &more.once, drops_it, NULL);
}

static void calls_in_calls(asx_cx *cx, void *arg)
{
    asx_region_options options = { .obligations_max = 3 };
    asx_region outer, r;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, &options, &outer), ASX_OK);
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_channel_create(&r, sizeof(int), 1, NULL, &all.tx, &all.rx), ASX_OK);
    CHECK_STATUS(asx_once_create(&r, &(asx_once_options){ .name = "o" }, &more.once), ASX_OK);
    more.sets_up = __LINE__ + 1;
    (void)asx_obligation_reserve(&outer, ASX_OBLIGATION_KIND_PLAIN, &more.obligation);
    CHECK_STATUS(asx_spawn(&r, "maker", makes_things, NULL), ASX_OK);
    (void)asx_region_close(&r, asx_checkpoint(cx));
    asx_lab_check(cx, false);
    (void)asx_region_close(&outer, ASX_OK);
}

ASX_TEST(a_place_lasts_as_long_as_its_call)
{
    explore(calls_in_calls);
    shows("settle", more.settle);
    shows("set up", more.sets_up);
    shows("drop sender", more.drop);
    shows("call once", more.once_call);
    shows("end once", more.once_call);
}

static asx_status waits_outside(asx_cx *cx, void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_cx_waker(cx, &more.waker), ASX_OK);
    (void)asx_lab_semaphore_release(cx, &more.known, 1);
    return asx_wait_external(cx);
}

static void is_woken(asx_cx *cx, void *arg)
{
    asx_region r;
    (void)arg;
    more.known.units = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "waiter", waits_outside, NULL), ASX_OK);
    (void)asx_lab_semaphore_acquire(cx, &more.known, 1);
    CHECK_STATUS(asx_checkpoint(cx), ASX_OK);
    more.waker.wake(more.waker.arg);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_check(cx, false);
}

ASX_TEST(the_call_of_a_waker_has_no_line_and_takes_none)
{
    explore(is_woken);
    shows_no_line("wake");
}

static asx_status is_a_branch(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_checkpoint(cx);
}

static void has_branches(asx_cx *cx, void *arg)
{
    asx_branch branches[] = { { "one", is_a_branch, NULL }, { "two", is_a_branch, NULL } };
    (void)arg;
    more.race = __LINE__ + 1;
    (void)asx_race_all(cx, branches, 2, NULL, NULL, NULL);
    asx_lab_check(cx, false);
}

ASX_TEST(branches_end_at_the_line_of_their_call)
{
    explore(has_branches);
    shows(" end", more.race);
    CHECK(strstr(lanes, "flow.c") == NULL);
}

/* ---- many tasks ------------------------------------------------------------------------------ */

enum { CROWD = 100, WIDE_ENOUGH = 180 };

static asx_status crowd_adds(asx_cx *cx, void *arg)
{
    (void)asx_lab_fetch_add(cx, (int *)arg, 1);
    return ASX_OK;
}

static void crowd(asx_cx *cx, void *arg)
{
    asx_region r;
    int sum = 0;
    (void)arg;
    CHECK_STATUS(asx_region_open(cx, NULL, &r), ASX_OK);
    for (int i = 0; i < CROWD; i++)
        CHECK_STATUS(asx_spawn(&r, "adder", crowd_adds, &sum), ASX_OK);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    asx_lab_check(cx, sum != CROWD);
}

/* They do not fit beside each other with their names above; a line says whose it is. */
static int fault_line;

static void makes_a_mutex(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_mutex m;
    (void)arg;
    if (asx_region_open(cx, NULL, &r) < 0)
        return;
    asx_status st = asx_mutex_create(&r, NULL, &m); fault_line = __LINE__;
    (void)asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, st == ASX_OK);
}

static asx_status sleeps_and_says(asx_cx *cx, void *arg)
{
    asx_status st = asx_sleep(cx, ASX_MS); fault_line = __LINE__;
    *(asx_status *)arg = st;
    return st;
}

static void is_cancelled(asx_cx *cx, void *arg)
{
    asx_region r;
    asx_status st = ASX_OK;
    (void)arg;
    if (asx_region_open(cx, NULL, &r) < 0)
        return;
    (void)asx_spawn(&r, "sleeper", sleeps_and_says, &st);
    (void)asx_region_close(&r, ASX_OK);
    asx_lab_check(cx, st == ASX_OK);
}

ASX_TEST(a_fault_is_shown_with_the_line_of_the_call_that_fails)
{
    explore_with(makes_a_mutex, ASX_EXPLORE_FAULT_ALLOC);
    shows("choose 1: no memory", fault_line);
    explore_with(is_cancelled, ASX_EXPLORE_FAULT_CANCEL);
    shows("choose 1: cancel", fault_line);
}

ASX_TEST(an_interleaving_of_many_tasks_can_be_read)
{
    explore(crowd);
    int task = 0;
    for (const char *line = lanes, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        char head[32];
        if (strncmp(line, "<-", 2) == 0)
            continue;
        int len = snprintf(head, sizeof head, "%d adder ", ++task);
        CHECK(strncmp(line, head, (size_t)len) == 0);
        CHECK(end - line < WIDE_ENOUGH);
        const char *add = strstr(line, "add (int *)arg -> ");
        CHECK(add != NULL && add < end);
    }
    CHECK_EQ(task, CROWD);
}
