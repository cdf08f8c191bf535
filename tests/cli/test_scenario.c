/* test_scenario.c - the scenario language: what is wrong is told with its line, and no check and no
 * expectation is one that cannot fail. */
#include "cli/scn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/scn_words.h"
#include "harness.h"

/* ---- reading ---- */

static void refused(const char *text, const char *message)
{
    scn s;
    scn_error error;
    asx_status st = scn_parse("f", 1, text, strlen(text), &s, &error);
    if (st != ASX_E_SCENARIO || strcmp(error.text, message) != 0)
        asx_test_fail(__FILE__, __LINE__, "%s\n-- said: %s (%s)\n-- expected: %s", text, error.text,
                      asx_status_str(st), message);
}

ASX_TEST(structure_errors_have_a_line)
{
    refused("", "f:1: no line 'scenario NAME'");
    refused("main\nend\n", "f:1: no line 'scenario NAME'");
    refused("scenario\nmain\nend\n", "f:1: a scenario needs a name");
    refused("scenario a\n", "f:1: no 'main'");
    refused("scenario a\nmain\n", "f:2: this block has no 'end'");
    refused("scenario a\nmain\nend\nend\n", "f:4: 'end' without a block");
    refused("scenario a\nmain\nend\nmain\nend\n", "f:4: there is another body 'main'");
    refused("scenario a\nmain\nend\nbody b\nend\n", "f:4: body 'b' is never used");
    refused("scenario a\nbody b\nend\nbody b\nend\nmain\nend\n", "f:4: there is another body 'b'");
    refused("scenario a\nbody\nend\nmain\nend\n", "f:2: a body needs a name");
    refused("scenario a\nmain\n  repeat\n  yield\nend\n", "f:2: this block has no 'end'");
    refused("scenario a\nmain\n  main\n  end\nend\n", "f:3: 'main' cannot stand inside a block");
    refused("scenario a\nfrob\nmain\nend\n", "f:2: 'frob' is not known outside a body");
    refused("scenario a\nvehicle car\nmain\nend\n", "f:2: 'fiber', 'poll' or 'both' is expected");
    refused("scenario a\nseeds\nmain\nend\n", "f:2: a seed is missing");
    refused("scenario a\nmain\n  note x \x01\nend\n", "f:3: a control character");
}

ASX_TEST(operation_errors_have_a_line)
{
    refused("scenario a\nworkers two\nmain\nend\n", "f:2: 'workers one', and why, is expected");
    refused("scenario a\nworkers one\nmain\nend\n", "f:2: why one worker?");
    refused("scenario a\nmain\n  await nothing\nend\n", "f:3: there is no operation 'await'");
    refused("scenario a\nmain\n  jump\nend\n", "f:3: there is no operation 'jump'");
    refused("scenario a\nmain\n  open\nend\n", "f:3: the name of a region is missing");
    refused("scenario a\nmain\n  open 1r\nend\n", "f:3: '1r' is not a name of a region");
    refused("scenario a\nmain\n  open root\nend\n", "f:3: 'root' is reserved");
    refused("scenario a\nmain\n  close r\nend\n", "f:3: nothing makes the region 'r'");
    refused("scenario a\nmain\n  sleep\nend\n", "f:3: a number is missing");
    refused("scenario a\nmain\n  sleep soon\nend\n", "f:3: 'soon' is not a number");
    refused("scenario a\nmain\n  sleep 5parsec\nend\n", "f:3: '5parsec' is not a number");
    refused("scenario a\nmain\n  sleep 99999999999999999999\nend\n",
            "f:3: '99999999999999999999' is not a number");
    refused("scenario a\nmain\n  sleep 600000d\nend\n", "f:3: '600000d' is not a number");
    refused("scenario a\nmain\n  yield -> MAYBE\nend\n", "f:3: 'MAYBE' is not a status");
    refused("scenario a\nmain\n  yield ->\nend\n", "f:3: a status is missing");
    refused("scenario a\nmain\n  yield twice\nend\n", "f:3: 'twice' is not expected here");
    refused("scenario a\nmain\n  open r colour red\nend\n", "f:3: 'colour' is not expected here");
    refused("scenario a\nmain\n  open r tasks 1 tasks 2\nend\n", "f:3: 'tasks' stands here twice");
    refused("scenario a\nmain\n  open r policy odd\nend\n",
            "f:3: 'odd' is not known behind 'policy'");
    refused("scenario a\nmain\n  open r caps SPAWN,FLY\nend\n", "f:3: 'FLY' is not known here");
    refused("scenario a\nmain\n  panic \"x\nend\n", "f:3: text without closing '\"'");
    refused("scenario a\nmain\n  spawn root b\nend\n", "f:3: there is no body 'b'");
    refused("scenario a\nbody b x\nend\nmain\n  spawn root b\nend\n",
            "f:5: body 'b' has 1 parameters, not 0");
    refused("scenario a\nbody b\nend\nmain\n  spawn root b(\nend\n",
            "f:5: arguments are written name(a,b)");
    refused("scenario a\nmain\n  note x $i\nend\n", "f:3: nothing is called '$i' here");
    refused("scenario a\nmain\n  for i 1\n  end\nend\n", "f:3: the last number is missing");
    refused("scenario a\nmain\n  for i 1 9999999\n  end\nend\n",
            "f:3: more than 200000 rounds of 'for'");
    refused("scenario a\nconfig\nmain\nend\n", "f:2: 'config' of what?");
    refused("scenario a\nconfig tasks-max 99999999999\nmain\nend\n", "f:2: the limit is too large");
    refused("scenario a\nconfig root in root\nmain\nend\n", "f:2: the root is in no region");
}

