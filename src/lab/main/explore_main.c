/* explore_main.c - the main of a lab test program: which tests, how, and what came of it.
 *
 * Linked as asx_lab_main, apart from the library, which neither prints nor has a main.
 * Exit status: 0 all good, 1 a bug, a deadlock or a cut-off execution, 2 it could not be explored.
 */
#include "lab/main/lab_main.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/streams.h"
#include "lab/main/pack.h"

static asx_lab_test *tests_first;
static const char *default_mode;

/* Does `a` stand before `b` in the same file? */
static bool stands_before(const asx_lab_test *a, const asx_lab_test *b)
{
    const char *line_a = strrchr(a->site, ':'), *line_b = strrchr(b->site, ':');
    size_t len = line_a != NULL ? (size_t)(line_a - a->site) : 0;
    return len != 0 && line_b == b->site + len && strncmp(a->site, b->site, len) == 0 &&
           strtoul(line_a + 1, NULL, 10) < strtoul(line_b + 1, NULL, 10);
}

/* Those of a file as they stand there: constructors may be called in any order. */
void asx_lab_test_register(asx_lab_test *test)
{
    asx_lab_test **at = &tests_first;
    while (*at != NULL && !stands_before(test, *at))
        at = &(*at)->next;
    test->next = *at;
    *at = test;
}

void asx_lab_default_mode(const char *mode)
{
    default_mode = mode;
}

const asx_lab_test *tests_all(void)
{
    return tests_first;
}

asx_lab_test *test_named(const char *name)
{
    asx_lab_test *test = tests_first;
    while (test != NULL && strcmp(test->name, name) != 0)
        test = test->next;
    return test;
}

static const char usage[] =
    "usage: %s [options] [test ...]\n"
    "Searches the tests named, or all, for a schedule that fails.\n"
    "  --list               the names of the tests\n"
    "  --explore            sample, then run every schedule that matters, until one fails;\n"
    "                       what it does anyway\n"
    "  --samples N          so many sampled schedules (1000)\n"
    "  --mode MODE          this one only: %s\n"
    "  --seed N             where drawing starts; optimal: draws the default task\n"
    "  --max-executions N   at most so many (random, pct, pos, sample: 1000), not counting those\n"
    "                       before --resume\n"
    "  --time SECONDS       at most so long, likewise\n"
    "  --max-steps N        of one execution (100000)\n"
    "  --clock CLOCK        quiescent: time moves when nothing else can (default);\n"
    "                       adversarial: a time-out may come whenever its condition is not met\n"
    "  --faults LIST        what else may happen: cancel (a task, at any cancellation point),\n"
    "                       timeout (the adversarial clock), alloc, stack, thread (there is no\n"
    "                       memory, no stack, no thread); separated by commas\n"
    "  --bound N            only interleavings with at most N preemptions; preempt:N is the same,\n"
    "                       delay:N counts the tasks that are passed over\n"
    "  --jobs N             so many processes together (1); 0: one for each core\n"
    "  --checkpoint FILE    keep what is left to do there when it stops (--time,\n"
    "                       --max-executions, an interrupt)\n"
    "  --checkpoint-every S and every so many seconds\n"
    "  --resume FILE        go on from there; what is counted is of all runs\n"
    "  --depth N            pct: the depth of bug it aims at (3)\n"
    "  --first              stop at the first execution that is not good\n"
    "  --save FILE          write the first schedule that is not good\n"
    "  --pack FILE          write a crash pack of it (--explore: asx-TEST.pack)\n"
    "  --no-pack            do not\n"
    "  --no-shrink          show what was found as it was found\n"
    "  --replay FILE        run the schedule of a pack or of --save, once\n"
    "  --same               replay: success is to fail as the pack says\n"
    "  --record FILE        replay: write its trace, also if it ends the process\n"
    "  --table              how many schedules each mode needs, for ten seeds\n"
    "  --trust-reduction    do not compare classes\n"
    "  --progress           a line on standard error now and then\n"
    "  --json               one object per test; with --verbose more fields\n";

int complain(const char *what, const char *value)
{
    fprintf(stderr, "%s: %s\n", what, value);
    return 2;
}

