/* table.c - how many schedules each way of searching needs until the first one fails: for each test
 * the median and the largest of ten seeds. A number in brackets: so many seeds found nothing within
 * the limit of schedules or half a second. Tests that no way finds fault with are left out.
 * Each test is measured in a process of its own, so that one that dies costs its own row only.
 *
 * The column of delays is that of an iterative search: all schedules without delays, then those
 * with one, and so on; schedules that are run again are counted again. */
#include "lab/main/lab_main.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SEEDS = 10, SEARCH = ASX_EXPLORE_MODE_COUNT, DELAYS, COLUMNS };
#define LIMIT 2000

typedef struct table_cell {
    uint64_t needed[SEEDS]; /* sorted; 0: not found */
    unsigned missed;
    uint64_t slowest_ns;
} table_cell;

static int compare(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x - 1, b = *(const uint64_t *)y - 1; /* 0 comes last */
    return (a > b) - (a < b);
}

static void note(table_cell *c, unsigned seed, const asx_lab_finding *finding)
{
    bool found = finding->found && finding->schedules <= LIMIT;
    c->needed[seed] = found ? finding->schedules : 0;
    c->missed += !found;
    if (found && finding->elapsed_ns > c->slowest_ns)
        c->slowest_ns = finding->elapsed_ns;
}

static const char *column_name(unsigned column)
{
    return column == SEARCH ? "search" : column == DELAYS ? "delays" : asx_explore_mode_str(column);
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

/* One more delay each time; the schedules of all rounds together. */
static asx_status by_delays(const asx_lab_test *test, asx_explore_options options, first *f,
                            asx_explore_result *ret_result)
{
    uint64_t before = 0, elapsed_ns = 0;
    asx_status st;
    for (options.delays = 1;; options.delays++) {
        options.executions_max = LIMIT - before;
        st = asx_explore(test->fn, NULL, &options, ret_result);
        if (st < 0 || ret_result->status < 0)
            return st;
        elapsed_ns += ret_result->totals.elapsed_ns;
        f->finding.schedules += before;
        f->finding.elapsed_ns = elapsed_ns;
        before += ret_result->totals.executions;
        if (f->finding.found || ret_result->complete || before >= LIMIT ||
            elapsed_ns >= options.time_max_ns)
            return st;
    }
}

static bool measure(const asx_lab_test *test, unsigned column, table_cell *ret)
{
    memset(ret, 0, sizeof *ret);
    for (unsigned s = 0; s < SEEDS; s++) {
        first f = { 0 };
        asx_explore_result result;
        asx_explore_options options = { .seed = s + 1,
                                        .stop_at_first = true,
                                        .time_max_ns = ASX_SEC / 2,
                                        .executions_max = LIMIT,
                                        .on_failure = on_first,
                                        .ctx = &f };
        asx_status st;
        if (column == SEARCH) {
            options.on_failure = NULL;
            st = asx_lab_search(test->fn, NULL, 0, &options, &result, &f.finding);
        } else if (column == DELAYS) {
            st = by_delays(test, options, &f, &result);
        } else {
            options.mode = (asx_explore_mode)column;
            st = asx_explore(test->fn, NULL, &options, &result);
            f.finding.elapsed_ns = st >= 0 ? result.totals.elapsed_ns : 0;
        }
        if (st < 0 || result.status < 0)
            return false;
        note(ret, s, &f.finding);
        if (column == SEARCH)
            asx_lab_finding_deinit(&f.finding);
    }
    qsort(ret->needed, SEEDS, sizeof ret->needed[0], compare);
    return true;
}

static void print_cell(const table_cell *c)
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

/* A row, in memory that the process which measures it shares with the table. */
typedef struct table_row {
    const asx_lab_test *test;
    table_cell cells[COLUMNS];
    bool good, found, done;
} table_row;

static void measure_row(void *ctx)
{
    table_row *row = ctx;
    row->good = true;
    for (unsigned c = 0; c < COLUMNS && row->good; c++) {
        row->good = measure(row->test, c, &row->cells[c]);
        row->found = row->found || (row->good && row->cells[c].missed != SEEDS);
    }
    row->done = true;
}

static void print_row(const table_row *row)
{
    printf("| %-22s", row->test->name);
    print_cell(&row->cells[SEARCH]);
    for (unsigned c = 0; c < COLUMNS; c++)
        if (c != SEARCH)
            print_cell(&row->cells[c]);
    printf(" | %10.1f |\n", (double)row->cells[SEARCH].slowest_ns / 1e6);
    (void)fflush(stdout);
}

/* Returns the exit status that the row asks for. */
static int measure_apart(table_row *row, const asx_lab_test *test)
{
    char why[64], text[96];
    memset(row, 0, sizeof *row);
    row->test = test;
    if (!run_apart(measure_row, row, why, sizeof why) || !row->done) {
        (void)snprintf(text, sizeof text, "died: the process ended by %s", why);
        return complain(test->name, text);
    }
    if (!row->good)
        return complain(test->name, "cannot be explored");
    if (row->found)
        print_row(row);
    return 0;
}

int table_print(lab_request *r)
{
    int code = 0;
    table_row *row = mmap(NULL, sizeof *row, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                          -1, 0);
    if (row == MAP_FAILED)
        return complain("the table", "there is no memory");
    printf("| %-22s | %14s", "test", column_name(SEARCH));
    for (unsigned c = 0; c < COLUMNS; c++)
        if (c != SEARCH)
            printf(" | %14s", column_name(c));
    printf(" | %10s |\n|---", "search, ms");
    for (unsigned c = 0; c < COLUMNS + 1; c++)
        printf("|---");
    puts("|");
    for (const asx_lab_test *test = tests_all(); test != NULL; test = test->next) {
        int one = wanted(r, test) ? measure_apart(row, test) : 0;
        code = one > code ? one : code;
    }
    (void)munmap(row, sizeof *row);
    return code;
}
