/* test_tool.c - the tool's commands: usage, recording, replaying, looking at traces. */
#include "cli/support_cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define HAS(text_, part_)                                                                          \
    (strstr((text_), (part_)) != NULL                                                              \
         ? (void)0                                                                                 \
         : asx_test_fail(__FILE__, __LINE__, "\"%s\" is not in: %.300s", (part_), (text_)))

static void expect_usage(said s)
{
    CHECK_EQ(s.code, CLI_USAGE);
    CHECK_STR_EQ(s.out, "");
    CHECK(s.err[0] != '\0');
    said_deinit(&s);
}

ASX_TEST(wrong_usage_says_why_on_stderr_and_exits_2)
{
    expect_usage(run_tool(NULL, NULL));
    expect_usage(run_tool("frobnicate", NULL));
    expect_usage(run_tool("run", NULL));
    expect_usage(run_tool("run", "--seed", NULL));
    expect_usage(run_tool("run", "--seed", "many", "x.scn", NULL));
    expect_usage(run_tool("run", "--seed", "-1", "x.scn", NULL));
    expect_usage(run_tool("run", "--frob", "x.scn", NULL));
    expect_usage(run_tool("run", "a.scn", "b.scn", NULL));
    expect_usage(run_tool("run", "--vehicle", "bicycle", "x.scn", NULL));
    expect_usage(run_tool("run", temp_path("no-such-file.scn"), NULL));
    expect_usage(run_tool("replay", NULL));
    expect_usage(run_tool("replay", "a", "b", NULL));
    expect_usage(run_tool("digest", temp_path("no-such-trace"), NULL));
    expect_usage(run_tool("trace", NULL));
    expect_usage(run_tool("trace", "hide", "x", NULL));
    expect_usage(run_tool("trace", "show", NULL));
    expect_usage(run_tool("lint", NULL));
    expect_usage(run_tool("lint", temp_path("no-such-file.c"), NULL));
    expect_usage(run_tool("doctor", "please", NULL));
    expect_usage(run_tool("conformance", "--what", NULL));
    expect_usage(run_tool("conformance", "--filter", "no-such-identifier", NULL));
    expect_usage(run_tool("conformance", "--dir", temp_path("no-such-folder"), NULL));
    expect_usage(run_tool("conformance", "--timeout", "0", NULL));
}

ASX_TEST(help_and_version_are_results)
{
    said s = run_tool("help", NULL);
    CHECK_EQ(s.code, CLI_OK);
    HAS(s.out, "asx COMMAND");
    HAS(s.out, "replay TRACE");
    CHECK_STR_EQ(s.err, "");
    said_deinit(&s);
    char expected[32];
    (void)snprintf(expected, sizeof(expected), "asx %d.%d.%d\n", ASX_VERSION_MAJOR,
                   ASX_VERSION_MINOR, ASX_VERSION_PATCH);
    s = run_tool("--version", NULL);
    CHECK_EQ(s.code, CLI_OK);
    CHECK_STR_EQ(s.out, expected);
    said_deinit(&s);
}

ASX_TEST(doctor_finds_this_machine_fit)
{
    said s = run_tool("doctor", NULL);
    CHECK_EQ(s.code, CLI_OK);
    HAS(s.out, "ok   stack guard:");
    HAS(s.out, "ok   clock:");
    HAS(s.out, "the same twice");
    HAS(s.out, "ok   live run: ASX_OK, sum 5050, quiescent");
    CHECK(strstr(s.out, "FAIL") == NULL);
    said_deinit(&s);
}

/* ---- recording ---- */

static const char race_text[] = "scenario race\n"
                                "body worker n\n"
                                "  note ran $n\n"
                                "end\n"
                                "main\n"
                                "  open r\n"
                                "  for i 1 8\n"
                                "    spawn r worker($i)\n"
                                "  end\n"
                                "  sleep 3ms\n"
                                "  close r\n"
                                "end\n";

static said record(const char *text, const char *seed, const char *trace)
{
    write_text(temp_path("s.scn"), text);
    return run_tool("run", temp_path("s.scn"), "--seed", seed, "--trace", trace, NULL);
}

