/* scn.h - a scenario after it was read: objects, bodies, operations, expectations.
 *
 * The language is described in docs/scenarios.md. Words used in this module:
 *   section    the text of one scenario inside a file
 *   object     a named region, task, channel ... of the scenario; one namespace per type
 *   body       a list of operations that a task, a finalizer or a cleanup executes
 *   instance   a body with its parameters filled in
 *   operation  one line of a body: what to do and what it must answer
 *   field      `name value` behind an operation, or an expectation on a value
 *   pattern    what an event of the journal must look like
 *
 * Reading never executes anything, and nothing is executed from a text that has an error. All
 * that reading allocates belongs to the scn and lives until scn_deinit().
 *
 * Functions of the tool are named scn_* and cli_*: they are in no library.
 */
#ifndef ASX_CLI_SCN_H
#define ASX_CLI_SCN_H

#include <asx/asx.h>

/* X(NAME, letter, "name"): the letter stands for a reference in an operation's form, its upper
 * case for a definition. */
#define SCN_TYPE_LIST(X)                                                                           \
    X(REGION, 'r', "region")                                                                       \
    X(TASK, 't', "task")                                                                           \
    X(SENDER, 'c', "channel")                                                                      \
    X(RECEIVER, 'x', "receiver")                                                                   \
    X(PERMIT, 'p', "permit")                                                                       \
    X(ACK, 'a', "ack")                                                                             \
    X(OBLIGATION, 'o', "obligation")                                                               \
    X(WHEEL, 'w', "wheel")                                                                         \
    X(TIMER, 'm', "timer")                                                                         \
    X(REPORT, 'q', "report")                                                                       \
    X(WAKER, 'k', "waker")                                                                         \
    X(WITNESS, 'h', "witness")                                                                     \
    X(NOTE, 'n', "note")

typedef enum scn_type {
#define SCN_TYPE_ENUM_(name, letter, text) SCN_##name,
    SCN_TYPE_LIST(SCN_TYPE_ENUM_)
#undef SCN_TYPE_ENUM_
    SCN_TYPE_COUNT
} scn_type;

#define SCN_NONE UINT32_MAX

typedef struct scn_object {
    const char *name;
    uint32_t line;    /* first mentioned */
    uint16_t type;
    bool defined;     /* some operation makes it */
    uint32_t code;    /* notes: their number in the journal */
} scn_object;

typedef enum scn_compare { SCN_EQ, SCN_NE, SCN_LT, SCN_LE, SCN_GT, SCN_GE } scn_compare;

/* A number to be used, or to be compared with. */
typedef enum scn_source { SCN_NUMBER, SCN_IT, SCN_NOW } scn_source;
typedef struct scn_value {
    uint8_t source;  /* scn_source */
    uint8_t compare; /* scn_compare */
    uint64_t number;
} scn_value;

/* `key` is an enum of scn_words.h; which of the others is set depends on the key. */
typedef struct scn_field {
    uint16_t key;
    scn_value value;
    const char *text;
    uint32_t object;
} scn_field;

/* What an operation may answer. */
#define SCN_ANY 1    /* anything */
#define SCN_RETURN 2 /* anything; a failure is returned from the body */

typedef struct scn_op {
    uint16_t code;        /* enum of scn_words.h */
    uint32_t line;
    int32_t expect;       /* an asx_status, SCN_ANY or SCN_RETURN */
    uint32_t object[3];   /* in the order of the operation's form */
    uint32_t body[3];
    scn_value value;
    const char *text;
    uint32_t field_first, field_count;
    uint32_t jump;        /* repeat: behind its end; again: its repeat */
    bool await;           /* a check that is repeated until it holds */
} scn_op;

typedef struct scn_body {
    const char *name;     /* with its arguments: "send(3)" */
    uint32_t line;
    uint32_t op_first, op_count;
} scn_body;

/* A pattern of an event. A place that is not `set` matches anything. */
enum { SCN_BY, SCN_ON, SCN_A, SCN_B, SCN_AT, SCN_PLACES };
typedef struct scn_place {
    bool set;
    bool is_object;
    uint8_t compare;
    uint64_t number;
    uint32_t object;
} scn_place;
typedef struct scn_pattern {
    uint32_t kind;
    scn_place place[SCN_PLACES];
} scn_pattern;

typedef enum scn_expect_kind {
    SCN_EXPECT_EVENT,
    SCN_EXPECT_COUNT,
    SCN_EXPECT_NEVER,
    SCN_EXPECT_ORDER,
    SCN_EXPECT_EXACTLY,
    SCN_EXPECT_NOTES,
    SCN_EXPECT_OUTCOME,
    SCN_EXPECT_RESULT,
    SCN_EXPECT_QUIESCENT,
    SCN_EXPECT_SHUTDOWN,
    SCN_EXPECT_TRACE_STATUS,
    SCN_EXPECT_STATS,
    SCN_EXPECT_CERTIFICATE,
    SCN_EXPECT_DIGEST,
    SCN_EXPECT_REPLAY
} scn_expect_kind;