ASX_TEST(expectation_errors_have_a_line)
{
    refused("scenario a\nmain\nend\nexpect\n", "f:4: '' cannot be expected");
    refused("scenario a\nmain\nend\nexpect rain\n", "f:4: 'rain' cannot be expected");
    refused("scenario a\nmain\nend\nexpect event rain\n", "f:4: 'rain' is not a kind of event");
    refused("scenario a\nmain\nend\nexpect event user on=x\n",
            "f:4: 'x' is not known in this place");
    refused("scenario a\nmain\nend\nexpect event user c=1\n",
            "f:4: 'c=1' is not a place of an event (by, on, a, b, at)");
    refused("scenario a\nmain\nend\nexpect event user b=1\n",
            "f:4: events of this kind have nothing in this place");
    refused("scenario a\nmain\nend\nexpect event user a=1 a=2\n",
            "f:4: a place stands here twice");
    refused("scenario a\nmain\nend\nexpect order user\n",
            "f:4: 'expect order' is written: PATTERN then PATTERN");
    refused("scenario a\nmain\nend\nexpect notes x = 1\n", "f:4: no body makes the note 'x'");
    refused("scenario a\nmain\nend\nexpect outcome t Ok\n", "f:4: nothing makes the task 't'");
    refused("scenario a\nmain\nend\nexpect outcome main Fine\n", "f:4: 'Fine' is not an outcome");
    refused("scenario a\nmain\nend\nexpect digest equal\n", "f:4: 'same' or 'other' is expected");
    refused("scenario a\nmain\nend\nexpect exactly user\n  a\nend\n",
            "f:5: 'a' is not expected here");
}

ASX_TEST(lines_are_counted_from_where_the_section_begins)
{
    static const char text[] = "# head\n\nscenario a\nmain\nend\n\nscenario b\nmain\n  jump\nend\n";
    scn_section sections[4];
    scn s;
    scn_error error;
    CHECK_EQ(scn_split(text, strlen(text), sections, 4), 2);
    CHECK_EQ(sections[0].line, 3);
    CHECK_EQ(sections[1].line, 7);
    CHECK_STATUS(scn_parse("f", 3, sections[0].text, sections[0].len, &s, &error), ASX_OK);
    scn_deinit(&s);
    CHECK_STATUS(scn_parse("f", 7, sections[1].text, sections[1].len, &s, &error), ASX_E_SCENARIO);
    CHECK_STR_EQ(error.text, "f:9: there is no operation 'jump'");
}

/* ---- running ---- */

static scn_result run(const char *text)
{
    scn s;
    scn_error error;
    scn_result result;
    if (scn_parse("f", 1, text, strlen(text), &s, &error) < 0)
        asx_test_fail(__FILE__, __LINE__, "%s", error.text);
    scn_run_options options = { .vehicle = SCN_FIBER, .mode = SCN_LAB };
    CHECK_STATUS(scn_run(&s, &options, &result), ASX_OK);
    scn_deinit(&s);
    return result;
}

