/* race.c - the oracle of data races: is every access of plain data ordered with the others?
 *
 * Words
 *   plain   asx_lab_read(), asx_lab_write(): data of which the program says that it is protected
 *   atomic  asx_lab_load(), asx_lab_store(), a cas, a fetch-add: cells that may be used at once
 *   epoch   how often a task has let others know (released) so far, itself included, from 1
 *   clock   of a task: for each task the epoch up to which it knows what that one did
 *   place   something that orders: a lock, a channel, a region, the end of a task, an atomic cell
 *
 * A race: two accesses of one address by different tasks, one of them plain, one of them a write,
 * that nothing orders. An access is ordered after another if its task's clock has reached the epoch
 * at which that other was made. A task learns when it was started, joins, closes a region, or comes
 * to a place that others were at before; all of this is heard from the journal, or told by the
 * lab's own locks and cells. As in C11 an atomic store is a release, a load of it an acquire; a cas
 * and a fetch-add are both and hand on what was released before.
 *
 * It is about what orders two accesses, not about which came first. So plain accesses need no turn
 * of their own: whichever execution of a class is run shows every race of that class.
 *
 * It begins with the first plain access of a run. Earlier orders do not matter: there is nothing
 * yet that they could order. With asx_lab_race_free() atomic loads and stores count as plain ones.
 *
 * Up to TASKS_MAX tasks and PLACES_MAX places and cells. What is beyond is not judged.
 */
#include "lab/oracle/oracle.h"
#include "lab/oracle/site.h"

#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

#define TASKS_MAX 128
#define PLACES_MAX 256

typedef struct order_place {
    uint64_t name;             /* address, or NAME() */
    uint32_t clock[TASKS_MAX];
} order_place;

/* Who has written last: index of the task, its epoch (0: nobody), and where. */
typedef struct last_write {
    uint32_t task, epoch;
    const char *site;
} last_write;

typedef struct raced_cell {
    const void *address;
    last_write plain, atomic;
    uint32_t read[TASKS_MAX];  /* epoch of each task's last plain read; 0: none */
    const char *read_site[TASKS_MAX];
} raced_cell;

struct asx__races {
    uint64_t base;             /* serial of task 0 here */
    uint32_t clocks[TASKS_MAX][TASKS_MAX];
    uint64_t run, runs[TASKS_MAX]; /* a clock is valid if its run is the current one */
    order_place places[PLACES_MAX];
    raced_cell cells[PLACES_MAX];
    size_t places_len, cells_len;
};

/* Names of places that are not addresses. */
enum { OF_CHANNEL = 1, OF_REGION, OF_CANCEL, OF_WAKER, OF_OBJECT, OF_MOST = 15 };
#define NAME(kind, serial) ((uint64_t)(kind) << 60 | (serial))

/* The first event of each sort of object: those that follow are of the same sort. */
static const uint32_t sorts[] = {
    ASX_EVENT_MPMC_CREATE,      ASX_EVENT_MUTEX_CREATE,     ASX_EVENT_RWLOCK_CREATE,
    ASX_EVENT_SEMAPHORE_CREATE, ASX_EVENT_CONDITION_CREATE, ASX_EVENT_NOTIFY_CREATE,
    ASX_EVENT_BARRIER_CREATE,   ASX_EVENT_ONCE_CREATE,      ASX_EVENT_ONESHOT_CREATE,
    ASX_EVENT_BROADCAST_CREATE, ASX_EVENT_WATCH_CREATE,
};
enum { SORTS = sizeof sorts / sizeof sorts[0] };
_Static_assert((int)OF_OBJECT + (int)SORTS - 1 <= (int)OF_MOST, "a name has room for so many");

static uint32_t *clock_of(struct asx__races *r, uint64_t task)
{
    uint64_t index = task - r->base;
    if (task < r->base || index >= TASKS_MAX)
        return NULL;
    if (r->runs[index] != r->run) {
        memset(r->clocks[index], 0, sizeof r->clocks[index]);
        r->clocks[index][index] = 1;
        r->runs[index] = r->run;
    }
    return r->clocks[index];
}

