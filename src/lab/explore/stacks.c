/* stacks.c - the stacks of explored tasks, which outlive a runtime.
 *
 * A runtime maps its stacks, puts a guard before each, touches them, and gives all back when it
 * goes. Explorations need the same few, one after the other, so the process keeps them: the first
 * exploration makes them before it begins, and each leaves them to the next. Who comes while they
 * are taken makes its own.
 */
#include "lab/explore/explore.h"

#include <stdlib.h>

#include "base/atomic.h"

enum {
    FIRST = 8,     /* so many are guarded in one go */
    KEPT_MOST = 64 /* where there were more, all go back to the system */
};

static asx__atomic_ptr kept; /* A: asx__stack_pool *, malloc'd, nobody has a stack of it; NULL */

/* They are taken in the order of their addresses, as fresh ones are. */
static void make_first(asx__stack_pool *pool)
{
    asx__stack *made[FIRST];
    size_t count = 0;
    while (count < FIRST && (made[count] = asx__stack_acquire(pool)) != NULL)
        count++;
    while (count > 0)
        asx__stack_release(pool, made[--count]);
}

static void discard(asx__stack_pool *pool)
{
    asx__stack_pool_deinit(pool);
    free(pool);
}

void asx__explorer_take_stacks(asx_runtime *rt)
{
    asx__stack_pool *pool = rt->pool, *found = asx__exchange_acquire(&kept, NULL);
    if (found == NULL) {
        make_first(pool);
    } else if (found->slot_size == pool->slot_size && found->stacks_max == pool->stacks_max) {
        *pool = *found;
        free(found);
    } else {
        discard(found);
    }
}

void asx__explorer_leave_stacks(asx_runtime *rt)
{
    asx__stack_pool *pool = rt->pool, *left;
    asx__stack_config config = { .stack_size = pool->slot_size, .stacks_max = pool->stacks_max };
    if (pool->stacks_carved > KEPT_MOST || pool->building != 0 ||
        asx__stack_pool_in_use(pool) != 0 || (left = malloc(sizeof *left)) == NULL)
        return;
    *left = *pool;
    asx_status st = asx__stack_pool_init(pool, &config);
    ASX__ASSERT(st == ASX_OK);
    (void)st;
    void *nothing = NULL;
    if (!asx__cas_release(&kept, &nothing, left))
        discard(left);
}
