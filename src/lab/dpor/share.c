/* share.c - work that is given away and taken: by several processes, and by checkpoints.
 *
 * What an engine has left to do falls into pieces that do not depend on each other's progress:
 *
 *   plan      one object each: an alternative. It leads to the alternatives below it and to no
 *             others, so it needs nothing but itself
 *   dfs       a prefix and a next step: that step, those after it in order, and all below
 *   branch    several objects: a branch at a node. Below it, everything is explored that begins
 *             with it, apart from what begins with a step that sleeps at the node. What is found
 *             there for nodes further up goes to the backlog
 *   samples   a range of numbers
 *
 * Sharing. The nodes before `shared` belong to the backlog. An engine that gives away what is left
 * at a node of its own makes it and all nodes above it shared. For these it knows what the backlog
 * has told it last, and tells the backlog of sequences that this does not cover. It must not keep
 * them to itself for later: a sequence that is forgotten because another one leads to it would be
 * lost if the backlog then found that one covered.
 *
 * Pieces are given in the order in which the tree has them, highest first, each with its length.
 */
#include "lab/dpor/internal.h"

/* ---- writing -------------------------------------------------------------------------------- */

static void put_step(asx__bytes *b, uint32_t task, uint32_t choice, bool by_default)
{
    asx__bytes_u32(b, task);
    asx__bytes_u32(b, choice);
    asx__bytes_u32(b, by_default);
}

static size_t begin_piece(asx__dpor *d, asx__work_kind kind, double share)
{
    size_t hole = asx__bytes_hole(&d->given);
    asx__bytes_u32(&d->given, kind);
    asx__bytes_u32(&d->given, d->wide);
    asx__bytes_double(&d->given, share);
    return hole;
}

/* ---- giving: one object each ---------------------------------------------------------------- */

static void give_alternative(asx__dpor *d, const asx__frame *frame, size_t blocks_end,
                             const asx__alternative *alternative)
{
    asx__bytes *b = &d->given;
    size_t hole = begin_piece(d, ASX__WORK_PLAN, frame->share);
    asx__bytes_u32(b, alternative->at + alternative->len);
    for (uint32_t i = 0; i < alternative->at; i++) {
        const asx__step *step = &d->saved_steps.at[frame->steps + i];
        put_step(b, step->task, step->choice, step->by_default);
    }
    for (uint32_t i = 0; i < alternative->len; i++) {
        const asx__step *step = &d->moved.at[alternative->moved + i];
        put_step(b, step->task, step->choice, step->by_default);
    }
    size_t count = 0;
    while (frame->blocks + count < blocks_end &&
           d->saved_blocks.at[frame->blocks + count].end < alternative->at)
        count++;
    asx__bytes_u32(b, (uint32_t)count + 1);
    asx__block own = { alternative->at, alternative->at + alternative->len - 1,
                       alternative->over_task, alternative->over_ordinal,
                       d->moved.at[alternative->moved + alternative->len - 1].task,
                       alternative->head_ordinal };
    for (size_t i = 0; i <= count; i++) {
        const asx__block *block = i < count ? &d->saved_blocks.at[frame->blocks + i] : &own;
        asx__bytes_u32(b, block->start);
        asx__bytes_u32(b, block->end);
        put_step(b, block->over_task, block->over_ordinal, false);
        put_step(b, block->head_task, block->head_ordinal, false);
    }
    asx__bytes_u32(b, alternative->over_task);
    asx__bytes_fill(b, hole);
}

