/* object.h - what the synchronization objects have in common: mutex, read-write lock, semaphore,
 * condition, notify, barrier, once, oneshot, broadcast, watch.
 *
 * Words
 *   object    the record behind a handle. It comes from a slab of the runtime and is never freed
 *             before the runtime, so that a handle of any age can be looked at.
 *   guard     the right that a task has obtained (a lock, permits, running an initializer): an
 *             obligation of that task, in every build. Its object is the object's record.
 *   waiter    a task parked in the object, in the order in which they came
 *   grant     what a waiting poll task was given and has not picked up. It points to the object
 *             meanwhile, which keeps its record until all grants have come back.
 *
 * A task that makes something available hands it to the first waiter at once: a fiber gets its
 * guard written to where it waits, a poll task gets a grant. So "a task waits" implies "nothing to
 * be had", no task passes a waiter, and a cancelled waiter takes nothing along: what was on its way
 * to it passes on, a fiber's by asx__take_back(), a poll task's by unpublish.
 *
 * How a guard stands: see asx__guard_note. A guard that is on its way belongs to a task that has
 * not seen it yet; if that task ends first, no task has used what the guard protects.
 *
 * The end. When its region finalizes, an object loses its generation, all waits end,
 * and guards held anywhere are aborted and reported. When the region has closed, the record is
 * recycled. A lock or the like cannot end before its region does, so a generation that does not
 * fit means just that.
 *
 * What may be asked of an object with waiters, grants and guards is asserted by its own is_valid().
 *
 * Threads. Everything here is the driving thread's, or the engine holder's.
 *
 * Rejected: objects in the user's own memory (a task of another region could hold one that is
 * gone); a record for each waiter (a task waits for one thing at a time, and its own node will do);
 * a guard's record inside the lock (the registry would no longer see every obligation).
 */
#ifndef ASX_SYNC_OBJECT_H
#define ASX_SYNC_OBJECT_H

#include "sync/sync.h"

typedef enum asx__sync_kind {
    ASX__SYNC_MUTEX,
    ASX__SYNC_RWLOCK,
    ASX__SYNC_SEMAPHORE,
    ASX__SYNC_CONDITION,
    ASX__SYNC_NOTIFY,
    ASX__SYNC_BARRIER,
    ASX__SYNC_ONCE,
    ASX__SYNC_ONESHOT,
    ASX__SYNC_BROADCAST,
    ASX__SYNC_WATCH,
    ASX__SYNC_MPMC
} asx__sync_kind;
_Static_assert(ASX__SYNC_MPMC + 1 == ASX__SYNC_KINDS, "a counter of serial numbers for each");

#define ASX__SYNC_WAITS 3

/* How a guard stands; obligation.note. */
enum asx__guard_note {
    ASX__GUARD_HELD,
    ASX__GUARD_ON_ITS_WAY, /* handed to a fiber that has not run since */
    ASX__GUARD_PARTED,     /* of a mutex that was given up for a condition, and not taken back */
    ASX__GUARD_WAITING,    /* likewise, and its task is parked in the condition ... */
    ASX__GUARD_RETAKING,   /* ... or, signalled, among the waiters of the mutex */
    ASX__GUARD_COMING_BACK /* it was given the mutex again, and has not run since */
};

struct asx__sync;

typedef struct asx__sync_type {
    uint8_t kind;                               /* asx__sync_kind */
    bool is_channel;                            /* counts as one */
    bool has_house;                             /* is no resident itself: its creator cares */
    uint32_t created;                           /* event */
    asx__waitable_ops waits[ASX__SYNC_WAITS];
    /* A task ended with this guard: resolves it. */
    void (*release)(struct asx__sync *s, asx__obligation *guard);
    /* The region finalizes: the object's own part of it. Waiters and guards are gone already. */
    void (*end)(struct asx__sync *s);
    /* A guard is resolved because the region finalizes; NULL: nothing but that. */
    void (*orphan)(struct asx__sync *s, asx__obligation *guard);
    uint64_t (*undelivered)(const struct asx__sync *s); /* NULL: 0 */
} asx__sync_type;

typedef struct asx__sync_wait {
    asx__waitable waitable;
    struct asx__sync *object;
} asx__sync_wait;

