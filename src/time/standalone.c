/* standalone.c - a wheel without a runtime, on malloc. */
#include "time/time.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)0x200000)

/* A big store is touched from one end to the other; in huge pages that costs a fraction. */
static void *heap_alloc(void *ctx, size_t size)
{
    (void)ctx;
    if (size < HUGE_PAGE)
        return malloc(size);
    void *p = aligned_alloc(HUGE_PAGE, size);
#ifdef MADV_HUGEPAGE
    if (p != NULL)
        (void)madvise(p, size, MADV_HUGEPAGE); /* advice: nothing depends on it */
#endif
    return p;
}

static void heap_free(void *ctx, void *p, size_t size)
{
    (void)ctx;
    (void)size;
    free(p);
}

asx_status asx_timer_wheel_create(const asx_timer_config *config, asx_timer_wheel **ret_wheel)
{
    ASX__EMPTY(ret_wheel);
    static const asx__timer_memory memory = { heap_alloc, heap_free, NULL };
    if (ret_wheel == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_timer_wheel *wheel = malloc(sizeof *wheel);
    if (wheel == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx_status st = asx__timer_wheel_init(wheel, config, &memory);
    if (st < 0) {
        free(wheel);
        return st;
    }
    *ret_wheel = wheel;
    return ASX_OK;
}

void asx_timer_wheel_destroy(asx_timer_wheel *wheel)
{
    if (wheel == NULL)
        return;
    asx__timer_wheel_deinit(wheel);
    free(wheel);
}