/* Forgets the first frame; what lies above it on each stack moves down. */
static void drop_first_frame(asx__dpor *d)
{
    if (d->frames.len == 1) {
        d->frames.len = d->saved_steps.len = d->saved_blocks.len = 0;
        d->alternatives.len = d->moved.len = 0;
        return;
    }
    asx__frame by = d->frames.at[1];
    size_t moved = by.moved;
    d->saved_steps.len -= by.steps;
    d->saved_blocks.len -= by.blocks;
    d->alternatives.len -= by.alternatives;
    d->moved.len -= moved;
    d->frames.len--;
    memmove(d->saved_steps.at, d->saved_steps.at + by.steps,
            d->saved_steps.len * sizeof *d->saved_steps.at);
    memmove(d->saved_blocks.at, d->saved_blocks.at + by.blocks,
            d->saved_blocks.len * sizeof *d->saved_blocks.at);
    memmove(d->alternatives.at, d->alternatives.at + by.alternatives,
            d->alternatives.len * sizeof *d->alternatives.at);
    memmove(d->moved.at, d->moved.at + moved, d->moved.len * sizeof *d->moved.at);
    memmove(d->frames.at, d->frames.at + 1, d->frames.len * sizeof *d->frames.at);
    for (size_t i = 0; i < d->frames.len; i++) {
        d->frames.at[i].steps -= by.steps;
        d->frames.at[i].blocks -= by.blocks;
        d->frames.at[i].alternatives -= by.alternatives;
        d->frames.at[i].moved -= moved;
    }
    for (size_t i = 0; i < d->alternatives.len; i++)
        d->alternatives.at[i].moved -= moved;
}

static void give_frames(asx__dpor *d)
{
    bool all = d->giving == ASX__GIVE_ALL;
    for (bool more = true; more && d->frames.len != 0; more = all) {
        const asx__frame *frame = &d->frames.at[0];
        const asx__frame *next = d->frames.len > 1 ? &d->frames.at[1] : NULL;
        size_t end = next != NULL ? next->alternatives : d->alternatives.len;
        size_t blocks_end = next != NULL ? next->blocks : d->saved_blocks.len;
        for (size_t i = frame->alternatives; i < end; i++)
            give_alternative(d, frame, blocks_end, &d->alternatives.at[i]);
        drop_first_frame(d);
    }
}

/* ---- giving: all interleavings -------------------------------------------------------------- */

static void give_untried(asx__dpor *d)
{
    bool all = d->giving == ASX__GIVE_ALL;
    double share = d->share;
    for (size_t step = 0; step < d->untried.len; step++) {
        asx__step *untried = &d->untried.at[step].step;
        if (step > d->share_from)
            share /= (double)d->untried.at[step - 1].begun + (double)d->untried.at[step - 1].more;
        if (untried->task == ASX__DPOR_NONE)
            continue;
        asx__untried *u = &d->untried.at[step];
        double left = share * u->more / ((double)u->begun + (double)u->more);
        size_t hole = begin_piece(d, ASX__WORK_DFS, left);
        asx__bytes_u32(&d->given, (uint32_t)step + 1);
        for (size_t i = 0; i < step; i++)
            put_step(&d->given, d->events[i].task, d->events[i].choice, false);
        put_step(&d->given, untried->task, untried->choice, false);
        asx__bytes_fill(&d->given, hole);
        untried->task = ASX__DPOR_NONE;
        if (!all)
            return;
    }
}

/* ---- giving: several objects ---------------------------------------------------------------- */

/* A node of ours, for the backlog: who sleeps there, the branch that we are on, what is left. */
static void put_node(asx__dpor *d, asx__bytes *b, size_t node)
{
    size_t from = d->nodes.at[node].sleepers, more = 0;
    size_t to = node + 1 < d->nodes.len ? d->nodes.at[node + 1].sleepers : d->sleepers.len;
    const asx__branch *done = d->nodes.at[node].heard ? d->nodes.at[node].done : NULL;
    for (const asx__branch *s = done; s != NULL; s = s->next)
        more += !asx__tree_knows(d, node, s);
    asx__bytes_u32(b, (uint32_t)(to - from + more));
    for (size_t i = from; i < to; i++)
        asx__branch_put(b, d->sleepers.at[i]->task, d->sleepers.at[i]->choice,
                        &d->sleepers.at[i]->prints);
    for (const asx__branch *s = done; s != NULL; s = s->next)
        if (!asx__tree_knows(d, node, s))
            asx__branch_put(b, s->task, s->choice, &s->prints);
    asx__prints prints = asx__wide_prints(d, (uint32_t)node);
    asx__branch_put(b, d->events[node].task, d->events[node].choice, &prints);
    asx__branch_put_tree(&d->branches, b, d->nodes.at[node].rest);
}

