#include "support_model.h"

#include <stdio.h>
#include <string.h>

static uint8_t below(asx__rng *rng, uint64_t n)
{
    return (uint8_t)asx__rng_below(rng, n);
}

static void make_lock(model_step *s, asx__rng *rng, int *held)
{
    s->object = (uint8_t)(2 + below(rng, 2));
    if (*held < 0 || below(rng, 4) == 0) {
        s->kind = below(rng, 4) == 0 ? ASX__OP_TRY_LOCK : ASX__OP_LOCK;
        *held = s->object;
        return;
    }
    s->kind = ASX__OP_UNLOCK;
    s->object = (uint8_t)*held;
    *held = -1;
}

static void make_step(model_step *s, asx__rng *rng, model_flavour flavour, int *held)
{
    static const uint64_t kinds[] = { 6, 10, 12 };
    uint8_t r = below(rng, kinds[flavour]);
    s->object = below(rng, 2);
    if (r < 2) {
        s->kind = ASX__OP_LOAD;
    } else if (r < 4) {
        s->kind = ASX__OP_STORE;
        s->a = below(rng, 3);
    } else if (r == 4) {
        s->kind = ASX__OP_CAS;
        s->a = below(rng, 2);
        s->b = (uint8_t)(1 + below(rng, 2));
    } else if (r == 5) {
        s->kind = ASX__OP_FETCH_ADD;
        s->a = 1;
    } else if (r < 9) {
        make_lock(s, rng, held);
    } else if (r < 11) {
        s->kind = below(rng, 2) ? ASX__OP_ACQUIRE : ASX__OP_RELEASE;
        s->object = 4;
        s->a = 1;
    } else {
        s->kind = ASX__OP_CHOOSE;
        s->a = 2;
    }
    if (below(rng, 3) == 0) {
        s->skip = (uint8_t)(1 + below(rng, 2));
        s->skip_if = below(rng, 2);
    }
}

void model_make(model *m, asx__rng *rng, model_flavour flavour, uint32_t steps_most)
{
    uint32_t total = 0;
    memset(m, 0, sizeof *m);
    m->tasks = 2 + below(rng, 3);
    m->start[0] = below(rng, 2);
    m->start[4] = below(rng, 3);
    for (uint32_t t = 0; t < m->tasks; t++) {
        uint32_t want = 1 + below(rng, 4);
        int held = -1;
        for (; m->len[t] < want && total < steps_most; m->len[t]++, total++)
            make_step(&m->code[t][m->len[t]], rng, flavour, &held);
        if (held < 0 || below(rng, 4) == 0 || total >= steps_most)
            continue;
        m->code[t][m->len[t]++] = (model_step){ ASX__OP_UNLOCK, (uint8_t)held, 0, 0, 0, 0 };
        total++;
    }
}

void model_print(const model *m)
{
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

asx__op model_op(const model *m, uint32_t task, uint32_t pc, uint64_t *objects)
{
    const model_step *s = &m->code[task][pc];
    asx__op op = { s->kind, 8, &objects[s->object], s->a, s->b, "model:1" };
    if (s->kind == ASX__OP_LOCK || s->kind == ASX__OP_TRY_LOCK || s->kind == ASX__OP_UNLOCK)
        op.a = task + 1;
    if (s->kind == ASX__OP_CHOOSE)
        op.object = NULL;
    return op;
}

uint32_t model_next(const model *m, uint32_t task, uint32_t pc, uint64_t found)
{
    const model_step *s = &m->code[task][pc];
    if (s->kind == ASX__OP_TRY_LOCK)
        found = found == 0;
    else if (s->kind == ASX__OP_CAS)
        found = found == s->a;
    return pc + 1 + (s->skip != 0 && found == s->skip_if ? s->skip : 0);
}

static bool run_once(const model *m, asx__dpor *d, uint64_t *objects)
{
    uint32_t pc[MODEL_TASKS] = { 0 };
    uint32_t chosen;
    bool stuck = false;
    memcpy(objects, m->start, sizeof m->start);
    asx__dpor_begin(d);
    for (uint32_t t = 1; t < m->tasks; t++)
        (void)asx__dpor_spawn(d, 0);
    for (uint32_t t = 0; t < m->tasks; t++) {
        asx__op op = model_op(m, t, 0, objects);
        if (m->len[t] != 0)
            asx__dpor_announce(d, t, &op);
    }
    while ((chosen = asx__dpor_choose(d)) != ASX__DPOR_NONE) {
        uint64_t found = asx__dpor_commit(d, chosen);
        pc[chosen] = model_next(m, chosen, pc[chosen], found);
        if (pc[chosen] >= m->len[chosen])
            continue;
        asx__op op = model_op(m, chosen, pc[chosen], objects);
        asx__dpor_announce(d, chosen, &op);
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
    for (uint64_t n = 1; run_once(m, d, objects); n++)
        if (n == executions_max)
            break;
    asx__dpor_stats_get(d, ret_stats);
    int st = asx__dpor_status(d);
    asx__dpor_destroy(d);
    return st;
}