typedef struct scn_expect {
    scn_expect_kind kind;
    uint32_t line;
    uint32_t pattern_first, pattern_count; /* EXACTLY: the first one is the filter */
    scn_value value;                       /* COUNT */
    int32_t status;
    uint32_t object;
    uint64_t *numbers;                     /* NOTES */
    size_t number_count;
    uint32_t field_first, field_count;
    bool same;                             /* DIGEST: same, or other */
} scn_expect;

/* BARE is LIVE without a journal: the runtime takes its short ways, and only answers are judged. */
enum { SCN_FIBER = 1, SCN_POLL = 2, SCN_LAB = 1, SCN_LIVE = 2, SCN_BARE = 4 };

typedef struct scn_config {
    asx_runtime_config runtime;
    asx_budget root_budget;
    bool has_root_budget;
    asx_governor governor;
    bool has_clock;
    uint64_t step;        /* > 0: driven in steps of so many dispatches */
    uint64_t memory_size; /* > 0: static block */
} scn_config;

#define SCN_IDS_MAX 16
#define SCN_SEEDS_MAX 16

typedef struct scn {
    const char *file;
    uint32_t line;        /* where the section begins */
    const char *section;  /* its text; a copy */
    size_t section_len;
    const char *ids[SCN_IDS_MAX];
    uint32_t id_count;
    const char *title;
    unsigned vehicles;    /* SCN_FIBER, SCN_POLL */
    unsigned modes;       /* SCN_LAB, SCN_LIVE */
    const char *one_worker; /* why it is for one worker only; NULL: it is for any number */
    uint64_t seeds[SCN_SEEDS_MAX];
    uint32_t seed_count;
    scn_config config;
    scn_object *objects;
    uint32_t object_count, object_cap;
    scn_body *bodies;     /* 0: main */
    uint32_t body_count, body_cap;
    scn_op *ops;
    uint32_t op_count, op_cap;
    scn_field *fields;
    uint32_t field_count, field_cap;
    scn_pattern *patterns;
    uint32_t pattern_count, pattern_cap;
    scn_expect *expects;
    uint32_t expect_count, expect_cap;
    struct scn_memory *memory;
} scn;

/* "FILE:LINE: message", terminated. */
typedef struct scn_error {
    char text[512];
} scn_error;

/* Where the sections of a file begin. Returns their number; fills up to `max`. What is said before
 * the first `scenario` line is a section too, which scn_parse() refuses; an empty file has none. */
typedef struct scn_section {
    const char *text;
    size_t len;
    uint32_t line; /* of its first line, from 1 */
    bool headed;   /* by a `scenario` line */
} scn_section;
size_t scn_split(const char *text, size_t len, scn_section *ret_sections, size_t max);

/* Reads one section. ASX_E_SCENARIO: *ret_error says where and why, *ret_scn is empty.
 * ASX_E_RESOURCE_EXHAUSTED likewise. `file` is copied. */
asx_status scn_parse(const char *file, uint32_t first_line, const char *text, size_t len,
                     scn *ret_scn, scn_error *ret_error);
void scn_deinit(scn *s);

/* ---- running ------------------------------------------------------------------------------- */

typedef struct scn_run_options {
    unsigned vehicle;            /* one of SCN_FIBER, SCN_POLL */
    unsigned mode;               /* one of SCN_LAB, SCN_LIVE, SCN_BARE */
    const uint64_t *seed;        /* NULL: the scenario's */
    const asx_profile *profile;  /* NULL: the scenario's */
    uint64_t step;               /* > 0: driven in steps */
    uint32_t workers;            /* > 1: live or bare, on so many */
    bool unchecked;              /* leave out the expectations on the journal */
    asx_trace_reader *recorded;  /* replay */
    const char *program;         /* stored in the trace */
    size_t program_len;
    asx_status (*sink)(void *ctx, const void *bytes, size_t len); /* trace; NULL: none */
    void *sink_ctx;
} scn_run_options;

typedef struct scn_result {
    bool passed;
    uint32_t line;               /* of what failed */
    char why[512];
    asx_status status;           /* of the run */
    uint64_t digest;
    uint64_t events;
    asx_divergence divergence;
} scn_result;

/* Executes the scenario on a runtime of its own. ASX_OK: *ret_result tells how it went. Else the
 * runtime could not be made. */
asx_status scn_run(const scn *s, const scn_run_options *options, scn_result *ret_result);

/* In every way the scenario declares (vehicles, modes, seeds) until one fails; what is run live is
 * run bare too. The digest is that of the first. */
asx_status scn_run_all(const scn *s, scn_result *ret_result);

/* Why the scenario cannot be run on several workers; NULL: it can. */
const char *scn_for_one_worker(const scn *s);
/* The same ways as scn_run_all(), live and bare, on several workers. */
asx_status scn_run_workers(const scn *s, uint32_t workers, scn_result *ret_result);

#endif