static void learn(uint32_t *clock, const uint32_t *from)
{
    for (unsigned i = 0; i < TASKS_MAX; i++)
        clock[i] = clock[i] > from[i] ? clock[i] : from[i];
}

static uint32_t *place_of(struct asx__races *r, uint64_t name)
{
    for (size_t i = 0; i < r->places_len; i++)
        if (r->places[i].name == name)
            return r->places[i].clock;
    if (r->places_len == PLACES_MAX)
        return NULL;
    r->places[r->places_len].name = name;
    memset(r->places[r->places_len].clock, 0, sizeof r->places[0].clock);
    return r->places[r->places_len++].clock;
}

/* The task knows what all did who were here before, and who comes later knows what it did. */
static void meet(struct asx__races *r, uint64_t task, uint64_t name)
{
    uint32_t *clock = clock_of(r, task), *at = place_of(r, name);
    if (clock == NULL || at == NULL)
        return;
    learn(clock, at);
    learn(at, clock);
    clock[task - r->base]++;
}

static void tell(struct asx__races *r, uint64_t from, uint64_t to)
{
    uint32_t *teller = clock_of(r, from), *told = clock_of(r, to);
    if (teller == NULL || told == NULL)
        return;
    learn(told, teller);
    teller[from - r->base]++;
}

static unsigned sort_of(uint32_t kind)
{
    unsigned i = SORTS - 1;
    while (kind < sorts[i])
        i--;
    return i;
}

void asx__races_hear(asx__oracles *o, const asx_event *e)
{
    struct asx__races *r = o->races;
    switch (e->kind) {
    case ASX_EVENT_TASK_SPAWN:
        tell(r, e->task, e->object);
        break;
    case ASX_EVENT_TASK_JOIN:
        tell(r, e->object, e->task);
        break;
    case ASX_EVENT_TASK_WAKE: /* it waited for a message, or for room, and will not get it */
        if (e->a == (uint64_t)ASX_E_DISCONNECTED || e->a == (uint64_t)ASX_E_CLOSED)
            tell(r, e->task, e->object);
        break;
    case ASX_EVENT_TASK_COMPLETE:
        meet(r, e->object, NAME(OF_REGION, asx__oracles_region_of(o, e->object)));
        break;
    case ASX_EVENT_REGION_REPORT: /* its owner waited for this, and the region around it does */
        meet(r, asx__oracles_owner_of(o, e->object), NAME(OF_REGION, e->object));
        break;
    case ASX_EVENT_CANCEL_REQUEST: /* who cancels; and the task that has noticed it */
        meet(r, e->task, NAME(OF_CANCEL, e->object));
        break;
    case ASX_EVENT_CANCEL_ACK:
        meet(r, e->object, NAME(OF_CANCEL, e->object));
        break;
    case ASX_EVENT_CHANNEL_SEND:
    case ASX_EVENT_CHANNEL_RECV:
    case ASX_EVENT_CHANNEL_SENDER_DROP:
    case ASX_EVENT_CHANNEL_RECEIVER_DROP:
        meet(r, e->task, NAME(OF_CHANNEL, e->object));
        break;
    default:
        if (e->kind >= sorts[0] && e->kind <= ASX_EVENT_WATCH_CLOSE && e->task != 0)
            meet(r, e->task, NAME(OF_OBJECT + sort_of(e->kind), e->object));
        break;
    }
}

void asx__races_learn(asx__oracles *o, uint64_t task, uint32_t created, uint64_t serial)
{
    unsigned kind = created == 0                          ? (unsigned)OF_WAKER
                    : created == ASX_EVENT_CHANNEL_CREATE ? (unsigned)OF_CHANNEL
                                                          : OF_OBJECT + sort_of(created);
    uint32_t *clock = clock_of(o->races, task), *at = place_of(o->races, NAME(kind, serial));
    if (clock == NULL || at == NULL)
        return;
    if (created == 0 && serial != task) {
        learn(at, clock);
        clock[task - o->races->base]++;
    } else {
        learn(clock, at);
    }
}

