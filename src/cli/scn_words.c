/* scn_words.c - the tables of scn_words.h. Names that the library has are asked from the library,
 * so that they cannot differ. */
#include "cli/scn_words.h"

#include <stdio.h>
#include <string.h>

#include "trace/trace.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- fields of the operations ---- */

static const scn_field_form scn_fields_none[] = { { 0 } };
const scn_field_form scn_fields_region[] = {
    { "in", F_IN, V_REGION, 0 },
    { "timeout", F_TIMEOUT, V_VALUE, 0 },
    { "policy", F_POLICY, V_WORD, W_POLICY },
    { "cleanup", F_CLEANUP, V_WORD, W_CLEANUP },
    { "cleanup-time", F_CLEANUP_TIME, V_VALUE, 0 },
    { "leak", F_LEAK, V_WORD, W_LEAK },
    { "admission", F_ADMISSION, V_WORD, W_ADMISSION },
    { "tasks", F_TASKS_MAX, V_VALUE, 0 },
    { "regions", F_REGIONS_MAX, V_VALUE, 0 },
    { "obligations", F_OBLIGATIONS_MAX, V_VALUE, 0 },
    { "memory", F_MEMORY_MAX, V_VALUE, 0 },
    { "caps", F_CAPS, V_SET, W_CAP },
    { "leaks-allowed", F_LEAKS_ALLOWED, V_FLAG, 0 },
    { "polls", F_POLLS, V_VALUE, 0 },
    { "cost", F_COST, V_VALUE, 0 },
    { "deadline", F_DEADLINE, V_VALUE, 0 },
    { "priority", F_PRIORITY, V_VALUE, 0 },
    { 0 },
};
static const scn_field_form scn_fields_close[] = {
    { "body", F_BODY, V_STATUS, 0 },       { "kind", F_KIND, V_WORD, W_CANCEL_KIND },
    { "message", F_MESSAGE, V_TEXT, 0 },   { "report", F_REPORT, V_NEW_REPORT, 0 },
    { 0 },
};
static const scn_field_form scn_fields_cancel[] = {
    { "kind", F_KIND, V_WORD, W_CANCEL_KIND }, { "message", F_MESSAGE, V_TEXT, 0 },
    { "at", F_AT, V_VALUE, 0 },                { "chain", F_CHAIN, V_VALUE, 0 },
    { 0 },
};
static const scn_field_form scn_fields_states[] = {
    { "states", F_STATES, V_SET, W_REGION_STATE }, { 0 },
};
static const scn_field_form scn_fields_region_state[] = {
    { "state", F_STATE, V_WORD, W_REGION_STATE }, { 0 },
};
static const scn_field_form scn_fields_task_state[] = {
    { "state", F_STATE, V_WORD, W_TASK_STATE }, { 0 },
};
static const scn_field_form scn_fields_obligation_state[] = {
    { "state", F_STATE, V_WORD, W_OBLIGATION_STATE }, { 0 },
};
static const scn_field_form scn_fields_legal_region[] = {
    { "from", F_FROM, V_WORD, W_REGION_STATE }, { "to", F_TO, V_WORD, W_REGION_STATE }, { 0 },
};
static const scn_field_form scn_fields_legal_task[] = {
    { "from", F_FROM, V_WORD, W_TASK_STATE }, { "to", F_TO, V_WORD, W_TASK_STATE }, { 0 },
};
static const scn_field_form scn_fields_legal_obligation[] = {
    { "from", F_FROM, V_WORD, W_OBLIGATION_STATE },
    { "to", F_TO, V_WORD, W_OBLIGATION_STATE },
    { 0 },
};
static const scn_field_form scn_fields_report[] = {
    { "outcome", F_OUTCOME, V_WORD, W_OUTCOME }, { "status", F_STATUS, V_STATUS, 0 },
    { "account", F_ACCOUNT, V_STATUS, 0 },       { "setup", F_SETUP, V_STATUS, 0 },
    { "ok", F_OK, V_VALUE, 0 },                  { "err", F_ERR, V_VALUE, 0 },
    { "cancelled", F_CANCELLED, V_VALUE, 0 },    { "panicked", F_PANICKED, V_VALUE, 0 },
    { "forced", F_FORCED, V_VALUE, 0 },          { "leaked", F_LEAKED, V_VALUE, 0 },
    { "aborted", F_ABORTED, V_VALUE, 0 },        { "discarded", F_DISCARDED, V_VALUE, 0 },
    { "finalizers", F_FINALIZERS, V_VALUE, 0 },  { "stacks-kept", F_STACKS_KEPT, V_VALUE, 0 },
    { "items", F_ITEMS, V_VALUE, 0 },            { "source", F_SOURCE, V_TASK, 0 },
    { 0 },
};
static const scn_field_form scn_fields_item[] = {
    { "kind", F_ITEM_KIND, V_WORD, W_ITEM_KIND }, { "name", F_NAME, V_TEXT, 0 },
    { "path", F_PATH, V_TEXT, 0 },                { "state", F_STATE, V_TEXT, 0 },
    { "waits", F_WAITS, V_TEXT, 0 },              { "site", F_SITE, V_TEXT, 0 },
    { "count", F_COUNT, V_VALUE, 0 },             { 0 },
};
static const scn_field_form scn_fields_spawn[] = {
    { "as", F_AS, V_NEW_TASK, 0 },         { "fiber", F_FIBER, V_FLAG, 0 },
    { "poll", F_POLL, V_FLAG, 0 },         { "no-handle", F_NO_HANDLE, V_FLAG, 0 },
    { "stack", F_STACK, V_VALUE, 0 },      { "caps", F_CAPS, V_SET, W_CAP },
    { "polls", F_POLLS, V_VALUE, 0 },      { "cost", F_COST, V_VALUE, 0 },
    { "deadline", F_DEADLINE, V_VALUE, 0 }, { "priority", F_PRIORITY, V_VALUE, 0 },
    { 0 },
};
static const scn_field_form scn_fields_join[] = {
    { "=", F_RESULT, V_VALUE, 0 },         { "outcome", F_OUTCOME, V_WORD, W_OUTCOME },
    { "status", F_STATUS, V_STATUS, 0 },   { "source", F_SOURCE, V_TASK, 0 },
    { 0 },
};
static const scn_field_form scn_fields_flow[] = {
    { "outcome", F_OUTCOME, V_WORD, W_OUTCOME }, { "winner", F_WINNER, V_VALUE, 0 }, { 0 },
};
static const scn_field_form scn_fields_witness[] = {
    { "kind", F_KIND, V_WORD, W_CANCEL_KIND }, { "phase", F_PHASE, V_WORD, W_CANCEL_PHASE },
    { "epoch", F_EPOCH, V_VALUE, 0 },          { "exceeded", F_EXCEEDED, V_YES_NO, 0 },
    { "message", F_MESSAGE, V_TEXT, 0 },       { "depth", F_DEPTH, V_VALUE, 0 },
    { "truncated", F_TRUNCATED, V_YES_NO, 0 }, { "cut", F_CUT, V_VALUE, 0 },
    { "at", F_AT, V_VALUE, 0 },                { "origin-region", F_ORIGIN_REGION, V_REGION, 0 },
    { "origin-task", F_ORIGIN_TASK, V_TASK, 0 },
    { "root-kind", F_ROOT_KIND, V_WORD, W_CANCEL_KIND },
    { 0 },
};
static const scn_field_form scn_fields_budget[] = {
    { "polls", F_POLLS, V_VALUE, 0 },       { "cost", F_COST, V_VALUE, 0 },
    { "deadline", F_DEADLINE, V_VALUE, 0 }, { "priority", F_PRIORITY, V_VALUE, 0 },
    { 0 },
};
static const scn_field_form scn_fields_self[] = {
    { "cancelled", F_CANCELLED, V_YES_NO, 0 }, { "kind", F_KIND, V_WORD, W_CANCEL_KIND },
    { "message", F_MESSAGE, V_TEXT, 0 },       { "now", F_NOW, V_VALUE, 0 },
    { "polls", F_POLLS, V_VALUE, 0 },          { "cost", F_COST, V_VALUE, 0 },
    { "deadline", F_DEADLINE, V_VALUE, 0 },    { "priority", F_PRIORITY, V_VALUE, 0 },
    { "caps", F_CAPS, V_SET, W_CAP },          { 0 },
};
static const scn_field_form scn_fields_caps[] = { { "caps", F_CAPS, V_SET, W_CAP }, { 0 } };
static const scn_field_form scn_fields_oblige[] = { { "lease", F_LEASE, V_FLAG, 0 }, { 0 } };
static const scn_field_form scn_fields_value[] = { { "=", F_RESULT, V_VALUE, 0 }, { 0 } };
static const scn_field_form scn_fields_yes_no[] = { { "=", F_RESULT, V_YES_NO, 0 }, { 0 } };
static const scn_field_form scn_fields_evict[] = { { "=", F_RESULT, V_RESULT, 0 }, { 0 } };
static const scn_field_form scn_fields_proof[] = { { "proof", F_PROOF, V_VALUE, 0 }, { 0 } };
static const scn_field_form scn_fields_channel[] = {
    { "state", F_STATE, V_WORD, W_CHANNEL },    { "capacity", F_CAPACITY, V_VALUE, 0 },
    { "used", F_USED, V_VALUE, 0 }, /* queued and reserved together */
    { "queued", F_QUEUED, V_VALUE, 0 },         { "reserved", F_RESERVED, V_VALUE, 0 },
    { "senders", F_SENDERS, V_VALUE, 0 },       { "send-waiters", F_SEND_WAITERS, V_VALUE, 0 },
    { "receiver-waits", F_RECEIVER_WAITS, V_YES_NO, 0 },
    { "sent", F_SENT, V_VALUE, 0 },             { "received", F_RECEIVED, V_VALUE, 0 },
    { "evicted", F_EVICTED, V_VALUE, 0 },       { "discarded", F_DISCARDED, V_VALUE, 0 },
    { 0 },
};
static const scn_field_form scn_fields_drops[] = {
    { "count", F_COUNT, V_VALUE, 0 }, { "last", F_LAST, V_VALUE, 0 }, { 0 },
};
static const scn_field_form scn_fields_wheel[] = {
    { "start", F_START, V_VALUE, 0 },
    { "max-wheel", F_MAX_WHEEL, V_VALUE, 0 },
    { "max-timer", F_MAX_TIMER, V_VALUE, 0 },
    { "max-timers", F_MAX_TIMERS, V_VALUE, 0 },
    { "coalesce-window", F_COALESCE_WINDOW, V_VALUE, 0 },
    { "coalesce-group", F_COALESCE_GROUP, V_VALUE, 0 },
    { "first-generation", F_FIRST_GENERATION, V_VALUE, 0 },
    { "first-id", F_FIRST_ID, V_VALUE, 0 },
    { 0 },
};
static const scn_field_form scn_fields_forge[] = {
    { "id", F_ID, V_VALUE, 0 }, { "generation", F_GENERATION, V_VALUE, 0 }, { 0 },
};
static const scn_field_form scn_fields_collect[] = {
    { "max", F_MAX, V_VALUE, 0 }, { "=", F_FIRED, V_TIMERS, 0 }, { 0 },
};
static const scn_field_form scn_fields_wheel_stats[] = {
    { "live", F_LIVE, V_VALUE, 0 },         { "dead", F_DEAD, V_VALUE, 0 },
    { "level0", F_LEVEL0, V_VALUE, 0 },     { "level1", F_LEVEL1, V_VALUE, 0 },
    { "level2", F_LEVEL2, V_VALUE, 0 },     { "level3", F_LEVEL3, V_VALUE, 0 },
    { "overflow", F_OVERFLOW, V_VALUE, 0 }, { "near", F_NEAR, V_VALUE, 0 },
    { "cascades", F_CASCADES, V_VALUE, 0 }, { "purges", F_PURGES, V_VALUE, 0 },
    { "storage", F_STORAGE, V_VALUE, 0 },   { "count", F_COUNT, V_VALUE, 0 },
    { 0 },
};
static const scn_field_form scn_fields_timer[] = {
    { "id", F_ID, V_VALUE, 0 },
    { "generation", F_GENERATION, V_VALUE, 0 },
    { "fired", F_FIRED, V_YES_NO, 0 },
    { 0 },
};
static const scn_field_form scn_fields_governor[] = {
    { "is", F_GOVERNOR, V_WORD, W_GOVERNOR }, { 0 },
};
const scn_field_form scn_fields_stats[] = {
    { "tasks-live", F_TASKS_LIVE, V_VALUE, 0 },
    { "tasks-spawned", F_TASKS_SPAWNED, V_VALUE, 0 },
    { "tasks-forced", F_TASKS_FORCED, V_VALUE, 0 },
    { "regions-live", F_REGIONS_LIVE, V_VALUE, 0 },
    { "regions-opened", F_REGIONS_OPENED, V_VALUE, 0 },
    { "obligations-reserved", F_OBLIGATIONS_RESERVED, V_VALUE, 0 },
    { "obligations-total", F_OBLIGATIONS_TOTAL, V_VALUE, 0 },
    { "obligations-leaked", F_OBLIGATIONS_LEAKED, V_VALUE, 0 },
    { "channels-live", F_CHANNELS_LIVE, V_VALUE, 0 },
    { "timers-live", F_TIMERS_LIVE, V_VALUE, 0 },
    { "stacks-in-use", F_STACKS_IN_USE, V_VALUE, 0 },
    { "stacks-kept", F_STACKS_KEPT, V_VALUE, 0 },
    { "memory-bytes", F_MEMORY_BYTES, V_VALUE, 0 },
    { "ready-len", F_READY_LEN, V_VALUE, 0 },
    { "cancel-len", F_CANCEL_LEN, V_VALUE, 0 },
    { "timed-len", F_TIMED_LEN, V_VALUE, 0 },
    { "turns", F_TURNS, V_VALUE, 0 },
    { 0 },
};
const scn_field_form scn_fields_certificate[] = {
    { "cancel-dispatches", F_CANCEL_DISPATCHES, V_VALUE, 0 },
    { "timed-dispatches", F_TIMED_DISPATCHES, V_VALUE, 0 },
    { "ready-dispatches", F_READY_DISPATCHES, V_VALUE, 0 },
    { "fallback-cancel-dispatches", F_FALLBACK, V_VALUE, 0 },
    { "base-limit-exceedances", F_BASE, V_VALUE, 0 },
    { "effective-limit-exceedances", F_EFFECTIVE, V_VALUE, 0 },
    { "max-effective-limit", F_LIMIT, V_VALUE, 0 },
    { 0 },
};
const scn_field_form scn_fields_digest[] = {
    { "seed", F_SEED, V_VALUE, 0 },
    { "profile", F_PROFILE, V_WORD, W_PROFILE },
    { "step", F_STEP, V_VALUE, 0 },
    { "vehicle", F_VEHICLE, V_WORD, W_VEHICLE },
    { 0 },
};

