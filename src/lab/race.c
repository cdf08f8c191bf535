/* race.c - the oracle of data races: does anything else order loads and stores of shared cells?
 *
 * Words
 *   epoch   how often a task has let others know (released) so far, itself included, from 1
 *   clock   of a task: for each task the epoch up to which it knows what that one did
 *   place   something that orders: a lock, a channel, a region, the end of a task
 *
 * An access is ordered after another if its task's clock has reached the epoch at which that other
 * was made. A task learns when it was started, joins, closes a region, or comes to a place that
 * others were at before; all of this is heard from the journal, or told by the lab's own locks. A
 * cas and a fetch-add order, as they do in production; a load and a store do not.
 *
 * Judged only on request, since cells of a lab test may race on purpose; up to TASKS_MAX tasks and
 * PLACES_MAX places and cells. What is beyond is not judged.
 */
#include "lab/oracle.h"

#include <stdlib.h>
#include <string.h>

#include "sched/sched.h"

#define TASKS_MAX 128
#define PLACES_MAX 256

typedef struct place {
    uint64_t name;             /* address, or kind << 56 | serial */
    uint32_t clock[TASKS_MAX];
} place;

typedef struct cell {
    const void *address;
    uint32_t writer, written;  /* index of the task and its epoch; epoch 0: never */
    uint32_t read[TASKS_MAX];  /* epoch of each task's last read; 0: none */
} cell;

struct asx__races {
    uint64_t base;             /* serial of task 0 here */
    uint32_t clocks[TASKS_MAX][TASKS_MAX];
    place places[PLACES_MAX];
    cell cells[PLACES_MAX];
    size_t places_len, cells_len;
};

/* Names of places that are not addresses. */
enum { OF_CHANNEL = 1, OF_REGION = 2, OF_OBJECT = 3 };
#define NAME(kind, serial) ((uint64_t)(kind) << 60 | (serial))

static uint32_t *clock_of(struct asx__races *r, uint64_t task)
{
    uint64_t index = task - r->base;
    if (task < r->base || index >= TASKS_MAX)
        return NULL;
    if (r->clocks[index][index] == 0)
        r->clocks[index][index] = 1;
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
    case ASX_EVENT_TASK_COMPLETE:
        meet(r, e->object, NAME(OF_REGION, asx__oracles_region_of(o, e->object)));
        break;
    case ASX_EVENT_REGION_REPORT: /* its owner waited for this, and the region around it does */
        meet(r, asx__oracles_owner_of(o, e->object), NAME(OF_REGION, e->object));
        break;
    case ASX_EVENT_CHANNEL_SEND:
    case ASX_EVENT_CHANNEL_RECV:
    case ASX_EVENT_CHANNEL_SENDER_DROP:
    case ASX_EVENT_CHANNEL_RECEIVER_DROP:
        meet(r, e->task, NAME(OF_CHANNEL, e->object));
        break;
    default:
        if (e->kind > ASX_EVENT_USER && e->task != 0) /* mutexes and their like */
            meet(r, e->task, NAME(OF_OBJECT + e->kind / 4 % 8, e->object));
        break;
    }
}

void asx__races_meet(asx__oracles *o, uint64_t task, const void *address)
{
    if (o->races_on)
        meet(o->races, task, (uint64_t)(uintptr_t)address);
}

static cell *cell_of(struct asx__races *r, const void *address)
{
    for (size_t i = 0; i < r->cells_len; i++)
        if (r->cells[i].address == address)
            return &r->cells[i];
    if (r->cells_len == PLACES_MAX)
        return NULL;
    r->cells[r->cells_len] = (cell){ .address = address };
    return &r->cells[r->cells_len++];
}

void asx__races_access(asx__oracles *o, uint64_t task, const void *address, bool writes,
                       const char *site)
{
    struct asx__races *r = o->races;
    const uint32_t *clock = o->races_on ? clock_of(r, task) : NULL;
    cell *c = clock != NULL ? cell_of(r, address) : NULL;
    if (c == NULL)
        return;
    uint32_t self = (uint32_t)(task - r->base);
    uint64_t other = 0;
    if (c->written > clock[c->writer])
        other = r->base + c->writer;
    for (uint32_t i = 0; i < TASKS_MAX && writes && other == 0; i++)
        if (c->read[i] > clock[i])
            other = r->base + i;
    if (other != 0)
        asx__oracles_complain(o, ASX_ORACLE_DATA_RACE,
                              "task %llu %s a cell at %s, and nothing orders that with task %llu",
                              (unsigned long long)task, writes ? "writes" : "reads", site,
                              (unsigned long long)other);
    if (writes) {
        c->writer = self;
        c->written = clock[self];
    } else {
        c->read[self] = clock[self];
    }
}

asx_status asx_lab_race_free(asx_cx *cx)
{
    if (cx == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx__oracles *o = cx->rt_ != NULL && cx->task_ != NULL ? asx__oracles_of(cx->rt_) : NULL;
    if (o == NULL)
        return ASX_OK;
    if (o->races == NULL)
        o->races = malloc(sizeof *o->races);
    if (o->races == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    memset(o->races->clocks, 0, sizeof o->races->clocks);
    o->races->places_len = o->races->cells_len = 0;
    o->races->base = asx__serial(cx->task_->generation);
    o->races_on = true;
    return ASX_OK;
}
