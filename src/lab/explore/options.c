/* options.c - what is asked for: its defaults, and what cannot be had. */
#include "lab/explore/explore.h"

#define EXECUTIONS_DEFAULT 1000
#define STEPS_DEFAULT 100000
#define DEPTH_DEFAULT 3

bool asx__explore_samples(const asx_explore_options *options)
{
    return options->mode == ASX_EXPLORE_RANDOM || options->mode == ASX_EXPLORE_PCT ||
           options->mode == ASX_EXPLORE_SAMPLE || options->mode == ASX_EXPLORE_POS;
}

void asx__explore_defaults(asx_explore_options *o)
{
    if (asx__explore_samples(o) && o->executions_max == 0)
        o->executions_max = EXECUTIONS_DEFAULT;
    if (o->steps_max == 0)
        o->steps_max = STEPS_DEFAULT;
    if (o->depth == 0)
        o->depth = DEPTH_DEFAULT;
}

void asx__explorer_refuse(asx__explorer *x, uint32_t kind)
{
    const asx__task *current = x->rt->current;
    const asx__lab_task *task =
        current != NULL ? asx__explorer_task(x, asx__serial(current->generation)) : NULL;
    if (x->unsupported != 0 || x->failed_text != NULL)
        return;
    x->unsupported = kind;
    x->unsupported_site = task != NULL ? asx__lab_task_site(task) : NULL;
}
