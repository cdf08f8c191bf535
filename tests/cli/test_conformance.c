/* test_conformance.c - the conformance command: it answers for every identifier, and its verdicts
 * can be trusted: what is wrong fails, what crashes or hangs is told apart. */
#include "cli/support_cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

#define HAS(text_, part_)                                                                          \
    (strstr((text_), (part_)) != NULL                                                              \
         ? (void)0                                                                                 \
         : asx_test_fail(__FILE__, __LINE__, "\"%s\" is not in: %.400s", (part_), (text_)))

static const cli_file *ids_file(void)
{
    const cli_file *f = cli_files;
    while (f->name != NULL && strcmp(f->name, "ids.txt") != 0)
        f++;
    CHECK(f->name != NULL);
    return f;
}

/* The conformance suite itself, as one test: every identifier in the order of the list, each
 * answered once, none failed and none skipped. */
ASX_TEST_TIMEOUT(every_identifier_is_answered_once_and_none_fails, 600)
{
    said s = run_tool("conformance", "--timeout", "120", NULL);
    const cli_file *list = ids_file();
    const char *answer = s.out;
    size_t ids = 0;
    for (size_t at = 0; at < list->len;) {
        char id[80];
        const char *line = (const char *)list->bytes + at;
        size_t n = strcspn(line, "\n");
        at += n + 1;
        if (n == 0 || *line == '#')
            continue;
        (void)snprintf(id, sizeof(id), "%.*s", (int)n, line);
        size_t len = strcspn(answer, "\n");
        bool ok = strncmp(answer, "ok ", 3) == 0 && len == n + 3 &&
                  memcmp(answer + 3, id, n) == 0;
        if (!ok)
            asx_test_fail(__FILE__, __LINE__, "%s: %.*s", id, (int)len, answer);
        answer += len + 1;
        ids++;
    }
    CHECK(ids > 200);
    HAS(answer, " passed, 0 failed\n");
    CHECK_EQ(s.code, CLI_OK);
    said_deinit(&s);
}

ASX_TEST(the_answer_as_json_is_one_object_in_a_line)
{
    said s = run_tool("conformance", "--json", "--filter", "budget-*", NULL);
    CHECK_EQ(s.code, CLI_OK);
    HAS(s.out, "{\"id\":\"budget-consume-cost-014\",\"result\":\"ok\",\"why\":\"\",\"kind\":\"c\"");
    HAS(s.out, "{\"summary\":{\"ids\":6,\"passed\":6,\"failed\":0,\"skipped\":0,");
    said_deinit(&s);
    s = run_tool("conformance", "--json", "--filter", "ch-fifo-001", NULL);
    HAS(s.out, "\"kind\":\"scenario\",\"file\":\"channel.scn\",\"digest\":\"");
    said_deinit(&s);
}

ASX_TEST(a_filter_is_a_glob_or_a_part_of_the_name)
{
    said s = run_tool("conformance", "--filter", "budget-meet-*-01?", NULL);
    CHECK_STR_EQ(s.out, "ok budget-meet-absorbing-011\nok budget-meet-identity-010\n"
                        "2 passed, 0 failed\n");
    said_deinit(&s);
    s = run_tool("conformance", "--filter", "left-bias", NULL);
    CHECK_STR_EQ(s.out, "ok outcome-join-left-bias-001\n1 passed, 0 failed\n");
    said_deinit(&s);
}