static void mode_names(char *buffer, size_t size)
{
    size_t len = 0;
    buffer[0] = '\0';
    for (unsigned m = 0; m < ASX_EXPLORE_MODE_COUNT && len < size; m++)
        len += (size_t)snprintf(buffer + len, size - len, "%s%s", m != 0 ? ", " : "",
                                asx_explore_mode_str(m));
}

/* ---- the command line ----------------------------------------------------------------------- */

static bool number(const char *text, uint64_t *ret)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 0);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return false;
    *ret = value;
    return true;
}

static bool seconds(const char *text, uint64_t *ret_ns)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > 1e9)
        return false;
    *ret_ns = (uint64_t)(value * 1e9);
    return true;
}

static bool mode(lab_request *r, const char *text)
{
    for (unsigned m = 0; m < ASX_EXPLORE_MODE_COUNT; m++)
        if (strcmp(text, asx_explore_mode_str(m)) == 0) {
            r->options.mode = (asx_explore_mode)m;
            r->search = false;
            return true;
        }
    return false;
}

bool clock_named(const char *text, asx_explore_clock *ret_clock)
{
    bool adversarial = strcmp(text, "adversarial") == 0;
    if (!adversarial && strcmp(text, "quiescent") != 0)
        return false;
    *ret_clock = adversarial ? ASX_EXPLORE_ADVERSARIAL : ASX_EXPLORE_QUIESCENT;
    return true;
}

static uint32_t fault_named(const char *text, size_t len)
{
#define FAULT_NAMED(name, bit, text_)                                                              \
    if (len == sizeof text_ - 1 && strncmp(text, text_, len) == 0)                                 \
        return ASX_EXPLORE_FAULT_##name;
    ASX_EXPLORE_FAULT_LIST(FAULT_NAMED)
#undef FAULT_NAMED
    return ASX_EXPLORE_FAULT_NONE;
}

static uint64_t faults_all(void)
{
    uint64_t all = 0;
#define FAULT_ALL(name, bit, text_) all |= ASX_EXPLORE_FAULT_##name;
    ASX_EXPLORE_FAULT_LIST(FAULT_ALL)
#undef FAULT_ALL
    return all;
}

static bool fault_names(lab_request *r, const char *text)
{
    for (;;) {
        size_t len = strcspn(text, ",");
        uint32_t fault = fault_named(text, len);
        r->options.faults |= fault;
        if (len == 7 && strncmp(text, "timeout", len) == 0)
            r->options.clock = ASX_EXPLORE_ADVERSARIAL;
        else if (fault == ASX_EXPLORE_FAULT_NONE)
            return false;
        if (text[len] == '\0')
            return true;
        text += len + 1;
    }
}

static bool flag(lab_request *r, const char *name)
{
    const struct {
        const char *name;
        bool *flag;
    } flags[] = {
        { "--list", &r->list },           { "--json", &r->json },
        { "--verbose", &r->verbose },     { "--first", &r->options.stop_at_first },
        { "--table", &r->table },         { "--trust-reduction", &r->options.trust_reduction },
        { "--progress", &r->progress },   { "--no-pack", &r->no_pack },
        { "--no-shrink", &r->no_shrink }, { "--same", &r->same },
    };
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (strcmp(name, flags[i].name) == 0) {
            *flags[i].flag = true;
            return true;
        }
    return strcmp(name, "--explore") == 0;
}

static bool file_option(lab_request *r, const char *name, const char *value)
{
    if (strcmp(name, "--replay") == 0)
        r->replay = value;
    else if (strcmp(name, "--record") == 0)
        r->record = value;
    else if (strcmp(name, "--save") == 0)
        r->save = value;
    else if (strcmp(name, "--pack") == 0)
        r->pack = value;
    else if (strcmp(name, "--checkpoint") == 0)
        r->checkpoint = value;
    else if (strcmp(name, "--resume") == 0)
        r->resume = value;
    else
        return false;
    return true;
}

/* "N", "preempt:N" or "delay:N". */
static bool bound(lab_request *r, const char *text)
{
    uint64_t n = 0;
    bool delay = strncmp(text, "delay:", 6) == 0;
    const char *digits = delay ? text + 6 : strncmp(text, "preempt:", 8) == 0 ? text + 8 : text;
    if (!number(digits, &n) || n >= 1000)
        return false;
    *(delay ? &r->options.delays : &r->options.bound) = (uint32_t)n + 1;
    r->search = false;
    return true;
}

