/* What operations on cells are worth, in the laboratory and without it: compiled with and without
 * ASX_LAB, as C and as C++. Returns the number of the first that is wrong, or 0. */
#ifndef ASX_TEST_CELLS_H
#define ASX_TEST_CELLS_H

#include <asx/asx_lab.h>

static int cells_are_wrong(void)
{
    asx_cx *cx = NULL;
    unsigned char byte = 255;
    signed char small = -128;
    uint64_t word = UINT64_MAX;
    int number = 7, more = 1;
    asx_lab_fetch_add(cx, &number, 1); /* nobody looks: no warning */
    asx_lab_load(cx, &number);
    asx_lab_read(cx, &number);
    if (number != 8)
        return 1;
    if (asx_lab_fetch_add(cx, &byte, 1) != 255 || byte != 0)
        return 2;
    if (asx_lab_fetch_add(cx, &byte, -1) != 0 || byte != 255)
        return 3;
    if (asx_lab_fetch_add(cx, &small, -1) != -128 || small != 127)
        return 4;
    if (asx_lab_fetch_add(cx, &word, 2) != UINT64_MAX || word != 1)
        return 5;
    if (asx_lab_fetch_add(cx, &number, more++) != 8 || more != 2 || number != 9)
        return 6; /* it is evaluated once */
    if (asx_lab_fetch_add(cx, &number, asx_lab_fetch_add(cx, &number, 1)) != 10 || number != 19)
        return 7;
    if (sizeof(asx_lab_fetch_add(cx, &byte, 1)) != 1)
        return 8;
    return 0;
}

#endif