ASX_TEST(a_recorded_run_has_the_digest_it_told_and_replays)
{
    const char *trace = temp_path("a.trace");
    said s = record(race_text, "5", trace);
    CHECK_EQ(s.code, CLI_OK);
    CHECK(strncmp(s.out, "ok race digest ", 15) == 0);
    said d = run_tool("digest", trace, NULL);
    CHECK_EQ(d.code, CLI_OK);
    CHECK_EQ(d.out_len, 17);
    CHECK(strncmp(s.out + 15, d.out, 16) == 0);
    said r = run_tool("replay", trace, NULL);
    CHECK_EQ(r.code, CLI_OK);
    HAS(r.out, "replayed race digest ");
    CHECK(strncmp(r.out + 21, d.out, 16) == 0);
    said_deinit(&s);
    said_deinit(&d);
    said_deinit(&r);
}

ASX_TEST(the_same_seed_gives_the_same_trace_file_and_another_one_does_not)
{
    size_t a_len, b_len, c_len;
    said s = record(race_text, "5", temp_path("a.trace"));
    said_deinit(&s);
    s = record(race_text, "5", temp_path("b.trace"));
    said_deinit(&s);
    s = record(race_text, "6", temp_path("c.trace"));
    said_deinit(&s);
    char *a = read_bytes(temp_path("a.trace"), &a_len);
    char *b = read_bytes(temp_path("b.trace"), &b_len);
    char *c = read_bytes(temp_path("c.trace"), &c_len);
    CHECK_EQ(a_len, b_len);
    CHECK_MEM_EQ(a, b, a_len);
    CHECK(a_len != c_len || memcmp(a, c, a_len) != 0);
    free(a);
    free(b);
    free(c);
}

ASX_TEST(poll_tasks_are_replayed_as_poll_tasks)
{
    write_text(temp_path("s.scn"), race_text);
    said s = run_tool("run", temp_path("s.scn"), "--vehicle", "poll", "--trace",
                      temp_path("p.trace"), NULL);
    CHECK_EQ(s.code, CLI_OK);
    said_deinit(&s);
    s = run_tool("replay", temp_path("p.trace"), NULL);
    CHECK_EQ(s.code, CLI_OK);
    said_deinit(&s);
}

ASX_TEST(a_trace_is_shown_one_event_in_a_line)
{
    said s = record(race_text, "0", temp_path("a.trace"));
    said_deinit(&s);
    s = run_tool("trace", "show", temp_path("a.trace"), NULL);
    CHECK_EQ(s.code, CLI_OK);
    CHECK(strncmp(s.out, "# seed 0, ", 10) == 0);
    HAS(s.out, "run-begin");
    HAS(s.out, "clock-advance         0 -> 3ms");
    HAS(s.out, "user                  code 1 value 8");
    HAS(s.out, "run-end");
    size_t lines = 0;
    for (const char *p = s.out; *p != '\0'; p++)
        lines += *p == '\n';
    unsigned long events = strtoul(s.out + 10, NULL, 10);
    CHECK_EQ(lines, events + 1);
    said_deinit(&s);
}

/* Every byte of a trace matters: whichever is changed, the trace is refused or reads differently,
 * and nothing crashes. */
ASX_TEST_TIMEOUT(a_damaged_trace_is_refused_with_the_place, 120)
{
    size_t len;
    said s = record(race_text, "5", temp_path("a.trace"));
    said_deinit(&s);
    char *good = read_bytes(temp_path("a.trace"), &len);
    size_t step = len / 12 + 1;
    for (size_t at = 0; at < len; at += step) {
        good[at] ^= 0x20;
        write_bytes(temp_path("bad.trace"), good, len);
        good[at] ^= 0x20;
        s = run_tool("replay", temp_path("bad.trace"), NULL);
        CHECK_EQ(s.code, CLI_USAGE);
        CHECK_STR_EQ(s.out, "");
        CHECK(strstr(s.err, "damaged at byte") != NULL || strstr(s.err, "ASX_E_TRACE") != NULL);
        said_deinit(&s);
    }
    for (size_t cut = 0; cut < len; cut += step) {
        write_bytes(temp_path("bad.trace"), good, cut);
        s = run_tool("trace", "show", temp_path("bad.trace"), NULL);
        CHECK_EQ(s.code, CLI_USAGE);
        HAS(s.err, "damaged at byte");
        said_deinit(&s);
        s = run_tool("digest", temp_path("bad.trace"), NULL);
        CHECK_EQ(s.code, CLI_USAGE);
        said_deinit(&s);
    }
    free(good);
}

/* ---- divergence ---- */

static asx_status to_file(void *ctx, const void *bytes, size_t len)
{
    return fwrite(bytes, 1, len, ctx) == len ? ASX_OK : ASX_E_SYSTEM;
}

