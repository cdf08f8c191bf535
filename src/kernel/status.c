/* status.c - names and hints of results, from the list in status.h. */
#include <asx/status.h>

const char *asx_status_str(asx_status status)
{
    switch ((int)status) {
#define STATUS_NAME(name, value, hint)                                                             \
    case (value):                                                                                  \
        return "ASX_" #name;
        ASX_STATUS_LIST(STATUS_NAME)
#undef STATUS_NAME
    default:
        return "ASX_E_UNKNOWN";
    }
}

const char *asx_status_hint(asx_status status)
{
    switch ((int)status) {
#define STATUS_HINT(name, value, hint)                                                             \
    case (value):                                                                                  \
        return hint;
        ASX_STATUS_LIST(STATUS_HINT)
#undef STATUS_HINT
    default:
        return "The number is no status of this version.";
    }
}
