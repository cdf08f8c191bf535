/* watchdog.c - one thread that looks in while tasks run, and names tasks that keep their thread.
 *
 * Words
 *   sample    what a worker runs at one moment: the task, which turn that is, and how far it has
 *             come. Every dispatch changes that, so equal samples over the whole limit mean that
 *             nothing was dispatched: the task has not yielded.
 *   episode   as long as samples stay equal. It is told once.
 *
 * Sleeping. While a thread runs tasks the watchdog looks in four times per limit. When none does
 * it waits on a futex without a time-out; a thread that begins to run tasks rings, if it is asleep:
 *     begins: busy + 1, then looks at `asleep`        watchdog: asleep = 1, then looks at `busy`
 * All four accesses are sequentially consistent, so one of the two sees the other. A runtime that
 * wakes up often rings at most once per look, since the watchdog then stays up until the next.
 *
 * A thread that is in a system call is not disturbed: the system tells which call, and the stack
 * pointer in it, from which the chain is walked. One that computes is asked by the listener's
 * signal, if there is one.
 *
 * Rejected: a timer signal in every worker, which costs when nothing is wrong, and interrupts
 * system calls; a counter in the hot path of the scheduler, since the turn counts already.
 */
#include "see/see.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LIMIT_DEFAULT_NS (100 * ASX_MS)
#define LIMIT_MIN_NS ASX_MS
#define LOOKS 4u /* per limit */

enum { TEXT_SIZE = 16384 };

/* By libasx-mutexwatch: locks taken on this thread since the last call and still held; where the
 * last of them was taken. */
typedef unsigned (*held_fn)(const void **ret_where);

typedef struct sample {
    const asx__task *task; /* NULL: none */
    uint64_t generation;
    uint32_t turn_left;
    uint64_t turns; /* that this worker has begun: a turn may be one dispatch long */
    int32_t tid;
} sample;

typedef struct episode {
    sample last;
    uint64_t since_ns;
    bool told;
} episode;

struct asx_watchdog {
    asx__watch watch;       /* first: what the runtime calls */
    asx_runtime *rt;        /* I; NULL: gone */
    asx_watchdog_options options; /* I */
    held_fn held;           /* I: NULL: not asked for */
    pthread_t thread;
    asx__atomic_u32 busy;   /* threads that run tasks now */
    asx__atomic_u32 asleep; /* the watchdog waits for one that does */
    asx__atomic_u32 bell;   /* changes when it is to wake up */
    asx__atomic_u32 stop;
    episode episodes[ASX__WORKERS_MAX];
    char text[TEXT_SIZE];   /* of the watchdog's own thread */
};

/* ---- telling -------------------------------------------------------------------------------- */

static void write_all(int fd, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t put = write(fd, text, left);
        if (put < 0 && errno == EINTR)
            continue;
        struct pollfd ready = { fd, POLLOUT, 0 };
        if (put < 0 && (errno != EAGAIN || poll(&ready, 1, 1000) <= 0))
            return;
        if (put > 0) {
            text += put;
            left -= (size_t)put;
        }
    }
}

static void deliver(const asx_watchdog *dog, const asx_sighting *sighting)
{
    int before = errno;
    if (dog->options.fd > 0)
        write_all(dog->options.fd, sighting->text);
    if (dog->options.report != NULL)
        dog->options.report(dog->options.ctx, sighting);
    errno = before;
}

/* "asx: task 7 "name" (file:line) in root/x " */
static void put_task(asx__look *look)
{
    const asx__task *task = &look->task;
    asx__put(look, "asx: task ");
    asx__put_number(look, asx__serial(task->generation));
    asx__put(look, " \"");
    if (asx__peek_string(look, task->name, look->text, sizeof look->text))
        asx__put(look, look->text);
    asx__put(look, "\" (");
    if (asx__peek_string(look, task->site, look->text, sizeof look->text))
        asx__put(look, look->text);
    asx__put(look, ") in ");
    asx__put_path(look, task->region);
}

/* ---- system calls --------------------------------------------------------------------------- */