/* `body` are lines of main, `rest` what follows it. Main begins in line 3. */
static void fails(const char *body, const char *rest, unsigned line, const char *why)
{
    char text[2048];
    (void)snprintf(text, sizeof(text), "scenario a\nmain\n%send\n%s", body, rest);
    scn_result result = run(text);
    if (result.passed || result.line != line || strstr(result.why, why) == NULL)
        asx_test_fail(__FILE__, __LINE__, "%s-- %s at %u: %s\n-- expected at %u: %s", text,
                      result.passed ? "passed" : "failed", (unsigned)result.line, result.why, line,
                      why);
}

static void passes(const char *body, const char *rest)
{
    char text[2048];
    (void)snprintf(text, sizeof(text), "scenario a\nmain\n%send\n%s", body, rest);
    scn_result result = run(text);
    if (!result.passed)
        asx_test_fail(__FILE__, __LINE__, "%s-- failed at %u: %s", text, (unsigned)result.line,
                      result.why);
}

ASX_TEST(an_answer_that_differs_fails)
{
    passes("  open r\n  close r\n", "");
    fails("  open r\n  close r -> ASX_E_CANCELLED\n", "", 4,
          "close: ASX_OK, expected ASX_E_CANCELLED");
    fails("  open r\n  close r\n  close r\n", "", 5, "close: ASX_E_STALE_HANDLE, expected ASX_OK");
    passes("  open r\n  close r\n  close r -> any\n", "");
    /* `return` leaves the body with the failure. */
    passes("  open r\n  close r\n  close r -> return\n  panic \"not reached\"\n",
           "expect result ASX_E_STALE_HANDLE\n");
}

ASX_TEST(what_is_used_before_it_is_made_fails)
{
    fails("  close r\n  open r\n", "", 3, "the region 'r' was not made yet");
}

ASX_TEST(a_check_that_differs_fails)
{
    fails("  open r\n  check region r state Closing\n  close r\n", "", 4,
          "check region: state is Open, expected Closing");
    fails("  channel root ch 2\n  check channel ch capacity 3\n", "", 4,
          "check channel: capacity is 2, expected 3");
    fails("  channel root ch 2\n  check channel ch queued >=1\n", "", 4,
          "check channel: queued is 0, expected >=1");
    fails("  channel root ch 2\n  send ch 5\n  recv ch = 6\n", "", 5,
          "recv: the result is 5, expected 6");
    fails("  check self cancelled yes\n", "", 3, "check self: cancelled is 0, expected 1");
    fails("  check stats tasks-live 2\n", "", 3, "check stats: tasks-live is 1, expected 2");
    fails("  check certificate ready-dispatches 99\n", "", 3, "ready-dispatches is 1");
    fails("  wheel w\n  timer w t 5\n  collect w 5 = none\n", "", 5, "collect: t fires too");
    fails("  wheel w\n  timer w t 5\n  timer w u 5\n  collect w 5 = u t\n", "", 6,
          "collect: as number 1 fires t, expected u");
    fails("  wheel w\n  timer w t 5\n  collect w 4 = t\n", "", 5,
          "collect: as number 1 fires nothing, expected t");
    fails("  wheel w\n  timer w t 5\n  timer-cancel w t = no\n", "", 5,
          "timer-cancel: the result is 1, expected 0");
    fails("  wheel w\n  next-deadline w = 3\n", "", 4, "next-deadline: the result is");
    fails("  snapshot\n  open r\n  check unchanged\n  close r\n", "", 5, "check unchanged: ");
    fails("  open r\n  close r report q\n  check report q ok 1\n", "", 5,
          "check report: ok is 0, expected 1");
    fails("  open r\n  close r report q\n  check item q 0 kind task\n", "", 5,
          "check item: the report has 0 items");
    fails("  open r\n  close r report q\n  check item q kind task\n", "", 5,
          "check item: none of the report's 0 items is like that");
    fails("  oblige root o\n  check obligation o state Leaked\n  abort o\n", "", 4,
          "check obligation: state is Reserved, expected Leaked");
}

