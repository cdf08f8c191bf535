/* conformance.c - `asx conformance`: one fixture for every identifier, on the real runtime.
 *
 * Each fixture runs in a child process of its own, with a time limit, so that a crash or a hang is
 * the failure of one fixture and nothing else. The child leaves by exit(), so that leak checkers
 * have their say; what they make of the exit code counts.
 */
#include "cli/cli.h"

#include "base/atomic.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SECTIONS_MAX = 1024, TIMEOUT_DEFAULT_S = 30, ANSWER_MAX = 900, FILTERS_MAX = 16,
       WORKERS_MAX = 64 };

typedef enum verdict { PASSED, FAILED, SKIPPED } verdict;

typedef struct fixture {
    char id[64];
    const char *file;
    scn_section section;      /* of a scenario */
    const cli_c_fixture *c;   /* or this */
} fixture;

typedef struct suite {
    fixture *fixtures;
    size_t count, cap;
    char **texts;             /* files that were read */
    size_t text_count;
    char **ids;               /* to answer for */
    size_t id_count;
} suite;

typedef struct settings {
    const char *filters[FILTERS_MAX];
    size_t filter_count;
    const char *dir;
    const char *show;
    bool json;
    uint64_t timeout_s;
    uint32_t workers; /* > 1: on so many */
} settings;

typedef struct answer {
    verdict verdict;
    char why[ANSWER_MAX];
    char digest[20];
} answer;

/* ---- fixtures in C ---- */

static cli_c_fixture *c_fixtures;
static int answer_fd = -1;
static uint32_t fixture_workers; /* as on the command line */
static asx__atomic_u32 failed_once; /* a fixture may have threads */

void cli_fixture_register(cli_c_fixture *f)
{
    f->next = c_fixtures;
    c_fixtures = f;
}

uint32_t cli_fixture_workers(void)
{
    return fixture_workers;
}