static const char *call_name(long number)
{
    static const struct {
        long number;
        const char *name;
    } names[] = {
#define CALL(name) { SYS_##name, #name },
        CALL(read) CALL(write) CALL(readv) CALL(writev) CALL(pread64) CALL(pwrite64) CALL(openat)
        CALL(close) CALL(fsync) CALL(fdatasync) CALL(ftruncate) CALL(fallocate) CALL(flock)
        CALL(fcntl) CALL(ioctl) CALL(ppoll) CALL(pselect6) CALL(epoll_pwait) CALL(futex)
        CALL(nanosleep) CALL(clock_nanosleep) CALL(connect) CALL(accept4)
        CALL(recvfrom) CALL(recvmsg) CALL(sendto) CALL(sendmsg) CALL(wait4) CALL(waitid)
        CALL(rt_sigtimedwait) CALL(io_getevents) CALL(mmap) CALL(munmap) CALL(madvise)
        CALL(splice) CALL(sendfile) CALL(getdents64) CALL(unlinkat)
#if defined(SYS_accept)
        CALL(accept)
#endif
#if defined(SYS_poll)
        CALL(poll)
#endif
#if defined(SYS_select)
        CALL(select)
#endif
#if defined(SYS_epoll_wait)
        CALL(epoll_wait)
#endif
#if defined(SYS_open)
        CALL(open)
#endif
#if defined(SYS_pause)
        CALL(pause)
#endif
#undef CALL
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].number == number)
            return names[i].name;
    return NULL;
}

/* A file of /proc about a thread of ours. */
static bool read_about(asx__look *look, int32_t tid, const char *what)
{
    char path[64];
    look->into = path;
    look->into_size = sizeof path;
    look->into_len = 0;
    asx__put(look, "/proc/self/task/");
    asx__put_number(look, (uint64_t)tid);
    asx__put(look, what);
    asx__put_flush(look);
    look->into = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t len = read(fd, look->text, sizeof look->text - 1);
    (void)close(fd);
    look->text[len > 0 ? len : 0] = '\0';
    return len > 0;
}

/* Is the thread in a system call, and not on a processor? Gives the call, and from where. */
static bool in_system_call(asx__look *look, int32_t tid, long *ret_number, asx__regs *ret_regs)
{
    if (!read_about(look, tid, "/stat"))
        return false;
    const char *state = strrchr(look->text, ')');
    if (state == NULL || (state[1] != '\0' && strchr("SD", state[2]) == NULL) ||
        !read_about(look, tid, "/syscall"))
        return false;
    char *at = look->text;
    long number = strtol(at, &at, 10);
    if (at == look->text || number < 0)
        return false;
    unsigned long long word[8];
    for (int i = 0; i < 8; i++)
        word[i] = strtoull(at, &at, 0);
    memset(ret_regs, 0, sizeof *ret_regs);
    ret_regs->at[ASX__REG_SP] = (uintptr_t)word[6];
    ret_regs->known = UINT64_C(1) << ASX__REG_SP;
    ret_regs->pc = (uintptr_t)word[7];
    ret_regs->returns = true; /* it goes on behind the instruction that called */
    *ret_number = number;
    return true;
}

/* ---- looking in ----------------------------------------------------------------------------- */

static bool take_sample(asx__look *look, const asx_runtime *rt, uint32_t index, sample *ret)
{
    const asx__engine *e = NULL;
    memset(ret, 0, sizeof *ret);
    if (!asx__peek_worker(look, rt, index, &ret->task, &ret->tid))
        return false;
    if (ret->task == NULL || ret->tid == 0 ||
        !asx__peek(look, &ret->task->generation, &ret->generation, sizeof ret->generation) ||
        !asx__peek(look, &rt->engine, &e, sizeof e)) {
        ret->task = NULL;
        return true;
    }
    const asx__worker *w = NULL, *loaded = NULL;
    if (e != NULL && asx__peek(look, &e->workers, &w, sizeof w) &&
        asx__peek(look, &e->loaded, &loaded, sizeof loaded)) {
        const uint32_t *left = loaded == w + index ? &rt->turn_left : &w[index].r.turn_left;
        (void)asx__peek(look, left, &ret->turn_left, sizeof ret->turn_left);
        (void)asx__peek(look, &w[index].turns, &ret->turns, sizeof ret->turns);
        return true;
    }
    (void)asx__peek(look, &rt->turn_left, &ret->turn_left, sizeof ret->turn_left);
    (void)asx__peek(look, &rt->turns, &ret->turns, sizeof ret->turns);
    return true;
}

static bool same(const sample *a, const sample *b)
{
    return a->task == b->task && a->generation == b->generation &&
           a->turn_left == b->turn_left && a->turns == b->turns && a->tid == b->tid;
}

