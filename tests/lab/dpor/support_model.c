#include "support_model.h"

#include <asx/trace.h>

#include <stdio.h>
#include <string.h>

static uint8_t below(asx__rng *rng, uint64_t n)
{
    return (uint8_t)asx__rng_below(rng, n);
}

/* What a task that is being made has open. */
typedef struct making {
    model *m;
    asx__rng *rng;
    uint32_t task;
    int held;                /* lock, or -1 */
    int reading, writing;    /* read-write lock, or -1 */
    bool dropped[MODEL_CHANNELS], closed[MODEL_CHANNELS];
} making;

static model_step *add(making *k, asx__op_kind kind)
{
    model_step *s = &k->m->code[k->task][k->m->len[k->task]++];
    *s = (model_step){ .kind = kind };
    return s;
}

static void may_skip(making *k, model_step *s)
{
    if (below(k->rng, 3) == 0) {
        s->skip = (uint8_t)(1 + below(k->rng, 2));
        s->skip_if = below(k->rng, 2);
    }
}

static void make_lock(making *k)
{
    uint8_t object = (uint8_t)(2 + below(k->rng, 2));
    model_step *s;
    if (k->held < 0 || below(k->rng, 4) == 0) {
        s = add(k, below(k->rng, 4) == 0 ? ASX__OP_TRY_LOCK : ASX__OP_LOCK);
        s->object = object;
        k->held = object;
    } else {
        s = add(k, ASX__OP_UNLOCK);
        s->object = (uint8_t)k->held;
        k->held = -1;
    }
    may_skip(k, s);
}

static void make_cell(making *k)
{
    uint8_t r = below(k->rng, 6);
    model_step *s = add(k, r < 2 ? ASX__OP_LOAD : r < 4 ? ASX__OP_STORE : r == 4 ? ASX__OP_CAS
                                                                           : ASX__OP_FETCH_ADD);
    s->object = below(k->rng, 2);
    s->a = 1;
    if (s->kind == ASX__OP_STORE || s->kind == ASX__OP_CAS)
        s->a = below(k->rng, s->kind == ASX__OP_STORE ? 3 : 2);
    s->b = (uint8_t)(1 + below(k->rng, 2));
    may_skip(k, s);
}

static void make_semaphore(making *k)
{
    model_step *s = add(k, below(k->rng, 2) ? ASX__OP_ACQUIRE : ASX__OP_RELEASE);
    s->object = 4;
    s->a = 1;
    may_skip(k, s);
}

static void make_message(making *k)
{
    static const asx__op_kind kinds[] = { ASX__OP_SEND, ASX__OP_SEND, ASX__OP_RECV, ASX__OP_RECV,
                                          ASX__OP_TRY_SEND, ASX__OP_TRY_RECV };
    model_step *s = add(k, kinds[below(k->rng, 6)]);
    s->object = below(k->rng, 3) == 0;
    may_skip(k, s);
}

/* Two phases: the second only if the first was done. */
static void make_pair(making *k)
{
    uint8_t object = below(k->rng, 3) == 0;
    bool sends = below(k->rng, 2);
    bool good = below(k->rng, 3) != 0;
    model_step *s = add(k, sends ? (below(k->rng, 3) == 0 ? ASX__OP_TRY_RESERVE : ASX__OP_RESERVE)
                                 : ASX__OP_RECV_ACK);
    s->object = object;
    s->must = true;
    s = add(k, sends ? (good ? ASX__OP_PERMIT_SEND : ASX__OP_PERMIT_ABORT)
                     : (good ? ASX__OP_ACK_COMMIT : ASX__OP_ACK_NACK));
    s->object = object;
}

static void make_endpoint(making *k)
{
    uint8_t object = below(k->rng, 3) == 0;
    uint8_t r = below(k->rng, 4);
    if (r == 0) {
        model_step *s = add(k, ASX__OP_EVICT);
        s->object = object;
    } else if (r < 3 && !k->dropped[object]) {
        add(k, ASX__OP_DROP)->object = object;
        k->dropped[object] = true;
    } else if (!k->closed[object]) {
        add(k, ASX__OP_CLOSE)->object = object;
        k->closed[object] = true;
    }
}