static const scn_op_form op_forms[] = {
#define OP_FORM(name, text, form, fields) { text, form, scn_fields_##fields },
    SCN_OP_LIST(OP_FORM)
#undef OP_FORM
};

const scn_op_form *scn_op_form_of(uint32_t code)
{
    return &op_forms[code];
}

bool scn_op_find(const char *first, const char *second, uint16_t *ret_code, int *ret_words)
{
    char both[80];
    if (second != NULL) {
        (void)snprintf(both, sizeof(both), "%.38s %.38s", first, second);
        for (uint16_t i = 0; i < COUNT(op_forms); i++) {
            if (strcmp(op_forms[i].text, both) == 0) {
                *ret_code = i;
                *ret_words = 2;
                return true;
            }
        }
    }
    for (uint16_t i = 0; i < COUNT(op_forms); i++) {
        if (op_forms[i].text[0] != '\0' && strcmp(op_forms[i].text, first) == 0) {
            *ret_code = i;
            *ret_words = 1;
            return true;
        }
    }
    return false;
}

/* ---- words ---- */

static const scn_word words_cap[] = {
#define CAP_WORD(name, bit) { #name, (bit) },
    ASX_CAP_LIST(CAP_WORD)
#undef CAP_WORD
    { 0 },
};
static const scn_word words_policy[] = {
    { "fail-fast", ASX_POLICY_FAIL_FAST }, { "collect", ASX_POLICY_COLLECT }, { 0 }
};
static const scn_word words_cleanup[] = {
    { "inherit", ASX_CLEANUP_INHERIT },
    { "bounded", ASX_CLEANUP_BOUNDED },
    { "soft", ASX_CLEANUP_SOFT },
    { "panic", ASX_CLEANUP_PANIC },
    { 0 },
};
static const scn_word words_leak[] = {
    { "inherit", ASX_LEAK_INHERIT }, { "report", ASX_LEAK_REPORT }, { "panic", ASX_LEAK_PANIC },
    { 0 },
};
static const scn_word words_admission[] = {
    { "refuse", ASX_ADMISSION_REFUSE }, { "wait", ASX_ADMISSION_WAIT }, { 0 }
};
static const scn_word words_governor[] = {
    { "NoPreference", ASX_GOVERNOR_NO_PREFERENCE },
    { "MeetDeadlines", ASX_GOVERNOR_MEET_DEADLINES },
    { "DrainObligations", ASX_GOVERNOR_DRAIN_OBLIGATIONS },
    { "DrainRegions", ASX_GOVERNOR_DRAIN_REGIONS },
    { 0 },
};
static const scn_word words_profile[] = {
    { "server", ASX_PROFILE_SERVER },
    { "embedded", ASX_PROFILE_EMBEDDED },
    { "freestanding", ASX_PROFILE_FREESTANDING },
    { 0 },
};
static const scn_word words_clock[] = {
    { "real", ASX_CLOCK_REAL }, { "virtual", ASX_CLOCK_VIRTUAL }, { 0 }
};
static const scn_word words_overflow[] = {
    { "refuse", ASX_TRACE_REFUSE }, { "overwrite", ASX_TRACE_OVERWRITE }, { 0 }
};
static const scn_word words_item_kind[] = {
    { "task", ASX_REPORT_TASK },
    { "region", ASX_REPORT_REGION },
    { "obligation", ASX_REPORT_OBLIGATION },
    { "channel", ASX_REPORT_CHANNEL },
    { 0 },
};
static const scn_word words_channel[] = {
    { "Open", ASX_CHANNEL_OPEN },
    { "SenderClosed", ASX_CHANNEL_SENDER_CLOSED },
    { "ReceiverClosed", ASX_CHANNEL_RECEIVER_CLOSED },
    { "FullyClosed", ASX_CHANNEL_FULLY_CLOSED },
    { 0 },
};
#define LISTED_WORD(name, number, text) { text, (number) },
static const scn_word words_obligation_kind[] = { ASX_OBLIGATION_KIND_LIST(LISTED_WORD){ 0 } };
static const scn_word words_lane[] = { ASX__LANE_LIST(LISTED_WORD){ 0 } };
static const scn_word words_wait[] = { ASX__WAIT_LIST(LISTED_WORD){ 0 } };
static const scn_word words_vehicle[] = { ASX__VEHICLE_LIST(LISTED_WORD){ 0 } };
static const scn_word words_refused[] = { ASX__REFUSED_LIST(LISTED_WORD){ 0 } };
#undef LISTED_WORD

