/* cfi.c - finds, in the unwind tables that compilers and our assembly leave in .eh_frame, how the
 * caller's registers are found from those of a call.
 *
 * A table of functions sorted by address (.eh_frame_hdr) leads to an entry (FDE), which refers to
 * what it has in common with others (CIE). Static programs have the entries only. Both hold
 * instructions that build a row of rules, one for the canonical frame address and one per
 * register, from the beginning of the function up to the address asked for.
 *
 * Tables are written by compilers and mapped read-only; still every read is bounded, and what is
 * not understood ends the walk.
 *
 * Rejected: _Unwind_Backtrace() of the compiler's library, since it follows stack contents without
 * asking whether they can be read, may take locks, and walks only the stack that it stands on.
 */
#include "see/see.h"

#include <string.h>

typedef struct reader {
    const uint8_t *at, *end;
    bool bad;
} reader;

static uint64_t take(reader *r, unsigned size)
{
    uint64_t value = 0;
    if ((size_t)(r->end - r->at) < size) {
        r->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)r->at[i] << (8 * i);
    r->at += size;
    return value;
}

static int64_t take_signed(reader *r, unsigned size)
{
    uint64_t value = take(r, size);
    unsigned unused = 64 - 8 * size;
    return (int64_t)(value << unused) >> unused;
}

static uint64_t uleb(reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = take(r, 1);
        value |= (byte & 0x7f) << shift;
        if ((byte & 0x80) == 0)
            return value;
    }
    r->bad = true;
    return 0;
}

static int64_t sleb(reader *r)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint64_t byte = take(r, 1);
        value |= (byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) == 0) {
            if ((byte & 0x40) != 0 && shift < 64)
                value |= UINT64_MAX << shift;
            return (int64_t)value;
        }
    }
    r->bad = true;
    return 0;
}

/* A pointer in one of the encodings of the tables. 0xff: none is there. */
static uintptr_t encoded(reader *r, uint8_t encoding, uintptr_t data)
{
    uintptr_t place = (uintptr_t)r->at;
    uint64_t value;
    if (encoding == 0xff)
        return 0;
    switch (encoding & 0x0f) {
    case 0x00: value = take(r, sizeof(uintptr_t)); break;
    case 0x01: value = uleb(r); break;
    case 0x02: value = take(r, 2); break;
    case 0x03: value = take(r, 4); break;
    case 0x04: value = take(r, 8); break;
    case 0x09: value = (uint64_t)sleb(r); break;
    case 0x0a: value = (uint64_t)take_signed(r, 2); break;
    case 0x0b: value = (uint64_t)take_signed(r, 4); break;
    case 0x0c: value = take(r, 8); break;
    default: r->bad = true; return 0;
    }
    switch (encoding & 0x70) {
    case 0x00: break;
    case 0x10: value += place; break;
    case 0x30: value += data; break;
    default: r->bad = true; break;
    }
    return (uintptr_t)value;
}

/* ---- entries -------------------------------------------------------------------------------- */

typedef struct common {
    uint64_t code_align;
    int64_t data_align;
    uint8_t encoding;
    bool augmented;
    reader code;
} common;

/* Sets *ret to the contents of the entry at `at`, behind its length. */
static bool entry_at(const asx__cfi *cfi, const uint8_t *at, reader *ret)
{
    const uint8_t *end = cfi->text_end;
    reader r = { at, end, false };
    if (at < cfi->text_begin || at >= end)
        return false;
    uint64_t length = take(&r, 4);
    if (length == UINT32_MAX)
        length = take(&r, 8);
    if (r.bad || length == 0 || length > (uint64_t)(end - r.at))
        return false;
    *ret = (reader){ r.at, r.at + length, false };
    return true;
}

static void read_augmentation(asx__cfi *cfi, common *cie, reader *r, const char *letters)
{
    uint64_t length = uleb(r);
    if (length > (uint64_t)(r->end - r->at)) {
        r->bad = true;
        return;
    }
    const uint8_t *after = r->at + length;
    for (; *letters != '\0'; letters++) {
        if (*letters == 'R')
            cie->encoding = (uint8_t)take(r, 1);
        else if (*letters == 'L')
            (void)take(r, 1);
        else if (*letters == 'P')
            (void)encoded(r, (uint8_t)take(r, 1) & 0x7f, 0);
        else if (*letters == 'S')
            cfi->signal_frame = true;
        else if (*letters != 'B')
            break; /* the rest is skipped by its length */
    }
    r->at = after;
}

