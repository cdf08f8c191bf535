/* test_fuzz.c - random changes of the conformance scenarios: reading never crashes, and what is
 * refused is refused with a line of the file. Damaged texts that are still scenarios are executed
 * too: they may fail, they may not harm. */
#include "cli/scn.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rng.h"
#include "cli/cli.h"
#include "harness.h"

enum { SECTIONS_MAX = 400, TEXT_MAX = 16384 };

static scn_section sections[SECTIONS_MAX];
static size_t section_count;

static void load(void)
{
    for (const cli_file *f = cli_files; f->name != NULL; f++) {
        size_t n = strlen(f->name);
        if (n < 5 || strcmp(f->name + n - 4, ".scn") != 0)
            continue;
        section_count += scn_split((const char *)f->bytes, f->len, sections + section_count,
                                   SECTIONS_MAX - section_count);
    }
    CHECK(section_count > 100 && section_count < SECTIONS_MAX);
}

static uint64_t below(asx__rng *rng, uint64_t n)
{
    return asx__rng_below(rng, n);
}

/* A word of some other scenario: likelier to mean something than noise. */
static size_t borrow(asx__rng *rng, char *out, size_t max)
{
    const scn_section *s = &sections[below(rng, section_count)];
    size_t at = below(rng, s->len), n = 0;
    while (at > 0 && s->text[at - 1] != ' ' && s->text[at - 1] != '\n')
        at--;
    while (at + n < s->len && n < max && s->text[at + n] != ' ' && s->text[at + n] != '\n')
        n++;
    memcpy(out, s->text + at, n);
    return n;
}

static void replace(char *text, size_t *len, size_t at, size_t remove, const char *with, size_t n)
{
    if (at > *len)
        at = *len;
    if (remove > *len - at)
        remove = *len - at;
    if (*len - remove + n > TEXT_MAX)
        return;
    memmove(text + at + n, text + at + remove, *len - at - remove);
    memcpy(text + at, with, n);
    *len = *len - remove + n;
}

/* Takes a line out, doubles it, or moves it: what comes out is often still a scenario. */
static void mutate_line(asx__rng *rng, char *text, size_t *len)
{
    char line[512];
    size_t at = below(rng, *len + 1), n = 0;
    while (at > 0 && text[at - 1] != '\n')
        at--;
    while (at + n < *len && n < sizeof(line) - 1 && text[at + n] != '\n')
        n++;
    n += at + n < *len;
    memcpy(line, text + at, n);
    uint64_t what = below(rng, 3);
    if (what != 1)
        replace(text, len, at, n, "", 0);
    if (what == 2) {
        at = below(rng, *len + 1);
        while (at > 0 && text[at - 1] != '\n')
            at--;
    }
    if (what != 0)
        replace(text, len, at, 0, line, n);
}

static void mutate(asx__rng *rng, char *text, size_t *len)
{
    static const char *const bits[] = { "$", "${", "\"", "->", "(", ")", "\n", "#", "end\n",
                                        "repeat\n", "for i 1 9\n", "99999999999999999999", "max-0",
                                        "=", "..", "\r", "\x01", "\xff", "none", ">=" };
    char word[128];
    size_t at = below(rng, *len + 1), n;
    switch (below(rng, 12)) {
    case 0:
        replace(text, len, at, 1 + below(rng, 8), "", 0);
        break;
    case 1:
        n = below(rng, sizeof(bits) / sizeof(bits[0]));
        replace(text, len, at, 0, bits[n], strlen(bits[n]));
        break;
    case 2:
        word[0] = (char)below(rng, 256);
        replace(text, len, at, 1, word, 1);
        break;
    case 3:
    case 4:
    case 5:
        /* One word for another. */
        n = borrow(rng, word, sizeof(word));
        while (at > 0 && text[at - 1] != ' ' && text[at - 1] != '\n')
            at--;
        size_t old = 0;
        while (at + old < *len && text[at + old] != ' ' && text[at + old] != '\n')
            old++;
        replace(text, len, at, old, word, n);
        break;
    default:
        mutate_line(rng, text, len);
        break;
    }
}

static size_t make(asx__rng *rng, char *text)
{
    const scn_section *s = &sections[below(rng, section_count)];
    size_t len = s->len < TEXT_MAX ? s->len : TEXT_MAX;
    memcpy(text, s->text, len);
    for (uint64_t n = 1 + below(rng, 4); n > 0; n--)
        mutate(rng, text, &len);
    return len;
}

ASX_TEST_TIMEOUT(reading_a_damaged_scenario_ends_with_a_line_or_a_scenario, 300)
{
    char text[TEXT_MAX + 256];
    asx__rng rng;
    size_t refused = 0, read = 0;
    load();
    asx__rng_seed(&rng, 20);
    for (int i = 0; i < 20000 / (int)asx_test_scale(); i++) {
        scn s;
        scn_error error;
        unsigned line = 0;
        size_t len = make(&rng, text);
        asx_status st = scn_parse("f", 7, text, len, &s, &error);
        if (st == ASX_OK) {
            read++;
            CHECK(s.id_count > 0 && s.body_count > 0);
            scn_deinit(&s);
            continue;
        }
        refused++;
        CHECK_STATUS(st, ASX_E_SCENARIO);
        CHECK(sscanf(error.text, "f:%u: ", &line) == 1);
        unsigned lines = 0;
        for (size_t k = 0; k < len; k++)
            lines += text[k] == '\n';
        CHECK(line >= 7 && line <= 8 + lines);
    }
    CHECK(refused > 100);
    CHECK(read > 100);
}

/* Scenarios that ask for the process to be aborted do not count, and neither does time. */
static bool asks_for_it(const char *text, size_t len)
{
    return memmem(text, len, "cleanup panic", 13) != NULL;
}

static void run_text(const char *text, size_t len, size_t number)
{
    int status = 0;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        scn s;
        scn_error error;
        scn_result result;
        (void)alarm(2 * asx_test_scale());
        if (scn_parse("f", 1, text, len, &s, &error) < 0)
            _exit(0);
        (void)scn_run_all(&s, &result);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status) && WTERMSIG(status) != SIGALRM)
        asx_test_fail(__FILE__, __LINE__, "signal %d by text %zu:\n%.*s", WTERMSIG(status), number,
                      len > 700 ? 700 : (int)len, text);
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        asx_test_fail(__FILE__, __LINE__, "exit code %d by text %zu:\n%.*s", WEXITSTATUS(status),
                      number, len > 700 ? 700 : (int)len, text);
}

ASX_TEST_TIMEOUT(executing_a_damaged_scenario_does_not_harm, 600)
{
    char text[TEXT_MAX + 256];
    asx__rng rng;
    size_t executed = 0;
    load();
    asx__rng_seed(&rng, 21);
    for (size_t i = 0; i < 1500 / asx_test_scale(); i++) {
        scn s;
        scn_error error;
        size_t len = make(&rng, text);
        if (asks_for_it(text, len) || scn_parse("f", 1, text, len, &s, &error) < 0)
            continue;
        scn_deinit(&s);
        run_text(text, len, i);
        executed++;
    }
    CHECK(executed > 0);
}
