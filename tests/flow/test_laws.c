/* test_laws.c - the algebra of join, race and first ok, observed on the runtime.
 *
 * A random expression of joins, races and first-oks over leaves (that end after some time, well or
 * not), the unit of join (ends at once) and the unit of race (never ends) is run on a virtual
 * clock. When it ends and with which status must be what the algebra of the kernel computes. Then
 * the laws are what they say: two expressions that the algebra makes equal end at the same time in
 * the same way.
 */
#include <asx/asx.h>

#include "harness.h"
#include "kernel/kernel.h"

#include <string.h>

#define NODES 32
#define FAN 3

enum shape { LEAF, UNIT, NEVER, JOIN, RACE, FIRST };

struct node {
    enum shape shape;
    uint64_t ms;
    asx_status status;
    struct node *kids[FAN];
    size_t kid_count;
};

struct tree {
    struct node nodes[NODES];
    size_t used;
    uint64_t rng;
    uint64_t used_ms[64]; /* bit per duration: each is used once, so that nothing ties */
};

static uint64_t below(struct tree *t, uint64_t n)
{
    t->rng ^= t->rng << 13;
    t->rng ^= t->rng >> 7;
    t->rng ^= t->rng << 17;
    return t->rng % n;
}

static struct node *new_node(struct tree *t, enum shape shape)
{
    CHECK(t->used < NODES);
    struct node *n = &t->nodes[t->used++];
    *n = (struct node){ .shape = shape };
    return n;
}

static struct node *leaf(struct tree *t)
{
    static const asx_status statuses[] = { ASX_OK, ASX_OK, ASX_E_FULL, ASX_E_EMPTY, ASX_E_BUSY };
    struct node *n = new_node(t, LEAF);
    do
        n->ms = 1 + below(t, 4095);
    while (t->used_ms[n->ms / 64] >> (n->ms % 64) & 1u);
    t->used_ms[n->ms / 64] |= UINT64_C(1) << (n->ms % 64);
    n->status = statuses[below(t, 5)];
    return n;
}

static struct node *grow(struct tree *t, int depth)
{
    uint64_t what = below(t, 10);
    if (depth == 0 || t->used + FAN + 1 >= NODES || what < 2)
        return leaf(t);
    if (what == 2)
        return new_node(t, UNIT);
    if (what == 3)
        return new_node(t, NEVER);
    struct node *n = new_node(t, what < 6 ? JOIN : what < 8 ? RACE : FIRST);
    n->kid_count = 1 + (size_t)below(t, FAN);
    for (size_t i = 0; i < n->kid_count; i++)
        n->kids[i] = t->used + FAN < NODES ? grow(t, depth - 1) : leaf(t);
    return n;
}

/* ---- the algebra ---------------------------------------------------------------------------- */

static asx__finish expected(const struct node *n);

/* The earliest that is Ok; or, when all have ended, the worst, the left one of equals. */
static asx__finish expected_first(const struct node *n)
{
    asx__finish all = ASX__FINISH_UNIT, best = ASX__FINISH_NEVER;
    for (size_t i = 0; i < n->kid_count; i++) {
        asx__finish kid = expected(n->kids[i]);
        all = asx__finish_join(all, kid);
        if (kid.outcome.kind == ASX_OUTCOME_OK)
            best = asx__finish_race(best, kid);
    }
    return best.at != ASX_TIME_NEVER ? best : all;
}

static asx__finish expected(const struct node *n)
{
    asx__finish result = ASX__FINISH_UNIT;
    asx__finish never = ASX__FINISH_NEVER;
    switch (n->shape) {
    case LEAF:
        result.at = n->ms;
        result.outcome.kind = n->status < 0 ? ASX_OUTCOME_ERR : ASX_OUTCOME_OK;
        result.outcome.status = n->status;
        return result;
    case UNIT:
        return result;
    case NEVER:
        return never;
    case JOIN:
        for (size_t i = 0; i < n->kid_count; i++)
            result = asx__finish_join(result, expected(n->kids[i]));
        return result;
    case FIRST:
        return expected_first(n);
    default:
        for (size_t i = 0; i < n->kid_count; i++)
            never = asx__finish_race(never, expected(n->kids[i]));
        return never;
    }
}

/* Does an inner node end at the same time as another one in the same race? */
static bool ties(const struct node *n)
{
    for (size_t i = 0; i < n->kid_count; i++) {
        if (ties(n->kids[i]))
            return true;
        for (size_t k = 0; n->shape >= RACE && k < i; k++)
            if (expected(n->kids[i]).at == expected(n->kids[k]).at &&
                expected(n->kids[i]).at != ASX_TIME_NEVER)
                return true;
    }
    return false;
}