static bool read_common(asx__cfi *cfi, const uint8_t *at, common *cie)
{
    reader r;
    if (!entry_at(cfi, at, &r) || take(&r, 4) != 0)
        return false;
    uint64_t version = take(&r, 1);
    const char *letters = (const char *)r.at;
    size_t len = strnlen(letters, (size_t)(r.end - r.at));
    r.at += len;
    (void)take(&r, 1);
    if (version == 4)
        (void)take(&r, 2);
    cie->code_align = uleb(&r);
    cie->data_align = sleb(&r);
    cfi->return_register = version == 1 ? (uint32_t)take(&r, 1) : (uint32_t)uleb(&r);
    cie->encoding = 0;
    cie->augmented = *letters == 'z';
    if (cie->augmented)
        read_augmentation(cfi, cie, &r, letters + 1);
    else if (len != 0)
        return false;
    cie->code = r;
    return !r.bad && (version == 1 || version == 3 || version == 4) &&
           cfi->return_register < ASX__REG_COUNT;
}

/* ---- instructions --------------------------------------------------------------------------- */

static void set_rule(asx__cfi *cfi, uint64_t reg, uint8_t kind, int64_t offset)
{
    if (reg < ASX__REG_COUNT)
        cfi->row.rule[reg] = (asx__cfi_rule){ kind, offset, NULL };
}

static void restore_rule(asx__cfi *cfi, uint64_t reg)
{
    if (reg < ASX__REG_COUNT)
        cfi->row.rule[reg] = cfi->initial.rule[reg];
}

static const uint8_t *expression(reader *r)
{
    const uint8_t *code = r->at;
    uint64_t length = uleb(r);
    if (length > (uint64_t)(r->end - r->at))
        r->bad = true;
    else
        r->at += length;
    return code;
}

static void set_expression(asx__cfi *cfi, reader *r, uint8_t kind)
{
    uint64_t reg = uleb(r);
    const uint8_t *code = expression(r);
    if (reg < ASX__REG_COUNT)
        cfi->row.rule[reg] = (asx__cfi_rule){ kind, 0, code };
}

static void set_cfa(asx__cfi *cfi, uint64_t reg, int64_t offset)
{
    cfi->row.cfa = (asx__cfi_rule){ ASX__CFI_REGISTER, offset, NULL };
    cfi->row.cfa_register = (uint32_t)reg;
}

static void remember(asx__cfi *cfi, reader *r)
{
    if (cfi->depth == ASX__CFI_DEPTH)
        r->bad = true;
    else
        cfi->stack[cfi->depth++] = cfi->row;
}

static void recall(asx__cfi *cfi, reader *r)
{
    if (cfi->depth == 0)
        r->bad = true;
    else
        cfi->row = cfi->stack[--cfi->depth];
}

/* One of the instructions that stand in a byte of their own, advances excepted. */
static void instruct(asx__cfi *cfi, const common *cie, reader *r, uint64_t op)
{
    uint64_t reg;
    switch (op) {
    case 0x00: break;
    case 0x05: reg = uleb(r);
        set_rule(cfi, reg, ASX__CFI_OFFSET, (int64_t)uleb(r) * cie->data_align); break;
    case 0x06: restore_rule(cfi, uleb(r)); break;
    case 0x07: set_rule(cfi, uleb(r), ASX__CFI_UNDEFINED, 0); break;
    case 0x08: set_rule(cfi, uleb(r), ASX__CFI_SAME, 0); break;
    case 0x09: reg = uleb(r); set_rule(cfi, reg, ASX__CFI_REGISTER, (int64_t)uleb(r)); break;
    case 0x0a: remember(cfi, r); break;
    case 0x0b: recall(cfi, r); break;
    case 0x0c: reg = uleb(r); set_cfa(cfi, reg, (int64_t)uleb(r)); break;
    case 0x0d: set_cfa(cfi, uleb(r), cfi->row.cfa.offset); break;
    case 0x0e: set_cfa(cfi, cfi->row.cfa_register, (int64_t)uleb(r)); break;
    case 0x0f: cfi->row.cfa = (asx__cfi_rule){ ASX__CFI_EXPRESSION, 0, expression(r) }; break;
    case 0x10: set_expression(cfi, r, ASX__CFI_EXPRESSION); break;
    case 0x11: reg = uleb(r);
        set_rule(cfi, reg, ASX__CFI_OFFSET, sleb(r) * cie->data_align); break;
    case 0x12: reg = uleb(r); set_cfa(cfi, reg, sleb(r) * cie->data_align); break;
    case 0x13: set_cfa(cfi, cfi->row.cfa_register, sleb(r) * cie->data_align); break;
    case 0x14: reg = uleb(r);
        set_rule(cfi, reg, ASX__CFI_VALUE, (int64_t)uleb(r) * cie->data_align); break;
    case 0x15: reg = uleb(r);
        set_rule(cfi, reg, ASX__CFI_VALUE, sleb(r) * cie->data_align); break;
    case 0x16: set_expression(cfi, r, ASX__CFI_VALUE_EXPRESSION); break;
    case 0x2d: cfi->row.return_signed = !cfi->row.return_signed; break;
    case 0x2e: (void)uleb(r); break;
    case 0x2f: reg = uleb(r);
        set_rule(cfi, reg, ASX__CFI_OFFSET, -((int64_t)uleb(r) * cie->data_align)); break;
    default: r->bad = true; break;
    }
}

