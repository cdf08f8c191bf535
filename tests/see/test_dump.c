/* Dumps: who is there, what for, and where; on demand, by signal, at any moment. */
#include "support_see.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "sched/engine.h"

#define CHAIN(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* ---- on demand ------------------------------------------------------------------------------ */

static asx_status dump_now(asx_cx *cx, void *arg)
{
    asx_status st = asx_dump_tasks(asx_cx_runtime(cx), *(int *)arg);
    SEE_NO_TAIL_CALL();
    return st;
}

static asx_status dumps_itself(asx_cx *cx, void *arg)
{
    asx_status st = see_hall(cx, dump_now, arg);
    return st;
}

static void check_hall(const char *text)
{
    HAS(see_task(text, "taker"), "in root/hall: Running, parked: channel-recv 1");
    HAS(see_task(text, "taker"), "support_see.c:");
    HAS(see_task(text, "sleeper"), "Running, parked: sleep");
    HAS(see_task(text, "sleeper"), "joined by task 4 \"joiner\"");
    HAS(see_task(text, "joiner"), "parked: join task 3 \"sleeper\"");
    HAS(see_task(text, "poller"), "parked: channel-recv 2");
    HAS(see_task(text, "poller"), "poll function");
    HAS(see_task(text, "fresh"), "Created, has not run, runnable");
    HAS(see_task(text, "fresh"), "begins with");
    HAS(text, "root/hall (");
    HAS(text, "): Open, 5 tasks, 0 regions, 0 obligations");
    see_chain(text, "taker", CHAIN("take_one", "taker", "asx__fiber_main"));
    see_chain(text, "sleeper", CHAIN("sleeper", "asx__fiber_main"));
    see_chain(text, "joiner", CHAIN("joiner", "asx__fiber_main"));
    see_chain(text, "poller", CHAIN("poller"));
    see_chain(text, "fresh", CHAIN("fresh"));
}

ASX_TEST(a_dump_says_what_every_task_waits_for_and_where)
{
    asx_runtime *rt;
    int fd = see_file();
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, dumps_itself, &fd), ASX_OK);
    const char *text = see_text(fd);
    check_hall(text);
    HAS(see_task(text, "main"), "in root: Running, running");
    see_chain(text, "main", CHAIN("asx_dump_tasks", "dump_now", "see_hall", "asx__fiber_main"));
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* The chain of a task that began to wait while its worker had the engine under a lease. */
static asx_status takes_by_lease(asx_cx *cx, void *arg)
{
    uint64_t got;
    asx_status st = asx_channel_recv(cx, arg, &got);
    SEE_NO_TAIL_CALL();
    return st;
}

static asx_status dumps_under_a_lease(asx_cx *cx, void *arg)
{
    asx_region hall;
    asx_channel_sender tx;
    asx_channel_receiver rx;
    CHECK_STATUS(asx_region_open(cx, NULL, &hall), ASX_OK);
    CHECK_STATUS(asx_channel_create(&hall, 8, 1, NULL, &tx, &rx), ASX_OK);
    while (asx__thread_self()->worker->slot.lease == 0)
        CHECK_STATUS(asx_yield(cx), ASX_OK);
    CHECK_STATUS(asx_spawn(&hall, "leased", takes_by_lease, &rx), ASX_OK);
    asx_channel_info info = { .receiver_waits = false };
    while (!info.receiver_waits) {
        CHECK_STATUS(asx_yield(cx), ASX_OK);
        CHECK_STATUS(asx_channel_receiver_info(&rx, &info), ASX_OK);
    }
    CHECK_STATUS(asx_dump_tasks(asx_cx_runtime(cx), *(int *)arg), ASX_OK);
    CHECK_STATUS(asx_region_cancel(&hall, NULL), ASX_OK);
    CHECK_STATUS(asx_region_close(&hall, ASX_OK), ASX_E_CANCELLED);
    return ASX_OK;
}

