/* Chains of causes stay within their limits, say where they were cut, and keep their root. */
#include <string.h>

#include "gen.h"
#include "harness.h"
#include "kernel/kernel.h"

enum { LEVELS = 100, LINK = sizeof(asx_cancel_reason) };

static char text[6000];

/* A message of exactly `len` bytes. */
static const char *message_of(size_t len)
{
    if (text[0] == 0)
        memset(text, 'm', sizeof text - 1);
    return text + sizeof text - 1 - len;
}

static size_t count_links(const asx_cancel_reason *reason)
{
    size_t links = 0;
    for (; reason != NULL; reason = reason->cause)
        links++;
    return links;
}

static size_t count_bytes(const asx_cancel_reason *reason)
{
    size_t bytes = 0;
    for (; reason != NULL; reason = reason->cause)
        bytes += LINK + (reason->message ? strlen(reason->message) + 1 : 0);
    return bytes;
}

static const asx_cancel_reason *last_link(const asx_cancel_reason *reason)
{
    while (reason->cause != NULL)
        reason = reason->cause;
    return reason;
}

ASX_TEST(depth_counts_links)
{
    asx_cancel_reason chain[5] = { { .kind = ASX_CANCEL_USER } };
    CHECK_EQ(asx_cancel_reason_depth(NULL), 0u);
    for (uint32_t i = 1; i < 5; i++) {
        chain[i].cause = &chain[i - 1];
        CHECK_EQ(asx_cancel_reason_depth(&chain[i]), i + 1);
    }
}

ASX_TEST(a_root_has_no_cause_and_is_not_cut)
{
    asx_cancel_reason root = { .truncated = true, .truncated_depth = 9, .cause = &root };
    CHECK_STATUS(asx__cancel_chain_link(&root, NULL, 16, 4096), ASX_OK);
    CHECK(root.cause == NULL && !root.truncated && root.truncated_depth == 0);
}

ASX_TEST(sixteen_links_fit_and_the_seventeenth_is_cut_to_the_root)
{
    asx_cancel_reason chain[40];
    memset(chain, 0, sizeof chain);
    for (unsigned i = 0; i < 40; i++) {
        const asx_cancel_reason *parent = i ? &chain[i - 1] : NULL;
        asx_status st = asx__cancel_chain_link(&chain[i], parent, ASX_CANCEL_CHAIN_DEPTH_MAX,
                                               ASX_CANCEL_CHAIN_BYTES_MAX);
        bool cut = i == 16 || i == 31; /* after a cut two links are taken: itself and the root */
        CHECK_STATUS(st, cut ? ASX_E_RESOURCE_EXHAUSTED : ASX_OK);
        CHECK_EQ(chain[i].truncated, cut);
        CHECK_EQ(chain[i].truncated_depth, cut ? i : 0);
        CHECK_PTR_EQ(chain[i].cause, cut ? &chain[0] : parent);
        CHECK_EQ(asx__cancel_chain_length(&chain[i]), i + 1);
    }
}

ASX_TEST(chains_of_any_messages_and_limits_stay_within_both_limits)
{
    gen g = { 19 };
    int cuts = 0, rootless = 0, links = 0;
    for (int round = 0; round < 2000; round++) {
        static asx_cancel_reason chain[LEVELS];
        memset(chain, 0, sizeof chain);
        uint32_t depth_max = 1 + (uint32_t)gen_below(&g, 20);
        size_t bytes_max = LINK + 201 + (size_t)gen_below(&g, 3000);
        for (unsigned i = 0; i < LEVELS; i++) {
            asx_cancel_reason *child = &chain[i];
            const asx_cancel_reason *parent = i ? child - 1 : NULL;
            child->message = gen_bool(&g) ? message_of((size_t)gen_below(&g, 201)) : NULL;
            asx_status st = asx__cancel_chain_link(child, parent, depth_max, bytes_max);
            CHECK_LE(count_links(child), depth_max);
            CHECK_LE(count_bytes(child), bytes_max);
            CHECK_EQ(asx__cancel_chain_length(child), i + 1);
            links++;
            size_t own = count_bytes(child) - count_bytes(child->cause);
            bool fits = count_links(parent) + 1 <= depth_max &&
                        count_bytes(parent) + own <= bytes_max;
            CHECK_STATUS(st, fits ? ASX_OK : ASX_E_RESOURCE_EXHAUSTED);
            CHECK_EQ(child->truncated, !fits);
            if (fits) {
                CHECK_PTR_EQ(child->cause, parent);
                continue;
            }
            cuts++;
            CHECK_EQ(child->truncated_depth, i);
            const asx_cancel_reason *root = last_link(parent);
            bool root_fits = depth_max >= 2 && count_bytes(root) + own <= bytes_max;
            CHECK_PTR_EQ(child->cause, root_fits ? root : NULL);
            rootless += !root_fits;
        }
    }
    CHECK(cuts > 1000 && rootless > 100 && links == 2000 * LEVELS);
}

