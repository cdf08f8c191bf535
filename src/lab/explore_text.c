/* explore_text.c - an execution as text: its schedule for a file, its interleaving for people.
 *
 * A schedule is the names of the tasks in the order in which they went, separated by spaces; a
 * choice follows its task after a colon. The test itself is 0, the tasks that it started are 1, 2,
 * ..., those that 2 started are 2.1, 2.2, ...: the same names in every execution. The clock, where
 * it moves, is "clock". In front stands what the exploration had learned of the test by then, since
 * that decides what is an operation: "+cancels" and the others in `lessons`.
 */
#include "lab/explore.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANE_WIDTH 26
/* More lanes than that are narrow ones beside each other in so many columns; the name of the task
 * is in front of each step then. */
#define WIDE_LANES 8
#define NARROW_LANES_WIDTH 96
/* Of a long execution only so many steps are shown. */
#define SHOWN_FIRST 60
#define SHOWN_LAST 140

static const char *const mode_names[] = {
#define MODE_NAME(name, text) text,
    ASX_EXPLORE_MODE_LIST(MODE_NAME)
#undef MODE_NAME
};

static const char *const stop_texts[] = {
#define STOP_TEXT(name, text) text,
    ASX_EXPLORE_STOP_LIST(STOP_TEXT)
#undef STOP_TEXT
};

const char *asx_explore_mode_str(unsigned mode)
{
    return mode < ASX_EXPLORE_MODE_COUNT ? mode_names[mode] : NULL;
}

const char *asx_explore_stop_str(unsigned stop)
{
    return stop < ASX_EXPLORE_STOP_COUNT ? stop_texts[stop] : NULL;
}

void asx__text_clear(asx__text *text)
{
    text->len = 0;
    if (text->bytes != NULL)
        text->bytes[0] = '\0';
}

/* What does not fit into memory is left out. */
void asx__text_add(asx__text *text, const char *format, ...)
{
    va_list args;
    char *end = text->bytes != NULL ? text->bytes + text->len : NULL;
    va_start(args, format);
    int more = vsnprintf(end, end != NULL ? text->cap - text->len : 0, format, args);
    va_end(args);
    size_t need = text->len + (size_t)(more > 0 ? more : 0) + 1;
    if (need > text->cap) {
        char *larger = text->fixed ? NULL : realloc(text->bytes, need * 2);
        if (larger == NULL) {
            if (end != NULL)
                *end = '\0';
            return;
        }
        text->bytes = larger;
        text->cap = need * 2;
        va_start(args, format);
        (void)vsnprintf(text->bytes + text->len, text->cap - text->len, format, args);
        va_end(args);
    }
    text->len = need - 1;
}

/* The name of a task. */
static void add_task(const asx__explorer *x, asx__text *text, uint32_t task)
{
    uint32_t path[16], depth = 0, parent, nth;
    if (task == 0) {
        asx__text_add(text, "0");
        return;
    }
    asx__dpor_name_of(x->dpor, task, &parent, &nth);
    if (parent == ASX__DPOR_NONE) {
        asx__text_add(text, "clock");
        return;
    }
    for (; task != 0; task = parent) {
        asx__dpor_name_of(x->dpor, task, &parent, &nth);
        if (depth < 16)
            path[depth++] = nth + 1;
    }
    while (depth-- > 0)
        asx__text_add(text, "%u%s", path[depth], depth != 0 ? "." : "");
}

static void add_task_and_name(const asx__explorer *x, asx__text *text, uint32_t task)
{
    add_task(x, text, task);
    asx__text_add(text, " %s", asx__explorer_name(x, task));
}

/* As in the lanes, also of one that has not come to an operation. */
static void add_lane(const asx__explorer *x, asx__text *text, const asx__lab_task *task)
{
    add_task(x, text, task->id);
    if (task->name != NULL && *task->name != '\0')
        asx__text_add(text, " %s", task->name);
}

/* ---- failures ------------------------------------------------------------------------------- */