ASX_TEST_TIMEOUT(a_chain_goes_through_a_wait_that_began_under_a_lease, 60)
{
    asx_runtime *rt;
    asx_runtime_config config = { .workers = 2 };
    int fd = see_file();
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, dumps_under_a_lease, &fd), ASX_OK);
    const char *text = see_text(fd);
    HAS(see_task(text, "leased"), "parked: channel-recv");
    see_chain(text, "leased", CHAIN("takes_by_lease", "asx__fiber_main"));
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(a_dump_of_a_runtime_between_steps_has_every_chain)
{
    asx_runtime *rt;
    int fd = see_file(), dev_null = open("/dev/null", O_WRONLY);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_start(rt, dumps_itself, &dev_null), ASX_OK);
    CHECK_STATUS(asx_runtime_step(rt, 3, NULL), ASX_E_WOULD_BLOCK);
    CHECK_STATUS(asx_dump_all(fd), ASX_OK);
    const char *text = see_text(fd);
    HAS(text, "1 runtime\n");
    HAS(text, "not driven now");
    HAS(text, "asx: end\n");
    HAS(see_task(text, "main"), "Running, runnable");
    see_chain(text, "main", CHAIN("see_hall", "asx__fiber_main"));
    see_chain(text, "taker", CHAIN("take_one", "taker", "asx__fiber_main"));
    asx_status st;
    while ((st = asx_runtime_step(rt, 0, NULL)) == ASX_E_WOULD_BLOCK)
        continue;
    CHECK_STATUS(st, ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

ASX_TEST(every_runtime_of_the_process_is_in_a_dump_as_long_as_it_lives)
{
    asx_runtime *rt[3];
    for (int i = 0; i < 3; i++)
        CHECK_STATUS(asx_runtime_create(NULL, &rt[i]), ASX_OK);
    int fd = see_file();
    CHECK_STATUS(asx_dump_all(fd), ASX_OK);
    HAS(see_text(fd), "3 runtimes\n");
    CHECK_STATUS(asx_runtime_destroy(rt[1]), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt[2]), ASX_OK);
    fd = see_file();
    CHECK_STATUS(asx_dump_all(fd), ASX_OK);
    HAS(see_text(fd), "1 runtime\n");
    HAS(see_text(fd), "runtime 1,");
    CHECK_STATUS(asx_runtime_destroy(rt[0]), ASX_OK);
    fd = see_file();
    CHECK_STATUS(asx_dump_all(fd), ASX_OK);
    HAS(see_text(fd), "0 runtimes\n");
}

ASX_TEST(a_dump_keeps_errno_and_says_when_nobody_takes_it)
{
    asx_runtime *rt;
    int full = open("/dev/full", O_WRONLY);
    CHECK_GE(full, 0);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    errno = 1234;
    CHECK_STATUS(asx_dump_tasks(rt, full), ASX_E_SYSTEM);
    CHECK_EQ(errno, 1234);
    CHECK_STATUS(asx_dump_all(9999), ASX_E_SYSTEM);
    CHECK_EQ(errno, 1234);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* ---- by signal ------------------------------------------------------------------------------ */

static asx__atomic_u32 begun, stop_looping;
static int dump_fd;

__attribute__((noinline)) static unsigned loop_in_user_code(void)
{
    unsigned n = 0;
    asx__store_relaxed(&begun, 1u);
    while (asx__load_relaxed(&stop_looping) == 0) {
        n++;
        SEE_SIGNALS_HERE();
    }
    return n;
}

static asx_status loops(asx_cx *cx, void *arg)
{
    (void)cx;
    (void)arg;
    (void)loop_in_user_code();
    return ASX_OK;
}

static asx_status spawn_looper(asx_cx *cx, void *arg)
{
    (void)arg;
    return loops(cx, NULL);
}

static asx_status hall_with_looper(asx_cx *cx, void *arg)
{
    return see_hall(cx, spawn_looper, arg);
}

static void stop_the_loop(int signo)
{
    (void)signo;
    asx__store_relaxed(&stop_looping, 1u);
}

/* The dump comes first, then the end of the loop. */
static void *sends_signals(void *arg)
{
    pid_t tid = *(pid_t *)arg;
    struct timespec pause = { 0, 50000000 };
    do {
        nanosleep(&pause, NULL);
    } while (asx__load_relaxed(&begun) == 0);
    CHECK_EQ(syscall(SYS_tgkill, getpid(), tid, SIGQUIT), 0);
    nanosleep(&pause, NULL);
    CHECK_EQ(syscall(SYS_tgkill, getpid(), tid, SIGUSR1), 0);
    return NULL;
}

ASX_TEST(a_signal_dumps_a_task_that_loops_in_user_code)
{
    asx_runtime *rt;
    pthread_t thread;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    dump_fd = see_file();
    CHECK_STATUS(asx_dump_on_signal(SIGQUIT, dump_fd), ASX_OK);
    signal(SIGUSR1, stop_the_loop);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, sends_signals, &tid), 0);
    CHECK_STATUS(asx_runtime_run(rt, hall_with_looper, NULL), ASX_OK);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    const char *text = see_text(dump_fd);
    check_hall(text);
    HAS(see_task(text, "main"), "in root: Running, running");
    see_chain(text, "main", CHAIN("loop_in_user_code", "see_hall", "asx__fiber_main"));
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