static const scn_word *words_of(scn_words list)
{
    switch (list) {
    case W_OBLIGATION_KIND: return words_obligation_kind;
    case W_CAP: return words_cap;
    case W_POLICY: return words_policy;
    case W_CLEANUP: return words_cleanup;
    case W_LEAK: return words_leak;
    case W_ADMISSION: return words_admission;
    case W_GOVERNOR: return words_governor;
    case W_PROFILE: return words_profile;
    case W_CLOCK: return words_clock;
    case W_OVERFLOW: return words_overflow;
    case W_ITEM_KIND: return words_item_kind;
    case W_LANE: return words_lane;
    case W_WAIT: return words_wait;
    case W_VEHICLE: return words_vehicle;
    case W_REFUSED: return words_refused;
    case W_CHANNEL: return words_channel;
    default: return NULL;
    }
}

/* The lists whose names the library gives. NULL: no such number. */
static const char *library_word(scn_words list, uint64_t number)
{
    switch (list) {
    case W_REGION_STATE:
        return number < ASX_REGION_STATE_COUNT ? asx_region_state_str((asx_region_state)number)
                                               : NULL;
    case W_TASK_STATE:
        return number < ASX_TASK_STATE_COUNT ? asx_task_state_str((asx_task_state)number) : NULL;
    case W_OBLIGATION_STATE:
        return number < ASX_OBLIGATION_STATE_COUNT
                   ? asx_obligation_state_str((asx_obligation_state)number)
                   : NULL;
    case W_CANCEL_KIND:
        return number < ASX_CANCEL_KIND_COUNT ? asx_cancel_kind_str((asx_cancel_kind)number) : NULL;
    case W_CANCEL_PHASE:
        return number < ASX_CANCEL_PHASE_COUNT ? asx_cancel_phase_str((asx_cancel_phase)number)
                                               : NULL;
    case W_OUTCOME:
        return number <= ASX_OUTCOME_PANICKED ? asx_outcome_str((asx_outcome_kind)number) : NULL;
    default:
        return NULL;
    }
}

