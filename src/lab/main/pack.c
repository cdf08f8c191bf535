/* pack.c - crash packs: a failure as one file.
 *
 * Lines of text, each a word and its value, in this order; then the trace, as it is:
 *
 *     asx-crash-pack 1
 *     program PATH         of the test program
 *     test NAME
 *     mode NAME
 *     seed N
 *     clock NAME           quiescent or adversarial
 *     faults N             the sum of asx_explore_fault
 *     verdict NAME         "died": the test has ended the process (dying.c)
 *     failure TEXT
 *     site FILE:LINE       empty when there is none
 *     version X.Y.Z        of asx
 *     system NAME RELEASE MACHINE
 *     compiler TEXT
 *     environment NAME=VALUE   any number of them: those that begin with ASX_
 *     | ...                any number of them: the interleaving
 *     schedule STEPS
 *     trace N              and N bytes, a trace file (asx trace show)
 *
 * Values end with their line; what would break one is written as a space. Readers skip lines they
 * do not know. A file that begins with `test NAME` and `schedule STEPS` (--save) is read too.
 */
#include "base/bytes.h"
#include "lab/main/lab_main.h"
#include "lab/main/pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

extern char **environ;

/* "word value", on one line whatever is in the value. */
static void line(FILE *file, const char *word, const char *value)
{
    fprintf(file, "%s ", word);
    for (const char *p = value; *p != '\0'; p++)
        fputc(*p == '\n' || *p == '\r' ? ' ' : *p, file);
    fputc('\n', file);
}

static void surroundings(FILE *file)
{
    struct utsname name;
    fprintf(file, "version %d.%d.%d\n", ASX_VERSION_MAJOR, ASX_VERSION_MINOR, ASX_VERSION_PATCH);
    if (uname(&name) == 0)
        fprintf(file, "system %s %s %s\n", name.sysname, name.release, name.machine);
    line(file, "compiler", __VERSION__);
    for (char **v = environ; *v != NULL; v++)
        if (strncmp(*v, "ASX_", 4) == 0)
            line(file, "environment", *v);
}

static void interleaving(FILE *file, const char *text)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        fprintf(file, "| %.*s\n", (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static bool record(const lab_request *r, const asx_lab_finding *finding, asx__bytes *ret_trace)
{
    asx_explore_options options = r->options;
    asx_explore_result result;
    options.schedule = finding->schedule;
    options.on_failure = NULL;
    options.on_progress = NULL;
    options.time_max_ns = 0;
    options.sink = asx__bytes_keep;
    options.ctx = ret_trace;
    options.program = r->test->name;
    return asx_explore(test_run, r->test, &options, &result) >= 0;
}

bool pack_write(const lab_request *r, const char *path, const asx_lab_finding *finding)
{
    asx__bytes trace = { 0 };
    if (!record(r, finding, &trace)) {
        free(trace.at);
        fprintf(stderr, "%s: the schedule could not be run again to be recorded\n", path);
        return false;
    }
    FILE *file = fopen(path, "wb");
    bool good = file != NULL;
    if (file != NULL) {
        char *program = realpath("/proc/self/exe", NULL);
        fputs(ASX__PACK_HEAD, file);
        line(file, "program", program != NULL ? program : r->program);
        line(file, "test", r->test->name);
        line(file, "mode", r->search ? "search" : asx_explore_mode_str(r->options.mode));
        fprintf(file, "seed %llu\n", (unsigned long long)r->options.seed);
        line(file, "clock", r->options.clock == ASX_EXPLORE_ADVERSARIAL ? "adversarial"
                                                                        : "quiescent");
        fprintf(file, "faults %u\n", (unsigned)r->options.faults);
        line(file, "verdict", verdict_names[finding->verdict]);
        line(file, "failure", finding->text);
        line(file, "site", finding->site);
        surroundings(file);
        interleaving(file, finding->interleaving);
        line(file, "schedule", finding->schedule);
        fprintf(file, "trace %zu\n", trace.len);
        good = fwrite(trace.at, 1, trace.len, file) == trace.len && ferror(file) == 0;
        good = fclose(file) == 0 && good;
        free(program);
    }
    free(trace.at);
    if (!good)
        fprintf(stderr, "%s: the crash pack cannot be written: %s\n", path, strerror(errno));
    else if (!r->json)
        printf("%s: crash pack written to %s; asx replay %s\n", r->test->name, path, path);
    return good;
}

/* The value of the first line that begins with the word; NULL: none. Ends it with a NUL. */
static char *value_of(char *text, const char *word)
{
    size_t len = strlen(word);
    while (text != NULL && *text != '\0') {
        if (strncmp(text, word, len) == 0 && (text[len] == ' ' || text[len] == '\n')) {
            char *value = text + len + (text[len] == ' ');
            value[strcspn(value, "\n")] = '\0';
            return value;
        }
        text = strchr(text, '\n');
        text += text != NULL;
    }
    return NULL;
}

/* The trace is what a pack ends with. */
static bool has_its_end(char *text, size_t len)
{
    const char *size = value_of(text, "trace");
    if (size == NULL)
        return false;
    size_t head = (size_t)(size - text) + strlen(size) + 1;
    return head <= len && len - head >= strtoull(size, NULL, 10);
}

bool pack_parse(char *text, size_t len, pack *ret)
{
    bool packed = strncmp(text, ASX__PACK_HEAD, ASX__PACK_HEAD_LEN) == 0;
    if (!packed && strncmp(text, "test ", 5) != 0)
        return false;
    /* The last ones first: each value is cut off at its end. */
    pack p = { .is_cut = packed && !has_its_end(text, len) };
    p.schedule = value_of(text, "schedule");
    p.site = value_of(text, "site");
    p.failure = value_of(text, "failure");
    p.verdict = value_of(text, "verdict");
    p.faults = value_of(text, "faults");
    p.clock = value_of(text, "clock");
    p.test = value_of(text, "test");
    if (p.test == NULL || p.schedule == NULL)
        return false;
    *ret = p;
    return true;
}
