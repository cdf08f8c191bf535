/* The list of results: released numbers stay, every number has a name and a hint. */
#include <asx/status.h>

#include <string.h>

#include "harness.h"

/* Written out a second time on purpose: a number that changes in the list breaks programs. */
static const struct released {
    const char *name;
    int value;
} released[] = {
    { "ASX_OK", 0 },
    { "ASX_E_INVALID_ARGUMENT", -1 },
    { "ASX_E_CAPABILITY", -2 },
    { "ASX_E_WRONG_CONTEXT", -3 },
    { "ASX_E_NOT_SUPPORTED", -4 },
    { "ASX_E_RESOURCE_EXHAUSTED", -5 },
    { "ASX_E_SYSTEM", -6 },
    { "ASX_E_BUSY", -7 },
    { "ASX_E_NOT_FOUND", -8 },
    { "ASX_E_STALE_HANDLE", -20 },
    { "ASX_E_INVALID_TRANSITION", -21 },
    { "ASX_E_REGION_NOT_OPEN", -40 },
    { "ASX_E_REGION_CLOSED", -41 },
    { "ASX_E_ADMISSION_CLOSED", -42 },
    { "ASX_E_INCOMPLETE_CHILDREN", -43 },
    { "ASX_E_UNRESOLVED_OBLIGATIONS", -44 },
    { "ASX_E_NOT_OWNER", -45 },
    { "ASX_E_REGION_LEFT_OPEN", -46 },
    { "ASX_E_OBLIGATION_ALREADY_RESOLVED", -60 },
    { "ASX_E_OBLIGATION_LEAKED", -61 },
    { "ASX_E_CANCELLED", -80 },
    { "ASX_E_BUDGET_EXHAUSTED", -81 },
    { "ASX_E_TIMEOUT", -82 },
    { "ASX_E_PANICKED", -83 },
    { "ASX_E_MASK_DEPTH", -84 },
    { "ASX_E_WOULD_DEADLOCK", -85 },
    { "ASX_E_WITNESS_TASK_MISMATCH", -86 },
    { "ASX_E_WITNESS_REGION_MISMATCH", -87 },
    { "ASX_E_WITNESS_EPOCH_MISMATCH", -88 },
    { "ASX_E_WITNESS_PHASE_REGRESSION", -89 },
    { "ASX_E_WITNESS_REASON_WEAKENED", -90 },
    { "ASX_E_WOULD_BLOCK", -100 },
    { "ASX_E_DISCONNECTED", -101 },
    { "ASX_E_FULL", -102 },
    { "ASX_E_EMPTY", -103 },
    { "ASX_E_TIMER_DURATION_EXCEEDED", -120 },
    { "ASX_E_TASKS_STILL_ACTIVE", -140 },
    { "ASX_E_REGIONS_NOT_CLOSED", -142 },
    { "ASX_E_TIMERS_PENDING", -143 },
    { "ASX_E_CHANNEL_NOT_DRAINED", -144 },
    { "ASX_E_TRACE_CORRUPT", -160 },
    { "ASX_E_TRACE_VERSION", -161 },
    { "ASX_E_DIVERGED", -162 },
    { "ASX_E_DEADLOCK", -163 },
    { "ASX_E_SCENARIO", -164 },
    { "ASX_E_EXPECTATION", -165 },
};
enum { RELEASED_COUNT = sizeof released / sizeof released[0] };

ASX_TEST(released_numbers_keep_their_names)
{
    for (int i = 0; i < RELEASED_COUNT; i++)
        CHECK_STR_EQ(asx_status_str((asx_status)released[i].value), released[i].name);
}

ASX_TEST(status_is_as_large_as_an_int)
{
    CHECK_EQ(sizeof(asx_status), sizeof(int));
}

ASX_TEST(every_listed_status_has_a_sentence_as_hint)
{
    static const int values[] = {
#define VALUE(name, value, hint) (value),
        ASX_STATUS_LIST(VALUE)
#undef VALUE
    };
    const int count = sizeof values / sizeof values[0];
    CHECK_GE(count, (int)RELEASED_COUNT);
    for (int i = 0; i < count; i++) {
        asx_status status = (asx_status)values[i];
        CHECK(i == 0 ? values[i] == 0 : values[i] < 0);
        CHECK(strncmp(asx_status_str(status), i == 0 ? "ASX_OK" : "ASX_E_", 6) == 0);
        const char *hint = asx_status_hint(status);
        size_t len = strlen(hint);
        CHECK(len > 10 && hint[len - 1] == '.');
        for (int j = 0; j < i; j++) {
            CHECK_NE(values[i], values[j]);
            CHECK(strcmp(hint, asx_status_hint((asx_status)values[j])) != 0);
        }
    }
}

ASX_TEST(other_numbers_are_unknown)
{
    int unknown = 0;
    for (int value = -1000; value <= 1000; value++) {
        bool listed = false;
#define LISTED(name, number, hint) listed = listed || value == (number);
        ASX_STATUS_LIST(LISTED)
#undef LISTED
        if (listed)
            continue;
        unknown++;
        CHECK_STR_EQ(asx_status_str((asx_status)value), "ASX_E_UNKNOWN");
        CHECK(strstr(asx_status_hint((asx_status)value), "no status") != NULL);
    }
    CHECK_GE(unknown, 1900);
}
