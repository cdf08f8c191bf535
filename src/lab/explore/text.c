/* text.c - an execution as text: its schedule for a file, its interleaving for people.
 *
 * A schedule is the names of the tasks in the order in which they went, separated by spaces; a
 * choice follows its task after a colon. The test itself is 0, the tasks that it started are 1, 2,
 * ..., those that 2 started are 2.1, 2.2, ...: the same names in every execution. The clock, where
 * it moves, is "clock". In front stands what the exploration had learned of the test by then, since
 * that decides what is an operation: "+cancels" and the others in `lessons`.
 */
#include "lab/explore/explore.h"
#include "lab/oracle/site.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LANE_WIDTH 26
/* They are wider if their steps are, all together up to so many columns. */
#define LANES_WIDTH 120
#define STEP_MOST 160
/* More lanes than that are narrow ones beside each other in so many columns; the name of the task
 * is in front of each step then. */
#define WIDE_LANES 8
#define NARROW_LANES_WIDTH 96
/* Of a long execution only so many steps are shown. */
#define SHOWN_FIRST 60
#define SHOWN_LAST 140
/* Up to so many lines that come so often in a row are folded. */
#define FOLD_MOST 8u
#define FOLD_FROM 3u
#define VALUES_MOST 4 /* of cells, for a check that failed */

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

void asx__explore_add_task(const asx__explorer *x, asx__text *text, uint32_t task)
{
    add_task(x, text, task);
    asx__text_add(text, " %s", asx__explorer_name(x, task));
}

