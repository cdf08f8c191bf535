/* lab_main.h - the parts of the lab's main: what is asked for, telling, crash packs, the table. */
#ifndef ASX_LAB_MAIN_LAB_MAIN_H
#define ASX_LAB_MAIN_LAB_MAIN_H

#include <asx/search.h>

#include <stdio.h>
#include <time.h>

/* Of the monotonic clock; in a handler of signals too. */
static inline uint64_t now_ns(void)
{
    struct timespec ts = { 0 };
    (void)clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
}

/* What stands behind a number: "1 step", "2 steps". */
static inline const char *plural(uint64_t number, const char *one, const char *more)
{
    return number == 1 ? one : more;
}

typedef struct lab_request {
    asx_explore_options options;
    uint64_t samples;
    const char *program;  /* argv[0] */
    const char *replay;   /* file */
    const char *record;   /* file for the trace of what is replayed */
    const char *save;     /* file */
    const char *pack;     /* file; NULL: named after the test */
    const char *checkpoint, *resume; /* files */
    int unsaved;          /* why the checkpoint cannot be written; 0: it can */
    uint64_t told_ns;     /* when the progress line was written */
    bool search;          /* no mode was named: sample, then explore */
    bool no_pack, no_shrink;
    bool json, verbose, list, table, progress;
    bool line_open;       /* a progress line stands on the terminal */
    bool saved;           /* the first failure of the test has been told */
    bool lost;            /* ... and could not be kept */
    bool same;            /* replay: it is good if it fails as the pack says */
    bool seen;            /* ... and it did */
    const struct pack *expected;
    asx_lab_test *test;
    char **names;
    int names_len;
} lab_request;

/* "what: value" to standard error; returns 2. */
int complain(const char *what, const char *value);
const asx_lab_test *tests_all(void);
asx_lab_test *test_named(const char *name);
/* "quiescent" or "adversarial". */
bool clock_named(const char *text, asx_explore_clock *ret_clock);
bool wanted(const lab_request *r, const asx_lab_test *test);
/* It is complete and saw no operation of several tasks: nothing was explored. */
bool is_vacuous(const asx_explore_result *result);
/* The first one from `test` on that is wanted; NULL: none. */
asx_lab_test *test_wanted(const lab_request *r, asx_lab_test *test);
/* Explores those that are wanted, from this one on; the exit status. */
int tests_run(lab_request *r, asx_lab_test *from);
/* Writes a schedule to the file of --save. False: said why. */
bool save(const lab_request *r, const char *schedule);

/* tell.c */
extern const char *const verdict_names[];
void on_failure(void *ctx, const asx_explore_failure *failure);
bool on_progress(void *ctx, const asx_explore_progress *progress);
/* `first` is what it was before it was shrunk; NULL: it is as it was found. */
void tell_finding(const lab_request *r, const asx_lab_finding *finding,
                  const asx_lab_finding *first);
void tell_result(lab_request *r, const asx_explore_result *result, const asx_lab_finding *finding);

/* pack.c */
/* Runs the schedule of the finding once more to record its trace, and writes all there is to know
 * into a file. False: said why. */
bool pack_write(const lab_request *r, const char *path, const asx_lab_finding *finding);
/* What a replay needs of a crash pack or a saved schedule; all of it points into its text. The last
 * five are NULL if it does not say. */
typedef struct pack {
    char *test, *schedule, *verdict, *failure, *site, *clock, *faults;
    bool is_cut; /* the end of the pack is missing */
} pack;
/* Changes `text`. False: it is neither. */
bool pack_parse(char *text, size_t len, pack *ret);

/* save.c */
/* An interrupt is noted from now on; one that comes a second later or more ends the process. */
void hear_signals(void);
bool was_interrupted(void);
asx_status on_checkpoint(void *ctx, const void *bytes, size_t len);
/* All of it and a NUL, malloc'd; NULL: it cannot be read. */
char *read_file(const char *path, size_t *ret_len);

/* dying.c */
/* From now on a test that ends the process is told of. */
void watch_deaths(void);
/* The test of the request is being run; no test is. */
void watch_begin(lab_request *r);
void watch_end(void);
/* Has a worker that the test ended told of it? */
bool watch_told(void);
/* What is explored: calls the test `arg`, an asx_lab_test. */
void test_run(asx_cx *cx, void *arg);
/* The sink of a replay that is recorded; `ctx` is the request. */
asx_status record_trace(void *ctx, const void *bytes, size_t len);

/* supervise.c */
/* tests_run() in another process, and in a further one for the rest when a test has ended it. */
int supervise(lab_request *r, asx_lab_test *from);
/* For who is left to tell: this test begins, is over; one more execution of it begins; it will end
 * the process by `why`, a static string. */
void board_begin(asx_lab_test *test);
void board_end(int code);
void board_run(void);
void board_why(const char *why);
/* Runs `part` in a process of its own; `ctx` is shared with it if it is in shared memory. False: it
 * did not return; why, in words. */
bool run_apart(void (*part)(void *ctx), void *ctx, char *ret_why, size_t size);
/* Tells of a worker that the test has ended. False: none has ended. */
bool tell_worker_ended(const lab_request *r);

/* table.c */
int table_print(lab_request *r);

#endif