static void make_rwlock(making *k)
{
    uint8_t object = below(k->rng, 3) == 0;
    model_step *s;
    if (k->reading >= 0 && below(k->rng, 5) != 0) {
        s = add(k, ASX__OP_READ_UNLOCK);
        s->object = (uint8_t)k->reading;
        k->reading = -1;
    } else if (k->writing >= 0) {
        s = add(k, ASX__OP_WRITE_UNLOCK);
        s->object = (uint8_t)k->writing;
        k->writing = -1;
    } else if (below(k->rng, 5) < 3) {
        s = add(k, ASX__OP_READ_LOCK);
        s->object = object;
        k->reading = object;
    } else {
        bool requests = below(k->rng, 2);
        if (requests)
            add(k, ASX__OP_WRITE_REQUEST)->object = object;
        s = add(k, ASX__OP_WRITE_LOCK);
        s->object = object;
        s->a = requests;
        k->writing = object;
    }
}

static void make_task_step(making *k)
{
    uint8_t r = below(k->rng, 8);
    asx__op_kind kind = r < 4 ? ASX__OP_CANCEL_TASK : r < 6 ? ASX__OP_CHECKPOINT : ASX__OP_JOIN;
    uint8_t other = below(k->rng, k->m->tasks);
    if (other == k->task)
        kind = ASX__OP_CHECKPOINT;
    model_step *s = add(k, kind);
    s->object = other;
    may_skip(k, s);
}

/* a: a bit for each of those that it waits for. */
static void make_first(making *k)
{
    uint8_t others = (uint8_t)(((1u << k->m->tasks) - 1) & ~(1u << k->task));
    uint8_t some = below(k->rng, 1u << MODEL_TASKS) & others;
    model_step *s = add(k, ASX__OP_FIRST_OF);
    s->a = below(k->rng, 2) || some == 0 ? others : some;
    may_skip(k, s);
}

static void make_sleep(making *k)
{
    model_step *s = add(k, ASX__OP_SLEEP);
    s->a = (uint8_t)(1 + below(k->rng, 3));
}

typedef void make_fn(making *k);

static void make_choice(making *k)
{
    model_step *s = add(k, ASX__OP_CHOOSE);
    s->a = 2;
    may_skip(k, s);
}

static void make_step(making *k, model_flavour flavour)
{
    static make_fn *const cells[] = { make_cell };
    static make_fn *const locks[] = { make_cell, make_cell, make_cell, make_lock, make_lock,
                                      make_semaphore };
    static make_fn *const choices[] = { make_cell, make_cell, make_lock, make_lock, make_semaphore,
                                        make_choice };
    static make_fn *const sends[] = { make_message, make_message, make_message, make_cell };
    static make_fn *const channel[] = { make_message, make_message, make_pair, make_pair,
                                        make_endpoint };
    static make_fn *const rwlocks[] = { make_rwlock, make_rwlock, make_rwlock, make_cell,
                                        make_lock };
    static make_fn *const cancels[] = { make_message, make_message, make_lock, make_task_step,
                                        make_task_step, make_pair };
    static make_fn *const firsts[] = { make_first, make_first, make_cell, make_task_step };
    static make_fn *const times[] = { make_message, make_cell, make_task_step, make_sleep,
                                      make_sleep };
    static make_fn *const all[] = { make_message, make_pair, make_endpoint, make_rwlock, make_lock,
                                    make_cell, make_task_step, make_sleep, make_choice,
                                    make_semaphore, make_first };
    static const struct { make_fn *const *makes; uint64_t count; } makers[] = {
        { cells, 1 }, { locks, 6 }, { choices, 6 }, { sends, 4 }, { channel, 5 }, { rwlocks, 5 },
        { cancels, 6 }, { firsts, 4 }, { times, 5 }, { all, 11 },
    };
    makers[flavour].makes[below(k->rng, makers[flavour].count)](k);
}

static void end_task(making *k, model_flavour flavour)
{
    if (k->reading >= 0 && below(k->rng, 4) != 0)
        add(k, ASX__OP_READ_UNLOCK)->object = (uint8_t)k->reading;
    if (k->writing >= 0)
        add(k, ASX__OP_WRITE_UNLOCK)->object = (uint8_t)k->writing;
    if (k->held >= 0 && below(k->rng, 4) != 0)
        add(k, ASX__OP_UNLOCK)->object = (uint8_t)k->held;
    if (flavour >= MODEL_CANCELS)
        add(k, ASX__OP_END);
}

