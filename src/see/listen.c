/* listen.c - the signal that dumps, and that asks other threads where they are.
 *
 * One handler serves three: a person that types the signal's key or sends it (the dump goes to the
 * descriptor given), the tool (to a file in memory that the process keeps open, under a name by
 * which `asx stacks` finds it), and a dump or watchdog on another thread that wants this thread's
 * registers. The last two come as queued signals with a value.
 *
 *     asker: FREE -> WANTED(tid), signal, wait           handler: WANTED -> TAKEN, write, -> GIVEN
 *            look, GIVEN -> FREE                                  stands still until then, a moment
 *            too late: WANTED -> FREE, TAKEN -> LEFT                        LEFT -> FREE
 *
 * The listener lives for ever once it is made: a signal may be on its way when it is given up.
 *
 * Rejected: a thread that waits in signalfd or sigwait and dumps from there, since it could not see
 * where the interrupted code is, and would need the signal blocked in every other thread.
 */
#include "see/see.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANSWER_NS (300 * ASX_MS)
#define STILL_NS (50 * ASX_MS) /* that the asked stands still: else its frames change meanwhile */

enum ask_state { FREE, HELD, WANTED, TAKEN, GIVEN, LEFT };

typedef struct asx__listener {
    asx__atomic_u32 signo;   /* 0: given up */
    asx__atomic_u32 fd;      /* + 1; 0: none */
    asx__atomic_u32 dumping; /* one at a time; what comes meanwhile is dropped */
    int file;                /* I: in memory, for the tool; -1: there is none */
    uint64_t sequence;       /* of dumps into the file */
    struct sigaction before; /* under the process' lock */
    asx__atomic_u32 ask;     /* enum ask_state */
    asx__atomic_u32 ask_tid; /* the thread that is asked; written by the asker while HELD ... */
    asx__regs ask_regs;      /* ... and this by the asked while TAKEN */
} asx__listener;

/* ---- asking --------------------------------------------------------------------------------- */

static bool send_value(int32_t tid, int signo, void *value)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = signo;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = value;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, signo, &info) == 0;
}

static bool wait_for_answer(asx__listener *l)
{
    uint64_t until = asx__futex_clock_ns() + ANSWER_NS;
    uint32_t state;
    while ((state = asx__load_acquire(&l->ask)) != GIVEN) {
        if (asx__futex_wait(&l->ask, state, until))
            continue;
        /* Too late. The thread that has begun to write frees it when it has done. */
        uint32_t wanted = WANTED, taken = TAKEN;
        if (asx__cas_acq_rel(&l->ask, &wanted, FREE) ||
            asx__cas_acq_rel(&l->ask, &taken, LEFT))
            return false;
    }
    return true;
}

bool asx__ask_thread(int32_t tid, asx__regs *ret)
{
    asx__listener *l = asx__load_acquire(&asx__process.listener);
    int before = errno;
    bool given = false;
    uint32_t expected = FREE;
    int signo = l != NULL ? (int)asx__load_acquire(&l->signo) : 0;
    if (signo == 0 || !asx__cas_acquire(&l->ask, &expected, HELD))
        return false;
    asx__store_relaxed(&l->ask_tid, (uint32_t)tid);
    asx__store_seq_cst(&l->ask, WANTED);
    if (send_value(tid, signo, &l->ask))
        given = wait_for_answer(l);
    else
        asx__store_release(&l->ask, FREE);
    if (given)
        *ret = l->ask_regs;
    errno = before;
    return given;
}

void asx__ask_done(void)
{
    asx__listener *l = asx__load_acquire(&asx__process.listener);
    asx__store_release(&l->ask, FREE);
    asx__futex_wake(&l->ask, 1);
}

static void answer(asx__listener *l, const void *ucontext)
{
    uint32_t expected = WANTED;
    if (asx__load_relaxed(&l->ask_tid) != (uint32_t)syscall(SYS_gettid) ||
        !asx__cas_acquire(&l->ask, &expected, TAKEN))
        return;
    asx__regs_of_context(ucontext, &l->ask_regs);
    expected = TAKEN;
    if (!asx__cas_acq_rel(&l->ask, &expected, GIVEN)) {
        asx__store_release(&l->ask, FREE);
        return;
    }
    asx__futex_wake(&l->ask, 1);
    uint64_t until = asx__futex_clock_ns() + STILL_NS;
    while (asx__load_acquire(&l->ask) == GIVEN && asx__futex_wait(&l->ask, GIVEN, until)) {
    }
}

/* ---- the handler ---------------------------------------------------------------------------- */

