/* The hash does what its head comment says, with the same numbers on every machine. */
#include "base/hash.h"

#include <string.h>

#include "harness.h"

ASX_TEST(known_inputs_have_the_documented_hashes)
{
    uint8_t all[256];
    for (unsigned i = 0; i < 256; i++)
        all[i] = (uint8_t)i;
    CHECK_EQ(asx__hash_bytes(0, "", 0), UINT64_C(0xe9e0033e3badaf36));
    CHECK_EQ(asx__hash_bytes(1, "", 0), UINT64_C(0xeab29de408aa52fd));
    CHECK_EQ(asx__hash_bytes(0, "a", 1), UINT64_C(0x5cc6524cad1d097b));
    CHECK_EQ(asx__hash_bytes(0, "structured concurrency", 22), UINT64_C(0x0318b29a68a2ba2a));
    CHECK_EQ(asx__hash_bytes(7, all, sizeof(all)), UINT64_C(0xa8fc65ad0339ae62));
}

ASX_TEST(words_hash_as_their_little_endian_bytes)
{
    uint64_t words[5] = { 0, 1, UINT64_MAX, UINT64_C(0x0123456789abcdef), 7 };
    uint8_t bytes[40];
    for (size_t i = 0; i < 5; i++) {
        asx__store_le64(bytes + 8 * i, words[i]);
        CHECK_EQ(asx__load_le64(bytes + 8 * i), words[i]);
    }
    CHECK_EQ(bytes[24], 0xef);
    CHECK_EQ(bytes[31], 0x01);
    CHECK_EQ(asx__hash_words(3, words, 5), asx__hash_bytes(3, bytes, 40));
}

ASX_TEST(pieces_hash_as_the_whole)
{
    uint8_t bytes[61];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 37);
    uint64_t whole = asx__hash_bytes(9, bytes, sizeof(bytes));
    for (size_t first = 0; first <= sizeof(bytes); first++) {
        for (size_t second = first; second <= sizeof(bytes); second++) {
            asx__hasher hasher;
            asx__hasher_init(&hasher, 9);
            asx__hasher_bytes(&hasher, bytes, first);
            (void)asx__hasher_value(&hasher);
            asx__hasher_bytes(&hasher, bytes + first, second - first);
            asx__hasher_bytes(&hasher, bytes + second, sizeof(bytes) - second);
            CHECK_EQ(asx__hasher_value(&hasher), whole);
        }
    }
}

ASX_TEST(zeros_at_the_end_and_keys_count)
{
    const uint8_t zeros[16] = { 0 };
    for (size_t i = 0; i <= 16; i++) {
        for (size_t j = 0; j < i; j++)
            CHECK_NE(asx__hash_bytes(0, zeros, i), asx__hash_bytes(0, zeros, j));
        CHECK_NE(asx__hash_bytes(0, zeros, i), asx__hash_bytes(1, zeros, i));
    }
}

/* Each flipped bit must flip about half of the result: 24 to 40 of 64 bits on the average over
 * all places, and never fewer than 8 in one. */
ASX_TEST(one_flipped_bit_reaches_the_whole_hash)
{
    uint8_t bytes[64];
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)(i * 59 + 1);
    uint64_t before = asx__hash_bytes(0, bytes, sizeof(bytes));
    unsigned sum = 0;
    for (size_t bit = 0; bit < 8 * sizeof(bytes); bit++) {
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        uint64_t after = asx__hash_bytes(0, bytes, sizeof(bytes));
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        unsigned changed = (unsigned)__builtin_popcountll(before ^ after);
        CHECK_GE(changed, 8u);
        sum += changed;
    }
    CHECK_GE(sum, 24u * 512);
    CHECK_LE(sum, 40u * 512);
}

/* A difference in one word must not be undone by a difference of one bit in another. */
ASX_TEST(two_flipped_bits_never_cancel)
{
    uint64_t words[4] = { 1, 2, 3, 4 };
    uint64_t before = asx__hash_words(0, words, 4);
    for (unsigned x = 0; x < 256; x++) {
        for (unsigned y = x + 1; y < 256; y++) {
            words[x / 64] ^= UINT64_C(1) << x % 64;
            words[y / 64] ^= UINT64_C(1) << y % 64;
            CHECK_NE(asx__hash_words(0, words, 4), before);
            words[x / 64] ^= UINT64_C(1) << x % 64;
            words[y / 64] ^= UINT64_C(1) << y % 64;
        }
    }
}
