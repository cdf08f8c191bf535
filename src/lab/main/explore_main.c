/* explore_main.c - the main of a lab test program: which tests, how, and what came of it.
 *
 * Linked as asx_lab_main, apart from the library, which neither prints nor has a main.
 * Exit status: 0 all good, 1 a bug, a deadlock or a cut-off execution, 2 it could not be explored.
 */
#include <asx/explore.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static asx_lab_test *tests_first, **tests_end = &tests_first;

void asx_lab_test_register(asx_lab_test *test)
{
    *tests_end = test;
    tests_end = &test->next;
}

typedef struct request {
    asx_explore_options options;
    const char *replay;   /* file */
    const char *save;     /* file */
    const char *seeds;
    bool json, list, quiet, progress;
    bool saved;
    const asx_lab_test *test;
    char **names;
    int names_len;
} request;

static const char usage[] =
    "usage: %s [options] [test ...]\n"
    "Runs every schedule that matters of the tests named, or of all.\n"
    "  --list               the names of the tests\n"
    "  --explore            what it does anyway\n"
    "  --mode MODE          optimal: every class once (default)\n"
    "                       dfs: every interleaving; random; pct\n"
    "  --seed N             random, pct: where to start; optimal: draws the default task\n"
    "  --max-executions N   at most so many (random, pct: 1000)\n"
    "  --time SECONDS       at most so long\n"
    "  --max-steps N        of one execution (100000)\n"
    "  --depth N            pct: the depth of bug it aims at (3)\n"
    "  --first              stop at the first execution that is not good\n"
    "  --save FILE          write the first schedule that is not good\n"
    "  --replay FILE        run that schedule, once\n"
    "  --unchecked          do not compare classes\n"
    "  --progress           a line on standard error now and then\n"
    "  --json               one object per test\n";

static int complain(const char *what, const char *value)
{
    fprintf(stderr, "%s: %s\n", what, value);
    return 2;
}

static bool number(const char *text, uint64_t *ret)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 0);
    if (end == text || *end != '\0' || text[0] == '-')
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

static bool mode(const char *text, asx_explore_mode *ret_mode)
{
    for (unsigned m = 0; m < ASX_EXPLORE_MODE_COUNT; m++)
        if (strcmp(text, asx_explore_mode_str(m)) == 0) {
            *ret_mode = (asx_explore_mode)m;
            return true;
        }
    return false;
}

static bool flag(request *r, const char *name)
{
    if (strcmp(name, "--list") == 0)
        r->list = true;
    else if (strcmp(name, "--json") == 0)
        r->json = true;
    else if (strcmp(name, "--first") == 0)
        r->options.stop_at_first = true;
    else if (strcmp(name, "--unchecked") == 0)
        r->options.unchecked = true;
    else if (strcmp(name, "--progress") == 0)
        r->progress = true;
    else
        return strcmp(name, "--explore") == 0;
    return true;
}

/* 0; 2: not understood. */
static int valued(request *r, const char *name, const char *value)
{
    uint64_t n = 0;
    bool good = true;
    if (strcmp(name, "--mode") == 0)
        good = mode(value, &r->options.mode);
    else if (strcmp(name, "--seed") == 0)
        good = number(value, &r->options.seed);
    else if (strcmp(name, "--max-executions") == 0)
        good = number(value, &r->options.executions_max);
    else if (strcmp(name, "--max-steps") == 0)
        good = number(value, &r->options.steps_max);
    else if (strcmp(name, "--time") == 0)
        good = seconds(value, &r->options.time_max_ns);
    else if (strcmp(name, "--replay") == 0)
        r->replay = value;
    else if (strcmp(name, "--save") == 0)
        r->save = value;
    else if (strcmp(name, "--depth") == 0) {
        good = number(value, &n) && n > 0 && n <= 64;
        r->options.depth = (uint32_t)n;
    } else if (strcmp(name, "--bound") == 0)
        return complain(name, "an exploration cannot be bounded by preemptions or delays; "
                              "--max-executions and --time can stop it");
    else
        return complain(name, "there is no such option");
    if (good)
        return 0;
    fprintf(stderr, "%s: %s is not possible%s\n", name, value,
            strcmp(name, "--mode") == 0 ? "; optimal, dfs, random and pct are" : "");
    return 2;
}

