/* streams.h - for programs: standard streams that are there, and output that has arrived.
 *
 * A program that was started without one of its standard streams gets its number for the first file
 * that it opens, and what it prints ends up there. And a result that did not reach its reader is no
 * result: a full disk must not look like success.
 */
#ifndef ASX_BASE_STREAMS_H
#define ASX_BASE_STREAMS_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

/* First thing in main. A stream that is missing is opened the wrong way round, so that using it
 * fails as it would have. */
static inline void asx__streams_begin(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

/* Last thing. False: not all of the output was written; errno says why, if it is known. */
static inline bool asx__streams_end(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}

#endif