/* ---- the runtime ---------------------------------------------------------------------------- */

static asx_status evaluate(asx_cx *cx, void *arg)
{
    const struct node *n = arg;
    asx_branch branches[FAN];
    for (size_t i = 0; i < n->kid_count; i++)
        branches[i] = (asx_branch){ "kid", evaluate, n->kids[i] };
    switch (n->shape) {
    case LEAF: {
        asx_status st = asx_sleep(cx, n->ms * ASX_MS);
        return st < 0 ? st : n->status;
    }
    case UNIT:
        return asx_join_all(cx, NULL, 0, NULL, NULL, NULL);
    case NEVER:
        return asx_race_all(cx, NULL, 0, NULL, NULL, NULL);
    case JOIN:
        return asx_join_all(cx, branches, n->kid_count, NULL, NULL, NULL);
    case FIRST:
        return asx_first_ok(cx, branches, n->kid_count, NULL, NULL, NULL);
    default:
        return asx_race_all(cx, branches, n->kid_count, NULL, NULL, NULL);
    }
}

struct observed {
    struct node *node;
    asx_time at;
    asx_status status;
};

static asx_status observe(asx_cx *cx, void *arg)
{
    struct observed *o = arg;
    asx_stats before, after;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &before), ASX_OK);
    o->status = evaluate(cx, o->node);
    o->at = asx_now(cx) / ASX_MS;
    CHECK_STATUS(asx_runtime_stats(asx_cx_runtime(cx), &after), ASX_OK);
    CHECK_EQ(after.tasks_live, before.tasks_live); /* nobody was left behind */
    CHECK_EQ(after.regions_live, before.regions_live);
    return ASX_OK;
}

static struct observed run(struct node *node)
{
    struct observed o = { .node = node };
    asx_runtime *rt;
    asx_runtime_config config = { .clock = ASX_CLOCK_VIRTUAL };
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, observe, &o), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    return o;
}

static void plant(struct tree *t, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->rng = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
}

ASX_TEST_TIMEOUT(random_trees_of_calls_end_when_and_how_the_algebra_says, 60)
{
    static struct tree t;
    unsigned compared = 0;
    for (uint64_t seed = 1; seed <= 600 / asx_test_scale() + 20; seed++) {
        plant(&t, seed);
        struct node *root = grow(&t, 3);
        asx__finish want = expected(root);
        if (want.at == ASX_TIME_NEVER || ties(root))
            continue;
        struct observed got = run(root);
        if (got.at != want.at || got.status != want.outcome.status)
            asx_test_fail(__FILE__, __LINE__, "seed %llu: ended at %llu with %d, want %llu, %d",
                          (unsigned long long)seed, (unsigned long long)got.at, got.status,
                          (unsigned long long)want.at, want.outcome.status);
        compared++;
    }
    CHECK(compared > 10);
}

/* ---- the laws by name ----------------------------------------------------------------------- */

static struct node *both(struct tree *t, enum shape shape, struct node *a, struct node *b)
{
    struct node *n = new_node(t, shape);
    n->kids[0] = a;
    n->kids[1] = b;
    n->kid_count = 2;
    return n;
}

static void same(struct node *left, struct node *right)
{
    struct observed a = run(left), b = run(right);
    CHECK_EQ(a.at, b.at);
    CHECK_STATUS(a.status, b.status);
}

ASX_TEST_TIMEOUT(join_race_and_first_ok_are_associative, 60)
{
    static struct tree t;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        plant(&t, seed);
        struct node *a = leaf(&t), *b = leaf(&t), *c = leaf(&t);
        enum shape shape = (enum shape)(JOIN + seed % 3);
        same(both(&t, shape, both(&t, shape, a, b), c), both(&t, shape, a, both(&t, shape, b, c)));
    }
}

ASX_TEST_TIMEOUT(units_change_nothing, 60)
{
    static struct tree t;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        plant(&t, seed);
        struct node *a = leaf(&t);
        same(both(&t, JOIN, a, new_node(&t, UNIT)), a);
        same(both(&t, JOIN, new_node(&t, UNIT), a), a);
        same(both(&t, RACE, a, new_node(&t, NEVER)), a);
        same(both(&t, RACE, new_node(&t, NEVER), a), a);
    }
}

ASX_TEST_TIMEOUT(race_and_first_ok_commute_when_nothing_ties, 60)
{
    static struct tree t;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        plant(&t, seed);
        struct node *a = leaf(&t), *b = leaf(&t);
        same(both(&t, RACE, a, b), both(&t, RACE, b, a));
        if (a->status == ASX_OK || b->status == ASX_OK) /* of failures the left one counts */
            same(both(&t, FIRST, a, b), both(&t, FIRST, b, a));
    }
}
