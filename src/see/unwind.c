/* unwind.c - call chains, from registers and the rules of cfi.c.
 *
 * Works on any stack: the one of a suspended fiber, of an interrupted thread, of a thread of which
 * only the stack pointer is known. A register that is not known stays so until some frame has
 * saved it; a rule that needs one that is not known ends the walk, unless it is the frame pointer
 * and can be guessed. All stack contents are peeked
 * at, in pieces, and only inside the bounds given.
 */
#include "see/see.h"

#include <string.h>
#include <ucontext.h>

/* ---- registers ------------------------------------------------------------------------------ */

static void set_reg(asx__regs *regs, unsigned number, uintptr_t value)
{
    regs->at[number] = value;
    regs->known |= UINT64_C(1) << number;
}

static bool is_known(const asx__regs *regs, uint64_t number)
{
    return number < ASX__REG_COUNT && ((regs->known >> number) & 1) != 0;
}

void asx__regs_of_context(const void *ucontext, asx__regs *ret)
{
    const ucontext_t *uc = ucontext;
    memset(ret, 0, sizeof *ret);
#if defined(__x86_64__) && !defined(__ILP32__)
    static const uint8_t order[16] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                       REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                       REG_R12, REG_R13, REG_R14, REG_R15 };
    for (unsigned i = 0; i < 16; i++)
        set_reg(ret, i, (uintptr_t)uc->uc_mcontext.gregs[order[i]]);
    ret->pc = (uintptr_t)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    for (unsigned i = 0; i < 31; i++)
        set_reg(ret, i, (uintptr_t)uc->uc_mcontext.regs[i]);
    set_reg(ret, 31, (uintptr_t)uc->uc_mcontext.sp);
    ret->pc = (uintptr_t)uc->uc_mcontext.pc;
#elif defined(__riscv)
    for (unsigned i = 1; i < 32; i++)
        set_reg(ret, i, (uintptr_t)uc->uc_mcontext.__gregs[i]);
    ret->pc = (uintptr_t)uc->uc_mcontext.__gregs[0];
#else
    (void)uc;
    (void)set_reg;
#endif
}

#if !defined(ASX_FIBER_UCONTEXT)

extern const char asx__fiber_resume_pc[] __attribute__((visibility("hidden")));

bool asx__regs_of_fiber(asx__look *look, void *sp, asx__regs *ret)
{
    (void)look;
    memset(ret, 0, sizeof *ret);
    set_reg(ret, ASX__REG_SP, (uintptr_t)sp);
    ret->pc = (uintptr_t)asx__fiber_resume_pc;
    return true;
}

#else

/* There sp is the address of a ucontext_t; where swapcontext saved it, it is inside of it. */
bool asx__regs_of_fiber(asx__look *look, void *sp, asx__regs *ret)
{
    ucontext_t uc;
    if (!asx__peek(look, sp, &uc, sizeof uc))
        return false;
    asx__regs_of_context(&uc, ret);
    ret->returns = true;
    return ret->pc != 0;
}

#endif

/* ---- memory --------------------------------------------------------------------------------- */

static bool load(asx__look *look, uintptr_t at, unsigned size, uintptr_t *ret)
{
    if (at < look->low || at > look->high - size)
        return false;
    if (at < look->window_at || at + size > look->window_at + look->window_len) {
        size_t len = sizeof look->window;
        if (len > look->high - at)
            len = look->high - at;
        look->window_len = 0;
        if (!asx__peek(look, (const void *)at, look->window, len)) {
            len = size; /* the end of what is mapped may be near */
            if (!asx__peek(look, (const void *)at, look->window, len))
                return false;
        }
        look->window_at = at;
        look->window_len = len;
    }
    *ret = 0;
    memcpy(ret, look->window + (at - look->window_at), size);
    return true;
}

/* ---- expressions ---------------------------------------------------------------------------- */

enum { STACK = 16, STEPS = 64 };

typedef struct machine {
    const uint8_t *at, *end;
    uintptr_t stack[STACK];
    unsigned depth;
    bool bad;
} machine;

static void push(machine *m, uintptr_t value)
{
    if (m->depth == STACK)
        m->bad = true;
    else
        m->stack[m->depth++] = value;
}

static uintptr_t pop(machine *m)
{
    if (m->depth == 0) {
        m->bad = true;
        return 0;
    }
    return m->stack[--m->depth];
}

static uint64_t constant(machine *m, unsigned size, bool is_signed)
{
    uint64_t value = 0;
    if ((size_t)(m->end - m->at) < size) {
        m->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)m->at[i] << (8 * i);
    m->at += size;
    unsigned unused = 64 - 8 * size;
    return is_signed ? (uint64_t)((int64_t)(value << unused) >> unused) : value;
}

