/* cmd_trace.c - `asx trace show`, `foata`, `diff`, `check`. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/oracle/oracle.h"
#include "lab/main/pack.h"
#include "trace/foata.h"

static int show(const char *path)
{
    asx_trace_reader reader;
    asx_event event;
    char *bytes = NULL;
    char line[512];
    if (!cli_open_trace(path, &bytes, &reader))
        return CLI_USAGE;
    (void)printf("# seed %" PRIu64 ", %" PRIu64 " of %" PRIu64 " events, digest %016" PRIx64 "\n",
                 reader.seed, reader.event_count, reader.events_total, reader.digest);
    asx_status st;
    while ((st = asx_trace_reader_next(&reader, &event)) >= 0) {
        (void)asx_event_format(&event, line, sizeof(line));
        (void)printf("%s\n", line);
    }
    free(bytes);
    if (st != ASX_E_EMPTY)
        return cli_error("%s: damaged at byte %zu", path, reader.error_offset);
    return CLI_OK;
}

static bool make(const char *path, asx__foata *ret)
{
    asx_trace_reader reader;
    char *bytes = NULL;
    if (!cli_open_trace(path, &bytes, &reader))
        return false;
    asx_status st = asx__foata_make(&reader, ret);
    free(bytes);
    if (st < 0)
        (void)cli_error("%s: %s %s", path, asx_status_str(st), asx_status_hint(st));
    return st >= 0;
}

static int foata(const char *path)
{
    asx__foata f;
    if (!make(path, &f))
        return CLI_USAGE;
    (void)printf("# %zu events in %" PRIu64 " layers\n", f.len, f.layers);
    for (size_t i = 0; i < f.len; i++)
        (void)printf("%" PRIu64 " %s\n", f.items[i].layer, f.items[i].text);
    asx__foata_deinit(&f);
    return CLI_OK;
}

/* Order of two items, the end of a list last. */
static int compare(const asx__foata *a, size_t i, const asx__foata *b, size_t j)
{
    if (i == a->len || j == b->len)
        return (i == a->len) - (j == b->len);
    if (a->items[i].layer != b->items[j].layer)
        return a->items[i].layer < b->items[j].layer ? -1 : 1;
    return strcmp(a->items[i].text, b->items[j].text);
}

/* What is in one and not in the other, of the first layer that differs: later ones follow from
 * it. */
static size_t print_difference(const asx__foata *a, const asx__foata *b)
{
    uint64_t layer = 0;
    size_t differences = 0;
    for (size_t i = 0, j = 0; i < a->len || j < b->len;) {
        int order = compare(a, i, b, j);
        const asx__foata_item *item = order <= 0 ? &a->items[i] : &b->items[j];
        if (layer != 0 && item->layer > layer)
            break;
        if (order != 0) {
            if (layer == 0)
                (void)printf("layer %" PRIu64 "\n", item->layer);
            layer = item->layer;
            differences++;
            (void)printf("%c %s (event %" PRIu64 ")\n", order < 0 ? '-' : '+', item->text,
                         item->seq);
        }
        i += order <= 0;
        j += order >= 0;
    }
    return differences;
}

static int diff(const char *first, const char *second)
{
    asx__foata a, b;
    if (!make(first, &a))
        return CLI_USAGE;
    if (!make(second, &b)) {
        asx__foata_deinit(&a);
        return CLI_USAGE;
    }
    size_t differences = print_difference(&a, &b);
    if (differences == 0)
        (void)printf("the same up to the order of what commutes: %zu events in %" PRIu64
                     " layers\n", a.len, a.layers);
    asx__foata_deinit(&a);
    asx__foata_deinit(&b);
    return differences == 0 ? CLI_OK : CLI_FAILED;
}

/* What a crash pack says of itself: a trace shows neither deadlocks of an exploration, nor what is
 * in cells and was said of objects, nor what oracles and checks of the program saw. */
static void tell_verdict(const char *path)
{
    char *text = NULL;
    size_t len = 0;
    if (!cli_read_file(path, &text, &len))
        return;
    bool pack = strncmp(text, ASX__PACK_HEAD, ASX__PACK_HEAD_LEN) == 0;
    char *verdict = pack ? cli_pack_value(text, "verdict") : NULL;
    char *failure = pack ? cli_pack_value(text, "failure") : NULL;
    if (verdict != NULL)
        (void)printf("the pack says: %s: %s\n", verdict, failure != NULL ? failure : "");
    free(verdict);
    free(failure);
    free(text);
}

/* The oracles of the laboratory, on a run that is over. */
static int check(const char *path)
{
    asx_trace_reader reader;
    asx_event event;
    char *bytes = NULL;
    asx__oracles oracles;
    asx_status st, ended = ASX_OK;
    if (!cli_open_trace(path, &bytes, &reader))
        return CLI_USAGE;
    asx__oracles_init(&oracles);
    while ((st = asx_trace_reader_next(&reader, &event)) >= 0) {
        if (event.kind < ASX_EVENT_CELL_ACCESS) /* a task that runs in vain may access cells */
            asx__oracles_hear(&oracles, &event);
        if (event.kind == ASX_EVENT_RUN_END)
            ended = (asx_status)(int64_t)event.a;
    }
    bool complained = asx__oracles_end(&oracles, ended);
    if (st != ASX_E_EMPTY)
        (void)cli_error("%s: damaged at byte %zu", path, reader.error_offset);
    else if (complained)
        (void)printf("%s: event %" PRIu64 ": %s\n", asx_oracle_str(oracles.complaint.oracle),
                     oracles.complaint.seq, oracles.complaint.text);
    else
        (void)printf("no oracle complains: %" PRIu64 " events\n", reader.event_count);
    asx__oracles_deinit(&oracles);
    free(bytes);
    if (st == ASX_E_EMPTY)
        tell_verdict(path);
    return st != ASX_E_EMPTY ? CLI_USAGE : complained ? CLI_FAILED : CLI_OK;
}

int cli_trace(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (argc == 3 && strcmp(what, "show") == 0)
        return show(argv[2]);
    if (argc == 3 && strcmp(what, "foata") == 0)
        return foata(argv[2]);
    if (argc == 3 && strcmp(what, "check") == 0)
        return check(argv[2]);
    if (argc == 4 && strcmp(what, "diff") == 0)
        return diff(argv[2], argv[3]);
    return cli_error("usage: asx trace show TRACE | check TRACE | foata TRACE | diff TRACE TRACE");
}