static bool jobs(lab_request *r, const char *text)
{
    uint64_t n = 0;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (!number(text, &n) || n > 256)
        return false;
    r->options.jobs = n != 0 ? (uint32_t)n : cores > 0 && cores <= 256 ? (uint32_t)cores : 1;
    return true;
}

/* 0; 2: not understood. */
static int valued(lab_request *r, const char *name, const char *value)
{
    uint64_t n = 0;
    bool good = true;
    char modes[256];
    if (file_option(r, name, value))
        return 0;
    if (strcmp(name, "--mode") == 0)
        good = mode(r, value);
    else if (strcmp(name, "--seed") == 0)
        good = number(value, &r->options.seed);
    else if (strcmp(name, "--samples") == 0)
        good = number(value, &r->samples) && r->samples > 0;
    else if (strcmp(name, "--max-executions") == 0)
        good = number(value, &r->options.executions_max);
    else if (strcmp(name, "--max-steps") == 0)
        good = number(value, &r->options.steps_max) && r->options.steps_max > 0;
    else if (strcmp(name, "--time") == 0)
        good = seconds(value, &r->options.time_max_ns);
    else if (strcmp(name, "--jobs") == 0)
        good = jobs(r, value);
    else if (strcmp(name, "--checkpoint-every") == 0)
        good = seconds(value, &r->options.checkpoint_every_ns);
    else if (strcmp(name, "--depth") == 0) {
        good = number(value, &n) && n > 0 && n <= 64;
        r->options.depth = (uint32_t)n;
    } else if (strcmp(name, "--bound") == 0)
        good = bound(r, value);
    else if (strcmp(name, "--clock") == 0)
        good = clock_named(value, &r->options.clock);
    else if (strcmp(name, "--faults") == 0)
        good = fault_names(r, value);
    else
        return complain(name, "there is no such option");
    if (good)
        return 0;
    mode_names(modes, sizeof modes);
    fprintf(stderr, "%s: %s is not possible%s%s\n", name, value,
            strcmp(name, "--mode") == 0 ? "; there are " : "",
            strcmp(name, "--mode") == 0 ? modes : "");
    return 2;
}

bool wanted(const lab_request *r, const asx_lab_test *test)
{
    if (r->names_len == 0)
        return true;
    for (int i = 0; i < r->names_len; i++)
        if (strcmp(r->names[i], test->name) == 0)
            return true;
    return false;
}

asx_lab_test *test_wanted(const lab_request *r, asx_lab_test *test)
{
    while (test != NULL && !wanted(r, test))
        test = test->next;
    return test;
}

static unsigned tests_wanted(const lab_request *r)
{
    unsigned count = 0;
    for (const asx_lab_test *test = tests_first; test != NULL; test = test->next)
        count += wanted(r, test);
    return count;
}

/* Options and names of tests in any order; the names are moved to the front. */
static int parse(lab_request *r, int argc, char **argv)
{
    r->names = argv;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-') {
            r->names[r->names_len++] = argv[i];
            continue;
        }
        if (flag(r, argv[i]))
            continue;
        const char *name = argv[i];
        char *value = strchr(argv[i], '=');
        if (value != NULL)
            *value++ = '\0'; /* --name=value */
        else if (i + 1 < argc)
            value = argv[++i];
        else
            return complain(name, "no such option, or its value is missing");
        int bad = valued(r, name, value);
        if (bad)
            return bad;
    }
    for (int i = 0; i < r->names_len; i++)
        if (test_named(r->names[i]) == NULL)
            return complain(r->names[i], "there is no such test");
    if ((r->checkpoint != NULL || r->resume != NULL) && r->names_len != 1)
        return complain(r->checkpoint != NULL ? "--checkpoint" : "--resume",
                        "is for one test, which must be named");
    if ((r->pack != NULL || r->save != NULL) && r->replay == NULL && tests_wanted(r) > 1)
        return complain(r->pack != NULL ? "--pack" : "--save",
                        "is for one test: each would write over the last");
    if (r->replay == NULL && (r->same || r->record != NULL))
        return complain(r->same ? "--same" : "--record", "is for --replay");
    if (r->checkpoint != NULL)
        r->options.on_checkpoint = on_checkpoint;
    if (r->checkpoint == NULL && r->options.checkpoint_every_ns != 0)
        return complain("--checkpoint-every", "says when, but not where: --checkpoint FILE");
    if ((r->options.bound != 0 || r->options.delays != 0) &&
        r->options.mode != ASX_EXPLORE_OPTIMAL && r->options.mode != ASX_EXPLORE_DFS)
        return complain("--bound", "is for optimal and dfs, and not for this mode");
    return 0;
}

