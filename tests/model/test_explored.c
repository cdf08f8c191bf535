/* That it is the laboratory which explores model atomics: its counts, its schedules, its smaller
 * failures; and that the answers of weak memory leave out nothing that every interleaving with
 * every answer would show, on random programs. */
#define ASX__MODEL_ATOMICS "model/model.h"
#define ASX__LOCK_SPINS_MAX 1u
#include "base/atomic.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "harness.h"

#define CELLS 3
#define STEPS 4

static asx__atomic_u32 cells[CELLS];

static void clear(void)
{
    for (unsigned i = 0; i < CELLS; i++)
        asx__atomic_init(&cells[i], 0u);
}

/* ---- published programs --------------------------------------------------------------------- */

static void write_42(void)
{
    asx__store_seq_cst(&cells[0], 42u);
}

static void read_it(void)
{
    (void)asx__load_seq_cst(&cells[0]);
}

static void rotate(void)
{
    uint32_t expected = model_self();
    (void)asx__cas_seq_cst(&cells[0], &expected, model_self() + 1);
}

static unsigned rounds;

static void add_j_to_i(void)
{
    for (unsigned k = 0; k < rounds; k++) {
        uint32_t i = asx__load_seq_cst(&cells[0]);
        asx__store_seq_cst(&cells[0], i + asx__load_seq_cst(&cells[1]));
    }
}

static void add_i_to_j(void)
{
    for (unsigned k = 0; k < rounds; k++) {
        uint32_t j = asx__load_seq_cst(&cells[1]);
        asx__store_seq_cst(&cells[1], j + asx__load_seq_cst(&cells[0]));
    }
}

static void load_both(void)
{
    (void)asx__load_seq_cst(&cells[0]);
    (void)asx__load_seq_cst(&cells[1]);
}

static void if_not_y(void)
{
    if (asx__load_seq_cst(&cells[1]) == 0)
        asx__store_seq_cst(&cells[2], 1u);
}

static void if_z_and_not_y(void)
{
    if (asx__load_seq_cst(&cells[2]) != 0 && asx__load_seq_cst(&cells[1]) == 0)
        asx__store_seq_cst(&cells[0], 2u);
}

static void write_y(void)
{
    asx__store_seq_cst(&cells[1], 1u);
}

static void has_classes(const model_program *p, uint64_t classes)
{
    static model_result r;
    model_explore(p, &r);
    printf("   %s: %llu executions, %llu redundant, %llu blocked\n", p->name,
           (unsigned long long)r.executions, (unsigned long long)r.redundant,
           (unsigned long long)r.blocked);
    CHECK(!r.failed);
    CHECK(r.complete);
    CHECK_EQ(r.executions, classes);
    CHECK_EQ(r.redundant, 0u);
    CHECK_EQ(r.blocked, 0u);
}

ASX_TEST(under_sequential_consistency_the_counts_are_those_of_the_published_programs)
{
    model_program p = { .threads = 4, .setup = clear, .preemptions = MODEL_ALL };
    static const uint64_t casrot[] = { 2, 5, 14 }, fib[] = { 11, 140, 1698 };
    p.name = "readers(3)";
    memcpy(p.thread, (void (*[4])(void)){ write_42, read_it, read_it, read_it }, sizeof p.thread);
    has_classes(&p, 8);
    p.name = "four of two cells and a third";
    memcpy(p.thread, (void (*[4])(void)){ write_42, write_y, if_not_y, if_z_and_not_y },
           sizeof p.thread);
    has_classes(&p, 5);
    memcpy(p.thread, (void (*[4])(void)){ rotate, rotate, rotate, rotate }, sizeof p.thread);
    for (p.threads = 2; p.threads <= 4; p.threads++) {
        p.name = "casrot";
        has_classes(&p, casrot[p.threads - 2]);
    }
    memcpy(p.thread, (void (*[4])(void)){ add_j_to_i, add_i_to_j, load_both }, sizeof p.thread);
    p.threads = 3;
    for (rounds = 1; rounds <= 3; rounds++) {
        p.name = "fib";
        has_classes(&p, fib[rounds - 1]);
    }
}

/* ---- nothing is left out -------------------------------------------------------------------- */

/* An instruction; what it found is part of the outcome. */
enum { LOAD, STORE, ADD, CAS, FENCE, WAIT, WAKE };

typedef struct instruction {
    unsigned kind, cell, order;
    uint32_t value;
} instruction;

static instruction code[3][STEPS];
static unsigned lengths[3];
static uint32_t found[3][STEPS];
static unsigned threads;
static uint64_t outcomes[2][4096]; /* sets, by hash */
static unsigned outcome_count[2], which;

