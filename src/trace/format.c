/* format.c - events as text for people.
 *
 *     seq @time task kind  object a b  on worker  <- cause
 *
 * How object, a and b read is one row per kind in `layout`: a few words, then the number in a
 * style. Nothing here allocates or uses stdio: it may run on a small fiber stack.
 */
#include "trace/trace.h"

#include <asx/cancel.h>
#include <asx/obligation.h>
#include <asx/outcome.h>
#include <asx/state.h>

#define CASE_STR(name, number, text)                                                               \
    case (number):                                                                                 \
        return text;

const char *asx__wait_str(uint64_t wait)
{
    switch (wait) {
        ASX__WAIT_LIST(CASE_STR)
    default:
        return "unknown";
    }
}

const char *asx__lane_str(uint64_t lane)
{
    switch (lane) {
        ASX__LANE_LIST(CASE_STR)
    default:
        return "unknown";
    }
}

const char *asx__vehicle_str(uint64_t vehicle)
{
    switch (vehicle) {
        ASX__VEHICLE_LIST(CASE_STR)
    default:
        return "unknown";
    }
}

const char *asx__refused_str(uint64_t refused)
{
    switch (refused) {
        ASX__REFUSED_LIST(CASE_STR)
    default:
        return "unknown";
    }
}

static const char *obligation_kind_str(uint64_t kind)
{
    switch (kind) {
        ASX_OBLIGATION_KIND_LIST(CASE_STR)
    default:
        return "unknown";
    }
}

const char *asx_event_kind_str(uint32_t kind)
{
    switch (kind) {
#define EVENT_STR(name, number, text, object, a, b) CASE_STR(name, number, text)
        ASX_EVENT_LIST(EVENT_STR)
#undef EVENT_STR
    default:
        return "unknown";
    }
}

bool asx__event_kind_known(uint64_t kind)
{
    switch (kind) {
#define EVENT_CASE(name, number, text, object, a, b) case (number):
        ASX_EVENT_LIST(EVENT_CASE)
#undef EVENT_CASE
        return true;
    default:
        return false;
    }
}

/* ---- text of bounded size ---- */

typedef struct text {
    char *buffer;
    size_t size;
    size_t len; /* that it would have, if there were room */
} text;

static void put(text *t, const char *s)
{
    for (; *s != '\0'; s++, t->len++) {
        if (t->len + 1 < t->size)
            t->buffer[t->len] = *s;
    }
}

static void put_end(text *t)
{
    if (t->size > 0)
        t->buffer[t->len < t->size ? t->len : t->size - 1] = '\0';
}

static void put_spaces(text *t, size_t until)
{
    while (t->len < until)
        put(t, " ");
}

static void put_number(text *t, uint64_t x, size_t width)
{
    char digits[21];
    char *at = digits + sizeof(digits) - 1;
    *at = '\0';
    do
        *--at = (char)('0' + x % 10);
    while ((x /= 10) > 0);
    for (size_t len = (size_t)(digits + sizeof(digits) - 1 - at); len < width; len++)
        put(t, " ");
    put(t, at);
}

/* In the largest unit that leaves a whole part, without loss: 0, 250ns, 1.5ms, 12.000000001s. */
static void put_time(text *t, asx_time time)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = { { ASX_SEC, "s" }, { ASX_MS, "ms" }, { ASX_US, "us" }, { ASX_NS, "ns" } };
    if (time == ASX_TIME_NEVER || time == 0) {
        put(t, time == 0 ? "0" : "never");
        return;
    }
    unsigned unit = 0;
    while (time < units[unit].ns)
        unit++;
    put_number(t, time / units[unit].ns, 0);
    uint64_t rest = time % units[unit].ns;
    if (rest > 0)
        put(t, ".");
    for (uint64_t digit = units[unit].ns / 10; rest > 0; digit /= 10) {
        put_number(t, rest / digit, 0);
        rest %= digit;
    }
    put(t, units[unit].name);
}

/* ---- what the numbers of each kind mean ---- */

typedef enum style {
    NOTHING,
    NUMBER,
    NUMBER_IF_SET, /* nothing when it is 0 */
    WORDS_IF_SET,  /* only the words, and nothing when it is 0 */
    TIME,
    STATUS,
    OUTCOME,
    REGION_STATE,
    TASK_STATE,
    CANCEL_KIND,
    OBLIGATION_KIND,
    WAIT,
    LANE,
    VEHICLE,
    REFUSED
} style;

