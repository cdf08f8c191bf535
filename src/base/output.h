/* output.h - outputs of a refused call: handles, guards, permits, pointers and records are all zero
 * then, which every call refuses. NULL is allowed: the call refuses it, or needs no such output. */
#ifndef ASX_BASE_OUTPUT_H
#define ASX_BASE_OUTPUT_H

#include <stddef.h>
#include <string.h>

static inline void asx__empty(void *ret, size_t size)
{
    if (ret != NULL)
        memset(ret, 0, size);
}

/* Before anything else: of calls that are rare. */
#define ASX__EMPTY(ret) asx__empty((ret), sizeof *(ret))

/* Of the others: the status that they return, and the output is emptied if it is a refusal. */
#define ASX__EMPTY_IF(st, ret) ((asx_status)asx__empty_if((st), (ret), sizeof *(ret)))
static inline int asx__empty_if(int st, void *ret, size_t size)
{
    if (__builtin_expect(st < 0, 0))
        asx__empty(ret, size);
    return st;
}

#endif
