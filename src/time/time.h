/* time.h - clocks, and the inside of the timer wheel for modules that embed one.
 *
 * The runtime embeds `struct asx_timer_wheel` and gives it memory through `asx__timer_memory`;
 * nothing else is ever asked for memory. The fields are for wheel.c; others use the functions.
 *
 * Words
 *   tick     one millisecond since the runtime's epoch: time / ASX_MS
 *   node     32 bytes that hold one timer; named by a 32-bit index that never moves
 *   chunk    64 bytes of slot: a link and the indices of fourteen nodes
 *   dead     cancelled, but an index to the node is still in a slot or heap
 *   young    registered since the last settling: in no slot or heap yet
 *   near     due now or within the cursor's tick; kept in firing order
 *   cursor   the tick up to which slots have been emptied; behind "now" only while a collection
 *            that did not fit is waiting for the next one
 */
#ifndef ASX_TIME_TIME_H
#define ASX_TIME_TIME_H

#include <asx/timer.h>

#include "base/assert.h"
#include "base/export.h"
#include "base/output.h"

/* ---------------------------------------------------------------- clocks ---- */

/* Where a runtime reads "now"; may be called at any rate. It never goes back, but for a clock that
 * does not answer, which says 0: its reader keeps the latest time that it has seen. */
typedef struct asx__clock {
    asx_time (*now)(void *ctx);
    void *ctx;
} asx__clock;

static inline asx_time asx__clock_now(const asx__clock *clock)
{
    return clock->now(clock->ctx);
}

/* CLOCK_MONOTONIC, counted from the moment of init. Reading it: any thread. */
typedef struct asx__monotonic_clock {
    uint64_t epoch_ns;
} asx__monotonic_clock;

/* ASX_E_SYSTEM when the system has no such clock. */
ASX_MUST_USE asx_status asx__monotonic_clock_init(asx__monotonic_clock *self);
/* The interface borrows `self` for as long as it is used. */
asx__clock asx__monotonic_clock_interface(asx__monotonic_clock *self);

/* A counter that moves only when told to. One thread. */
typedef struct asx__virtual_clock {
    asx_time now;
} asx__virtual_clock;

ASX__SEAM void asx__virtual_clock_init(asx__virtual_clock *self, asx_time start);
/* ASX_E_INVALID_ARGUMENT, and no change, for a time that has passed. */
ASX__SEAM ASX_MUST_USE asx_status asx__virtual_clock_set(asx__virtual_clock *self, asx_time now);
/* Saturates at ASX_TIME_NEVER. */
void asx__virtual_clock_advance(asx__virtual_clock *self, uint64_t by_ns);
asx__clock asx__virtual_clock_interface(asx__virtual_clock *self);

/* ---------------------------------------------------------------- wheel ---- */

/* The only source of a wheel's memory. `alloc` returns memory aligned as malloc() does, or NULL;
 * it need not be zeroed. Requests of 2 MiB and more are multiples of 2 MiB and worth a huge page.
 * `free` gets back what `alloc` gave, with the size that was asked for. Called only from register,
 * update, reserve and deinit; never from cancel or collect. */
typedef struct asx__timer_memory {
    void *(*alloc)(void *ctx, size_t size);
    void (*free)(void *ctx, void *p, size_t size);
    void *ctx;
} asx__timer_memory;

/* A timer that fired, with what a journal wants to know of it. */
typedef struct asx__timer_fired {
    asx_waker waker;
    asx_time deadline;
    uint64_t serial; /* 1 for the wheel's first registration, whatever first_generation is */
} asx__timer_fired;

#define ASX__TIMER_LEVELS 4
#define ASX__TIMER_SLOTS 256
#define ASX__TIMER_SEGMENTS 27 /* 64 nodes, then each twice the one before, up to 2^32 - 1 */
#define ASX__TIMER_CHUNK_LEN 14

