/* Context switch, System V x86-64.
 *
 * A suspended context, from its sp upwards:
 *     0 r15   8 r14   16 r13   24 r12   32 rbx   40 rbp   48 address to continue at
 * which is what six pushes leave below the return address of the caller's `call`. So the switch
 * needs no frame, may be tail-called, and one CFI rule (CFA = rsp + 56) describes the stack that
 * is left and the one that is entered alike.
 *
 * It ends in pop + jmp. `ret` would be predicted from the return stack of the core, which
 * holds the address of the context that was just left, and mispredict every time.
 *
 * asx__fiber_resume_pc is where every suspended context continues: a debugger that sets
 * rsp = sp and rip = asx__fiber_resume_pc sees the whole call chain of a suspended fiber.
 *
 * CET: the jump goes to a return address, where compilers put no endbr64, so it carries notrack
 * when branch tracking is compiled in. A shadow stack cannot work with a switch that does not
 * exchange it, so the object is marked for branch tracking only; the linker then leaves the
 * shadow stack off for the whole program.
 */
#if defined(__x86_64__) && !defined(__ILP32__) && defined(__ELF__) && !defined(ASX_FIBER_UCONTEXT)

#if defined(__CET__) && (__CET__ & 1)
#define LANDING endbr64
#define NOTRACK notrack
#else
#define LANDING
#define NOTRACK
#endif

        .text

/* int asx__fiber_switch(void **save_sp, void *to_sp, int ret) */
        .globl  asx__fiber_switch
        .type   asx__fiber_switch, @function
        .p2align 6
asx__fiber_switch:
        .cfi_startproc
        LANDING
        push    %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbp, 0
        push    %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset rbx, 0
        push    %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r12, 0
        push    %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r13, 0
        push    %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r14, 0
        push    %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset r15, 0
        mov     %rdx, %rax
        mov     %rsp, (%rdi)
        mov     %rsi, %rsp
        .globl  asx__fiber_resume_pc
        .hidden asx__fiber_resume_pc
asx__fiber_resume_pc:
        pop     %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore r15
        pop     %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore r14
        pop     %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore r13
        pop     %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore r12
        pop     %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbx
        pop     %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore rbp
        pop     %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register rip, rcx
        NOTRACK jmp *%rcx
        .cfi_endproc
        .size   asx__fiber_switch, . - asx__fiber_switch

/* void asx__fiber_jump(void *to_sp, int ret) */
        .globl  asx__fiber_jump
        .hidden asx__fiber_jump
        .type   asx__fiber_jump, @function
        .p2align 4
asx__fiber_jump:
        .cfi_startproc
        LANDING
        mov     %rsi, %rax
        mov     %rdi, %rsp
        .cfi_def_cfa_offset 56
        .cfi_offset rbp, -16
        .cfi_offset rbx, -24
        .cfi_offset r12, -32
        .cfi_offset r13, -40
        .cfi_offset r14, -48
        .cfi_offset r15, -56
        jmp     asx__fiber_resume_pc
        .cfi_endproc
        .size   asx__fiber_jump, . - asx__fiber_jump

/* Where a new context begins: rax = ret, rbx = entry, r12 = arg, rbp = 0, rsp = stack top. It is
 * not a callee, so unwinders stop here. The nop belongs to this range because unwinders look
 * one byte before a return address, and .Lfirst is the return address of a context that has
 * not run yet. */
        .type   fiber_start, @function
        .p2align 4
fiber_start:
        .cfi_startproc
        .cfi_undefined rip
        nop
.Lfirst:
        LANDING
        mov     %r12, %rdi
        mov     %rax, %rsi
        call    *%rbx
        ud2
        .cfi_endproc
        .size   fiber_start, . - fiber_start

/* void *asx__fiber_make(void *stack_top, asx__fiber_entry entry, void *arg) */
        .globl  asx__fiber_make
        .hidden asx__fiber_make
        .type   asx__fiber_make, @function
        .p2align 4
asx__fiber_make:
        .cfi_startproc
        LANDING
        lea     .Lfirst(%rip), %rcx
        lea     -56(%rdi), %rax
        xor     %r8d, %r8d
        mov     %rcx, 48(%rax)
        mov     %r8, 40(%rax)
        mov     %rsi, 32(%rax)
        mov     %rdx, 24(%rax)
        mov     %r8, 16(%rax)
        mov     %r8, 8(%rax)
        mov     %r8, (%rax)
        ret
        .cfi_endproc
        .size   asx__fiber_make, . - asx__fiber_make

#if defined(__CET__) && (__CET__ & 1)
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4
        .long   16
        .long   5
        .asciz  "GNU"
        .long   0xc0000002
        .long   4
        .long   1
        .long   0
#endif
#endif

#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
