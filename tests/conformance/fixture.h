/* fixture.h - fixtures written in C, for what scenario text cannot say.
 *
 *     ASX_FIXTURE("outcome-lattice-007")
 *     {
 *         FIX_STATUS(asx_something(), ASX_OK);
 *     }
 *
 * They use the public headers and those of the tool, observe the runtime by what it answers and by
 * its journal, and run in a child process of `asx conformance`.
 */
#ifndef ASX_TESTS_CONFORMANCE_FIXTURE_H
#define ASX_TESTS_CONFORMANCE_FIXTURE_H

#include <string.h>

#include <asx/asx.h>

#include "cli/cli.h"

#define FIXTURE_JOIN_(a, b) a##b
#define FIXTURE_JOIN(a, b) FIXTURE_JOIN_(a, b)
#define FIXTURE_FILE                                                                               \
    (strrchr(__FILE__, '/') != NULL ? strrchr(__FILE__, '/') + 1 : __FILE__)

#define FIXTURE_REGISTER_(name_, ids_, run_, skip_, one_)                                          \
    __attribute__((constructor)) static void FIXTURE_JOIN(register_, name_)(void)                  \
    {                                                                                              \
        static cli_c_fixture fixture = { .ids = ids_, .run = run_, .skip = skip_,                  \
                                         .one_worker = one_ };                                     \
        fixture.file = FIXTURE_FILE;                                                               \
        cli_fixture_register(&fixture);                                                            \
    }

/* One fixture for one or several identifiers. ASX_FIXTURE_ONE() says why several workers are
 * nothing to it; the others make their runtimes with cli_fixture_workers(). */
#define ASX_FIXTURE(ids_) ASX_FIXTURE_ONE(ids_, NULL)
#define ASX_FIXTURE_ONE(ids_, why_)                                                                \
    static void FIXTURE_JOIN(fixture_, __LINE__)(void);                                            \
    FIXTURE_REGISTER_(__LINE__, ids_, FIXTURE_JOIN(fixture_, __LINE__), NULL, why_)                \
    static void FIXTURE_JOIN(fixture_, __LINE__)(void)

/* Identifiers that cannot be answered for, and why. */
#define ASX_FIXTURE_SKIP(ids_, why_) FIXTURE_REGISTER_(__LINE__, ids_, NULL, why_, NULL)

#define FIX(expr_)                                                                                 \
    ((expr_) ? (void)0 : cli_fixture_fail(__FILE__, __LINE__, "not so: %s", #expr_))
#define FIX_EQ(a_, b_)                                                                             \
    do {                                                                                           \
        unsigned long long fix_a = (unsigned long long)(a_), fix_b = (unsigned long long)(b_);     \
        if (fix_a != fix_b)                                                                        \
            cli_fixture_fail(__FILE__, __LINE__, "%s is %llu, expected %llu", #a_, fix_a, fix_b);  \
    } while (0)
#define FIX_STATUS(call_, expected_)                                                               \
    do {                                                                                           \
        asx_status fix_got = (call_), fix_expected = (expected_);                                  \
        if (fix_got != fix_expected)                                                               \
            cli_fixture_fail(__FILE__, __LINE__, "%s: %s, expected %s", #call_,                    \
                             asx_status_str(fix_got), asx_status_str(fix_expected));               \
    } while (0)

#endif
