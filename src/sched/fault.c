/* fault.c - a stack overflow is reported by name before the process dies.
 *
 * The handler looks at the runtimes of the process that asked for it. It runs on a stack of its
 * own, finds the fiber whose guard was hit, writes task, region path and stack size with write(2),
 * and lets the fault take its course.
 */
#include "sched/engine.h"
#include "sched/process.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALTERNATE_SIZE ((size_t)64 * 1024)

static void put(const char *text)
{
    if (text == NULL)
        text = "?";
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

static void put_number(uint64_t n)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = '\0';
    do
        digits[--at] = (char)('0' + n % 10);
    while ((n /= 10) != 0);
    put(digits + at);
}

static void put_path(const asx__region *region)
{
    if (region->parent != NULL) {
        put_path(region->parent);
        put("/");
    }
    put(region->name != NULL && *region->name ? region->name : "-");
}

static asx_runtime *first_runtime(void)
{
    return asx__load_acquire(&asx__process.runtimes);
}

/* The task that this thread runs. */
static const asx__task *running_here(const asx_runtime *rt)
{
    if (rt->gate == NULL)
        return rt->current;
    const asx__worker *worker = asx__thread_self()->worker;
    if (worker == NULL || worker->rt != rt)
        return NULL;
    return rt->engine->loaded == worker ? rt->current : worker->r.current;
}

static bool report(const void *addr)
{
    for (asx_runtime *rt = first_runtime(); rt != NULL; rt = rt->registry_next) {
        if (rt->alternate == NULL)
            continue;
        for (int i = 0; i < ASX__STACK_CLASSES; i++) {
            asx__stack *stack;
            bool guard;
            if (!rt->pool_ready[i] ||
                !asx__stack_pool_owns(&rt->pools[i], addr, &stack, &guard) || !guard)
                continue;
            const asx__task *task = running_here(rt);
            put("asx: stack overflow in task \"");
            put(task != NULL ? task->name : NULL);
            put("\" (");
            put(task != NULL ? task->site : NULL);
            put("), region ");
            if (task != NULL)
                put_path(task->region);
            put(", stack of ");
            put_number(rt->pools[i].slot_size);
            put(" bytes\n");
            return true;
        }
    }
    return false;
}

static void handler(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    if (report(info->si_addr)) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    /* Not ours: whoever was here before gets it when the instruction faults again. */
    sigaction(signal_number, &asx__process.fault_before, NULL);
}

/* The handler's stack goes to whoever had it before; ours may by now lie under another's. False:
 * the system may still use ours. */
static bool give_back_alternate(asx_runtime *rt)
{
    stack_t now;
    bool given = sigaltstack(NULL, &now) == 0;
    if (given && now.ss_sp == rt->alternate) {
        if (rt->alternate_before.ss_sp == NULL)
            rt->alternate_before.ss_flags = SS_DISABLE;
        given = sigaltstack(&rt->alternate_before, NULL) == 0;
    }
    for (asx_runtime *other = first_runtime(); other != NULL; other = other->registry_next)
        if (other != rt && other->alternate != NULL &&
            other->alternate_before.ss_sp == rt->alternate)
            other->alternate_before = rt->alternate_before;
    return given;
}

asx_status asx__fault_register(asx_runtime *rt)
{
    asx_status st = ASX_OK;
    bool in_use = false;
    rt->alternate = asx__mem_alloc(rt, ALTERNATE_SIZE);
    if (rt->alternate == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    stack_t stack = { .ss_sp = rt->alternate, .ss_size = ALTERNATE_SIZE };
    pthread_mutex_lock(&asx__process.lock);
    if (sigaltstack(&stack, &rt->alternate_before) != 0)
        st = ASX_E_SYSTEM;
    if (st == ASX_OK && asx__process.fault_users == 0) {
        struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigemptyset(&action.sa_mask);
        struct sigaction found;
        if (sigaction(SIGSEGV, &action, &found) != 0) {
            in_use = !give_back_alternate(rt);
            st = ASX_E_SYSTEM;
        } else if (found.sa_sigaction != handler) { /* ours, if it could not be put back once */
            asx__process.fault_before = found;
        }
    }
    asx__process.fault_users += st == ASX_OK;
    pthread_mutex_unlock(&asx__process.lock);
    if (st < 0) {
        if (!in_use)
            asx__mem_free(rt, rt->alternate, ALTERNATE_SIZE);
        rt->alternate = NULL;
    }
    return st;
}

asx_status asx__fault_unregister(asx_runtime *rt)
{
    if (rt->alternate == NULL)
        return ASX_OK;
    pthread_mutex_lock(&asx__process.lock);
    if (--asx__process.fault_users == 0)
        sigaction(SIGSEGV, &asx__process.fault_before, NULL);
    bool given = give_back_alternate(rt);
    pthread_mutex_unlock(&asx__process.lock);
    if (given)
        asx__mem_free(rt, rt->alternate, ALTERNATE_SIZE);
    rt->alternate = NULL;
    return given ? ASX_OK : ASX_E_SYSTEM;
}

asx_status asx__fault_enter_thread(const asx_runtime *rt, void **ret_stack)
{
    *ret_stack = NULL;
    if (rt->alternate == NULL)
        return ASX_OK;
    void *memory = malloc(ALTERNATE_SIZE);
    if (memory == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    stack_t stack = { .ss_sp = memory, .ss_size = ALTERNATE_SIZE };
    if (sigaltstack(&stack, NULL) != 0) {
        free(memory);
        return ASX_E_SYSTEM;
    }
    *ret_stack = memory;
    return ASX_OK;
}

void asx__fault_leave_thread(void *stack)
{
    stack_t none = { .ss_flags = SS_DISABLE };
    if (stack == NULL)
        return;
    (void)sigaltstack(&none, NULL);
    free(stack);
}
