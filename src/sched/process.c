/* process.c - the list of all runtimes of the process. */
#include "sched/process.h"

static const char *const wait_names[] = {
#define NAME(name, number, text) [number] = text,
    ASX__WAIT_LIST(NAME)
#undef NAME
};

asx__process_registry asx__process = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wait_names = wait_names,
    .wait_count = sizeof wait_names / sizeof *wait_names,
};

void asx__process_add(asx_runtime *rt)
{
    pthread_mutex_lock(&asx__process.lock);
    rt->registry_next = asx__load_relaxed(&asx__process.runtimes);
    rt->registered = asx__process_mark(rt);
    /* Release: a dump that finds it finds it complete. */
    asx__store_release(&asx__process.runtimes, rt);
    pthread_mutex_unlock(&asx__process.lock);
}

void asx__process_remove(asx_runtime *rt)
{
    pthread_mutex_lock(&asx__process.lock);
    asx_runtime *before = NULL, *at = asx__load_relaxed(&asx__process.runtimes);
    while (at != NULL && at != rt) {
        before = at;
        at = at->registry_next;
    }
    if (at == rt && before != NULL)
        before->registry_next = rt->registry_next;
    else if (at == rt)
        asx__store_release(&asx__process.runtimes, rt->registry_next);
    rt->registered = 0;
    pthread_mutex_unlock(&asx__process.lock);
}
