/* A lab test program outside the tree: two tasks add to a cell by one step each. */
#include <asx/asx_lab.h>

static int cell;

static asx_status adds(asx_cx *cx, void *arg)
{
    (void)arg;
    (void)asx_lab_fetch_add(cx, &cell, 1);
    return ASX_OK;
}

ASX_LAB_TEST(two_additions_make_two)
{
    asx_region r;
    cell = 0;
    asx_lab_check(cx, asx_region_open(cx, NULL, &r) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&r, "a", adds, NULL) == ASX_OK);
    asx_lab_check(cx, asx_spawn(&r, "b", adds, NULL) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
    asx_lab_check(cx, cell == 2);
}
