/* cancel.h - the cancellation protocol: kinds, reasons with their causes, phases, witnesses.
 *
 * A cancellation has a reason. A second request on the same target strengthens the first: the
 * more severe reason wins, then the earlier one, then the one whose message sorts first (no
 * message sorts before any). A witness is what a task can show of its cancellation; validation
 * says whether one witness may follow another.
 */
#ifndef ASX_CANCEL_H
#define ASX_CANCEL_H

#include <asx/budget.h>
#include <asx/handle.h>

ASX_BEGIN_DECLS

/* X(NAME, number, severity, cleanup quota in resumptions, cleanup priority) */
#define ASX_CANCEL_KIND_LIST(X)                                                                    \
    X(USER, 0, 0, 1000, 200)                                                                       \
    X(TIMEOUT, 1, 1, 500, 210)                                                                     \
    X(DEADLINE, 2, 1, 500, 210)                                                                    \
    X(POLL_QUOTA, 3, 2, 300, 215)                                                                  \
    X(COST_BUDGET, 4, 2, 300, 215)                                                                 \
    X(FAIL_FAST, 5, 3, 200, 220)                                                                   \
    X(RACE_LOST, 6, 3, 200, 220)                                                                   \
    X(LINKED_EXIT, 7, 3, 200, 220)                                                                 \
    X(PARENT, 8, 4, 200, 220)                                                                      \
    X(RESOURCE, 9, 4, 200, 220)                                                                    \
    X(SHUTDOWN, 10, 5, 50, 255)

typedef enum asx_cancel_kind {
#define ASX_CANCEL_KIND_ENUM_(name, number, severity, quota, priority) ASX_CANCEL_##name = (number),
    ASX_CANCEL_KIND_LIST(ASX_CANCEL_KIND_ENUM_)
#undef ASX_CANCEL_KIND_ENUM_
} asx_cancel_kind;
#define ASX_CANCEL_KIND_COUNT 11

/* X(NAME, rank) */
#define ASX_CANCEL_PHASE_LIST(X)                                                                   \
    X(REQUESTED, 0)                                                                                \
    X(CANCELLING, 1)                                                                               \
    X(FINALIZING, 2)                                                                               \
    X(COMPLETED, 3)

typedef enum asx_cancel_phase {
#define ASX_CANCEL_PHASE_ENUM_(name, rank) ASX_CANCEL_##name = (rank),
    ASX_CANCEL_PHASE_LIST(ASX_CANCEL_PHASE_ENUM_)
#undef ASX_CANCEL_PHASE_ENUM_
} asx_cancel_phase;
#define ASX_CANCEL_PHASE_COUNT 4

#define ASX_CANCEL_CHAIN_DEPTH_MAX 16
#define ASX_CANCEL_CHAIN_BYTES_MAX 4096

/* Reasons given to the runtime are copied, message included, into the region they reach; reasons
 * read from it are borrowed until that region is closed. */
typedef struct asx_cancel_reason {
    asx_cancel_kind kind;
    bool truncated;             /* the chain of causes was cut here: `cause` is its root, or NULL */
    uint16_t truncated_depth;   /* links that the chain had from there to its root, both counted */
    asx_time timestamp;
    asx_region_id origin_region;
    asx_task_id origin_task;    /* generation 0: none */
    const char *message;        /* NULL: none */
    const struct asx_cancel_reason *cause; /* NULL: this is the root */
} asx_cancel_reason;

typedef struct asx_cancel_witness {
    asx_task_id task;
    asx_region_id region;
    uint64_t epoch;
    asx_cancel_phase phase;
    bool cleanup_budget_exceeded; /* the task was completed by force */
    bool masks_lifted;            /* its cleanup overran under a mask, which was lifted; it may have
                                     ended by itself after that */
    asx_cancel_reason reason;
} asx_cancel_witness;

/* "User" .. "Shutdown"; "Unknown" for a number that is none. Static. */
ASX_API const char *asx_cancel_kind_str(asx_cancel_kind kind);
ASX_API const char *asx_cancel_phase_str(asx_cancel_phase phase);
/* 0..5; an unknown kind counts as the most severe. Pure. */
ASX_API int asx_cancel_severity(asx_cancel_kind kind);
/* What a task may still use to clean up after a cancel of this kind: the kind's quota and
 * priority, no deadline, no cost limit. Pure. */
ASX_API asx_budget asx_cancel_cleanup_budget(asx_cancel_kind kind);

/* Does `next` replace `current`? Higher severity, then earlier timestamp, then smaller message.
 * Pure; false for NULL. */
ASX_API bool asx_cancel_reason_stronger(const asx_cancel_reason *next,
                                        const asx_cancel_reason *current);
/* Number of links from this reason to its root, this one included. Pure; 0 for NULL. */
ASX_API uint32_t asx_cancel_reason_depth(const asx_cancel_reason *reason);

/* May `next` follow `prev`? In this order: ASX_E_INVALID_ARGUMENT,
 * ASX_E_WITNESS_TASK_MISMATCH, ASX_E_WITNESS_REGION_MISMATCH, ASX_E_WITNESS_EPOCH_MISMATCH,
 * ASX_E_WITNESS_PHASE_REGRESSION, ASX_E_WITNESS_REASON_WEAKENED, ASX_OK. Pure. */
ASX_API asx_status asx_cancel_witness_check(const asx_cancel_witness *prev,
                                            const asx_cancel_witness *next);

ASX_END_DECLS

#endif
