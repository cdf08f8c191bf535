/* The generators give the published numbers; draws are fair; forks are independent of draws. */
#include "base/rng.h"

#include "harness.h"

ASX_TEST(splitmix64_gives_the_published_numbers)
{
    static const uint64_t expected[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973),
        UINT64_C(9817491932198370423), UINT64_C(4593380528125082431),
        UINT64_C(16408922859458223821),
    };
    uint64_t state = 1234567;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        CHECK_EQ(asx__splitmix64_next(&state), expected[i]);
}

ASX_TEST(xoshiro256starstar_gives_the_published_numbers)
{
    static const uint64_t expected[] = {
        UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240), UINT64_C(1215971899390074240),
        UINT64_C(1216172134540287360), UINT64_C(607988272756665600),
        UINT64_C(16172922978634559625), UINT64_C(8476171486693032832),
        UINT64_C(10595114339597558777), UINT64_C(2904607092377533576),
    };
    asx__rng rng = { .s = { 1, 2, 3, 4 } };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        CHECK_EQ(asx__rng_next(&rng), expected[i]);
}

ASX_TEST(a_seed_fills_the_state_from_splitmix64)
{
    asx__rng rng;
    asx__rng_seed(&rng, 1234567);
    CHECK_EQ(rng.s[0], UINT64_C(6457827717110365317));
    CHECK_EQ(rng.s[3], UINT64_C(4593380528125082431));
    asx__rng_seed(&rng, 0);
    CHECK((rng.s[0] | rng.s[1] | rng.s[2] | rng.s[3]) != 0);
}

ASX_TEST(equal_seeds_give_equal_numbers_and_others_do_not)
{
    asx__rng x, y, z;
    asx__rng_seed(&x, 5);
    asx__rng_seed(&y, 5);
    asx__rng_seed(&z, 6);
    unsigned same = 0;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t drawn = asx__rng_next(&x);
        CHECK_EQ(asx__rng_next(&y), drawn);
        same += asx__rng_next(&z) == drawn;
    }
    CHECK_EQ(same, 0u);
}

ASX_TEST(below_stays_below_and_meets_every_number_equally_often)
{
    asx__rng rng;
    asx__rng_seed(&rng, 1);
    for (uint64_t n = 1; n <= 12; n++) {
        unsigned met[12] = { 0 };
        for (unsigned i = 0; i < 1200 * n; i++) {
            uint64_t drawn = asx__rng_below(&rng, n);
            CHECK(drawn < n);
            met[drawn]++;
        }
        for (uint64_t i = 0; i < n; i++) { /* 1200 expected, six standard deviations */
            CHECK_GE(met[i], 1200u - 208u);
            CHECK_LE(met[i], 1200u + 208u);
        }
    }
}

/* With n = 3 * 2^62 a plain remainder would give the lowest third twice as often as the others. */
ASX_TEST(below_has_no_bias_when_n_is_near_two_to_the_64)
{
    asx__rng rng;
    asx__rng_seed(&rng, 2);
    uint64_t n = UINT64_C(3) << 62;
    unsigned lowest_third = 0;
    for (unsigned i = 0; i < 9000; i++)
        lowest_third += asx__rng_below(&rng, n) < n / 3;
    CHECK_GE(lowest_third, 3000u - 270u);
    CHECK_LE(lowest_third, 3000u + 270u);
    CHECK_LE(asx__rng_below(&rng, UINT64_MAX), UINT64_MAX - 1);
}

ASX_TEST(a_fork_depends_on_seed_and_stream_but_not_on_draws)
{
    asx__rng root, other;
    asx__rng_seed(&root, 77);
    asx__rng_seed(&other, 78);
    asx__rng early = asx__rng_fork(&root, 3);
    for (unsigned i = 0; i < 10; i++)
        (void)asx__rng_next(&root);
    asx__rng late = asx__rng_fork(&root, 3);
    asx__rng next_stream = asx__rng_fork(&root, 4);
    asx__rng other_seed = asx__rng_fork(&other, 3);
    asx__rng nested = asx__rng_fork(&early, 3);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t drawn = asx__rng_next(&early);
        CHECK_EQ(asx__rng_next(&late), drawn);
        CHECK_NE(asx__rng_next(&next_stream), drawn);
        CHECK_NE(asx__rng_next(&other_seed), drawn);
        CHECK_NE(asx__rng_next(&nested), drawn);
    }
}

static void below_zero(void *arg)
{
    (void)asx__rng_below(arg, 0);
}

ASX_TEST(below_zero_is_a_broken_promise)
{
    asx__rng rng;
    asx__rng_seed(&rng, 1);
    CHECK_DIES(below_zero, &rng);
}