typedef struct asx__sync {
    asx__resident resident;    /* overwritten while in the slab */
    asx_runtime *home;         /* I: set once, for all lives of the record */
    uint64_t generation;       /* ASX__NO_GENERATION: its region is finalizing or gone */
    asx_runtime *rt;
    const asx__sync_type *type;
    asx__region *region;       /* I */
    const char *name;          /* I */
    uint64_t first_obligation; /* guards have higher numbers; UINT64_MAX: finalized */
    uint64_t seq;              /* journal: the event that the next acquisition waited for */
    asx__node waiters;         /* tasks by their node */
    uint32_t waiting;          /* so many */
    uint32_t guards;           /* live obligations about it */
    uint32_t grants;
    uint32_t index;
    bool finalized;
    bool retired;              /* keeps its record for the grants */
    asx__sync_wait waits[ASX__SYNC_WAITS];
} asx__sync;

/* Records of all kinds have this size. */
#define ASX__SYNC_RECORD_SIZE ((size_t)320)

/* ---- life: object.c ------------------------------------------------------------------------- */

/* Makes an object in the region; `bytes` of region memory are written to *ret_memory unless 0. The
 * caller sets up its own part, which is zero, and calls asx__sync_created(). Failures stick.
 *   ASX_E_INVALID_ARGUMENT, ASX_E_STALE_HANDLE, ASX_E_REGION_CLOSED, ASX_E_REGION_NOT_OPEN,
 *   ASX_E_RESOURCE_EXHAUSTED, the region's sticky failure */
asx_status asx__sync_create(const asx_region *region, const asx__sync_type *type, const char *name,
                            size_t bytes, bool arguments_ok, asx__sync **ret_s, void **ret_memory);
/* The region finalizes, and has closed. For creators that care themselves. */
void asx__sync_finalize(asx__sync *s);
void asx__sync_retire(asx__sync *s);
/* Shows a message that will not be received to the channel's drop callback, and counts it. */
void asx__sync_discard(asx__sync *s, void (*drop)(void *ctx, void *message), void *ctx,
                       void *message);
/* Journal. */
void asx__sync_created(asx__sync *s, uint64_t a);
/* Journal entry of something that `task` (NULL: the runtime) does, or that is done for it. */
uint64_t asx__sync_journal(asx__sync *s, const asx__task *task, uint32_t kind, uint64_t a,
                           uint64_t b, uint64_t cause);

/* ---- guards --------------------------------------------------------------------------------- */

/* NULL: memory or the ceiling is exhausted. */
asx__obligation *asx__guard_new(asx__sync *s, asx__task *task, asx_obligation_kind kind,
                                const char *site, enum asx__guard_note note);
void asx__guard_resolve(asx__sync *s, asx__obligation *guard, asx_obligation_state to);
/* ASX_OK: the three words of a guard fit. Else ASX_E_INVALID_ARGUMENT, `gone` (its region), or
 * ASX_E_OBLIGATION_ALREADY_RESOLVED. */
asx_status asx__guard_find(const asx__sync *s, uint64_t id, const asx__obligation *record,
                           asx_status gone);
/* The task of this guard ended without resolving it: a line in the report of the task's region. */
void asx__guard_note_left(asx__obligation *guard);
/* Does the task hold a guard of this object? */
bool asx__guard_held_by(const asx__sync *s, const asx__task *task);

/* A guard that was handed to the running fiber while it waited is its own from now on, if it is
 * still there. */
static inline void asx__guard_arrived(const asx__sync *s, uint64_t id, asx__obligation *record)
{
    if (asx__obligation_id(record) == id && asx__obligation_object(record) == s &&
        record->note == ASX__GUARD_ON_ITS_WAY)
        record->note = ASX__GUARD_HELD;
}

/* Did the task's end leave what it used in an unknown state? */
static inline bool asx__ended_midway(const asx__task *task)
{
    return (task->flags & (ASX__T_PANICKED | ASX__T_FORCED)) != 0;
}

/* ---- waiting -------------------------------------------------------------------------------- */

static inline asx__waitable *asx__sync_waitable(asx__sync *s, unsigned which)
{
    return &s->waits[which].waitable;
}

static inline asx__sync *asx__sync_of(void *waitable)
{
    return ((asx__sync_wait *)waitable)->object;
}

/* Which of its object's waits a parked task is in. */
static inline unsigned asx__sync_which(const asx__sync *s, const asx__task *task)
{
    return (unsigned)((const asx__sync_wait *)(const void *)task->w.waits - s->waits);
}

static inline asx__task *asx__sync_first(const asx__sync *s)
{
    return (asx__task *)(void *)s->waiters.next;
}

static inline void asx__sync_link(asx__sync *s, asx__task *task)
{
    asx__list_push_back(&s->waiters, &task->node);
    s->waiting++;
}

static inline void asx__sync_unlink(asx__sync *s, asx__task *task)
{
    asx__list_remove(&task->node);
    s->waiting--;
}

