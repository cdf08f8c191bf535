/* Handles: the encoding, narrowing, and what an endpoint finds out before it acts. */
#include <asx/handle.h>

#include "gen.h"
#include "harness.h"

enum { ROUNDS = 20000 };

ASX_TEST(a_handle_is_sixteen_bytes_with_the_documented_layout)
{
    CHECK_EQ(sizeof(asx_handle), 16u);
    asx_handle handle = asx_handle_make(ASX_TAG_OBLIGATION, 0xa5c3, 0xdeadbeef, 42);
    CHECK_EQ(handle.word, UINT64_C(0x0003a5c3deadbeef));
    CHECK_EQ(handle.generation, 42u);
}

ASX_TEST(tags_have_the_documented_numbers)
{
    CHECK_EQ(ASX_TAG_NONE, 0);
    CHECK_EQ(ASX_TAG_REGION, 1);
    CHECK_EQ(ASX_TAG_TASK, 2);
    CHECK_EQ(ASX_TAG_OBLIGATION, 3);
    CHECK_EQ(ASX_TAG_CANCEL_WITNESS, 4);
    CHECK_EQ(ASX_TAG_TIMER, 5);
    CHECK_EQ(ASX_TAG_CHANNEL, 6);
}

ASX_TEST(what_was_put_in_comes_out)
{
    gen g = { 1 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_tag tag = (asx_tag)gen_edgy(&g, 0xffff);
        uint16_t mask = (uint16_t)gen_edgy(&g, 0xffff);
        uint32_t index = (uint32_t)gen_edgy(&g, UINT32_MAX);
        uint64_t generation = gen_edgy(&g, UINT64_MAX);
        asx_handle handle = asx_handle_make(tag, mask, index, generation);
        CHECK_EQ(asx_handle_tag(handle), tag);
        CHECK_EQ(asx_handle_mask(handle), mask);
        CHECK_EQ(asx_handle_index(handle), index);
        CHECK_EQ(handle.generation, generation);
    }
}

ASX_TEST(narrowing_never_widens_and_keeps_the_rest)
{
    gen g = { 2 };
    for (int i = 0; i < ROUNDS; i++) {
        asx_handle wide = { gen_u64(&g), gen_edgy(&g, UINT64_MAX) };
        uint16_t by = (uint16_t)gen_edgy(&g, 0xffff);
        asx_handle narrow = asx_handle_narrow(wide, by);
        CHECK_EQ(asx_handle_mask(narrow), asx_handle_mask(wide) & by);
        CHECK_EQ(asx_handle_mask(narrow) & ~asx_handle_mask(wide), 0);
        CHECK_EQ(asx_handle_tag(narrow), asx_handle_tag(wide));
        CHECK_EQ(asx_handle_index(narrow), asx_handle_index(wide));
        CHECK(asx_handle_same(narrow, wide));
        CHECK_EQ(asx_handle_narrow(narrow, ASX_STATE_MASK_ALL).word, narrow.word);
        CHECK_EQ(asx_handle_narrow(narrow, by).word, narrow.word);
    }
}

ASX_TEST(every_bit_but_those_of_the_mask_tells_handles_apart)
{
    const asx_handle base = asx_handle_make(ASX_TAG_TASK, 0x0f0f, 1234, 99);
    for (int bit = 0; bit < 64; bit++) {
        asx_handle other = base;
        other.word ^= UINT64_C(1) << bit;
        CHECK_EQ(asx_handle_same(base, other), bit >= 32 && bit < 48);
        other = base;
        other.generation ^= UINT64_C(1) << bit;
        CHECK(!asx_handle_same(base, other));
    }
    CHECK(asx_handle_same(base, base));
}

/* All combinations of right and wrong answers; the first wrong one in the documented order wins. */
ASX_TEST(the_check_answers_in_the_documented_order)
{
    for (unsigned c = 0; c < 16; c++) {
        bool tag_ok = c & 1, generation_ok = c & 2, works = c & 4, may = c & 8;
        asx_handle handle = asx_handle_make(ASX_TAG_TASK, may ? 0x0006 : 0x0004, 7, 5);
        asx_status st = asx_handle_check(handle, tag_ok ? ASX_TAG_TASK : ASX_TAG_REGION,
                                         generation_ok ? 5 : 6, 0x0002, works ? 0x0003 : 0x0005);
        asx_status expected = !tag_ok          ? ASX_E_INVALID_ARGUMENT
                              : !generation_ok ? ASX_E_STALE_HANDLE
                              : !works         ? ASX_E_INVALID_TRANSITION
                              : !may           ? ASX_E_CAPABILITY
                                               : ASX_OK;
        CHECK_STATUS(st, expected);
    }
}

ASX_TEST(the_check_follows_the_masks_bit_by_bit)
{
    gen g = { 3 };
    for (int i = 0; i < ROUNDS; i++) {
        uint16_t mask = (uint16_t)gen_u64(&g), endpoint = (uint16_t)gen_u64(&g);
        uint16_t bit = (uint16_t)(1u << gen_below(&g, 16));
        asx_handle handle = asx_handle_make(ASX_TAG_CHANNEL, mask, 0, 1);
        asx_status expected = (bit & endpoint) == 0 ? ASX_E_INVALID_TRANSITION
                              : (bit & mask) == 0   ? ASX_E_CAPABILITY
                                                    : ASX_OK;
        CHECK_STATUS(asx_handle_check(handle, ASX_TAG_CHANNEL, 1, bit, endpoint), expected);
    }
}

ASX_TEST(generation_zero_names_nothing)
{
    asx_handle nothing = asx_handle_make(ASX_TAG_REGION, ASX_STATE_MASK_ALL, 0, 0);
    CHECK_STATUS(asx_handle_check(nothing, ASX_TAG_REGION, 0, 1, ASX_STATE_MASK_ALL),
                 ASX_E_STALE_HANDLE);
}

ASX_TEST(generations_carry_the_runtime_and_skip_zero)
{
    const uint16_t runtimes[] = { 0, 1, 0x8000, 0xffff };
    for (size_t i = 0; i < 4; i++) {
        uint64_t upper = (uint64_t)runtimes[i] << 48;
        CHECK_EQ(asx__generation_first(runtimes[i]), upper | 1);
        CHECK_EQ(asx__generation_next(upper | 1), upper | 2);
        CHECK_EQ(asx__generation_next(upper | ASX__GENERATION_COUNT_MASK), upper | 1);
        CHECK_EQ(asx__generation_next(upper | (ASX__GENERATION_COUNT_MASK - 1)),
                 upper | ASX__GENERATION_COUNT_MASK);
    }
}

ASX_TEST(a_handle_of_another_runtime_is_stale)
{
    asx_handle handle = asx_handle_make(ASX_TAG_TASK, ASX_STATE_MASK_ALL, 3,
                                        asx__generation_first(1));
    CHECK_STATUS(asx_handle_check(handle, ASX_TAG_TASK, asx__generation_first(1), 1, 1), ASX_OK);
    CHECK_STATUS(asx_handle_check(handle, ASX_TAG_TASK, asx__generation_first(2), 1, 1),
                 ASX_E_STALE_HANDLE);
}