void asx__explore_add_lane(const asx__explorer *x, asx__text *text, const asx__lab_task *task)
{
    add_task(x, text, task->id);
    if (task->name != NULL && *task->name != '\0')
        asx__text_add(text, " %s", task->name);
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
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

const char *asx__explore_error(asx__explorer *x, const asx__lab_task *task, asx_status status)
{
    asx__text_clear(&x->said);
    asx__explore_add_lane(x, &x->said, task);
    asx__text_add(&x->said, " ended with %s, which nobody joins or expects",
                  asx_status_str(status));
    return x->said.bytes != NULL ? x->said.bytes : asx_status_str(status);
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
            asx__explore_add_lane(x, &x->said, task);
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
        return (asx__op_traits[event->kind] & ASX__O_SINGLE) == 0 &&
                       event->found <= ASX__FOUND_LAGGED
                   ? texts[event->found]
                   : "";
    }
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

/* ---- what steps are about ------------------------------------------------------------------- */

/* What a step is about: an object, and how its call calls it. */
typedef struct shown_step {
    uint64_t object;   /* 0: nothing that has to be named */
    const char *words; /* not ended by a NUL; NULL: the call has a guard or a permit of it */
    int len;
} shown_step;

typedef struct shown_steps {
    shown_step at[SHOWN_FIRST + SHOWN_LAST];
    uint32_t len;
    uint64_t numbered[SHOWN_FIRST + SHOWN_LAST];
    uint32_t numbered_len;
} shown_steps;

static shown_step shown_step_of(const asx__dpor_event *event, const asx__op *op)
{
    shown_step step = { 0 };
    if (event->kind == ASX__OP_UNTIL) { /* what holds now */
        step.object = (uintptr_t)event->site;
        step.words = asx__site_words(event->site, &step.len);
        return step;
    }
    if ((asx__op_traits[event->kind] & ASX__O_NAMELESS) != 0 ||
        (event->object == ASX__DPOR_NONE && op == NULL))
        return step;
    step.object = op != NULL ? asx__op_name(op) : (uint64_t)event->object + 1;
    if (event->kind == ASX__OP_CONDITION_GO_ON && op != NULL)
        step.object = op->other; /* the mutex, which the call does not name */
    else
        step.words = asx__site_words(event->site, &step.len);
    return step;
}

static bool is_same(const shown_step *a, const shown_step *b)
{
    return a->len == b->len && memcmp(a->words, b->words, (size_t)a->len) == 0;
}

static uint32_t object_number(shown_steps *s, uint64_t object)
{
    uint32_t i = 0;
    while (i < s->numbered_len && s->numbered[i] != object)
        i++;
    if (i == s->numbered_len)
        s->numbered[s->numbered_len++] = object;
    return i;
}

/* As the calls name it. If they do not, or other objects are called the same, or the same object
 * something else, it has a number too: x0, x1, ... in the order in which they are shown. */
static void add_object(shown_steps *s, uint32_t index, asx__text *text)
{
    const shown_step *step = &s->at[index], *named = step;
    bool doubtful = false;
    if (step->object == 0)
        return;
    for (uint32_t i = 0; i < s->len && named->words == NULL; i++)
        if (s->at[i].object == step->object)
            named = &s->at[i];
    for (uint32_t i = 0; i < s->len && named->words != NULL; i++)
        if (s->at[i].words != NULL && s->at[i].object != 0 &&
            (s->at[i].object == step->object) != is_same(&s->at[i], named))
            doubtful = true;
    if (named->words != NULL)
        asx__text_add(text, " %.*s", named->len, named->words);
    if (named->words == NULL || doubtful)
        asx__text_add(text, " x%u", object_number(s, step->object));
}

static bool cancels(unsigned kind)
{
    return kind == ASX__OP_CANCEL_TASK || kind == ASX__OP_CANCEL_REGION;
}

/* Whom it waits for, or cancels. */
static void add_target(const asx__explorer *x, const asx__op *op, asx__text *text)
{
    uint64_t name = 0;
    if (op->kind == ASX__OP_JOIN)
        name = op->name;
    for (uint32_t i = 0; i < op->targets_len && cancels(op->kind) && name == 0; i++)
        if (ASX__NAME_TAG_OF(op->targets[i]) == ASX__NAME_CANCEL)
            name = op->targets[i];
    if (name != 0) {
        asx__text_add(text, " ");
        asx__explore_add_task(x, text, ASX__NAME_TASK_OF(name));
    }
}

static void add_event(const asx__explorer *x, shown_steps *s, uint32_t index,
                      const asx__dpor_event *event, const asx__op *op, asx__text *text)
{
    const char *own = own_name(op);
    long long before = shown(event->before), after = shown(event->after);
    const char *name = event->kind == ASX__OP_CAS         ? "cas"
                       : event->kind == ASX__OP_FETCH_ADD ? "add"
                                                          : asx__op_str(event->kind);
    if (event->kind == ASX__OP_FUTEX_GO_ON) {
        asx__text_add(text, "%s", event->found == ASX__FOUND_DONE ? "woken" : "late");
        return;
    }
    asx__text_add(text, "%s", own != NULL ? own : name);
    if (op != NULL && (event->kind == ASX__OP_JOIN ||
                       (cancels(event->kind) && s->at[index].words == NULL)))
        add_target(x, op, text);
    else
        add_object(s, index, text);
    if (own != NULL)
        return;
    switch (event->kind) {
    case ASX__OP_LOAD: /* an answer other than 0: an old value */
        asx__text_add(text, " -> %lld%s", event->choice != 0 ? shown(event->found) : before,
                      event->choice != 0 ? " (old)" : "");
        break;
    case ASX__OP_STORE: /* ... behind one that came later; then it is not told which */
        if (event->choice != 0)
            asx__text_add(text, " (late)");
        else
            asx__text_add(text, " = %lld", after);
        break;
    case ASX__OP_EXCHANGE:
    case ASX__OP_FETCH_ADD:
    case ASX__OP_FETCH_OR:
    case ASX__OP_FETCH_AND:
        asx__text_add(text, " -> %lld", after);
        break;
    case ASX__OP_CAS:
        asx__text_add(text, " %lld%s", event->writes ? after : before,
                      event->writes ? "" : " fails");
        break;
    case ASX__OP_CHOOSE: {
        int len = 0; /* a fault says what it is, or would have been */
        const char *words = asx__site_words(event->site, &len);
        asx__text_add(text, " %u%s%.*s%s", event->choice, words != NULL ? ": " : "", len,
                      words != NULL ? words : "", words != NULL && event->choice == 0 ? "?" : "");
        break;
    }
    case ASX__OP_UNTIL:
        break;
    case ASX__OP_TRY_LOCK:
        asx__text_add(text, "%s", before ? " fails" : "");
        break;
    default:
        asx__text_add(text, "%s", found_text(event));
        break;
    }
}

#define ROUND 100 /* steps of the end that are looked at */
#define ROUND_TASKS 4

void asx__explore_rounds(const asx__explorer *x, asx__text *text)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    uint32_t tasks[ROUND_TASKS], len = 0;
    bool more = false;
    for (size_t i = count > ROUND ? count - ROUND : 0; i < count; i++) {
        uint32_t t = 0;
        while (t < len && tasks[t] != events[i].task)
            t++;
        if (t == ROUND_TASKS)
            more = true;
        else if (t == len)
            tasks[len++] = events[i].task;
    }
    asx__text_clear(text);
    asx__text_add(text, "too many steps; the last are of");
    for (uint32_t t = 0; t < len; t++) {
        asx__text_add(text, "%s ", t != 0 ? "," : "");
        asx__explore_add_task(x, text, tasks[t]);
    }
    asx__text_add(text, "%s", more ? " and others" : "");
}

