/* The lab's main, as far as a harness test needs it: the tests by name. */
#include "support_registry.h"

#include <string.h>

static asx_lab_test *first, **end = &first;

void asx_lab_test_register(asx_lab_test *test)
{
    *end = test;
    end = &test->next;
}

void asx_lab_default_mode(const char *mode)
{
    (void)mode;
}

asx_lab_fn lab_program(const char *name)
{
    for (const asx_lab_test *test = first; test != NULL; test = test->next)
        if (strcmp(test->name, name) == 0)
            return test->fn;
    return NULL;
}
