/* A step of the engine that may switch to another fiber, and then out: see asx__then_leave().
 *
 * The step is entered by a jump, with the address after it pushed for it to return to: a `call`
 * would leave an entry in the return predictor of the core that is wrong when another fiber comes
 * back. For the same reason the end is pop + jmp.
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

/* asx_status asx__then_leave(asx_runtime *rt, asx__inside_step step, void *a, void *b, void *c) */
        .globl  asx__then_leave
        .hidden asx__then_leave
        .type   asx__then_leave, @function
        .p2align 4
asx__then_leave:
        .cfi_startproc
        LANDING
        push    %rdi
        .cfi_adjust_cfa_offset 8
        lea     .Lback(%rip), %r9
        mov     %rsi, %rax
        push    %r9
        .cfi_adjust_cfa_offset 8
        mov     %rdx, %rdi
        mov     %rcx, %rsi
        mov     %r8, %rdx
        NOTRACK jmp *%rax
        .cfi_adjust_cfa_offset -8
        nop                     /* unwinders look one byte before a return address */
.Lback:
        mov     (%rsp), %rdi
        mov     %eax, %esi
        call    asx__engine_left
        pop     %rcx
        .cfi_adjust_cfa_offset -8
        pop     %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register rip, rcx
        NOTRACK jmp *%rcx
        .cfi_endproc
        .size   asx__then_leave, . - asx__then_leave

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