static void send_answer(char sign, const char *text)
{
    char line[ANSWER_MAX];
    int n = snprintf(line, sizeof(line), "%c%s", sign, text);
    if (n < 0 || (size_t)n >= sizeof(line))
        n = (int)sizeof(line) - 1;
    for (const char *p = line; n > 0;) {
        ssize_t w = write(answer_fd, p, (size_t)n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return;
        p += w;
        n -= (int)w;
    }
}

void cli_fixture_fail(const char *file, int line, const char *format, ...)
{
    char text[ANSWER_MAX], message[ANSWER_MAX / 2];
    while (asx__exchange_relaxed(&failed_once, 1) != 0)
        (void)pause();
    const char *base = strrchr(file, '/');
    va_list args;
    va_start(args, format);
    (void)vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    (void)snprintf(text, sizeof(text), "%s:%d: %s", base == NULL ? file : base + 1, line, message);
    send_answer('F', text);
    _exit(0);
}

/* ---- the suite ---- */

static bool add_fixture(suite *s, const char *id, size_t id_len, const fixture *model)
{
    if (s->count == s->cap) {
        size_t cap = s->cap == 0 ? 256 : s->cap * 2;
        fixture *larger = realloc(s->fixtures, cap * sizeof(*larger));
        if (larger == NULL)
            return false;
        s->fixtures = larger;
        s->cap = cap;
    }
    fixture *f = &s->fixtures[s->count++];
    *f = *model;
    (void)snprintf(f->id, sizeof(f->id), "%.*s", id_len > 60 ? 60 : (int)id_len, id);
    return true;
}

/* The names behind `scenario`, up to the end of its line. */
static bool add_ids(suite *s, const char *text, size_t len, const fixture *model)
{
    const char *end = text + len;
    bool first = true;
    while (text < end && *text != '\n' && *text != '#') {
        size_t n = 0;
        while (text + n < end && strchr(" \t\r\n#", text[n]) == NULL)
            n++;
        if (n > 0 && !first && !add_fixture(s, text, n, model))
            return false;
        if (n > 0)
            first = false;
        text += n;
        while (text < end && (*text == ' ' || *text == '\t' || *text == '\r'))
            text++;
    }
    return true;
}

static bool add_scenarios(suite *s, const char *file, const char *text, size_t len)
{
    scn_section *sections = calloc(SECTIONS_MAX, sizeof(*sections));
    size_t count = sections == NULL ? 0 : scn_split(text, len, sections, SECTIONS_MAX);
    bool ok = sections != NULL;
    if (count > SECTIONS_MAX) {
        (void)cli_error("%s: more than %d scenarios", file, SECTIONS_MAX);
        ok = false;
    }
    for (size_t i = 0; ok && i < count; i++) {
        fixture model = { .file = file, .section = sections[i] };
        /* What has no name tells where it is when it is run. */
        ok = sections[i].headed ? add_ids(s, sections[i].text, sections[i].len, &model)
                                : add_fixture(s, file, strlen(file), &model);
    }
    if (ok && count == 0) {
        fixture model = { .file = file, .section = { text, len, 1, false } };
        ok = add_fixture(s, file, strlen(file), &model);
    }
    free(sections);
    return ok;
}

static bool add_c_fixtures(suite *s)
{
    for (const cli_c_fixture *c = c_fixtures; c != NULL; c = c->next) {
        fixture model = { .file = c->file, .c = c };
        const char *at = c->ids;
        while (*at != '\0') {
            size_t n = strcspn(at, " ");
            if (n > 0 && !add_fixture(s, at, n, &model))
                return false;
            at += n + (at[n] == ' ');
        }
    }
    return true;
}

static bool load_embedded(suite *s)
{
    for (const cli_file *f = cli_files; f->name != NULL; f++) {
        size_t n = strlen(f->name);
        if (n > 4 && strcmp(f->name + n - 4, ".scn") == 0 &&
            !add_scenarios(s, f->name, (const char *)f->bytes, f->len))
            return false;
    }
    return add_c_fixtures(s);
}

static int is_scenario(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 4 && strcmp(entry->d_name + n - 4, ".scn") == 0;
}

static bool load_dir(suite *s, const char *dir)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, is_scenario, alphasort);
    if (n <= 0) {
        (void)cli_error("%s: %s", dir, n < 0 ? strerror(errno) : "no *.scn in it");
        return false;
    }
    bool ok = true;
    s->texts = calloc(2 * (size_t)n, sizeof(*s->texts));
    for (int i = 0; i < n; i++) {
        size_t len = 0, size = strlen(dir) + strlen(entries[i]->d_name) + 2;
        char *path = malloc(size), *text = NULL;
        ok = ok && s->texts != NULL && path != NULL;
        if (ok) {
            (void)snprintf(path, size, "%s/%s", dir, entries[i]->d_name);
            ok = cli_read_file(path, &text, &len);
        }
        if (ok) {
            s->texts[s->text_count++] = text;
            s->texts[s->text_count++] = path;
            ok = add_scenarios(s, path, text, len);
        } else {
            free(path);
        }
        free(entries[i]);
    }
    free(entries);
    return ok;
}

static void unload(suite *s)
{
    for (size_t i = 0; i < s->text_count; i++)
        free(s->texts[i]);
    for (size_t i = 0; i < s->id_count; i++)
        free(s->ids[i]);
    free(s->ids);
    free(s->texts);
    free(s->fixtures);
}

static const fixture *find(const suite *s, const char *id, size_t *ret_count)
{
    const fixture *found = NULL;
    *ret_count = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(s->fixtures[i].id, id) == 0) {
            found = &s->fixtures[i];
            ++*ret_count;
        }
    }
    return found;
}

/* ---- one fixture ---- */

