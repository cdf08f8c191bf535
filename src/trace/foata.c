/* foata.c - see foata.h. One pass over the events: each resource knows the layer of its last write
 * and the largest layer of a read since; so an event costs as much as it has resources. Cells get
 * their names in a pass before it, since their last access may be the one that names them. */
#include "trace/foata.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/hash.h"

typedef enum type {
    NOTHING, /* a number, or nothing */
    TASK,
    REGION,
    OBLIGATION,
    CHANNEL,
    TIMER,
    TYPES,
    PART = 1000 /* of a channel */
} type;

static const char *const type_names[TYPES] = { "",        "task",  "region", "obligation",
                                               "channel", "timer" };

/* The kinds of events, for those that have no row in `shapes`: what they are about. */
static const struct {
    uint32_t kind;
    const char *name, *object;
} listed[] = {
#define LISTED(name, number, text, object, a, b) { number, text, object },
    ASX_EVENT_LIST(LISTED)
#undef LISTED
};
#define LISTED_LEN (sizeof listed / sizeof listed[0])
#define NAME_MAX_LEN 120

typedef struct resource {
    uint64_t serial;
    type kind;
    char *name;
    uint64_t region;          /* of a task: serial */
    uint64_t capacity;        /* of a channel; 0: not known, or it has no slots */
    uint32_t created[TYPES];  /* by a task: how many of each; [0]: of the types beyond */
    uint64_t accesses;        /* of cells, by a task */
    uint64_t written, read;   /* layers */
} resource;

typedef struct maker {
    resource *resources;
    size_t len, cap;
    uint32_t *table;          /* index + 1 by hash; 0: free */
    size_t table_cap;
    uint64_t barrier;         /* layer of the last clock advance */
    uint64_t top;             /* largest layer so far */
    bool no_memory;
} maker;

/* What the words of an event are serials of. */
typedef struct event_form {
    uint32_t kind;
    type object, a, b;
    bool creates;
    bool reads_region;        /* a task begins or ends in one */
} event_form;

static const event_form shapes[] = {
    { ASX_EVENT_REGION_OPEN, REGION, REGION, NOTHING, true, false },
    { ASX_EVENT_REGION_STATE, REGION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_REGION_CANCEL, REGION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_REGION_REPORT, REGION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_FINALIZER_RUN, REGION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_ADMISSION_REFUSED, REGION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_TASK_SPAWN, TASK, REGION, NOTHING, true, true },
    { ASX_EVENT_TASK_STATE, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_TASK_COMPLETE, TASK, NOTHING, NOTHING, false, true },
    { ASX_EVENT_TASK_JOIN, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_TASK_FORCED, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_TASK_PANIC, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_TASK_LINK, TASK, TASK, NOTHING, false, false },
    { ASX_EVENT_CANCEL_REQUEST, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CANCEL_STRENGTHEN, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CANCEL_ACK, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CANCEL_MASK, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_BUDGET_EXHAUSTED, TASK, NOTHING, NOTHING, false, false },
    { ASX_EVENT_OBLIGATION_RESERVE, OBLIGATION, NOTHING, NOTHING, true, false },
    { ASX_EVENT_OBLIGATION_COMMIT, OBLIGATION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_OBLIGATION_ABORT, OBLIGATION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_OBLIGATION_LEAK, OBLIGATION, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHANNEL_CREATE, CHANNEL, NOTHING, REGION, true, false },
    { ASX_EVENT_CHANNEL_SEND, CHANNEL, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHANNEL_RECV, CHANNEL, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHANNEL_EVICT, CHANNEL, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHANNEL_DISCARD, CHANNEL, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHANNEL_SENDER_DROP, CHANNEL, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHANNEL_RECEIVER_DROP, CHANNEL, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHANNEL_NACK, CHANNEL, NOTHING, NOTHING, false, false },
    { ASX_EVENT_TIMER_ARM, TIMER, NOTHING, NOTHING, true, false },
    { ASX_EVENT_TIMER_FIRE, TIMER, NOTHING, NOTHING, false, false },
    { ASX_EVENT_TIMER_CANCEL, TIMER, NOTHING, NOTHING, false, false },
    { ASX_EVENT_CHOICE, NOTHING, NOTHING, NOTHING, false, false },
};