const char *asx__explore_panic(asx__explorer *x, const asx__lab_task *task, uint64_t serial)
{
    const asx__task *record = task->record;
    const asx__panic_note *note = NULL;
    if (record != NULL && asx__serial(record->generation) == serial)
        note = record->region->panic_note;
    if (note == NULL || note->serial != serial)
        return asx_status_str(ASX_E_PANICKED);
    asx__text_clear(&x->said); /* the note goes with its region */
    asx__text_add(&x->said, "panicked: %s", note->message);
    return x->said.bytes != NULL ? x->said.bytes : asx_status_str(ASX_E_PANICKED);
}

/* Oracles know tasks by their serial numbers, which are others in each schedule. */
const char *asx__explore_complaint(asx__explorer *x)
{
    const char *text = x->oracles.complaint.text, *at;
    if (x->oracles.complaint.oracle == ASX_ORACLE_USER)
        return text;
    asx__text_clear(&x->said);
    for (; (at = strstr(text, "task ")) != NULL; text = at) {
        char *end;
        asx__text_add(&x->said, "%.*s", (int)(at - text), text);
        unsigned long long serial = strtoull(at + 5, &end, 10);
        const asx__lab_task *task = end != at + 5 ? asx__explorer_task(x, serial) : NULL;
        if (task != NULL && task->id != ASX__DPOR_NONE)
            add_lane(x, &x->said, task);
        else
            asx__text_add(&x->said, "%.*s", (int)(end - at), at);
        at = end;
    }
    asx__text_add(&x->said, "%s", text);
    return x->said.bytes != NULL ? x->said.bytes : x->oracles.complaint.text;
}

/* ---- schedules and lanes -------------------------------------------------------------------- */

/* Without them a replay that has not come to the first cancellation yet would be of another
 * test, with fewer operations. */
static const struct {
    const char *word;
    size_t feature; /* where it is in the explorer */
} lessons[] = {
    { "+cancels", offsetof(asx__explorer, cancels) },
    { "+far-cancels", offsetof(asx__explorer, far_cancels) },
    { "+far-spawns", offsetof(asx__explorer, far_spawns) },
};

#define LESSONS (sizeof lessons / sizeof lessons[0])

void asx__explore_schedule(const asx__explorer *x, asx__text *text)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    asx__text_clear(text);
    for (size_t i = 0; i < LESSONS; i++)
        if (*(const bool *)((const char *)x + lessons[i].feature))
            asx__text_add(text, "%s%s", text->len != 0 ? " " : "", lessons[i].word);
    for (size_t i = 0; i < count; i++) {
        asx__text_add(text, "%s", text->len != 0 ? " " : "");
        add_task(x, text, events[i].task);
        if (events[i].kind == ASX__OP_CHOOSE || events[i].choice != 0)
            asx__text_add(text, ":%u", events[i].choice);
    }
    asx__text_add(text, "%s", "");
}

/* Values are kept as words without a sign; small negative ones are shown as such. */
static long long shown(uint64_t value)
{
    if (value > INT32_MAX && value <= UINT64_C(2) * UINT32_MAX)
        return (int32_t)(uint32_t)value;
    return (long long)value;
}

/* How an operation of the runtime went, if not as hoped. */
static const char *found_text(const asx__dpor_event *event)
{
    static const char *const texts[] = { "", ": nothing", ": closed", ": cancelled", ": lagged" };
    switch (event->kind) {
    case ASX__OP_WRITE_REQUEST: /* these have found the state of the object */
        return event->writes ? "" : texts[ASX__FOUND_CANCELLED];
    case ASX__OP_TRY_WRITE_LOCK:
        return event->found != 0 ? texts[ASX__FOUND_NOTHING] : "";
    case ASX__OP_ADVANCE:
    case ASX__OP_DEVICE:
        return "";
    default:
        return event->kind >= ASX__OP_READ_LOCK && event->found <= ASX__FOUND_LAGGED
                   ? texts[event->found]
                   : "";
    }
}

/* Objects are x0, x1, ... in the order in which they are shown: their numbers in the engine say
 * how it keeps them, and people want small ones. */
