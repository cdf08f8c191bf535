/* globals.c - what C++ keeps by thread of exceptions that are under way.
 *
 * Every C++ runtime keeps two words per thread: the exceptions that catch blocks hold, newest
 * first, and how many are on their way. They belong to the call chain, so a fiber that is suspended
 * inside a catch block, or in a destructor that an exception runs, takes them along: otherwise the
 * next fiber's `throw;` would throw them, and its end of a catch block free them.
 *
 *     take   before a fiber leaves: they go to its own stack, and the thread has none
 *     put    when it goes on, on whichever thread that is, which has none then either
 *
 * So between two fibers a thread's words are zero, and a fiber that holds no exception has nothing
 * to keep. A chain that is never gone on with (a panic, a completion by force) never gives its
 * exceptions back: they are lost with its stack.
 *
 * The two words are found by the function that the C++ ABI names for it. The reference is weak: in
 * a program without C++ it is NULL, the scheduler knows that from the start, and nothing here is
 * called. A C program that loads C++ later, by dlopen(), is taken for one without.
 *
 * Rejected: a function of that name of our own, which finds the words in the fiber. It costs
 * nothing at a switch, but replaces a part of the C++ library for the whole process, and not all of
 * them let it be replaced.
 */
#include "fiber/fiber.h"

/* Not declared as a constant of the caller, which the C++ headers do: after a switch it is not. */
void *__cxa_get_globals(void) __attribute__((weak));

bool asx__fiber_globals_exist(void)
{
    return __cxa_get_globals != NULL;
}

__attribute__((noinline)) bool asx__fiber_globals_any(void)
{
    if (__cxa_get_globals == NULL)
        return false;
    const asx__fiber_globals *now = __cxa_get_globals();
    return now->caught != NULL || now->uncaught != 0;
}

__attribute__((noinline)) bool asx__fiber_globals_take(asx__fiber_globals *ret_globals)
{
    if (!asx__fiber_globals_any())
        return false;
    asx__fiber_globals *now = __cxa_get_globals();
    *ret_globals = *now;
    *now = (asx__fiber_globals){ .caught = NULL };
    return true;
}

__attribute__((noinline)) void asx__fiber_globals_put(const asx__fiber_globals *globals)
{
    *(asx__fiber_globals *)__cxa_get_globals() = *globals;
}
