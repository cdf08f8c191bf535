/* obligation.h - promises that must be resolved exactly once.
 *
 * Send permits, acks and leases are obligations of the task that holds them; the ones made here
 * are the user's own and belong to a region. All of them are in one registry, in every build.
 * What is still reserved when its region finalizes is marked Leaked and reported.
 */
#ifndef ASX_OBLIGATION_H
#define ASX_OBLIGATION_H

#include <asx/region.h>

ASX_BEGIN_DECLS

/* X(NAME, number, "name") */
#define ASX_OBLIGATION_KIND_LIST(X)                                                                \
    X(PLAIN, 1, "plain")                                                                           \
    X(SEND_PERMIT, 2, "send-permit")                                                               \
    X(TRACKED_PERMIT, 3, "tracked-permit")                                                         \
    X(ACK, 4, "ack")                                                                               \
    X(LEASE, 5, "lease")                                                                           \
    X(IO, 6, "io")                                                                                 \
    X(GUARD, 7, "guard")                                                                           \
    X(SEMAPHORE_PERMIT, 8, "semaphore-permit")                                                     \
    X(ONESHOT_SENDER, 9, "oneshot-sender")

typedef enum asx_obligation_kind {
#define ASX_OBLIGATION_KIND_ENUM_(name, number, text) ASX_OBLIGATION_KIND_##name = (number),
    ASX_OBLIGATION_KIND_LIST(ASX_OBLIGATION_KIND_ENUM_)
#undef ASX_OBLIGATION_KIND_ENUM_
} asx_obligation_kind;

typedef struct asx_obligation {
    asx_runtime *rt_;
    asx_obligation_id id;
} asx_obligation;

/* Reserves an obligation of kind PLAIN or LEASE that belongs to the region.
 *   ASX_E_INVALID_ARGUMENT    NULL, or another kind
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_STALE_HANDLE
 *   ASX_E_CAPABILITY          through a handle that was narrowed past the region's state, or by a
 *                             task without OBLIGATION
 *   ASX_E_ADMISSION_CLOSED    obligations_max
 *   ASX_E_RESOURCE_EXHAUSTED */
ASX_API ASX_MUST_USE asx_status asx_obligation_reserve(const asx_region *region,
                                                       asx_obligation_kind kind,
                                                       asx_obligation *ret_obligation);
ASX_API ASX_MUST_USE asx_status asx_obligation_reserve_at(const asx_region *region,
                                                          asx_obligation_kind kind,
                                                          asx_obligation *ret_obligation,
                                                          const char *site);
#define asx_obligation_reserve(...) ASX_PLACED_(asx_obligation_reserve, __VA_ARGS__)

/* Each resolves exactly once, in any region state before Closed.
 *   ASX_E_OBLIGATION_ALREADY_RESOLVED  committed or aborted before
 *   ASX_E_OBLIGATION_LEAKED            its region closed first
 *   ASX_E_STALE_HANDLE                 never existed here
 *   ASX_E_INVALID_ARGUMENT */
ASX_API asx_status asx_obligation_commit(asx_obligation *obligation);
ASX_API asx_status asx_obligation_abort(asx_obligation *obligation);

/* Reserved, Leaked; or, for a resolved one, ASX_E_OBLIGATION_ALREADY_RESOLVED. ASX_E_STALE_HANDLE,
 * ASX_E_INVALID_ARGUMENT. */
ASX_API asx_status asx_obligation_get_state(const asx_obligation *obligation,
                                            asx_obligation_state *ret_state);
/* What the machine answers to a raw transition now. Changes nothing. */
ASX_API asx_status asx_obligation_probe(const asx_obligation *obligation,
                                        asx_obligation_state to);

ASX_END_DECLS

#endif