typedef struct part {
    const char *words;
    style style;
} part;

typedef struct layout {
    part object, a, b;
} layout;

static const layout layouts[] = {
    [ASX_EVENT_RUN_BEGIN] = { { "", NOTHING }, { "seed ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_RUN_END] = { { "", NOTHING }, { "", STATUS }, { "", NOTHING } },
    [ASX_EVENT_REGION_OPEN] = { { "region ", NUMBER }, { "in region ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_REGION_STATE] = { { "region ", NUMBER }, { "", REGION_STATE },
                                 { "-> ", REGION_STATE } },
    [ASX_EVENT_REGION_CANCEL] = { { "region ", NUMBER }, { "", CANCEL_KIND },
                                  { "strengthened", WORDS_IF_SET } },
    [ASX_EVENT_REGION_REPORT] = { { "region ", NUMBER }, { "", OUTCOME }, { "", STATUS } },
    [ASX_EVENT_FINALIZER_RUN] = { { "region ", NUMBER }, { "#", NUMBER }, { "", STATUS } },
    [ASX_EVENT_ADMISSION_REFUSED] = { { "region ", NUMBER }, { "", REFUSED }, { "", STATUS } },
    [ASX_EVENT_TASK_SPAWN] = { { "task ", NUMBER }, { "in region ", NUMBER }, { "", VEHICLE } },
    [ASX_EVENT_TASK_STATE] = { { "task ", NUMBER }, { "", TASK_STATE }, { "-> ", TASK_STATE } },
    [ASX_EVENT_TASK_RUN] = { { "task ", NUMBER }, { "", LANE }, { "priority ", NUMBER } },
    [ASX_EVENT_TASK_PARK] = { { "task ", NUMBER }, { "", WAIT }, { "#", NUMBER_IF_SET } },
    [ASX_EVENT_TASK_WAKE] = { { "task ", NUMBER }, { "", STATUS }, { "", LANE } },
    [ASX_EVENT_TASK_YIELD] = { { "task ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_TASK_COMPLETE] = { { "task ", NUMBER }, { "", OUTCOME }, { "", STATUS } },
    [ASX_EVENT_TASK_JOIN] = { { "task ", NUMBER }, { "", OUTCOME }, { "", STATUS } },
    [ASX_EVENT_TASK_FORCED] = { { "task ", NUMBER }, { "", CANCEL_KIND },
                                { "resumptions ", NUMBER } },
    [ASX_EVENT_TASK_PANIC] = { { "task ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_TASK_LINK] = { { "task ", NUMBER }, { "with task ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_CANCEL_REQUEST] = { { "task ", NUMBER }, { "", CANCEL_KIND },
                                   { "epoch ", NUMBER } },
    [ASX_EVENT_CANCEL_STRENGTHEN] = { { "task ", NUMBER }, { "", CANCEL_KIND },
                                      { "reason changed", WORDS_IF_SET } },
    [ASX_EVENT_CANCEL_ACK] = { { "task ", NUMBER }, { "", CANCEL_KIND },
                               { "resumptions ", NUMBER } },
    [ASX_EVENT_CANCEL_MASK] = { { "task ", NUMBER }, { "depth ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_BUDGET_EXHAUSTED] = { { "task ", NUMBER }, { "", CANCEL_KIND }, { "", NOTHING } },
    [ASX_EVENT_OBLIGATION_RESERVE] = { { "obligation ", NUMBER }, { "", OBLIGATION_KIND },
                                       { "owner ", NUMBER } },
    [ASX_EVENT_OBLIGATION_COMMIT] = { { "obligation ", NUMBER }, { "", OBLIGATION_KIND },
                                      { "owner ", NUMBER } },
    [ASX_EVENT_OBLIGATION_ABORT] = { { "obligation ", NUMBER }, { "", OBLIGATION_KIND },
                                     { "owner ", NUMBER } },
    [ASX_EVENT_OBLIGATION_LEAK] = { { "obligation ", NUMBER }, { "", OBLIGATION_KIND },
                                    { "owner ", NUMBER } },
    [ASX_EVENT_CHANNEL_CREATE] = { { "channel ", NUMBER }, { "capacity ", NUMBER },
                                   { "in region ", NUMBER } },
    [ASX_EVENT_CHANNEL_SEND] = { { "channel ", NUMBER }, { "message ", NUMBER },
                                 { "queued ", NUMBER } },
    [ASX_EVENT_CHANNEL_RECV] = { { "channel ", NUMBER }, { "message ", NUMBER },
                                 { "queued ", NUMBER } },
    [ASX_EVENT_CHANNEL_EVICT] = { { "channel ", NUMBER }, { "message ", NUMBER },
                                  { "", NOTHING } },
    [ASX_EVENT_CHANNEL_DISCARD] = { { "channel ", NUMBER }, { "messages ", NUMBER },
                                    { "", NOTHING } },
    [ASX_EVENT_CHANNEL_SENDER_DROP] = { { "channel ", NUMBER }, { "senders left ", NUMBER },
                                        { "", NOTHING } },
    [ASX_EVENT_CHANNEL_RECEIVER_DROP] = { { "channel ", NUMBER }, { "", NOTHING },
                                          { "", NOTHING } },
    [ASX_EVENT_CHANNEL_NACK] = { { "channel ", NUMBER }, { "message ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_MPMC_CREATE] = { { "mpmc ", NUMBER }, { "capacity ", NUMBER },
                                { "in region ", NUMBER } },
    [ASX_EVENT_MPMC_SEND] = { { "mpmc ", NUMBER }, { "message ", NUMBER }, { "queued ", NUMBER } },
    [ASX_EVENT_MPMC_RECV] = { { "mpmc ", NUMBER }, { "message ", NUMBER }, { "queued ", NUMBER } },
    [ASX_EVENT_MPMC_CLOSE] = { { "mpmc ", NUMBER }, { "left ", NUMBER }, { "waiting ", NUMBER } },
    [ASX_EVENT_MPMC_DISCARD] = { { "mpmc ", NUMBER }, { "messages ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_MPMC_DROP] = { { "mpmc ", NUMBER }, { "senders left ", NUMBER },
                              { "receivers left ", NUMBER } },
    [ASX_EVENT_TIMER_ARM] = { { "timer ", NUMBER }, { "for ", TIME }, { "", NOTHING } },
    [ASX_EVENT_TIMER_FIRE] = { { "timer ", NUMBER }, { "of ", TIME }, { "", NOTHING } },
    [ASX_EVENT_TIMER_CANCEL] = { { "timer ", NUMBER }, { "of ", TIME }, { "", NOTHING } },
    [ASX_EVENT_CLOCK_ADVANCE] = { { "", NOTHING }, { "", TIME }, { "-> ", TIME } },
    [ASX_EVENT_USER] = { { "code ", NUMBER }, { "value ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_MUTEX_CREATE] = { { "mutex ", NUMBER }, { "", NOTHING }, { "in region ", NUMBER } },
    [ASX_EVENT_MUTEX_LOCK] = { { "mutex ", NUMBER }, { "waiting ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_MUTEX_UNLOCK] = { { "mutex ", NUMBER }, { "waiting ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_MUTEX_POISON] = { { "mutex ", NUMBER }, { "now ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_RWLOCK_CREATE] = { { "rwlock ", NUMBER }, { "", NOTHING },
                                  { "in region ", NUMBER } },
    [ASX_EVENT_RWLOCK_LOCK] = { { "rwlock ", NUMBER }, { "to write", WORDS_IF_SET },
                                { "waiting ", NUMBER } },
    [ASX_EVENT_RWLOCK_UNLOCK] = { { "rwlock ", NUMBER }, { "to write", WORDS_IF_SET },
                                  { "waiting ", NUMBER } },
    [ASX_EVENT_RWLOCK_POISON] = { { "rwlock ", NUMBER }, { "now ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_SEMAPHORE_CREATE] = { { "semaphore ", NUMBER }, { "permits ", NUMBER },
                                     { "in region ", NUMBER } },
    [ASX_EVENT_SEMAPHORE_ACQUIRE] = { { "semaphore ", NUMBER }, { "permits ", NUMBER },
                                      { "left ", NUMBER } },
    [ASX_EVENT_SEMAPHORE_RELEASE] = { { "semaphore ", NUMBER }, { "permits ", NUMBER },
                                      { "left ", NUMBER } },
    [ASX_EVENT_SEMAPHORE_ADD] = { { "semaphore ", NUMBER }, { "permits ", NUMBER },
                                  { "left ", NUMBER } },
    [ASX_EVENT_CONDITION_CREATE] = { { "condition ", NUMBER }, { "", NOTHING },
                                     { "in region ", NUMBER } },
    [ASX_EVENT_CONDITION_WAIT] = { { "condition ", NUMBER }, { "without mutex ", NUMBER },
                                   { "waiting ", NUMBER } },
    [ASX_EVENT_CONDITION_SIGNAL] = { { "condition ", NUMBER }, { "woken ", NUMBER },
                                     { "", NOTHING } },
    [ASX_EVENT_NOTIFY_CREATE] = { { "notify ", NUMBER }, { "", NOTHING },
                                  { "in region ", NUMBER } },
    [ASX_EVENT_NOTIFY_SIGNAL] = { { "notify ", NUMBER }, { "woken ", NUMBER },
                                  { "stored", WORDS_IF_SET } },
    [ASX_EVENT_NOTIFY_TAKE] = { { "notify ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_BARRIER_CREATE] = { { "barrier ", NUMBER }, { "parties ", NUMBER },
                                   { "in region ", NUMBER } },
    [ASX_EVENT_BARRIER_ARRIVE] = { { "barrier ", NUMBER }, { "#", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_BARRIER_PASS] = { { "barrier ", NUMBER }, { "leads", WORDS_IF_SET },
                                 { "", NOTHING } },
    [ASX_EVENT_ONCE_CREATE] = { { "once ", NUMBER }, { "", NOTHING }, { "in region ", NUMBER } },
    [ASX_EVENT_ONCE_BEGIN] = { { "once ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_ONCE_END] = { { "once ", NUMBER }, { "", STATUS }, { "", NOTHING } },
    [ASX_EVENT_ONESHOT_CREATE] = { { "oneshot ", NUMBER }, { "", NOTHING },
                                   { "in region ", NUMBER } },
    [ASX_EVENT_ONESHOT_SEND] = { { "oneshot ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_ONESHOT_RECV] = { { "oneshot ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_ONESHOT_DROP] = { { "oneshot ", NUMBER }, { "the receiver", WORDS_IF_SET },
                                 { "discarded ", NUMBER } },
    [ASX_EVENT_BROADCAST_CREATE] = { { "broadcast ", NUMBER }, { "capacity ", NUMBER },
                                     { "in region ", NUMBER } },
    [ASX_EVENT_BROADCAST_SUBSCRIBE] = { { "broadcast ", NUMBER }, { "receivers ", NUMBER },
                                        { "after message ", NUMBER } },
    [ASX_EVENT_BROADCAST_SEND] = { { "broadcast ", NUMBER }, { "message ", NUMBER },
                                   { "to receivers ", NUMBER } },
    [ASX_EVENT_BROADCAST_RECV] = { { "broadcast ", NUMBER }, { "message ", NUMBER },
                                   { "left ", NUMBER } },
    [ASX_EVENT_BROADCAST_LAG] = { { "broadcast ", NUMBER }, { "missed ", NUMBER },
                                  { "", NOTHING } },
    [ASX_EVENT_BROADCAST_DROP] = { { "broadcast ", NUMBER }, { "receivers left ", NUMBER },
                                   { "", NOTHING } },
    [ASX_EVENT_BROADCAST_CLOSE] = { { "broadcast ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_WATCH_CREATE] = { { "watch ", NUMBER }, { "", NOTHING }, { "in region ", NUMBER } },
    [ASX_EVENT_WATCH_SEND] = { { "watch ", NUMBER }, { "version ", NUMBER }, { "woken ", NUMBER } },
    [ASX_EVENT_WATCH_RECV] = { { "watch ", NUMBER }, { "version ", NUMBER }, { "", NOTHING } },
    [ASX_EVENT_WATCH_CLOSE] = { { "watch ", NUMBER }, { "", NOTHING }, { "", NOTHING } },
    [ASX_EVENT_WORKER_SEARCH] = { { "worker ", NUMBER }, { "first at ", NUMBER },
                                  { "finds at ", NUMBER_IF_SET } },
    [ASX_EVENT_TASK_STEAL] = { { "task ", NUMBER }, { "from worker ", NUMBER },
                               { "by worker ", NUMBER } },
    [ASX_EVENT_CELL_ACCESS] = { { "cell ", NUMBER }, { "writes", WORDS_IF_SET },
                                { "old ", NUMBER_IF_SET } },
    [ASX_EVENT_CHOICE] = { { "", NOTHING }, { "", NUMBER }, { "of ", NUMBER } },
};

/* NULL: print the number. Only small numbers are handed on, so that no cast changes one. */
static const char *word_of(style how, uint64_t x)
{
    if (how == STATUS) {
        int64_t value = (int64_t)x;
        return value <= 0 && value > -0x7fff ? asx_status_str((asx_status)value) : NULL;
    }
    if (x > 0xff)
        return NULL;
    switch (how) {
    case OUTCOME:
        return asx_outcome_str((asx_outcome_kind)x);
    case REGION_STATE:
        return asx_region_state_str((asx_region_state)x);
    case TASK_STATE:
        return asx_task_state_str((asx_task_state)x);
    case CANCEL_KIND:
        return asx_cancel_kind_str((asx_cancel_kind)x);
    case OBLIGATION_KIND:
        return obligation_kind_str(x);
    case WAIT:
        return asx__wait_str(x);
    case LANE:
        return asx__lane_str(x);
    case VEHICLE:
        return asx__vehicle_str(x);
    case REFUSED:
        return asx__refused_str(x);
    default:
        return NULL;
    }
}

static void put_part(text *t, part form, uint64_t x)
{
    bool if_set = form.style == NUMBER_IF_SET || form.style == WORDS_IF_SET;
    if (form.style == NOTHING || (if_set && x == 0))
        return;
    put(t, " ");
    put(t, form.words);
    if (form.style == WORDS_IF_SET)
        return;
    const char *word = word_of(form.style, x);
    if (word != NULL)
        put(t, word);
    else if (form.style == TIME)
        put_time(t, x);
    else
        put_number(t, x, 0);
}

static void put_event(text *t, const asx_event *event)
{
    size_t start = t->len;
    put_number(t, event->seq, 6);
    put(t, " @");
    put_time(t, event->time);
    put_spaces(t, start + 20);
    put(t, event->task == 0 ? " runtime" : " task ");
    if (event->task != 0)
        put_number(t, event->task, 0);
    put_spaces(t, start + 31);
    put(t, " ");
    put(t, asx_event_kind_str(event->kind));
    put_spaces(t, start + 53);
    if (asx__event_kind_known(event->kind)) {
        put_part(t, layouts[event->kind].object, event->object);
        put_part(t, layouts[event->kind].a, event->a);
        put_part(t, layouts[event->kind].b, event->b);
    } else {
        put_part(t, (part){ "kind ", NUMBER }, event->kind);
        put_part(t, (part){ "object ", NUMBER }, event->object);
        put_part(t, (part){ "a ", NUMBER }, event->a);
        put_part(t, (part){ "b ", NUMBER }, event->b);
    }
    if (event->worker != 0)
        put_part(t, (part){ " on ", NUMBER }, event->worker);
    if (event->cause != 0) {
        put(t, "  <- ");
        put_number(t, event->cause, 0);
    }
}

size_t asx_event_format(const asx_event *event, char *buffer, size_t size)
{
    text t = { .buffer = buffer, .size = buffer == NULL ? 0 : size };
    if (event != NULL)
        put_event(&t, event);
    put_end(&t);
    return t.len;
}

size_t asx__trace_divergence_format(const asx__trace_divergence *divergence, char *buffer,
                                    size_t size)
{
    static const char *const heads[] = {
        [ASX__TRACE_SAME] = "the run does what is recorded",
        [ASX__TRACE_OTHER_EVENT] = "the run does something else than is recorded",
        [ASX__TRACE_RECORDED_ENDED] = "the run goes on after the recorded one had ended",
        [ASX__TRACE_RUN_ENDED] = "the run ended before the recorded one",
        [ASX__TRACE_OTHER_DIGEST] = "the run differs in an event that the recorded trace lost",
        [ASX__TRACE_UNREADABLE] = "the recorded trace cannot be read on",
        [ASX__TRACE_STOPPED] = "the run was stopped by an observer",
    };
    text t = { .buffer = buffer, .size = buffer == NULL ? 0 : size };
    put(&t, heads[divergence->what]);
    if (divergence->recorded.seq != 0) {
        put(&t, "\nrecorded: ");
        put_event(&t, &divergence->recorded);
    }
    if (divergence->run.seq != 0) {
        put(&t, "\n     run: ");
        put_event(&t, &divergence->run);
    }
    put_end(&t);
    return t.len;
}
