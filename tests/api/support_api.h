/* support_api.h - what the tests of wrong calls share.
 *
 * A wrong call gives a status and changes nothing: REFUSED compares the runtime's figures before
 * and after. Only the count of scheduler turns may differ.
 */
#ifndef ASX_TESTS_API_SUPPORT_H
#define ASX_TESTS_API_SUPPORT_H

#include <asx/asx.h>

#include "harness.h"

asx_stats api_stats(const asx_runtime *rt);

#define REFUSED(rt_, expr_, expected_)                               \
    do {                                                             \
        asx_stats before_ = api_stats(rt_);                          \
        CHECK_STATUS((expr_), (expected_));                          \
        asx_stats after_ = api_stats(rt_);                           \
        CHECK_MEM_EQ(&before_, &after_, sizeof before_);             \
    } while (0)

/* Runs fn on a virtual clock and checks that the runtime comes to rest; gives the run's status. */
asx_status api_run(asx_task_fn fn, void *arg);

/* A runtime besides the one under test, started and stopped in the middle of its program, with
 * names of what lives in it. */
typedef struct api_other {
    asx_runtime *rt;
    asx_cx cx;
    asx_region region;
    asx_task task;
    asx_obligation obligation;
    asx_channel_sender sender;
    asx_channel_receiver receiver;
} api_other;

void api_other_init(api_other *other);
void api_other_deinit(api_other *other);

/* Waits until it is cancelled. */
asx_status api_waits(asx_cx *cx, void *arg);
asx_status api_returns_ok(asx_cx *cx, void *arg);

#endif