ASX_TEST(the_text_of_a_fixture_can_be_shown)
{
    said s = run_tool("conformance", "--show", "ch-fifo-001", NULL);
    CHECK_EQ(s.code, CLI_OK);
    HAS(s.out, "# channel.scn:");
    HAS(s.out, "scenario ch-fifo-001");
    CHECK(strstr(s.out, "scenario ch-fifo-fairness-001") == NULL);
    said_deinit(&s);
    s = run_tool("conformance", "--show", "outcome-lattice-001", NULL);
    CHECK_STR_EQ(s.out, "# in C: tests/conformance/fixture_algebra.c\n");
    said_deinit(&s);
    s = run_tool("conformance", "--show", "no-such", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
}

static const char *folder_with(const char *text)
{
    const char *dir = temp_path("dir");
    (void)mkdir(dir, 0700);
    (void)temp_path("dir/one.scn");
    write_text(temp_path("dir/one.scn"), text);
    return dir;
}

static void leave_folder(void)
{
    (void)remove(temp_path("dir/one.scn"));
    (void)rmdir(temp_path("dir"));
}

ASX_TEST(a_folder_of_scenarios_is_run_instead)
{
    const char *dir = folder_with("scenario mine\nmain\n  note a 1\nend\nexpect notes a = 1\n"
                                  "scenario yours theirs\nmain\n  note a 1\nend\n"
                                  "expect notes a = 2\n");
    said s = run_tool("conformance", "--dir", dir, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    CHECK(strncmp(s.out, "ok mine\nFAIL yours ", 19) == 0);
    HAS(s.out, "one.scn:10: expect notes: number 1 of a is 1, expected 2");
    HAS(s.out, "FAIL theirs ");
    HAS(s.out, "1 passed, 2 failed\n");
    said_deinit(&s);
    leave_folder();
}

ASX_TEST(on_several_workers_what_is_for_one_is_skipped_with_the_reason)
{
    const char *dir = folder_with("scenario live\nmode both\nmain\n  note a 1\nend\n"
                                  "scenario ordered\nmode both\nworkers one by one\nmain\nend\n"
                                  "scenario clocked\nmain\nend\n"
                                  "scenario wrong\nmode both\nmain\n  note a 1\nend\n"
                                  "expect notes a = 2\n");
    said s = run_tool("conformance", "--dir", dir, "--workers", "3", NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    CHECK(strncmp(s.out, "ok live\nskip ordered by one\nskip clocked in the laboratory", 57) == 0);
    HAS(s.out, "FAIL wrong ");
    HAS(s.out, "3 workers]");
    HAS(s.out, "1 passed, 1 failed, 2 skipped\n");
    said_deinit(&s);
    leave_folder();
    s = run_tool("conformance", "--workers", "4", "--filter", "budget-*", NULL);
    HAS(s.out, "skip budget-consume-cost-014 algebra");
    CHECK_EQ(s.code, CLI_OK);
    said_deinit(&s);
    s = run_tool("conformance", "--workers", "0", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
    s = run_tool("conformance", "--workers", "many", NULL);
    CHECK_EQ(s.code, CLI_USAGE);
    said_deinit(&s);
}

ASX_TEST(a_crash_is_the_failure_of_one_fixture)
{
    /* A region whose policy is to abort the process when cleanup takes too long. */
    const char *dir = folder_with("scenario crash\nbody late\n  mask\n  sleep 1h -> any\nend\n"
                                  "main\n  open r cleanup panic cleanup-time 1ms\n"
                                  "  spawn r late\n  yield\n  cancel region r\n"
                                  "  close r -> any\nend\n"
                                  "scenario fine\nmain\nend\n");
    said s = run_tool("conformance", "--dir", dir, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "FAIL crash crashed (signal 6)\nok fine\n1 passed, 1 failed\n");
    said_deinit(&s);
    leave_folder();
}

ASX_TEST(a_hang_is_ended_and_told)
{
    const char *dir = folder_with("scenario hang\nmain\n  repeat\n    checkpoint\n  end\nend\n"
                                  "scenario fine\nmain\nend\n");
    said s = run_tool("conformance", "--timeout", "1", "--dir", dir, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    CHECK_STR_EQ(s.out, "FAIL hang still running after 1 s\nok fine\n1 passed, 1 failed\n");
    said_deinit(&s);
    leave_folder();
}

ASX_TEST(a_malformed_scenario_fails_with_its_line)
{
    const char *dir = folder_with("scenario bad\nmain\n  open\nend\n");
    said s = run_tool("conformance", "--dir", dir, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "one.scn:3: the name of a region is missing");
    said_deinit(&s);
    (void)folder_with("# nothing here\n");
    s = run_tool("conformance", "--dir", dir, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "no line 'scenario NAME'");
    said_deinit(&s);
    (void)folder_with("\nsenario one\nmain\nend\nscenario two\nmain\nend\n");
    s = run_tool("conformance", "--dir", dir, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    HAS(s.out, "one.scn:2: 'senario' is not known outside a body");
    HAS(s.out, "1 passed, 1 failed");
    said_deinit(&s);
    leave_folder();
}

ASX_TEST(two_fixtures_for_one_name_are_an_error)
{
    const char *dir = folder_with("scenario twin\nmain\nend\nscenario twin\nmain\nend\n");
    said s = run_tool("conformance", "--dir", dir, NULL);
    CHECK_EQ(s.code, CLI_FAILED);
    CHECK_STR_EQ(s.out, "FAIL twin 2 fixtures\n0 passed, 1 failed\n");
    said_deinit(&s);
    leave_folder();
}