void model_make(model *m, asx__rng *rng, model_flavour flavour, uint32_t steps_most)
{
    uint32_t total = 0;
    making k = { .m = m, .rng = rng };
    memset(m, 0, sizeof *m);
    m->tasks = 2u + below(rng, 3) + (flavour == MODEL_FIRSTS);
    m->start[0] = below(rng, 2);
    m->start[4] = below(rng, 3);
    m->capacity[0] = 1;
    m->capacity[1] = 1 + (uint64_t)below(rng, 2);
    m->cancels = flavour >= MODEL_CANCELS;
    m->adversarial = flavour >= MODEL_TIMES && below(rng, 2);
    for (uint32_t t = 0; t < m->tasks; t++) {
        uint32_t want = 1 + below(rng, flavour == MODEL_FIRSTS ? 2 : 4);
        k.task = t;
        k.held = k.reading = k.writing = -1;
        for (uint32_t before = 0; m->len[t] < want && total < steps_most; before = m->len[t]) {
            make_step(&k, flavour);
            total += m->len[t] - before;
        }
        if (total < steps_most)
            end_task(&k, flavour);
    }
}

void model_print(const model *m)
{
    fprintf(stderr, "capacities %u %u, cells %u %u, units %u%s\n", (unsigned)m->capacity[0],
            (unsigned)m->capacity[1], (unsigned)m->start[0], (unsigned)m->start[1],
            (unsigned)m->start[4], m->adversarial ? ", adversarial" : "");
    for (uint32_t t = 0; t < m->tasks; t++) {
        fprintf(stderr, "task %u:", t);
        for (uint32_t i = 0; i < m->len[t]; i++) {
            const model_step *s = &m->code[t][i];
            fprintf(stderr, " %s(%u, %u, %u)", asx__op_str(s->kind), s->object, s->a, s->b);
            if (s->skip)
                fprintf(stderr, " if %u skip %u", s->skip_if, s->skip);
            fprintf(stderr, ";");
        }
        fprintf(stderr, "\n");
    }
}

static const uint64_t cancel_flags[MODEL_TASKS] = {
    ASX__NAME(ASX__NAME_CANCEL, 0, 0), ASX__NAME(ASX__NAME_CANCEL, 1, 0),
    ASX__NAME(ASX__NAME_CANCEL, 2, 0), ASX__NAME(ASX__NAME_CANCEL, 3, 0),
    ASX__NAME(ASX__NAME_CANCEL, 4, 0)
};

static bool is_cancellation_point(asx__op_kind kind)
{
    return kind == ASX__OP_SEND || kind == ASX__OP_RECV || kind == ASX__OP_RESERVE ||
           kind == ASX__OP_RECV_ACK || kind == ASX__OP_LOCK || kind == ASX__OP_ACQUIRE ||
           kind == ASX__OP_CHECKPOINT || kind == ASX__OP_JOIN || kind == ASX__OP_SLEEP ||
           kind == ASX__OP_READ_LOCK || kind == ASX__OP_FIRST_OF;
}

/* The ends of those tasks. */
static const uint64_t *ends_of(uint8_t tasks, uint32_t *ret_len)
{
    static uint64_t ends[1u << MODEL_TASKS][MODEL_TASKS];
    *ret_len = 0;
    for (uint32_t t = 0; t < MODEL_TASKS; t++)
        if ((tasks >> t & 1) != 0)
            ends[tasks][(*ret_len)++] = ASX__NAME(ASX__NAME_FIN, t, 0);
    return ends[tasks];
}

static const uint32_t made_by[] = {
#define OP_OBJECT(name, text, object, run, traits) ASX_EVENT_##object,
    ASX__OPERATION_LIST(OP_OBJECT)
#undef OP_OBJECT
};

