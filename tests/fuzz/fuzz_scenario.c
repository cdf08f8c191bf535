/* fuzz_scenario.c - bytes as the text of a scenario: it is read, or refused with a line. */
#include <stdlib.h>
#include <string.h>

#include "cli/scn.h"
#include "fuzz.h"

static void one(const scn_section *section)
{
    scn s;
    scn_error error;
    asx_status st = scn_parse("f", section->line, section->text, section->len, &s, &error);
    if (st >= 0)
        scn_deinit(&s);
    else if (st != ASX_E_SCENARIO || strncmp(error.text, "f:", 2) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    enum { SECTIONS_MAX = 16 };
    scn_section sections[SECTIONS_MAX];
    size_t count = scn_split((const char *)bytes, len, sections, SECTIONS_MAX);
    for (size_t i = 0; i < count && i < SECTIONS_MAX; i++)
        one(&sections[i]);
    return 0;
}
