/* keeper.h - the keeper, for jobs.c, which hands out work, and results.c, which adds up what comes
 * back. */
#ifndef ASX_LAB_JOBS_KEEPER_H
#define ASX_LAB_JOBS_KEEPER_H

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#include "lab/jobs/jobs.h"

/* Of which nothing counts yet. Samples that were handed out together: what came of them is told in
 * order of their numbers. A bet: when it is won. */
typedef struct asx__batch {
    struct asx__batch *next;
    bool done;                   /* samples */
    uint64_t first, begun_ns;    /* samples */
    asx__backlog_place place;       /* a bet */
    bool begun;                  /* a bet: what was done before was reported */
    bool off;                    /* a bet: it was called off */
    asx__tally tally;            /* a bet: at the beginning of the report */
    asx__bytes report, failures; /* failures: each with its length */
} asx__batch;

typedef struct asx__lab_worker {
    pid_t pid;           /* 0: there is none */
    int fd;
    bool busy;
    bool gave;           /* something, since it was asked, or has taken it back */
    bool beside;         /* it got its work while others were at work */
    uint64_t before;     /* how many executions it had done when it got its work */
    uint64_t memory_bytes;
    asx__backlog_place place;
    asx__batch *batch;
} asx__lab_worker;

typedef struct asx__keeper {
    const asx_explore_options *options;
    asx_lab_fn fn;
    void *arg;
    asx__common *common;
    asx__backlog *backlog;
    asx__lab_worker workers[ASX__JOBS_MOST];
    uint32_t jobs;
    bool wide;
    asx__tally sum;      /* of all reports */
    asx__classes classes;
    asx__batch *batches, **batches_end; /* samples */
    asx__batch *bets;
    uint64_t next_sample, span, samples_end;
    uint64_t samples_each; /* to one worker at a time */
    bool sampling;
    bool resumed;        /* the backlog has what a checkpoint had */
    bool restart;        /* somebody has met what the workers are not prepared for */
    bool collecting;     /* everything is wanted back */
    bool lost;           /* what is left of somebody's work is not known */
    bool told;           /* something failed, ... */
    bool at_first;       /* ... and that was to be the end */
    asx_explore_stop stopped;
    asx_status status;   /* of the exploration */
    asx_status broken;   /* nothing can be said */
    uint32_t unsupported;
    const char *unsupported_site;
    char diverged[ASX_EXPLORE_SITE_MAX];
    bool cell_moved;
    bool never_bets;     /* too much would have to be put aside */
    bool unsaved;        /* a checkpoint was wanted, and there cannot be one */
    uint64_t started_ns, before_ns, saved_ns;
    uint64_t pause_ns, ask_ns; /* others are not asked for work for so long; until then */
    bool asked;          /* they were, and somebody still has none */
    bool tells;          /* those who give are told what becomes of it */
    uint64_t spent_ns;   /* on that, since the last pause */
    asx__bytes message;
} asx__keeper;

static inline uint64_t asx__keeper_now(void)
{
    struct timespec ts;
    if (clock_gettime(CLOCK_MONOTONIC, &ts) != 0)
        return 0;
    return (uint64_t)ts.tv_sec * ASX_SEC + (uint64_t)ts.tv_nsec;
}

static inline uint32_t asx__keeper_busy(const asx__keeper *k)
{
    uint32_t busy = 0;
    for (uint32_t i = 0; i < k->jobs; i++)
        busy += k->workers[i].busy;
    return busy;
}

/* Says it to the worker. That one may be gone, because all have to begin again or because it could
 * not go on: what it said last is still to be read, and if it said nothing, that is noticed there,
 * and no failure here. */
static inline void asx__keeper_say(const asx__lab_worker *w, asx__message kind,
                                   const asx__bytes *bytes)
{
    (void)asx__message_send(w->fd, kind, bytes != NULL ? bytes->at : "",
                            bytes != NULL ? bytes->len : 0);
}

/* ---- jobs.c ---- */

/* Nothing more is handed out, and everything is wanted back. */
void asx__keeper_stop(asx__keeper *k, asx_explore_stop why);

/* ---- results.c ---- */

void asx__keeper_progress(const asx__keeper *k, asx_explore_progress *ret);
/* What k->message is, of the worker. */
void asx__keeper_report(asx__keeper *k, asx__lab_worker *w);
void asx__keeper_failure(asx__keeper *k, asx__lab_worker *w);
/* The next samples as a piece of work. */
bool asx__keeper_take_samples(asx__keeper *k, asx__lab_worker *w, asx__bytes *work);
/* These are done: adds up what is done as far as nothing before it is missing. */
void asx__keeper_settle_samples(asx__keeper *k, asx__batch *done);
bool asx__keeper_may_bet(const asx__keeper *k);
/* The worker is about to get one. */
void asx__keeper_add_bet(asx__keeper *k, asx__lab_worker *w);
/* Somebody has given something, or is done. */
void asx__keeper_settle_bets(asx__keeper *k);
void asx__keeper_drop_batches(asx__batch **list);

#endif