static _Noreturn void run_child(const fixture *f)
{
    char text[ANSWER_MAX];
    uint32_t workers = cli_fixture_workers();
    if (f->c != NULL) {
        f->c->run();
        send_answer('P', "");
        exit(0);
    }
    scn s;
    scn_error error;
    scn_result result;
    if (scn_parse(f->file, f->section.line, f->section.text, f->section.len, &s, &error) < 0) {
        send_answer('F', error.text);
        exit(0);
    }
    const char *alone = workers > 1 ? scn_for_one_worker(&s) : NULL;
    if (alone != NULL) {
        send_answer('S', alone);
        scn_deinit(&s);
        exit(0);
    }
    asx_status st = workers > 1 ? scn_run_workers(&s, workers, &result) : scn_run_all(&s, &result);
    if (st < 0) {
        (void)snprintf(text, sizeof(text), "%s:%u: cannot run: %s", f->file, (unsigned)s.line,
                       asx_status_str(st));
        send_answer('F', text);
    } else if (!result.passed) {
        (void)snprintf(text, sizeof(text), "%.200s:%u: %.600s", f->file, (unsigned)result.line,
                       result.why);
        send_answer('F', text);
    } else {
        (void)snprintf(text, sizeof(text), "%016" PRIx64, result.digest);
        send_answer('P', text);
    }
    scn_deinit(&s);
    exit(0);
}

static uint64_t now_ms(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/* Reads until the child closes its end. False: the time is up. */
static bool read_answer(int fd, uint64_t timeout_s, char *text, size_t size)
{
    uint64_t end = now_ms() + timeout_s * 1000;
    size_t len = 0;
    for (;;) {
        uint64_t now = now_ms();
        struct pollfd p = { .fd = fd, .events = POLLIN };
        int ready = now >= end ? 0 : poll(&p, 1, end - now > 60000 ? 60000 : (int)(end - now));
        if (ready == 0 && now_ms() >= end)
            return false;
        if (ready <= 0)
            continue;
        ssize_t n = read(fd, text + len, size - 1 - len);
        if (n <= 0) {
            text[len] = '\0';
            return true;
        }
        len += (size_t)n;
    }
}

static void judge(answer *a, bool in_time, const char *text, int status, uint64_t timeout_s)
{
    a->verdict = FAILED;
    if (!in_time)
        (void)snprintf(a->why, sizeof(a->why), "still running after %" PRIu64 " s", timeout_s);
    else if (WIFSIGNALED(status))
        (void)snprintf(a->why, sizeof(a->why), "crashed (signal %d)", WTERMSIG(status));
    else if (text[0] == 'F')
        (void)snprintf(a->why, sizeof(a->why), "%s", text + 1);
    else if (text[0] == 'S') {
        a->verdict = SKIPPED;
        (void)snprintf(a->why, sizeof(a->why), "%s", text + 1);
    } else if (text[0] != 'P' || WEXITSTATUS(status) != 0)
        (void)snprintf(a->why, sizeof(a->why), "crashed (exit code %d)", WEXITSTATUS(status));
    else {
        a->verdict = PASSED;
        (void)snprintf(a->digest, sizeof(a->digest), "%.16s", text + 1);
    }
}

static void run_fixture(const fixture *f, uint64_t timeout_s, answer *a)
{
    int fds[2];
    char text[ANSWER_MAX] = "";
    int status = 0;
    (void)fflush(stdout);
    (void)fflush(stderr);
    if (pipe(fds) != 0) {
        a->verdict = FAILED;
        (void)snprintf(a->why, sizeof(a->why), "cannot start: %s", strerror(errno));
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        (void)setpgid(0, 0);
        (void)close(fds[0]);
        answer_fd = fds[1];
        run_child(f);
    }
    (void)close(fds[1]);
    if (child < 0) {
        (void)close(fds[0]);
        a->verdict = FAILED;
        (void)snprintf(a->why, sizeof(a->why), "cannot start: %s", strerror(errno));
        return;
    }
    (void)setpgid(child, child);
    bool in_time = read_answer(fds[0], timeout_s, text, sizeof(text));
    (void)close(fds[0]);
    if (!in_time)
        (void)kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    judge(a, in_time, text, status, timeout_s);
}

/* ---- telling ---- */

static void put_json_string(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            (void)printf("\\%c", c);
        else if (c < 0x20)
            (void)printf("\\u%04x", c);
        else
            (void)putchar(c);
    }
    (void)putchar('"');
}