static int parse(request *r, int argc, char **argv)
{
    r->names = argv + argc;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            r->names = argv + i;
            r->names_len = argc - i;
            break;
        }
        if (flag(r, argv[i]))
            continue;
        if (i + 1 >= argc)
            return complain(argv[i], "no such option, or its value is missing");
        int bad = valued(r, argv[i], argv[i + 1]);
        if (bad)
            return bad;
        i++;
    }
    for (int i = 0; i < r->names_len; i++) {
        const asx_lab_test *test = tests_first;
        while (test != NULL && strcmp(test->name, r->names[i]) != 0)
            test = test->next;
        if (test == NULL)
            return complain(r->names[i], "there is no such test");
    }
    return 0;
}

static bool wanted(const request *r, const asx_lab_test *test)
{
    if (r->names_len == 0)
        return true;
    for (int i = 0; i < r->names_len; i++)
        if (strcmp(r->names[i], test->name) == 0)
            return true;
    return false;
}

/* ---- telling -------------------------------------------------------------------------------- */

static const char *const verdicts[] = { "good", "deadlock", "failed", "too long" };

static void on_failure(void *ctx, const asx_explore_failure *failure)
{
    request *r = ctx;
    if (r->saved)
        return;
    r->saved = true;
    if (r->save != NULL) {
        FILE *file = fopen(r->save, "w");
        if (file == NULL || fprintf(file, "test %s\nschedule %s\n", r->test->name,
                                    failure->schedule) < 0)
            fprintf(stderr, "%s: cannot be written\n", r->save);
        if (file != NULL)
            fclose(file);
    }
    if (r->json)
        return;
    printf("%s: execution %llu: %s: %s %s\n%s", r->test->name,
           (unsigned long long)failure->execution, verdicts[failure->verdict], failure->text,
           failure->site, failure->interleaving);
}

static bool on_progress(void *ctx, const asx_explore_progress *p)
{
    const request *r = ctx;
    if (r->progress && p->executions % 65536 == 0)
        fprintf(stderr, "%s: %llu executions, %llu classes, %.0f/s, frontier %llu\n",
                r->test->name, (unsigned long long)p->executions, (unsigned long long)p->classes,
                (double)p->executions * 1e9 / (double)(p->elapsed_ns + 1),
                (unsigned long long)p->frontier);
    return true;
}

static void print_json(const request *r, const asx_explore_result *result)
{
    const asx_explore_progress *t = &result->totals;
    printf("{\"test\":\"%s\",\"mode\":\"%s\",\"executions\":%llu,\"classes\":%llu,"
           "\"redundant\":%llu,\"blocked\":%llu,\"deadlocks\":%llu,\"bugs\":%llu,"
           "\"complete\":%s,\"seconds\":%.6f,\"steps\":%llu,\"compared\":%llu,\"too_long\":%llu,"
           "\"memory\":%llu,\"status\":\"%s\"}\n",
           r->test->name, r->replay != NULL ? "replay" : asx_explore_mode_str(r->options.mode),
           (unsigned long long)t->executions, (unsigned long long)t->classes,
           (unsigned long long)t->redundant, (unsigned long long)t->blocked,
           (unsigned long long)t->deadlocks, (unsigned long long)t->bugs,
           result->complete ? "true" : "false", (double)t->elapsed_ns / 1e9,
           (unsigned long long)t->steps, (unsigned long long)t->compared,
           (unsigned long long)t->too_long, (unsigned long long)t->memory_bytes,
           asx_status_str(result->status));
}

/* Each run of n tasks and k steps finds a bug of depth d with probability 1 / (n k^(d - 1)) at
 * least; so many runs miss it with the rest to the power of their number. */
