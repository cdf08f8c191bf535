/* support_kinds.h - programs of three tasks, one for each kind of operation, of any length. */
#ifndef ASX_TESTS_KINDS_H
#define ASX_TESTS_KINDS_H

#include <asx/explore.h>

typedef struct lab_kind {
    const char *name;
    asx_lab_fn fn; /* its argument: an int, how many steps; a multiple of 12 */
} lab_kind;

enum { LAB_KINDS = 13 };
extern const lab_kind lab_kinds[LAB_KINDS];

#endif
