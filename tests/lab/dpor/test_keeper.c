/* The keeper and its workers: one of them may be gone when something is said to it. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "lab/dpor/branch.h"
#include "lab/jobs/keeper.h"

/* ---- one that has gone ---------------------------------------------------------------------- */

static int closed_end(void)
{
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    CHECK_EQ(close(ends[1]), 0);
    return ends[0];
}

/* A bet for which something was found while its worker was on its way out. */
ASX_TEST(to_tell_who_is_gone_of_what_came_late_is_no_failure)
{
    asx__branches all = { 0 };
    asx__prints nothing = { 0 };
    asx__keeper *k = calloc(1, sizeof *k);
    asx__batch *b = calloc(1, sizeof *b);
    asx__common *common = calloc(1, sizeof *common);
    asx__branch *step = asx__branch_make(&all, 1, 0, &nothing);
    asx__branch *late = asx__branch_make(&all, 2, 0, &nothing);
    CHECK(k != NULL && b != NULL && common != NULL && step != NULL && late != NULL);
    step->bet = true;
    step->child = late;
    b->place.step = step;
    k->common = common;
    k->jobs = 1;
    k->workers[0] = (asx__lab_worker){ .pid = 1, .fd = closed_end(), .busy = true, .batch = b };
    k->bets = b;
    asx__keeper_settle_bets(k);
    CHECK_STATUS(k->broken, ASX_OK);
    CHECK(late->out);
    CHECK(k->bets == b);
    asx__message kind;
    CHECK(!asx__message_receive(k->workers[0].fd, &kind, &k->message)); /* that tells it */
    CHECK_EQ(close(k->workers[0].fd), 0);
    asx__branch_drop(&all, step);
    asx__branches_deinit(&all);
    asx__keeper_drop_batches(&k->bets);
    free(k->message.at);
    free(common);
    free(k);
}

/* ---- all begin again ------------------------------------------------------------------------ */

static asx_region the_region;
static asx_channel_sender senders[3];
static int x, y;

static asx_status stores_and_looks(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_lab_store(cx, &x, 1);
    (void)asx_lab_load(cx, &y);
    return ASX_OK;
}

static asx_status sends_twice(asx_cx *cx, void *arg)
{
    int message = 2;
    (void)arg;
    CHECK_STATUS(asx_channel_send(cx, &senders[0], &message), ASX_OK);
    asx_lab_store(cx, &x, 0);
    (void)asx_channel_try_send(cx, &senders[0], &message);
    return ASX_OK;
}

/* It starts a task beside itself, which nobody is prepared for at first. */
static asx_status starts_and_sends(asx_cx *cx, void *arg)
{
    int message = 1;
    (void)arg;
    CHECK_STATUS(asx_spawn(&the_region, "more", stores_and_looks, NULL), ASX_OK);
    return asx_channel_send(cx, &senders[1], &message);
}

static asx_status tries(asx_cx *cx, void *arg)
{
    int message = 1;
    (void)arg;
    (void)asx_channel_try_send(cx, &senders[2], &message);
    return ASX_OK;
}

static void begins_again(asx_cx *cx, void *arg)
{
    static const asx_task_fn tasks[3] = { sends_twice, starts_and_sends, tries };
    asx_channel_sender tx;
    asx_channel_receiver rx;
    asx_task handles[3];
    (void)arg;
    x = y = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &the_region), ASX_OK);
    CHECK_STATUS(asx_channel_create(&the_region, sizeof(int), 2, NULL, &tx, &rx), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_channel_sender_clone(&tx, &senders[i]), ASX_OK);
    CHECK_STATUS(asx_channel_sender_drop(&tx), ASX_OK);
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_spawn_task(&the_region, tasks[i], NULL, NULL, &handles[i]), ASX_OK);
    for (int i = 0; i < 3; i++)
        (void)asx_join(cx, &handles[i], NULL);
    (void)asx_region_close(&the_region, ASX_OK);
}

/* Whoever meets it first says so and goes; the other may have something for it meanwhile. */
ASX_TEST_TIMEOUT(all_begin_again_whoever_was_spoken_to, 60)
{
    asx_explore_result alone, both;
    CHECK_STATUS(asx_explore(begins_again, NULL, NULL, &alone), ASX_OK);
    CHECK(alone.complete);
    for (int i = 0; i < 60; i++) {
        asx_explore_options options = { .jobs = 2 };
        CHECK_STATUS(asx_explore(begins_again, NULL, &options, &both), ASX_OK);
        CHECK(both.complete);
        CHECK_EQ(both.totals.executions, alone.totals.executions);
    }
}

/* ---- one that says nothing ------------------------------------------------------------------ */

#define ANSWERS 64

typedef struct shared {
    asx__atomic_u32 pids[2]; /* A */
    asx__atomic_u32 count;   /* A: executions that have begun */
    asx__atomic_u32 ended;   /* A: one process was */
} shared;

/* The last execution ends the process that the others were in; it is idle by now, or nearly. */
static void ends_the_other(asx_cx *cx, void *arg)
{
    shared *s = arg;
    uint32_t self = (uint32_t)getpid();
    (void)asx_lab_choose(cx, ANSWERS);
    if (asx__load_relaxed(&s->pids[0]) == 0)
        asx__store_relaxed(&s->pids[0], self);
    else if (asx__load_relaxed(&s->pids[0]) != self)
        asx__store_relaxed(&s->pids[1], self);
    uint32_t begun = asx__fetch_add_relaxed(&s->count, 1) + 1;
    uint32_t first = asx__load_relaxed(&s->pids[0]), second = asx__load_relaxed(&s->pids[1]);
    if (second == 0) /* there is time to give some of it to the other */
        (void)nanosleep(&(struct timespec){ .tv_nsec = ASX_MS }, NULL);
    if (begun == ANSWERS && second != 0) {
        (void)nanosleep(&(struct timespec){ .tv_nsec = 50 * ASX_MS }, NULL);
        (void)kill((pid_t)(self == first ? second : first), SIGKILL);
        asx__store_relaxed(&s->ended, 1);
    }
}

ASX_TEST_TIMEOUT(what_one_has_not_reported_is_missed, 60)
{
    asx_explore_result result;
    asx_explore_options options = { .jobs = 2 };
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(s != MAP_FAILED);
    asx_status st = asx_explore(ends_the_other, s, &options, &result);
    if (asx__load_relaxed(&s->ended) != 0)
        CHECK_STATUS(st, ASX_E_SYSTEM);
    CHECK_EQ(munmap(s, sizeof *s), 0);
}
