/* outcome.h - how a task or a region ended: Ok < Err < Cancelled < Panicked. */
#ifndef ASX_OUTCOME_H
#define ASX_OUTCOME_H

#include <asx/status.h>

ASX_BEGIN_DECLS

/* X(name, severity) */
#define ASX_OUTCOME_LIST(X)                                                                        \
    X(OK, 0)                                                                                       \
    X(ERR, 1)                                                                                      \
    X(CANCELLED, 2)                                                                                \
    X(PANICKED, 3)

typedef enum asx_outcome_kind {
#define ASX_OUTCOME_ENUM_(name, severity) ASX_OUTCOME_##name = (severity),
    ASX_OUTCOME_LIST(ASX_OUTCOME_ENUM_)
#undef ASX_OUTCOME_ENUM_
} asx_outcome_kind;

/* An outcome with its payload: the status that the task returned, and which task it was (its
 * serial number, 0 for none). Joins are left-biased on equal severity, so the payload
 * of a region is that of the first child, in order of creation, among the worst. */
typedef struct asx_outcome {
    asx_outcome_kind kind;
    asx_status status;
    uint64_t source;
} asx_outcome;

#define ASX_OUTCOME_INIT_OK { ASX_OUTCOME_OK, ASX_OK, 0 }

/* "Ok", "Err", "Cancelled", "Panicked". Static. */
ASX_API const char *asx_outcome_str(asx_outcome_kind kind);
/* 0..3; a kind that is none counts as Panicked. Pure. */
ASX_API int asx_outcome_severity(asx_outcome_kind kind);
/* The worse of the two; `a` when they are equally bad. Pure. */
ASX_API asx_outcome asx_outcome_join(asx_outcome a, asx_outcome b);

ASX_END_DECLS

#endif
