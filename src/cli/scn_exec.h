/* scn_exec.h - a scenario while it runs.
 *
 * The machine is an ordinary asx program: its operations are calls of the public interface, and
 * what it knows of the run beyond their answers it hears from the journal's observer.
 *
 *   thing   what an object of the scenario stands for now
 *   frame   one execution of a body: by a task, a finalizer or a cleanup
 *
 * A fiber executes a frame to its end. A poll task executes it until an operation says
 * ASX_E_WOULD_BLOCK, and repeats that operation when it is resumed.
 *
 * With several workers frames are executed at the same time. What they share is the log, behind a
 * lock that is held for moments and never around a call of the runtime; and things, which are made
 * once. The observer is called by one thread at a time, with the engine held.
 */
#ifndef ASX_CLI_SCN_EXEC_H
#define ASX_CLI_SCN_EXEC_H

#include <pthread.h>

#include "base/atomic.h"
#include "cli/scn_read.h"

typedef struct scn_thing {
    asx__atomic_u32 made; /* 1 when all else is written */
    bool owned;      /* wheels: ours to destroy */
    uint64_t serial; /* in the journal; 0: unknown */
    union {
        asx_region region;
        asx_task task;
        asx_channel_sender sender;
        struct {
            asx_channel_receiver receiver;
            asx__atomic_u64 drops, last_drop;
        } rx;
        asx_tracked_permit permit;
        asx_ack ack;
        asx_obligation obligation;
        asx_timer_wheel *wheel;
        struct {
            asx_timer_handle handle;
            uint64_t fired;
        } timer;
        asx_close_report report;
        struct {
            asx_waker call;
            asx_region region; /* of its task; the waker is good as long as that is open */
        } waker;
        asx_cancel_witness witness;
    } u;
} scn_thing;

typedef struct scn_frame {
    struct scn_machine *m;
    asx_cx *cx;
    asx_cx narrowed;
    uint32_t body;
    uint32_t pc;         /* within the body */
    uint64_t loops[SCN_NESTING_MAX + 1];
    uint32_t loop_depth;
    uint64_t it;
    bool poll;
    bool is_narrowed;
    uint64_t tries;      /* of the check that is awaited now ... */
    asx_time since;      /* ... since then */
    struct scn_frame *also; /* the other bodies of a bracket */
    asx_cancel_reason *chain; /* the last reason that was made up; NULL: none yet */
    struct scn_frame *next;
} scn_frame;

enum { SCN_CHAIN_MAX = 64, SCN_WAKERS_MAX = 1024 };
#define SCN_EVENTS_MAX ((size_t)1 << 22)

/* What went wrong, the journal so far, and frames: everything with the lock held. */
typedef struct scn_log {
    pthread_mutex_t lock;
    bool failed;
    asx_event *events;
    size_t event_count, event_cap;
    bool events_lost;
    scn_frame *frames;
    char **sites;        /* of the operations that create something */
} scn_log;

typedef struct scn_machine {
    const scn *s;
    const scn_run_options *options;
    scn_result *result;
    asx_runtime *rt;
    scn_thing *things;   /* as many as s->objects */
    asx_stats snapshot;
    scn_log *log;
} scn_machine;

/* Records the first failure. */
void scn_fail(scn_machine *m, uint32_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
bool scn_failed(const scn_machine *m);

/* Would this check hold? Whatever it would complain of is forgotten. */
bool scn_would_hold(const scn_machine *m, scn_frame *f, const scn_op *op);

static inline bool scn_is_made(const scn_thing *thing)
{
    return asx__load_acquire(&thing->made) != 0;
}

/* Everything of the thing has been written: others may use it, or not any more. */
static inline void scn_set_made(scn_thing *thing, bool made)
{
    asx__store_release(&thing->made, made ? 1u : 0u);
}

/* Begins to make a thing of this serial. */
static inline void scn_begin(scn_thing *thing, uint64_t serial)
{
    scn_set_made(thing, false);
    thing->owned = false;
    thing->serial = serial;
}

/* Makes a thing like another one. */
void scn_copy_thing(scn_thing *to, const scn_thing *from);

/* The thing behind the n-th object of the operation; NULL (and a failure) if it was not made. */
scn_thing *scn_thing_of(scn_machine *m, scn_frame *f, const scn_op *op, unsigned n);
/* The same without looking whether it was made. */
scn_thing *scn_slot_of(scn_machine *m, const scn_op *op, unsigned n);
bool scn_region_of(scn_machine *m, scn_frame *f, const scn_op *op, unsigned n,
                   asx_region *ret_region);
bool scn_task_of(scn_machine *m, scn_frame *f, const scn_op *op, unsigned n, asx_task *ret_task);
/* The serial of an object for a comparison; 0 if it has none. */
uint64_t scn_serial_of(scn_machine *m, uint32_t object);

const scn_field *scn_field_of(const scn_machine *m, const scn_op *op, scn_key key);
uint64_t scn_value_of(const scn_frame *f, const scn_value *value);
uint64_t scn_field_number(const scn_machine *m, const scn_frame *f, const scn_op *op, scn_key key,
                          uint64_t otherwise);

bool scn_holds(scn_compare compare, uint64_t actual, uint64_t wanted);
const char *scn_sign(scn_compare compare);
/* Compare a field, if the operation has it, with what is. */
void scn_check(scn_machine *m, const scn_frame *f, const scn_op *op, scn_key key, uint64_t actual);
void scn_check_word(scn_machine *m, const scn_op *op, scn_key key, scn_words words,
                    uint64_t actual);
void scn_check_status(scn_machine *m, const scn_op *op, scn_key key, asx_status actual);
void scn_check_text(scn_machine *m, const scn_op *op, scn_key key, const char *actual);
void scn_check_budget(scn_machine *m, const scn_frame *f, const scn_op *op,
                      const asx_budget *actual);
/* Fields of `check stats`, `expect stats` and their like. */
bool scn_stats_field(const asx_stats *stats, scn_key key, uint64_t *ret_value);
bool scn_certificate_field(const asx_fairness_certificate *cert, scn_key key, uint64_t *ret_value);

/* A frame for a body, kept until the end of the run. NULL: no memory, and a failure. */
scn_frame *scn_frame_new(scn_machine *m, uint32_t body, uint32_t line);
void scn_frame_drop(scn_machine *m, scn_frame *frame);
/* Executes a frame: as a fiber's function, a finalizer or a cleanup; and as a poll function. */
asx_status scn_frame_call(asx_cx *cx, void *frame);
asx_poll scn_frame_poll(asx_cx *cx, void *frame);
/* "file.scn:12" of the operation, as the place where it creates something. */
const char *scn_site(scn_machine *m, const scn_op *op);
/* The running task, as the journal names it. */
uint64_t scn_self(const scn_frame *f);
/* The object of the newest event of this kind that the running task has caused; 0: none. */
uint64_t scn_newest(const scn_machine *m, const scn_frame *f, uint32_t kind);
/* The newest obligation of this owner, as the journal names it. */
uint64_t scn_newest_obligation(const scn_machine *m, uint64_t owner);

asx_status scn_exec_region(scn_machine *m, scn_frame *f, const scn_op *op);
asx_status scn_exec_task(scn_machine *m, scn_frame *f, const scn_op *op);
asx_status scn_exec_channel(scn_machine *m, scn_frame *f, const scn_op *op);
asx_status scn_exec_timer(scn_machine *m, scn_frame *f, const scn_op *op);

/* After the run: what the scenario expects of the journal and of the runtime. */
void scn_expect_all(scn_machine *m);

#endif
