/* support_registry.h - the programs of support_programs.c by name. */
#ifndef ASX_TESTS_REGISTRY_H
#define ASX_TESTS_REGISTRY_H

#include <asx/explore.h>

/* NULL: there is none. */
asx_lab_fn lab_program(const char *name);

#endif