static asx_status naps(asx_cx *cx, void *arg)
{
    asx_status st = ASX_OK;
    (void)arg;
    asx__store_relaxed(&begun, 1u);
    for (int i = 0; i < 50 && st == ASX_OK && see_text(dump_fd)[0] == '\0'; i++)
        st = asx_sleep(cx, 200 * ASX_MS); /* whoever sends the signal may be late */
    SEE_NO_TAIL_CALL();
    return st;
}

static asx_status hall_that_sleeps(asx_cx *cx, void *arg)
{
    return see_hall(cx, naps, arg);
}

ASX_TEST(a_signal_dumps_a_runtime_that_sleeps)
{
    asx_runtime *rt;
    pthread_t thread;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    dump_fd = see_file();
    CHECK_STATUS(asx_dump_on_signal(SIGQUIT, dump_fd), ASX_OK);
    signal(SIGUSR1, stop_the_loop);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, sends_signals, &tid), 0);
    CHECK_STATUS(asx_runtime_run(rt, hall_that_sleeps, NULL), ASX_OK);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    const char *text = see_text(dump_fd);
    see_chain(text, "taker", CHAIN("take_one", "taker", "asx__fiber_main"));
    HAS(see_task(text, "main"), "Running, parked: sleep");
    see_chain(text, "main", CHAIN("naps", "see_hall", "asx__fiber_main"));
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* The other thread's task is asked where it is. */
static asx_runtime *other_runtime;

static void *runs_another(void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_runtime_run(other_runtime, loops, NULL), ASX_OK);
    return NULL;
}

ASX_TEST(a_dump_asks_the_threads_of_other_runtimes_where_they_are)
{
    pthread_t thread;
    struct timespec pause = { 0, 1000000 };
    int fd = see_file();
    CHECK_STATUS(asx_runtime_create(NULL, &other_runtime), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, runs_another, NULL), 0);
    while (asx__load_relaxed(&begun) == 0)
        nanosleep(&pause, NULL);
    CHECK_STATUS(asx_dump_all(fd), ASX_OK);
    HAS(see_task(see_text(fd), "main"), "its thread was not asked");
    CHECK_STATUS(asx_dump_on_signal(SIGUSR2, -1), ASX_OK);
    CHECK_EQ(raise(SIGUSR2), 0); /* a plain one is for nobody: there is no descriptor */
    fd = see_file();
    CHECK_STATUS(asx_dump_all(fd), ASX_OK);
    asx__store_relaxed(&stop_looping, 1u);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    HAS(see_task(see_text(fd), "main"), "Running, running");
    see_chain(see_text(fd), "main", CHAIN("loop_in_user_code", "asx__fiber_main"));
    CHECK_STATUS(asx_runtime_destroy(other_runtime), ASX_OK);
}

/* Where the one has the addresses that it returns to, the other has numbers. */
__attribute__((noinline)) static unsigned narrow(unsigned depth)
{
    unsigned below = depth != 0 ? narrow(depth - 1) : 0;
    SEE_NO_TAIL_CALL();
    return below + 1;
}

__attribute__((noinline)) static unsigned wide(unsigned number)
{
    volatile unsigned numbers[200];
    for (unsigned i = 0; i < 200; i++)
        numbers[i] = number;
    return numbers[number % 200];
}

static asx_status calls(asx_cx *cx, void *arg)
{
    unsigned n = 0;
    (void)cx;
    (void)arg;
    asx__store_relaxed(&begun, 1u);
    while (asx__load_relaxed(&stop_looping) == 0) {
        n += narrow(20) + wide(33);
        SEE_SIGNALS_HERE();
    }
    return n == 0; /* never */
}