static void write_header(asx__listener *l, uint64_t length)
{
    asx__dump_header header = {
        .magic = ASX__DUMP_MAGIC,
        .header_size = sizeof header,
        .signo = (int32_t)asx__load_relaxed(&l->signo),
        .sequence = l->sequence,
        .length = length,
    };
    if (l->file >= 0) {
        ssize_t ignored = pwrite(l->file, &header, sizeof header, 0);
        (void)ignored;
    }
}

static void dump(asx__listener *l, int fd, int64_t at, const void *ucontext)
{
    asx__look *look = asx__look_begin(fd, at);
    if (look == NULL)
        return;
    asx__regs_of_context(ucontext, &look->self);
    asx__dump_process(look);
    asx__put_flush(look);
    if (at >= 0) {
        l->sequence++;
        write_header(l, (uint64_t)(look->at - at));
    }
    (void)asx__look_end(look);
}

static void handler(int signal_number, siginfo_t *info, void *ucontext)
{
    asx__listener *l = asx__load_acquire(&asx__process.listener);
    int before = errno;
    bool queued = info->si_code == SI_QUEUE;
    uint32_t expected = 0;
    (void)signal_number;
    if (queued && info->si_pid == getpid() && info->si_value.sival_ptr == (void *)&l->ask) {
        answer(l, ucontext);
    } else if (asx__cas_acquire(&l->dumping, &expected, 1u)) {
        int fd = (int)asx__load_relaxed(&l->fd) - 1;
        if (queued && info->si_value.sival_int == ASX__DUMP_VALUE && l->file >= 0)
            dump(l, l->file, (int64_t)sizeof(asx__dump_header), ucontext);
        else if (fd >= 0)
            dump(l, fd, -1, ucontext);
        asx__store_release(&l->dumping, 0u);
    }
    errno = before;
}

/* ---- installing it -------------------------------------------------------------------------- */

static int make_file(void)
{
#if defined(SYS_memfd_create)
    return (int)syscall(SYS_memfd_create, ASX__DUMP_FILE, 1u /* MFD_CLOEXEC */);
#else
    return -1;
#endif
}

static asx__listener *make_listener(void)
{
    asx__listener *l = mmap(NULL, sizeof *l, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                            -1, 0);
    if (l == MAP_FAILED)
        return NULL;
    l->file = make_file();
    return l;
}

/* Looks once and says nothing: functions that are bound at their first call are bound now, and not
 * on the little stack of a task that a signal has interrupted. */
static void rehearse(void)
{
    asx__look *look = asx__look_begin(-1, -1);
    if (look == NULL)
        return;
    asx__regs_of_fiber(look, look, &look->regs);
    look->frames[0] = (uintptr_t)rehearse;
    asx__put_frames(look, 1);
    (void)asx__unwind(look, &look->regs, (uintptr_t)look, (uintptr_t)(look + 1));
    (void)asx__look_end(look);
}

static void give_up(asx__listener *l)
{
    int signo = (int)asx__load_relaxed(&l->signo);
    if (signo != 0)
        (void)sigaction(signo, &l->before, NULL);
    asx__store_release(&l->signo, 0u);
    asx__store_release(&asx__process.ask_signo, 0u);
}

static asx_status begin(int signo, int fd)
{
    asx__listener *l = asx__load_acquire(&asx__process.listener);
    if (l == NULL)
        l = make_listener();
    if (l == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__store_release(&asx__process.listener, l);
    struct sigaction action = { .sa_sigaction = handler,
                                .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
    sigfillset(&action.sa_mask);
    static const int faults[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        sigdelset(&action.sa_mask, faults[i]);
    give_up(l);
    asx__store_release(&l->fd, fd >= 0 ? (uint32_t)fd + 1 : 0u);
    if (sigaction(signo, &action, &l->before) != 0)
        return errno == EINVAL ? ASX_E_INVALID_ARGUMENT : ASX_E_SYSTEM;
    asx__store_release(&l->signo, (uint32_t)signo);
    asx__store_release(&asx__process.ask_signo, (uint32_t)signo);
    write_header(l, 0);
    return ASX_OK;
}

asx_status asx_dump_on_signal(int signo, int fd)
{
    if (signo < 0 || signo == SIGKILL || signo == SIGSTOP || signo == SIGSEGV ||
        signo == SIGBUS || signo == SIGILL || signo == SIGFPE || fd < -1 || signo > SIGRTMAX)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = ASX_OK;
    int before = errno;
    rehearse();
    pthread_mutex_lock(&asx__process.lock);
    if (signo != 0) {
        st = begin(signo, fd);
    } else {
        asx__listener *l = asx__load_relaxed(&asx__process.listener);
        if (l != NULL) {
            give_up(l);
            write_header(l, 0);
        }
    }
    pthread_mutex_unlock(&asx__process.lock);
    errno = before;
    return st;
}