/* A trace of one scenario that says it was made from another. */
static void forge_trace(const char *path, const char *ran, const char *claimed)
{
    scn s;
    scn_error error;
    scn_result result;
    char program[4096];
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL);
    CHECK_STATUS(scn_parse("ran", 1, ran, strlen(ran), &s, &error), ASX_OK);
    (void)snprintf(program, sizeof(program), "# asx run vehicle=fiber mode=lab line=1 file=x\n%s",
                   claimed);
    scn_run_options options = { .vehicle = SCN_FIBER,
                                .mode = SCN_LAB,
                                .program = program,
                                .program_len = strlen(program),
                                .sink = to_file,
                                .sink_ctx = file };
    CHECK_STATUS(scn_run(&s, &options, &result), ASX_OK);
    CHECK(result.passed);
    CHECK(fclose(file) == 0);
    scn_deinit(&s);
}

ASX_TEST(replay_shows_both_sides_of_the_first_difference)
{
    static const char one[] = "scenario s\nmain\n  note a 1\n  note a 2\n  note a 3\nend\n";
    static const char two[] = "scenario s\nmain\n  note a 1\n  note a 7\n  note a 3\nend\n";
    forge_trace(temp_path("f.trace"), one, two);
    said s = run_tool("replay", temp_path("f.trace"), NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "diverged at event 7\n");
    HAS(s.out, "recorded:");
    HAS(s.out, "user                  code 1 value 2\n");
    HAS(s.out, "     run:");
    HAS(s.out, "user                  code 1 value 7\n");
    said_deinit(&s);
}

ASX_TEST(replay_tells_a_run_that_ends_too_early_or_goes_on)
{
    static const char longer[] = "scenario s\nmain\n  note a 1\n  yield\n  note a 2\nend\n";
    static const char shorter[] = "scenario s\nmain\n  note a 1\nend\n";
    forge_trace(temp_path("f.trace"), longer, shorter);
    said s = run_tool("replay", temp_path("f.trace"), NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "diverged at event ");
    said_deinit(&s);
    forge_trace(temp_path("f.trace"), shorter, longer);
    s = run_tool("replay", temp_path("f.trace"), NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "diverged at event ");
    said_deinit(&s);
}