bool scn_word_find(scn_words list, const char *text, uint64_t *ret_number)
{
    const scn_word *word = words_of(list);
    for (; word != NULL && word->text != NULL; word++) {
        if (strcmp(word->text, text) == 0) {
            *ret_number = word->number;
            return true;
        }
    }
    for (uint64_t i = 0; library_word(list, i) != NULL; i++) {
        if (strcmp(library_word(list, i), text) == 0) {
            *ret_number = i;
            return true;
        }
    }
    return false;
}

const char *scn_word_of(scn_words list, uint64_t number)
{
    const scn_word *word = words_of(list);
    for (; word != NULL && word->text != NULL; word++) {
        if (word->number == number)
            return word->text;
    }
    return library_word(list, number);
}

bool scn_status_find(const char *text, int32_t *ret_status)
{
    static const struct {
        const char *text;
        int32_t status;
    } all[] = {
#define STATUS_WORD(name, value, hint) { "ASX_" #name, (value) },
        ASX_STATUS_LIST(STATUS_WORD)
#undef STATUS_WORD
    };
    for (size_t i = 0; i < COUNT(all); i++) {
        if (strcmp(all[i].text, text) == 0) {
            *ret_status = all[i].status;
            return true;
        }
    }
    return false;
}

const char *scn_type_name(unsigned type)
{
    static const char *const names[] = {
#define TYPE_NAME(name, letter, text) text,
        SCN_TYPE_LIST(TYPE_NAME)
#undef TYPE_NAME
    };
    return type < COUNT(names) ? names[type] : "thing";
}