ASX_TEST(a_check_of_a_task_that_differs_fails)
{
    static const char worker[] = "body w\n  sleep 1s -> any\nend\n";
    fails("  spawn root w as t\n  join t = 1\n", worker, 4, "join: the result is 0, expected 1");
    fails("  spawn root w as t\n  join t outcome Err\n", worker, 4,
          "join: outcome is Ok, expected Err");
    fails("  spawn root w as t\n  cancel task t\n  check witness t kind Timeout\n", worker, 5,
          "check witness: kind is User, expected Timeout");
    fails("  spawn root w as t\n  cancel task t message \"a\"\n  check witness t message \"b\"\n",
          worker, 5, "message is \"a\", expected \"b\"");
    fails("  spawn root w as t\n  cancel task t\n  check cleanup t polls 7\n", worker, 5,
          "check cleanup: polls is 1000, expected 7");
}

ASX_TEST(an_expectation_on_the_journal_that_differs_fails)
{
    static const char body[] = "  note n 1\n  note n 2\n";
    passes(body, "expect event user on=n a=2\n");
    fails(body, "expect event user on=n a=3\n", 6, "expect event: no such user");
    passes(body, "expect never user on=n a=3\n");
    fails(body, "expect never user on=n a=2\n", 6, "expect never: there is");
    passes(body, "expect count 2 user on=n\n");
    fails(body, "expect count 3 user on=n\n", 6, "expect count: 2 such user, expected 3");
    fails(body, "expect count <2 user on=n\n", 6, "expect count: 2 such user, expected <2");
    passes(body, "expect order user a=1 then user a=2\n");
    fails(body, "expect order user a=2 then user a=1\n", 6, "expect order: {");
    fails(body, "expect order user a=1 then user a=9\n", 6, "expect order: no such user");
    passes(body, "expect notes n = 1 2\n");
    fails(body, "expect notes n = 1\n", 6, "expect notes: number 2 of n is 2, expected none");
    fails(body, "expect notes n = 1 2 3\n", 6, "expect notes: 2 of n, expected 3");
    fails(body, "expect notes n = 2 1\n", 6, "expect notes: number 1 of n is 1, expected 2");
    fails(body, "expect notes n = none\n", 6, "expect notes: number 1 of n is 1");
    passes(body, "expect exactly user on=n\n  a=1\n  a=2\nend\n");
    fails(body, "expect exactly user on=n\n  a=1\nend\n", 6, "expect exactly: one more than 1");
    fails(body, "expect exactly user on=n\n  a=2\n  a=1\nend\n", 6, "expect exactly: number 1 is");
    fails(body, "expect exactly user on=n\n  a=1\n  a=2\n  a=3\nend\n", 6,
          "expect exactly: 2 events, expected 3");
    fails(body, "expect event user at=1ms\n", 6, "expect event: no such user");
}

ASX_TEST(an_expectation_on_the_run_that_differs_fails)
{
    passes("  return ASX_E_FULL\n", "expect result ASX_E_FULL\n");
    fails("  return ASX_E_FULL\n", "", 1, "the run ended with ASX_E_FULL");
    fails("", "expect result ASX_E_FULL\n", 4, "expect result: ASX_OK, expected ASX_E_FULL");
    fails("", "expect outcome main Err\n", 4, "expect outcome: main ended Ok, expected Err");
    fails("  return ASX_E_FULL\n", "expect outcome main Err status ASX_E_EMPTY\n", 5,
          "main ended with ASX_E_FULL, expected ASX_E_EMPTY");
    fails("", "expect quiescent ASX_E_TIMERS_PENDING\n", 4, "expect quiescent: ASX_OK, expected");
    fails("", "expect trace-status ASX_E_RESOURCE_EXHAUSTED\n", 4, "expect trace-status: ASX_OK");
    fails("", "expect stats tasks-live 1\n", 4, "expect: tasks-live is 0, expected 1");
    fails("", "expect certificate ready-dispatches 0\n", 4, "expect: ready-dispatches is ");
    fails("  sleep 1ms\n", "expect digest other\n", 5, "expect digest: ");
    fails("  yield\n", "expect digest same seed 9\n", 5, "expect digest: ");
}

/* An expectation about something that never came to be does not hold by accident. */
ASX_TEST(an_expectation_on_what_never_was_fails)
{
    fails("  open r tasks 1\n  spawn r w as one\n  spawn r w as two -> ASX_E_ADMISSION_CLOSED\n"
          "  close r\n",
          "body w\nend\nexpect never task-run on=two\n", 10,
          "'two' never got a number in the journal");
}

