/* switch_ucontext.c - the context switch where there is no assembly for the processor.
 *
 * sp is a pointer to a struct context: of a new context it lies right below the stack top, of a
 * suspended one in the frame of asx__fiber_switch, on the stack that is suspended. Each holds the
 * value that its resumer hands over, so nothing global is needed.
 *
 * Two costs that the assembly has not: a system call per switch, because swapcontext keeps the
 * signal mask, and about a kilobyte of stack per suspended context.
 */
#include "fiber/fiber.h"

#if defined(ASX_FIBER_UCONTEXT)

#include <ucontext.h>

#include "base/assert.h"

struct context {
    _Alignas(16) ucontext_t uc;
    int ret;
    asx__fiber_entry entry;
    void *arg;
};

/* makecontext hands over ints only, so the pointer travels in halves. */
static void start(unsigned high, unsigned low)
{
    struct context *self = (struct context *)(uintptr_t)((uint64_t)high << 32 | low);
    self->entry(self->arg, self->ret);
    ASX__ASSERT(false);
}

int asx__fiber_switch(void **save_sp, void *to_sp, int ret)
{
    struct context self;
    struct context *to = to_sp;
    to->ret = ret;
    *save_sp = &self;
    int failed = swapcontext(&self.uc, &to->uc);
    ASX__ASSERT(failed == 0);
    return self.ret;
}

_Noreturn void asx__fiber_jump(void *to_sp, int ret)
{
    struct context *to = to_sp;
    to->ret = ret;
    setcontext(&to->uc);
    __builtin_trap();
}

void *asx__fiber_make(void *stack_top, asx__fiber_entry entry, void *arg)
{
    /* The size only serves to compute the top; the true one is the pool's business. */
    enum { SIZE = 256 };
    struct context *self = (struct context *)stack_top - 1;
    int failed = getcontext(&self->uc);
    ASX__ASSERT(failed == 0);
    self->entry = entry;
    self->arg = arg;
    self->uc.uc_link = NULL;
    self->uc.uc_stack.ss_sp = (char *)self - SIZE;
    self->uc.uc_stack.ss_size = SIZE;
    uint64_t address = (uint64_t)(uintptr_t)self;
    makecontext(&self->uc, (void (*)(void))start, 2, (unsigned)(address >> 32),
                (unsigned)address);
    return self;
}

#else

/* ISO C wants a declaration in every file. */
typedef int asx__fiber_has_assembly;

#endif
