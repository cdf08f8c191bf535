/* table.c - how many schedules each way of searching needs until the first one fails: for each test
 * the median and the largest of ten seeds. A number in brackets: so many seeds found nothing within
 * the limit of schedules or half a second. Tests that no way finds fault with are left out. */
#include "lab/lab_main.h"

#include <stdlib.h>
#include <string.h>

enum { SEEDS = 10 };
#define LIMIT 2000

typedef struct cell {
    uint64_t needed[SEEDS]; /* sorted; 0: not found */
    unsigned missed;
    uint64_t slowest_ns;
} cell;

static int compare(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x - 1, b = *(const uint64_t *)y - 1; /* 0 comes last */
    return (a > b) - (a < b);
}

static void note(cell *c, unsigned seed, const asx_lab_finding *finding)
{
    bool found = finding->found && finding->schedules <= LIMIT;
    c->needed[seed] = found ? finding->schedules : 0;
    c->missed += !found;
    if (found && finding->elapsed_ns > c->slowest_ns)
        c->slowest_ns = finding->elapsed_ns;
}

typedef struct first {
    asx_lab_finding finding;
} first;

static void on_first(void *ctx, const asx_explore_failure *failure)
{
    first *f = ctx;
    f->finding.found = true;
    f->finding.schedules = failure->execution;
}

/* mode ASX_EXPLORE_MODE_COUNT: the default search. */
static bool measure(const asx_lab_test *test, unsigned mode, cell *ret)
{
    memset(ret, 0, sizeof *ret);
    for (unsigned s = 0; s < SEEDS; s++) {
        first f = { 0 };
        asx_explore_result result;
        asx_explore_options options = { .seed = s + 1,
                                        .stop_at_first = true,
                                        .time_max_ns = ASX_SEC / 2 };
        asx_status st;
        if (mode == ASX_EXPLORE_MODE_COUNT) {
            st = asx_lab_search(&options, 0, test->fn, NULL, &result, &f.finding);
        } else {
            options.mode = (asx_explore_mode)mode;
            options.executions_max = LIMIT;
            options.on_failure = on_first;
            options.ctx = &f;
            st = asx_explore(&options, test->fn, NULL, &result);
            f.finding.elapsed_ns = st >= 0 ? result.totals.elapsed_ns : 0;
        }
        if (st < 0 || result.status < 0)
            return false;
        note(ret, s, &f.finding);
        if (mode == ASX_EXPLORE_MODE_COUNT)
            asx_lab_finding_deinit(&f.finding);
    }
    qsort(ret->needed, SEEDS, sizeof ret->needed[0], compare);
    return true;
}

static void print_cell(const cell *c)
{
    char text[64], missed[16] = "";
    if (c->missed == SEEDS) {
        printf(" | %14s", "-");
        return;
    }
    if (c->missed != 0)
        (void)snprintf(missed, sizeof missed, " (%u)", c->missed);
    (void)snprintf(text, sizeof text, "%llu..%llu%s",
                   (unsigned long long)c->needed[(SEEDS - c->missed - 1) / 2],
                   (unsigned long long)c->needed[SEEDS - c->missed - 1], missed);
    printf(" | %14s", text);
}

int table_print(request *r)
{
    cell cells[ASX_EXPLORE_MODE_COUNT + 1];
    int code = 0;
    printf("| %-22s | %14s", "test", "search");
    for (unsigned m = 0; m < ASX_EXPLORE_MODE_COUNT; m++)
        printf(" | %14s", asx_explore_mode_str(m));
    printf(" | %10s |\n|---", "search, ms");
    for (unsigned m = 0; m < ASX_EXPLORE_MODE_COUNT + 2; m++)
        printf("|---");
    puts("|");
    for (const asx_lab_test *test = tests_all(); test != NULL; test = test->next) {
        bool found = false, good = true;
        if (!wanted(r, test))
            continue;
        for (unsigned m = 0; m <= ASX_EXPLORE_MODE_COUNT && good; m++) {
            good = measure(test, m, &cells[m]);
            found = found || (good && cells[m].missed != SEEDS);
        }
        if (!good)
            code = complain(test->name, "cannot be explored");
        if (!good || !found)
            continue;
        printf("| %-22s", test->name);
        print_cell(&cells[ASX_EXPLORE_MODE_COUNT]);
        for (unsigned m = 0; m < ASX_EXPLORE_MODE_COUNT; m++)
            print_cell(&cells[m]);
        printf(" | %10.1f |\n", (double)cells[ASX_EXPLORE_MODE_COUNT].slowest_ns / 1e6);
        (void)fflush(stdout);
    }
    return code;
}