ASX_TEST(a_trace_that_no_scenario_made_is_not_replayed)
{
    forge_trace(temp_path("f.trace"), "scenario s\nmain\nend\n", "nonsense\n");
    said s = run_tool("replay", temp_path("f.trace"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "x:1:");
    said_deinit(&s);
}

ASX_TEST(what_ran_on_the_real_clock_is_recorded_but_not_replayed)
{
    write_text(temp_path("s.scn"), "scenario s\nmode live\nmain\n  sleep 1us\nend\n");
    said s = run_tool("run", temp_path("s.scn"), "--trace", temp_path("l.trace"), NULL);
    CHECK_EQ(s.code, CLI_OK);
    said_deinit(&s);
    s = run_tool("replay", temp_path("l.trace"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "recorded on the real clock");
    said_deinit(&s);
}

ASX_TEST(a_trace_of_another_program_is_not_replayed)
{
    FILE *file = fopen(temp_path("o.trace"), "wb");
    asx_runtime *rt = NULL;
    asx_runtime_config config = { .trace = true, .program = "my-server" };
    CHECK(file != NULL);
    CHECK_STATUS(asx_runtime_create(&config, &rt), ASX_OK);
    CHECK_STATUS(asx_runtime_trace_write(rt, to_file, file), ASX_OK);
    CHECK_STATUS(asx_runtime_destroy(rt), ASX_OK);
    CHECK(fclose(file) == 0);
    said s = run_tool("replay", temp_path("o.trace"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "was not recorded by 'asx run'");
    said_deinit(&s);
    s = run_tool("trace", "show", temp_path("o.trace"), NULL);
    CHECK_EQ(s.code, CLI_OK);
    said_deinit(&s);
}

ASX_TEST(what_cannot_be_run_or_written_is_told)
{
    write_text(temp_path("s.scn"), "scenario s\nconfig stack 1\nmain\nend\n");
    said s = run_tool("run", temp_path("s.scn"), "--trace", temp_path("x.trace"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "s.scn:1: cannot run: ASX_E_INVALID_ARGUMENT");
    said_deinit(&s);
    write_text(temp_path("s.scn"), "scenario s\nmain\nend\n");
    s = run_tool("run", temp_path("s.scn"), "--trace", temp_path("no-such-folder/x"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    CHECK_STR_EQ(s.out, "");
    said_deinit(&s);
    write_text(temp_path("s.scn"), "main\nend\n");
    s = run_tool("run", temp_path("s.scn"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "s.scn:1: no line 'scenario NAME'");
    said_deinit(&s);
}

/* ---- scenarios from files ---- */

ASX_TEST(a_failing_scenario_exits_1_and_tells_the_line)
{
    write_text(temp_path("s.scn"), "scenario s\nmain\n  open r\n  spawn r x -> ASX_OK\n"
                                   "  close r -> ASX_E_FULL\nend\nbody x\nend\n");
    said s = run_tool("run", temp_path("s.scn"), NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    CHECK(strncmp(s.out, "FAIL s ", 7) == 0);
    HAS(s.out, "s.scn:5: close: ASX_OK, expected ASX_E_FULL");
    said_deinit(&s);
}

ASX_TEST(one_scenario_of_several_is_run_by_its_name)
{
    write_text(temp_path("s.scn"), "scenario a\nmain\nend\nscenario b c\nmain\n  note x 1\nend\n");
    said s = run_tool("run", temp_path("s.scn"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "2 scenarios");
    said_deinit(&s);
    s = run_tool("run", temp_path("s.scn"), "--scenario", "c", NULL);
    CHECK_EQ(s.code, CLI_OK);
    CHECK(strncmp(s.out, "ok b digest ", 12) == 0);
    said_deinit(&s);
    s = run_tool("run", temp_path("s.scn"), "--scenario", "d", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
    write_text(temp_path("s.scn"), "scenario a\nmain\nend\nscenario b a\nmain\nend\n");
    s = run_tool("run", temp_path("s.scn"), "--scenario", "a", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "2 scenarios 'a'");
    said_deinit(&s);
}

ASX_TEST(what_stands_before_the_first_scenario_is_not_passed_over)
{
    write_text(temp_path("s.scn"), "# head\n\n  config tasks-max 3\nscenario a\nmain\nend\n");
    said s = run_tool("run", temp_path("s.scn"), NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    CHECK_STR_EQ(s.out, "");
    HAS(s.err, "s.scn:3: no line 'scenario NAME'");
    said_deinit(&s);
    write_text(temp_path("s.scn"), "scenari a\nmain\nend\nscenario b\nmain\nend\n");
    s = run_tool("run", temp_path("s.scn"), "--scenario", "b", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "s.scn:1: 'scenari' is not known outside a body");
    said_deinit(&s);
}

ASX_TEST(a_file_with_more_scenarios_than_are_read_is_refused)
{
    enum { MORE = 4097 };
    static char text[MORE * 32];
    size_t len = 0;
    for (int i = 0; i < MORE; i++)
        len += (size_t)snprintf(text + len, sizeof text - len, "scenario s%d\nmain\nend\n", i);
    write_text(temp_path("s.scn"), text);
    said s = run_tool("run", temp_path("s.scn"), "--scenario", "s1", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    HAS(s.err, "more than 4096 scenarios");
    said_deinit(&s);
}

ASX_TEST(an_error_anywhere_in_a_file_is_told_with_its_line)
{
    write_text(temp_path("s.scn"), "scenario a\nmain\nend\nscenario b\nmain\n  jump\nend\n");
    said s = run_tool("run", temp_path("s.scn"), "--scenario", "a", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    CHECK_STR_EQ(s.out, "");
    HAS(s.err, "s.scn:6: there is no operation 'jump'");
    said_deinit(&s);
}

ASX_TEST(lint_flags_loops_and_exits_1)
{
    write_text(temp_path("l.c"), "asx_status f(asx_cx *cx, void *a)\n{\n    for (;;)\n"
                                 "        work(a);\n}\n");
    said s = run_tool("lint", temp_path("l.c"), NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "l.c:3: a loop in f() has no cancellation point");
    said_deinit(&s);
    write_text(temp_path("l.c"), "asx_status f(asx_cx *cx, void *a)\n{\n    for (;;)\n"
                                 "        work(cx, a);\n}\n");
    s = run_tool("lint", temp_path("l.c"), NULL);
    CHECK_EQ(s.code, CLI_OK);
    CHECK_STR_EQ(s.out, "");
    said_deinit(&s);
}
