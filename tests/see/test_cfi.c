/* The reader of unwind tables: every instruction gives its rule, and tables that are damaged in any
 * way are refused or misread, but never read outside of their bounds. */
#include "harness.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "see/see.h"

#if ASX__CAN_UNWIND

enum { SIZE = 256, CODE = 4096, CODE_LEN = 64 };

typedef struct table {
    uint8_t *bytes; /* of exactly `len`, so that a sanitizer sees a read too many */
    size_t len;
    uintptr_t pc;   /* where the one function begins */
} table;

static void put32(uint8_t *at, int64_t value)
{
    uint32_t word = (uint32_t)value;
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(word >> (8 * i));
}

/* One function with these instructions, behind `def_cfa sp + 8` and `return address at CFA - 8`. */
static table make(const uint8_t *code, size_t code_len)
{
    uint8_t b[SIZE] = { 0x01, 0x1b, 0x03, 0x3b };
    const size_t cie = 20, cie_len = 24, fde = cie + 4 + cie_len;
    const uint8_t common[] = { 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, ASX__REG_RETURN, 1, 0x1b,
                               0x0c, ASX__REG_SP, 8, 0x80 | ASX__REG_RETURN, 1 };
    size_t fde_len = 4 + 4 + 4 + 1 + code_len;
    put32(b + 4, (int64_t)cie - 4);
    put32(b + 8, 1);
    put32(b + 12, CODE);
    put32(b + 16, (int64_t)fde);
    put32(b + cie, (int64_t)cie_len);
    memcpy(b + cie + 4, common, sizeof common);
    put32(b + fde, (int64_t)fde_len);
    put32(b + fde + 4, (int64_t)(fde + 4 - cie));
    put32(b + fde + 8, CODE - (int64_t)(fde + 8));
    put32(b + fde + 12, CODE_LEN);
    CHECK(fde + 17 + code_len <= sizeof b);
    memcpy(b + fde + 17, code, code_len);
    table t = { .len = fde + 17 + code_len };
    t.bytes = malloc(t.len);
    CHECK(t.bytes != NULL);
    memcpy(t.bytes, b, t.len);
    t.pc = (uintptr_t)t.bytes + CODE;
    return t;
}

static asx__cfi cfi;

static bool find(const table *t, size_t offset, bool sorted)
{
    asx__cfi_table where = { sorted ? t->bytes : NULL, t->bytes + 20, t->bytes,
                             t->bytes + t->len };
    memset(&cfi, 0, sizeof cfi);
    return asx__cfi_find(&cfi, &where, t->pc + offset);
}

#define AT(offset_, ...)                                                                           \
    do {                                                                                           \
        const uint8_t code_[] = { __VA_ARGS__ };                                                   \
        table t_ = make(code_, sizeof code_);                                                      \
        CHECK(find(&t_, (offset_), true));                                                         \
        asx__cfi_row row_ = cfi.row;                                                               \
        CHECK(find(&t_, (offset_), false));                                                        \
        CHECK_MEM_EQ(&row_, &cfi.row, sizeof row_);                                                \
        free(t_.bytes);                                                                            \
    } while (0)

#define RULE(reg_, kind_, offset_)                                                                 \
    do {                                                                                           \
        CHECK_EQ(cfi.row.rule[reg_].kind, (kind_));                                                \
        CHECK_EQ(cfi.row.rule[reg_].offset, (offset_));                                            \
    } while (0)

