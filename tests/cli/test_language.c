/* test_language.c - operations and settings that no conformance fixture needs, each shown to mean
 * what the reference says. */
#include "cli/scn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

static scn_result run_all(const char *text)
{
    scn s;
    scn_error error;
    scn_result result;
    if (scn_parse("f", 1, text, strlen(text), &s, &error) < 0)
        asx_test_fail(__FILE__, __LINE__, "%s", error.text);
    CHECK_STATUS(scn_run_all(&s, &result), ASX_OK);
    scn_deinit(&s);
    return result;
}

static void holds(const char *text)
{
    scn_result result = run_all(text);
    if (!result.passed)
        asx_test_fail(__FILE__, __LINE__, "%s-- failed at %u: %s", text, (unsigned)result.line,
                      result.why);
}

static void fails_at(const char *text, unsigned line, const char *why)
{
    scn_result result = run_all(text);
    if (result.passed || result.line != line || strstr(result.why, why) == NULL)
        asx_test_fail(__FILE__, __LINE__, "%s-- %s at %u: %s", text,
                      result.passed ? "passed" : "failed", (unsigned)result.line, result.why);
}

ASX_TEST(a_narrowed_context_may_do_less)
{
    holds("scenario a\nmode both\nvehicle both\n"
          "body w\n  channel here ch 1\n  narrow caps TIME,TRACE\n  check self caps TIME,TRACE\n"
          "  send ch 1 -> ASX_E_CAPABILITY\n  open r -> ASX_E_CAPABILITY\n  sleep 1us\n"
          "  note n 1\n  narrow caps none\n  sleep 1us -> ASX_E_CAPABILITY\n"
          "  note n 2 -> ASX_E_CAPABILITY\n  check self caps none\n  yield\nend\n"
          "main\n  open x\n  spawn x w as t\n  join t outcome Ok\n  close x\nend\n"
          "expect notes n = 1\n");
    holds("scenario a\nbody w\n  check self caps TIME\n  note n 1 -> ASX_E_CAPABILITY\n"
          "  sleep 1us\nend\nbody v\n  check self caps TRACE\n  note n 2\nend\n"
          "main\n  open r caps TIME,TRACE\n  spawn r w caps TIME,SPAWN\n  spawn r v caps TRACE\n"
          "  close r\nend\nexpect notes n = 2\n");
}

ASX_TEST(a_narrowed_region_handle_acts_in_some_states_only)
{
    holds("scenario a\nbody w\n  yield\nend\nmain\n  open r\n"
          "  narrow region r late states Draining,Finalizing\n  check region r state Open\n"
          "  spawn late w -> ASX_E_CAPABILITY\n  spawn r w\n  close r\nend\n");
}

ASX_TEST(a_report_tells_who_is_alive_and_what_it_waits_for)
{
    holds("scenario a\nvehicle both\nbody w\n  recv ch = 1\nend\nmain\n  open r\n"
          "  channel r ch 1\n  spawn r w as waiter\n  yield\n  report region r q\n"
          "  check report q items 2\n  check item q kind region name \"r\"\n"
          "  check item q kind task name \"waiter\" path \"root/r\" waits \"channel-recv\"\n"
          "  report runtime all\n  check item all kind task name \"main\"\n"
          "  check item all kind task name \"waiter\" site \"f:9\"\n  report region r q\n"
          "  send ch 1\n  close r\nend\n");
    fails_at("scenario a\nmain\n  report runtime q\n  check item q name \"nobody\"\nend\n", 4,
             "none of the report's");
    fails_at("scenario a\nmain\n  report runtime q\n  check item q 0 site \"nowhere\"\nend\n", 4,
             "the site is");
}

ASX_TEST(admission_waits_or_refuses)
{
    holds("scenario a\nvehicle both\nbody w\n  sleep 1ms\nend\nbody spawner\n"
          "  spawn r w\n  note at 0\n  spawn r w\n  note at 1\nend\nmain\n"
          "  open r tasks 1 admission wait\n  spawn here spawner as s\n  join s\n"
          "  check self now 1ms\n  close r\nend\nexpect event task-park a=admission\n");
    holds("scenario a\nbody w\n  sleep 1ms\nend\nmain\n  open r tasks 1 regions 1 obligations 1\n"
          "  spawn r w\n  spawn r w -> ASX_E_ADMISSION_CLOSED\n  open s in r\n"
          "  open t in r -> ASX_E_ADMISSION_CLOSED\n  oblige r o\n"
          "  oblige r p -> ASX_E_ADMISSION_CLOSED\n  abort o\n  close s\n  close r\nend\n");
}