static uint64_t leb(machine *m, bool is_signed)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
        uint64_t byte = constant(m, 1, false);
        value |= (byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) == 0) {
            if (is_signed && (byte & 0x40) != 0 && shift < 64)
                value |= UINT64_MAX << shift;
            return value;
        }
    }
    m->bad = true;
    return 0;
}

static void push_register(machine *m, const asx__regs *regs, uint64_t number, uint64_t offset)
{
    uintptr_t value = 0;
    if (number == ASX__REG_RETURN && !is_known(regs, number))
        value = regs->pc; /* x86-64: rip, in the tables of procedure linkage */
    else if (is_known(regs, number))
        value = regs->at[number];
    else
        m->bad = true;
    push(m, value + (uintptr_t)offset);
}

static void compute(machine *m, uint8_t op)
{
    uintptr_t b = pop(m), a = pop(m);
    intptr_t sa = (intptr_t)a, sb = (intptr_t)b;
    switch (op) {
    case 0x1a: push(m, a & b); break;
    case 0x1c: push(m, a - b); break;
    case 0x1e: push(m, a * b); break;
    case 0x21: push(m, a | b); break;
    case 0x22: push(m, a + b); break;
    case 0x24: push(m, b < 64 ? a << b : 0); break;
    case 0x25: push(m, b < 64 ? a >> b : 0); break;
    case 0x27: push(m, a ^ b); break;
    case 0x29: push(m, a == b); break;
    case 0x2a: push(m, sa >= sb); break;
    case 0x2b: push(m, sa > sb); break;
    case 0x2c: push(m, sa <= sb); break;
    case 0x2d: push(m, sa < sb); break;
    case 0x2e: push(m, a != b); break;
    default: m->bad = true; break;
    }
}

static void operate(asx__look *look, machine *m, const asx__regs *regs)
{
    uint8_t op = (uint8_t)constant(m, 1, false);
    uintptr_t value = 0;
    if (op >= 0x30 && op <= 0x4f) {
        push(m, op - 0x30u);
    } else if (op >= 0x70 && op <= 0x8f) {
        push_register(m, regs, op - 0x70u, leb(m, true));
    } else if (op >= 0x08 && op <= 0x0f) {
        push(m, (uintptr_t)constant(m, 1u << ((op - 0x08u) / 2), (op & 1) != 0));
    } else {
        switch (op) {
        case 0x03: push(m, (uintptr_t)constant(m, sizeof(uintptr_t), false)); break;
        case 0x06:
            if (!load(look, pop(m), sizeof value, &value))
                m->bad = true;
            push(m, value);
            break;
        case 0x10: push(m, (uintptr_t)leb(m, false)); break;
        case 0x11: push(m, (uintptr_t)leb(m, true)); break;
        case 0x12: value = pop(m); push(m, value); push(m, value); break;
        case 0x13: (void)pop(m); break;
        case 0x23: value = pop(m); push(m, value + (uintptr_t)leb(m, false)); break;
        case 0x92: value = (uintptr_t)leb(m, false);
            push_register(m, regs, value, leb(m, true)); break;
        case 0x96: break;
        default: compute(m, op); break;
        }
    }
}

static bool evaluate(asx__look *look, const asx__regs *regs, const uint8_t *code,
                     const uintptr_t *first, uintptr_t *ret)
{
    machine m = { .at = code, .end = look->cfi.text_end };
    uint64_t length = leb(&m, false);
    if (m.bad || length > (uint64_t)(m.end - m.at))
        return false;
    m.end = m.at + length;
    if (first != NULL)
        push(&m, *first);
    for (int steps = 0; m.at < m.end && !m.bad; steps++) {
        if (steps == STEPS)
            return false;
        operate(look, &m, regs);
    }
    *ret = pop(&m);
    return !m.bad;
}

/* ---- frames --------------------------------------------------------------------------------- */

static bool frame_address(asx__look *look, const asx__regs *regs, uintptr_t *ret)
{
    const asx__cfi_row *row = &look->cfi.row;
    if (row->cfa.kind == ASX__CFI_EXPRESSION)
        return evaluate(look, regs, row->cfa.code, NULL, ret);
    if (row->cfa.kind != ASX__CFI_REGISTER || !is_known(regs, row->cfa_register))
        return false;
    *ret = regs->at[row->cfa_register] + (uintptr_t)row->cfa.offset;
    return true;
}

/* Of a thread in a system call only the stack pointer is known, and code with frame pointers needs
 * the other one. It points at a pair, the caller's and the address to return to, which lies not far
 * up; each of them can be told from other words: the first points further up the same stack, to
 * another such word or to zero, the second into code that has rules. */