void asx__explore_divergence(asx__explorer *x, char *buffer, size_t size)
{
    asx__text text = { .bytes = buffer, .cap = size, .fixed = true };
    uint32_t event, task;
    asx__op_kind before;
    buffer[0] = '\0';
    if (!asx__dpor_divergence(x->dpor, &event, &task, &before))
        return;
    const asx__op *op = task < asx__dpor_tasks(x->dpor) ? asx__dpor_pending(x->dpor, task) : NULL;
    asx__text_add(&text, "step %u: task ", (unsigned)event + 1);
    if (task < asx__dpor_tasks(x->dpor) && task < x->known_cap)
        asx__explore_add_task(x, &text, task);
    else
        asx__text_add(&text, "that is not there");
    if (op == NULL) {
        asx__text_add(&text, " has no next operation");
    } else {
        int len, words_len = 0;
        const char *file = asx__explore_file(op->site, &len);
        const char *words = asx__site_words(op->site, &words_len);
        asx__text_add(&text, " is about to %s%s%.*s", asx__op_str(op->kind),
                      words != NULL ? " " : "", words_len, words != NULL ? words : "");
        if (len != 0)
            asx__text_add(&text, " (%.*s)", len, file);
    }
    if (before != ASX__OP_COUNT)
        asx__text_add(&text, "; before it did: %s", asx__op_str(before));
    else if (op != NULL)
        asx__text_add(&text, ", which cannot be done now");
}

/* ---- lanes ---------------------------------------------------------------------------------- */

const char *asx__explore_file(const char *site, int *ret_len)
{
    int len = site != NULL ? asx__site_len(site) : 0;
    int from = len;
    while (from > 0 && site[from - 1] != '/')
        from--;
    *ret_len = len - from;
    return site != NULL ? site + from : "";
}

/* A task as the head of a column, or in front of a step. */
static void add_head(const asx__explorer *x, asx__text *text, uint32_t task, int width)
{
    asx__text head = { 0 };
    uint32_t owner, nth;
    asx__dpor_name_of(x->dpor, task, &owner, &nth);
    if (task != 0 && owner != ASX__DPOR_NONE && (nth & ASX__DPOR_HIDDEN) != 0) {
        asx__text_add(&head, (nth & ASX__DPOR_TIMER) != 0 ? "deadline of " : "finalizers of ");
        task = owner;
    }
    asx__explore_add_task(x, &head, task);
    asx__text_add(text, "%-*.*s", width, width - 2, head.bytes != NULL ? head.bytes : "");
    free(head.bytes);
}

/* A line of the lanes: a step, a yield, or so many lines that come again. */
typedef struct shown_line {
    enum { LINE_STEP, LINE_YIELD, LINE_AGAIN } kind;
    uint32_t nth;        /* of the events, or of the yields; AGAIN: how many lines, ... */
    uint32_t times;      /* ... and how often */
} shown_line;

/* The lanes of an execution, and the lines that are shown: all but some in the middle. */
typedef struct lanes {
    uint32_t *of;      /* by the number of the task, from 1; 0: it has none */
    uint32_t len;
    int width;
    shown_line *lines;
    size_t count, left_out;
    shown_steps steps;
} lanes;

static const shown_line *nth_shown(const lanes *l, size_t i)
{
    return &l->lines[i < SHOWN_FIRST ? i : i + l->left_out];
}

static uint32_t task_of_line(const asx__explorer *x, const shown_line *at)
{
    size_t count;
    return at->kind == LINE_STEP ? asx__dpor_events(x->dpor, &count)[at->nth].task
                                 : x->yields[at->nth].task;
}

/* Is nothing of the two different, values included? */
static bool is_same_line(const asx__explorer *x, const shown_line *a, const shown_line *b)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    if (a->kind != b->kind)
        return false;
    if (a->kind == LINE_YIELD)
        return x->yields[a->nth].task == x->yields[b->nth].task &&
               x->yields[a->nth].site == x->yields[b->nth].site;
    const asx__dpor_event *e = &events[a->nth], *f = &events[b->nth];
    return e->task == f->task && e->kind == f->kind && e->object == f->object &&
           e->site == f->site && e->before == f->before && e->after == f->after &&
           e->found == f->found && e->choice == f->choice;
}