ASX_TEST(a_region_gives_its_tasks_its_budget)
{
    holds("scenario a\nvehicle both\nbody w\n  check self polls 4 cost 10 priority 7 deadline 5ms\n"
          "  sleep-until 3ms\n  check self now 3ms\n  sleep 1h -> ASX_E_CANCELLED\n"
          "  check self now 5ms kind Deadline\nend\nmain\n"
          "  open r polls 5 cost 10 priority 7 deadline 5ms policy collect\n  spawn r w as t\n"
          "  close r -> ASX_E_TIMEOUT\nend\nexpect outcome t Cancelled\n");
}

ASX_TEST(settings_reach_the_runtime)
{
    holds("scenario a\nconfig profile embedded\nconfig coalesce-window 10ms coalesce-group 2\n"
          "config stack 32768\nconfig trace-overflow overwrite trace-max 64\nbody w n\n"
          "  sleep ${n}ms\n  check self now 10ms\nend\nmain\n  open r\n  spawn r w(3)\n"
          "  spawn r w(4)\n  close r\nend\nexpect trace-status ASX_OK\n");
    holds("scenario a\nconfig max-timer 1h max-wheel 1min first-generation 40 first-id 7\nmain\n"
          "  runtime-wheel w\n  timer w t 30min\n  check timer t id 7 generation 40\n"
          "  check wheel w overflow 1\n  timer w u 2h -> ASX_E_TIMER_DURATION_EXCEEDED\n"
          "  timer-cancel w t = yes\nend\n");
    holds("scenario a\nconfig governor MeetDeadlines timed-streak 2 join-inline no\nbody w n\n"
          "  note ran $n\nend\nmain\n  open r\n  spawn r w(9)\n  for i 1 4\n"
          "    spawn r w($i) deadline 1h\n  end\n  close r\nend\nexpect notes ran = 1 2 9 3 4\n");
    holds("scenario a\nconfig profile freestanding memory 2000000\nmain\n  open r\n"
          "  alloc r 5000000 -> ASX_E_RESOURCE_EXHAUSTED\n  alloc r 1000\n  close r\nend\n");
    holds("scenario a\nmode live\nconfig trace no\nmain\n"
          "  trace-status -> ASX_E_NO_JOURNAL\n  note n 1\nend\n");
    holds("scenario a\nconfig step 3\nbody w\n  yield\n  sleep 2ms\nend\nmain\n  open r\n"
          "  spawn r w\n  spawn r w\n  close r\n  check self now 2ms\nend\n");
    holds("scenario a\nconfig root policy collect timeout 4ms\nmain\n"
          "  sleep 1h -> ASX_E_CANCELLED\n  check self now 4ms kind Timeout\nend\n"
          "expect result ASX_E_TIMEOUT\n");
    holds("scenario a\nconfig clock real seed 4\nmode live\nmain\n  sleep 1us\nend\n");
}

ASX_TEST(calls_with_bodies_do_what_they_promise)
{
    holds("scenario a\nmode both\nbody get\n  note n 1\nend\nbody use\n  note n 2\n"
          "  return ASX_E_FULL\nend\nbody put\n  note n 3\nend\nbody no\n  note n 9\n"
          "  return ASX_E_EMPTY\nend\nmain\n  bracket get use put -> ASX_E_FULL\n"
          "  bracket no use put -> ASX_E_EMPTY\n  section 3 get\n  masked use -> ASX_E_FULL\nend\n"
          "expect notes n = 1 2 3 9 1 2\n");
    holds("scenario a\nbody fast\n  sleep 1ms\nend\nbody slow\n  sleep 1h -> ASX_E_CANCELLED\n"
          "  note lost 1\n  return ASX_E_CANCELLED\nend\nbody bad\n  return ASX_E_FULL\nend\n"
          "main\n  race slow fast winner 1 outcome Ok\n  check self now 1ms\n"
          "  join-all fast fast outcome Ok\n  join-all fast bad outcome Err -> ASX_E_FULL\n"
          "  timeout 5ms fast\n  timeout 5ms slow -> ASX_E_TIMEOUT\n  check self now 9ms\nend\n"
          "expect notes lost = 1 1\n");
    fails_at("scenario a\nbody f\nend\nmain\n  race f f winner 1\nend\n", 5, "winner is 0");
}