/* ---- exploring ------------------------------------------------------------------------------ */

static int code_of(const asx_explore_result *result)
{
    if (result->status < 0)
        return 2;
    return result->totals.bugs + result->totals.deadlocks + result->totals.too_long != 0 ||
           is_vacuous(result);
}

bool save(const lab_request *r, const char *schedule)
{
    FILE *file = fopen(r->save, "w");
    bool good = file != NULL &&
                fprintf(file, "test %s\nschedule %s\n", r->test->name, schedule) > 0;
    if (file != NULL && fclose(file) != 0)
        good = false;
    if (!good)
        (void)complain(r->save, strerror(errno));
    return good;
}

/* A failure, made small, shown and kept. False: it could not be kept. */
static bool keep(lab_request *r, asx_lab_finding *finding)
{
    asx_explore_options options = r->options;
    asx_lab_finding first = { .steps = finding->steps,
                              .switches = finding->switches,
                              .tasks = finding->tasks };
    bool good = true, shrunk = false;
    char path[256];
    if (options.time_max_ns == 0)
        options.time_max_ns = 2 * ASX_SEC;
    if (!r->no_shrink) {
        asx_status st = asx_lab_shrink(finding, test_run, r->test, 0, &options);
        if (st < 0)
            fprintf(stderr, "%s: the failure does not repeat: %s\n", r->test->name,
                    asx_status_hint(st));
        shrunk = st >= 0 && (first.steps != finding->steps || first.tasks != finding->tasks ||
                             first.switches != finding->switches);
    }
    if (!r->json)
        tell_finding(r, finding, shrunk ? &first : NULL);
    if (r->save != NULL)
        good = save(r, finding->schedule);
    if (r->no_pack || (r->pack == NULL && !r->search))
        return good;
    (void)snprintf(path, sizeof path, "asx-%.200s.pack", r->test->name);
    return pack_write(r, r->pack != NULL ? r->pack : path, finding) && good;
}

/* A checkpoint that is no longer needed, since nothing is left. */
static void drop_checkpoint(const lab_request *r, const asx_explore_result *result)
{
    if (r->checkpoint != NULL && result->complete)
        (void)unlink(r->checkpoint);
}

/* Is it because the test has ended a worker, and has that been told? */
static bool is_told(const lab_request *r, asx_status st)
{
    return watch_told() || (st == ASX_E_SYSTEM && r->options.jobs > 1 && tell_worker_ended(r));
}

static int search(lab_request *r)
{
    asx_explore_result result;
    asx_lab_finding finding;
    r->saved = true; /* what is found is told by us */
    asx_status st = asx_lab_search(test_run, r->test, r->samples, &r->options, &result, &finding);
    if (st < 0 && is_told(r, st))
        return 1;
    if (st < 0)
        return complain(r->test->name, asx_status_hint(st));
    bool kept = !finding.found || keep(r, &finding);
    drop_checkpoint(r, &result);
    tell_result(r, &result, &finding);
    asx_lab_finding_deinit(&finding);
    return kept ? code_of(&result) : 2;
}

static int explore(lab_request *r, asx_lab_test *test)
{
    asx_explore_result result;
    r->test = test;
    r->saved = false;
    r->options.on_failure = on_failure;
    r->options.tell_first = true;
    r->options.on_progress = on_progress;
    r->options.ctx = r;
    r->options.program = test->name;
    if (r->search && r->replay == NULL)
        return search(r);
    asx_status st = asx_explore(test_run, test, &r->options, &result);
    if (st < 0 && is_told(r, st))
        return 1;
    if (st == ASX_E_INVALID_ARGUMENT && r->replay != NULL)
        return complain(r->replay, "its schedule is none");
    if (st < 0)
        return complain(test->name, asx_status_hint(st));
    drop_checkpoint(r, &result);
    tell_result(r, &result, NULL);
    return r->lost ? 2 : code_of(&result);
}