/* Mutexes and their like: a type is TYPES + the first event in the list that is about one. */
static event_form shape_of_listed(size_t at)
{
    event_form s = { .kind = listed[at].kind };
    size_t first = 0, len = strlen(listed[at].name);
    while (strcmp(listed[first].object, listed[at].object) != 0)
        first++;
    s.object = (type)(TYPES + first);
    s.creates = len > 7 && strcmp(listed[at].name + len - 7, "-create") == 0;
    return s;
}

static event_form shape_of(uint32_t kind)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        if (shapes[i].kind == kind)
            return shapes[i];
    for (size_t i = 0; i < LISTED_LEN && kind > ASX_EVENT_USER; i++)
        if (listed[i].kind == kind)
            return shape_of_listed(i);
    return (event_form){ .kind = kind }; /* numbers only */
}

static const char *type_name(type kind)
{
    return kind < TYPES ? type_names[kind] : listed[kind - TYPES].object;
}

static bool is_schedule(uint32_t kind)
{
    return kind == ASX_EVENT_TASK_RUN || kind == ASX_EVENT_TASK_PARK ||
           kind == ASX_EVENT_TASK_WAKE || kind == ASX_EVENT_TASK_YIELD ||
           kind == ASX_EVENT_WORKER_SEARCH || kind == ASX_EVENT_TASK_STEAL;
}

/* ---- resources ------------------------------------------------------------------------------ */

static char *format(const char *text, ...) ASX_PRINTF(1, 2);
static char *format(const char *text, ...)
{
    va_list args;
    va_start(args, text);
    int len = vsnprintf(NULL, 0, text, args);
    va_end(args);
    char *made = len >= 0 ? malloc((size_t)len + 1) : NULL;
    if (made == NULL)
        return NULL;
    va_start(args, text);
    (void)vsnprintf(made, (size_t)len + 1, text, args);
    va_end(args);
    return made;
}

static size_t place_of(const maker *m, type kind, uint64_t serial)
{
    uint64_t words[2] = { (uint64_t)kind, serial };
    size_t at = (size_t)asx__hash_words(0, words, 2) & (m->table_cap - 1);
    while (m->table[at] != 0) {
        const resource *r = &m->resources[m->table[at] - 1];
        if (r->kind == kind && r->serial == serial)
            break;
        at = (at + 1) & (m->table_cap - 1);
    }
    return at;
}

static bool make_room(maker *m)
{
    if (m->len == m->cap) {
        size_t cap = m->cap != 0 ? m->cap * 2 : 64;
        resource *larger = realloc(m->resources, cap * sizeof *larger);
        if (larger == NULL)
            return false;
        m->resources = larger;
        m->cap = cap;
    }
    if (m->table_cap > m->len * 2 + 2)
        return true;
    size_t cap = m->table_cap != 0 ? m->table_cap * 2 : 256;
    uint32_t *table = calloc(cap, sizeof *table);
    if (table == NULL)
        return false;
    free(m->table);
    m->table = table;
    m->table_cap = cap;
    for (size_t i = 0; i < m->len; i++)
        m->table[place_of(m, m->resources[i].kind, m->resources[i].serial)] = (uint32_t)i + 1;
    return true;
}

/* NULL: no memory. One whose creation is not in the trace is named by its number. */
static resource *find(maker *m, type kind, uint64_t serial)
{
    if (!make_room(m)) {
        m->no_memory = true;
        return NULL;
    }
    size_t at = place_of(m, kind, serial);
    if (m->table[at] == 0) {
        resource *r = &m->resources[m->len];
        memset(r, 0, sizeof *r);
        r->kind = kind;
        r->serial = serial;
        r->name = serial != 0 ? format("?%llu", (unsigned long long)serial) : format("0");
        if (r->name == NULL) {
            m->no_memory = true;
            return NULL;
        }
        m->table[at] = (uint32_t)++m->len;
    }
    return &m->resources[m->table[at] - 1];
}

