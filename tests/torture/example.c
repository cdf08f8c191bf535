/* example.c - an example, run again and again while memory or the system fails it at every place in
 * turn: example [--every N].
 *
 * Linked with one example, whose main is called example_main here, and before the C library's
 * functions (--wrap): the n-th call of one kind fails, in a process of its own, for every n until
 * nothing fails any more. However it fails, the program ends in time and by itself, with its own
 * exit code, and leaks nothing that a leak checker would see. Only what comes from the program and
 * the library is counted; the C library keeps its own for itself. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT_S 60u

int example_main(int argc, char **argv);

enum kind { MEMORY, MAP, ADVICE, PROTECT, THREAD, KINDS };
static const char *const kind_names[] = { "malloc", "mmap", "madvise", "mprotect",
                                          "pthread_create" };

/* Shared with the child. */
static struct account {
    enum kind kind;
    uint64_t fail_at; /* 0: never */
    uint64_t calls;
} *account;

static bool fails(enum kind kind)
{
    if (account == NULL || account->kind != kind)
        return false;
    return __atomic_add_fetch(&account->calls, 1, __ATOMIC_RELAXED) == account->fail_at;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    if (!fails(MEMORY))
        return __real_malloc(size);
    errno = ENOMEM;
    return NULL;
}

void *__real_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t size, int prot, int flags, int fd, off_t offset)
{
    if (!fails(MAP))
        return __real_mmap(addr, size, prot, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int __real_madvise(void *addr, size_t size, int advice);
int __wrap_madvise(void *addr, size_t size, int advice);
int __wrap_madvise(void *addr, size_t size, int advice)
{
    if (!fails(ADVICE))
        return __real_madvise(addr, size, advice);
    errno = EINVAL;
    return -1;
}

int __real_mprotect(void *addr, size_t size, int prot);
int __wrap_mprotect(void *addr, size_t size, int prot);
int __wrap_mprotect(void *addr, size_t size, int prot)
{
    if (!fails(PROTECT))
        return __real_mprotect(addr, size, prot);
    errno = ENOMEM;
    return -1;
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
                          void *arg)
{
    return fails(THREAD) ? EAGAIN : __real_pthread_create(thread, attr, fn, arg);
}

static _Noreturn void be_the_example(char **argv)
{
    char *args[] = { argv[0], NULL };
    int nowhere = open("/dev/null", O_WRONLY);
    if (nowhere < 0 || dup2(nowhere, 1) < 0)
        _exit(99);
    alarm(LIMIT_S); /* a signal: it ends as one that hangs */
    exit(example_main(1, args));
}

/* How it ended, as waitpid() has it. */
static int run(char **argv, enum kind kind, uint64_t fail_at)
{
    int status;
    account->kind = kind;
    account->fail_at = fail_at;
    account->calls = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        be_the_example(argv);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("example");
        exit(2);
    }
    return status;
}

/* The number of places where it was failed; minus one: it did not take one of them well. */
static long starve(char **argv, enum kind kind, uint64_t step)
{
    long places = 0;
    for (uint64_t n = 1;; n += step) {
        int status = run(argv, kind, n);
        if (!WIFEXITED(status)) {
            fprintf(stderr, "%s %llu failed: %s\n", kind_names[kind], (unsigned long long)n,
                    WTERMSIG(status) == SIGALRM ? "it does not end" : strsignal(WTERMSIG(status)));
            return -1;
        }
        if (account->calls < n) {
            if (WEXITSTATUS(status) == 0)
                return places;
            fprintf(stderr, "it ends with %d though nothing failed\n", WEXITSTATUS(status));
            return -1;
        }
        if (WEXITSTATUS(status) > 1) {
            fprintf(stderr, "%s %llu failed: exit code %d\n", kind_names[kind],
                    (unsigned long long)n, WEXITSTATUS(status));
            return -1;
        }
        places++;
    }
}

int main(int argc, char **argv)
{
    uint64_t step = argc > 2 && strcmp(argv[1], "--every") == 0 ? strtoull(argv[2], NULL, 10) : 1;
    account = mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                   0);
    if (account == MAP_FAILED || step == 0)
        return 2;
    for (int kind = 0; kind < KINDS; kind++) {
        long places = starve(argv, (enum kind)kind, step);
        if (places < 0)
            return 1;
        printf("%s failed in %ld places\n", kind_names[kind], places);
    }
    return 0;
}
