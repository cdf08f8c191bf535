/* tell.c - what the lab's main prints: failures, progress, summaries. */
#include "lab/main/lab_main.h"

#include <string.h>
#include <unistd.h>

const char *const verdict_names[] = { "good", "deadlock", "failed", "too long" };

typedef unsigned long long ull;

static double rate(const asx_explore_progress *p)
{
    return (double)p->executions * 1e9 / (double)(p->elapsed_ns + 1);
}

static void end_line(lab_request *r)
{
    if (r->line_open)
        fputs("\r\033[K", stderr);
    r->line_open = false;
}

/* A value as it stands in a pack: line ends have become spaces. */
static bool equal(const char *packed, const char *text)
{
    if (packed == NULL)
        return true;
    while (*packed != '\0' && (*packed == *text || (*packed == ' ' && strchr("\n\r", *text)))) {
        packed++;
        text++;
    }
    return *packed == '\0' && *text == '\0';
}

void on_failure(void *ctx, const asx_explore_failure *failure)
{
    lab_request *r = ctx;
    asx_lab_finding finding = { .schedule = (char *)(uintptr_t)failure->schedule };
    if (r->saved)
        return;
    r->saved = true;
    r->seen = r->expected != NULL && equal(r->expected->verdict, verdict_names[failure->verdict]) &&
              equal(r->expected->failure, failure->text) &&
              equal(r->expected->site, failure->site);
    end_line(r);
    if (r->save != NULL)
        r->lost = !save(r, failure->schedule);
    finding.verdict = failure->verdict;
    finding.text = (char *)(uintptr_t)failure->text;
    finding.site = (char *)(uintptr_t)failure->site;
    finding.interleaving = (char *)(uintptr_t)failure->interleaving;
    if (r->pack != NULL && r->replay == NULL)
        r->lost = !pack_write(r, r->pack, &finding) || r->lost;
    if (!r->json)
        printf("%s: execution %llu: %s: %s %s\n%s", r->test->name, (ull)failure->execution,
               verdict_names[failure->verdict], failure->text, failure->site,
               failure->interleaving);
}

void tell_finding(const lab_request *r, const asx_lab_finding *finding,
                  const asx_lab_finding *first)
{
    printf("%s: schedule %llu: %s: %s %s\n%s", r->test->name, (ull)finding->schedules,
           verdict_names[finding->verdict], finding->text, finding->site, finding->interleaving);
    if (first != NULL)
        printf("%s: shrunk from %llu %s of %llu %s with %llu %s "
               "to %llu %s of %llu %s with %llu %s\n",
               r->test->name, (ull)first->steps, plural(first->steps, "step", "steps"),
               (ull)first->tasks, plural(first->tasks, "task", "tasks"), (ull)first->switches,
               plural(first->switches, "switch", "switches"), (ull)finding->steps,
               plural(finding->steps, "step", "steps"), (ull)finding->tasks,
               plural(finding->tasks, "task", "tasks"), (ull)finding->switches,
               plural(finding->switches, "switch", "switches"));
}

/* "about 1234 in all", if that is known. */
static void add_estimate(const asx_explore_progress *p, char *buffer, size_t size)
{
    buffer[0] = '\0';
    if (p->estimate > p->executions)
        (void)snprintf(buffer, size, ", about %.3g in all", (double)p->estimate);
}

/* With --progress a line each second; on a terminal one that is written over, more often. */
bool on_progress(void *ctx, const asx_explore_progress *p)
{
    lab_request *r = ctx;
    char estimate[64];
    bool terminal = !r->progress && !r->json && isatty(STDERR_FILENO);
    uint64_t every_ns = terminal ? ASX_SEC / 5 : ASX_SEC;
    if (was_interrupted())
        return false;
    if (p->elapsed_ns < r->told_ns)
        r->told_ns = 0; /* the next test */
    if ((!r->progress && !terminal) || p->elapsed_ns - r->told_ns < every_ns)
        return true;
    r->told_ns = p->elapsed_ns;
    add_estimate(p, estimate, sizeof estimate);
    fprintf(stderr, "%s%s: %llu %s, %llu %s, %.0f/s, frontier %llu%s%s",
            terminal ? "\r\033[K" : "", r->test->name, (ull)p->executions,
            plural(p->executions, "execution", "executions"), (ull)p->classes,
            plural(p->classes, "class", "classes"), rate(p), (ull)p->frontier, estimate,
            terminal ? "" : "\n");
    r->line_open = terminal;
    return true;
}

