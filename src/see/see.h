/* see.h - looking at a process from inside, at any moment.
 *
 * Words
 *   look      everything that one act of looking needs: mapped when it begins, given back when it
 *             ends, so that it costs a signal handler neither stack nor heap.
 *   peek      a read through the system: memory that is gone, or never was, is an answer, not a
 *             fault. No sanitizer sees it, which is right: others may be writing.
 *   module    the program or one of its libraries, as it lies in memory.
 *   frame     one call in a chain: the address at which it goes on.
 *   listener  the handler of the dump signal, and what it needs when it is called.
 *
 * What is peeked at may be in the middle of a change, or belong to something else by now. So
 * nothing that was peeked is trusted: indices are bounded, chains have a length at which the walk
 * gives up, pointers are only ever peeked through, and what is said of a task is thrown away if
 * the task has run since. The unwind tables and symbol tables of modules do not change, and are
 * read as they are.
 */
#ifndef ASX_SEE_SEE_H
#define ASX_SEE_SEE_H

#include <asx/see.h>

#include "sched/engine.h"
#include "sched/process.h"

/* ---- registers ------------------------------------------------------------------------------ */

/* By their DWARF numbers. */
#if defined(__x86_64__) && !defined(__ILP32__)
enum { ASX__REG_COUNT = 17, ASX__REG_FRAME = 6, ASX__REG_SP = 7, ASX__REG_RETURN = 16 };
#define ASX__CAN_UNWIND 1
#elif defined(__aarch64__) && !defined(__ILP32__)
enum { ASX__REG_COUNT = 32, ASX__REG_FRAME = 29, ASX__REG_SP = 31, ASX__REG_RETURN = 30 };
#define ASX__CAN_UNWIND 1
#elif defined(__riscv) && __riscv_xlen == 64
enum { ASX__REG_COUNT = 32, ASX__REG_FRAME = 8, ASX__REG_SP = 2, ASX__REG_RETURN = 1 };
#define ASX__CAN_UNWIND 1
#else
enum { ASX__REG_COUNT = 1, ASX__REG_FRAME = 0, ASX__REG_SP = 0, ASX__REG_RETURN = 0 };
#define ASX__CAN_UNWIND 0
#endif

typedef struct asx__regs {
    uintptr_t pc;
    uint64_t known; /* bit n: at[n] is */
    uintptr_t at[ASX__REG_COUNT];
    bool returns;   /* pc is where a call comes back to, so the call lies before it */
} asx__regs;

/* The registers of the function that this is inlined into, as far as its caller cares for them. */
static inline __attribute__((always_inline)) void asx__regs_here(asx__regs *regs)
{
    uintptr_t *at = regs->at;
#if defined(__x86_64__) && !defined(__ILP32__)
    __asm__ volatile("movq %%rbx, 24(%1)\n\tmovq %%rbp, 48(%1)\n\tmovq %%rsp, 56(%1)\n\t"
                     "movq %%r12, 96(%1)\n\tmovq %%r13, 104(%1)\n\tmovq %%r14, 112(%1)\n\t"
                     "movq %%r15, 120(%1)\n\tleaq 0(%%rip), %0"
                     : "=&r"(regs->pc) : "r"(at) : "memory");
    regs->known = 1u << 3 | 1u << 6 | 1u << 7 | 15u << 12;
#elif defined(__aarch64__)
    uintptr_t sp;
    __asm__ volatile("stp x19, x20, [%2, #152]\n\tstp x21, x22, [%2, #168]\n\t"
                     "stp x23, x24, [%2, #184]\n\tstp x25, x26, [%2, #200]\n\t"
                     "stp x27, x28, [%2, #216]\n\tstp x29, x30, [%2, #232]\n\t"
                     "mov %1, sp\n\tadr %0, ."
                     : "=&r"(regs->pc), "=&r"(sp) : "r"(at) : "memory");
    at[ASX__REG_SP] = sp;
    regs->known = UINT64_C(0xfff) << 19 | UINT64_C(1) << 31;
#elif defined(__riscv) && __riscv_xlen == 64
    __asm__ volatile("sd ra, 8(%1)\n\tsd sp, 16(%1)\n\tsd s0, 64(%1)\n\tsd s1, 72(%1)\n\t"
                     "sd s2, 144(%1)\n\tsd s3, 152(%1)\n\tsd s4, 160(%1)\n\tsd s5, 168(%1)\n\t"
                     "sd s6, 176(%1)\n\tsd s7, 184(%1)\n\tsd s8, 192(%1)\n\tsd s9, 200(%1)\n\t"
                     "sd s10, 208(%1)\n\tsd s11, 216(%1)\n\tauipc %0, 0"
                     : "=&r"(regs->pc) : "r"(at) : "memory");
    regs->known = 1u << 1 | 1u << 2 | 3u << 8 | UINT64_C(0x3ff) << 18;
#else
    (void)at;
    regs->known = 0;
#endif
}

