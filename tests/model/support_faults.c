/* What tests ask of the explorer: that a program holds, that it breaks, faults at sites. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__MODEL_LOCKS
#include "base/atomic.h"

#include <string.h>
#include <time.h>

#include "fiber/fiber.h"
#include "harness.h"

/* Under a sanitizer or an emulator each execution costs many times as much, and the model shows
 * nothing that it does not show elsewhere: there, explorations are cut off after so many, what is
 * found later is not asked for, and orders are not weakened. */
#define EXECUTIONS_WHEN_SLOW 3000
/* Enough to come to every site. */
#define EXECUTIONS_OF_A_VISIT 300

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_slow(void)
{
    return ASX__FIBER_ASAN || ASX__FIBER_TSAN || asx_test_scale() > 1;
}

static model_program cut(const model_program *program)
{
    model_program p = *program;
    if (is_slow() && p.executions_max == 0)
        p.executions_max = EXECUTIONS_WHEN_SLOW;
    return p;
}

void model_holds(const model_program *program)
{
    static model_result r;
    double before = seconds();
    model_program p = cut(program);
    model_explore(&p, &r);
    if (r.failed)
        model_shrink(&p, &r);
    if (r.failed)
        (void)fprintf(stderr, "%sschedule: %s\n", r.trace, r.schedule);
    printf("   %s: %llu executions of %llu classes, up to %llu steps, %s, %.2f s\n", program->name,
           (unsigned long long)r.executions, (unsigned long long)r.classes,
           (unsigned long long)r.steps, r.failed ? r.why : r.complete ? "all" : "not all",
           seconds() - before);
    if (r.failed)
        asx_test_fail(__FILE__, __LINE__, "%s: %s", program->name, r.why);
    if (!r.complete && !is_slow())
        asx_test_fail(__FILE__, __LINE__, "%s: not everything was explored", program->name);
}

void model_visit(const model_program *program)
{
    static model_result r;
    model_program p = *program;
    p.executions_max = EXECUTIONS_OF_A_VISIT;
    model_explore(&p, &r);
    if (r.failed)
        asx_test_fail(__FILE__, __LINE__, "%s: %s", program->name, r.why);
}

/* What was found is shown again by its schedule. */
static void show_again(const model_program *program, const model_result *found)
{
    static model_result again;
    model_replay(program, found->schedule, &again);
    if (!again.failed || strcmp(again.why, found->why) != 0)
        asx_test_fail(__FILE__, __LINE__, "%s: the schedule shows %s instead of %s", program->name,
                      again.failed ? again.why : "nothing", found->why);
}

void model_breaks(const model_program *program, const char *fault)
{
    static model_result r;
    double before = seconds();
    model_program p = cut(program);
    model_explore(&p, &r);
    printf("   %s, %s: %s after %llu executions, %.2f s\n", program->name, fault,
           r.failed ? r.why : "not found", (unsigned long long)r.executions, seconds() - before);
    if (!r.failed && (r.complete || !is_slow()))
        asx_test_fail(__FILE__, __LINE__, "%s: %s was not found", program->name, fault);
    if (r.failed)
        show_again(&p, &r);
}

/* ---- faults --------------------------------------------------------------------------------- */

static const char *order_name(memory_order mo)
{
    switch (mo) {
    case memory_order_relaxed:
        return "relaxed";
    case memory_order_acquire:
        return "acquire";
    case memory_order_release:
        return "release";
    case memory_order_acq_rel:
        return "acq_rel";
    default:
        return "seq_cst";
    }
}

static model_site *find_site(const char *function, const char *object)
{
    char name[160];
    for (model_site *s = model_sites(); s != NULL; s = s->next) {
        (void)snprintf(name, sizeof name, "%s %s", s->kind, s->object);
        if (strcmp(s->function, function) == 0 && strcmp(name, object) == 0)
            return s;
    }
    asx_test_fail(__FILE__, __LINE__, "no access to %s in %s was made", object, function);
}

void model_heal(void)
{
    for (model_site *s = model_sites(); s != NULL; s = s->next)
        s->is_weakened = s->torn = s->skipped = s->pretends = s->blind = false;
}

void model_plant(enum model_fault fault, const char *function, const char *object, uint64_t value)
{
    model_site *s = find_site(function, object);
    switch (fault) {
    case MODEL_WEAKEN:
        s->is_weakened = true;
        s->weakened = (memory_order)value;
        break;
    case MODEL_TEAR:
        s->torn = true;
        break;
    case MODEL_BLIND:
        s->blind = true;
        break;
    case MODEL_SKIP:
        s->skipped = true;
        break;
    case MODEL_PRETEND:
        s->pretends = true;
        s->pretended = value;
        break;
    }
}

/* The next weaker ones; 0, 1 or 2 of them. */
static uint32_t weaker(const model_site *s, memory_order *ret_orders)
{
    if (strstr(s->kind, "lock") != NULL)
        return 0; /* they are what they are */
    bool load = strcmp(s->kind, "load") == 0;
    bool store = strcmp(s->kind, "store") == 0;
    switch (s->order) {
    case memory_order_relaxed:
        return 0;
    case memory_order_seq_cst:
        ret_orders[0] = load ? memory_order_acquire
                             : store ? memory_order_release : memory_order_acq_rel;
        return 1;
    case memory_order_acq_rel:
        ret_orders[0] = memory_order_acquire;
        ret_orders[1] = memory_order_release;
        return 2;
    default:
        ret_orders[0] = memory_order_relaxed;
        return 1;
    }
}

static bool is_spared(const model_site *s, memory_order to, const char *const *spared)
{
    char name[160];
    (void)snprintf(name, sizeof name, "%s: %s %s %s", s->function, s->kind, s->object,
                   order_name(to));
    for (; spared != NULL && *spared != NULL; spared++)
        if (strcmp(*spared, name) == 0)
            return true;
    return false;
}

void model_weaken_all(const model_program *const *programs, const char *file,
                      const char *const *spared)
{
    static model_result r;
    unsigned found = 0, wrong = 0;
    if (is_slow())
        return;
    for (model_site *s = model_sites(); s != NULL; s = s->next) {
        memory_order orders[2];
        uint32_t n = strstr(s->file, file) != NULL ? weaker(s, orders) : 0;
        for (uint32_t i = 0; i < n; i++) {
            bool spare = is_spared(s, orders[i], spared);
            s->is_weakened = true;
            s->weakened = orders[i];
            r.failed = false;
            for (uint32_t k = 0; programs[k] != NULL && !r.failed; k++) {
                model_explore(programs[k], &r);
                if (r.failed)
                    show_again(programs[k], &r);
            }
            printf("   %s: %s %s, %s instead of %s: %s%s\n", s->function, s->kind, s->object,
                   order_name(orders[i]), order_name(s->order), r.failed ? r.why : "not found",
                   spare ? " (spared)" : "");
            s->is_weakened = false;
            found += r.failed;
            wrong += r.failed == spare;
        }
    }
    printf("   %u weakened orders found\n", found);
    CHECK(found > 0);
    CHECK_EQ(wrong, 0u);
}
