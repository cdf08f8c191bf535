/* lab.h - the laboratory: a run whose time and schedule are under control.
 *
 * A lab run is an ordinary program on an ordinary runtime with a virtual clock, a seed that breaks
 * ties, and a journal. The same program and seed give the same digest on every machine. A recorded
 * trace can be replayed: the program is executed again and compared event by event.
 */
#ifndef ASX_LAB_H
#define ASX_LAB_H

#include <asx/oracle.h>
#include <asx/runtime.h>

ASX_BEGIN_DECLS

typedef struct asx_lab_result {
    asx_status status;   /* of the run; ASX_E_OBLIGATION_LEAKED when it leaked what it may not;
                            ASX_E_ORACLE when all was well but for the complaint */
    asx_complaint complaint;
    uint64_t digest;
    uint64_t events;
    uint64_t leaks;
    asx_fairness_certificate certificate;
    asx_divergence divergence; /* replay only */
} asx_lab_result;

/* Zero in any field means its default. */
typedef struct asx_lab_options {
    uint64_t seed;
    const char *program;     /* name or text stored in the trace; borrowed */
    size_t program_len;      /* 0: up to the NUL */
    const asx_runtime_config *base; /* profile, limits, memory ...; NULL: server */
    bool twice;              /* asx_lab_run(): runs it again and compares event by event; a
                                difference is ASX_E_DIVERGED and a complaint about determinism */
    /* Receives the trace after the run; NULL: not written. */
    asx_status (*sink)(void *ctx, const void *bytes, size_t len);
    void *sink_ctx;
} asx_lab_options;

/* Runs fn(cx, arg) in a lab runtime. `options` may be NULL. ASX_E_INVALID_ARGUMENT,
 * ASX_E_RESOURCE_EXHAUSTED when it could not be run; else ASX_OK, and the result tells how it
 * went. */
ASX_API ASX_MUST_USE asx_status asx_lab_run(asx_task_fn fn, void *arg,
                                            const asx_lab_options *options,
                                            asx_lab_result *ret_result);
/* Runs again and compares with the recorded trace, whose seed is used. ASX_E_TRACE_CORRUPT,
 * ASX_E_TRACE_VERSION besides the above; a divergence is in the result (status ASX_E_DIVERGED). */
ASX_API ASX_MUST_USE asx_status asx_lab_replay(asx_task_fn fn, void *arg, const void *trace,
                                               size_t trace_len, const asx_lab_options *options,
                                               asx_lab_result *ret_result);

ASX_END_DECLS

#endif