typedef struct shown_objects {
    uint32_t seen[SHOWN_FIRST + SHOWN_LAST];
    uint32_t len;
} shown_objects;

static uint32_t object_number(shown_objects *o, uint32_t object)
{
    uint32_t i = 0;
    if (object == ASX__DPOR_NONE)
        return object;
    while (i < o->len && o->seen[i] != object)
        i++;
    if (i == o->len)
        o->seen[o->len++] = object;
    return i;
}

/* What it has said of an object, or of a device done to one; NULL: neither. */
static const char *own_name(const asx__op *op)
{
    static const char *const deeds[] = {
#define DEED_TEXT(name, text) text,
        ASX__GHOST_DEED_LIST(DEED_TEXT)
#undef DEED_TEXT
    };
    if (op == NULL)
        return NULL;
    if (op->kind == ASX__OP_DEVICE && op->device->operations != NULL)
        return op->device->operations[op->b];
    bool ghost = ASX__NAME_IS_MADE(op->name) && ASX__NAME_TAG_OF(op->name) >= ASX__NAME_GHOST;
    return ghost && op->b < sizeof deeds / sizeof *deeds ? deeds[op->b] : NULL;
}

static void event_text(const asx__dpor_event *event, const asx__op *op, uint32_t object,
                       char *buffer, size_t size)
{
    const char *name = asx__op_str(event->kind), *own = own_name(op);
    long long before = shown(event->before), after = shown(event->after);
    if (own != NULL) {
        (void)snprintf(buffer, size, "%s x%u", own, object);
        return;
    }
    switch (event->kind) {
    case ASX__OP_LOAD: /* an answer other than 0: an old value */
        (void)snprintf(buffer, size, "%s x%u -> %lld%s", name, object,
                       event->choice != 0 ? shown(event->found) : before,
                       event->choice != 0 ? " (old)" : "");
        break;
    case ASX__OP_STORE: /* ... behind one that came later; then it is not told which */
        if (event->choice != 0)
            (void)snprintf(buffer, size, "%s x%u (late)", name, object);
        else
            (void)snprintf(buffer, size, "%s x%u = %lld", name, object, after);
        break;
    case ASX__OP_EXCHANGE:
    case ASX__OP_FETCH_OR:
    case ASX__OP_FETCH_AND:
        (void)snprintf(buffer, size, "%s x%u -> %lld", name, object, after);
        break;
    case ASX__OP_FUTEX_GO_ON:
        (void)snprintf(buffer, size, "%s", event->found == ASX__FOUND_DONE ? "woken" : "late");
        break;
    case ASX__OP_CAS:
        (void)snprintf(buffer, size, "cas x%u %lld%s", object,
                       event->writes ? after : before, event->writes ? "" : " fails");
        break;
    case ASX__OP_FETCH_ADD:
        (void)snprintf(buffer, size, "add x%u -> %lld", object, after);
        break;
    case ASX__OP_CHOOSE:
        (void)snprintf(buffer, size, "%s %u", name, event->choice);
        break;
    case ASX__OP_TRY_LOCK:
        (void)snprintf(buffer, size, "%s x%u%s", name, object, before ? " fails" : "");
        break;
    default:
        if (object == ASX__DPOR_NONE)
            (void)snprintf(buffer, size, "%s%s", name, found_text(event));
        else
            (void)snprintf(buffer, size, "%s x%u%s", name, object, found_text(event));
        break;
    }
}

static const char *file_of(const char *site)
{
    const char *slash = site != NULL ? strrchr(site, '/') : NULL;
    return slash != NULL ? slash + 1 : site != NULL ? site : "";
}

/* A task as the head of a column, or in front of a step. */
static void add_head(const asx__explorer *x, asx__text *text, uint32_t task)
{
    asx__text head = { 0 };
    uint32_t owner, nth;
    asx__dpor_name_of(x->dpor, task, &owner, &nth);
    if (task != 0 && owner != ASX__DPOR_NONE && (nth & ASX__DPOR_HIDDEN) != 0) {
        asx__text_add(&head, (nth & ASX__DPOR_TIMER) != 0 ? "deadline of " : "finalizers of ");
        task = owner;
    }
    add_task_and_name(x, &head, task);
    asx__text_add(text, "%-*.*s", LANE_WIDTH, LANE_WIDTH - 2,
                  head.bytes != NULL ? head.bytes : "");
    free(head.bytes);
}

