/* status.h - the one list of results.
 *
 * ASX_OK is 0; every error is negative; a value never changes once released. Each domain has a
 * block of twenty numbers. The list is the single source of the enum, of asx_status_str() and of
 * asx_status_hint().
 */
#ifndef ASX_STATUS_H
#define ASX_STATUS_H

#include <asx/api.h>

ASX_BEGIN_DECLS

/* X(name, value, hint): the hint is one sentence for the person who meets the status. */
#define ASX_STATUS_LIST(X)                                                                         \
    X(OK, 0, "The call did what it promises.")                                                     \
    /* anything */                                                                                 \
    X(E_INVALID_ARGUMENT, -1, "An argument is NULL, zero, too large or of the wrong type.")        \
    X(E_CAPABILITY, -2, "The context or handle given was narrowed and may not do this.")           \
    X(E_WRONG_CONTEXT, -3, "The call is not possible from here: outside its task or not running.") \
    X(E_NOT_SUPPORTED, -4, "This build, profile or vehicle cannot do that.")                       \
    X(E_RESOURCE_EXHAUSTED, -5, "A ceiling or the memory is used up; nothing was changed.")        \
    X(E_SYSTEM, -6, "The operating system refused a call the runtime needs.")                      \
    X(E_BUSY, -7, "The object is in use in a way that excludes this call.")                        \
    X(E_NOT_FOUND, -8, "There is no such thing to report.")                                        \
    /* handles and machines */                                                                     \
    X(E_STALE_HANDLE, -20, "The handle's object is gone, or belongs to another runtime.")          \
    X(E_INVALID_TRANSITION, -21, "The state machine has no such transition.")                      \
    /* regions */                                                                                  \
    X(E_REGION_NOT_OPEN, -40, "The region is closing; it accepts nothing new.")                    \
    X(E_REGION_CLOSED, -41, "The region is closed; its memory and objects are gone.")              \
    X(E_ADMISSION_CLOSED, -42, "The region's gate refuses: a limit, or it is finalizing.")         \
    X(E_INCOMPLETE_CHILDREN, -43, "Children of the region are still alive.")                       \
    X(E_UNRESOLVED_OBLIGATIONS, -44, "Obligations are reserved that nobody has resolved.")         \
    X(E_NOT_OWNER, -45, "Only the task that opened a region may close it; others may cancel.")     \
    X(E_REGION_LEFT_OPEN, -46, "A task ended without closing a region that it had opened.")        \
    /* obligations */                                                                              \
    X(E_OBLIGATION_ALREADY_RESOLVED, -60, "The obligation was committed or aborted before.")       \
    X(E_OBLIGATION_LEAKED, -61, "The obligation was still reserved when its region closed.")       \
    /* tasks and cancellation */                                                                   \
    X(E_CANCELLED, -80, "The task was cancelled; release what you hold and return.")               \
    X(E_BUDGET_EXHAUSTED, -81, "A deadline has passed or a quota is used up.")                     \
    X(E_TIMEOUT, -82, "The region's deadline passed before its work was done.")                    \
    X(E_PANICKED, -83, "A task panicked.")                                                         \
    X(E_MASK_DEPTH, -84, "Cancel masks are nested too deeply, or ended more often than begun.")    \
    X(E_WOULD_DEADLOCK, -85, "The caller would wait for itself.")                                  \
    X(E_WITNESS_TASK_MISMATCH, -86, "The two witnesses speak of different tasks.")                 \
    X(E_WITNESS_REGION_MISMATCH, -87, "The two witnesses speak of different regions.")             \
    X(E_WITNESS_EPOCH_MISMATCH, -88, "The two witnesses are of different cancel epochs.")          \
    X(E_WITNESS_PHASE_REGRESSION, -89, "A cancellation's phase never goes back.")                  \
    X(E_WITNESS_REASON_WEAKENED, -90, "A cancellation's reason never gets less severe.")           \
    /* channels and waiting */                                                                     \
    X(E_WOULD_BLOCK, -100, "Not yet: the waker is registered; return pending and try again.")      \
    X(E_DISCONNECTED, -101, "The other side of the channel is gone.")                              \
    X(E_FULL, -102, "No capacity, or others wait for it first.")                                   \
    X(E_EMPTY, -103, "Nothing to receive now.")                                                    \
    X(E_CLOSED, -104, "The channel was closed: no more is sent, and nothing is left to receive.")  \
    X(E_NO_WAKER, -105, "The task has not taken a waker with asx_cx_waker(): nothing wakes it.")   \
    X(E_POISONED, -110, "A task ended in the middle of using what the lock protects.")             \
    X(E_LAGGED, -111, "The receiver was too slow; the oldest messages were overwritten.")          \
    /* timers */                                                                                   \
    X(E_TIMER_DURATION_EXCEEDED, -120, "The deadline lies beyond the longest timer allowed.")      \
    /* quiescence, in the order in which it is asked */                                            \
    X(E_TASKS_STILL_ACTIVE, -140, "Not quiescent: tasks are alive.")                               \
    X(E_REGIONS_NOT_CLOSED, -142, "Not quiescent: regions are not closed.")                        \
    X(E_TIMERS_PENDING, -143, "Not quiescent: timers are pending.")                                \
    X(E_CHANNEL_NOT_DRAINED, -144, "Not quiescent: a channel holds messages.")                     \
    /* traces and laboratory */                                                                    \
    X(E_TRACE_CORRUPT, -160, "The trace is damaged at the offset reported.")                       \
    X(E_TRACE_VERSION, -161, "The trace was written in a format this build does not read.")        \
    X(E_DIVERGED, -162, "The run did something else than the recorded trace.")                     \
    X(E_DEADLOCK, -163, "Every task waits, no timer is pending: nothing can ever run again.")      \
    X(E_SCENARIO, -164, "The scenario text is wrong at the line reported.")                        \
    X(E_EXPECTATION, -165, "The run did not do what the scenario expects.")                        \
    X(E_NO_JOURNAL, -167, "The runtime keeps no journal: set `trace` when it is created.")         \
    X(E_ORACLE, -166, "An oracle of the laboratory complained; the result says which and why.")    \
    /* input and output */                                                                         \
    X(E_END, -180, "The input ended before all of what was asked for had come.")                   \
    X(E_RESET, -181, "The peer has reset the connection, or it was lost.")                         \
    X(E_BROKEN, -182, "What is written is read no more: the other side is closed.")                \
    X(E_REFUSED, -183, "No listener is at that address.")                                          \
    X(E_UNREACHABLE, -184, "There is no way to that address, or no answer from it.")               \
    X(E_ADDRESS, -185, "The address is in use, or is none of this machine's.")                     \
    X(E_DESCRIPTORS, -186, "The process or the system has no descriptor left.")                    \
    X(E_PERMISSION, -187, "The system does not allow that.")                                       \
    X(E_NO_SPACE, -188, "The disk or a quota is full.")                                            \
    X(E_EXISTS, -189, "There is something of that name already.")                                  \
    X(E_TOO_LONG, -190, "The line, frame or datagram is longer than was allowed.")                 \
    X(E_NAME, -191, "The name could not be resolved.")                                             \
    /* TLS */                                                                                      \
    X(E_TLS, -220, "The peer does not keep to TLS, or has refused; asx_tls_info() says why.")      \
    X(E_TLS_UNVERIFIED, -221, "The peer's certificate is not to be trusted.")                      \
    X(E_TLS_TRUNCATED, -222, "The connection ended without the end that TLS asks for.")            \
    X(E_TLS_FILE, -223, "A certificate or key cannot be read, or they do not match.")              \
    /* HTTP */                                                                                     \
    X(E_HTTP_PARTIAL, -240, "The bytes so far are the beginning of a message; more are needed.")   \
    X(E_HTTP_MALFORMED, -241, "The peer's bytes are not what HTTP/1.1 allows.")                    \
    X(E_HTTP_TOO_LARGE, -242, "A line, a head or a body of the peer exceeds its limit.")           \
    X(E_HTTP_NOT_SUPPORTED, -243, "A version, coding or expectation that is not implemented.")

typedef enum asx_status {
#define ASX_STATUS_ENUM_(name, value, hint) ASX_##name = (value),
    ASX_STATUS_LIST(ASX_STATUS_ENUM_)
#undef ASX_STATUS_ENUM_
    ASX_STATUS_FORCE_INT_ = -0x7fffffff
} asx_status;

/* The specification has a name for the status of a region that cannot close and another for that of
 * a runtime that does not rest. What is found is the same, and so are they. */
#define ASX_E_OBLIGATIONS_UNRESOLVED ASX_E_UNRESOLVED_OBLIGATIONS

/* The name of a status, such as "ASX_E_FULL"; "ASX_E_UNKNOWN" for a number that is none.
 * Any thread; the string is static. */
ASX_API const char *asx_status_str(asx_status status);

/* One sentence that says what the status means to the caller. Any thread; static. */
ASX_API const char *asx_status_hint(asx_status status);

ASX_END_DECLS

#endif