asx__op model_op(const model *m, uint32_t task, uint32_t pc, uint64_t *objects)
{
    const model_step *s = &m->code[task][pc];
    asx__op op = { .kind = s->kind, .size = 8, .a = s->a, .b = s->b, .site = "model:1" };
    if ((asx__op_traits[s->kind] & ASX__O_SINGLE) != 0 && s->kind != ASX__OP_CHOOSE)
        op.object = &objects[s->object];
    else if (made_by[s->kind] == ASX_EVENT_RWLOCK_CREATE)
        op.name = ASX__NAME(ASX__NAME_LOCK, 0, s->object);
    else if (made_by[s->kind] == ASX_EVENT_CHANNEL_CREATE)
        op.name = ASX__NAME(ASX__NAME_CHANNEL, 0, s->object);
    if (made_by[s->kind] == ASX_EVENT_CHANNEL_CREATE)
        op.a = m->capacity[s->object];
    if (s->kind == ASX__OP_LOCK || s->kind == ASX__OP_TRY_LOCK || s->kind == ASX__OP_UNLOCK)
        op.a = task + 1;
    if (s->kind == ASX__OP_JOIN)
        op.name = ASX__NAME(ASX__NAME_FIN, s->object, 0);
    if (s->kind == ASX__OP_END)
        op.name = ASX__NAME(ASX__NAME_FIN, task, 0);
    if (s->kind == ASX__OP_FIRST_OF) {
        op.name = ASX__NAME(ASX__NAME_REGION, task, 1);
        op.targets = ends_of(s->a, &op.targets_len);
    }
    if (s->kind == ASX__OP_SLEEP) {
        op.name = ASX__NAME(ASX__NAME_CLOCK, 0, 0);
        op.b = m->adversarial;
    }
    if (s->kind == ASX__OP_CANCEL_TASK) {
        op.targets = &cancel_flags[s->object];
        op.targets_len = 1;
    }
    if (m->cancels && is_cancellation_point(s->kind))
        op.cx = cancel_flags[task];
    return op;
}

uint32_t model_next(const model *m, uint32_t task, uint32_t pc, uint64_t found)
{
    const model_step *s = &m->code[task][pc];
    if (s->must)
        return pc + 1 + (found != ASX__FOUND_DONE);
    if (s->kind == ASX__OP_TRY_LOCK)
        found = found == 0;
    else if (s->kind == ASX__OP_CAS)
        found = found == s->a;
    return pc + 1 + (s->skip != 0 && found == s->skip_if ? s->skip : 0);
}

/* The next time that somebody waits for, as what the clock will do; withdrawn if nobody does. */
static void announce_clock(const model *m, asx__dpor *d, const uint32_t *pc)
{
    uint64_t next = UINT64_MAX;
    uint32_t clock = asx__dpor_clock_task(d);
    for (uint32_t t = 0; t < m->tasks; t++)
        if (pc[t] < m->len[t] && m->code[t][pc[t]].kind == ASX__OP_SLEEP &&
            m->code[t][pc[t]].a < next)
            next = m->code[t][pc[t]].a;
    asx__op op = { .kind = ASX__OP_ADVANCE, .a = next, .site = "model:1",
                   .name = ASX__NAME(ASX__NAME_CLOCK, 0, 0) };
    if (next != UINT64_MAX)
        asx__dpor_announce(d, clock, &op);
    else
        asx__dpor_withdraw(d, clock);
}

static bool has_clock(const model *m)
{
    for (uint32_t t = 0; t < m->tasks; t++)
        for (uint32_t i = 0; i < m->len[t]; i++)
            if (m->code[t][i].kind == ASX__OP_SLEEP)
                return !m->adversarial;
    return false;
}

/* A task gives back only what it has: an unlock whose lock was left out is left out too, as is what
 * becomes of a permit or an ack. */
typedef struct model_held {
    uint8_t reads[2], writes[2], requests[2], permits[MODEL_CHANNELS], acks[MODEL_CHANNELS];
} model_held;

static bool is_held(const model_step *s, const model_held *held)
{
    switch (s->kind) {
    case ASX__OP_READ_UNLOCK:
        return held->reads[s->object] != 0;
    case ASX__OP_WRITE_UNLOCK:
        return held->writes[s->object] != 0;
    case ASX__OP_PERMIT_SEND:
    case ASX__OP_PERMIT_ABORT:
        return held->permits[s->object] != 0 || s->must; /* it had one from the beginning */
    case ASX__OP_ACK_COMMIT:
    case ASX__OP_ACK_NACK:
        return held->acks[s->object] != 0;
    default:
        return true;
    }
}