ASX_TEST(a_poll_task_repeats_the_operation_that_has_to_wait)
{
    static const char text[] = "scenario a\nvehicle poll\nbody w\n  recv ch = 1\n  sleep 1ms\n"
                               "  yield\n  note done 1\nend\nmain\n  channel root ch 1\n"
                               "  spawn root w as t\n  yield\n  send ch 1\n  join t\nend\n"
                               "expect notes done = 1\nexpect event task-spawn on=t b=poll\n";
    scn s;
    scn_error error;
    scn_result result;
    CHECK_STATUS(scn_parse("f", 1, text, strlen(text), &s, &error), ASX_OK);
    CHECK_STATUS(scn_run_all(&s, &result), ASX_OK);
    if (!result.passed)
        asx_test_fail(__FILE__, __LINE__, "%u: %s", (unsigned)result.line, result.why);
    scn_deinit(&s);
}

ASX_TEST(every_way_that_is_declared_is_run)
{
    /* Holds on fibers only, so the poll run must be the one that fails, and under both seeds. */
    static const char text[] = "scenario a\nvehicle both\nseeds 3 4\nbody w\nend\nmain\n"
                               "  spawn root w as t\n  join t\nend\n"
                               "expect event task-spawn on=t b=fiber\n";
    scn s;
    scn_error error;
    scn_result result;
    CHECK_STATUS(scn_parse("f", 1, text, strlen(text), &s, &error), ASX_OK);
    CHECK_STATUS(scn_run_all(&s, &result), ASX_OK);
    CHECK(!result.passed);
    CHECK(strstr(result.why, "[poll, lab, seed 3]") != NULL);
    scn_deinit(&s);
}

/* ---- the reference ---- */

static char *read_reference(void)
{
    static const char here[] = "tests/cli/test_scenario.c";
    char path[1024];
    char *text = NULL;
    size_t len = strlen(__FILE__), size = 0;
    CHECK(len > sizeof(here) && len < sizeof(path) - 32);
    memcpy(path, __FILE__, len + 1);
    (void)snprintf(path + len - (sizeof(here) - 1), 32, "docs/scenarios.md");
    CHECK(cli_read_file(path, &text, &size));
    return text;
}

static void documented(const char *text, const char *word)
{
    char quoted[96];
    size_t n = (size_t)snprintf(quoted, sizeof(quoted), "`%s", word);
    for (const char *p = text; (p = strstr(p, quoted)) != NULL; p++) {
        if (p[n] == '`' || p[n] == ' ' || p[n] == ',')
            return;
    }
    asx_test_fail(__FILE__, __LINE__, "docs/scenarios.md does not tell of '%s'", word);
}

ASX_TEST(every_operation_and_every_field_is_in_the_reference)
{
    char *text = read_reference();
    for (uint32_t code = 0; code < SCN_OP_COUNT; code++) {
        const scn_op_form *form = scn_op_form_of(code);
        if (form->text[0] == '\0')
            continue;
        if (strcmp(form->text, "repeat") != 0)
            documented(text, form->text);
        for (const scn_field_form *field = form->fields; field->text != NULL; field++) {
            char with_blank[64];
            (void)snprintf(with_blank, sizeof(with_blank), " %s ", field->text);
            if (strstr(text, with_blank) == NULL && field->text[0] != '=')
                documented(text, field->text);
        }
    }
    free(text);
}

/* The example at the top of the reference runs as it is printed there. */
ASX_TEST(the_example_of_the_reference_runs)
{
    char *text = read_reference();
    char *begin = strstr(text, "scenario example-pipe");
    CHECK(begin != NULL);
    char *end = strstr(begin, "```");
    CHECK(end != NULL);
    *end = '\0';
    scn s;
    scn_error error;
    scn_result result;
    if (scn_parse("docs", 1, begin, strlen(begin), &s, &error) < 0)
        asx_test_fail(__FILE__, __LINE__, "%s", error.text);
    CHECK_STATUS(scn_run_all(&s, &result), ASX_OK);
    if (!result.passed)
        asx_test_fail(__FILE__, __LINE__, "%u: %s", (unsigned)result.line, result.why);
    scn_deinit(&s);
    free(text);
}
