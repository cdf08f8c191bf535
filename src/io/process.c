/* process.c - signals by signalfd, children by pidfd.
 *
 * A child that is closed while it runs is killed. Its file keeps its descriptor, and so its number,
 * until the system says that it has ended, which an orphan of an operation waits for; then it is
 * reaped. A region that closes waits a moment for those that it has killed, which is nearly always
 * enough.
 */
#include "io/io.h"

#include <asx/process.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define P_PIDFD_ ((idtype_t)3)
/* How long a closing region waits for a child that it has killed. */
#define DYING_MS 100

extern char **environ;

static asx_status find(const asx_cx *cx, void *handle_file, uint64_t generation, uint32_t caps,
                       enum asx__file_sort sort, asx__file **ret_file)
{
    asx__task *task;
    asx_runtime *rt;
    asx_status st = asx__cx_enter(cx, caps, &task, &rt);
    return st < 0 ? st : asx__file_find(rt, handle_file, generation, sort, ret_file);
}

/* ---- signals -------------------------------------------------------------------------------- */

static bool set_of(const int *signals, size_t count, sigset_t *ret_set)
{
    sigemptyset(ret_set);
    for (size_t i = 0; i < count; i++)
        if (signals[i] == SIGKILL || signals[i] == SIGSTOP || sigaddset(ret_set, signals[i]) < 0)
            return false;
    return true;
}

static bool is_part(const sigset_t *set, const sigset_t *of)
{
    for (int i = 1; i < NSIG; i++)
        if (sigismember(set, i) == 1 && sigismember(of, i) != 1)
            return false;
    return true;
}

void asx__signals_give_back(asx__io *io, asx__file *file)
{
    if (file->unblocks == NULL)
        return;
    (void)pthread_sigmask(SIG_UNBLOCK, file->unblocks, NULL);
    asx__mem_free(io->rt, file->unblocks, sizeof *file->unblocks);
    file->unblocks = NULL;
}

/* Blocks them in this thread, which is the one that drives. */
static bool take_over(asx_runtime *rt, asx__file *file, const sigset_t *set)
{
    sigset_t before;
    sigset_t *unblocks = asx__mem_alloc(rt, sizeof *unblocks);
    if (unblocks == NULL)
        return false;
    (void)pthread_sigmask(SIG_BLOCK, set, &before);
    *unblocks = *set;
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&before, i) == 1)
            (void)sigdelset(unblocks, i);
    file->unblocks = unblocks;
    return true;
}