/* So many nodes at which nobody can take anything may become the backlog's for the sake of one
 * where somebody can: what is found for them has to be told, and there is the less below a node the
 * lower it is. */
enum { GIVEN_IN_VAIN_MOST = 4 };

/* Is something left at the node that somebody else could do while we are at work below it? See
 * backlog.h. */
static bool can_be_taken(const asx__dpor *d, size_t node)
{
    const asx__branch *first = d->nodes.at[node].rest;
    asx__prints prints = asx__wide_prints(d, (uint32_t)node);
    return d->options.mode == ASX__DPOR_SOURCE || first->task == d->events[node].task ||
           asx__prints_conflict(&first->prints, &prints);
}

static void give_nodes(asx__dpor *d)
{
    size_t end = 0, bet = 0; /* behind the last node that is given */
    bool all = d->giving == ASX__GIVE_ALL;
    uint32_t in_vain = 0;
    for (size_t i = d->shared; i < d->nodes.len && i < d->events_len && (all || end == 0); i++) {
        if (d->nodes.at[i].rest == NULL)
            continue;
        if (all || can_be_taken(d, i))
            end = i + 1;
        else if (++in_vain > GIVEN_IN_VAIN_MOST)
            break;
        else if (bet == 0 && d->giving == ASX__GIVE_BETS)
            bet = i + 1;
    }
    if (end == 0)
        end = bet;
    if (end == 0)
        return;
    double given = (d->share - d->used) / (d->giving == ASX__GIVE_ALL ? 1 : 2);
    size_t hole = begin_piece(d, ASX__WORK_NODES, given);
    asx__bytes_u32(&d->given, (uint32_t)(end - d->shared));
    for (size_t i = d->shared; i < end; i++)
        put_node(d, &d->given, i);
    asx__bytes_fill(&d->given, hole);
    d->shared = end;
    d->share -= given;
}

/* Was the same told since the last answer? What became of it is not known here before that. */
static bool is_told(asx__dpor *d, uint32_t node, asx__step last, const asx__prints *prints)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < d->whole.len; i++)
        sum += asx__hash_avalanche(d->wide_events[d->whole.at[i]].history);
    uint64_t words[] = { node, sum, (uint64_t)last.task << 32 | last.choice };
    uint64_t key = asx__hash_words(asx__hash_words(0, words, 3), prints->at, prints->len) | 1;
    uint64_t *place = &d->told[key >> 32 & (ASX__TOLD_MOST - 1)];
    bool told = *place == key;
    *place = key;
    return told;
}

void asx__share_found(asx__dpor *d, uint32_t node, asx__step last, const asx__prints *prints)
{
    if (is_told(d, node, last, prints))
        return;
    size_t hole = begin_piece(d, ASX__WORK_FOUND, 0);
    asx__bytes_u32(&d->given, node);
    asx__bytes_u32(&d->given, (uint32_t)d->whole.len + 1);
    for (size_t i = 0; i < d->whole.len; i++) {
        uint32_t event = d->whole.at[i];
        asx__prints its = asx__wide_prints(d, event);
        asx__branch_put(&d->given, d->events[event].task, d->events[event].choice, &its);
    }
    asx__branch_put(&d->given, last.task, last.choice, prints);
    asx__bytes_fill(&d->given, hole);
}

