/* Lists of branches that are in several places: joined if they are alike, copied when one of them
 * is changed, written once. */
#include "harness.h"
#include "base/rng.h"
#include "lab/dpor/branch.h"

static asx__branch *make(asx__branches *all, uint32_t task, uint32_t choice, uint64_t print)
{
    asx__prints prints = { &print, 1, false, 0, 0, false, false };
    asx__branch *branch = asx__branch_make(all, task, choice, &prints);
    CHECK(branch != NULL);
    return branch;
}

/* Task 1, then 2 or 3. */
static asx__branch *make_tree(asx__branches *all)
{
    asx__branch *first = make(all, 1, 0, 10);
    first->child = make(all, 2, 0, 20);
    first->child->next = make(all, 3, 0, 30);
    return first;
}

/* Any two of up to forty names, some of them there twice. */
ASX_TEST(many_prints_conflict_as_few_do)
{
    asx__rng rng;
    asx__rng_seed(&rng, 4711);
    for (int round = 0; round < 20000; round++) {
        uint64_t at[2][40], own[2][40];
        asx__prints few[2], many[2];
        for (int i = 0; i < 2; i++) {
            uint64_t most = round % 2 == 0 || i == 1 ? 40 : 2;
            uint32_t len = (uint32_t)asx__rng_below(&rng, most);
            few[i] = (asx__prints){ at[i], len, false, 0, 0, false, false };
            for (uint32_t k = 0; k < len; k++) {
                uint64_t name = 100 + asx__rng_below(&rng, 200), writes = asx__rng_below(&rng, 2);
                at[i][k] = own[i][k] = 2 * name + writes;
                few[i].touched |= asx__print_bit(name);
                few[i].written |= writes != 0 ? asx__print_bit(name) : 0;
            }
            many[i] = few[i];
            many[i].at = own[i];
            many[i].sorted = asx__prints_sort(own[i], len);
            CHECK_EQ(many[i].sorted, len > 16);
        }
        bool conflict = asx__prints_conflict(&few[0], &few[1]);
        CHECK_EQ(asx__prints_conflict(&many[0], &many[1]), conflict);
        CHECK_EQ(asx__prints_conflict(&many[1], &many[0]), conflict);
        CHECK_EQ(asx__prints_conflict(&many[0], &few[1]), conflict);
    }
}

static void share(asx__branches *all, asx__branch **x, asx__branch **y)
{
    asx__alikes alikes;
    CHECK(asx__branches_begin(all, &alikes));
    asx__branches_share(all, &alikes, x);
    asx__branches_share(all, &alikes, y);
    asx__branches_end(all, &alikes);
}

static void drop(asx__branches *all, asx__branch *x, asx__branch *y)
{
    asx__branch_drop(all, x);
    asx__branch_drop(all, y);
    CHECK_EQ(all->count, 0);
    asx__branches_deinit(all);
}

ASX_TEST(lists_that_are_alike_become_one)
{
    asx__branches all = { 0 };
    asx__branch *x = make_tree(&all), *y = make_tree(&all);
    share(&all, &x, &y);
    CHECK(x == y);
    CHECK_EQ(x->refs, 2);
    CHECK_EQ(x->child->refs, 1);
    CHECK_EQ(all.count, 3);
    share(&all, &x, &y); /* again: nothing is left to join */
    CHECK_EQ(all.count, 3);
    CHECK_EQ(x->refs, 2);
    drop(&all, x, y);
}

ASX_TEST(what_differs_in_anything_stays_apart)
{
    for (int what = 0; what < 7; what++) {
        asx__branches all = { 0 };
        asx__branch *x = make_tree(&all), *y = make_tree(&all);
        asx__branch *last = y->child->next;
        uint64_t two[] = { 30, 31 };
        if (what == 0)
            last->task = 4;
        else if (what == 1)
            last->choice = 1;
        else if (what == 2)
            last->memory[0] = 31;
        else if (what == 3)
            last->prints.all = true;
        else if (what == 4)
            last->prints.several = true;
        else if (what == 5)
            last->next = make(&all, 4, 0, 40);
        else {
            asx__branch_drop(&all, last);
            y->child->next = asx__branch_make(&all, 3, 0,
                                              &(asx__prints){ two, 2, false, 0, 0, false, false });
            CHECK(y->child->next != NULL);
        }
        uint64_t count = all.count;
        share(&all, &x, &y);
        CHECK_EQ(all.count, count);
        CHECK(x != y && x->child != y->child && x->child->next != y->child->next);
        drop(&all, x, y);
    }
}