/* Fills the text with what the worker does. False: it has gone on meanwhile. */
static bool describe(asx_watchdog *dog, asx__look *look, uint32_t index, const episode *e,
                     asx_sighting *s)
{
    sample now;
    long number = 0;
    uint32_t count = 0;
    if (!asx__peek(look, e->last.task, &look->task, sizeof look->task))
        return false;
    bool call = in_system_call(look, e->last.tid, &number, &look->regs);
    s->kind = call ? ASX_SIGHTING_SYSTEM_CALL : ASX_SIGHTING_NO_YIELD;
    s->system_call = call ? call_name(number) : NULL;
    bool asked = !call && asx__ask_thread(e->last.tid, &look->regs);
    if (call || asked)
        count = asx__unwind_thread(look, &look->regs, &look->task);
    if (asked)
        asx__ask_done();
    if (!take_sample(look, dog->rt, index, &now) || !same(&now, &e->last))
        return false;
    look->into = dog->text;
    look->into_size = sizeof dog->text;
    look->into_len = 0;
    put_task(look);
    asx__put(look, call ? " has been in the system call " : " has not yielded");
    if (call && s->system_call != NULL)
        asx__put(look, s->system_call);
    else if (call)
        asx__put_number(look, (uint64_t)number);
    asx__put(look, " for ");
    asx__put_number(look, s->for_ns / ASX_MS);
    asx__put(look, " ms on thread ");
    asx__put_number(look, (uint64_t)e->last.tid);
    asx__put(look, "\n");
    asx__put_frames(look, count);
    if (!call && !asked)
        asx__put(look, "    (its thread was not asked: see asx_dump_on_signal)\n");
    asx__put_flush(look);
    return true;
}

static void tell(asx_watchdog *dog, uint32_t index, episode *e, uint64_t for_ns)
{
    char name[128], site[256];
    asx__look *look = asx__look_begin(-1, -1);
    if (look == NULL)
        return;
    asx_sighting s = { .thread = e->last.tid, .for_ns = for_ns, .name = name, .site = site,
                       .text = dog->text, .task = asx__serial(e->last.generation) };
    if (describe(dog, look, index, e, &s)) {
        (void)asx__peek_string(look, look->task.name, name, sizeof name);
        (void)asx__peek_string(look, look->task.site, site, sizeof site);
        e->told = true;
        deliver(dog, &s);
    }
    look->into = dog->text; /* nothing is left to be written to a descriptor */
    (void)asx__look_end(look);
}

static void look_in(asx_watchdog *dog, asx__look *look)
{
    sample now;
    for (uint32_t i = 0; take_sample(look, dog->rt, i, &now); i++) {
        episode *e = &dog->episodes[i];
        uint64_t time = asx__futex_clock_ns();
        if (now.task == NULL || !same(&now, &e->last)) {
            *e = (episode){ .last = now, .since_ns = time };
            continue;
        }
        if (!e->told && time - e->since_ns >= dog->options.limit_ns)
            tell(dog, i, e, time - e->since_ns);
    }
}

static void *watchdog_main(void *arg)
{
    asx_watchdog *dog = arg;
    asx__look *look = asx__look_begin(-1, -1);
    uint64_t pause = dog->options.limit_ns / LOOKS;
    while (asx__load_acquire(&dog->stop) == 0) {
        uint32_t bell = asx__load_acquire(&dog->bell);
        asx__store_seq_cst(&dog->asleep, 1u);
        if (asx__load_seq_cst(&dog->busy) == 0 && asx__load_seq_cst(&dog->stop) == 0)
            (void)asx__futex_wait(&dog->bell, bell, ASX__FUTEX_FOREVER);
        asx__store_seq_cst(&dog->asleep, 0u);
        (void)asx__futex_wait(&dog->stop, 0, asx__futex_clock_ns() + pause);
        if (look == NULL) /* there was no memory; there may be now */
            look = asx__look_begin(-1, -1);
        if (look != NULL && asx__load_acquire(&dog->stop) == 0)
            look_in(dog, look);
    }
    if (look != NULL)
        (void)asx__look_end(look);
    return NULL;
}

/* ---- what the runtime calls ----------------------------------------------------------------- */

static void ring(asx_watchdog *dog)
{
    (void)asx__fetch_add_seq_cst(&dog->bell, 1u);
    asx__futex_wake(&dog->bell, 1);
}

static void busy(asx__watch *watch)
{
    asx_watchdog *dog = (asx_watchdog *)watch;
    if (dog->held != NULL)
        (void)dog->held(NULL); /* what the host holds is its own business */
    if (asx__fetch_add_seq_cst(&dog->busy, 1u) == 0 && asx__load_seq_cst(&dog->asleep) != 0)
        ring(dog);
}

static void idle(asx__watch *watch)
{
    asx_watchdog *dog = (asx_watchdog *)watch;
    (void)asx__fetch_sub_seq_cst(&dog->busy, 1u);
}

static void put_held(asx__look *look, unsigned count, const void *where)
{
    uint32_t offset;
    const char *name = asx__symbol_of(look, (uintptr_t)where - 1, &offset);
    asx__put(look, " holding ");
    asx__put_number(look, count);
    asx__put(look, count == 1 ? " pthread mutex, taken in "
                              : " pthread mutexes, the last taken in ");
    if (name != NULL)
        asx__put(look, name);
    else
        asx__put_hex(look, (uintptr_t)where);
    asx__put(look, "\n");
}