/* "<- x == 1 fails (f.c:12)", below the last step. */
static void add_failure(const asx__explorer *x, asx__text *text)
{
    if (x->failed_text == NULL)
        return;
    asx__text_add(text, "<- %s", x->failed_text);
    if (x->failed_site != NULL)
        asx__text_add(text, " (%s)", file_of(x->failed_site));
    asx__text_add(text, "\n");
}

/* A step in its lane, and where it was made. */
static void add_step(asx__text *text, const char *step, const char *place, uint32_t lane,
                     uint32_t lanes)
{
    bool wide = lanes <= WIDE_LANES;
    int width = wide ? (int)lanes * LANE_WIDTH : NARROW_LANES_WIDTH + LANE_WIDTH;
    int indent = wide ? (int)lane * LANE_WIDTH
                      : (int)((uint64_t)lane * NARROW_LANES_WIDTH / lanes);
    int rest = *place != '\0' ? width - indent : 0;
    const char *gap = rest != 0 && strlen(step) >= (size_t)rest ? " " : "";
    asx__text_add(text, "%*s%-*s%s%s\n", indent, "", rest, step, gap, place);
}

void asx__explore_lanes(const asx__explorer *x, size_t steps, asx__text *text)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    uint32_t tasks = asx__dpor_tasks(x->dpor);
    uint32_t *lane = calloc(tasks, sizeof *lane);
    uint32_t lanes = 0;
    shown_objects objects = { .len = 0 };
    asx__text_clear(text);
    if (lane == NULL)
        return;
    count = steps < count ? steps : count;
    for (size_t i = 0; i < count; i++)
        if (lane[events[i].task] == 0)
            lane[events[i].task] = ++lanes;
    if (lanes <= WIDE_LANES) {
        for (uint32_t l = 1; l <= lanes; l++)
            for (uint32_t t = 0; t < tasks; t++)
                if (lane[t] == l)
                    add_head(x, text, t);
        asx__text_add(text, "\n");
    }
    for (size_t i = 0; i < count; i++) {
        char cell[64];
        if (i == SHOWN_FIRST && count > SHOWN_FIRST + SHOWN_LAST) {
            i = count - SHOWN_LAST;
            asx__text_add(text, "... %zu steps ...\n", i - SHOWN_FIRST);
        }
        event_text(&events[i], asx__dpor_op_of(x->dpor, i),
                   object_number(&objects, events[i].object), cell, sizeof cell);
        if (lanes > WIDE_LANES)
            add_head(x, text, events[i].task);
        add_step(text, cell, file_of(events[i].site), lane[events[i].task] - 1, lanes);
    }
    add_failure(x, text);
    free(lane);
}

/* Has the event taken the read-write lock? A write-lock finds the state that the lock had. */
static bool takes_rwlock(const asx__dpor_event *event)
{
    bool waits_to_write = event->kind == ASX__OP_WRITE_LOCK;
    return waits_to_write ? event->found != ASX__FOUND_CANCELLED
                          : event->found == ASX__FOUND_DONE &&
                                (event->kind == ASX__OP_READ_LOCK ||
                                 event->kind == ASX__OP_TRY_READ_LOCK ||
                                 event->kind == ASX__OP_TRY_WRITE_LOCK);
}

/* Who has taken the read-write lock last and not given it back; NONE: nobody. */
static uint32_t rwlock_holder(const asx__explorer *x, uint64_t name)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    uint32_t holder = ASX__DPOR_NONE;
    uint32_t *given = calloc(asx__dpor_tasks(x->dpor), sizeof *given);
    for (size_t i = count; i-- > 0 && holder == ASX__DPOR_NONE && given != NULL;) {
        const asx__op *op = asx__dpor_op_of(x->dpor, i);
        if (op == NULL || asx__op_name(op) != name)
            continue;
        uint32_t task = events[i].task;
        if (op->kind == ASX__OP_READ_UNLOCK || op->kind == ASX__OP_WRITE_UNLOCK)
            given[task]++;
        else if (takes_rwlock(&events[i]) && given[task]-- == 0)
            holder = task;
    }
    free(given);
    return holder;
}