/* The running task waits behind the others. A fiber's io is where the waker puts the result. */
static inline asx_status asx__sync_wait_in(asx__sync *s, asx__task *task, unsigned which, void *io)
{
    asx__sync_link(s, task);
    return asx__wait_on(s->rt, task, asx__sync_waitable(s, which), io);
}

/* The repeated call of a poll task: was it granted? */
static inline bool asx__sync_granted(asx__sync *s, asx__task *task, unsigned which)
{
    if (ASX__LIKELY(!asx__wait_granted(task, asx__sync_waitable(s, which))))
        return false;
    s->grants--;
    return true;
}

/* Wakes a poll task, which is no longer linked, with a grant. */
static inline void asx__sync_grant(asx__sync *s, asx__task *task)
{
    s->grants++;
    asx__wake(s->rt, task, ASX_OK, true);
}

/* The places where fibers wait begin with a guard: what a cancel must know to take it back. */
#define ASX__GUARD_LAYOUT(type_)                                                                   \
    _Static_assert(offsetof(type_, obligation_) == offsetof(asx_send_permit, obligation_) &&       \
                       offsetof(type_, record_) == offsetof(asx_send_permit, record_),             \
                   "laid out as a send permit")

/* Wakes a fiber, which is no longer linked. `done`: its guard was written to where it waits; a
 * cancel that comes before it runs takes it back and passes it on. Else there was no memory. */
static inline void asx__sync_hand_over(asx__sync *s, asx__task *task, bool done)
{
    asx__wake(s->rt, task, done ? ASX_OK : ASX_E_RESOURCE_EXHAUSTED, false);
    if (done)
        asx__exec_set(task, ASX__EXEC_PERMITTED);
}

/* A grant has come back. False: the object is finalized, and may be gone now. */
bool asx__sync_ungrant(asx__sync *s);
/* Wakes all waiters. */
void asx__sync_wake_all(asx__sync *s, asx_status status);

/* The name in the options of a create, which may be NULL. */
#define ASX__NAME_OF(options) ((options) != NULL ? (options)->name : NULL)

/* ---- several workers ------------------------------------------------------------------------ */

/* Enters the engine of a shared runtime and makes the same call again, with `in_cx`. All that is
 * read of the object before that is its home, which never changes. */
#define ASX__GATE_SYNC(handle, field, cx, call)                                                    \
    do {                                                                                           \
        const asx__sync *of_ = (handle) != NULL ? (asx__sync *)(void *)(handle)->field : NULL;     \
        if (of_ != NULL && of_->home->gate != NULL && !asx__engine_is_mine(of_->home)) {           \
            if (ASX__UNLIKELY(asx__is_shut(of_->home)))                                            \
                return ASX_E_WRONG_CONTEXT;                                                        \
            asx_cx cx_;                                                                            \
            asx_cx *in_cx = asx__cx_inside(cx, of_->home, &cx_);                                   \
            (void)in_cx;                                                                           \
            ASX__THROUGH(asx_status, of_->home, call);                                             \
        }                                                                                          \
    } while (0)

/* ---- entering ------------------------------------------------------------------------------- */

/* The object behind a handle. ASX_E_INVALID_ARGUMENT, or `gone`. */
static inline asx_status asx__sync_resolve(const asx__sync *s, uint64_t generation,
                                           asx_status gone)
{
    if (ASX__UNLIKELY(s == NULL || generation == 0))
        return ASX_E_INVALID_ARGUMENT;
    return ASX__LIKELY(s->generation == generation) ? ASX_OK : gone;
}

/* The same in the hands of the running task. */
static inline asx_status asx__sync_enter(const asx__sync *s, uint64_t generation, asx_status gone,
                                         const asx_cx *cx, asx__task **ret_task)
{
    asx_runtime *rt;
    asx_status st = asx__sync_resolve(s, generation, gone);
    if (ASX__UNLIKELY(st < 0))
        return st;
    st = asx__cx_enter(cx, ASX_CAP_CHANNEL, ret_task, &rt);
    if (ASX__UNLIKELY(st < 0))
        return st;
    return ASX__LIKELY(rt == s->rt) ? ASX_OK : ASX_E_WRONG_CONTEXT;
}

/* The running task is about to do an operation on the object; see asx__announce(). */
#define asx__sync_announce(s, op, ...)                                                             \
    asx__announce((s)->rt, (s)->rt->current, (op), (s)->waits[0].waitable.serial, __VA_ARGS__)

/* The running task has found that it is closed, or done. */
static inline asx_status asx__sync_found(const asx__sync *s, asx_status st)
{
    if (ASX__UNLIKELY(s->rt->found != NULL))
        s->rt->found(s->rt, s->type->created, s->waits[0].waitable.serial);
    return st;
}

#endif