/* On the thread of the task, which is inside the runtime. */
static __attribute__((noinline)) void leaving(asx__watch *watch, const asx_runtime *rt,
                                              const asx__task *task)
{
    asx_watchdog *dog = (asx_watchdog *)watch;
    const void *where = NULL;
    unsigned count = dog->held(&where);
    (void)rt;
    if (count == 0)
        return;
    asx__look *look = asx__look_begin(-1, -1);
    char *text = mmap(NULL, TEXT_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (look == NULL || text == MAP_FAILED)
        goto out;
    asx__regs_here(&look->self);
    look->into = text;
    look->into_size = TEXT_SIZE;
    if (task != NULL) {
        look->task = *task;
        put_task(look);
        asx__put(look, " is suspended");
    } else {
        asx__put(look, "asx: a task has ended");
    }
    put_held(look, count, where);
    asx__put_frames(look, asx__unwind_thread(look, &look->self, task));
    asx__put_flush(look);
    asx_sighting s = { .kind = ASX_SIGHTING_MUTEX_HELD, .thread = look->tid, .text = text,
                       .task = task != NULL ? asx__serial(task->generation) : 0,
                       .name = task != NULL && task->name != NULL ? task->name : "",
                       .site = task != NULL && task->site != NULL ? task->site : "" };
    deliver(dog, &s);
out:
    if (look != NULL)
        (void)asx__look_end(look);
    if (text != MAP_FAILED)
        munmap(text, TEXT_SIZE);
}

static void halt(asx_watchdog *dog)
{
    asx__store_seq_cst(&dog->stop, 1u);
    asx__futex_wake(&dog->stop, 1);
    ring(dog);
    (void)pthread_join(dog->thread, NULL);
    dog->rt->watch = NULL;
    dog->rt->hot_most = asx__hot_most(dog->rt);
    dog->rt = NULL;
}

static void gone(asx__watch *watch)
{
    halt((asx_watchdog *)watch);
}

/* ---- starting and stopping ------------------------------------------------------------------ */

static bool is_driven(asx_runtime *rt)
{
    bool had_it = rt->gate == NULL || asx__engine_enter(rt);
    bool driven = rt->current != NULL || rt->driving;
    if (!had_it)
        asx__engine_leave(rt, false);
    return driven;
}

static asx_status begin(asx_watchdog *dog)
{
    if (!asx__thread_start(&dog->thread, watchdog_main, dog, false))
        return ASX_E_RESOURCE_EXHAUSTED;
    dog->rt->watch = &dog->watch;
    dog->rt->hot_most = asx__hot_most(dog->rt);
    dog->rt->hot = 0;
    return ASX_OK;
}

asx_status asx_watchdog_start(asx_runtime *rt, const asx_watchdog_options *options,
                              asx_watchdog **ret_watchdog)
{
    ASX__EMPTY(ret_watchdog);
    if (rt == NULL || options == NULL || ret_watchdog == NULL || options->fd < 0 ||
        (options->report == NULL && options->fd == 0) ||
        (options->limit_ns != 0 && options->limit_ns < LIMIT_MIN_NS))
        return ASX_E_INVALID_ARGUMENT;
    if (is_driven(rt))
        return ASX_E_WRONG_CONTEXT;
    if (rt->watch != NULL)
        return ASX_E_BUSY;
    held_fn held = NULL;
    if (options->mutexes) {
        void *symbol = dlsym(RTLD_DEFAULT, "asx_mutexwatch_slice");
        if (symbol == NULL)
            return ASX_E_NOT_SUPPORTED;
        memcpy(&held, &symbol, sizeof held);
    }
    asx_watchdog *dog = mmap(NULL, sizeof *dog, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (dog == MAP_FAILED)
        return ASX_E_RESOURCE_EXHAUSTED;
    dog->watch = (asx__watch){ busy, idle, leaving, gone, held != NULL };
    dog->rt = rt;
    dog->options = *options;
    if (dog->options.limit_ns == 0)
        dog->options.limit_ns = LIMIT_DEFAULT_NS;
    dog->held = held;
    asx_status st = begin(dog);
    if (st < 0) {
        munmap(dog, sizeof *dog);
        return st;
    }
    *ret_watchdog = dog;
    return ASX_OK;
}

asx_status asx_watchdog_stop(asx_watchdog *dog)
{
    if (dog == NULL)
        return ASX_OK;
    if (dog->rt != NULL) {
        if (is_driven(dog->rt))
            return ASX_E_WRONG_CONTEXT;
        halt(dog);
    }
    munmap(dog, sizeof *dog);
    return ASX_OK;
}
