/* errors.c - tasks that end with an error.
 *
 * An error is a value, and somebody should have it: who joins the task, who closes a region that
 * collects what its tasks say (join-all and race are such), who called asx_timeout(). In a region
 * that fails fast it cancels the others, and tests rarely look at what a close says; so there it
 * fails the execution, unless the test has said that it is meant. Whether somebody has it is known
 * when the execution is over. What a fault of the exploration brings about is meant by who asked
 * for faults. A region that was forgotten is a mistake, whoever hears of it.
 */
#include "lab/explore/explore.h"

static bool is_expected(const asx__explorer *x, asx_status status)
{
    for (size_t i = 0; i < x->expected_len; i++)
        if (x->expected[i] == status)
            return true;
    return false;
}

static bool is_by_fault(const asx__explorer *x, asx_status status)
{
    uint32_t lacks = ASX_EXPLORE_FAULT_ALLOC | ASX_EXPLORE_FAULT_STACK | ASX_EXPLORE_FAULT_THREAD;
    return (x->options->faults & lacks) != 0 && status == ASX_E_RESOURCE_EXHAUSTED;
}

void asx__explorer_erred(asx__explorer *x, const asx__lab_task *task, uint64_t serial,
                         asx_status status)
{
    const asx__task *record = task->record;
    x->erred = true;
    if (status == ASX_E_REGION_LEFT_OPEN) { /* what becomes of it is not explored */
        asx__explorer_fail(x, asx_status_str(status), task->born);
        return;
    }
    if (record != NULL &&
        (record->region->policy == ASX_POLICY_COLLECT || record->region->answers))
        return;
    if (is_by_fault(x, status) || !asx__explorer_room(x, (void **)&x->errors, &x->errors_cap,
                                                      x->errors_len + 1, sizeof *x->errors))
        return;
    asx__lab_error *error = &x->errors[x->errors_len++];
    *error = (asx__lab_error){ .serial = serial, .status = status,
                               .site = task->born };
    (void)asx__dpor_events(x->dpor, &error->at);
}

void asx__explorer_had(asx__explorer *x, uint64_t serial)
{
    for (size_t i = 0; i < x->errors_len; i++)
        if (x->errors[i].serial == serial)
            x->errors[i].serial = 0;
}

void asx__explorer_judge_errors(asx__explorer *x)
{
    for (size_t i = 0; i < x->errors_len && x->failed_text == NULL; i++) {
        const asx__lab_error *error = &x->errors[i];
        const asx__lab_task *task =
            error->serial != 0 ? asx__explorer_task(x, error->serial) : NULL;
        if (task == NULL || is_expected(x, error->status))
            continue;
        asx__explorer_fail(x, asx__explore_error(x, task, error->status), error->site);
        x->failed_at = error->at;
    }
}

asx_status asx_lab_expect(asx_cx *cx, asx_status status)
{
    if (cx == NULL || cx->rt_ == NULL || status >= 0)
        return ASX_E_INVALID_ARGUMENT;
    asx__explorer *x = asx__explorer_of(cx->rt_);
    if (x == NULL || is_expected(x, status))
        return ASX_OK;
    if (x->expected_len == ASX_LAB_EXPECTED_MAX)
        return ASX_E_RESOURCE_EXHAUSTED;
    x->expected[x->expected_len++] = status;
    return ASX_OK;
}