static const char *mode_name(const lab_request *r, const asx_explore_result *result,
                             const asx_lab_finding *finding)
{
    bool sampled = result->totals.estimate == 0;
    if (r->replay != NULL)
        return "replay";
    if (r->search)
        return sampled || (finding != NULL && finding->found) ? "search" : "optimal";
    return asx_explore_mode_str(r->options.mode);
}

/* What was cut off is no success: as much a failure as a check that was false. */
static uint64_t bugs(const asx_explore_progress *t)
{
    return t->bugs + t->too_long;
}

/* A search that found nothing has explored every class: these are its executions, the samples
 * before them are not counted. One that found something counts every schedule it ran. */
static uint64_t executions(const asx_explore_result *result, const asx_lab_finding *finding)
{
    return finding != NULL && finding->found ? finding->schedules : result->totals.executions;
}

static void print_json(const lab_request *r, const asx_explore_result *result,
                       const asx_lab_finding *finding)
{
    const asx_explore_progress *t = &result->totals;
    uint64_t elapsed_ns = finding != NULL && finding->found ? finding->elapsed_ns : t->elapsed_ns;
    printf("{\"test\":\"%s\",\"mode\":\"%s\",\"executions\":%llu,\"classes\":%llu,"
           "\"redundant\":%llu,\"blocked\":%llu,\"deadlocks\":%llu,\"bugs\":%llu,"
           "\"complete\":%s,\"seconds\":%.6f",
           r->test->name, mode_name(r, result, finding), (ull)executions(result, finding),
           (ull)t->classes, (ull)t->redundant, (ull)t->blocked, (ull)t->deadlocks, (ull)bugs(t),
           result->complete ? "true" : "false", (double)elapsed_ns / 1e9);
    if (r->verbose)
        printf(",\"steps\":%llu,\"compared\":%llu,\"too_long\":%llu,\"memory\":%llu,"
               "\"estimate\":%llu,\"left_out\":%llu,\"frontier\":%llu,\"stopped\":\"%s\","
               "\"status\":\"%s\"",
               (ull)t->steps, (ull)t->compared, (ull)t->too_long, (ull)t->memory_bytes,
               (ull)t->estimate, (ull)t->left_out, (ull)t->frontier,
               asx_explore_stop_str(result->stopped),
               asx_status_str(result->status));
    puts("}");
}

/* Each run of n tasks and k steps finds a bug of depth d with probability 1 / (n k^(d - 1)) at
 * least; so many runs miss it with the rest to the power of their number. */
static void print_bound(const lab_request *r, const asx_explore_progress *t)
{
    unsigned depth = r->options.depth != 0 ? r->options.depth : 3;
    uint64_t steps = t->span != 0 ? t->span : 1;
    double one = 1.0 / (double)(t->tasks != 0 ? t->tasks : 1);
    for (unsigned i = 1; i < depth; i++)
        one /= (double)steps;
    double missed = 1.0;
    double rest = 1.0 - one;
    for (uint64_t n = t->executions; n > 0; n >>= 1, rest *= rest)
        if (n & 1)
            missed *= rest;
    printf("%s: a bug of depth %u is found with probability 1/(n k^(d-1)) = %.3g per execution at "
           "least, %.3g in all (n = %llu tasks, k = %llu steps, d = %u)\n",
           r->test->name, depth, one, 1.0 - missed, (ull)t->tasks, (ull)steps, depth);
    if (t->steps_longest > steps)
        printf("%s: that holds for the first %llu steps; executions had up to %llu\n",
               r->test->name, (ull)steps, (ull)t->steps_longest);
}

/* What was not seen, and why. */
static void print_why(const lab_request *r, const asx_explore_result *result)
{
    const asx_explore_progress *t = &result->totals;
    printf("%s: bounded: %s", r->test->name, asx_explore_stop_str(result->stopped));
    if (r->options.bound != 0)
        printf("; at most %u %s", (unsigned)r->options.bound - 1,
               plural(r->options.bound - 1, "preemption", "preemptions"));
    if (r->options.delays != 0)
        printf("; at most %u %s", (unsigned)r->options.delays - 1,
               plural(r->options.delays - 1, "delay", "delays"));
    if (t->left_out != 0)
        printf("; %llu %s to another task left out", (ull)t->left_out,
               plural(t->left_out, "step", "steps"));
    if (t->frontier != 0)
        printf("; %llu %s with alternatives that were not run", (ull)t->frontier,
               plural(t->frontier, "execution", "executions"));
    puts("");
}

