/* What many tasks of these tests do. */
#ifndef TESTS_LAB_DPOR_BODIES_H
#define TESTS_LAB_DPOR_BODIES_H

#include <asx/asx.h>

static inline asx_status nothing(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_OK;
}

static inline asx_status fail(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    return ASX_E_NOT_FOUND;
}

static inline asx_status check_once(asx_cx *cx, void *arg)
{
    (void)arg;
    return asx_checkpoint(cx);
}

#endif