static bool guess_frame_pointer(asx__look *look, asx__regs *regs)
{
    enum { FAR = 4096, WORD = sizeof(uintptr_t) };
#if defined(__riscv)
    const uintptr_t behind = 2 * WORD; /* the pair lies below what it points at */
#else
    const uintptr_t behind = 0;
#endif
    uintptr_t sp = regs->at[ASX__REG_SP], older, back, oldest = 0;
    for (uintptr_t at = (sp + WORD - 1) & ~(uintptr_t)(WORD - 1); at < sp + FAR; at += WORD) {
        if (!load(look, at, WORD, &older) || !load(look, at + WORD, WORD, &back))
            return false;
        if (older <= at + behind || older >= look->high || older % WORD != 0 ||
            !load(look, older - behind, WORD, &oldest) || (oldest != 0 && oldest <= older))
            continue;
        const asx__module *module = asx__module_of(look, back - 1);
        if (module == NULL || !asx__cfi_find(&look->cfi, &module->cfi, back - 1))
            continue;
        set_reg(regs, ASX__REG_FRAME, at + behind);
        return true;
    }
    return false;
}

static bool find_rules(asx__look *look, asx__regs *regs, uintptr_t pc, uintptr_t *ret_cfa)
{
    const asx__module *module = asx__module_of(look, pc);
    if (module == NULL || !asx__cfi_find(&look->cfi, &module->cfi, pc))
        return false;
    if (frame_address(look, regs, ret_cfa))
        return true;
    const asx__cfi_row *row = &look->cfi.row;
    if (row->cfa.kind != ASX__CFI_REGISTER || row->cfa_register != ASX__REG_FRAME ||
        is_known(regs, ASX__REG_FRAME) || !guess_frame_pointer(look, regs))
        return false;
    /* The rules of this place again: the guess has looked at others. */
    return asx__cfi_find(&look->cfi, &module->cfi, pc) && frame_address(look, regs, ret_cfa);
}

/* The caller's value of a register; false: it is not known. */
static bool recover(asx__look *look, const asx__regs *regs, uintptr_t cfa, unsigned number,
                    uintptr_t *ret)
{
    const asx__cfi_rule *rule = &look->cfi.row.rule[number];
    uintptr_t at;
    switch (rule->kind) {
    case ASX__CFI_SAME:
        *ret = regs->at[number];
        return is_known(regs, number);
    case ASX__CFI_OFFSET:
        return load(look, cfa + (uintptr_t)rule->offset, sizeof *ret, ret);
    case ASX__CFI_VALUE:
        *ret = cfa + (uintptr_t)rule->offset;
        return true;
    case ASX__CFI_REGISTER:
        if (!is_known(regs, (uint64_t)rule->offset))
            return false;
        *ret = regs->at[rule->offset];
        return true;
    case ASX__CFI_EXPRESSION:
        return evaluate(look, regs, rule->code, &cfa, &at) && load(look, at, sizeof *ret, ret);
    case ASX__CFI_VALUE_EXPRESSION:
        return evaluate(look, regs, rule->code, &cfa, ret);
    default:
        return false;
    }
}

/* Goes to the caller. False: there is none, or it cannot be found. */
static bool step(asx__look *look, asx__regs *regs)
{
    uintptr_t pc = regs->pc - (regs->returns ? 1 : 0), cfa, back;
    if (!find_rules(look, regs, pc, &cfa))
        return false;
    if (cfa < regs->at[ASX__REG_SP] || cfa > look->high)
        return false; /* stacks grow down: a caller's frame is above */
    const asx__cfi *cfi = &look->cfi;
    if (!recover(look, regs, cfa, cfi->return_register, &back) || back == 0)
        return false;
    if (cfi->row.return_signed)
        back &= ((uintptr_t)1 << 48) - 1;
    asx__regs caller;
    memset(&caller, 0, sizeof caller);
    for (unsigned i = 0; i < ASX__REG_COUNT; i++) {
        uintptr_t value;
        if (recover(look, regs, cfa, i, &value))
            set_reg(&caller, i, value);
    }
    if (cfi->row.rule[ASX__REG_SP].kind == ASX__CFI_SAME)
        set_reg(&caller, ASX__REG_SP, cfa);
    caller.pc = back;
    caller.returns = !cfi->signal_frame;
    if (!is_known(&caller, ASX__REG_SP))
        return false;
    *regs = caller;
    return true;
}

uint32_t asx__unwind(asx__look *look, const asx__regs *regs, uintptr_t low, uintptr_t high)
{
    uint32_t count = 0;
    asx__regs now = *regs;
    look->low = low;
    look->high = high;
    look->window_len = 0;
    if (!ASX__CAN_UNWIND) {
        look->frames[count] = now.pc;
        return now.pc != 0 ? 1 : 0;
    }
    if (high - low < sizeof(uintptr_t) || !is_known(regs, ASX__REG_SP) ||
        regs->at[ASX__REG_SP] < low || regs->at[ASX__REG_SP] > high)
        return 0;
    do {
        /* What is printed is the call, not what comes after it. */
        look->frames[count++] = now.pc - (now.returns ? 1 : 0);
    } while (count < ASX__FRAMES_MAX && step(look, &now));
    return count;
}