void asx__share_give(asx__dpor *d)
{
    if (d->giving == ASX__GIVE_NOTHING || d->status < 0)
        return;
    if (d->options.mode == ASX__DPOR_DFS)
        give_untried(d);
    else if (d->wide)
        give_nodes(d);
    else
        give_frames(d);
    d->giving = ASX__GIVE_NOTHING;
    if (d->given.bad)
        d->status = ASX_E_RESOURCE_EXHAUSTED;
}

void asx__dpor_ask(asx__dpor *d, asx__giving giving)
{
    d->giving = giving;
}

asx__bytes *asx__dpor_given(asx__dpor *d)
{
    return &d->given;
}

/* ---- taking --------------------------------------------------------------------------------- */

static asx__step read_step(asx__reader *r)
{
    asx__step step = { 0 };
    step.task = asx__read_u32(r);
    step.choice = asx__read_u32(r);
    step.by_default = asx__read_u32(r) != 0;
    return step;
}

/* A task that was met elsewhere becomes known here. */
static void know(asx__dpor *d, asx__reader *r, uint32_t task)
{
    const asx__common_names *common = d->options.names;
    if (task < d->tasks_len || task == ASX__DPOR_NONE)
        return;
    if (common == NULL || task >= ASX__COMMON_NAMES_MOST ||
        asx__dpor_name(d, common->at[task].parent, common->at[task].nth) != task)
        r->bad = true;
}

static bool read_plan(asx__dpor *d, asx__reader *r)
{
    uint32_t count = asx__read_count(r, 12);
    if (count == 0 || !ASX__VEC_ROOM(d, d->plan, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        asx__step step = read_step(r);
        know(d, r, step.task);
        d->plan.at[d->plan.len++] = step;
    }
    return !r->bad;
}

static bool take_plan(asx__dpor *d, asx__reader *r)
{
    if (!read_plan(d, r))
        return false;
    uint32_t count = asx__read_count(r, 32);
    if (!ASX__VEC_ROOM(d, d->blocks, count))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = asx__read_u32(r), end = asx__read_u32(r);
        asx__step over = read_step(r), head = read_step(r);
        d->blocks.at[d->blocks.len++] = (asx__block){ start, end, over.task, over.choice, head.task,
                                                      head.choice };
        know(d, r, over.task);
        know(d, r, head.task);
    }
    d->prefer = asx__read_u32(r);
    know(d, r, d->prefer);
    d->fresh_from = (uint32_t)d->plan.len - 1;
    return !r->bad;
}

static bool take_dfs(asx__dpor *d, asx__reader *r)
{
    if (!read_plan(d, r) || !ASX__VEC_ROOM(d, d->untried, d->plan.len))
        return false;
    for (size_t i = 0; i < d->plan.len; i++)
        d->untried.at[i] = (asx__untried){ { ASX__DPOR_NONE, 0, false }, 0, 0 };
    d->share_from = d->plan.len - 1;
    return true;
}

static asx__branch *read_branch(asx__dpor *d, asx__reader *r)
{
    asx__branch *branch = asx__branch_read(&d->branches, r);
    if (branch != NULL)
        know(d, r, branch->task);
    else if (d->branches.failed)
        d->status = ASX_E_RESOURCE_EXHAUSTED;
    return branch;
}

static asx__branch *read_tree(asx__dpor *d, asx__reader *r)
{
    asx__branch *list = asx__branch_read_tree(&d->branches, r);
    for (size_t i = 0; i < d->branches.read.len; i++)
        know(d, r, d->branches.read.at[i]->task);
    if (d->branches.failed)
        d->status = ASX_E_RESOURCE_EXHAUSTED;
    return list;
}

