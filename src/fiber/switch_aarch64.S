/* Context switch, AAPCS64.
 *
 * A suspended context, from its sp upwards (160 bytes):
 *     0 d8..d15   64 x19..x28   144 x29   152 x30, the address to continue at
 * Only the low halves of v8..v15 belong to the callee. The layout is the same on the stack that
 * is left and on the one that is entered, so one CFI rule (CFA = sp + 160) describes both.
 *
 * It ends in `br`, not `ret`, to keep the return predictor out of it (see switch_x86_64.S). With
 * branch target identification `br` could not land on a return address, so there it is `ret`.
 * x30 is stored unsigned; functions compiled with pointer authentication sign their own copy.
 * A guarded control stack is not exchanged, so the object is not marked for it.
 *
 * asx__fiber_resume_pc: as on x86-64, where a suspended context continues.
 */
#if defined(__aarch64__) && !defined(__ILP32__) && defined(__ELF__) && !defined(ASX_FIBER_UCONTEXT)

#if defined(__ARM_FEATURE_BTI_DEFAULT)
#define LANDING hint 34
#define CONTINUE ret
#else
#define LANDING
#define CONTINUE br x30
#endif

        .text

/* int asx__fiber_switch(void **save_sp, void *to_sp, int ret) */
        .globl  asx__fiber_switch
        .type   asx__fiber_switch, %function
        .p2align 6
asx__fiber_switch:
        .cfi_startproc
        LANDING
        sub     sp, sp, #160
        .cfi_def_cfa_offset 160
        stp     d8, d9, [sp, #0]
        stp     d10, d11, [sp, #16]
        stp     d12, d13, [sp, #32]
        stp     d14, d15, [sp, #48]
        stp     x19, x20, [sp, #64]
        stp     x21, x22, [sp, #80]
        stp     x23, x24, [sp, #96]
        stp     x25, x26, [sp, #112]
        stp     x27, x28, [sp, #128]
        stp     x29, x30, [sp, #144]
        .cfi_offset d8, -160
        .cfi_offset d9, -152
        .cfi_offset d10, -144
        .cfi_offset d11, -136
        .cfi_offset d12, -128
        .cfi_offset d13, -120
        .cfi_offset d14, -112
        .cfi_offset d15, -104
        .cfi_offset x19, -96
        .cfi_offset x20, -88
        .cfi_offset x21, -80
        .cfi_offset x22, -72
        .cfi_offset x23, -64
        .cfi_offset x24, -56
        .cfi_offset x25, -48
        .cfi_offset x26, -40
        .cfi_offset x27, -32
        .cfi_offset x28, -24
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1
        mov     x0, x2
        .globl  asx__fiber_resume_pc
        .hidden asx__fiber_resume_pc
asx__fiber_resume_pc:
        ldp     x29, x30, [sp, #144]
        ldp     d8, d9, [sp, #0]
        ldp     d10, d11, [sp, #16]
        ldp     d12, d13, [sp, #32]
        ldp     d14, d15, [sp, #48]
        ldp     x19, x20, [sp, #64]
        ldp     x21, x22, [sp, #80]
        ldp     x23, x24, [sp, #96]
        ldp     x25, x26, [sp, #112]
        ldp     x27, x28, [sp, #128]
        add     sp, sp, #160
        .cfi_def_cfa_offset 0
        .cfi_restore d8
        .cfi_restore d9
        .cfi_restore d10
        .cfi_restore d11
        .cfi_restore d12
        .cfi_restore d13
        .cfi_restore d14
        .cfi_restore d15
        .cfi_restore x19
        .cfi_restore x20
        .cfi_restore x21
        .cfi_restore x22
        .cfi_restore x23
        .cfi_restore x24
        .cfi_restore x25
        .cfi_restore x26
        .cfi_restore x27
        .cfi_restore x28
        .cfi_restore x29
        .cfi_restore x30
        CONTINUE
        .cfi_endproc
        .size   asx__fiber_switch, . - asx__fiber_switch

/* void asx__fiber_jump(void *to_sp, int ret) */
        .globl  asx__fiber_jump
        .hidden asx__fiber_jump
        .type   asx__fiber_jump, %function
        .p2align 4
asx__fiber_jump:
        .cfi_startproc
        LANDING
        mov     sp, x0
        .cfi_def_cfa_offset 160
        .cfi_offset x29, -16
        .cfi_offset x30, -8
        mov     x0, x1
        b       asx__fiber_resume_pc
        .cfi_endproc
        .size   asx__fiber_jump, . - asx__fiber_jump

/* Where a new context begins: x0 = ret, x19 = arg, x20 = entry, x29 = 0, sp = stack top. It is
 * not a callee, so unwinders stop here. The nop belongs to this range because unwinders look
 * before a return address, and .Lfirst is the return address of a context that has not run. */
        .type   fiber_start, %function
        .p2align 4
fiber_start:
        .cfi_startproc
        .cfi_undefined x30
        nop
.Lfirst:
        mov     x1, x0
        mov     x0, x19
        blr     x20
        brk     #1
        .cfi_endproc
        .size   fiber_start, . - fiber_start

/* void *asx__fiber_make(void *stack_top, asx__fiber_entry entry, void *arg) */
        .globl  asx__fiber_make
        .hidden asx__fiber_make
        .type   asx__fiber_make, %function
        .p2align 4
asx__fiber_make:
        .cfi_startproc
        LANDING
        sub     x0, x0, #160
        adrp    x9, .Lfirst
        add     x9, x9, :lo12:.Lfirst
        stp     xzr, xzr, [x0, #0]
        stp     xzr, xzr, [x0, #16]
        stp     xzr, xzr, [x0, #32]
        stp     xzr, xzr, [x0, #48]
        stp     x2, x1, [x0, #64]
        stp     xzr, xzr, [x0, #80]
        stp     xzr, xzr, [x0, #96]
        stp     xzr, xzr, [x0, #112]
        stp     xzr, xzr, [x0, #128]
        stp     xzr, x9, [x0, #144]
        ret
        .cfi_endproc
        .size   asx__fiber_make, . - asx__fiber_make

#if defined(__ARM_FEATURE_BTI_DEFAULT)
        .section .note.gnu.property, "a"
        .p2align 3
        .word   4
        .word   16
        .word   5
        .asciz  "GNU"
        .word   0xc0000000
        .word   4
        .word   1
        .word   0
#endif
#endif

#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
