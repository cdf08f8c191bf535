/* fault.c - a stack overflow is reported by name before the process dies.
 *
 * The handler looks at the runtimes of the process that want it. It runs on a stack of its own,
 * finds the fiber whose guard was hit, writes task, region path and stack size with write(2), and
 * aborts. Every other fault is handed to the handler that was installed before, which may repair
 * what it knows of and return; ours stays. Where there was none, the default action is restored
 * and the instruction faults again.
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
        if (!rt->reports_overflow)
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

/* With the signals blocked that the handler wants blocked, until ours returns. */
static void hand_on(int signal_number, siginfo_t *info, void *context)
{
    const struct sigaction *before = &asx__process.fault_before;
    bool none = (before->sa_flags & SA_SIGINFO) == 0 &&
                (before->sa_handler == SIG_DFL || before->sa_handler == SIG_IGN);
    if (none || (before->sa_flags & (int)SA_RESETHAND) != 0) {
        (void)sigaction(signal_number, before, NULL); /* the instruction faults again */
        return;
    }
    (void)pthread_sigmask(SIG_BLOCK, &before->sa_mask, NULL);
    if ((before->sa_flags & SA_SIGINFO) != 0)
        before->sa_sigaction(signal_number, info, context);
    else
        before->sa_handler(signal_number);
}

static void handler(int signal_number, siginfo_t *info, void *context)
{
    if (report(info->si_addr)) {
        signal(SIGABRT, SIG_DFL);
        abort();
    }
    hand_on(signal_number, info, context);
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

/* Sanitizers have handlers and signal stacks of their own. */
#define REPORTED_BY_DEFAULT (!ASX__FIBER_ASAN && !ASX__FIBER_TSAN)

/* With the lock. */
static asx_status add_user(void)
{
    if (asx__process.fault_users == 0) {
        struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
        sigemptyset(&action.sa_mask);
        struct sigaction found;
        if (sigaction(SIGSEGV, &action, &found) != 0)
            return ASX_E_SYSTEM;
        if (found.sa_sigaction != handler) /* ours, if it could not be put back once */
            asx__process.fault_before = found;
    }
    asx__process.fault_users++;
    return ASX_OK;
}

/* The thread that makes the runtime gets a signal stack for as long as the runtime is there. */
static asx_status register_with_stack(asx_runtime *rt)
{
    asx_status st = ASX_OK;
    bool in_use = false;
    rt->alternate = malloc(ALTERNATE_SIZE);
    if (rt->alternate == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    stack_t stack = { .ss_sp = rt->alternate, .ss_size = ALTERNATE_SIZE };
    pthread_mutex_lock(&asx__process.lock);
    if (sigaltstack(&stack, &rt->alternate_before) != 0) {
        st = ASX_E_SYSTEM;
    } else {
        st = add_user();
        in_use = st < 0 && !give_back_alternate(rt);
    }
    pthread_mutex_unlock(&asx__process.lock);
    if (st < 0) {
        if (!in_use)
            free(rt->alternate);
        rt->alternate = NULL;
    }
    return st;
}

asx_status asx__fault_register(asx_runtime *rt)
{
    asx_status st = ASX_OK;
    asx_overflow_mode mode = rt->config.stack_overflow;
    if (mode == ASX_OVERFLOW_REPORT) {
        st = register_with_stack(rt);
        rt->reports_overflow = st == ASX_OK;
    } else if (mode == ASX_OVERFLOW_DEFAULT && REPORTED_BY_DEFAULT && !rt->lab &&
               rt->block == NULL) {
        pthread_mutex_lock(&asx__process.lock);
        rt->reports_overflow = add_user() == ASX_OK;
        pthread_mutex_unlock(&asx__process.lock);
    }
    return st;
}

asx_status asx__fault_unregister(asx_runtime *rt)
{
    if (!rt->reports_overflow)
        return ASX_OK;
    rt->reports_overflow = false;
    pthread_mutex_lock(&asx__process.lock);
    if (--asx__process.fault_users == 0)
        sigaction(SIGSEGV, &asx__process.fault_before, NULL);
    bool given = rt->alternate == NULL || give_back_alternate(rt);
    pthread_mutex_unlock(&asx__process.lock);
    if (given)
        free(rt->alternate);
    rt->alternate = NULL;
    return given ? ASX_OK : ASX_E_SYSTEM;
}

void *asx__fault_enter_thread(const asx_runtime *rt)
{
    stack_t now;
    if (!rt->reports_overflow || sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) == 0)
        return NULL;
    void *memory = malloc(ALTERNATE_SIZE);
    stack_t stack = { .ss_sp = memory, .ss_size = ALTERNATE_SIZE };
    if (memory == NULL || sigaltstack(&stack, NULL) == 0)
        return memory;
    free(memory);
    return NULL;
}

void asx__fault_leave_thread(void *stack)
{
    stack_t now, none = { .ss_flags = SS_DISABLE };
    if (stack == NULL)
        return;
    bool ours = sigaltstack(NULL, &now) == 0 && now.ss_sp == stack;
    if (!ours || sigaltstack(&none, NULL) == 0)
        free(stack);
}