static void print_bound(const request *r, const asx_explore_progress *t)
{
    unsigned depth = r->options.depth != 0 ? r->options.depth : 3;
    double one = 1.0 / (double)t->tasks;
    for (unsigned i = 1; i < depth; i++)
        one /= (double)(t->steps_longest != 0 ? t->steps_longest : 1);
    double missed = 1.0;
    double rest = 1.0 - one;
    for (uint64_t n = t->executions; n > 0; n >>= 1, rest *= rest)
        if (n & 1)
            missed *= rest;
    printf("%s: a bug of depth %u is found with probability %.3g per execution at least, %.3g in "
           "all (%llu tasks, %llu steps)\n",
           r->test->name, depth, one, 1.0 - missed, (unsigned long long)t->tasks,
           (unsigned long long)t->steps_longest);
}

static void print_text(const request *r, const asx_explore_result *result)
{
    const asx_explore_progress *t = &result->totals;
    printf("%s: %llu executions, %llu classes, %llu redundant, %llu blocked, %llu deadlocks, "
           "%llu bugs, %llu steps, %.0f/s, %s\n",
           r->test->name, (unsigned long long)t->executions, (unsigned long long)t->classes,
           (unsigned long long)t->redundant, (unsigned long long)t->blocked,
           (unsigned long long)t->deadlocks, (unsigned long long)t->bugs,
           (unsigned long long)t->steps,
           (double)t->executions * 1e9 / (double)(t->elapsed_ns + 1),
           result->complete ? "complete" : "bounded");
    if (r->options.mode == ASX_EXPLORE_PCT && r->replay == NULL)
        print_bound(r, t);
    if (result->status < 0)
        fprintf(stderr, "%s: %s%s%s\n", r->test->name, asx_status_hint(result->status),
                result->unsupported != NULL ? " " : "",
                result->unsupported != NULL ? result->unsupported : "");
}

static int explore(request *r, const asx_lab_test *test)
{
    asx_explore_result result;
    r->test = test;
    r->saved = false;
    r->options.on_failure = on_failure;
    r->options.on_progress = on_progress;
    r->options.ctx = r;
    asx_status st = asx_explore(&r->options, test->fn, NULL, &result);
    if (st < 0)
        return complain(test->name, asx_status_hint(st));
    if (r->json)
        print_json(r, &result);
    else
        print_text(r, &result);
    if (result.status < 0)
        return 2;
    return result.totals.bugs + result.totals.deadlocks + result.totals.too_long != 0;
}

/* ---- replay --------------------------------------------------------------------------------- */

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    size_t len = 0, cap = 4096;
    char *text = file != NULL ? malloc(cap) : NULL;
    while (text != NULL) {
        size_t got = fread(text + len, 1, cap - len - 1, file);
        len += got;
        if (got == 0)
            break;
        if (len + 1 < cap)
            continue;
        cap *= 2;
        char *larger = realloc(text, cap);
        if (larger == NULL)
            free(text);
        text = larger;
    }
    if (file != NULL)
        fclose(file);
    if (text != NULL)
        text[len] = '\0';
    return text;
}

static int replay(request *r)
{
    char *text = read_file(r->replay);
    char name[256];
    int at = 0;
    if (text == NULL)
        return complain(r->replay, "cannot be read");
    if (sscanf(text, "test %255s schedule %n", name, &at) != 1 || at == 0) {
        free(text);
        return complain(r->replay, "is not a schedule");
    }
    const asx_lab_test *test = tests_first;
    while (test != NULL && strcmp(test->name, name) != 0)
        test = test->next;
    r->options.schedule = text + at;
    int code = test != NULL ? explore(r, test) : complain(name, "there is no such test");
    free(text);
    return code;
}

int main(int argc, char **argv)
{
    request r;
    memset(&r, 0, sizeof r);
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            printf(usage, argv[0]);
            return 0;
        }
    int code = parse(&r, argc, argv);
    if (code != 0)
        return code;
    if (r.replay != NULL)
        return replay(&r);
    for (const asx_lab_test *test = tests_first; test != NULL; test = test->next) {
        if (!wanted(&r, test))
            continue;
        int one = 0;
        if (r.list)
            printf("%s\n", test->name);
        else
            one = explore(&r, test);
        code = one > code ? one : code;
    }
    return code;
}
