/* support_registry.h - the lab tests that are linked in. */
#ifndef ASX_TESTS_REGISTRY_H
#define ASX_TESTS_REGISTRY_H

#include <asx/explore.h>

const asx_lab_test *lab_tests(void);
/* NULL: there is none. */
asx_lab_fn lab_program(const char *name);

#endif