static void *calls_in_another(void *arg)
{
    (void)arg;
    CHECK_STATUS(asx_runtime_run(other_runtime, calls, NULL), ASX_OK);
    return NULL;
}

ASX_TEST(who_is_asked_stands_still_until_its_chain_has_been_walked)
{
    pthread_t thread;
    struct timespec pause = { 0, 1000000 };
    int asked = 0;
    CHECK_STATUS(asx_runtime_create(NULL, &other_runtime), ASX_OK);
    CHECK_EQ(pthread_create(&thread, NULL, calls_in_another, NULL), 0);
    CHECK_STATUS(asx_dump_on_signal(SIGUSR2, -1), ASX_OK);
    while (asx__load_relaxed(&begun) == 0)
        nanosleep(&pause, NULL);
    for (int i = 0; i < 100; i++) {
        int fd = see_file();
        CHECK_STATUS(asx_dump_all(fd), ASX_OK);
        const char *task = see_task(see_text(fd), "main");
        if (strstr(task, "its thread was not asked") == NULL) { /* it may have had no core */
            asked++;
            see_chain(see_text(fd), "main", CHAIN("calls", "asx__fiber_main"));
        }
        close(fd);
    }
    asx__store_relaxed(&stop_looping, 1u);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_GE(asked, 1);
    CHECK_STATUS(asx_runtime_destroy(other_runtime), ASX_OK);
}

ASX_TEST(the_signal_goes_back_to_who_had_it)
{
    int fd = see_file();
    struct sigaction now;
    signal(SIGUSR1, stop_the_loop);
    CHECK_STATUS(asx_dump_on_signal(SIGUSR1, fd), ASX_OK);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(asx__load_relaxed(&stop_looping), 0);
    HAS(see_text(fd), "asx: end\n");
    CHECK_STATUS(asx_dump_on_signal(SIGUSR2, fd), ASX_OK); /* one at a time */
    CHECK_EQ(sigaction(SIGUSR1, NULL, &now), 0);
    CHECK(now.sa_handler == stop_the_loop);
    CHECK_STATUS(asx_dump_on_signal(0, -1), ASX_OK);
    CHECK_EQ(sigaction(SIGUSR2, NULL, &now), 0);
    CHECK(now.sa_handler == SIG_DFL);
}

/* ---- at any moment -------------------------------------------------------------------------- */

/* Signals arrive wherever the runtime is: between the steps of a spawn, a switch, a close. */
static asx_status ends_at_once(asx_cx *cx, void *arg)
{
    (void)arg;
    asx_status st = asx_yield(cx);
    SEE_NO_TAIL_CALL();
    return st;
}

static void count_dumps(int fd, unsigned *ret_dumps, unsigned *ret_chains)
{
    static char text[1 << 16];
    off_t at = 0;
    ssize_t len;
    while ((len = pread(fd, text, sizeof text - 1, at)) > 0) {
        text[len] = '\0';
        for (const char *p = text; (p = strstr(p, "asx: end\n")) != NULL; p++)
            ++*ret_dumps;
        for (const char *p = text; (p = strstr(p, "ends_at_once+")) != NULL; p++)
            ++*ret_chains;
        at += len; /* a word that is cut in two is not counted: there are many */
    }
}

/* Each round is interrupted once, somewhere: a dump may take longer than any fixed period. On a
 * busy machine, or when a sanitizer holds signals back, it goes on until there are enough. */
#define DUMPS_MIN 10
static bool interrupted;
static int interrupted_fd;

static bool has_enough(long round)
{
    unsigned dumps = 0, chains = 0;
    if (!interrupted)
        return true;
    if (round % 16 == 0)
        count_dumps(interrupted_fd, &dumps, &chains);
    return dumps >= DUMPS_MIN;
}

static void interrupt_in(long us)
{
    struct itimerval once = { { 0, 0 }, { 0, us } };
    CHECK_EQ(setitimer(ITIMER_REAL, &once, NULL), 0);
}

static asx_status churns(asx_cx *cx, void *arg)
{
    uint64_t until = *(uint64_t *)arg;
    for (long round = 0; asx_now(cx) < until || !has_enough(round); round++) {
        asx_region r;
        if (interrupted)
            interrupt_in(20 + round * 37 % 400);
        CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "churn" }, &r), ASX_OK);
        for (int i = 0; i < 100; i++)
            CHECK_STATUS(asx_spawn(&r, "churned", ends_at_once, NULL), ASX_OK);
        CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
        CHECK_STATUS(asx_sleep(cx, 1), ASX_OK);
    }
    return ASX_OK;
}

