/* test_model.c - the wheel against a sorted list that does the same in the plainest way.
 *
 * Random operations on both; after each, everything that can be seen must be equal, and from time
 * to time the wheel is walked through. The seed is printed by the failing check.
 */
#include "wheel_kit.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
    asx_time deadline;
    uint64_t serial;
    asx_timer_handle handle;
} entry;

/* Pending timers by (deadline, serial). */
typedef struct model {
    entry *list;
    size_t count;
    size_t room;
    asx_time now;
    uint64_t serial;
    uint64_t window;
    uint64_t min_group;
    uint64_t max_timer;
    uint64_t max_timers;
} model;

typedef struct run {
    uint64_t seed; /* for reports */
    uint64_t random;
    asx_timer_wheel *wheel;
    model model;
    asx_timer_handle stale[64];
    size_t stale_count;
    uint64_t stride; /* of time, in most collections */
    uint64_t fired;
    uint64_t held;
    uint64_t pending_sum;
} run;

#define SAME(run_, expr_)                                                                    \
    ((expr_) ? (void)0                                                                       \
             : asx_test_fail(__FILE__, __LINE__, "seed %llu: %s",                            \
                             (unsigned long long)(run_)->seed, #expr_))

static asx_time model_boundary(const model *m, asx_time deadline)
{
    asx_time boundary = deadline / m->window * m->window;
    if (boundary == deadline)
        return deadline;
    return boundary > UINT64_MAX - m->window ? deadline : boundary + m->window;
}

static bool model_waits(const model *m)
{
    if (m->window == 0)
        return false;
    asx_time boundary = model_boundary(m, m->list[0].deadline);
    uint64_t group = 0;
    for (size_t i = 0; i < m->count && m->list[i].deadline <= boundary; i++)
        group += model_boundary(m, m->list[i].deadline) == boundary;
    return group >= m->min_group;
}

static asx_time model_next(const model *m)
{
    if (m->count == 0)
        return ASX_TIME_NEVER;
    return model_waits(m) ? model_boundary(m, m->list[0].deadline) : m->list[0].deadline;
}

static bool model_due(const model *m)
{
    if (m->count == 0 || m->list[0].deadline > m->now)
        return false;
    return !model_waits(m) || model_boundary(m, m->list[0].deadline) <= m->now;
}

static void model_insert(model *m, entry e)
{
    CHECK(m->count < m->room);
    size_t low = 0;
    size_t high = m->count; /* behind all that are not later: its serial is the largest */
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (m->list[middle].deadline <= e.deadline)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&m->list[low + 1], &m->list[low], (m->count - low) * sizeof e);
    m->list[low] = e;
    m->count++;
}

static entry model_remove(model *m, size_t i)
{
    entry e = m->list[i];
    m->count--;
    memmove(&m->list[i], &m->list[i + 1], (m->count - i) * sizeof e);
    return e;
}

static uint64_t pick(run *r, uint64_t n)
{
    return kit_random(&r->random) % n;
}

/* Distances for every place in the wheel, their borders more often than chance would. */
static uint64_t pick_distance(run *r)
{
    static const uint64_t scale[] = { 10, ASX_MS, 20 * ASX_MS, 300 * ASX_MS, 70 * ASX_SEC,
                                      5 * KIT_HOUR, 26 * KIT_HOUR, 8 * KIT_DAY };
    uint64_t distance = pick(r, scale[pick(r, sizeof scale / sizeof *scale)]);
    switch (pick(r, 6)) {
    case 0:
        return distance / ASX_MS * ASX_MS;
    case 1:
        return (ASX_MS << (8 * pick(r, 5))) - 1 + pick(r, 3);
    default:
        return distance;
    }
}

static asx_time pick_deadline(run *r)
{
    asx_time now = r->model.now;
    if (r->model.count > 0 && pick(r, 6) == 0) /* one that is there already */
        return r->model.list[pick(r, r->model.count)].deadline;
    uint64_t distance = pick_distance(r);
    if (pick(r, 12) == 0)
        return now > distance ? now - distance : 0;
    return asx_time_add(now, distance);
}

static void remember_stale(run *r, asx_timer_handle handle)
{
    r->stale[r->stale_count++ % 64] = handle;
}

static void op_register(run *r, const entry *replaces)
{
    model *m = &r->model;
    asx_time deadline = pick_deadline(r);
    asx_status expected = ASX_OK;
    if (deadline == ASX_TIME_NEVER || (deadline > m->now && deadline - m->now > m->max_timer))
        expected = ASX_E_TIMER_DURATION_EXCEEDED;
    else if (m->count - (replaces != NULL) >= m->max_timers)
        expected = ASX_E_RESOURCE_EXHAUSTED;
    entry e = { deadline, m->serial + 1, { 0, 0 } };
    asx_status st;
    if (replaces != NULL)
        st = asx_timer_update(r->wheel, &replaces->handle, deadline, kit_waker(e.serial),
                              &e.handle);
    else
        st = asx_timer_register(r->wheel, deadline, kit_waker(e.serial), &e.handle);
    SAME(r, st == expected);
    if (st < 0)
        return;
    if (replaces != NULL) {
        remember_stale(r, replaces->handle);
        model_remove(m, (size_t)(replaces - m->list));
    }
    m->serial++;
    SAME(r, asx__timer_serial(r->wheel, &e.handle) == e.serial);
    model_insert(m, e);
}

static void op_cancel(run *r)
{
    model *m = &r->model;
    if (m->count == 0 || pick(r, 8) == 0) {
        asx_timer_handle stale = r->stale[pick(r, 64)];
        SAME(r, !asx_timer_cancel(r->wheel, &stale));
        return;
    }
    size_t i = pick(r, 3) == 0 ? 0 : (size_t)pick(r, m->count); /* often the earliest */
    entry e = model_remove(m, i);
    SAME(r, asx_timer_cancel(r->wheel, &e.handle));
    SAME(r, !asx_timer_cancel(r->wheel, &e.handle));
    remember_stale(r, e.handle);
}

static void op_collect(run *r)
{
    model *m = &r->model;
    asx__timer_fired fired[40];
    asx_time now = m->now;
    switch (pick(r, 8)) {
    case 0: /* seldom far, or nothing would ever pile up */
        if (pick(r, 200) == 0 && m->count < 1000)
            now = asx_time_add(now, pick_distance(r));
        break;
    case 1: /* exactly the next, or just before it */
        if (m->count > 0 && m->list[0].deadline > now)
            now = m->list[0].deadline - pick(r, 2);
        break;
    case 2:
        now = model_next(m) == ASX_TIME_NEVER ? now : model_next(m);
        break;
    case 3: /* back */
        now = now > 1000 ? now - pick(r, 1000) : 0;
        break;
    case 4:
        now = asx_time_add(now, pick(r, r->stride));
        break;
    default:
        now = asx_time_add(now, pick(r, r->stride / 50 + 2));
        break;
    }
    if (now > m->now)
        m->now = now;
    size_t max = pick(r, 3) == 0 ? (size_t)pick(r, 4) : 40;
    size_t got = pick(r, 2) == 0 ? asx__timer_poll(r->wheel, now, fired, max)
                                 : asx__timer_collect(r->wheel, now, fired, max);
    for (size_t i = 0; i < got; i++) {
        SAME(r, model_due(m));
        entry e = model_remove(m, 0);
        SAME(r, fired[i].serial == e.serial);
        SAME(r, fired[i].deadline == e.deadline);
        SAME(r, kit_label(fired[i].waker) == e.serial);
        remember_stale(r, e.handle);
    }
    SAME(r, got == max || !model_due(m));
    SAME(r, asx__timer_wheel_now(r->wheel) == m->now);
    r->fired += got;
    r->held += m->count > 0 && m->list[0].deadline <= m->now && !model_due(m);
}

static void step(run *r, size_t target)
{
    model *m = &r->model;
    uint64_t what = pick(r, 16);
    /* Drifts towards the wanted number, and now and then to none at all. */
    bool grow = m->count < target;
    if (what < 2)
        op_collect(r);
    else if (what < 4 && m->count > 0)
        op_register(r, &m->list[pick(r, m->count)]);
    else if (what < (grow ? 12u : 7u))
        op_register(r, NULL);
    else
        op_cancel(r);
    SAME(r, asx_timer_count(r->wheel) == m->count);
    asx_timer_stats stats;
    asx_timer_wheel_stats(r->wheel, &stats);
    SAME(r, stats.live == m->count);
    SAME(r, stats.dead <= stats.live + 64);
    if (pick(r, 3) == 0)
        SAME(r, asx_timer_next_deadline(r->wheel) == model_next(m));
}

static void play(uint64_t seed, const asx_timer_config *config, size_t target, uint64_t ops,
                 uint64_t audit_every)
{
    run r = { .seed = seed, .random = seed };
    static const uint64_t strides[] = { ASX_MS, 20 * ASX_MS, ASX_SEC, 100 * ASX_SEC, KIT_HOUR };
    r.wheel = kit_create(config);
    model *m = &r.model;
    m->room = 3 * target + 1000;
    m->list = malloc(m->room * sizeof *m->list);
    CHECK(m->list != NULL);
    m->now = config->start;
    m->window = config->coalesce_window_ns;
    m->min_group = config->coalesce_min_group != 0 ? config->coalesce_min_group : 2;
    m->max_timer = config->max_timer_duration_ns != 0 ? config->max_timer_duration_ns
                                                      : 7 * KIT_DAY;
    m->max_timers = config->max_timers != 0 ? config->max_timers : UINT32_MAX;
    bool crowd = target >= 1000;
    uint64_t wanted = target < m->max_timers ? target : m->max_timers;
    for (size_t i = 0; i < 64; i++)
        r.stale[i] = (asx_timer_handle){ config->first_id + pick(&r, 200), pick(&r, 1000) + 5000 };
    for (uint64_t i = 0; i < ops; i++) {
        /* A crowd needs time to gather; else the wheel is let run empty now and then. */
        bool leave = crowd ? i > ops / 4 * 3 : i / 4096 % 4 == 3;
        r.stride = crowd ? ASX_MS : strides[i / 1024 % 5];
        r.pending_sum += m->count;
        step(&r, leave ? 0 : target);
        if (i % audit_every == 0)
            SAME(&r, asx__timer_wheel_is_valid(r.wheel));
    }
    while (m->count > 0) {
        asx__timer_fired fired[1];
        m->now = asx_time_add(m->now, KIT_DAY);
        while (model_due(m)) {
            SAME(&r, asx__timer_collect(r.wheel, m->now, fired, 1) == 1);
            SAME(&r, fired[0].serial == model_remove(m, 0).serial);
        }
    }
    SAME(&r, asx_timer_count(r.wheel) == 0);
    SAME(&r, r.fired > ops / 100);
    SAME(&r, r.pending_sum > ops * wanted / 4); /* the run was about something */
    SAME(&r, m->window < ASX_MS || r.held > 0);
    free(m->list);
    asx_timer_wheel_destroy(r.wheel);
}

static uint64_t operations(uint64_t n)
{
    return n / asx_test_scale();
}

ASX_TEST_TIMEOUT(wheel_does_what_a_sorted_list_does, 60)
{
    for (uint64_t seed = 1; seed <= 8; seed++) {
        asx_timer_config config = { .start = seed % 2 == 0 ? 0 : seed * 987654321 };
        play(seed, &config, 20 * seed, operations(60000), 16);
    }
}

ASX_TEST_TIMEOUT(wheel_does_what_a_sorted_list_does_across_the_wrap, 60)
{
    for (uint64_t seed = 11; seed <= 14; seed++) {
        asx_timer_config config = { .first_generation = UINT64_MAX - 3000,
                                    .first_id = UINT64_MAX - 17 };
        play(seed, &config, 100, operations(50000), 16);
    }
}

ASX_TEST_TIMEOUT(wheel_does_what_a_sorted_list_does_with_short_ranges, 60)
{
    static const uint64_t ranges[] = { 1, 500000, 3 * ASX_MS, 300 * ASX_MS, 2 * ASX_SEC,
                                       KIT_HOUR };
    for (uint64_t i = 0; i < 6; i++) {
        asx_timer_config config = { .start = 123456,
                                    .max_wheel_duration_ns = ranges[i],
                                    .max_timer_duration_ns = i % 2 == 0 ? 0 : KIT_DAY };
        play(21 + i, &config, 60, operations(40000), 16);
    }
}

ASX_TEST_TIMEOUT(wheel_does_what_a_sorted_list_does_with_long_ranges, 60)
{
    for (uint64_t seed = 31; seed <= 34; seed++) {
        asx_timer_config config = { .start = seed * KIT_DAY + 1,
                                    .max_wheel_duration_ns = UINT64_MAX,
                                    .max_timer_duration_ns = UINT64_MAX };
        play(seed, &config, 80, operations(40000), 16);
    }
}

ASX_TEST_TIMEOUT(wheel_does_what_a_sorted_list_does_under_a_ceiling, 60)
{
    for (uint64_t seed = 41; seed <= 44; seed++) {
        asx_timer_config config = { .max_timers = seed - 38 };
        play(seed, &config, 10, operations(40000), 16);
    }
}

ASX_TEST_TIMEOUT(wheel_does_what_a_sorted_list_does_with_coalescing, 120)
{
    static const uint64_t windows[] = { 7, ASX_MS, 7 * ASX_MS, 250 * ASX_MS, 3 * ASX_SEC,
                                        2 * KIT_HOUR, 2 * KIT_DAY };
    for (uint64_t i = 0; i < 21; i++) {
        asx_timer_config config = { .start = i,
                                    .coalesce_window_ns = windows[i % 7],
                                    .coalesce_min_group = (uint32_t)(i / 7 * 2),
                                    .max_wheel_duration_ns = i % 4 == 3 ? 100 * ASX_MS : 0,
                                    .first_generation = i % 5 == 4 ? UINT64_MAX - 100 : 0 };
        play(51 + i, &config, 50, operations(20000), 16);
    }
}

/* Thousands of entries: segments, chunks, sweeps in bulk, runs that must be sorted. */
ASX_TEST_TIMEOUT(wheel_does_what_a_sorted_list_does_with_a_crowd, 120)
{
    /* Fewer operations gather a smaller crowd; play() calls it one from 1000 on. */
    size_t crowd = asx_test_scale() < 4 ? 4000 / asx_test_scale() : 1000;
    for (uint64_t seed = 81; seed <= 83; seed++) {
        asx_timer_config config = { .start = seed,
                                    .coalesce_window_ns = seed == 83 ? 50 * ASX_MS : 0 };
        play(seed, &config, crowd, operations(200000), 4001);
    }
}