ASX_TEST(linked_tasks_fall_together)
{
    holds("scenario a\nvehicle both\nmode both\nbody fails\n  yield\n  return ASX_E_FULL\nend\n"
          "body sleeps\n  sleep 1h -> ASX_E_CANCELLED\n  check self kind LinkedExit\nend\nmain\n"
          "  open r policy collect\n  spawn r fails as f\n  spawn r sleeps as s\n  link f s\n"
          "  link f f -> ASX_E_INVALID_ARGUMENT\n  join s outcome Cancelled\n"
          "  close r -> ASX_E_FULL\nend\n");
}

ASX_TEST(a_waker_is_remembered_once)
{
    holds("scenario a\nvehicle both\nmode both\nbody w\n  waker k\n  wait-external\n  note woke 1\n"
          "  wait-external\n  note woke 2\nend\nmain\n  open r\n  spawn r w as t\n  yield\n"
          "  wake k\n  wake k\n  yield\n  wake k\n  join t\n  close r\nend\n"
          "expect notes woke = 1 2\n");
}

ASX_TEST(a_waker_is_not_called_when_its_region_is_closed)
{
    fails_at("scenario a\nbody w\n  waker k\n  wait-external\nend\nmain\n  open r\n"
             "  spawn r w\n  yield\n  wake k\n  close r\n  wake k\nend\n",
             12, "wake: the region of its task is closed");
}

ASX_TEST(acks_keep_their_message)
{
    holds("scenario a\nvehicle both\nmode both\nmain\n  open r\n  channel r ch 2\n  send ch 1\n"
          "  send ch 2\n  recv-ack ch a = 1\n  check channel ch queued 1 reserved 1\n"
          "  try-send ch 3 -> ASX_E_FULL\n  copy-ack a b\n  nack a\n"
          "  ack b -> ASX_E_OBLIGATION_ALREADY_RESOLVED\n  recv-ack ch a = 1\n  ack a\n"
          "  recv ch = 2\n  close r\nend\nexpect event channel-nack on=ch a=1\n");
}

ASX_TEST(origins_are_compared)
{
    static const char *const head = "scenario a\nbody w\n  sleep 1h -> any\nend\nmain\n"
                                    "  open r policy collect\n  spawn r w as t\n  yield\n"
                                    "  cancel task t\n";
    char text[512];
    (void)snprintf(text, sizeof(text), "%s  check witness t origin-region root origin-task main\n"
                                       "  close r\nend\n", head);
    holds(text);
    (void)snprintf(text, sizeof(text), "%s  check witness t origin-region r\n  close r\nend\n",
                   head);
    fails_at(text, 10, "the origin is another region than r");
    (void)snprintf(text, sizeof(text), "%s  check witness t origin-task t\n  close r\nend\n", head);
    fails_at(text, 10, "the origin is another task than t");
    (void)snprintf(text, sizeof(text), "%s  join t source main\n  close r\nend\n", head);
    fails_at(text, 10, "join: the outcome is of task");
    (void)snprintf(text, sizeof(text), "%s  close r report q\n  check report q source main\nend\n",
                   head);
    fails_at(text, 11, "check report: the outcome is of task");
}

ASX_TEST(numbers_that_do_not_fit_are_told)
{
    fails_at("scenario a\nmain\n  open r tasks 99999999999\nend\n", 3, "a number is too large");
    fails_at("scenario a\nbody w\nend\nmain\n  spawn root w priority 256\nend\n", 5,
             "a number is too large");
}

ASX_TEST(a_wheel_may_be_made_anew)
{
    holds("scenario a\nmain\n  wheel w\n  timer w t 5\n  check wheel w storage >=1\n  wheel w\n"
          "  check wheel w live 0\n  destroy-wheel w\n  wheel w start 5s\n  timer w t 1\n"
          "  collect w 5s = t\nend\n");
    fails_at("scenario a\nmain\n  wheel w\n  destroy-wheel w\n  timer w t 5\nend\n", 5,
             "the wheel 'w' was not made yet");
}

ASX_TEST(an_eviction_that_differs_is_told)
{
    fails_at("scenario a\nmain\n  channel root ch 1\n  evict ch 1 = 7\nend\n", 4,
             "evict: evicted nothing");
    fails_at("scenario a\nmain\n  channel root ch 1\n  send ch 5\n  evict ch 1 = none\nend\n", 5,
             "evict: evicted 5, expected none");
}