static void tell(const settings *set, const char *id, const fixture *f, const answer *a)
{
    static const char *const words[] = { [PASSED] = "ok", [FAILED] = "FAIL", [SKIPPED] = "skip" };
    if (!set->json) {
        (void)printf("%s %s%s%s\n", words[a->verdict], id, a->why[0] == '\0' ? "" : " ", a->why);
        return;
    }
    (void)printf("{\"id\":");
    put_json_string(id);
    (void)printf(",\"result\":\"%s\",\"why\":",
                 a->verdict == PASSED ? "ok" : a->verdict == FAILED ? "fail" : "skip");
    put_json_string(a->why);
    (void)printf(",\"kind\":\"%s\",\"file\":", f == NULL ? "" : f->c != NULL ? "c" : "scenario");
    put_json_string(f == NULL ? "" : f->file);
    (void)printf(",\"digest\":\"%s\"}\n", a->digest);
}

static bool selected(const settings *set, const char *id)
{
    for (size_t i = 0; i < set->filter_count; i++) {
        if (strstr(id, set->filters[i]) != NULL || fnmatch(set->filters[i], id, 0) == 0)
            return true;
    }
    return set->filter_count == 0;
}

typedef struct tally {
    size_t passed, failed, skipped, by_scenario, in_c, without;
} tally;

static const char *skip_of(const settings *set, const cli_c_fixture *f)
{
    return f->skip != NULL || set->workers <= 1 ? f->skip : f->one_worker;
}

static void run_id(const settings *set, const suite *s, const char *id, tally *t)
{
    answer a = { .verdict = FAILED };
    size_t count = 0;
    const fixture *f = find(s, id, &count);
    if (count == 0) {
        (void)snprintf(a.why, sizeof(a.why), "no fixture");
        t->without++;
    } else if (count > 1) {
        (void)snprintf(a.why, sizeof(a.why), "%zu fixtures", count);
    } else if (f->c != NULL && skip_of(set, f->c) != NULL) {
        a.verdict = SKIPPED;
        (void)snprintf(a.why, sizeof(a.why), "%s", skip_of(set, f->c));
    } else {
        run_fixture(f, set->timeout_s, &a);
    }
    t->by_scenario += f != NULL && f->c == NULL;
    t->in_c += f != NULL && f->c != NULL;
    t->passed += a.verdict == PASSED;
    t->failed += a.verdict == FAILED;
    t->skipped += a.verdict == SKIPPED;
    tell(set, id, f, &a);
}

/* The identifiers to answer for: the list that is compiled in, or all of the folder. */
static bool list_ids(const settings *set, suite *s)
{
    const cli_file *list = cli_files;
    size_t cap = s->count + 16;
    while (list->name != NULL && strcmp(list->name, "ids.txt") != 0)
        list++;
    for (size_t i = 0; i < list->len; i++)
        cap += list->bytes[i] == '\n';
    s->ids = calloc(cap, sizeof(*s->ids));
    if (s->ids == NULL)
        return false;
    for (size_t i = 0; set->dir != NULL && i < s->count; i++) {
        size_t before = 0;
        while (before < s->id_count && strcmp(s->ids[before], s->fixtures[i].id) != 0)
            before++;
        if (before == s->id_count && (s->ids[s->id_count] = strdup(s->fixtures[i].id)) != NULL)
            s->id_count++;
    }
    for (size_t at = 0; set->dir == NULL && at < list->len;) {
        const char *line = (const char *)list->bytes + at;
        const char *end = memchr(line, '\n', list->len - at);
        size_t n = end == NULL ? list->len - at : (size_t)(end - line);
        if (n > 0 && *line != '#' && (s->ids[s->id_count] = strndup(line, n)) != NULL)
            s->id_count++;
        at += n + 1;
    }
    return true;
}

