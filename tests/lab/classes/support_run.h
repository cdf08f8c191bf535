/* Programs of support_reference.h as lab tests, and drawn at random. */
#ifndef TESTS_LAB_CLASSES_REFERENCE_RUN_H
#define TESTS_LAB_CLASSES_REFERENCE_RUN_H

#include <asx/asx.h>

#include "base/rng.h"
#include "support_reference.h"

/* As a lab test. */
void ref_run(asx_cx *cx, void *program);
/* Few operations, so that they meet. */
void ref_draw(asx__rng *rng, ref_program *ret_program);
/* Without one of its steps, and what goes with it; false: it goes with another. */
bool ref_without(const ref_program *p, int number, int at, ref_program *ret_program);

#endif