/* It has waited for a condition and nobody has told it to go on. */
static bool waits_for_condition(const asx__explorer *x, const asx__op *op)
{
    return op != NULL && op->kind == ASX__OP_CONDITION_GO_ON &&
           asx__dpor_state(x->dpor, asx__op_ticket(op)) == 0;
}

/* Who holds the lock that the task waits for; NONE: it does not wait for one. */
static uint32_t holder_for(const asx__explorer *x, uint32_t task)
{
    const asx__op *op = asx__dpor_pending(x->dpor, task);
    uint64_t holder = 0;
    if (op != NULL && (op->kind == ASX__OP_READ_LOCK || op->kind == ASX__OP_WRITE_LOCK))
        return rwlock_holder(x, asx__op_name(op));
    if (op != NULL && op->kind == ASX__OP_CONDITION_GO_ON && !waits_for_condition(x, op))
        holder = asx__dpor_state(x->dpor, op->other);
    if (op != NULL && op->kind == ASX__OP_LOCK) /* of the runtime's own only the engine knows */
        holder = op->object != NULL ? asx__state_read(op->object, op->size)
                                    : asx__dpor_state(x->dpor, asx__op_name(op));
    return holder != 0 ? (uint32_t)holder - 1 : ASX__DPOR_NONE;
}

/* "cycle: 1 a -> 2 b -> 1 a", if the holders form one that `task` can be reached from. */
static bool add_cycle(const asx__explorer *x, asx__text *text, uint32_t task)
{
    uint32_t at = task;
    for (uint32_t i = 0; i <= asx__dpor_tasks(x->dpor) && at != ASX__DPOR_NONE; i++)
        at = holder_for(x, at); /* now it is in the cycle, or there is none */
    if (at == ASX__DPOR_NONE)
        return false;
    asx__text_add(text, "; cycle: ");
    add_task_and_name(x, text, at);
    uint32_t first = at;
    do {
        at = holder_for(x, at);
        asx__text_add(text, " -> ");
        add_task_and_name(x, text, at);
    } while (at != first);
    return true;
}

/* "1 a waits to lock what 2 b holds (f.c:12); ...; cycle: 1 a -> 2 b -> 1 a". Who holds what others
 * may wait for is named too. */
void asx__explore_waiting(const asx__explorer *x, asx__text *text)
{
    uint32_t tasks = asx__dpor_tasks(x->dpor);
    asx__text_clear(text);
    for (uint32_t t = 0; t < tasks; t++) {
        const asx__op *op = asx__dpor_pending(x->dpor, t);
        if (op == NULL || op->kind == ASX__OP_FIRE_TIMER) /* it was cancelled */
            continue;
        asx__text_add(text, "%s", text->len != 0 ? "; " : "");
        add_task_and_name(x, text, t);
        const char *doing = asx__op_str(op->kind);
        if (waits_for_condition(x, op))
            doing = asx__op_str(ASX__OP_CONDITION_WAIT);
        bool waits = strncmp(doing, "wait ", 5) == 0;
        asx__text_add(text, " waits %s%s", waits ? "" : "to ", waits ? doing + 5 : doing);
        uint32_t holder = holder_for(x, t);
        if (holder != ASX__DPOR_NONE) {
            asx__text_add(text, " what ");
            add_task_and_name(x, text, holder);
            asx__text_add(text, " holds");
        }
        asx__text_add(text, " (%s)", file_of(op->site));
    }
    for (uint32_t t = 0; t < tasks; t++)
        if (holder_for(x, t) != ASX__DPOR_NONE && add_cycle(x, text, t))
            break;
    if (text->len == 0)
        asx__text_add(text, "every task waits for another to end");
    for (size_t i = 0; i < x->tasks_len; i++) {
        if (x->tasks[i].id == ASX__DPOR_NONE)
            continue;
        /* Who waits for a condition has lent its lock. */
        uint32_t lent = waits_for_condition(x, asx__dpor_pending(x->dpor, x->tasks[i].id));
        if (asx__oracles_held_by(&x->oracles, x->first_serial + i) <= lent)
            continue;
        asx__text_add(text, "; futurelock: ");
        add_task_and_name(x, text, x->tasks[i].id);
        asx__text_add(text, " holds an obligation");
    }
}