/* How often the `period` lines from `from` on stand there, one after the other. */
static uint32_t times_of(const asx__explorer *x, const lanes *l, size_t from, size_t period)
{
    size_t at = from + period;
    while (at < l->count && is_same_line(x, &l->lines[at], &l->lines[at - period]))
        at++;
    return (uint32_t)((at - from) / period);
}

/* What comes again and again is shown once, with how often. */
static void fold(const asx__explorer *x, lanes *l)
{
    size_t to = 0;
    for (size_t from = 0; from < l->count;) {
        uint32_t times = 0;
        size_t period = 0;
        while (times < FOLD_FROM && period < FOLD_MOST)
            times = times_of(x, l, from, ++period);
        if (times < FOLD_FROM) {
            l->lines[to++] = l->lines[from++];
            continue;
        }
        for (size_t i = 0; i < period; i++)
            l->lines[to++] = l->lines[from + i];
        l->lines[to++] = (shown_line){ LINE_AGAIN, (uint32_t)period, times - 1 };
        from += times * period;
    }
    l->count = to;
}

/* All of them, in their order. False: no memory. */
static bool collect_lines(const asx__explorer *x, size_t steps, lanes *l)
{
    size_t yield = 0;
    l->lines = malloc((steps + x->yields_len + 1) * sizeof *l->lines);
    if (l->lines == NULL)
        return false;
    for (size_t i = 0; i <= steps; i++) {
        for (; yield < x->yields_len && x->yields[yield].before == i; yield++)
            l->lines[l->count++] = (shown_line){ LINE_YIELD, (uint32_t)yield, 0 };
        if (i < steps)
            l->lines[l->count++] = (shown_line){ LINE_STEP, (uint32_t)i, 0 };
    }
    for (size_t i = 0; i < l->count; i++) {
        uint32_t task = task_of_line(x, &l->lines[i]);
        if (l->of[task] == 0)
            l->of[task] = ++l->len;
    }
    fold(x, l);
    return true;
}

static void line_text(const asx__explorer *x, lanes *l, uint32_t i, char *buffer, size_t size)
{
    size_t count;
    const shown_line *at = nth_shown(l, i);
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    asx__text step = { .bytes = buffer, .cap = size, .fixed = true };
    buffer[0] = '\0';
    if (at->kind == LINE_STEP)
        add_event(x, &l->steps, i, &events[at->nth], asx__dpor_op_of(x->dpor, at->nth), &step);
    else if (at->kind == LINE_YIELD)
        asx__text_add(&step, "yield");
}

/* Which tasks have lanes, what is shown, and how wide that is. */
static void lay_out(const asx__explorer *x, lanes *l)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    char step[STEP_MOST];
    if (l->count > SHOWN_FIRST + SHOWN_LAST)
        l->left_out = l->count - (SHOWN_FIRST + SHOWN_LAST);
    l->steps.len = (uint32_t)(l->count - l->left_out);
    for (uint32_t i = 0; i < l->steps.len; i++) {
        const shown_line *at = nth_shown(l, i);
        if (at->kind == LINE_STEP)
            l->steps.at[i] =
                shown_step_of(&events[at->nth], asx__dpor_op_of(x->dpor, at->nth));
    }
    l->width = LANE_WIDTH;
    for (uint32_t i = 0; i < l->steps.len && l->len <= WIDE_LANES; i++) {
        line_text(x, l, i, step, sizeof step);
        if ((int)strlen(step) + 2 > l->width)
            l->width = (int)strlen(step) + 2;
    }
    if (l->len != 0 && l->width > LANES_WIDTH / (int)l->len)
        l->width = LANES_WIDTH / (int)l->len > LANE_WIDTH ? LANES_WIDTH / (int)l->len : LANE_WIDTH;
}

/* A step in its lane, and where it was made. */
static void add_step(const lanes *l, asx__text *text, const char *step, const char *site,
                     uint32_t lane)
{
    bool wide = l->len <= WIDE_LANES;
    int len, width = wide ? (int)l->len * l->width : NARROW_LANES_WIDTH + LANE_WIDTH;
    int indent = wide ? (int)lane * l->width
                      : (int)((uint64_t)lane * NARROW_LANES_WIDTH / l->len);
    const char *place = asx__explore_file(site, &len);
    int rest = len != 0 ? width - indent : 0;
    const char *gap = rest != 0 && strlen(step) >= (size_t)rest ? " " : "";
    asx__text_add(text, "%*s%-*s%s%.*s\n", indent, "", rest, step, gap, len, place);
}

