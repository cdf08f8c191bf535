/* scarce.c - what a listener does when the process or the system has no descriptor left.
 *
 * accept() then fails at once, again and again, while the connections stay in the queue: whoever
 * asks again spins. So one descriptor is kept spare. It is given up to accept what waits and to
 * close it, which tells the peers, and taken again. Then the listener pauses: its operations are
 * not given to the back end, but wait here until a file of this runtime is closed, or PAUSE_NS.
 *
 *   file->paused  <=>  it is in io->paused
 *   the timer is armed  =>  a file is paused
 */
#include "io/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAUSE_NS (100 * ASX_MS)
/* More are left to the next time: others have things to do. */
#define DRAINED_MOST 1024

void asx__io_keep_spare(asx__io *io)
{
    if (io->spare < 0)
        io->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* Peers that cannot be served are told so by the end of their connection. */
static void turn_away(asx__io *io, const asx__file *listener)
{
    for (int i = 0; i < DRAINED_MOST && io->spare >= 0; i++) {
        (void)close(io->spare);
        io->spare = -1;
        int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC);
        if (fd >= 0)
            (void)close(fd);
        asx__io_keep_spare(io);
        if (fd < 0)
            return;
        io->turned_away++;
    }
}

void asx__io_resume(asx__io *io)
{
    while (io->paused != NULL) {
        asx__file *file = io->paused;
        io->paused = file->paused_next;
        file->paused = false;
        asx__node *waiting = &file->waiting[ASX__INWARD];
        for (asx__node *at = waiting->next; at != waiting;) {
            asx__io_op *op = (asx__io_op *)(void *)at;
            at = at->next;
            if (op->held)
                asx__op_complete(io, op, -EAGAIN);
        }
    }
    (void)asx_timer_cancel(&io->rt->timers, &io->pause);
}

static void pause_is_over(void *arg)
{
    asx__io_resume(arg);
}

void asx__io_unpause(asx__io *io, asx__file *file)
{
    for (asx__file **at = &io->paused; *at != NULL; at = &(*at)->paused_next) {
        if (*at != file)
            continue;
        *at = file->paused_next;
        break;
    }
    file->paused = false;
    if (io->paused == NULL)
        (void)asx_timer_cancel(&io->rt->timers, &io->pause);
}

bool asx__io_is_scarce(int64_t result)
{
    return result == -EMFILE || result == -ENFILE;
}

void asx__io_pause(asx__io *io, asx__file *listener)
{
    asx_runtime *rt = io->rt;
    turn_away(io, listener);
    if (listener->paused)
        return;
    if (io->paused == NULL) {
        asx_waker waker = { pause_is_over, io };
        asx_time until = asx_time_add(asx__clock_read(rt), PAUSE_NS);
        if (asx_timer_register(&rt->timers, until, waker, &io->pause) < 0)
            return; /* then it is each connection that is turned away as it comes */
    }
    listener->paused = true;
    listener->paused_next = io->paused;
    io->paused = listener;
}