static raced_cell *cell_of(struct asx__races *r, const void *address)
{
    for (size_t i = 0; i < r->cells_len; i++)
        if (r->cells[i].address == address)
            return &r->cells[i];
    if (r->cells_len == PLACES_MAX)
        return NULL;
    r->cells[r->cells_len] = (raced_cell){ .address = address };
    return &r->cells[r->cells_len++];
}

static void complain(asx__oracles *o, uint64_t task, bool writes, const char *site, uint32_t other,
                     bool other_writes, const char *other_site)
{
    int len;
    const char *words = asx__site_words(site, &len);
    asx__oracles_complain(o, ASX_ORACLE_DATA_RACE,
                          "task %llu %s %.*s at %.*s, and nothing orders that with task %llu, "
                          "which %s it at %.*s",
                          (unsigned long long)task, writes ? "writes" : "reads",
                          words != NULL ? len : 6, words != NULL ? words : "a cell",
                          asx__site_len(site), site, (unsigned long long)(o->races->base + other),
                          other_writes ? "wrote" : "read", asx__site_len(other_site), other_site);
}

/* Compares with the plain accesses so far and, if it is plain itself, with the atomic ones. */
static void compare(asx__oracles *o, const raced_cell *c, uint64_t task, bool writes, bool plain,
                    const char *site)
{
    const uint32_t *clock = clock_of(o->races, task);
    if (c->plain.epoch > clock[c->plain.task])
        complain(o, task, writes, site, c->plain.task, true, c->plain.site);
    if (plain && c->atomic.epoch > clock[c->atomic.task])
        complain(o, task, writes, site, c->atomic.task, true, c->atomic.site);
    for (uint32_t i = 0; i < TASKS_MAX && writes; i++)
        if (c->read[i] > clock[i])
            complain(o, task, writes, site, i, false, c->read_site[i]);
}

void asx__races_access(asx__oracles *o, uint64_t task, const void *address, bool writes,
                       const char *site)
{
    if (!asx__races_begin(o, task))
        return;
    struct asx__races *r = o->races;
    const uint32_t *clock = clock_of(r, task);
    raced_cell *c = clock != NULL ? cell_of(r, address) : NULL;
    if (c == NULL)
        return;
    uint32_t self = (uint32_t)(task - r->base);
    compare(o, c, task, writes, true, site);
    if (writes) {
        c->plain = (last_write){ self, clock[self], site };
    } else {
        c->read[self] = clock[self];
        c->read_site[self] = site;
    }
}

void asx__races_atomic(asx__oracles *o, uint64_t task, const void *address, asx__atomic_kind kind,
                       const char *site)
{
    if (!o->races_on)
        return;
    struct asx__races *r = o->races;
    uint32_t *clock = clock_of(r, task), *at = place_of(r, (uint64_t)(uintptr_t)address);
    raced_cell *c = clock != NULL ? cell_of(r, address) : NULL;
    if (c == NULL || at == NULL)
        return;
    uint32_t self = (uint32_t)(task - r->base);
    compare(o, c, task, kind != ASX__ATOMIC_LOAD, false, site);
    if (kind != ASX__ATOMIC_STORE)
        learn(clock, at);
    if (kind == ASX__ATOMIC_LOAD)
        return;
    memcpy(at, clock, sizeof r->places[0].clock);
    c->atomic = (last_write){ self, clock[self], site };
    clock[self]++;
}

void asx__races_meet(asx__oracles *o, uint64_t task, const void *address)
{
    if (o->races_on)
        meet(o->races, task, (uint64_t)(uintptr_t)address);
}

bool asx__races_begin(asx__oracles *o, uint64_t task)
{
    if (o->races_on)
        return true;
    if (o->races == NULL)
        o->races = calloc(1, sizeof *o->races);
    if (o->races == NULL)
        return false;
    o->races->places_len = o->races->cells_len = 0;
    o->races->base = o->tasks.len != 0 && o->tasks.base < task ? o->tasks.base : task;
    o->races->run++;
    o->races_on = o->others = true;
    return true;
}