static uint32_t load(const instruction *i)
{
    asx__atomic_u32 *cell = &cells[i->cell];
    return i->order == 0   ? asx__load_relaxed(cell)
           : i->order == 1 ? asx__load_acquire(cell)
                           : asx__load_seq_cst(cell);
}

static void store(const instruction *i)
{
    asx__atomic_u32 *cell = &cells[i->cell];
    if (i->order == 0)
        asx__store_relaxed(cell, i->value);
    else if (i->order == 1)
        asx__store_release(cell, i->value);
    else
        asx__store_seq_cst(cell, i->value);
}

static uint32_t execute(const instruction *i)
{
    uint32_t expected = i->value - 1;
    switch (i->kind) {
    case LOAD:
        return load(i);
    case STORE:
        store(i);
        return 0;
    case ADD:
        return i->order == 2 ? asx__fetch_add_seq_cst(&cells[i->cell], i->value)
                             : asx__fetch_add_relaxed(&cells[i->cell], i->value);
    case CAS:
        (void)asx__cas_acq_rel(&cells[i->cell], &expected, i->value);
        return expected;
    case WAIT:
        return asx__futex_wait(&cells[i->cell], i->value, 1);
    case WAKE:
        asx__futex_wake(&cells[i->cell], i->value);
        return 0;
    default:
        asx__fence_seq_cst();
        return 0;
    }
}

static void run_code(void)
{
    unsigned self = model_self();
    for (unsigned i = 0; i < lengths[self]; i++)
        found[self][i] = execute(&code[self][i]);
}

static void note_outcome(void)
{
    uint64_t sum = 1469598103934665603u;
    for (unsigned t = 0; t < threads; t++)
        for (unsigned i = 0; i < lengths[t]; i++)
            sum = (sum ^ found[t][i]) * 1099511628211u + 1;
    for (unsigned c = 0; c < CELLS; c++)
        sum = (sum ^ asx__load_relaxed(&cells[c])) * 1099511628211u + 1;
    for (unsigned i = 0; i < outcome_count[which]; i++)
        if (outcomes[which][i] == sum)
            return;
    MODEL_ASSERT(outcome_count[which] < 4096);
    outcomes[which][outcome_count[which]++] = sum;
}

static unsigned draw(asx__rng *rng, unsigned below)
{
    return (unsigned)asx__rng_below(rng, below);
}

/* Every second without anything that is sequentially consistent. */
static void make_code(asx__rng *rng)
{
    bool strong = draw(rng, 2) == 0;
    threads = 2 + draw(rng, 2);
    for (unsigned t = 0; t < threads; t++) {
        lengths[t] = 1 + draw(rng, threads == 2 ? STEPS : 2);
        for (unsigned i = 0; i < lengths[t]; i++) {
            unsigned kind = draw(rng, 8);
            code[t][i] = (instruction){
                kind < 3 ? LOAD : kind < 6 ? STORE : 2 + draw(rng, strong ? 3 : 2),
                draw(rng, 2), draw(rng, strong ? 3 : 2), 1 + draw(rng, 3) };
        }
    }
}

static bool has_all(unsigned of, unsigned in)
{
    for (unsigned i = 0; i < outcome_count[of]; i++) {
        unsigned k = 0;
        while (k < outcome_count[in] && outcomes[in][k] != outcomes[of][i])
            k++;
        if (k == outcome_count[in])
            return false;
    }
    return true;
}

ASX_TEST_TIMEOUT(optimal_search_with_old_values_sees_what_all_interleavings_see, 60)
{
    static model_result r;
    asx__rng rng;
    uint64_t executions[2] = { 0, 0 }, classes[2];
    unsigned programs = asx_test_scale() > 1 ? 20 : 600;
    asx__rng_seed(&rng, 20);
    for (unsigned n = 0; n < programs; n++) {
        make_code(&rng);
        for (which = 0; which < 2; which++) {
            model_program p = { .name = "random", .threads = threads, .setup = clear,
                                .thread = { run_code, run_code, run_code }, .check = note_outcome,
                                .preemptions = which == 0 ? MODEL_ALL : 99, .delays = 1 + n % 3 };
            outcome_count[which] = 0;
            model_explore(&p, &r);
            CHECK(!r.failed);
            CHECK(r.complete);
            if (which == 0)
                CHECK_EQ(r.blocked + r.redundant, 0u);
            executions[which] += r.executions;
            classes[which] = r.classes;
        }
        CHECK_EQ(classes[0], classes[1]);
        CHECK(has_all(1, 0));
        CHECK(has_all(0, 1));
    }
    printf("   %u programs: %llu executions instead of %llu\n", programs,
           (unsigned long long)executions[0], (unsigned long long)executions[1]);
    CHECK(executions[0] < executions[1]);
}

