/* date.c - dates as HTTP writes them. gmtime_r() would do, but reads a file about time zones first.
 *
 * Days are counted from the first of March of year 0, so that the day of a leap year is the last of
 * its year: y years have 365 y + y/4 - y/100 + y/400 days, and the months from March on begin at
 * (153 m + 2) / 5.
 */
#include "http/http.h"

#include <string.h>

#define DAY UINT64_C(86400)
#define DAYS_TO_1970 UINT64_C(719468)
#define LAST_SECOND UINT64_C(253402300799) /* of the year 9999 */

static const char days[] = "ThuFriSatSunMonTueWed"; /* the first of January 1970 was a Thursday */
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

static void digits(char *at, uint64_t number, int count)
{
    for (int i = count - 1; i >= 0; i--, number /= 10)
        at[i] = (char)('0' + number % 10);
}

static uint64_t days_before(uint64_t year)
{
    return 365 * year + year / 4 - year / 100 + year / 400;
}

const char *asx_http_date_text(uint64_t seconds, char ret_text[ASX_HTTP_DATE_MAX])
{
    if (ret_text == NULL)
        return NULL;
    if (seconds > LAST_SECOND)
        seconds = LAST_SECOND;
    uint64_t day = seconds / DAY + DAYS_TO_1970, time = seconds % DAY;
    uint64_t year = day * 400 / 146097;
    while (days_before(year + 1) <= day)
        year++;
    while (days_before(year) > day)
        year--;
    uint64_t rest = day - days_before(year), month = (5 * rest + 2) / 153;
    uint64_t of_month = rest - (153 * month + 2) / 5 + 1;
    month += 2; /* from January, 0 */
    if (month >= 12) {
        month -= 12;
        year++;
    }
    memcpy(ret_text, "Ddd, 00 Mmm 0000 00:00:00 GMT", ASX_HTTP_DATE_MAX);
    memcpy(ret_text, days + 3 * (seconds / DAY % 7), 3);
    digits(ret_text + 5, of_month, 2);
    memcpy(ret_text + 8, months + 3 * month, 3);
    digits(ret_text + 12, year, 4);
    digits(ret_text + 17, time / 3600, 2);
    digits(ret_text + 20, time / 60 % 60, 2);
    digits(ret_text + 23, time % 60, 2);
    return ret_text;
}

/* A number of so many digits; UINT64_MAX: it is none. */
static uint64_t number(const char *at, int count)
{
    uint64_t n = 0;
    for (int i = 0; i < count; i++) {
        if (at[i] < '0' || at[i] > '9')
            return UINT64_MAX;
        n = n * 10 + (uint64_t)(at[i] - '0');
    }
    return n;
}

/* Whatever the text was meant to be: it is a date if it is what that date is written as. */
asx_status asx_http_date_read(asx_http_text text, uint64_t *ret_seconds)
{
    char again[ASX_HTTP_DATE_MAX];
    uint64_t month = 0;
    if (ret_seconds == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_seconds = 0;
    if (text.at == NULL || text.len != ASX_HTTP_DATE_MAX - 1)
        return ASX_E_INVALID_ARGUMENT;
    const char *at = text.at;
    while (month < 12 && memcmp(at + 8, months + 3 * month, 3) != 0)
        month++;
    uint64_t day = number(at + 5, 2), year = number(at + 12, 4), hour = number(at + 17, 2);
    uint64_t minute = number(at + 20, 2), second = number(at + 23, 2);
    if (month == 12 || day == 0 || day > 31 || year < 1970 || year > 9999 || hour > 23 ||
        minute > 59 || second > 59)
        return ASX_E_INVALID_ARGUMENT;
    uint64_t from_march = (month + 10) % 12;
    uint64_t whole = days_before(month < 2 ? year - 1 : year) + (153 * from_march + 2) / 5 + day -
                     1 - DAYS_TO_1970;
    uint64_t seconds = whole * DAY + hour * 3600 + minute * 60 + second;
    if (memcmp(asx_http_date_text(seconds, again), at, text.len) != 0)
        return ASX_E_INVALID_ARGUMENT;
    *ret_seconds = seconds;
    return ASX_OK;
}