ASX_TEST(every_instruction_gives_its_rule)
{
    AT(0, 0);
    CHECK_EQ(cfi.row.cfa_register, ASX__REG_SP);
    CHECK_EQ(cfi.row.cfa.offset, 8);
    RULE(ASX__REG_RETURN, ASX__CFI_OFFSET, -8);
    AT(4, 0x44, 0x0e, 16, 0x83, 2); /* advance 4; CFA offset 16; r3 at CFA - 16 */
    CHECK_EQ(cfi.row.cfa.offset, 16);
    RULE(3, ASX__CFI_OFFSET, -16);
    AT(3, 0x44, 0x0e, 16); /* not yet */
    CHECK_EQ(cfi.row.cfa.offset, 8);
    AT(9, 0x02, 4, 0x0e, 16, 0x03, 4, 0, 0x0e, 24, 0x04, 4, 0, 0, 0, 0x0e, 32);
    CHECK_EQ(cfi.row.cfa.offset, 24);
    AT(0, 0x83, 2, 0xc3);
    RULE(3, ASX__CFI_SAME, 0);
    AT(0, 0x05, 3, 2, 0x06, 3);
    RULE(3, ASX__CFI_SAME, 0);
    AT(0, 0x07, 3);
    RULE(3, ASX__CFI_UNDEFINED, 0);
    AT(0, 0x83, 2, 0x08, 3);
    RULE(3, ASX__CFI_SAME, 0);
    AT(0, 0x09, 3, 4);
    RULE(3, ASX__CFI_REGISTER, 4);
    AT(0, 0x0a, 0x83, 2, 0x0e, 80, 0x0b); /* remember, change, restore */
    RULE(3, ASX__CFI_SAME, 0);
    CHECK_EQ(cfi.row.cfa.offset, 8);
    AT(0, 0x0d, 3);
    CHECK_EQ(cfi.row.cfa_register, 3);
    CHECK_EQ(cfi.row.cfa.offset, 8);
    AT(0, 0x11, 3, 0x7e);
    RULE(3, ASX__CFI_OFFSET, 16);
    AT(0, 0x12, 3, 0x7e);
    CHECK_EQ(cfi.row.cfa.offset, 16);
    AT(0, 0x13, 0x7d);
    CHECK_EQ(cfi.row.cfa.offset, 24);
    AT(0, 0x14, 3, 2);
    RULE(3, ASX__CFI_VALUE, -16);
    AT(0, 0x15, 3, 0x7e);
    RULE(3, ASX__CFI_VALUE, 16);
    AT(0, 0x2d);
    CHECK(cfi.row.return_signed);
    AT(0, 0x2e, 5, 0x2f, 3, 2);
    RULE(3, ASX__CFI_OFFSET, 16);
    AT(0, 0x0f, 1, 0x30);
    CHECK_EQ(cfi.row.cfa.kind, ASX__CFI_EXPRESSION);
    AT(0, 0x10, 3, 1, 0x30, 0x16, 4, 1, 0x31);
    CHECK_EQ(cfi.row.rule[3].kind, ASX__CFI_EXPRESSION);
    CHECK_EQ(cfi.row.rule[4].kind, ASX__CFI_VALUE_EXPRESSION);
}

ASX_TEST(what_lies_outside_of_the_function_or_is_not_understood_is_refused)
{
    const uint8_t nothing[] = { 0 }, unknown[] = { 0x3f }, unbalanced[] = { 0x0b };
    const uint8_t deep[] = { 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a };
    const uint8_t cut[] = { 0x0f, 100, 0x30 };
    const struct { const uint8_t *code; size_t len; } bad[] = {
        { unknown, sizeof unknown }, { unbalanced, sizeof unbalanced }, { deep, sizeof deep },
        { cut, sizeof cut },
    };
    table t = make(nothing, sizeof nothing);
    CHECK(find(&t, CODE_LEN - 1, true));
    CHECK(!find(&t, CODE_LEN, true));
    CHECK(!find(&t, (size_t)-1, true));
    CHECK(!find(&t, CODE_LEN, false));
    free(t.bytes);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        t = make(bad[i].code, bad[i].len);
        CHECK(!find(&t, 0, true));
        free(t.bytes);
    }
}

ASX_TEST(damaged_tables_are_never_read_beyond_their_ends)
{
    static const uint8_t code[] = { 0x44, 0x0e, 16, 0x83, 2, 0x0a, 0x0b, 0x10, 3, 1, 0x30, 0x13,
                                    0x7d, 0x0f, 2, 0x77, 8, 0x05, 3, 2 };
    asx__rng rng;
    unsigned found = 0;
    asx__rng_seed(&rng, 7);
    for (int round = 0; round < 20000; round++) {
        table t = make(code, sizeof code);
        for (uint64_t n = 1 + asx__rng_below(&rng, 4); n > 0; n--)
            t.bytes[asx__rng_below(&rng, t.len)] = (uint8_t)asx__rng_below(&rng, 256);
        found += find(&t, asx__rng_below(&rng, CODE_LEN), (round & 1) != 0);
        free(t.bytes);
    }
    CHECK_GE(found, 100); /* damage where it does not matter */
    CHECK_LE(found, 19900);
}

#else

ASX_TEST(this_processor_has_no_chains)
{
    CHECK_EQ(ASX__REG_COUNT, 1);
}

#endif