/* ---- reading -------------------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static bool read_number(const char **at, uint32_t *ret_number)
{
    uint64_t number = 0;
    const char *p = *at;
    if (*p < '0' || *p > '9')
        return false;
    for (; *p >= '0' && *p <= '9'; p++) {
        number = number * 10 + (uint64_t)(*p - '0');
        if (number >= ASX__DPOR_NONE)
            return false;
    }
    *at = p;
    *ret_number = (uint32_t)number;
    return true;
}

/* "2.1:3" */
static asx_status read_step(asx__dpor *d, const char **at, asx__step *ret_step)
{
    asx__step step = { 0, 0, true };
    uint32_t nth;
    if (strncmp(*at, "clock", 5) == 0 && ((*at)[5] == '\0' || is_space((*at)[5]))) {
        *at += 5;
        step.task = asx__dpor_name(d, ASX__DPOR_NONE, 1);
        *ret_step = step;
        return step.task != ASX__DPOR_NONE ? ASX_OK : ASX_E_RESOURCE_EXHAUSTED;
    }
    if (!read_number(at, &nth))
        return ASX_E_INVALID_ARGUMENT;
    if (nth != 0)
        step.task = asx__dpor_name(d, 0, nth - 1);
    while (**at == '.' && step.task != ASX__DPOR_NONE) {
        (*at)++;
        if (!read_number(at, &nth) || nth == 0)
            return ASX_E_INVALID_ARGUMENT;
        step.task = asx__dpor_name(d, step.task, nth - 1);
    }
    if (step.task == ASX__DPOR_NONE)
        return ASX_E_RESOURCE_EXHAUSTED;
    if (**at == ':') {
        (*at)++;
        if (!read_number(at, &step.choice))
            return ASX_E_INVALID_ARGUMENT;
    }
    if (**at != '\0' && !is_space(**at))
        return ASX_E_INVALID_ARGUMENT;
    *ret_step = step;
    return ASX_OK;
}

static asx_status read_lesson(asx__explorer *x, const char **at)
{
    size_t len = strcspn(*at, " \n\t\r");
    for (size_t i = 0; i < LESSONS; i++)
        if (strlen(lessons[i].word) == len && strncmp(*at, lessons[i].word, len) == 0) {
            *(bool *)((char *)x + lessons[i].feature) = true;
            *at += len;
            return ASX_OK;
        }
    return ASX_E_INVALID_ARGUMENT;
}

asx_status asx__explore_parse(asx__explorer *x, const char *schedule, asx__step **ret_steps,
                              size_t *ret_count)
{
    asx__step *steps = NULL;
    size_t count = 0, cap = 0;
    asx_status st = ASX_OK;
    for (const char *p = schedule; *p != '\0' && st >= 0;) {
        if (is_space(*p)) {
            p++;
            continue;
        }
        if (*p == '+' && count == 0) {
            st = read_lesson(x, &p);
            continue;
        }
        if (count == cap) {
            cap = cap != 0 ? cap * 2 : 64;
            asx__step *larger = realloc(steps, cap * sizeof *steps);
            if (larger == NULL) {
                st = ASX_E_RESOURCE_EXHAUSTED;
                break;
            }
            steps = larger;
        }
        st = read_step(x->dpor, &p, &steps[count++]);
    }
    if (st < 0) {
        free(steps);
        return st;
    }
    *ret_steps = steps;
    *ret_count = count;
    return ASX_OK;
}