static bool take_branch(asx__dpor *d, asx__reader *r)
{
    uint32_t nodes = asx__read_count(r, 4);
    for (uint32_t i = 0; i < nodes; i++) {
        if (!ASX__VEC_ROOM(d, d->nodes, 1) || !ASX__VEC_ROOM(d, d->plan, 1))
            return false;
        asx__tree_node *node = &d->nodes.at[d->nodes.len++];
        /* What its event could have done earlier may depend on what comes now. */
        *node = (asx__tree_node){ NULL, NULL, d->sleepers.len, d->pasts.len, true, 0, 0, 0, false };
        if (i + 1 < nodes) {
            d->plan.at[d->plan.len++] = read_step(r);
            know(d, r, d->plan.at[d->plan.len - 1].task);
        }
        uint32_t count = asx__read_count(r, 16);
        for (uint32_t k = 0; k < count; k++) {
            asx__branch *sleeper = read_branch(d, r);
            if (sleeper == NULL || !ASX__VEC_ROOM(d, d->sleepers, 1)) {
                asx__branch_drop(&d->branches, sleeper);
                return false;
            }
            sleeper->next = node->done;
            node->done = sleeper;
            d->sleepers.at[d->sleepers.len++] = sleeper;
        }
    }
    asx__branch *branch = read_tree(d, r);
    if (nodes == 0 || branch == NULL || r->bad) {
        asx__branch_drop(&d->branches, branch);
        return false;
    }
    for (const asx__branch *b = branch; b != NULL && ASX__VEC_ROOM(d, d->plan, 1); b = b->child)
        d->plan.at[d->plan.len++] = (asx__step){ b->task, b->choice, false };
    d->chain = asx__branch_behead(&d->branches, &branch);
    asx__branch_drop(&d->branches, branch);
    d->shared = nodes;
    d->branch_at = nodes - 1;
    return d->status == ASX_OK;
}

/* Who sleeps there according to the backlog; those that we did not know of are kept in `done`, but
 * not the step that we are on. */
static bool hear_sleeper(asx__dpor *d, asx__reader *r, size_t at)
{
    asx__branch *told = read_branch(d, r);
    if (told == NULL)
        return false;
    bool known = asx__tree_knows(d, at, told) ||
                 (told->task == d->plan.at[at].task && told->choice == d->plan.at[at].choice);
    for (const asx__branch *b = d->nodes.at[at].done; b != NULL; b = b->next)
        known = known || (b->task == told->task && b->choice == told->choice);
    if (known) {
        asx__branch_drop(&d->branches, told);
    } else {
        told->next = d->nodes.at[at].done;
        d->nodes.at[at].done = told;
    }
    return true;
}

/* A node of the backlog is ours again. */
static void own_again(asx__dpor *d, asx__tree_node *node)
{
    if (node->number == 0) /* else what was seen there is still covered */
        node->number = ++d->nodes_made;
    node->heard = true;
    node->branches = 1;
    for (const asx__branch *b = node->done; b != NULL; b = b->next)
        node->branches++;
    for (const asx__branch *b = node->rest; b != NULL; b = b->next)
        node->branches++;
}

asx_status asx__dpor_hear(asx__dpor *d, asx__reader *r)
{
    uint32_t shared = asx__read_u32(r);
    double share = asx__read_double(r);
    while (r->len != 0 && !r->bad) {
        uint32_t at = asx__read_u32(r), count = asx__read_count(r, 16);
        if (at >= d->shared || at >= d->nodes.len || at >= d->plan.len)
            return ASX_E_TRACE_CORRUPT;
        for (uint32_t i = 0; i < count; i++)
            if (!hear_sleeper(d, r, at))
                return d->status < 0 ? d->status : ASX_E_TRACE_CORRUPT;
        asx__branch_drop(&d->branches, d->nodes.at[at].rest);
        d->nodes.at[at].rest = read_tree(d, r);
    }
    for (uint32_t i = shared; i < d->shared && !r->bad; i++)
        own_again(d, &d->nodes.at[i]);
    if (shared < d->shared)
        d->shared = shared;
    d->share += share;
    return d->status < 0 ? d->status : r->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}

/* ---- what comes late ------------------------------------------------------------------------ */