/* Tasks are 0.1.2: the second of the first of the runtime's; others 0.1#2, of their kind. Where
 * each task starts the next, names would grow without end: a hash stands for a long one. */
static char *name_in(const resource *creator, char mark, uint32_t n)
{
    size_t len = strlen(creator->name);
    if (len < NAME_MAX_LEN)
        return format("%s%c%u", creator->name, mark, n);
    return format("~%016llx%c%u", (unsigned long long)asx__hash_bytes(0, creator->name, len), mark,
                  n);
}

static void name_created(maker *m, const asx_event *event, const event_form *s)
{
    if (find(m, TASK, event->task) == NULL || find(m, s->object, event->object) == NULL)
        return;
    resource *creator = find(m, TASK, event->task); /* again: the second may have moved it */
    resource *made = find(m, s->object, event->object);
    uint32_t n = ++creator->created[s->object < TYPES ? s->object : NOTHING];
    char *name = name_in(creator, s->object == TASK ? '.' : '#', n);
    if (name == NULL) {
        m->no_memory = true;
        return;
    }
    free(made->name);
    made->name = name;
    if (event->kind == ASX_EVENT_CHANNEL_CREATE || event->kind == ASX_EVENT_MPMC_CREATE)
        made->capacity = event->a;
    made->region = s->object == TASK ? event->a : 0;
}

/* 0.1:3: what the third access of the task is of. Of these names of a cell the least one is its
 * own: it is the same in whatever order the tasks came to it. */
static void name_cell(maker *m, const asx_event *event, const event_form *s)
{
    if (find(m, TASK, event->task) == NULL || find(m, s->object, event->object) == NULL)
        return;
    resource *by = find(m, TASK, event->task); /* again: the second may have moved it */
    resource *cell = find(m, s->object, event->object);
    char *name = format("%s:%llu", by->name, (unsigned long long)++by->accesses);
    if (name == NULL)
        m->no_memory = true;
    if (name == NULL || (cell->name[0] != '?' && strcmp(cell->name, name) <= 0)) {
        free(name);
        return;
    }
    free(cell->name);
    cell->name = name;
}

/* The name that it got in the pass before. */
static void take_name(maker *m, maker *named, const asx_event *event, const event_form *s)
{
    resource *cell = find(m, s->object, event->object);
    resource *same = find(named, s->object, event->object);
    if (cell == NULL || same == NULL || cell->name[0] != '?')
        return;
    char *name = format("%s", same->name);
    if (name == NULL) {
        m->no_memory = true;
        return;
    }
    free(cell->name);
    cell->name = name;
}

/* ---- layers --------------------------------------------------------------------------------- */

static void access(maker *m, type kind, uint64_t serial, bool writes, uint64_t layer)
{
    resource *r = find(m, kind, serial);
    if (r == NULL)
        return;
    if (writes)
        r->written = layer;
    else if (layer > r->read)
        r->read = layer;
}

static void after(maker *m, type kind, uint64_t serial, bool writes, uint64_t *layer)
{
    const resource *r = find(m, kind, serial);
    if (r == NULL)
        return;
    if (r->written >= *layer)
        *layer = r->written + 1;
    if (writes && r->read >= *layer)
        *layer = r->read + 1;
}

static uint64_t region_of(maker *m, const asx_event *event, const event_form *s)
{
    if (!s->reads_region)
        return 0;
    if (event->kind == ASX_EVENT_TASK_SPAWN)
        return event->a;
    const resource *task = find(m, TASK, event->object);
    return task != NULL ? task->region : 0;
}

/* What an event accesses. */
typedef struct touches {
    struct {
        type kind;
        uint64_t serial;
        bool writes;
    } at[6];
    size_t len;
} touches;