ASX_TEST(a_shutdown_from_inside_is_a_request)
{
    holds("scenario a\nmode both\nbody w\n  sleep 1h -> ASX_E_CANCELLED\n"
          "  check self kind Shutdown\nend\nmain\n  spawn root w as t\n  yield\n  shutdown\n"
          "  join t -> ASX_E_CANCELLED\n  check self kind Shutdown\nend\n"
          "expect result ASX_E_CANCELLED\nexpect outcome t Cancelled\n");
}

ASX_TEST(an_awaited_check_lets_others_go_on_until_it_holds)
{
    holds("scenario a\nvehicle both\nmode both\nbody s\n  yield\n  yield\n  send ch 1\nend\n"
          "body r\n  await channel ch queued 1\n  recv ch = 1\nend\n"
          "main\n  open r\n  channel r ch 1\n  spawn r s\n  spawn r r\n  close r\nend\n");
    fails_at("scenario a\nmain\n  open r\n  channel r ch 1\n  await channel ch queued 1\nend\n", 5,
             "check channel: queued is 0, expected 1");
    /* A cancel ends the awaiting. */
    holds("scenario a\nvehicle both\nbody w\n  await channel ch queued 9 -> any\n"
          "  checkpoint -> ASX_E_CANCELLED\nend\nmain\n  open r policy collect\n"
          "  channel r ch 1\n  spawn r w as t\n  yield\n  cancel task t\n"
          "  join t outcome Cancelled\n  close r\nend\n");
}

ASX_TEST(to_settle_is_to_let_everybody_come_to_a_wait)
{
    holds("scenario a\nvehicle both\nmode both\nbody w\n  repeat 5\n    yield\n  end\n"
          "  recv ch = 1\nend\nmain\n  open r\n  channel r ch 1\n  spawn r w\n  settle\n"
          "  check channel ch receiver-waits yes\n  send ch 1\n  close r\nend\n");
    fails_at("scenario a\nbody w\n  repeat\n    yield -> return\n  end\nend\nmain\n"
             "  open r policy collect\n  spawn r w as t\n  settle\nend\n",
             10, "settle: t does not wait");
}

/* ---- several workers ---- */

static scn_result run_on(const char *text, uint32_t workers, const char **ret_alone)
{
    scn s;
    scn_error error;
    scn_result result = { .passed = true };
    if (scn_parse("f", 1, text, strlen(text), &s, &error) < 0)
        asx_test_fail(__FILE__, __LINE__, "%s", error.text);
    *ret_alone = scn_for_one_worker(&s) == NULL ? "" : "alone";
    if (**ret_alone == '\0')
        CHECK_STATUS(scn_run_workers(&s, workers, &result), ASX_OK);
    scn_deinit(&s);
    return result;
}

ASX_TEST(a_live_scenario_runs_on_several_workers)
{
    const char *alone;
    scn_result result = run_on("scenario a\nvehicle both\nmode both\nbody w n\n  send ch $n\nend\n"
                               "main\n  open r\n  channel r ch 1\n  for i 1 20\n    spawn r w($i)\n"
                               "  end\n  repeat 20\n    recv ch\n  end\n  close r\nend\n"
                               "expect count 20 channel-send\nexpect count 20 channel-recv\n",
                               4, &alone);
    CHECK_STR_EQ(alone, "");
    CHECK(result.passed);
    result = run_on("scenario a\nmode both\nmain\n  open r\n  close r -> ASX_E_FULL\nend\n", 3,
                    &alone);
    CHECK(!result.passed);
    CHECK_EQ(result.line, 5);
    CHECK(strstr(result.why, "3 workers") != NULL);
}

ASX_TEST(what_is_for_one_worker_says_why)
{
    static const char *const texts[] = {
        "scenario a\nmain\nend\n",
        "scenario a\nmode both\nworkers one of its order\nmain\nend\n",
        "scenario a\nmode both\nconfig memory 1000000\nmain\nend\n",
        "scenario a\nmode both\nconfig clock virtual\nmain\nend\n",
        "scenario a\nmode both\nmain\nend\nexpect replay\n",
    };
    const char *alone;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        (void)run_on(texts[i], 2, &alone);
        CHECK_STR_EQ(alone, "alone");
    }
}