static asx__branch *read_sequence(asx__dpor *d, asx__reader *r)
{
    asx__branch *first = NULL, **end = &first;
    for (uint32_t count = asx__read_count(r, 16); count > 0 && !r->bad; count--) {
        *end = read_branch(d, r);
        if (*end != NULL)
            end = &(*end)->next;
    }
    return first;
}

static bool sleeper_covers(asx__dpor *d, size_t node, asx__branch *sequence)
{
    asx__branch *at;
    size_t to = node + 1 < d->nodes.len ? d->nodes.at[node + 1].sleepers : d->sleepers.len;
    for (size_t i = d->nodes.at[node].sleepers; i < to; i++)
        if (asx__sequence_is_covered(sequence, d->sleepers.at[i], false, &at))
            return true;
    return false;
}

static uint32_t count_of(const asx__branch *list)
{
    uint32_t count = 0;
    for (; list != NULL; list = list->next)
        count++;
    return count;
}

static void put_at(asx__dpor *d, asx__tree_node *node, asx__branch *sequence)
{
    uint32_t before = count_of(node->rest);
    asx__branch **list = asx__sequence_place(&d->branches, &node->rest, sequence, false);
    if (list == NULL) {
        asx__branch_drop(&d->branches, sequence);
        return;
    }
    asx__branch *chain = asx__sequence_chain(&d->branches, sequence, false);
    chain->next = *list;
    *list = chain;
    node->branches += count_of(node->rest) - before;
}

/* Along the execution, as far as that covers it; there what sleeps is done, or is left to others.
 * False: it is too late. */
static bool insert_late(asx__dpor *d, asx__branch *sequence)
{
    for (size_t i = d->shared; i < d->nodes.len && !asx__sequence_is_empty(sequence); i++) {
        asx__branch *at;
        asx__branch event = { .task = d->events[i].task, .choice = d->events[i].choice,
                              .prints = asx__wide_prints(d, (uint32_t)i) };
        if (sleeper_covers(d, i, sequence)) {
            asx__branch_drop(&d->branches, sequence);
            return false;
        }
        if (!asx__sequence_is_covered(sequence, &event, false, &at)) {
            put_at(d, &d->nodes.at[i], sequence);
            return true;
        }
        if (at != NULL)
            at->out = true;
    }
    asx__branch_drop(&d->branches, sequence);
    return true;
}

void asx__share_late(asx__dpor *d)
{
    asx__reader r = { d->heard_late.at, d->heard_late.len, false };
    for (uint32_t count = asx__read_count(&r, 4); count > 0 && !r.bad && !d->too_late; count--) {
        asx__branch *sequence = read_sequence(d, &r);
        if (r.bad)
            asx__branch_drop(&d->branches, sequence);
        else
            d->too_late = !insert_late(d, sequence);
    }
    d->heard_late.len = 0;
    if (d->branches.failed)
        d->status = ASX_E_RESOURCE_EXHAUSTED;
    else if (r.bad)
        d->status = ASX_E_TRACE_CORRUPT;
}

asx_status asx__dpor_hear_late(asx__dpor *d, const asx__bytes *late)
{
    d->too_late = false;
    d->heard_late.len = 0;
    (void)asx__bytes_keep(&d->heard_late, late->at, late->len);
    return d->heard_late.bad ? ASX_E_RESOURCE_EXHAUSTED : ASX_OK;
}

bool asx__dpor_too_late(const asx__dpor *d)
{
    return d->too_late;
}

static void forget(asx__dpor *d)
{
    d->plan.len = d->blocks.len = d->untried.len = 0;
    d->known = 0;
    d->saved_steps.len = d->saved_blocks.len = d->alternatives.len = d->moved.len = 0;
    d->frames.len = 0;
    d->fresh_from = 0;
    d->prefer = ASX__DPOR_NONE;
    d->sibling = false;
    asx__tree_clear(d);
    d->shared = 0;
    d->giving = ASX__GIVE_NOTHING;
    d->heard_late.len = 0;
    d->too_late = false;
    d->share_from = 0;
    memset(d->told, 0, sizeof d->told);
}