static void touch(touches *t, type kind, uint64_t serial, bool writes)
{
    t->at[t->len].kind = kind;
    t->at[t->len].serial = serial;
    t->at[t->len++].writes = writes;
}

/* The ends of a channel, how many senders it has, and from SLOTS on its slots. */
enum { TAIL, HEAD, SENDERS, SLOTS };

static void touch_part(touches *t, const event_form *s, const asx_event *event, uint64_t part)
{
    uint64_t words[] = { (uint64_t)s->object, event->object, part };
    touch(t, PART, asx__hash_words(0, words, 3), true);
}

static bool is_message(uint32_t kind)
{
    return kind == ASX_EVENT_CHANNEL_SEND || kind == ASX_EVENT_CHANNEL_RECV ||
           kind == ASX_EVENT_MPMC_SEND || kind == ASX_EVENT_MPMC_RECV;
}

/* Of a channel with slots; else 0. */
static uint64_t slots_of(maker *m, const asx_event *event, const event_form *s)
{
    const resource *r = find(m, s->object, event->object);
    return r != NULL ? r->capacity : 0;
}

static void touch_object(maker *m, touches *t, const asx_event *event, const event_form *s)
{
    uint64_t slots = slots_of(m, event, s);
    if (event->kind == ASX_EVENT_CELL_ACCESS) {
        touch(t, s->object, event->object, event->a != 0);
        return;
    }
    bool sends = event->kind == ASX_EVENT_CHANNEL_SEND || event->kind == ASX_EVENT_MPMC_SEND;
    bool drops = event->kind == ASX_EVENT_CHANNEL_SENDER_DROP;
    if (slots != 0 && (is_message(event->kind) || event->kind == ASX_EVENT_CHANNEL_EVICT)) {
        if (sends) /* looks whether it is open */
            touch(t, s->object, event->object, false);
        touch_part(t, s, event, sends ? TAIL : HEAD);
        touch_part(t, s, event, SLOTS + event->a % slots);
        return;
    }
    if (slots != 0)
        touch_part(t, s, event, drops ? SENDERS : HEAD);
    if (slots == 0 || !drops || event->a == 0) /* no sender is left */
        touch(t, s->object, event->object, true);
}