ASX_TEST(limits_of_nothing_leave_the_reason_alone)
{
    asx_cancel_reason root = { .kind = ASX_CANCEL_USER }, child = { .kind = ASX_CANCEL_PARENT };
    const size_t bytes[] = { 0, LINK - 1, LINK, 2 * LINK - 1 };
    for (size_t i = 0; i < 4; i++) {
        CHECK_STATUS(asx__cancel_chain_link(&child, &root, 16, bytes[i]), ASX_E_RESOURCE_EXHAUSTED);
        CHECK(child.cause == NULL && child.truncated && child.truncated_depth == 1);
    }
    CHECK_STATUS(asx__cancel_chain_link(&child, &root, 0, 4096), ASX_E_RESOURCE_EXHAUSTED);
    CHECK(child.cause == NULL && child.truncated);
    CHECK_STATUS(asx__cancel_chain_link(&child, &root, 1, 4096), ASX_E_RESOURCE_EXHAUSTED);
    CHECK(child.cause == NULL && child.truncated);
    CHECK_STATUS(asx__cancel_chain_link(&child, &root, 2, 2 * LINK), ASX_OK);
    CHECK(child.cause == &root && !child.truncated && child.truncated_depth == 0);
}

ASX_TEST(the_part_that_fits_is_measured_from_the_front)
{
    asx_cancel_reason chain[5];
    memset(chain, 0, sizeof chain);
    for (unsigned i = 1; i < 5; i++)
        chain[i].cause = &chain[i - 1];
    chain[3].message = message_of(9); /* the second from the front costs ten bytes more */
    for (uint32_t depth_max = 0; depth_max < 8; depth_max++) {
        for (size_t bytes_max = 0; bytes_max < 6 * LINK; bytes_max++) {
            uint32_t links = 0;
            size_t bytes = 0;
            for (unsigned left = 5; left > 0 && links < depth_max; left--, links++) {
                size_t more = LINK + (left - 1 == 3 ? 10 : 0);
                if (bytes + more > bytes_max)
                    break;
                bytes += more;
            }
            asx__chain_size size = asx__cancel_chain_fit(&chain[4], depth_max, bytes_max);
            CHECK_EQ(size.links, links);
            CHECK_EQ(size.bytes, bytes);
            CHECK_EQ(size.whole, links == 5);
        }
    }
    asx__chain_size empty = asx__cancel_chain_fit(NULL, 0, 0);
    CHECK(empty.links == 0 && empty.bytes == 0 && empty.whole);
}

ASX_TEST(a_chain_that_never_ends_is_measured_and_cut)
{
    asx_cancel_reason loop[2] = { { .cause = &loop[1] }, { .cause = &loop[0] } }, child = { 0 };
    asx__chain_size size = asx__cancel_chain_fit(&loop[0], 16, 4096);
    CHECK(size.links == 16 && !size.whole);
    CHECK_EQ(asx__cancel_chain_length(&loop[0]), UINT16_MAX);
    CHECK_STATUS(asx__cancel_chain_link(&child, &loop[0], 16, 4096), ASX_E_RESOURCE_EXHAUSTED);
    CHECK(child.truncated && child.truncated_depth == UINT16_MAX);
    CHECK(child.cause == NULL || count_links(child.cause) <= 15);
}

/* A cut keeps the root as long as it lies within UINT16_MAX links. */
ASX_TEST(the_root_of_the_longest_chain_is_found_and_of_a_longer_one_given_up)
{
    static asx_cancel_reason chain[UINT16_MAX + 1];
    asx_cancel_reason child = { 0 };
    for (size_t i = 1; i <= UINT16_MAX; i++)
        chain[i].cause = &chain[i - 1];
    CHECK_STATUS(asx__cancel_chain_link(&child, &chain[UINT16_MAX - 1], 16, 4096),
                 ASX_E_RESOURCE_EXHAUSTED);
    CHECK_PTR_EQ(child.cause, &chain[0]);
    CHECK_STATUS(asx__cancel_chain_link(&child, &chain[UINT16_MAX], 16, 4096),
                 ASX_E_RESOURCE_EXHAUSTED);
    CHECK_PTR_EQ(child.cause, NULL);
}

ASX_TEST(the_true_length_saturates)
{
    asx_cancel_reason cut = { .truncated = true, .truncated_depth = UINT16_MAX - 1 };
    asx_cancel_reason next = { .cause = &cut };
    CHECK_EQ(asx__cancel_chain_length(NULL), 0);
    CHECK_EQ(asx__cancel_chain_length(&cut), UINT16_MAX);
    CHECK_EQ(asx__cancel_chain_length(&next), UINT16_MAX);
    cut.truncated_depth--;
    CHECK_EQ(asx__cancel_chain_length(&cut), UINT16_MAX - 1);
    CHECK_EQ(asx__cancel_chain_length(&next), UINT16_MAX);
}

ASX_TEST(a_message_is_kept_as_far_as_a_single_reason_fits)
{
    CHECK_EQ(asx__cancel_message_fit(NULL, 4096), 0u);
    for (size_t len = 0; len < 5000; len += 7) {
        for (size_t bytes_max = 0; bytes_max < 4096; bytes_max += 61) {
            size_t room = bytes_max > LINK ? bytes_max - LINK - 1 : 0;
            CHECK_EQ(asx__cancel_message_fit(message_of(len), bytes_max), len < room ? len : room);
        }
    }
    asx_cancel_reason reason = { .message = message_of(asx__cancel_message_fit(message_of(5000),
                                                                               4096)) };
    CHECK_EQ(asx__cancel_reason_bytes(&reason), 4096u);
    reason.message = NULL;
    CHECK_EQ(asx__cancel_reason_bytes(&reason), (size_t)LINK);
}

static void link_to_itself(void *arg)
{
    asx_cancel_reason reason = { .kind = ASX_CANCEL_USER };
    (void)arg;
    (void)asx__cancel_chain_link(&reason, &reason, 16, 4096);
}

ASX_TEST(broken_promises_of_the_caller_are_caught)
{
    CHECK_DIES(link_to_itself, NULL);
}