/* All of it, with as many old values as there can be. */
static void is_like_brute_force(void)
{
    static model_result r[2];
    for (which = 0; which < 2; which++) {
        model_program p = { .name = "fixed", .threads = threads, .setup = clear,
                            .thread = { run_code, run_code, run_code }, .check = note_outcome,
                            .preemptions = which == 0 ? MODEL_ALL : 99, .delays = 20 };
        outcome_count[which] = 0;
        model_explore(&p, &r[which]);
        CHECK(!r[which].failed);
        CHECK(r[which].complete);
    }
    printf("   %llu classes of %llu interleavings\n", (unsigned long long)r[0].classes,
           (unsigned long long)r[1].executions);
    CHECK_EQ(r[0].redundant + r[0].blocked, 0u);
    CHECK_EQ(r[0].classes, r[1].classes);
    CHECK(has_all(1, 0));
    CHECK(has_all(0, 1));
}

/* What goes with another answer is all that comes beside the access, also what comes there only in
 * a later execution. */
ASX_TEST_TIMEOUT(another_answer_is_tried_with_each_of_what_comes_beside_it, 60)
{
    threads = 3;
    memcpy(code, (instruction[3][STEPS]){
        { { STORE, 1, 2, 2 }, { STORE, 0, 1, 3 }, { LOAD, 1, 0, 0 } },
        { { STORE, 1, 0, 1 }, { STORE, 0, 0, 3 }, { STORE, 0, 0, 2 } },
        { { LOAD, 0, 0, 0 } },
    }, sizeof code);
    memcpy(lengths, (unsigned[3]){ 3, 3, 1 }, sizeof lengths);
    is_like_brute_force();
    memcpy(code, (instruction[3][STEPS]){
        { { CAS, 1, 0, 1 }, { STORE, 1, 2, 3 } },
        { { LOAD, 1, 2, 0 } },
        { { LOAD, 1, 1, 0 }, { LOAD, 1, 0, 0 }, { STORE, 1, 2, 1 } },
    }, sizeof code);
    memcpy(lengths, (unsigned[3]){ 2, 1, 3 }, sizeof lengths);
    is_like_brute_force();
}

/* ---- waiting --------------------------------------------------------------------------------- */

static asx__lock lock;

static void clear_lock(void)
{
    clear();
    asx__lock_init(&lock);
}

static void take_turns(void)
{
    asx__lock_take(&lock);
    asx__store_relaxed(&cells[0], asx__load_relaxed(&cells[0]) + 1);
    asx__lock_drop(&lock);
}

static void sleep_on_it(void)
{
    while (asx__load_acquire(&cells[0]) == 0)
        (void)asx__futex_wait(&cells[0], 0, ASX__FUTEX_FOREVER);
}

static void spin_on_it(void)
{
    while (asx__load_acquire(&cells[0]) == 0)
        asx__cpu_relax();
}

static void wake_one(void)
{
    (void)asx__fetch_add_release(&cells[0], 1u);
    asx__futex_wake(&cells[0], 1);
}

static void wake_all(void)
{
    asx__store_release(&cells[0], 1u);
    asx__futex_wake(&cells[0], UINT32_MAX);
}

static unsigned number_in(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? (unsigned)strtoul(text, NULL, 10) : otherwise;
}

/* Accesses of two words, waits for them that may be late, and wakes. */
static void make_waits(asx__rng *rng)
{
    threads = 2 + draw(rng, 2);
    for (unsigned t = 0; t < threads; t++) {
        lengths[t] = 1 + draw(rng, threads == 2 ? STEPS : 3);
        for (unsigned i = 0; i < lengths[t]; i++) {
            static const unsigned kinds[] = { LOAD, STORE, ADD, WAIT, WAIT, WAKE, WAKE };
            unsigned kind = kinds[draw(rng, sizeof kinds / sizeof *kinds)];
            uint32_t value = kind == WAIT ? draw(rng, 2) : 1 + draw(rng, 2);
            code[t][i] = (instruction){ kind, draw(rng, 4) == 0, draw(rng, 3), value };
        }
    }
}

static void print_code(void)
{
    static const char *const names[] = { "load", "store", "add", "cas", "fence", "wait", "wake" };
    for (unsigned t = 0; t < threads; t++) {
        printf("   %u:", t);
        for (unsigned i = 0; i < lengths[t]; i++)
            printf(" %s(%u, %u)", names[code[t][i].kind], code[t][i].cell, code[t][i].value);
        printf("\n");
    }
}