static uint64_t layer_of(maker *m, const asx_event *event, const event_form *s)
{
    uint64_t layer = m->barrier + 1;
    uint64_t region = region_of(m, event, s);
    touches t = { .len = 0 };
    if (event->kind == ASX_EVENT_CLOCK_ADVANCE) {
        m->barrier = m->top = m->top + 1;
        return m->barrier;
    }
    touch(&t, TASK, event->task, true);
    if (s->object != NOTHING)
        touch_object(m, &t, event, s);
    if (region != 0)
        touch(&t, REGION, region, false);
    if (s->a == TASK)
        touch(&t, TASK, event->a, true);
    for (size_t i = 0; i < t.len; i++)
        after(m, t.at[i].kind, t.at[i].serial, t.at[i].writes, &layer);
    for (size_t i = 0; i < t.len; i++)
        access(m, t.at[i].kind, t.at[i].serial, t.at[i].writes, layer);
    m->top = layer > m->top ? layer : m->top;
    return layer;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* The owner of an obligation is a task, or for the user's own a region. */
static type owner_type(const asx_event *event)
{
    return event->a == 1 || event->a == 5 ? REGION : TASK;
}

static char *word_text(maker *m, type kind, uint64_t value)
{
    if (kind == NOTHING)
        return format("%lld", (long long)value);
    const resource *r = find(m, kind, value);
    return r != NULL ? format("%s %s", type_name(kind), r->name) : NULL;
}

static char *event_text(maker *m, const asx_event *event, const event_form *s)
{
    bool obligation = s->object == OBLIGATION;
    char *object = word_text(m, s->object, event->object);
    /* Of two schedules the seeds differ, and nothing else need. */
    char *a = word_text(m, s->a, event->kind == ASX_EVENT_RUN_BEGIN ? 0 : event->a);
    /* How many there are then depends on what commutes with it. */
    char *b = is_message(event->kind) && slots_of(m, event, s) != 0
                  ? format("-")
                  : word_text(m, obligation ? owner_type(event) : s->b, event->b);
    const resource *who = find(m, TASK, event->task);
    char *text = NULL;
    if (object != NULL && a != NULL && b != NULL && who != NULL)
        text = format("@%llu %s %s %s (%s, %s)", (unsigned long long)event->time, who->name,
                      asx_event_kind_str(event->kind), object, a, b);
    free(object);
    free(a);
    free(b);
    m->no_memory = m->no_memory || text == NULL;
    return text;
}

static bool add(asx__foata *f, asx__foata_item item)
{
    if (f->len == f->cap) {
        size_t cap = f->cap != 0 ? f->cap * 2 : 256;
        asx__foata_item *larger = realloc(f->items, cap * sizeof *larger);
        if (larger == NULL)
            return false;
        f->items = larger;
        f->cap = cap;
    }
    f->items[f->len++] = item;
    return true;
}

static int compare(const void *x, const void *y)
{
    const asx__foata_item *a = x, *b = y;
    if (a->layer != b->layer)
        return a->layer < b->layer ? -1 : 1;
    return strcmp(a->text, b->text);
}

/* A task that is woken goes on after what its waker has done. */
static void wake(maker *m, const asx_event *event)
{
    const resource *waker = find(m, TASK, event->task);
    uint64_t layer = waker != NULL ? waker->written : 0;
    resource *woken = find(m, TASK, event->object);
    if (woken != NULL && woken->written < layer)
        woken->written = layer;
}

static void note(maker *m, maker *named, asx__foata *f, const asx_event *event)
{
    event_form s = shape_of(event->kind);
    if (event->kind == ASX_EVENT_TASK_WAKE)
        wake(m, event);
    if (is_schedule(event->kind))
        return;
    if (s.creates)
        name_created(m, event, &s);
    if (event->kind == ASX_EVENT_CELL_ACCESS)
        take_name(m, named, event, &s);
    uint64_t layer = layer_of(m, event, &s);
    char *text = event_text(m, event, &s);
    if (m->no_memory || !add(f, (asx__foata_item){ layer, event->seq, text })) {
        m->no_memory = true;
        free(text);
    }
}

/* What is wrong with the trace, the pass after it will say. */
static void name_cells(maker *m, asx_trace_reader reader)
{
    asx_event event;
    while (asx_trace_reader_next(&reader, &event) >= 0 && !m->no_memory) {
        event_form s = shape_of(event.kind);
        if (event.kind == ASX_EVENT_TASK_SPAWN)
            name_created(m, &event, &s);
        else if (event.kind == ASX_EVENT_CELL_ACCESS)
            name_cell(m, &event, &s);
    }
}

static void forget(maker *m)
{
    for (size_t i = 0; i < m->len; i++)
        free(m->resources[i].name);
    free(m->resources);
    free(m->table);
}

asx_status asx__foata_make(asx_trace_reader *reader, asx__foata *ret)
{
    maker named = { 0 }, m = { 0 };
    asx__foata f = { 0 };
    asx_event event;
    asx_status st;
    name_cells(&named, *reader);
    while ((st = asx_trace_reader_next(reader, &event)) >= 0 && !m.no_memory && !named.no_memory)
        note(&m, &named, &f, &event);
    if (m.no_memory || named.no_memory)
        st = ASX_E_RESOURCE_EXHAUSTED;
    forget(&m);
    forget(&named);
    if (st != ASX_E_EMPTY) {
        asx__foata_deinit(&f);
        return st;
    }
    f.layers = m.top;
    if (f.len > 1)
        qsort(f.items, f.len, sizeof f.items[0], compare);
    *ret = f;
    return ASX_OK;
}

void asx__foata_deinit(asx__foata *f)
{
    for (size_t i = 0; i < f->len; i++)
        free(f->items[i].text);
    free(f->items);
    memset(f, 0, sizeof *f);
}