static uint32_t skip_unheld(const model *m, uint32_t task, uint32_t pc, const model_held *held)
{
    while (pc < m->len[task] && !is_held(&m->code[task][pc], held))
        pc++;
    return pc;
}

static void note_held(const model_step *s, uint64_t found, model_held *held)
{
    if (s->kind == ASX__OP_READ_LOCK)
        held->reads[s->object] = (uint8_t)(held->reads[s->object] + (found == ASX__FOUND_DONE));
    else if (s->kind == ASX__OP_READ_UNLOCK)
        held->reads[s->object]--;
    else if (s->kind == ASX__OP_WRITE_REQUEST)
        held->requests[s->object]++;
    else if (s->kind == ASX__OP_WRITE_LOCK) {
        held->writes[s->object]++;
        held->requests[s->object] = 0;
    } else if (s->kind == ASX__OP_WRITE_UNLOCK)
        held->writes[s->object]--;
    else if (s->kind == ASX__OP_RESERVE || s->kind == ASX__OP_TRY_RESERVE)
        held->permits[s->object] = (uint8_t)(held->permits[s->object] + (found == ASX__FOUND_DONE));
    else if (s->kind == ASX__OP_PERMIT_SEND || s->kind == ASX__OP_PERMIT_ABORT)
        held->permits[s->object] = (uint8_t)(held->permits[s->object] - !s->must);
    else if (s->kind == ASX__OP_RECV_ACK)
        held->acks[s->object] = (uint8_t)(held->acks[s->object] + (found == ASX__FOUND_DONE));
    else if (s->kind == ASX__OP_ACK_COMMIT || s->kind == ASX__OP_ACK_NACK)
        held->acks[s->object]--;
}

static void announce(const model *m, asx__dpor *d, uint32_t task, uint32_t *pc, uint64_t *objects,
                     const model_held *held)
{
    *pc = skip_unheld(m, task, *pc, held);
    if (*pc >= m->len[task])
        return;
    asx__op op = model_op(m, task, *pc, objects);
    if (op.kind == ASX__OP_WRITE_LOCK)
        op.a = held->requests[m->code[task][*pc].object];
    asx__dpor_announce(d, task, &op);
}

bool model_run_once(const model *m, asx__dpor *d, uint64_t *objects)
{
    uint32_t pc[MODEL_TASKS] = { 0 };
    model_held held[MODEL_TASKS];
    memset(held, 0, sizeof held);
    bool stuck = false, clock = has_clock(m);
    memcpy(objects, m->start, sizeof m->start);
    asx__dpor_begin(d);
    for (uint32_t t = 1; t < m->tasks; t++)
        (void)asx__dpor_spawn(d, 0);
    for (uint32_t t = 0; t < m->tasks; t++)
        announce(m, d, t, &pc[t], objects, &held[t]);
    for (;;) {
        if (clock)
            announce_clock(m, d, pc);
        uint32_t chosen = asx__dpor_choose(d);
        if (chosen == ASX__DPOR_NONE)
            break;
        uint64_t found = asx__dpor_commit(d, chosen);
        if (chosen >= m->tasks)
            continue; /* the clock */
        note_held(&m->code[chosen][pc[chosen]], found, &held[chosen]);
        pc[chosen] = model_next(m, chosen, pc[chosen], found);
        announce(m, d, chosen, &pc[chosen], objects, &held[chosen]);
    }
    for (uint32_t t = 0; t < m->tasks; t++)
        stuck |= pc[t] < m->len[t];
    return asx__dpor_finish(d, stuck);
}

int model_explore(const model *m, asx__dpor_mode mode, uint64_t seed, uint64_t executions_max,
                  asx__dpor_stats *ret_stats)
{
    asx__dpor_options options = { .mode = mode, .seed = seed, .check = true };
    uint64_t objects[MODEL_OBJECTS];
    asx__dpor *d = asx__dpor_create(&options);
    if (d == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    bool more;
    do {
        more = model_run_once(m, d, objects);
        asx__dpor_stats_get(d, ret_stats);
    } while (more && (executions_max == 0 || ret_stats->executions < executions_max));
    int st = asx__dpor_status(d);
    asx__dpor_destroy(d);
    return st;
}