ASX_TEST_TIMEOUT(a_dump_in_the_middle_of_any_change_harms_nothing, 60)
{
    asx_runtime *rt;
    uint64_t until = 2 * ASX_SEC;
    unsigned dumps = 0, chains = 0;
    int fd = see_file();
    CHECK_STATUS(asx_dump_on_signal(SIGALRM, fd), ASX_OK);
    CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
    interrupted = true;
    interrupted_fd = fd;
    CHECK_STATUS(asx_runtime_run(rt, churns, &until), ASX_OK);
    interrupt_in(0);
    count_dumps(fd, &dumps, &chains);
    CHECK_GE(dumps, DUMPS_MIN);
    CHECK_GE(chains, SEE_CHAINS ? 100 : 0);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}

/* The same from another thread, which sees a runtime that goes on running meanwhile. */
static asx__atomic_u32 churning;

static void *dumps_again_and_again(void *arg)
{
    unsigned *count = arg;
    int dev_null = open("/dev/null", O_WRONLY);
    while (asx__load_relaxed(&churning) != 0) {
        CHECK_STATUS(asx_dump_all(dev_null), ASX_OK);
        ++*count;
    }
    return NULL;
}

ASX_TEST_TIMEOUT(a_dump_from_another_thread_harms_nothing, 60)
{
    uint64_t until = ASX_SEC;
    unsigned count = 0;
    pthread_t thread;
    asx__store_relaxed(&churning, 1u);
    CHECK_EQ(pthread_create(&thread, NULL, dumps_again_and_again, &count), 0);
    for (int i = 0; i < 3; i++) { /* runtimes come and go */
        asx_runtime *rt;
        CHECK_STATUS(asx_runtime_create(NULL, &rt), ASX_OK);
        CHECK_STATUS(asx_runtime_run(rt, churns, &until), ASX_OK);
        CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    }
    asx__store_relaxed(&churning, 0u);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK_GE(count, 10);
}

/* ---- several workers ------------------------------------------------------------------------ */

/* Did both loopers say where they are? One that gets no core for long does not. */
static bool both_answered(int fd)
{
    const char *first = strstr(see_task(see_text(fd), "one"), "loop_in_user_code");
    const char *second = strstr(see_task(see_text(fd), "two"), "loop_in_user_code");
    return !SEE_CHAINS || (first != NULL && second != NULL);
}

static asx_status spawns_two_loopers(asx_cx *cx, void *arg)
{
    int fd = *(int *)arg;
    asx_region r;
    CHECK_STATUS(asx_region_open(cx, &(asx_region_options){ .name = "loops" }, &r), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "one", loops, NULL), ASX_OK);
    CHECK_STATUS(asx_spawn(&r, "two", loops, NULL), ASX_OK);
    for (int i = 0; i < 20 && (i == 0 || !both_answered(fd)); i++) {
        CHECK_STATUS(asx_sleep(cx, 100 * ASX_MS), ASX_OK);
        CHECK_EQ(ftruncate(fd, 0), 0);
        CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
        CHECK_STATUS(asx_dump_all(fd), ASX_OK);
    }
    asx__store_relaxed(&stop_looping, 1u);
    return asx_region_close(&r, ASX_OK);
}

ASX_TEST(a_dump_asks_every_worker_where_it_is)
{
    asx_runtime *rt;
    asx_runtime_config config = { .workers = 4 };
    int fd = see_file();
    CHECK_STATUS(asx_dump_on_signal(SIGUSR2, -1), ASX_OK);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_run(rt, spawns_two_loopers, &fd), ASX_OK);
    const char *text = see_text(fd);
    HAS(see_task(text, "one"), "in root/loops: Running, running");
    see_chain(text, "one", CHAIN("loop_in_user_code", "asx__fiber_main"));
    see_chain(text, "two", CHAIN("loop_in_user_code", "asx__fiber_main"));
    see_chain(text, "main", CHAIN("asx_dump_all", "spawns_two_loopers", "asx__fiber_main"));
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
}
