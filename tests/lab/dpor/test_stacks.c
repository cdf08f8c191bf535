/* The stacks of explored tasks outlive their runtime: explorations follow each other on them. */
#define ASX_LAB 1
#include <asx/asx_lab.h>

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"

enum { MANY = 100, ROUNDS = 50 };

typedef struct program {
    int tasks;
    int x;
    uintptr_t page; /* of the stack of its last task */
} program;

static asx_status add_one(asx_cx *cx, void *arg)
{
    program *p = arg;
    int local = 0;
    p->page = (uintptr_t)&local & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    (void)asx_lab_fetch_add(cx, &p->x, 1);
    return ASX_OK;
}

static void adders(asx_cx *cx, void *arg)
{
    program *p = arg;
    asx_region region;
    p->x = 0;
    CHECK_STATUS(asx_region_open(cx, NULL, &region), ASX_OK);
    for (int i = 0; i < p->tasks; i++)
        CHECK_STATUS(asx_spawn(&region, "adder", add_one, p), ASX_OK);
    CHECK_STATUS(asx_region_close(&region, ASX_OK), ASX_OK);
}

static uint64_t explore(program *p)
{
    asx_explore_options options = { .executions_max = 24 };
    asx_explore_result result;
    CHECK_STATUS(asx_explore(adders, p, &options, &result), ASX_OK);
    CHECK_STATUS(result.status, ASX_OK);
    return result.totals.executions;
}

static bool is_mapped(uintptr_t page)
{
    unsigned char resident;
    return mincore((void *)page, 1, &resident) == 0;
}

ASX_TEST(an_exploration_leaves_its_stacks_to_the_next)
{
    program p = { .tasks = 3 };
    uintptr_t first = 0;
    for (int i = 0; i < ROUNDS; i++) {
        CHECK_EQ(explore(&p), 6);
        CHECK(is_mapped(p.page));
        if (i == 0)
            first = p.page;
        CHECK_EQ(p.page, first);
    }
}

ASX_TEST(stacks_that_are_many_go_back_to_the_system)
{
    program few = { .tasks = 3 }, many = { .tasks = MANY };
    CHECK_EQ(explore(&many), 24);
    CHECK(!is_mapped(many.page));
    CHECK_EQ(explore(&few), 6);
    CHECK(is_mapped(few.page));
}

static void *explore_often(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        if (explore(arg) != 6)
            return arg;
    return NULL;
}

ASX_TEST(two_that_explore_at_a_time_do_not_share_stacks)
{
    program p[2] = { { .tasks = 3 }, { .tasks = 3 } };
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, explore_often, &p[i]), 0);
    for (int i = 0; i < 2; i++) {
        void *wrong;
        CHECK_EQ(pthread_join(threads[i], &wrong), 0);
        CHECK(wrong == NULL);
    }
}