/* A fixture for something that is not asked for is an error of the suite. */
static void run_unlisted(const settings *set, const suite *s, tally *t)
{
    for (size_t i = 0; i < s->count; i++) {
        size_t k = 0;
        while (k < s->id_count && strcmp(s->ids[k], s->fixtures[i].id) != 0)
            k++;
        if (k < s->id_count || !selected(set, s->fixtures[i].id))
            continue;
        answer a = { .verdict = FAILED, .why = "is in no list of identifiers" };
        t->failed++;
        tell(set, s->fixtures[i].id, &s->fixtures[i], &a);
    }
}

static void tell_sum(const settings *set, const tally *t)
{
    if (set->json) {
        (void)printf("{\"summary\":{\"ids\":%zu,\"passed\":%zu,\"failed\":%zu,\"skipped\":%zu,"
                     "\"scenario\":%zu,\"c\":%zu,\"without\":%zu}}\n",
                     t->passed + t->failed + t->skipped, t->passed, t->failed, t->skipped,
                     t->by_scenario, t->in_c, t->without);
        return;
    }
    (void)printf("%zu passed, %zu failed", t->passed, t->failed);
    if (t->skipped > 0)
        (void)printf(", %zu skipped", t->skipped);
    (void)printf("\n");
}

static int show(const suite *s, const char *id)
{
    size_t count = 0;
    const fixture *f = find(s, id, &count);
    if (f == NULL)
        return cli_error("no fixture '%s'", id);
    if (f->c != NULL)
        (void)printf("# in C: tests/conformance/%s\n", f->file);
    else
        (void)printf("# %s:%u\n%.*s", f->file, (unsigned)f->section.line, (int)f->section.len,
                     f->section.text);
    return CLI_OK;
}

static int run_suite(const settings *set, suite *s)
{
    tally t = { 0 };
    if (set->show != NULL)
        return show(s, set->show);
    if (!list_ids(set, s))
        return cli_error("out of memory");
    for (size_t i = 0; i < s->id_count; i++) {
        if (selected(set, s->ids[i]))
            run_id(set, s, s->ids[i], &t);
    }
    run_unlisted(set, s, &t);
    if (t.passed + t.failed + t.skipped == 0)
        return cli_error("no identifier matches");
    tell_sum(set, &t);
    return t.failed == 0 ? CLI_OK : CLI_FAILED;
}

int cli_conformance(int argc, char **argv)
{
    settings set = { .timeout_s = TIMEOUT_DEFAULT_S };
    suite s = { 0 };
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i];
        if (strcmp(name, "--json") == 0) {
            set.json = true;
        } else if (strcmp(name, "--timeout") == 0) {
            if (!cli_option_number(argc, argv, &i, &set.timeout_s))
                return CLI_USAGE;
            if (set.timeout_s == 0 || set.timeout_s > 86400)
                return cli_error("--timeout: 1 to 86400 seconds");
        } else if (strcmp(name, "--workers") == 0) {
            uint64_t workers;
            if (!cli_option_number(argc, argv, &i, &workers))
                return CLI_USAGE;
            if (workers < 1 || workers > WORKERS_MAX)
                return cli_error("--workers: 1 to %d", WORKERS_MAX);
            set.workers = (uint32_t)workers;
        } else if (strcmp(name, "--filter") == 0 && set.filter_count < FILTERS_MAX) {
            if ((set.filters[set.filter_count++] = cli_option_value(argc, argv, &i)) == NULL)
                return CLI_USAGE;
        } else if (strcmp(name, "--dir") == 0 || strcmp(name, "--show") == 0) {
            const char *value = cli_option_value(argc, argv, &i);
            if (value == NULL)
                return CLI_USAGE;
            *(name[2] == 'd' ? &set.dir : &set.show) = value;
        } else {
            return cli_error("conformance: '%s' is not expected", name);
        }
    }
    fixture_workers = set.workers;
    bool loaded = set.dir != NULL ? load_dir(&s, set.dir) : load_embedded(&s);
    int code = loaded ? run_suite(&set, &s) : CLI_USAGE;
    unload(&s);
    return code;
}
