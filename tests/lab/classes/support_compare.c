/* Explorations against the reference. */
#include "support_run.h"

#include <stdio.h>
#include <stdlib.h>

enum { INTERLEAVINGS_MAX = 600 };

static bool explored(ref_program *p, asx_explore_options options, asx_explore_result *r)
{
    options.clock = p->adversarial ? ASX_EXPLORE_ADVERSARIAL : ASX_EXPLORE_QUIESCENT;
    options.faults = p->faults ? ASX_EXPLORE_FAULT_CANCEL : 0;
    return asx_explore(ref_run, p, &options, r) == ASX_OK && r->status == ASX_OK;
}

static const char *compare_best(ref_program *p, const ref_count *ref, uint64_t seed, uint32_t jobs)
{
    asx_explore_options options = { .mode = ASX_EXPLORE_OPTIMAL, .seed = seed, .jobs = jobs,
                                    .executions_max = ref->classes + 10 };
    asx_explore_result r;
    if (!explored(p, options, &r))
        return "it cannot be explored";
    if (r.totals.executions != ref->classes || !r.complete)
        return jobs > 1 ? "two processes differ" : "not as many executions as classes";
    if (r.totals.redundant + r.totals.blocked != 0)
        return "redundant or blocked";
    if (p->watched && r.totals.bugs != ref->odd)
        return "its oracle has not complained as often as it should";
    return r.totals.deadlocks != ref->deadlocks ? "not as many deadlocks" : NULL;
}

const char *ref_compare(ref_program *p, uint64_t defaults, bool jobs, ref_count *ref,
                        bool *ret_brute)
{
    asx_explore_options all = { .mode = ASX_EXPLORE_DFS, .executions_max = INTERLEAVINGS_MAX };
    asx_explore_options source = { .mode = ASX_EXPLORE_SOURCE };
    asx_explore_result r;
    const char *complaint = NULL;
    ref_classes(p, REF_OBJECTS, ref);
    if (!ref->sound)
        return "two states of one class";
    if (!ref->counted || ref->classes > REF_CLASSES_MAX)
        return NULL;
    for (uint64_t seed = 0; seed < defaults && complaint == NULL; seed++)
        complaint = compare_best(p, ref, seed, 1);
    if (complaint == NULL && jobs)
        complaint = compare_best(p, ref, 0, 2);
    if (complaint != NULL)
        return complaint;
    for (source.seed = 0; source.seed < defaults; source.seed++)
        if (!explored(p, source, &r) || !r.complete || r.totals.classes != ref->classes)
            return "source sets differ";
    if (!explored(p, all, &r))
        return "not all interleavings can be run";
    *ret_brute = r.complete;
    return r.complete && r.totals.classes != ref->classes ? "brute force differs" : NULL;
}

/* Leaves out what is not needed to show a complaint, and tells. */
static void tell(ref_program *p)
{
    ref_count ref;
    bool brute;
    for (bool again = true; again;) {
        again = false;
        for (int t = 0; t < p->tasks && !again; t++)
            for (int i = 0; i < p->len[t] && !again; i++) {
                ref_program q;
                again = ref_without(p, t, i, &q) &&
                        ref_compare(&q, 11, false, &ref, &brute) != NULL;
                if (again)
                    *p = q;
            }
    }
    const char *complaint = ref_compare(p, 11, true, &ref, &brute);
    asx_explore_options all = { .mode = ASX_EXPLORE_DFS, .executions_max = 100000 };
    asx_explore_result r;
    uint64_t found = explored(p, all, &r) ? r.totals.classes : 0;
    fprintf(stderr, "%s; by the table there are %d, explored %d\n", complaint, (int)ref.classes,
            (int)found);
    ref_print(p);
}

static uint64_t option(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 10) : otherwise;
}

ref_tally ref_compare_drawn(ref_draw_fn *draw, uint64_t programs, bool jobs)
{
    uint64_t seed = option("ASX_CLASSES_SEED", 1), most = option("ASX_CLASSES_BAD", 1);
    ref_tally tally = { .programs = option("ASX_CLASSES_PROGRAMS", programs) };
    for (uint64_t i = 0; i < tally.programs && tally.bad < most; i++) {
        asx__rng rng;
        ref_program p;
        ref_count ref;
        bool brute = false;
        asx__rng_seed(&rng, seed + i);
        draw(&rng, &p);
        const char *complaint = ref_compare(&p, i % 8 == 0 ? 11 : 2, jobs && i % 32 == 0, &ref,
                                            &brute);
        if (complaint != NULL) {
            fprintf(stderr, "seed %llu: %s\n", (unsigned long long)(seed + i), complaint);
            ref_print(&p);
            tell(&p);
            tally.bad++;
        }
        tally.counted += ref.counted && ref.classes <= REF_CLASSES_MAX;
        tally.brutes += brute;
        tally.deadlocked += ref.deadlocks != 0;
        tally.odd += p.watched && ref.odd != 0;
    }
    return tally;
}

bool ref_shows(ref_draw_fn *draw, uint64_t seeds, int object)
{
    for (uint64_t seed = 1; seed < seeds; seed++) {
        asx__rng rng;
        ref_program p;
        ref_count whole, blind;
        asx__rng_seed(&rng, seed);
        draw(&rng, &p);
        ref_classes(&p, REF_OBJECTS, &whole);
        ref_classes(&p, object, &blind);
        if (whole.counted && blind.counted && (blind.classes != whole.classes || !blind.sound))
            return true;
    }
    return false;
}