asx_status asx_signals_open(asx_cx *cx, const asx_region *region, const int *signals, size_t count,
                            asx_signals *ret_signals)
{
    ASX__GATE_CX(cx, asx_signals_open(&in, region, signals, count, ret_signals));
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    asx__io *io;
    asx__file *file;
    sigset_t set;
    if (ret_signals == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_signals = (asx_signals){ NULL, 0 };
    if (signals == NULL || count == 0 || !set_of(signals, count, &set))
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st == ASX_OK && rt->gate != NULL && !is_part(&set, &rt->host_mask))
        st = ASX_E_NOT_SUPPORTED;
    if (st == ASX_OK)
        st = asx__io_of(rt, &io);
    if (st < 0)
        return st;
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return asx__io_status(errno);
    st = asx__file_make(io, home, ASX__FILE_SIGNALS, fd, "signals", &file);
    if (st < 0)
        return st;
    file->nonblocking = true;
    if (rt->gate == NULL && !take_over(rt, file, &set)) {
        asx__file_close(io, file);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    *ret_signals = (asx_signals){ file, asx__file_generation(file) };
    return ASX_OK;
}

asx_status asx_signals_wait(asx_cx *cx, const asx_signals *signals, asx_signal_note *ret_note)
{
    ASX__GATE_CX(cx, asx_signals_wait(&in, signals, ret_note));
    struct signalfd_siginfo info;
    struct iovec part = { &info, sizeof info };
    asx__request request = { .kind = ASX__IO_READ, .directions = 1u << ASX__INWARD,
                             .parts = &part, .count = 1 };
    asx__file *file;
    int64_t result;
    if (ret_note == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_note = (asx_signal_note){ .signal = 0 };
    if (signals == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, signals->file_, signals->generation_, ASX_CAP_IO, ASX__FILE_SIGNALS,
                         &file);
    if (st == ASX_OK)
        st = asx__io_do(cx->rt_, cx->task_, file, signals->generation_, &request, &result);
    if (st < 0)
        return st;
    if (result != (int64_t)sizeof info)
        return result < 0 ? asx__io_status((int)-result) : ASX_E_SYSTEM;
    *ret_note = (asx_signal_note){ .signal = (int)info.ssi_signo, .pid = (int32_t)info.ssi_pid,
                                   .uid = info.ssi_uid, .value = info.ssi_int };
    return ASX_OK;
}

asx_status asx_signals_close(asx_cx *cx, const asx_signals *signals)
{
    ASX__GATE_CX(cx, asx_signals_close(&in, signals));
    asx__file *file;
    if (signals == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, signals->file_, signals->generation_, 0, ASX__FILE_SIGNALS, &file);
    return st < 0 ? st : asx__file_close_for(cx->rt_, cx->task_, file);
}

/* ---- a child's end -------------------------------------------------------------------------- */

/* Takes note of how it has ended. False: it runs. */
static bool reap(asx__file *file, bool waits)
{
    siginfo_t info;
    int rc;
    if (file->reaped)
        return true;
    memset(&info, 0, sizeof info);
    do
        rc = waitid(P_PIDFD_, (id_t)file->fd, &info, WEXITED | (waits ? 0 : WNOHANG));
    while (rc < 0 && errno == EINTR);
    if (rc == 0 && info.si_pid == 0)
        return false;
    file->reaped = true;
    file->end_code = -1; /* somebody else has waited for it */
    if (rc == 0 && info.si_code == CLD_EXITED)
        file->end_code = info.si_status;
    else if (rc == 0)
        file->end_signal = info.si_status;
    return true;
}

static long send_signal(const asx__file *file, int signo)
{
    return syscall(SYS_pidfd_send_signal, file->fd, signo, NULL, 0);
}

void asx__child_kill(const asx__file *file)
{
    if (!file->reaped)
        (void)send_signal(file, SIGKILL);
}

bool asx__child_is_gone(asx__io *io, asx__file *file)
{
    if (reap(file, false))
        return true;
    if (!asx__io_watch(io, file))
        (void)reap(file, true); /* it has been killed: not for long */
    return file->reaped;
}

void asx__child_await(asx__file *file, bool for_ever)
{
    struct pollfd at = { .fd = file->fd, .events = POLLIN };
    if (!file->reaped && !for_ever)
        (void)poll(&at, 1, DYING_MS);
    (void)reap(file, for_ever);
}

/* ---- starting ------------------------------------------------------------------------------- */

enum { INPUT, OUTPUT, ERRORS, STDIO };

typedef struct start {
    asx_child_stdio as[STDIO];
    int theirs[STDIO], ours[STDIO]; /* ends of pipes; -1: none */
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
} start;

/* So that no end of a pipe is where the child's input or output will be. */
static int above_stdio(int fd)
{
    if (fd < 0 || fd >= STDIO)
        return fd;
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, STDIO);
    (void)close(fd);
    return copy;
}

static bool make_pipes(start *s)
{
    for (int i = 0; i < STDIO; i++)
        s->theirs[i] = s->ours[i] = -1;
    for (int i = 0; i < STDIO; i++) {
        int fds[2];
        if (s->as[i] != ASX_CHILD_PIPE)
            continue;
        if (pipe2(fds, O_CLOEXEC) < 0)
            return false;
        s->theirs[i] = above_stdio(fds[i == INPUT ? 0 : 1]);
        s->ours[i] = above_stdio(fds[i == INPUT ? 1 : 0]);
        if (s->theirs[i] < 0 || s->ours[i] < 0 || fcntl(s->ours[i], F_SETFL, O_NONBLOCK) < 0)
            return false;
    }
    return true;
}

static void close_ends(int *fds)
{
    for (int i = 0; i < STDIO; i++) {
        if (fds[i] >= 0)
            (void)close(fds[i]);
        fds[i] = -1;
    }
}

/* errno, or 0. */
static int describe(start *s, const asx_runtime *rt, const asx_child_options *options)
{
    int error = 0;
    short flags = POSIX_SPAWN_SETSIGMASK;
    for (int i = 0; i < STDIO && error == 0; i++) {
        if (s->as[i] == ASX_CHILD_NULL)
            error = posix_spawn_file_actions_addopen(&s->actions, i, "/dev/null",
                                                     i == INPUT ? O_RDONLY : O_WRONLY, 0);
        else if (s->as[i] == ASX_CHILD_PIPE)
            error = posix_spawn_file_actions_adddup2(&s->actions, s->theirs[i], i);
        else if (s->as[i] == ASX_CHILD_OUTPUT)
            error = posix_spawn_file_actions_adddup2(&s->actions, OUTPUT, i);
    }
    if (error == 0 && options->directory != NULL)
        error = posix_spawn_file_actions_addchdir_np(&s->actions, options->directory);
    (void)posix_spawnattr_setsigmask(&s->attr, &rt->host_mask);
    if (options->own_group) {
        flags |= POSIX_SPAWN_SETPGROUP;
        (void)posix_spawnattr_setpgroup(&s->attr, 0);
    }
    (void)posix_spawnattr_setflags(&s->attr, flags);
    return error;
}

/* The program runs, and *ret_fd is its descriptor; or errno. */
static int launch(start *s, const asx_runtime *rt, const char *const *argv,
                  const asx_child_options *options, pid_t *ret_pid, int *ret_fd)
{
    char *const *environment = options->environment != NULL
                                   ? (char *const *)(uintptr_t)options->environment : environ;
    if (posix_spawn_file_actions_init(&s->actions) != 0)
        return ENOMEM;
    (void)posix_spawnattr_init(&s->attr);
    int error = describe(s, rt, options);
    if (error == 0)
        error = posix_spawnp(ret_pid, argv[0], &s->actions, &s->attr,
                             (char *const *)(uintptr_t)argv, environment);
    (void)posix_spawnattr_destroy(&s->attr);
    (void)posix_spawn_file_actions_destroy(&s->actions);
    if (error != 0)
        return error;
    *ret_fd = (int)syscall(SYS_pidfd_open, *ret_pid, 0);
    if (*ret_fd >= 0)
        return 0;
    error = errno;
    (void)kill(*ret_pid, SIGKILL);
    (void)waitpid(*ret_pid, NULL, 0);
    return error;
}

/* The streams of our ends; all that have been made are closed if one cannot be. */
static asx_status make_streams(asx_runtime *rt, asx__region *home, start *s,
                               asx_child_streams *ret_streams)
{
    asx_stream *streams[STDIO] = { &ret_streams->input, &ret_streams->output,
                                   &ret_streams->errors };
    asx_status st = ASX_OK;
    for (int i = 0; i < STDIO && st == ASX_OK; i++) {
        asx__file like = { .nonblocking = true, .inward = i != INPUT, .outward = i == INPUT };
        int fd = s->ours[i];
        s->ours[i] = -1;
        if (fd >= 0)
            st = asx__stream_one(rt, home, fd, &like, NULL, streams[i]);
    }
    for (int i = 0; i < STDIO && st < 0; i++) {
        asx__file *file = streams[i]->file_;
        if (file != NULL)
            asx__file_close(file->io, file);
        *streams[i] = (asx_stream){ NULL, 0 };
    }
    return st;
}

static asx_status start_child(asx_runtime *rt, asx__region *home, const char *const *argv,
                              const asx_child_options *options, start *s, asx_child *ret_child)
{
    asx__io *io;
    asx__file *file;
    pid_t pid;
    int fd = -1;
    asx_status st = asx__io_of(rt, &io);
    if (st < 0)
        return st;
    int error = make_pipes(s) ? launch(s, rt, argv, options, &pid, &fd) : errno;
    close_ends(s->theirs);
    if (error != 0)
        return asx__io_status(error);
    st = asx__file_make(io, home, ASX__FILE_CHILD, fd, options->name, &file);
    if (st < 0) {
        (void)kill(pid, SIGKILL); /* its number is its own: nobody else waits for it */
        (void)waitpid(pid, NULL, 0);
        return st;
    }
    file->pid = pid;
    file->nonblocking = true;
    *ret_child = (asx_child){ file, asx__file_generation(file) };
    return ASX_OK;
}

static bool is_possible(const asx_child_options *o, const asx_child_streams *streams)
{
    bool pipes = o->input == ASX_CHILD_PIPE || o->output == ASX_CHILD_PIPE ||
                 o->errors == ASX_CHILD_PIPE;
    return (unsigned)o->input <= ASX_CHILD_PIPE && (unsigned)o->output <= ASX_CHILD_PIPE &&
           (unsigned)o->errors <= ASX_CHILD_OUTPUT && (!pipes || streams != NULL);
}

asx_status asx_child_start(asx_cx *cx, const asx_region *region, const char *const *argv,
                           const asx_child_options *options, asx_child *ret_child,
                           asx_child_streams *ret_streams)
{
    ASX__GATE_CX(cx, asx_child_start(&in, region, argv, options, ret_child, ret_streams));
    static const asx_child_options none;
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    if (ret_child != NULL)
        *ret_child = (asx_child){ NULL, 0 };
    if (ret_streams != NULL)
        memset(ret_streams, 0, sizeof *ret_streams);
    if (options == NULL)
        options = &none;
    if (ret_child == NULL || argv == NULL || argv[0] == NULL || !is_possible(options, ret_streams))
        return ASX_E_INVALID_ARGUMENT;
    start s = { .as = { options->input, options->output, options->errors },
                .theirs = { -1, -1, -1 }, .ours = { -1, -1, -1 } };
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st == ASX_OK)
        st = start_child(rt, home, argv, options, &s, ret_child);
    if (st == ASX_OK && ret_streams != NULL)
        st = make_streams(rt, home, &s, ret_streams);
    close_ends(s.ours);
    if (st < 0 && ret_child->file_ != NULL) {
        asx__file *file = ret_child->file_;
        asx__file_close(file->io, file);
        *ret_child = (asx_child){ NULL, 0 };
    }
    return st;
}