asx_status asx__dpor_take(asx__dpor *d, asx__reader *r)
{
    bool good = true;
    forget(d);
    uint32_t kind = asx__read_u32(r);
    if (asx__read_u32(r) != 0)
        d->wide = true;
    d->share = asx__read_double(r);
    d->used = 0;
    switch (kind) {
    case ASX__WORK_EVERYTHING:
        break;
    case ASX__WORK_PLAN:
        good = take_plan(d, r);
        break;
    case ASX__WORK_DFS:
        good = take_dfs(d, r);
        break;
    case ASX__WORK_BRANCH:
        good = take_branch(d, r);
        break;
    case ASX__WORK_SAMPLES:
        d->sample = asx__read_u64(r);
        d->sample_end = d->sample + asx__read_u64(r);
        d->span = asx__read_u64(r);
        break;
    default:
        good = false;
    }
    d->later = kind != ASX__WORK_EVERYTHING && (kind != ASX__WORK_SAMPLES || d->sample != 0);
    if (d->status < 0)
        return d->status;
    return good && !r->bad ? ASX_OK : ASX_E_TRACE_CORRUPT;
}

/* ---- telling -------------------------------------------------------------------------------- */

void asx__dpor_report(asx__dpor *d, asx__dpor_stats *ret_stats, asx__bytes *classes)
{
    asx__bytes_u64(classes, d->classes.mask);
    asx__bytes_u32(classes, (uint32_t)d->classes.len);
    for (size_t i = 0; i < d->classes.cap; i++)
        if (d->classes.at[i] != 0)
            asx__bytes_u64(classes, d->classes.at[i]);
    asx__classes_clear(&d->classes);
    asx__dpor_stats_get(d, ret_stats);
    d->stats = (asx__dpor_stats){ .memory_bytes = d->stats.memory_bytes };
    d->later = true;
}

bool asx__dpor_samples(const asx__dpor *d)
{
    return d->sampling;
}

void asx__dpor_end_samples(asx__dpor *d)
{
    d->sample_end = d->sample;
}

void asx__dpor_be_wide(asx__dpor *d)
{
    d->wide = true;
}

/* ---- how much there is ---------------------------------------------------------------------- */

/* Knuth: whatever stands at one place of the tree gets an equal share of it. When a path has come
 * to its end, its share of the whole is done; how many executions there are in all follows from how
 * many there were for that share. When everything is done the shares add up to 1: it is exact.
 * Wide: what stands at a place is not known before it is done, so the first shares are too
 * large. */
void asx__share_used(asx__dpor *d)
{
    double share = d->share;
    if (d->options.mode == ASX__DPOR_DFS) {
        for (size_t i = d->share_from; i < d->untried.len; i++)
            share /= (double)d->untried.at[i].begun + (double)d->untried.at[i].more;
    } else if (d->wide) {
        for (size_t i = d->shared; i < d->nodes.len; i++)
            if (d->nodes.at[i].branches != 1) /* to divide takes long */
                share /= d->nodes.at[i].branches;
        if (share > d->share - d->used)
            share = (d->share - d->used) / 2;
        d->used += share;
    } else if (d->alternatives.len != d->own_alternatives) {
        return; /* what comes from it is done later */
    }
    d->stats.done += share;
}

bool asx__share_is_done(asx__dpor *d)
{
    if (d->status >= 0)
        d->stats.done += d->share - d->used;
    d->used = d->share;
    return false;
}

uint64_t asx__dpor_estimate(uint64_t executions, double done)
{
    double all = done > 0 ? (double)executions / (done < 1 ? done : 1) + 0.5 : 0;
    return all < 1e18 ? (uint64_t)all : UINT64_C(1000000000000000000);
}