ASX_TEST(what_is_added_to_one_list_is_not_in_the_other)
{
    asx__branches all = { 0 };
    asx__branch *x = make_tree(&all), *y = make_tree(&all);
    share(&all, &x, &y);
    asx__branch **list = &y;
    asx__branch_begin(&all);
    list = asx__branch_go(&all, list, true);
    list = asx__branch_go(&all, list, false);
    list = asx__branch_go(&all, list, false);
    CHECK(*list == NULL);
    list = asx__branch_own_way(&all, &y);
    CHECK(list != NULL && *list == NULL);
    *list = make(&all, 4, 0, 40);
    CHECK(x->child->next->next == NULL);
    CHECK_EQ(y->child->next->next->task, 4);
    CHECK_EQ(y->child->next->task, 3);
    CHECK_EQ(x->refs, 1);
    CHECK_EQ(y->refs, 1);
    drop(&all, x, y);
}

ASX_TEST(the_first_of_a_list_goes_from_one_place_only)
{
    asx__branches all = { 0 };
    asx__branch *x = make_tree(&all), *y = make_tree(&all);
    x->next = make(&all, 5, 0, 50);
    y->next = make(&all, 5, 0, 50);
    share(&all, &x, &y);
    asx__branch *below = asx__branch_behead(&all, &y);
    CHECK_EQ(y->task, 5);
    CHECK(below == x->child && y == x->next);
    asx__branch_drop(&all, below);
    CHECK_EQ(x->child->refs, 1);
    CHECK_EQ(x->child->next->task, 3);
    drop(&all, x, y);
}

static bool same(const asx__branch *x, const asx__branch *y)
{
    for (; x != NULL && y != NULL; x = x->next, y = y->next)
        if (x->task != y->task || x->choice != y->choice || x->memory[0] != y->memory[0] ||
            !same(x->child, y->child))
            return false;
    return x == y;
}

/* 1 and 6 are followed by the same. */
static asx__branch *make_shared(asx__branches *all)
{
    asx__branch *x = make_tree(all), *y = make(all, 6, 0, 60);
    y->child = make(all, 2, 0, 20);
    y->child->next = make(all, 3, 0, 30);
    x->next = y;
    asx__branch *none = NULL;
    share(all, &x, &none);
    CHECK_EQ(all->count, 4);
    return x;
}

ASX_TEST(a_list_in_two_places_is_written_once_and_read_as_it_was)
{
    asx__branches all = { 0 };
    asx__bytes bytes = { 0 };
    asx__branch *x = make_shared(&all);
    asx__branch_put_tree(&all, &bytes, x);
    CHECK(!bytes.bad);
    asx__reader r = { bytes.at, bytes.len, false };
    asx__branch *y = asx__branch_read_tree(&all, &r);
    CHECK(!r.bad && r.len == 0);
    CHECK(same(x, y));
    CHECK_EQ(all.count, 8);
    CHECK(y->child == y->next->child);
    for (size_t len = 0; len < bytes.len; len++) { /* all that is cut is bad */
        r = (asx__reader){ bytes.at, len, false };
        asx__branch *part = asx__branch_read_tree(&all, &r);
        CHECK(r.bad);
        asx__branch_drop(&all, part);
        CHECK_EQ(all.count, 8);
    }
    free(bytes.at);
    drop(&all, x, y);
}

/* A list that is part of itself would have no end. */
ASX_TEST(a_list_that_has_not_been_read_is_not_read_again)
{
    for (uint32_t number = 0; number < 3; number++) {
        asx__branches all = { 0 };
        asx__bytes bytes = { 0 };
        asx__prints prints = { NULL, 0, false, 0, 0, false, false };
        asx__bytes_u32(&bytes, 1);
        asx__branch_put(&bytes, 1, 0, &prints);
        asx__bytes_u32(&bytes, 2); /* below it: the list that begins with ... */
        asx__bytes_u32(&bytes, number);
        asx__bytes_u32(&bytes, 0);
        asx__reader r = { bytes.at, bytes.len, false };
        asx__branch *x = asx__branch_read_tree(&all, &r);
        CHECK(r.bad);
        free(bytes.at);
        drop(&all, x, NULL);
    }
}