static void add_line(const asx__explorer *x, lanes *l, uint32_t i, asx__text *text)
{
    size_t count;
    const shown_line *at = nth_shown(l, i);
    char step[STEP_MOST];
    if (at->kind == LINE_AGAIN && at->nth == 1) {
        asx__text_add(text, "... the same again, %u times\n", (unsigned)at->times);
        return;
    }
    if (at->kind == LINE_AGAIN) {
        asx__text_add(text, "... these %u lines again, %u times\n", (unsigned)at->nth,
                      (unsigned)at->times);
        return;
    }
    const char *site = at->kind == LINE_STEP ? asx__dpor_events(x->dpor, &count)[at->nth].site
                                             : x->yields[at->nth].site;
    uint32_t task = task_of_line(x, at);
    line_text(x, l, i, step, sizeof step);
    if (l->len > WIDE_LANES)
        add_head(x, text, task, LANE_WIDTH);
    add_step(l, text, step, site, l->of[task] - 1);
}

/* Are the words in this text, as a whole? */
static bool is_in(const char *text, const char *words, int len)
{
    for (const char *at = text; *at != '\0'; at++)
        if (strncmp(at, words, (size_t)len) == 0 && !is_name(at[len]) &&
            (at == text || !is_name(at[-1])))
            return true;
    return false;
}

/* ", where x = 1": the cells that the failed check names, as the last step on each has left it. */
static void add_values(const asx__explorer *x, const lanes *l, asx__text *text)
{
    size_t count;
    const asx__dpor_event *events = asx__dpor_events(x->dpor, &count);
    uint64_t told[VALUES_MOST];
    uint32_t len = 0;
    for (uint32_t i = l->steps.len; i-- > 0 && len < VALUES_MOST;) {
        const shown_line *at = nth_shown(l, i);
        const shown_step *step = &l->steps.at[i];
        if (at->kind != LINE_STEP || step->words == NULL ||
            (asx__op_traits[events[at->nth].kind] & ASX__O_CELL) == 0 ||
            !is_in(x->failed_text, step->words, step->len))
            continue;
        uint32_t k = 0;
        while (k < len && told[k] != step->object)
            k++;
        if (k < len)
            continue;
        told[len++] = step->object;
        asx__text_add(text, "%s %.*s = %lld", len == 1 ? ", where" : ",", step->len, step->words,
                      shown(events[at->nth].after));
    }
}

/* "<- x == 1 (f.c:12), where x = 0", below the last step. */
static void add_failure(const asx__explorer *x, const lanes *l, asx__text *text)
{
    int len;
    const char *file = asx__explore_file(x->failed_site, &len);
    if (x->failed_text == NULL)
        return;
    asx__text_add(text, "<- %s", x->failed_text);
    if (x->failed_site != NULL)
        asx__text_add(text, " (%.*s)", len, file);
    add_values(x, l, text);
    asx__text_add(text, "\n");
}

void asx__explore_lanes(const asx__explorer *x, size_t steps, asx__text *text)
{
    size_t count;
    (void)asx__dpor_events(x->dpor, &count);
    uint32_t tasks = asx__dpor_tasks(x->dpor);
    lanes *l = calloc(1, sizeof *l);
    asx__text_clear(text);
    if (l == NULL || (l->of = calloc(tasks, sizeof *l->of)) == NULL ||
        !collect_lines(x, steps < count ? steps : count, l))
        goto end;
    lay_out(x, l);
    if (l->len <= WIDE_LANES) {
        for (uint32_t lane = 1; lane <= l->len; lane++)
            for (uint32_t t = 0; t < tasks; t++)
                if (l->of[t] == lane)
                    add_head(x, text, t, l->width);
        asx__text_add(text, "\n");
    }
    for (uint32_t i = 0; i < l->steps.len; i++) {
        if (i == SHOWN_FIRST && l->left_out != 0)
            asx__text_add(text, "... %zu %s ...\n", l->left_out, l->left_out == 1 ? "line"
                          : "lines");
        add_line(x, l, i, text);
    }
    add_failure(x, l, text);
end:
    if (l != NULL) {
        free(l->lines);
        free(l->of);
    }
    free(l);
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
