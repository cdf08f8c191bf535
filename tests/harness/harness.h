/*
 * harness.h - the test harness of asx.
 *
 * A test is a function that states a law; `main` comes from the harness:
 *
 *     ASX_TEST(close_drains_children_before_return)
 *     {
 *         CHECK_EQ(live, 0);
 *     }
 *
 * Every test runs in a forked child of its own process group with a time limit,
 * so a crash, a hang or a leak in one test is reported and the next one runs. A
 * failing CHECK notes its reason in memory shared with the parent and ends the
 * child by _exit: it unwinds nothing, and so it may stand on a fiber's stack, in
 * another thread or in a process the test forked. Frameworks that leave a test by
 * longjmp cannot do that, which is why there is an own harness.
 *
 * A test that passes leaves by exit(), so that leak checkers and gcov do their
 * work; whatever they make of the exit code counts as a failure.
 *
 * Command line:  --list  --filter SUBSTR (repeatable, any may match)  --no-fork
 *                --stop (at the first failure)
 * Environment:   ASX_TEST_SCALE=N multiplies the time limits (valgrind, qemu).
 */
#ifndef ASX_TESTS_HARNESS_H
#define ASX_TESTS_HARNESS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus /* of the checks only CHECK; include it as C */
#define _Noreturn [[noreturn]]
#endif

/* Which sanitizer the tests are compiled for, 1 or 0: gcc says it by a macro, clang when asked. */
#ifdef __has_feature
#define ASX_TEST_FEATURE(name_) __has_feature(name_)
#else
#define ASX_TEST_FEATURE(name_) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || ASX_TEST_FEATURE(address_sanitizer)
#define ASX_TEST_ASAN 1
#else
#define ASX_TEST_ASAN 0
#endif
#if defined(__SANITIZE_THREAD__) || ASX_TEST_FEATURE(thread_sanitizer)
#define ASX_TEST_TSAN 1
#else
#define ASX_TEST_TSAN 0
#endif
#if ASX_TEST_ASAN || ASX_TEST_TSAN || ASX_TEST_FEATURE(memory_sanitizer)
#define ASX_TEST_SANITIZED 1
#else
#define ASX_TEST_SANITIZED 0
#endif

enum { ASX_TEST_SECONDS_DEFAULT = 20 };

struct asx_test_case {
    const char *name;
    void (*run)(void);
    unsigned timeout_s;
    struct asx_test_case *next;
};

void asx_test_register(struct asx_test_case *test_case);

/* Runs a list of tests as the command line asks and returns the exit code of the program. */
int asx_test_main(const struct asx_test_case *first, int argc, char **argv);

/* The value of ASX_TEST_SCALE, at least 1: divide a workload or stretch a wait by it. */
unsigned asx_test_scale(void);

/* Is the processor an emulated one? Then system calls, limits and threads are another's. */
bool asx_test_emulated(void);

/* This test, as far as it goes from here, is about one worker: `why` says what it states that
 * several do not promise. See workers.c. */
void asx_test_one_worker(const char *why);

/* Ends the running test as failed; callable on any stack and from any thread. */
_Noreturn void asx_test_fail(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs fn(arg) in a child with its stderr silenced. Returns the signal that ended the child,
 * or minus its exit code (0: it returned, which is what a death test must not see). */
int asx_test_death(void (*fn)(void *arg), void *arg);

#define ASX_TEST_TIMEOUT(name_, seconds_)                                              \
    static void test_##name_(void);                                                    \
    __attribute__((constructor)) static void test_register_##name_(void)               \
    {                                                                                  \
        static struct asx_test_case test_case = { #name_, test_##name_, (seconds_), 0 }; \
        asx_test_register(&test_case);                                                 \
    }                                                                                  \
    static void test_##name_(void)

#define ASX_TEST(name_) ASX_TEST_TIMEOUT(name_, ASX_TEST_SECONDS_DEFAULT)

/* An integer of any type, without loss: -1 and UINT64_MAX stay different. */
struct asx_test_int {
    bool negative;
    uint64_t bits;
};

static inline struct asx_test_int asx_test_from_signed(long long value)
{
    struct asx_test_int number = { value < 0, (uint64_t)value };
    return number;
}

static inline struct asx_test_int asx_test_from_unsigned(unsigned long long value)
{
    struct asx_test_int number = { false, value };
    return number;
}

#define ASX_TEST_INT(x_)                              \
    _Generic((x_),                                    \
        unsigned long: asx_test_from_unsigned,        \
        unsigned long long: asx_test_from_unsigned,   \
        default: asx_test_from_signed)(x_)

enum asx_test_relation { ASX_TEST_EQ, ASX_TEST_NE, ASX_TEST_GE, ASX_TEST_LE };

void asx_test_compare(enum asx_test_relation relation, struct asx_test_int a,
                      struct asx_test_int b, const char *text, const char *file, int line);
void asx_test_compare_str(const char *a, const char *b, const char *text, const char *file,
                          int line);
void asx_test_compare_ptr(const void *a, const void *b, const char *text, const char *file,
                          int line);
void asx_test_compare_mem(const void *a, const void *b, uint64_t size, const char *text,
                          const char *file, int line);
void asx_test_compare_status(int got, int expected, const char *text, const char *file, int line);

#define CHECK(expr_) \
    ((expr_) ? (void)0 : asx_test_fail(__FILE__, __LINE__, "CHECK(%s)", #expr_))
#define CHECK_EQ(a_, b_)                                                                 \
    asx_test_compare(ASX_TEST_EQ, ASX_TEST_INT(a_), ASX_TEST_INT(b_), #a_ " == " #b_,    \
                     __FILE__, __LINE__)
#define CHECK_NE(a_, b_)                                                                 \
    asx_test_compare(ASX_TEST_NE, ASX_TEST_INT(a_), ASX_TEST_INT(b_), #a_ " != " #b_,    \
                     __FILE__, __LINE__)
#define CHECK_GE(a_, b_)                                                                 \
    asx_test_compare(ASX_TEST_GE, ASX_TEST_INT(a_), ASX_TEST_INT(b_), #a_ " >= " #b_,    \
                     __FILE__, __LINE__)
#define CHECK_LE(a_, b_)                                                                 \
    asx_test_compare(ASX_TEST_LE, ASX_TEST_INT(a_), ASX_TEST_INT(b_), #a_ " <= " #b_,    \
                     __FILE__, __LINE__)
#define CHECK_STR_EQ(a_, b_) \
    asx_test_compare_str((a_), (b_), #a_ " == " #b_, __FILE__, __LINE__)
#define CHECK_PTR_EQ(a_, b_) \
    asx_test_compare_ptr((a_), (b_), #a_ " == " #b_, __FILE__, __LINE__)
#define CHECK_MEM_EQ(a_, b_, size_) \
    asx_test_compare_mem((a_), (b_), (size_), #a_ " == " #b_, __FILE__, __LINE__)
/* Both are asx_status; the name of each is printed too where the library has it linked. */
#define CHECK_STATUS(expr_, expected_) \
    asx_test_compare_status((int)(expr_), (int)(expected_), #expr_, __FILE__, __LINE__)
/* fn(arg) must not return: it ends by a signal, or by a sanitizer's report of one. */
#define CHECK_DIES(fn_, arg_)                                                          \
    (asx_test_death((fn_), (arg_)) != 0                                                \
         ? (void)0                                                                     \
         : asx_test_fail(__FILE__, __LINE__, "%s returned, it should have died", #fn_))

#endif