/* wake == NULL: dead or free. A free node's `deadline` links to the next free one. */
typedef struct asx__timer_node {
    asx_time deadline;
    uint64_t sequence; /* the handle's generation */
    void (*wake)(void *arg);
    void *arg;
} asx__timer_node;

typedef struct asx__timer_chunk {
    struct asx__timer_chunk *next;
    uint32_t node[ASX__TIMER_CHUNK_LEN];
} asx__timer_chunk;

/* Meaningful only while its bit in `occupied` is set. Every chunk but the tail is full. */
typedef struct asx__timer_slot {
    asx__timer_chunk *head;
    asx__timer_chunk *tail;
    asx_time min_deadline; /* no live entry is earlier */
    uint32_t min_node;     /* holds min_deadline; NONE or dead: min_deadline is only a bound */
    uint16_t tail_len;
    bool sorted; /* by deadline, from head to tail */
} asx__timer_slot;

/* Nodes and, for each of them, room in both heaps and among the young, and a bit in both sets. */
typedef struct asx__timer_segment {
    uint64_t *dead;
    uint64_t *swept;
    void *block;
    size_t block_size;
    uint32_t len;
} asx__timer_segment;

/* Node indices: a binary min-heap by (deadline, sequence), or as they came. */
typedef struct asx__timer_heap {
    uint32_t *part[ASX__TIMER_SEGMENTS];
    uint32_t count;
} asx__timer_heap;

typedef struct asx__timer_chunk_block asx__timer_chunk_block;

/* What answers these calls instead of a wheel. */
typedef struct asx__timer_calls {
    /* An update if there is an old one. */
    asx_status (*arm)(void *ctx, const asx_timer_handle *old_handle, asx_time deadline,
                      asx_waker waker, asx_timer_handle *ret_handle);
    bool (*cancel)(void *ctx, const asx_timer_handle *handle);
    size_t (*collect)(void *ctx);
} asx__timer_calls;

/* A wheel that stands for another one, which is behind a lock. It is all zero but for this, so that
 * every call on it fails on its short way, and finds this on its long one. */
typedef struct asx__timer_gate {
    asx_timer_wheel *behind;
    bool (*enter)(void *ctx); /* what it says is for leave */
    void (*leave)(void *ctx, bool entered);
    void *ctx;
    const asx__timer_calls *calls; /* NULL: the wheel behind it answers all */
} asx__timer_gate;

struct asx_timer_wheel {
    /* time */
    asx_time now;
    asx_time quiet_until; /* before this a collection only moves `now` */
    asx_time origin;      /* placements are relative to it; its tick is the cursor */
    uint64_t cursor;

    /* nodes */
    uint64_t live;
    uint64_t dead;
    uint64_t sequence;  /* of the next registration */
    uint32_t free_head; /* list of single free nodes */
    uint32_t used;      /* nodes below were handed out since the last purge */
    uint32_t capacity;
    uint32_t swept_count; /* bits in the `swept` sets: free nodes that a sweep left */
    uint32_t swept_next;  /* none of those lies below */
    uint32_t segment_count;
    asx__timer_node *node[ASX__TIMER_SEGMENTS];

    /* young: the k-th entry is of the registration young_sequence + k, unless that is gone */
    asx__timer_heap young; /* a plain list */
    uint64_t young_sequence;

    /* the earliest timer, if `earliest_node` is live and of this sequence; else a lower bound */
    asx_time earliest;
    uint64_t earliest_sequence;
    uint32_t earliest_node;

    /* near: if sorted a run [near_head, near_head + near.count), else a heap from 0 */
    uint32_t near_head;
    bool near_sorted;
    bool near_loading;
    asx__timer_heap near;
    asx__timer_heap overflow;

    /* levels; entries count dead ones too */
    uint64_t entries[ASX__TIMER_LEVELS];
    uint64_t occupied[ASX__TIMER_LEVELS][ASX__TIMER_SLOTS / 64];

