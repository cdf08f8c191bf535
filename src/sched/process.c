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
    rt->registry_next = asx__process.runtimes;
    rt->registered = asx__process_mark(rt);
    /* A handler on this thread may look at any moment: link only what is complete. */
    __asm__ volatile("" ::: "memory");
    asx__process.runtimes = rt;
    pthread_mutex_unlock(&asx__process.lock);
}

void asx__process_remove(asx_runtime *rt)
{
    pthread_mutex_lock(&asx__process.lock);
    asx_runtime *volatile *at = &asx__process.runtimes;
    while (*at != NULL && *at != rt)
        at = (asx_runtime *volatile *)&(*at)->registry_next;
    if (*at == rt)
        *at = rt->registry_next;
    rt->registered = 0;
    pthread_mutex_unlock(&asx__process.lock);
}