static void print_rest(const lab_request *r, const asx_explore_result *result)
{
    if (result->complete || r->replay != NULL || result->stopped == ASX_EXPLORE_STOP_FAILED)
        return;
    if (result->stopped != ASX_EXPLORE_STOP_SAMPLED)
        print_why(r, result);
    if (r->checkpoint != NULL && result->unsaved == NULL && result->status >= 0 &&
        result->stopped != ASX_EXPLORE_STOP_BOUND && result->stopped != ASX_EXPLORE_STOP_TOO_LONG)
        printf("%s: the rest is in %s; --resume %s\n", r->test->name, r->checkpoint,
               r->checkpoint);
}

/* Why it ended before it was done, if something is wrong. */
static void tell_trouble(const lab_request *r, const asx_explore_result *result)
{
    if (r->unsaved != 0)
        fprintf(stderr, "%s: the checkpoint cannot be written: %s\n", r->checkpoint,
                strerror(r->unsaved));
    else if (result->unsaved != NULL)
        fprintf(stderr, "%s: there is no checkpoint: %s\n", r->test->name, result->unsaved);
    if (r->unsaved != 0)
        return;
    if (result->refused != NULL)
        fprintf(stderr, "%s: cannot be resumed: %s\n", r->resume, result->refused);
    else if (result->cell_moved)
        fprintf(stderr, "%s: a cell lies in memory whose address changes from one execution to the "
                        "next%s%s: take asx_region_alloc() or a static variable\n",
                r->test->name, result->unsupported_site[0] != '\0' ? ", at " : "",
                result->unsupported_site);
    else if (result->status == ASX_E_DIVERGED && r->options.schedule == NULL)
        fprintf(stderr, "%s: not deterministic: with the same schedule it did something else%s%s\n",
                r->test->name, result->diverged[0] != '\0' ? ": " : "", result->diverged);
    else if (result->status == ASX_E_DIVERGED)
        fprintf(stderr, "%s: the schedule is none of this test%s%s\n", r->test->name,
                result->diverged[0] != '\0' ? ": " : "", result->diverged);
    else if (result->unsupported != NULL)
        fprintf(stderr, "%s: the test does something that is not explored%s%s: %s\n",
                r->test->name, result->unsupported_site[0] != '\0' ? ", at " : "",
                result->unsupported_site,
                result->unsupported);
    else if (result->status < 0)
        fprintf(stderr, "%s: %s\n", r->test->name, asx_status_hint(result->status));
}

bool is_vacuous(const asx_explore_result *result)
{
    const uint64_t test_alone = 1;
    return result->complete && result->totals.steps == 0 && result->totals.tasks > test_alone;
}

static void tell_vacuous(const lab_request *r, const asx_explore_result *result)
{
    if (is_vacuous(result))
        fprintf(r->json ? stderr : stdout,
                "%s: nothing was explored: its tasks do nothing that another one could see; what "
                "they share is accessed by asx_lab_load() and others of its kind\n",
                r->test->name);
}

void tell_result(lab_request *r, const asx_explore_result *result, const asx_lab_finding *finding)
{
    const asx_explore_progress *t = &result->totals;
    char estimate[64];
    end_line(r);
    if (r->json) {
        print_json(r, result, finding);
        tell_vacuous(r, result);
        tell_trouble(r, result);
        return;
    }
    if (finding != NULL && !finding->found && finding->schedules > t->executions)
        printf("%s: %llu %s sampled, none failed\n", r->test->name,
               (ull)(finding->schedules - t->executions),
               plural(finding->schedules - t->executions, "schedule", "schedules"));
    add_estimate(t, estimate, sizeof estimate);
    uint64_t count = executions(result, finding);
    printf("%s: %llu %s, %llu %s, %llu redundant, %llu blocked, %llu %s, %llu %s, %llu %s, "
           "%.0f/s%s, %s\n",
           r->test->name, (ull)count, plural(count, "execution", "executions"), (ull)t->classes,
           plural(t->classes, "class", "classes"), (ull)t->redundant, (ull)t->blocked,
           (ull)t->deadlocks, plural(t->deadlocks, "deadlock", "deadlocks"), (ull)bugs(t),
           plural(bugs(t), "bug", "bugs"), (ull)t->steps, plural(t->steps, "step", "steps"),
           rate(t), estimate, result->complete ? "complete" : "bounded");
    if (!r->search && r->options.mode == ASX_EXPLORE_PCT && r->replay == NULL)
        print_bound(r, t);
    print_rest(r, result);
    tell_vacuous(r, result);
    tell_trouble(r, result);
}
