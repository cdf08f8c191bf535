/* support_kinds.h - programs of three tasks, or many, one for each kind of operation, of any
 * length. */
#ifndef ASX_TESTS_KINDS_H
#define ASX_TESTS_KINDS_H

#include <asx/explore.h>

typedef struct lab_kind {
    const char *name;
    asx_lab_fn fn; /* its argument: an int, how many steps; a multiple of 12 */
    asx_explore_clock clock;
} lab_kind;

enum { LAB_KINDS = 13, LAB_SYNC_KINDS = 18, LAB_TASK_KINDS = 14 };
extern const lab_kind lab_kinds[LAB_KINDS];
extern const lab_kind lab_sync_kinds[LAB_SYNC_KINDS]; /* support_sync_kinds.c */
extern const lab_kind lab_task_kinds[LAB_TASK_KINDS]; /* support_task_kinds.c */

#endif
