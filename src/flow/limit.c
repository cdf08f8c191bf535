/* limit.c - a rate limiter and a circuit breaker.
 *
 * The state lies in memory of the region. It is looked at and changed in steps that wait for
 * nothing, each inside the engine and after the region was looked up, so that a region which closes
 * meanwhile takes nothing away under a step. A mutex stands before the steps: of the limiter it is
 * the queue in which tasks wait, held until the tokens have come; of the breaker it makes the steps
 * operations that the laboratory orders.
 *
 * Bucket.    tokens(t) = min(burst, tokens + (t - since) / interval)
 * Breaker.   CLOSED --failures_max in a row--> OPEN --open_ns--> HALF_OPEN --Ok--> CLOSED
 *                                               ^                    |
 *                                               +------ failure -----+
 * The try of a half-open breaker is a permit of a semaphore, which goes back however its task ends.
 */
#include "flow/flow.h"

#include <asx/limit.h>

struct asx__bucket {
    uint64_t interval_ns, burst;
    uint64_t tokens;
    asx_time since; /* when the last of them came */
};

/* ---- rate limiter --------------------------------------------------------------------------- */

asx_status asx_rate_limiter_create(const asx_region *region, uint64_t interval_ns,
                                   const asx_rate_limiter_options *options,
                                   asx_rate_limiter *ret_limiter)
{
    static const asx_rate_limiter none;
    void *memory;
    if (ret_limiter == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_limiter = none;
    if (region == NULL || interval_ns == 0)
        return ASX_E_INVALID_ARGUMENT;
    asx_rate_limiter l = { .region_ = *region };
    asx_mutex_options lock = { .name = options != NULL ? options->name : NULL };
    asx_status st = asx_mutex_create(region, &lock, &l.turn_);
    if (st == ASX_OK)
        st = asx_region_alloc(region, sizeof *l.bucket_, &memory);
    if (st < 0)
        return st;
    uint64_t burst = options != NULL && options->burst != 0 ? options->burst : 1;
    l.bucket_ = memory;
    *l.bucket_ = (struct asx__bucket){ interval_ns, burst, burst, 0 };
    *ret_limiter = l;
    return ASX_OK;
}

static asx_status is_there(const asx_region *region)
{
    asx__region *record;
    asx_status st = asx__region_resolve(region, ASX_STATE_MASK_ALL, &record);
    return st < 0 || record->state == ASX_REGION_CLOSED ? ASX_E_REGION_CLOSED : ASX_OK;
}

/* A step: takes the tokens, or says how long to wait for them. */
static asx_status take(const asx_region *region, struct asx__bucket *b, uint64_t n, asx_time now,
                       uint64_t *ret_wait_ns)
{
    ASX__GATE_REGION(region, take(&in, b, n, now, ret_wait_ns));
    asx_status st = is_there(region);
    if (st < 0)
        return st;
    if (n == 0 || n > b->burst)
        return ASX_E_INVALID_ARGUMENT;
    uint64_t come = now > b->since ? (now - b->since) / b->interval_ns : 0;
    bool full = come >= b->burst - b->tokens;
    b->since = full ? (now > b->since ? now : b->since) : b->since + come * b->interval_ns;
    b->tokens = full ? b->burst : b->tokens + come;
    *ret_wait_ns = 0;
    if (b->tokens >= n) {
        b->tokens -= n;
        return ASX_OK;
    }
    uint64_t wait;
    if (__builtin_mul_overflow(n - b->tokens, b->interval_ns, &wait))
        wait = ASX_TIME_NEVER;
    else
        wait -= now > b->since ? now - b->since : 0;
    *ret_wait_ns = wait;
    return ASX_OK;
}

asx_status asx_rate_limiter_acquire(asx_cx *cx, const asx_rate_limiter *limiter, uint64_t n)
{
    asx__task *task;
    asx_mutex_guard guard;
    uint64_t wait_ns;
    asx_status st = asx__flow_enter(cx, ASX_CAP_CHANNEL | ASX_CAP_TIME, NULL, 0, &task);
    if (st == ASX_OK && limiter == NULL)
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        st = asx_mutex_lock(cx, &limiter->turn_, &guard);
    if (st < 0)
        return st;
    do {
        st = take(&limiter->region_, limiter->bucket_, n, asx_now(cx), &wait_ns);
        if (st == ASX_OK && wait_ns != 0)
            st = asx_sleep(cx, wait_ns);
    } while (st == ASX_OK && wait_ns != 0);
    (void)asx_mutex_unlock(&guard);
    return st;
}

asx_status asx_rate_limiter_try_acquire(asx_cx *cx, const asx_rate_limiter *limiter, uint64_t n)
{
    asx_mutex_guard guard;
    uint64_t wait_ns;
    if (limiter == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx_mutex_try_lock(cx, &limiter->turn_, &guard);
    if (st < 0)
        return st;
    st = take(&limiter->region_, limiter->bucket_, n, asx_now(cx), &wait_ns);
    (void)asx_mutex_unlock(&guard);
    return st == ASX_OK && wait_ns != 0 ? ASX_E_BUSY : st;
}

/* ---- circuit breaker ------------------------------------------------------------------------ */

struct asx__breaker {
    uint32_t failures_max;
    uint64_t open_ns;
    asx_breaker_info info;
    asx_time opened_at;
    uint64_t epoch; /* changes of state: a call that began before one does not count after it */
};

const char *asx_breaker_state_str(unsigned state)
{
    static const char *const names[] = {
#define NAME(name, text) text,
        ASX_BREAKER_STATE_LIST(NAME)
#undef NAME
    };
    return state < ASX_BREAKER_STATE_COUNT ? names[state] : NULL;
}

asx_status asx_breaker_create(const asx_region *region, const asx_breaker_options *options,
                              asx_breaker *ret_breaker)
{
    static const asx_breaker none;
    static const asx_breaker_options plain;
    void *memory;
    if (ret_breaker == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_breaker = none;
    if (region == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx_breaker_options *o = options != NULL ? options : &plain;
    asx_breaker b = { .region_ = *region };
    asx_mutex_options lock = { .name = o->name };
    asx_status st = asx_mutex_create(region, &lock, &b.turn_);
    if (st == ASX_OK)
        st = asx_semaphore_create(region, 1, NULL, &b.probe_);
    if (st == ASX_OK)
        st = asx_region_alloc(region, sizeof *b.breaker_, &memory);
    if (st < 0)
        return st;
    b.breaker_ = memory;
    *b.breaker_ = (struct asx__breaker){
        .failures_max = o->failures_max != 0 ? o->failures_max : 5,
        .open_ns = o->open_ns != 0 ? o->open_ns : ASX_SEC,
    };
    *ret_breaker = b;
    return ASX_OK;
}

static void change(struct asx__breaker *b, asx_breaker_state to)
{
    b->info.state = to;
    b->info.failures = 0;
    b->epoch++;
}

/* A step, before the call: may it go through, in which epoch, and does it need the try? */
static asx_status ask(const asx_region *region, struct asx__breaker *b, asx_time now,
                      uint64_t *ret_epoch, bool *ret_tries)
{
    ASX__GATE_REGION(region, ask(&in, b, now, ret_epoch, ret_tries));
    asx_status st = is_there(region);
    if (st < 0)
        return st;
    if (b->info.state == ASX_BREAKER_OPEN && now >= asx_time_add(b->opened_at, b->open_ns))
        change(b, ASX_BREAKER_HALF_OPEN);
    *ret_epoch = b->epoch;
    *ret_tries = b->info.state == ASX_BREAKER_HALF_OPEN;
    if (b->info.state != ASX_BREAKER_OPEN)
        return ASX_OK;
    b->info.refused++;
    return ASX_E_ADMISSION_CLOSED;
}

/* A step, after the call; or, refused, when another one has the try. */
static asx_status tell(const asx_region *region, struct asx__breaker *b, asx_time now,
                       uint64_t epoch, asx_status result, bool refused)
{
    ASX__GATE_REGION(region, tell(&in, b, now, epoch, result, refused));
    asx_status st = is_there(region);
    if (st < 0)
        return st;
    b->info.refused += refused;
    if (refused || epoch != b->epoch || result == ASX_E_CANCELLED)
        return ASX_OK;
    if (result == ASX_OK) {
        b->info.failures = 0;
        if (b->info.state == ASX_BREAKER_HALF_OPEN)
            change(b, ASX_BREAKER_CLOSED);
    } else if (b->info.state == ASX_BREAKER_HALF_OPEN || ++b->info.failures >= b->failures_max) {
        change(b, ASX_BREAKER_OPEN);
        b->opened_at = now;
    }
    return ASX_OK;
}

asx_status asx_breaker_call(asx_cx *cx, const asx_breaker *breaker, asx_call_fn fn, void *arg)
{
    asx__task *task;
    asx_mutex_guard guard;
    asx_semaphore_permit permit;
    uint64_t epoch;
    bool tries = false;
    asx_status st = asx__flow_enter(cx, ASX_CAP_CHANNEL, NULL, 0, &task);
    if (st == ASX_OK && (breaker == NULL || fn == NULL))
        st = ASX_E_INVALID_ARGUMENT;
    if (st == ASX_OK)
        st = asx_mutex_lock(cx, &breaker->turn_, &guard);
    if (st < 0)
        return st;
    struct asx__breaker *b = breaker->breaker_;
    st = ask(&breaker->region_, b, asx_now(cx), &epoch, &tries);
    if (st == ASX_OK && tries) {
        st = asx_semaphore_try_acquire(cx, &breaker->probe_, 1, &permit);
        if (st == ASX_E_BUSY) {
            (void)tell(&breaker->region_, b, asx_now(cx), epoch, st, true);
            st = ASX_E_ADMISSION_CLOSED;
        }
    }
    (void)asx_mutex_unlock(&guard);
    if (st < 0)
        return st;
    asx_status result = fn(cx, arg);
    bool masked = asx_mask_begin(cx, 0) == ASX_OK;
    st = asx_mutex_lock(cx, &breaker->turn_, &guard);
    (void)tell(&breaker->region_, b, asx_now(cx), epoch, result, false);
    if (tries)
        (void)asx_semaphore_release(&permit);
    if (st == ASX_OK)
        (void)asx_mutex_unlock(&guard);
    if (masked)
        (void)asx_mask_end(cx);
    return result;
}

/* A step. */
asx_status asx_breaker_get_info(const asx_breaker *breaker, asx_breaker_info *ret_info)
{
    if (breaker == NULL || ret_info == NULL || breaker->breaker_ == NULL)
        return ASX_E_INVALID_ARGUMENT;
    const asx_region *region = &breaker->region_;
    asx_breaker inside = *breaker;
    if (asx__is_gate(region->rt_)) {
        inside.region_.rt_ = region->rt_->behind;
        ASX__THROUGH(asx_status, inside.region_.rt_, asx_breaker_get_info(&inside, ret_info));
    }
    asx_status st = is_there(region);
    if (st == ASX_OK)
        *ret_info = breaker->breaker_->info;
    return st;
}