/* ---- calls ---------------------------------------------------------------------------------- */

asx_status asx_child_wait(asx_cx *cx, const asx_child *child, asx_child_end *ret_end)
{
    ASX__GATE_CX(cx, asx_child_wait(&in, child, ret_end));
    asx__request request = { .kind = ASX__IO_READY, .directions = 1u << ASX__INWARD };
    asx__file *file;
    int64_t result;
    if (ret_end == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_end = (asx_child_end){ -1, 0 };
    if (child == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, child->file_, child->generation_, ASX_CAP_IO, ASX__FILE_CHILD, &file);
    if (st == ASX_OK && !file->reaped) {
        st = asx__io_do(cx->rt_, cx->task_, file, child->generation_, &request, &result);
        if (st == ASX_OK && asx__file_generation(file) != child->generation_)
            st = ASX_E_CLOSED;
        if (st == ASX_OK)
            (void)reap(file, false);
    }
    if (st == ASX_OK)
        *ret_end = (asx_child_end){ file->end_code, file->end_signal };
    return st;
}

asx_status asx_child_signal(asx_cx *cx, const asx_child *child, int signo)
{
    ASX__GATE_CX(cx, asx_child_signal(&in, child, signo));
    asx__file *file;
    if (child == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, child->file_, child->generation_, ASX_CAP_IO, ASX__FILE_CHILD, &file);
    if (st < 0)
        return st;
    if (signo <= 0 || signo >= NSIG)
        return ASX_E_INVALID_ARGUMENT;
    if (file->reaped || (send_signal(file, signo) < 0 && errno == ESRCH))
        return ASX_E_NOT_FOUND;
    return ASX_OK;
}

asx_status asx_child_pid(asx_cx *cx, const asx_child *child, int32_t *ret_pid)
{
    ASX__GATE_CX(cx, asx_child_pid(&in, child, ret_pid));
    asx__file *file;
    if (ret_pid == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_pid = 0;
    if (child == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, child->file_, child->generation_, 0, ASX__FILE_CHILD, &file);
    if (st == ASX_OK)
        *ret_pid = file->pid;
    return st;
}

asx_status asx_child_close(asx_cx *cx, const asx_child *child)
{
    ASX__GATE_CX(cx, asx_child_close(&in, child));
    asx__file *file;
    if (child == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = find(cx, child->file_, child->generation_, 0, ASX__FILE_CHILD, &file);
    return st < 0 ? st : asx__file_close_for(cx->rt_, cx->task_, file);
}
