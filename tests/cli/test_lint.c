/* test_lint.c - which loops are flagged. */
#include "cli/cli.h"

#include <string.h>

#include "harness.h"

static size_t flagged(const char *text)
{
    return cli_lint_text(text, strlen(text), NULL, NULL);
}

#define TASK(body_) "static asx_status t(asx_cx *cx, void *arg)\n{\n" body_ "\n}\n"

ASX_TEST(a_loop_that_hands_the_context_on_is_fine)
{
    CHECK_EQ(flagged(TASK("while (go()) asx_yield(cx);")), 0);
    CHECK_EQ(flagged(TASK("while (asx_checkpoint(cx) >= 0) work();")), 0);
    CHECK_EQ(flagged(TASK("for (;;) { if (x) { recv(&r, cx, &m); } }")), 0);
    CHECK_EQ(flagged(TASK("do { work(); } while (asx_yield(cx) >= 0);")), 0);
}

ASX_TEST(a_loop_that_keeps_the_context_to_itself_is_flagged)
{
    CHECK_EQ(flagged(TASK("while (go()) work();")), 1);
    CHECK_EQ(flagged(TASK("for (;;) work();")), 1);
    CHECK_EQ(flagged(TASK("do work(); while (go());")), 1);
    CHECK_EQ(flagged(TASK("do { work(); } while (go()); asx_yield(cx);")), 1);
    CHECK_EQ(flagged(TASK("if (x) for (;;) work(); else asx_yield(cx);")), 1);
    CHECK_EQ(flagged(TASK("for (;;) work();\nfor (;;) work();")), 2);
    CHECK_EQ(flagged(TASK("for (;;) { for (; go();) work(); asx_yield(cx); }")), 1);
    /* Looking at a field is not handing it on. */
    CHECK_EQ(flagged(TASK("while (cx->caps_) work();")), 1);
}

ASX_TEST(comments_and_texts_do_not_count)
{
    CHECK_EQ(flagged(TASK("while (go()) work(); /* asx_yield(cx) */")), 1);
    CHECK_EQ(flagged(TASK("while (go()) puts(\"asx_yield(cx)\");")), 1);
    CHECK_EQ(flagged(TASK("// for (;;) work();\nputs(\"for (;;)\");")), 0);
    CHECK_EQ(flagged(TASK("#define LOOP for (;;) work()\n")), 0);
}

ASX_TEST(a_loop_that_ends_soon_is_fine)
{
    CHECK_EQ(flagged(TASK("for (int i = 0; i < 10; i++) work();")), 0);
    CHECK_EQ(flagged(TASK("for (int i = 0; i <= 0x10; i++) work();")), 0);
    CHECK_EQ(flagged(TASK("for (int i = 0; i < 1000000; i++) work();")), 1);
    CHECK_EQ(flagged(TASK("for (int i = 0; i < n; i++) work();")), 1);
    CHECK_EQ(flagged(TASK("for (int i = 0; i < N; i++) work();")), 1);
    CHECK_EQ(flagged(TASK("for (int i = 0; i < SLOTS_MAX; i++) work();")), 0);
    CHECK_EQ(flagged(TASK("for (int i = 0; i < SLOTS && st == ASX_OK; i++) work();")), 0);
    CHECK_EQ(flagged(TASK("for (int i = 0; i < SLOTS || go(); i++) work();")), 1);
    CHECK_EQ(flagged(TASK("for (int i = 0; i < Slots; i++) work();")), 1);
    CHECK_EQ(flagged(TASK("for (; st == ASX_OK;) st = work();")), 1);
    CHECK_EQ(flagged(TASK("/* asx-lint: bounded by the table */\nwhile (go()) work();")), 0);
    CHECK_EQ(flagged(TASK("while (go()) work(); // asx-lint: bounded")), 0);
}

ASX_TEST(functions_that_get_no_context_are_not_looked_at)
{
    CHECK_EQ(flagged("int f(int x)\n{\n    for (;;)\n        g(x);\n}\n"), 0);
    CHECK_EQ(flagged("asx_status f(asx_cx *cx);\nint g(void) { for (;;) h(); }\n"), 0);
    CHECK_EQ(flagged("asx_status f(int a, asx_cx *context)\n{\n    for (;;)\n        h();\n}\n"),
             1);
}

ASX_TEST(broken_text_is_read_to_its_end)
{
    CHECK_EQ(flagged(""), 0);
    CHECK_EQ(flagged("f(asx_cx *cx) { for"), 1);
    CHECK_EQ(flagged("f(asx_cx *cx) { while ("), 1);
    CHECK_EQ(flagged("f(asx_cx *cx) { do"), 1);
    CHECK_EQ(flagged("f(asx_cx *cx) {{{ \"unclosed"), 0);
    CHECK_EQ(flagged("/* unclosed"), 0);
}