/* ---- events ---- */

#define ROW(name, on, a, b, a_words, b_words)                                                      \
    { ASX_EVENT_##name, M_##on, M_##a, M_##b, W_##a_words, W_##b_words }
static const scn_event_form event_forms[] = {
    ROW(RUN_BEGIN, NONE, NUMBER, NONE, NONE, NONE),
    ROW(RUN_END, NONE, STATUS, NONE, NONE, NONE),
    ROW(REGION_OPEN, REGION, REGION, NONE, NONE, NONE),
    ROW(REGION_STATE, REGION, WORD, WORD, REGION_STATE, REGION_STATE),
    ROW(REGION_CANCEL, REGION, WORD, NUMBER, CANCEL_KIND, NONE),
    ROW(REGION_REPORT, REGION, WORD, STATUS, OUTCOME, NONE),
    ROW(FINALIZER_RUN, REGION, NUMBER, STATUS, NONE, NONE),
    ROW(ADMISSION_REFUSED, REGION, WORD, STATUS, REFUSED, NONE),
    ROW(TASK_SPAWN, TASK, REGION, WORD, NONE, VEHICLE),
    ROW(TASK_STATE, TASK, WORD, WORD, TASK_STATE, TASK_STATE),
    ROW(TASK_RUN, TASK, WORD, NUMBER, LANE, NONE),
    ROW(TASK_PARK, TASK, WORD, NUMBER, WAIT, NONE),
    ROW(TASK_WAKE, TASK, STATUS, WORD, NONE, LANE),
    ROW(TASK_YIELD, TASK, NONE, NONE, NONE, NONE),
    ROW(TASK_COMPLETE, TASK, WORD, STATUS, OUTCOME, NONE),
    ROW(TASK_JOIN, TASK, WORD, STATUS, OUTCOME, NONE),
    ROW(TASK_FORCED, TASK, WORD, NUMBER, CANCEL_KIND, NONE),
    ROW(TASK_PANIC, TASK, NONE, NONE, NONE, NONE),
    ROW(TASK_LINK, TASK, TASK, NONE, NONE, NONE),
    ROW(CANCEL_REQUEST, TASK, WORD, NUMBER, CANCEL_KIND, NONE),
    ROW(CANCEL_STRENGTHEN, TASK, WORD, NUMBER, CANCEL_KIND, NONE),
    ROW(CANCEL_ACK, TASK, WORD, NUMBER, CANCEL_KIND, NONE),
    ROW(CANCEL_MASK, TASK, NUMBER, NONE, NONE, NONE),
    ROW(BUDGET_EXHAUSTED, TASK, WORD, NONE, CANCEL_KIND, NONE),
    ROW(OBLIGATION_RESERVE, OBLIGATION, WORD, OWNER, OBLIGATION_KIND, NONE),
    ROW(OBLIGATION_COMMIT, OBLIGATION, WORD, OWNER, OBLIGATION_KIND, NONE),
    ROW(OBLIGATION_ABORT, OBLIGATION, WORD, OWNER, OBLIGATION_KIND, NONE),
    ROW(OBLIGATION_LEAK, OBLIGATION, WORD, OWNER, OBLIGATION_KIND, NONE),
    ROW(CHANNEL_CREATE, CHANNEL, NUMBER, REGION, NONE, NONE),
    ROW(CHANNEL_SEND, CHANNEL, NUMBER, NUMBER, NONE, NONE),
    ROW(CHANNEL_RECV, CHANNEL, NUMBER, NUMBER, NONE, NONE),
    ROW(CHANNEL_EVICT, CHANNEL, NUMBER, NONE, NONE, NONE),
    ROW(CHANNEL_DISCARD, CHANNEL, NUMBER, NONE, NONE, NONE),
    ROW(CHANNEL_SENDER_DROP, CHANNEL, NUMBER, NONE, NONE, NONE),
    ROW(CHANNEL_RECEIVER_DROP, CHANNEL, NONE, NONE, NONE, NONE),
    ROW(CHANNEL_NACK, CHANNEL, NUMBER, NONE, NONE, NONE),
    ROW(MPMC_CREATE, NUMBER, NUMBER, REGION, NONE, NONE),
    ROW(MPMC_SEND, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(MPMC_RECV, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(MPMC_CLOSE, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(MPMC_DISCARD, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(MPMC_DROP, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(TIMER_ARM, TIMER, NUMBER, NONE, NONE, NONE),
    ROW(TIMER_FIRE, TIMER, NUMBER, NONE, NONE, NONE),
    ROW(TIMER_CANCEL, TIMER, NUMBER, NONE, NONE, NONE),
    ROW(CLOCK_ADVANCE, NONE, NUMBER, NUMBER, NONE, NONE),
    ROW(USER, NOTE, NUMBER, NONE, NONE, NONE),
    ROW(MUTEX_CREATE, NUMBER, NONE, REGION, NONE, NONE),
    ROW(MUTEX_LOCK, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(MUTEX_UNLOCK, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(MUTEX_POISON, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(RWLOCK_CREATE, NUMBER, NONE, REGION, NONE, NONE),
    ROW(RWLOCK_LOCK, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(RWLOCK_UNLOCK, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(RWLOCK_POISON, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(SEMAPHORE_CREATE, NUMBER, NUMBER, REGION, NONE, NONE),
    ROW(SEMAPHORE_ACQUIRE, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(SEMAPHORE_RELEASE, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(SEMAPHORE_ADD, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(CONDITION_CREATE, NUMBER, NONE, REGION, NONE, NONE),
    ROW(CONDITION_WAIT, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(CONDITION_SIGNAL, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(NOTIFY_CREATE, NUMBER, NONE, REGION, NONE, NONE),
    ROW(NOTIFY_SIGNAL, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(NOTIFY_TAKE, NUMBER, NONE, NONE, NONE, NONE),
    ROW(BARRIER_CREATE, NUMBER, NUMBER, REGION, NONE, NONE),
    ROW(BARRIER_ARRIVE, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(BARRIER_PASS, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(ONCE_CREATE, NUMBER, NONE, REGION, NONE, NONE),
    ROW(ONCE_BEGIN, NUMBER, NONE, NONE, NONE, NONE),
    ROW(ONCE_END, NUMBER, STATUS, NONE, NONE, NONE),
    ROW(ONESHOT_CREATE, NUMBER, NONE, REGION, NONE, NONE),
    ROW(ONESHOT_SEND, NUMBER, NONE, NONE, NONE, NONE),
    ROW(ONESHOT_RECV, NUMBER, NONE, NONE, NONE, NONE),
    ROW(ONESHOT_DROP, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(BROADCAST_CREATE, NUMBER, NUMBER, REGION, NONE, NONE),
    ROW(BROADCAST_SUBSCRIBE, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(BROADCAST_SEND, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(BROADCAST_RECV, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(BROADCAST_LAG, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(BROADCAST_DROP, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(BROADCAST_CLOSE, NUMBER, NONE, NONE, NONE, NONE),
    ROW(WATCH_CREATE, NUMBER, NONE, REGION, NONE, NONE),
    ROW(WATCH_SEND, NUMBER, NUMBER, NUMBER, NONE, NONE),
    ROW(WATCH_RECV, NUMBER, NUMBER, NONE, NONE, NONE),
    ROW(WATCH_CLOSE, NUMBER, NONE, NONE, NONE, NONE),
};
#undef ROW

const scn_event_form *scn_event_find(const char *text)
{
    for (size_t i = 0; i < COUNT(event_forms); i++) {
        if (strcmp(asx_event_kind_str(event_forms[i].kind), text) == 0)
            return &event_forms[i];
    }
    return NULL;
}

const scn_event_form *scn_event_of(uint32_t kind)
{
    for (size_t i = 0; i < COUNT(event_forms); i++) {
        if (event_forms[i].kind == kind)
            return &event_forms[i];
    }
    return NULL;
}