/* ASX_WAITS_SEED and ASX_WAITS_PROGRAMS: others, and more of them. */
ASX_TEST_TIMEOUT(waits_that_may_be_late_have_as_many_classes_as_brute_force_counts, 60)
{
    static model_result r[2];
    asx__rng rng;
    unsigned programs = number_in("ASX_WAITS_PROGRAMS", asx_test_scale() > 1 ? 20 : 300);
    asx__rng_seed(&rng, number_in("ASX_WAITS_SEED", 1));
    for (unsigned n = 0; n < programs; n++) {
        make_waits(&rng);
        for (which = 0; which < 2; which++) {
            model_program p = { .name = "waits", .threads = threads, .setup = clear,
                                .thread = { run_code, run_code, run_code }, .check = note_outcome,
                                .preemptions = which == 0 ? MODEL_ALL : 99, .delays = n % 3 };
            outcome_count[which] = 0;
            model_explore(&p, &r[which]);
            CHECK(!r[which].failed);
            CHECK(r[which].complete);
        }
        bool good = r[0].classes == r[1].classes && r[0].redundant + r[0].blocked == 0 &&
                    has_all(1, 0) && has_all(0, 1);
        if (!good) {
            printf("   program %u: %llu classes instead of %llu, %llu redundant\n", n,
                   (unsigned long long)r[0].classes, (unsigned long long)r[1].classes,
                   (unsigned long long)r[0].redundant);
            print_code();
        }
        CHECK(good);
    }
}

ASX_TEST_TIMEOUT(who_waits_has_as_many_classes_as_brute_force_counts, 60)
{
    static const struct {
        const char *name;
        void (*thread[MODEL_THREADS_MAX])(void);
        unsigned threads, delays;
    } rows[] = {
        { "two at a lock", { take_turns, take_turns }, 2, 0 },
        { "two at a lock, old values", { take_turns, take_turns }, 2, 2 },
        { "two sleep, two wake one each", { sleep_on_it, sleep_on_it, wake_one, wake_one }, 4, 0 },
        { "two sleep, one wakes all", { sleep_on_it, sleep_on_it, wake_all }, 3, 1 },
        { "two spin", { spin_on_it, spin_on_it, wake_all }, 3, 0 },
        { "one sleeps, one spins", { sleep_on_it, spin_on_it, wake_all }, 3, 1 },
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        static model_result r[2];
        for (unsigned k = 0; k < 2; k++) {
            model_program p = { .name = rows[i].name, .threads = rows[i].threads,
                                .setup = clear_lock, .preemptions = k == 0 ? MODEL_ALL : 99,
                                .delays = rows[i].delays };
            memcpy(p.thread, rows[i].thread, sizeof p.thread);
            model_explore(&p, &r[k]);
            CHECK(!r[k].failed);
            CHECK(r[k].complete);
        }
        printf("   %s: %llu classes of %llu interleavings\n", rows[i].name,
               (unsigned long long)r[0].classes, (unsigned long long)r[1].executions);
        CHECK_EQ(r[0].redundant + r[0].blocked, 0u);
        CHECK_EQ(r[0].classes, r[1].classes);
    }
}

/* ---- what failed ---------------------------------------------------------------------------- */

static void idle_steps(void)
{
    for (unsigned i = 0; i < 3; i++)
        (void)asx__load_relaxed(&cells[2]);
}

static void send_late(void)
{
    idle_steps();
    asx__store_relaxed(&cells[0], 7u);
    asx__store_relaxed(&cells[1], 1u);
    idle_steps();
}

static void receive(void)
{
    idle_steps();
    if (asx__load_acquire(&cells[1]) == 1)
        MODEL_ASSERT(asx__load_relaxed(&cells[0]) == 7);
}

ASX_TEST(a_failure_is_shrunk_shown_with_its_lines_and_runs_again)
{
    static model_result r, again;
    model_program p = { .name = "message", .threads = 3, .setup = clear,
                        .thread = { idle_steps, send_late, receive }, .preemptions = MODEL_ALL,
                        .delays = 2 };
    model_explore(&p, &r);
    CHECK(r.failed);
    uint64_t before = r.failed_at;
    model_shrink(&p, &r);
    printf("%s%s\n", r.trace, r.schedule);
    CHECK(r.failed_at <= before);
    CHECK(strstr(r.trace, "load x") != NULL);
    CHECK(strstr(r.trace, " (old)") != NULL);
    CHECK(strstr(r.trace, "receive: load &cells[0]") != NULL);
    CHECK(strstr(r.trace, "test_explored.c:") != NULL);
    CHECK(strstr(r.schedule, ":1") != NULL); /* the answer */
    model_replay(&p, r.schedule, &again);
    CHECK(again.failed);
    CHECK_STR_EQ(again.why, r.why);
    p.thread[2] = idle_steps; /* another program does not fail by it */
    model_replay(&p, "1 1 1", &again);
    CHECK(!again.failed);
}
