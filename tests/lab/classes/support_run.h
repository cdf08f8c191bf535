/* Programs of support_reference.h as lab tests, and drawn at random. */
#ifndef TESTS_LAB_CLASSES_REFERENCE_RUN_H
#define TESTS_LAB_CLASSES_REFERENCE_RUN_H

#include <asx/asx_lab.h>

#include "base/rng.h"
#include "support_reference.h"

enum { REF_CLASSES_MAX = 1000 };

/* As a lab test. */
void ref_run(asx_cx *cx, void *program);
/* One without steps, and a step behind those that a task has. */
ref_program ref_empty(int tasks);
void ref_add(ref_program *p, int number, int op, int arg);
/* Few operations, so that they meet. */
void ref_draw(asx__rng *rng, ref_program *ret_program);
/* With something of support_objects.c or support_scopes.c in it. */
void ref_draw_objects(asx__rng *rng, ref_program *ret_program);
/* With several tasks in a region, limits, masks around regions, promises. */
void ref_draw_regions(asx__rng *rng, ref_program *ret_program);
/* Without one of its steps, and what goes with it; false: it goes with another. */
bool ref_without(const ref_program *p, int number, int at, ref_program *ret_program);
/* What differs; NULL: nothing. */
const char *ref_compare(ref_program *p, uint64_t defaults, bool jobs, ref_count *ref,
                        bool *ret_brute);

/* Draws programs and compares them, and tells of the first that differs, with all that is not
 * needed to show it left out. The environment says which: ASX_CLASSES_SEED and
 * ASX_CLASSES_PROGRAMS; ASX_CLASSES_BAD: how many that differ it goes on after. */
typedef void ref_draw_fn(asx__rng *rng, ref_program *ret_program);
typedef struct ref_tally {
    uint64_t programs, counted, brutes, deadlocked, odd, bad;
} ref_tally;
ref_tally ref_compare_drawn(ref_draw_fn *draw, uint64_t programs, bool jobs);

/* Of support_run_objects.c. */
void ref_objects_create(const asx_region *home, const ref_program *p);
asx_status ref_objects_operate(asx_cx *cx, int number, ref_step step, asx_mutex_guard *guard,
                               int *cell);
void ref_objects_give_back(int number);

/* Is there a program among so many that has other classes when nothing conflicts at this object? */
bool ref_shows(ref_draw_fn *draw, uint64_t seeds, int object);

#endif