/* A test has called pthread_exit(). What it was explored with stood on the stack that is gone. */
static void on_thread_end(void *arg)
{
    (void)arg;
    board_why("pthread_exit()");
    _exit(1);
}

/* With the checkpoint, if one is asked for. */
static int explore_from(lab_request *r, asx_lab_test *test)
{
    size_t len = 0;
    char *bytes = r->resume != NULL ? read_file(r->resume, &len) : NULL;
    if (r->resume != NULL && bytes == NULL)
        return complain(r->resume, "cannot be read");
    r->options.resume = bytes;
    r->options.resume_len = len;
    int code = 0;
    watch_begin(r);
    pthread_cleanup_push(on_thread_end, NULL);
    code = explore(r, test);
    pthread_cleanup_pop(0);
    watch_end();
    (void)fflush(stdout); /* the next test may take it along */
    r->options.resume = NULL;
    free(bytes);
    return code;
}

int tests_run(lab_request *r, asx_lab_test *from)
{
    int code = 0;
    for (asx_lab_test *test = test_wanted(r, from); test != NULL;
         test = test_wanted(r, test->next)) {
        board_begin(test);
        int one = explore_from(r, test);
        board_end(one);
        code = one > code ? one : code;
        if (was_interrupted())
            break;
    }
    return code;
}

/* ---- replay --------------------------------------------------------------------------------- */

static int replay(lab_request *r)
{
    size_t len = 0;
    char *text = read_file(r->replay, &len);
    pack p;
    if (text == NULL)
        return complain(r->replay, "cannot be read");
    if (!pack_parse(text, len, &p)) {
        free(text);
        return complain(r->replay, "is not a schedule");
    }
    asx_lab_test *test = test_named(p.test);
    uint64_t faults = r->options.faults;
    r->options.schedule = p.schedule;
    r->expected = &p;
    int code;
    if (p.is_cut)
        code = complain(r->replay, "is damaged: its end is missing");
    else if (test == NULL)
        code = complain(p.test, "there is no such test");
    else if (!wanted(r, test))
        code = complain(r->replay, "is of another test");
    else if (p.clock != NULL && !clock_named(p.clock, &r->options.clock))
        code = complain(r->replay, "there is no such clock");
    else if (p.faults != NULL && (!number(p.faults, &faults) || (faults & ~faults_all()) != 0))
        code = complain(r->replay, "there are no such faults");
    else {
        r->options.faults = (uint32_t)faults;
        r->options.sink = r->record != NULL ? record_trace : NULL;
        watch_begin(r);
        code = explore(r, test);
        watch_end();
    }
    if (r->same && code < 2) {
        puts(r->seen ? "the same failure again" : "not the failure of the pack");
        code = !r->seen;
    }
    free(text);
    return code;
}

/* To the tool that has started us, if one has. */
static void answer(void)
{
    uint64_t fd;
    const char *text = getenv(ASX__LAB_ANSWER);
    if (text == NULL || !number(text, &fd) || fd > INT_MAX)
        return;
    ssize_t written = write((int)fd, "", 1);
    (void)written;
    (void)close((int)fd);
    (void)unsetenv(ASX__LAB_ANSWER);
}

static int run(int argc, char **argv)
{
    lab_request r;
    char modes[256];
    memset(&r, 0, sizeof r);
    r.program = argv[0];
    r.search = true;
    if (default_mode != NULL && !mode(&r, default_mode))
        return complain(default_mode, "there is no such mode");
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            mode_names(modes, sizeof modes);
            printf(usage, argv[0], modes);
            return 0;
        }
    int code = parse(&r, argc, argv);
    if (code != 0)
        return code;
    if (!r.table)
        watch_deaths();
    if (r.replay != NULL)
        return replay(&r);
    if (r.table)
        return table_print(&r);
    if (!r.list)
        return supervise(&r, test_wanted(&r, tests_first));
    for (asx_lab_test *test = tests_first; test != NULL; test = test->next)
        if (wanted(&r, test))
            printf("%s\n", test->name);
    return code;
}

int main(int argc, char **argv)
{
    asx__streams_begin();
    answer();
    int code = run(argc, argv);
    return asx__streams_end() ? code : complain("the result cannot be written", strerror(errno));
}
