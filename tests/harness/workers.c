/* workers.c - the tests of one worker, and the examples, on several: with ASX_WORKERS=N in the
 * environment every runtime that is made without saying how many workers it wants gets N, unless it
 * is one of those that are for one worker only. The linker puts this in the place of
 * asx_runtime_create() and asx_main(), where it can (ASX_TEST_WRAPS). A test of something that
 * several workers do not promise says so: asx_test_one_worker(). */
#include <stdlib.h>

#include <asx/runtime.h>

#include "harness.h"

static bool one_worker;

void asx_test_one_worker(const char *why)
{
    (void)why;
    one_worker = true;
}

#ifdef ASX_TEST_WRAPS
asx_status __real_asx_runtime_create(const asx_runtime_config *config, asx_runtime **ret_runtime);
asx_status __wrap_asx_runtime_create(const asx_runtime_config *config, asx_runtime **ret_runtime);
int __wrap_asx_main(asx_task_fn fn, void *arg);

asx_status __wrap_asx_runtime_create(const asx_runtime_config *config, asx_runtime **ret_runtime)
{
    const char *wanted = one_worker ? NULL : getenv("ASX_WORKERS");
    asx_runtime_config several = { .workers = 0 };
    if (config != NULL)
        several = *config;
    bool for_one = several.lab || several.trace || several.memory != NULL ||
                   several.clock == ASX_CLOCK_VIRTUAL || several.workers != 0;
    if (wanted == NULL || for_one)
        return __real_asx_runtime_create(config, ret_runtime);
    several.workers = (uint32_t)strtoul(wanted, NULL, 10);
    return __real_asx_runtime_create(&several, ret_runtime);
}

int __wrap_asx_main(asx_task_fn fn, void *arg)
{
    asx_runtime *rt;
    if (__wrap_asx_runtime_create(NULL, &rt) < 0)
        return 1;
    asx_status st = asx_runtime_run(rt, fn, arg);
    asx_status end = asx_runtime_destroy(rt);
    return st == ASX_OK && end == ASX_OK ? 0 : 1;
}
#endif
