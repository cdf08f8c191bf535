/* Context switch, RISC-V 64, with or without hardware floating point.
 *
 * A suspended context, from its sp upwards:
 *     0 ra, the address to continue at   8 s0..s11   104 unused   112 fs0..fs11 if the ABI
 *     passes floating point in registers
 * The layout is the same on the stack that is left and on the one that is entered, so one CFI
 * rule (CFA = sp + FRAME) describes both.
 *
 * It ends in a jump through t1: through ra (or t0) it would count as a return and disturb the
 * return predictor (see switch_x86_64.S).
 *
 * asx__fiber_resume_pc: as on x86-64, where a suspended context continues.
 */
#if defined(__riscv) && __riscv_xlen == 64 && !defined(__riscv_32e) && defined(__ELF__) &&         \
    !defined(ASX_FIBER_UCONTEXT)

#if defined(__riscv_float_abi_double)
#define FRAME 208
#define FSTORE fsd
#define FLOAD fld
#elif defined(__riscv_float_abi_single)
#define FRAME 208
#define FSTORE fsw
#define FLOAD flw
#else
#define FRAME 112
#endif

        .text

/* op(register, offset) for each callee-saved register. */
        .macro  each_integer op
        \op     s0, 8(sp)
        \op     s1, 16(sp)
        \op     s2, 24(sp)
        \op     s3, 32(sp)
        \op     s4, 40(sp)
        \op     s5, 48(sp)
        \op     s6, 56(sp)
        \op     s7, 64(sp)
        \op     s8, 72(sp)
        \op     s9, 80(sp)
        \op     s10, 88(sp)
        \op     s11, 96(sp)
        .endm

        .macro  each_float op
        \op     fs0, 112(sp)
        \op     fs1, 120(sp)
        \op     fs2, 128(sp)
        \op     fs3, 136(sp)
        \op     fs4, 144(sp)
        \op     fs5, 152(sp)
        \op     fs6, 160(sp)
        \op     fs7, 168(sp)
        \op     fs8, 176(sp)
        \op     fs9, 184(sp)
        \op     fs10, 192(sp)
        \op     fs11, 200(sp)
        .endm

        .macro  describe_saved
        .cfi_def_cfa_offset FRAME
        .cfi_offset ra, 0 - FRAME
        .cfi_offset s0, 8 - FRAME
        .cfi_offset s1, 16 - FRAME
        .cfi_offset s2, 24 - FRAME
        .cfi_offset s3, 32 - FRAME
        .cfi_offset s4, 40 - FRAME
        .cfi_offset s5, 48 - FRAME
        .cfi_offset s6, 56 - FRAME
        .cfi_offset s7, 64 - FRAME
        .cfi_offset s8, 72 - FRAME
        .cfi_offset s9, 80 - FRAME
        .cfi_offset s10, 88 - FRAME
        .cfi_offset s11, 96 - FRAME
#if defined(FSTORE)
        .cfi_offset fs0, 112 - FRAME
        .cfi_offset fs1, 120 - FRAME
        .cfi_offset fs2, 128 - FRAME
        .cfi_offset fs3, 136 - FRAME
        .cfi_offset fs4, 144 - FRAME
        .cfi_offset fs5, 152 - FRAME
        .cfi_offset fs6, 160 - FRAME
        .cfi_offset fs7, 168 - FRAME
        .cfi_offset fs8, 176 - FRAME
        .cfi_offset fs9, 184 - FRAME
        .cfi_offset fs10, 192 - FRAME
        .cfi_offset fs11, 200 - FRAME
#endif
        .endm

        .macro  describe_restored
        .cfi_def_cfa_offset 0
        .cfi_restore s0
        .cfi_restore s1
        .cfi_restore s2
        .cfi_restore s3
        .cfi_restore s4
        .cfi_restore s5
        .cfi_restore s6
        .cfi_restore s7
        .cfi_restore s8
        .cfi_restore s9
        .cfi_restore s10
        .cfi_restore s11
#if defined(FSTORE)
        .cfi_restore fs0
        .cfi_restore fs1
        .cfi_restore fs2
        .cfi_restore fs3
        .cfi_restore fs4
        .cfi_restore fs5
        .cfi_restore fs6
        .cfi_restore fs7
        .cfi_restore fs8
        .cfi_restore fs9
        .cfi_restore fs10
        .cfi_restore fs11
#endif
        .endm

/* int asx__fiber_switch(void **save_sp, void *to_sp, int ret) */
        .globl  asx__fiber_switch
        .type   asx__fiber_switch, @function
        .p2align 6
asx__fiber_switch:
        .cfi_startproc
        addi    sp, sp, -FRAME
        .cfi_def_cfa_offset FRAME
        sd      ra, 0(sp)
        each_integer sd
#if defined(FSTORE)
        each_float FSTORE
#endif
        describe_saved
        sd      sp, 0(a0)
        mv      sp, a1
        mv      a0, a2
        .globl  asx__fiber_resume_pc
        .hidden asx__fiber_resume_pc
asx__fiber_resume_pc:
        ld      t1, 0(sp)
        each_integer ld
#if defined(FSTORE)
        each_float FLOAD
#endif
        addi    sp, sp, FRAME
        describe_restored
        .cfi_register ra, t1
        jr      t1
        .cfi_endproc
        .size   asx__fiber_switch, . - asx__fiber_switch

/* void asx__fiber_jump(void *to_sp, int ret) */
        .globl  asx__fiber_jump
        .hidden asx__fiber_jump
        .type   asx__fiber_jump, @function
        .p2align 4
asx__fiber_jump:
        .cfi_startproc
        mv      sp, a0
        describe_saved
        mv      a0, a1
        j       asx__fiber_resume_pc
        .cfi_endproc
        .size   asx__fiber_jump, . - asx__fiber_jump

/* Where a new context begins: a0 = ret, s0 = 0, s1 = entry, s2 = arg, sp = stack top. It is
 * not a callee, so unwinders stop here. The nop belongs to this range because unwinders look
 * before a return address, and .Lfirst is the return address of a context that has not run. */
        .type   fiber_start, @function
        .p2align 4
fiber_start:
        .cfi_startproc
        .cfi_undefined ra
        nop
.Lfirst:
        mv      a1, a0
        mv      a0, s2
        jalr    s1
        ebreak
        .cfi_endproc
        .size   fiber_start, . - fiber_start

/* void *asx__fiber_make(void *stack_top, asx__fiber_entry entry, void *arg)
 * Only what fiber_start reads is set; the other registers may hold anything. */
        .globl  asx__fiber_make
        .hidden asx__fiber_make
        .type   asx__fiber_make, @function
        .p2align 4
asx__fiber_make:
        .cfi_startproc
        addi    a0, a0, -FRAME
        lla     t1, .Lfirst
        sd      t1, 0(a0)
        sd      zero, 8(a0)
        sd      a1, 16(a0)
        sd      a2, 24(a0)
        ret
        .cfi_endproc
        .size   asx__fiber_make, . - asx__fiber_make
#endif

#if defined(__ELF__)
        .section .note.GNU-stack, "", %progbits
#endif