    /* chunks */
    asx__timer_chunk *chunk_free;
    asx__timer_chunk *chunk_next;
    asx__timer_chunk *chunk_end;
    asx__timer_chunk_block *chunk_block; /* the one that chunk_next walks through */
    asx__timer_chunk_block *chunk_blocks;
    asx__timer_chunk_block *chunk_blocks_last;
    uint64_t chunk_capacity;

    /* coalescing: how many live timers are in the window that ends at window_end */
    uint64_t window_ns;
    uint64_t window_count;
    asx_time window_end;
    bool window_known;
    uint32_t window_min_group;

    uint64_t max_wheel_duration_ns;
    uint64_t max_timer_duration_ns;
    uint64_t max_timers;
    uint64_t first_generation;
    uint64_t first_id;

    const asx__timer_gate *gate; /* NULL: it is what it is */
    uint64_t storage_bytes;
    uint64_t cascades;
    uint64_t purges;
    asx__timer_memory memory;
    asx__timer_segment segment[ASX__TIMER_SEGMENTS];
    asx__timer_slot slot[ASX__TIMER_LEVELS][ASX__TIMER_SLOTS];
};

/* Asks for no memory yet. `config` may be NULL; `memory` is copied.
 *   ASX_E_INVALID_ARGUMENT  wheel, memory or one of its functions is NULL; max_timers > 2^32 - 2 */
ASX_MUST_USE asx_status asx__timer_wheel_init(asx_timer_wheel *wheel,
                                              const asx_timer_config *config,
                                              const asx__timer_memory *memory);
/* Gives all memory back; pending timers are dropped unfired. */
void asx__timer_wheel_deinit(asx_timer_wheel *wheel);
/* No timer may be live. From now on it is `start`, earlier or later than it was. */
ASX__SEAM void asx__timer_wheel_restart(asx_timer_wheel *wheel, asx_time start);

/* After this, registrations ask for no memory as long as at most `live_max` timers are live.
 *   ASX_E_INVALID_ARGUMENT    live_max > 2^32 - 2
 *   ASX_E_RESOURCE_EXHAUSTED  memory; nothing changed */
ASX_MUST_USE asx_status asx__timer_wheel_reserve(asx_timer_wheel *wheel, uint64_t live_max);
/* An upper bound on the sum of the sizes that reserve asks an untouched wheel's memory for, in
 * 2 * ASX__TIMER_SEGMENTS requests at most. */
uint64_t asx__timer_wheel_reserve_bytes(uint64_t live_max);

/* As asx_timer_collect_expired(), with more about each timer. */
size_t asx__timer_collect(asx_timer_wheel *wheel, asx_time now, asx__timer_fired *ret_fired,
                          size_t max);

/* The same for every turn of a scheduler: costs two comparisons when nothing is due. */
static inline size_t asx__timer_poll(asx_timer_wheel *wheel, asx_time now,
                                     asx__timer_fired *ret_fired, size_t max)
{
    if (now < wheel->now)
        now = wheel->now;
    if (ASX__LIKELY(now < wheel->quiet_until)) {
        wheel->now = now;
        return 0;
    }
    return asx__timer_collect(wheel, now, ret_fired, max);
}

/* The registration number of a live timer, from 1; 0 for a stale handle. */
uint64_t asx__timer_serial(const asx_timer_wheel *wheel, const asx_timer_handle *handle);

/* Gives every young timer its place. The wheel does so itself when it must; for tests. */
void asx__timer_settle(asx_timer_wheel *wheel);

/* Walks the whole wheel: for audits and tests. */
bool asx__timer_wheel_is_valid(const asx_timer_wheel *wheel);

static inline asx_time asx__timer_wheel_now(const asx_timer_wheel *wheel)
{
    return wheel->now;
}

static inline uint64_t asx__timer_wheel_live(const asx_timer_wheel *wheel)
{
    return wheel->live;
}

#endif
