/* crowd.h - a crowd around one lock: tasks on fibers and poll functions in turn, each so many times
 * inside, and on request some of them cancelled on the way. What inside is, two functions say; they
 * check their law whenever somebody comes or goes, and crowd_check() has them do it under many
 * schedules. */
#ifndef ASX_TESTS_SYNC_CROWD_H
#define ASX_TESTS_SYNC_CROWD_H

#include "play.h"

enum { CROWD_MAX = 8 };

struct crowd;

struct crowd_worker {
    struct crowd *crowd;
    unsigned number, round;
    bool inside;
    asx_mutex_guard mutex;
    asx_rwlock_guard rwlock;
    asx_semaphore_permit permit;
};

/* The first field of what a test knows of its crowd. */
struct crowd {
    unsigned workers, rounds;
    unsigned cancels; /* so many of them, one after each yield of the test */
    asx_status (*enter)(asx_cx *cx, struct crowd_worker *w); /* may wait; ASX_OK: w is inside */
    void (*leave)(struct crowd_worker *w);
    unsigned passed, cancelled;
};

/* Spawns the crowd into the region and returns when all of it has ended; if nobody was cancelled,
 * everyone has passed every round. */
void crowd_run(asx_cx *cx, const asx_region *region, struct crowd *crowd);

/* Runs the program under many schedules; its argument is a bool, whether to cancel. */
void crowd_check(asx_task_fn program);

#endif