/* Of a thread that a signal has interrupted, or of a suspended ucontext. */
void asx__regs_of_context(const void *ucontext, asx__regs *ret);

/* Of a fiber that was suspended by asx__fiber_switch() with this stack pointer. */
struct asx__look;
bool asx__regs_of_fiber(struct asx__look *look, void *sp, asx__regs *ret);

/* ---- unwinding: cfi.c, unwind.c ------------------------------------------------------------- */

enum { ASX__FRAMES_MAX = 48, ASX__CFI_DEPTH = 6, ASX__CFI_KNOWN = 256 };

typedef struct asx__cfi_rule {
    uint8_t kind;            /* enum asx__cfi_kind */
    int64_t offset;          /* or register number */
    const uint8_t *code;     /* expression: its length as ULEB, then itself */
} asx__cfi_rule;

enum asx__cfi_kind {
    ASX__CFI_SAME,
    ASX__CFI_UNDEFINED,
    ASX__CFI_OFFSET,         /* saved at CFA + offset */
    ASX__CFI_VALUE,          /* is CFA + offset */
    ASX__CFI_REGISTER,
    ASX__CFI_EXPRESSION,     /* saved at ... */
    ASX__CFI_VALUE_EXPRESSION
};

typedef struct asx__cfi_row {
    asx__cfi_rule cfa;       /* kind REGISTER: register `code_register` + offset; or EXPRESSION */
    uint32_t cfa_register;
    bool return_signed;      /* aarch64: the return address carries a signature */
    asx__cfi_rule rule[ASX__REG_COUNT];
} asx__cfi_row;

/* What was found for an address before. */
typedef struct asx__cfi_known {
    uintptr_t pc;
    const uint8_t *entry;
} asx__cfi_known;

typedef struct asx__cfi {
    asx__cfi_row row;
    asx__cfi_row initial;
    asx__cfi_row stack[ASX__CFI_DEPTH];
    uint32_t depth;
    uint32_t return_register;
    bool signal_frame;
    const uint8_t *text_begin, *text_end; /* nothing is read outside of these */
    asx__cfi_known known[ASX__CFI_KNOWN];
} asx__cfi;

/* Where a module has its rules. */
typedef struct asx__cfi_table {
    const uint8_t *sorted;   /* .eh_frame_hdr; NULL: none */
    const uint8_t *plain;    /* .eh_frame, looked for if there is no sorted one; NULL: none */
    const uint8_t *begin, *end; /* of what is mapped */
} asx__cfi_table;

/* Finds the rules for an address. */
bool asx__cfi_find(asx__cfi *cfi, const asx__cfi_table *table, uintptr_t pc);

/* ---- modules and their symbols: module.c ---------------------------------------------------- */

typedef struct asx__module {
    uintptr_t low, high;       /* as mapped */
    uintptr_t base;            /* what has to be taken off an address for addr2line */
    asx__cfi_table cfi;
    char path[160];
    int fd;                    /* its file; -1: cannot be had */
    bool tables_known;         /* the following were looked for */
    uint64_t symbols, symbol_count, strings, strings_size; /* in the file */
} asx__module;

enum { ASX__MODULES = 24, ASX__SYMBOLS = 256, ASX__SYMBOL_NAMES = 16384, ASX__SYMBOL_CHUNK = 170 };

typedef struct asx__symbol {
    uintptr_t pc;
    uint32_t name;   /* in names; 0: none */
    uint32_t offset; /* of pc behind the symbol */
} asx__symbol;

asx__module *asx__module_of(struct asx__look *look, uintptr_t pc);
/* NULL: no name. */
const char *asx__symbol_of(struct asx__look *look, uintptr_t pc, uint32_t *ret_offset);