/* Carries out what applies up to `pc`. */
static bool execute(asx__cfi *cfi, const common *cie, reader r, uintptr_t location, uintptr_t pc)
{
    while (r.at < r.end && !r.bad) {
        uint64_t op = take(&r, 1), low = op & 0x3f, advance = 0;
        bool advances = true;
        if ((op & 0xc0) == 0x40)
            advance = low;
        else if (op == 0x02)
            advance = take(&r, 1);
        else if (op == 0x03)
            advance = take(&r, 2);
        else if (op == 0x04)
            advance = take(&r, 4);
        else
            advances = false;
        if (advances) {
            location += (uintptr_t)(advance * cie->code_align);
            if (location > pc)
                return !r.bad;
        } else if (op == 0x01) {
            location = encoded(&r, cie->encoding, 0);
            if (location > pc)
                return !r.bad;
        } else if ((op & 0xc0) == 0x80) {
            set_rule(cfi, low, ASX__CFI_OFFSET, (int64_t)uleb(&r) * cie->data_align);
        } else if ((op & 0xc0) == 0xc0) {
            restore_rule(cfi, low);
        } else {
            instruct(cfi, cie, &r, op);
        }
    }
    return !r.bad;
}

/* ---- finding -------------------------------------------------------------------------------- */

/* The entry of the last function that begins at or below pc. NULL: none. */
static const uint8_t *search_sorted(const uint8_t *header, const uint8_t *end, uintptr_t pc)
{
    reader r = { header, end, false };
    uint64_t version = take(&r, 1);
    uint8_t encoding[3];
    for (int i = 0; i < 3; i++)
        encoding[i] = (uint8_t)take(&r, 1);
    (void)encoded(&r, encoding[0], (uintptr_t)header);
    uint64_t count = encoded(&r, encoding[1], (uintptr_t)header);
    if (r.bad || version != 1 || encoding[2] != 0x3b || count == 0 ||
        count > (uint64_t)(end - r.at) / 8)
        return NULL;
    uint64_t low = 0, high = count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        reader at = { r.at + middle * 8, end, false };
        if ((uintptr_t)header + (uintptr_t)take_signed(&at, 4) <= pc)
            low = middle;
        else
            high = middle;
    }
    reader at = { r.at + low * 8 + 4, end, false };
    int64_t offset = take_signed(&at, 4);
    return (const uint8_t *)((uintptr_t)header + (uintptr_t)offset);
}

/* Reads the entry at `at`. False: it is not one of a function that pc lies in. */
static bool read_entry(asx__cfi *cfi, const uint8_t *at, uintptr_t pc, common *cie, reader *code,
                       uintptr_t *ret_begin)
{
    reader r;
    cfi->signal_frame = false;
    if (!entry_at(cfi, at, &r))
        return false;
    const uint8_t *here = r.at;
    uint64_t back = take(&r, 4);
    if (r.bad || back == 0 || back > (uintptr_t)here || !read_common(cfi, here - back, cie))
        return false;
    uintptr_t begin = encoded(&r, cie->encoding, 0);
    uintptr_t length = encoded(&r, cie->encoding & 0x0f, 0);
    if (r.bad || pc < begin || pc - begin >= length)
        return false;
    if (cie->augmented) {
        uint64_t skip = uleb(&r);
        if (skip > (uint64_t)(r.end - r.at))
            return false;
        r.at += skip;
    }
    *code = r;
    *ret_begin = begin;
    return !r.bad;
}

/* One by one: static programs have no sorted table. */
static const uint8_t *search_all(asx__cfi *cfi, const uint8_t *from, uintptr_t pc)
{
    reader r, code;
    common cie;
    uintptr_t begin;
    while (entry_at(cfi, from, &r)) {
        if (read_entry(cfi, from, pc, &cie, &code, &begin))
            return from;
        from = r.end;
    }
    return NULL;
}

static const uint8_t *search(asx__cfi *cfi, const asx__cfi_table *table, uintptr_t pc)
{
    asx__cfi_known *known = &cfi->known[pc % ASX__CFI_KNOWN];
    if (known->pc != pc) {
        known->pc = pc;
        known->entry = table->sorted != NULL ? search_sorted(table->sorted, table->end, pc)
                       : table->plain != NULL ? search_all(cfi, table->plain, pc)
                                              : NULL;
    }
    return known->entry;
}

bool asx__cfi_find(asx__cfi *cfi, const asx__cfi_table *table, uintptr_t pc)
{
    reader code;
    common cie;
    uintptr_t begin;
    cfi->text_begin = table->begin;
    cfi->text_end = table->end;
    cfi->depth = 0;
    memset(&cfi->row, 0, sizeof cfi->row);
    const uint8_t *at = search(cfi, table, pc);
    if (at == NULL || !read_entry(cfi, at, pc, &cie, &code, &begin) ||
        !execute(cfi, &cie, cie.code, begin, UINTPTR_MAX))
        return false;
    cfi->initial = cfi->row;
    return execute(cfi, &cie, code, begin, pc);
}