enum { ASX__BATCH = 32 }; /* task records that are peeked at together */

/* ---- a look: look.c ------------------------------------------------------------------------- */

typedef struct asx__look {
    int way;         /* how memory is read: enum in look.c */
    pid_t pid;
    int pipe[2];
    /* out */
    int fd;
    int64_t at;      /* -1: append; else the place in the file */
    char *into;      /* not NULL: text goes here instead, as much as fits ... */
    size_t into_size, into_len; /* ... always terminated */
    bool failed;     /* a write was refused */
    size_t out_len;
    char out[4096];
    /* stack being walked */
    uintptr_t low, high;
    uintptr_t window_at;
    size_t window_len;
    uint8_t window[1024];
    asx__cfi cfi;
    uintptr_t frames[ASX__FRAMES_MAX];
    /* modules */
    uint32_t module_count;
    asx__module modules[ASX__MODULES];
    uint32_t symbol_count, names_len;
    asx__symbol symbols[ASX__SYMBOLS];
    char names[ASX__SYMBOL_NAMES];
    uint8_t chunk[ASX__SYMBOL_CHUNK * 24];
    /* the thread that looks */
    int32_t tid;
    asx__regs self;  /* of the code that asked, or that the signal has interrupted */
    asx__regs regs;
    const asx_runtime *rt; /* being dumped */
    char text[256];
    asx__task batch[ASX__BATCH];
    asx__task task;
    asx__region region;
} asx__look;

/* Maps one; NULL: no memory. asx__look_end() gives it back. */
asx__look *asx__look_begin(int fd, int64_t at);
/* False: a write was refused. */
bool asx__look_end(asx__look *look);

bool asx__peek(asx__look *look, const void *from, void *to, size_t len);
/* A string, cut at size - 1; what cannot be printed becomes '?'. False: not readable. */
bool asx__peek_string(asx__look *look, const char *from, char *to, size_t size);

void asx__put(asx__look *look, const char *text);
void asx__put_number(asx__look *look, uint64_t number);
void asx__put_hex(asx__look *look, uintptr_t number);
void asx__put_flush(asx__look *look);

/* Walks up from `regs` while frames lie in [low, high). Fills look->frames; returns how many. */
uint32_t asx__unwind(asx__look *look, const asx__regs *regs, uintptr_t low, uintptr_t high);
void asx__put_frames(asx__look *look, uint32_t count);

/* ---- dumps: dump.c -------------------------------------------------------------------------- */

void asx__dump_runtime(asx__look *look, const asx_runtime *rt);
void asx__dump_process(asx__look *look);
/* One line, and the frames below it, for the record in look->task, which lies at `at`. */
void asx__dump_task(asx__look *look, const asx__task *at);
/* Walks up from a thread's registers: on the stack of `task` if they are there, else on the
 * thread's own. */
uint32_t asx__unwind_thread(asx__look *look, const asx__regs *regs, const asx__task *task);
void asx__put_path(asx__look *look, const asx__region *at);
/* Worker `index` of a runtime, or the thread that drives alone: what it runs now (NULL: nothing)
 * and which thread it is (0: it has none). False: there are not so many. */
bool asx__peek_worker(asx__look *look, const asx_runtime *rt, uint32_t index,
                      const asx__task **ret_task, int32_t *ret_tid);

/* ---- the listener: listen.c ----------------------------------------------------------------- */

/* Asks another thread of the process, by the listener's signal, for its registers; it stands still
 * until asx__ask_done(), for a moment at most. False: there is no listener, or the thread does not
 * answer in time (it may block the signal). */
bool asx__ask_thread(int32_t tid, asx__regs *ret);
void asx__ask_done(void);

/* What `asx stacks` finds at the beginning of the file that a listener leaves open under this name,
 * and what it sends. The dump lies behind it. */
#define ASX__DUMP_FILE "asx-dump"
#define ASX__DUMP_MAGIC UINT64_C(0x31706d7564787361)
#define ASX__DUMP_VALUE 0x617378 /* sent with the signal: dump into the file */

typedef struct asx__dump_header {
    uint64_t magic;
    uint32_t header_size;
    int32_t signo;     /* 0: the listener is gone */
    uint64_t sequence; /* dumps that are complete */
    uint64_t length;   /* of the last one, in bytes */
} asx__dump_header;

#endif
