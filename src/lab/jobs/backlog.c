/* backlog.c - work that nobody has taken yet (see backlog.h). */
#include "lab/jobs/backlog.h"

#include "lab/dpor/internal.h"

struct asx__backlog_node {
    asx__backlog_node *parent, *next; /* in the backlog */
    asx__branch *asleep; /* list */
    asx__branch *bets; /* tree, by their turns: of those at work (busy), or to be taken anew */
    asx__branch *rest; /* tree, behind it */
    uint32_t turns;
    uint32_t depth;
    asx__branch *via;  /* the step from its parent to it, which sleeps there */
    uint32_t users;    /* nodes below, and workers */
    uint32_t number;   /* in a file */
    bool touched;      /* something was found for it that its finder could not place */
};

typedef struct piece {
    struct piece *next;
    size_t len;
    char bytes[];
} piece;

struct asx__backlog {
    bool source;
    asx__branches branches;
    piece *first, **end;
    uint64_t pieces;
    asx__backlog_node *nodes;
    double share;      /* of the whole, of what is left at nodes */
};

asx__backlog *asx__backlog_create(bool source)
{
    asx__backlog *backlog = calloc(1, sizeof *backlog);
    if (backlog == NULL)
        return NULL;
    backlog->source = source;
    backlog->end = &backlog->first;
    return backlog;
}

static void drop(asx__backlog *backlog, asx__branch *list)
{
    asx__branch_drop(&backlog->branches, list);
}

void asx__backlog_destroy(asx__backlog *backlog)
{
    if (backlog == NULL)
        return;
    while (backlog->first != NULL) {
        piece *next = backlog->first->next;
        free(backlog->first);
        backlog->first = next;
    }
    while (backlog->nodes != NULL) {
        asx__backlog_node *next = backlog->nodes->next;
        drop(backlog, backlog->nodes->asleep);
        drop(backlog, backlog->nodes->bets);
        drop(backlog, backlog->nodes->rest);
        free(backlog->nodes);
        backlog->nodes = next;
    }
    asx__branches_deinit(&backlog->branches);
    free(backlog);
}

asx_status asx__backlog_put(asx__backlog *backlog, const void *work, size_t len)
{
    piece *p = malloc(sizeof *p + len);
    if (p == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    p->next = NULL;
    p->len = len;
    memcpy(p->bytes, work, len);
    *backlog->end = p;
    backlog->end = &p->next;
    backlog->pieces++;
    return ASX_OK;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* A list of `count`, which follow one another. */
static asx__branch *read_list(asx__backlog *backlog, asx__reader *r, uint32_t count)
{
    asx__branch *first = NULL, **end = &first;
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        *end = asx__branch_read(&backlog->branches, r);
        if (*end != NULL)
            end = &(*end)->next;
    }
    return first;
}

static void put_one(asx__bytes *b, const asx__branch *s)
{
    asx__branch_put(b, s->task, s->choice, &s->prints);
}

static uint32_t count_of(const asx__branch *s)
{
    uint32_t count = 0;
    for (; s != NULL; s = s->next)
        count++;
    return count;
}

/* ---- sequences ------------------------------------------------------------------------------ */

/* Was another answer of the task tried there? */
static bool has_gone(const asx__backlog_node *node, uint32_t task)
{
    const asx__branch *s = node->asleep;
    while (s != NULL && s->task != task)
        s = s->next;
    return s != NULL;
}

/* Source sets: no other task comes between the answers of one; see dpor/tree.c. */
static asx__branch **place_of_answer(asx__backlog_node *node, uint32_t task, asx__branch **end)
{
    asx__branch **list = &node->rest;
    if (has_gone(node, task))
        return list;
    while (*list != NULL && (*list)->task != task)
        list = &(*list)->next;
    return *list != NULL ? list : end;
}

/* Into the tree, of which the node is; owns the sequence. False: the tree has it. */
static bool put_into(asx__backlog *backlog, asx__backlog_node *node, asx__branch **tree,
                     asx__branch *sequence)
{
    asx__branch **list = asx__sequence_place(&backlog->branches, tree, sequence, backlog->source);
    if (list == NULL) {
        drop(backlog, sequence);
        return false;
    }
    asx__branch *chain = asx__sequence_chain(&backlog->branches, sequence, backlog->source);
    if (backlog->source && chain != NULL)
        list = place_of_answer(node, chain->task, list);
    if (chain != NULL) {
        chain->next = *list;
        *list = chain;
    }
    return true;
}

static asx__branch *sleeper_of(const asx__backlog_node *node, uint32_t turn)
{
    asx__branch *s = node->asleep;
    while (s->turn != turn)
        s = s->next;
    return s;
}

static asx__branch *copy_of(asx__backlog *backlog, const asx__branch *sequence)
{
    asx__branch *first = NULL, **end = &first;
    for (const asx__branch *s = sequence; s != NULL; s = s->next) {
        if (s->out)
            continue;
        *end = asx__branch_make(&backlog->branches, s->task, s->choice, &s->prints);
        if (*end == NULL)
            break;
        end = &(*end)->child;
    }
    return first;
}

/* A bet covers it: it belongs below that. If somebody is at work there, it comes late: see
 * asx__backlog_late(). */
static void put_below(asx__backlog *backlog, asx__backlog_node *node, asx__branch *bet,
                      asx__branch *sequence)
{
    if (bet->child == NULL || asx__sequence_is_empty(sequence)) {
        drop(backlog, sequence);
        return;
    }
    asx__branch *late = bet->busy ? copy_of(backlog, sequence) : NULL;
    if (!put_into(backlog, node, &bet->child, sequence)) {
        drop(backlog, late);
        return;
    }
    asx__branch **end = bet->busy ? &sleeper_of(node, bet->turn)->child : NULL;
    while (end != NULL && *end != NULL)
        end = &(*end)->next;
    if (end != NULL)
        *end = late;
}

/* Found by somebody below the step of that turn. Owns the sequence. */
static void insert(asx__backlog *backlog, asx__backlog_node *node, uint32_t turn,
                   asx__branch *sequence)
{
    asx__branch *at;
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        if (!(s->bet && s->turn > turn) &&
            asx__sequence_is_covered(sequence, s, backlog->source, &at)) {
            drop(backlog, sequence);
            return;
        }
    for (asx__branch *s = node->bets; s != NULL; s = s->next)
        if (asx__sequence_is_covered(sequence, s, backlog->source, &at)) {
            if (at != NULL)
                at->out = true;
            put_below(backlog, node, s, sequence);
            return;
        }
    (void)put_into(backlog, node, &node->rest, sequence);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void remove_node(asx__backlog *backlog, asx__backlog_node *node)
{
    asx__backlog_node **at = &backlog->nodes;
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    drop(backlog, node->asleep);
    drop(backlog, node->bets);
    drop(backlog, node->rest);
    free(node);
}

static void drop_if_done(asx__backlog *backlog, asx__backlog_node *node)
{
    while (node != NULL && node->users == 0 && node->bets == NULL && node->rest == NULL) {
        asx__backlog_node *parent = node->parent;
        if (node->via != NULL)
            node->via->busy = false;
        remove_node(backlog, node);
        if (parent != NULL)
            parent->users--;
        node = parent;
    }
}

static asx__backlog_node *add_node(asx__backlog *backlog, const asx__backlog_place *above)
{
    asx__backlog_node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->parent = above->node;
    node->via = above->step;
    if (above->node != NULL) {
        node->depth = above->node->depth + 1;
        above->node->users++;
    }
    node->next = backlog->nodes;
    backlog->nodes = node;
    return node;
}

/* The giver stays below the last of them. */
static asx_status give_nodes(asx__backlog *backlog, asx__backlog_place *place, asx__reader *r)
{
    uint32_t count = asx__read_count(r, 4);
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        asx__branch *asleep = read_list(backlog, r, asx__read_count(r, 16));
        asx__branch *on = asx__branch_read(&backlog->branches, r);
        asx__backlog_node *node = on != NULL ? add_node(backlog, place) : NULL;
        if (node == NULL) {
            drop(backlog, asleep);
            drop(backlog, on);
            return r->bad ? ASX_E_TRACE_CORRUPT : ASX_E_RESOURCE_EXHAUSTED;
        }
        on->next = asleep;
        on->busy = true;
        on->turn = ++node->turns;
        node->asleep = on;
        node->rest = asx__branch_read_tree(&backlog->branches, r);
        node->users++;
        if (place->node != NULL)
            place->node->users--;
        *place = (asx__backlog_place){ node, on, place->share };
    }
    return r->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}

static asx_status give_found(asx__backlog *backlog, const asx__backlog_place *place, asx__reader *r)
{
    while (r->len != 0 && !r->bad) {
        uint32_t depth = asx__read_u32(r);
        asx__branch *sequence = read_list(backlog, r, asx__read_count(r, 16));
        asx__backlog_node *node = place->node;
        const asx__branch *step = place->step;
        while (node != NULL && node->depth > depth) {
            step = node->via;
            node = node->parent;
        }
        if (r->bad || node == NULL || node->depth != depth || sequence == NULL) {
            drop(backlog, sequence);
            return ASX_E_TRACE_CORRUPT;
        }
        node->touched = true;
        insert(backlog, node, step->turn, sequence);
    }
    return r->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}

/* What the trees have in common is there once; see dpor/tree.c. */
static void share_alike(asx__backlog *backlog)
{
    asx__alikes alikes;
    if (backlog->source || backlog->branches.count + 1 <= ASX__SHARE_FROM_BACKLOG ||
        !asx__branches_begin(&backlog->branches, &alikes))
        return; /* else each time: it is told to others */
    for (asx__backlog_node *node = backlog->nodes; node != NULL; node = node->next) {
        for (asx__branch *s = node->bets; s != NULL; s = s->next)
            asx__branches_share(&backlog->branches, &alikes, &s->child);
        asx__branches_share(&backlog->branches, &alikes, &node->rest);
    }
    asx__branches_end(&backlog->branches, &alikes);
}

asx_status asx__backlog_give(asx__backlog *backlog, asx__backlog_place *place, asx__reader *given)
{
    asx_status st = ASX_OK;
    while (given->len != 0 && st >= 0) {
        asx__reader part = asx__read_part(given), whole = part;
        uint32_t kind = asx__read_u32(&part);
        (void)asx__read_u32(&part);
        double share = asx__read_double(&part);
        if (part.bad)
            return ASX_E_TRACE_CORRUPT;
        if (kind == ASX__WORK_NODES) {
            if (place->step != NULL && place->step->bet)
                continue; /* nothing of it stands yet */
            backlog->share += share;
            st = give_nodes(backlog, place, &part);
        } else if (kind == ASX__WORK_FOUND) {
            st = give_found(backlog, place, &part);
        } else if (kind == ASX__WORK_PLAN || kind == ASX__WORK_DFS) {
            st = asx__backlog_put(backlog, whole.at, whole.len);
        } else {
            st = ASX_E_TRACE_CORRUPT;
        }
    }
    share_alike(backlog);
    if (backlog->branches.failed)
        return ASX_E_RESOURCE_EXHAUSTED;
    return given->bad ? ASX_E_TRACE_CORRUPT : st;
}

/* Who sleeps there for somebody below the step of that turn. */
static void put_asleep(asx__bytes *b, const asx__backlog_node *node, uint32_t turn)
{
    uint32_t count = 0;
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        count += !(s->bet && s->turn > turn);
    asx__bytes_u32(b, count);
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        if (!(s->bet && s->turn > turn))
            put_one(b, s);
}

/* ... and what is left there. */
static void put_node(asx__backlog *backlog, asx__backlog_node *node, uint32_t turn, asx__bytes *b)
{
    asx__branch **end = &node->bets;
    node->touched = false;
    asx__bytes_u32(b, node->depth);
    put_asleep(b, node, turn);
    while (*end != NULL)
        end = &(*end)->next;
    *end = node->rest;
    asx__branch_put_tree(&backlog->branches, b, node->bets);
    *end = NULL;
}

/* The lowest node is no longer the backlog's. Returns what share of the whole is left there. */
static double give_up(asx__backlog *backlog, asx__backlog_place *place, asx__bytes *b)
{
    asx__backlog_node *node = place->node;
    uint64_t len = asx__backlog_len(backlog);
    double share = len != 0 ? backlog->share * count_of(node->rest) / (double)len : 0;
    put_node(backlog, node, UINT32_MAX, b);
    /* There: a user less, and one more. */
    *place = (asx__backlog_place){ node->parent, node->via, place->share };
    backlog->share -= share;
    remove_node(backlog, node);
    return share;
}

void asx__backlog_tell(asx__backlog *backlog, asx__backlog_place *place, bool back,
                       asx__bytes *told)
{
    asx__bytes nodes = { 0 };
    double share = 0;
    /* Beside his bet there may be one to be taken anew. */
    while (back && !backlog->source && place->node != NULL && place->node->users == 1 &&
           place->node->bets == NULL)
        share += give_up(backlog, place, &nodes);
    const asx__branch *step = place->step;
    for (asx__backlog_node *node = place->node; node != NULL; node = node->parent) {
        if (node->touched)
            put_node(backlog, node, step->turn, &nodes);
        step = node->via;
    }
    uint32_t shared = place->node != NULL ? place->node->depth + 1 : 0;
    asx__bytes_u32(told, back && !backlog->source ? shared : UINT32_MAX);
    asx__bytes_double(told, share);
    (void)asx__bytes_keep(told, nodes.at, nodes.len);
    told->bad = told->bad || nodes.bad;
    free(nodes.at);
}

/* ---- taking --------------------------------------------------------------------------------- */

static const asx__backlog_node *ancestor(const asx__backlog_node *node, uint32_t depth)
{
    while (node->depth > depth)
        node = node->parent;
    return node;
}

/* What is taken next there; NULL: nothing. */
static asx__branch **next_of(asx__backlog_node *node)
{
    asx__branch **list = &node->bets;
    while (*list != NULL && (*list)->busy)
        list = &(*list)->next;
    return *list != NULL ? list : node->rest != NULL ? &node->rest : NULL;
}

static bool commute(const asx__branch *x, const asx__branch *y)
{
    return x->task != y->task && !asx__prints_conflict(&x->prints, &y->prints);
}

/* May something be put below the branch by what came before it, and is not done? See backlog.h. */
static bool depends(const asx__backlog *backlog, const asx__backlog_node *node,
                    const asx__branch *branch)
{
    uint32_t turn = branch->turn != 0 ? branch->turn : UINT32_MAX;
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        if (s->busy && s->turn < turn && (!backlog->source || s->prints.several) &&
            commute(s, branch))
            return true;
    for (const asx__branch *s = node->bets; s != NULL && s->turn < turn; s = s->next)
        if (!s->busy && commute(s, branch))
            return true;
    return false;
}

/* A bet keeps its tree. */
static asx__branch *keep_bet(asx__backlog *backlog, asx__backlog_node *node, asx__branch *branch)
{
    asx__branch *step = asx__branch_make(&backlog->branches, branch->task, branch->choice,
                                         &branch->prints);
    asx__branch **list = &node->bets;
    if (step == NULL)
        return NULL;
    step->turn = branch->turn;
    step->bet = branch->busy = true;
    while (*list != NULL && (*list)->turn < branch->turn)
        list = &(*list)->next;
    branch->next = *list;
    *list = branch;
    return step;
}

static void take_branch(asx__backlog *backlog, asx__backlog_node *node, double share,
                        asx__bytes *work,
                        asx__backlog_place *ret_place)
{
    asx__branch **list = next_of(node);
    asx__branch *branch = asx__branch_own(&backlog->branches, list);
    if (branch == NULL) {
        work->bad = true;
        return;
    }
    bool bet = depends(backlog, node, branch);
    *list = branch->next;
    branch->next = NULL;
    if (branch->turn == 0)
        branch->turn = ++node->turns;
    asx__bytes_u32(work, ASX__WORK_BRANCH);
    asx__bytes_u32(work, 1);
    asx__bytes_double(work, share);
    asx__bytes_u32(work, node->depth + 1);
    for (uint32_t i = 0; i <= node->depth; i++) {
        const asx__branch *on = branch;
        if (i < node->depth) {
            on = ancestor(node, i + 1)->via;
            asx__bytes_u32(work, on->task);
            asx__bytes_u32(work, on->choice);
            asx__bytes_u32(work, 0);
        }
        put_asleep(work, ancestor(node, i), on->turn);
    }
    asx__branch_put_tree(&backlog->branches, work, branch);
    if (bet) {
        branch = keep_bet(backlog, node, branch);
        if (branch == NULL) {
            work->bad = true;
            return;
        }
    } else {
        drop(backlog, branch->child);
        branch->child = NULL;
    }
    branch->next = node->asleep;
    branch->busy = true;
    node->asleep = branch;
    node->users++;
    *ret_place = (asx__backlog_place){ node, branch, share };
}

static asx__backlog_node *highest(const asx__backlog *backlog, bool bet)
{
    asx__backlog_node *found = NULL;
    for (asx__backlog_node *node = backlog->nodes; node != NULL; node = node->next) {
        asx__branch **next = next_of(node);
        if (next != NULL && (found == NULL || node->depth < found->depth) &&
            (bet || !depends(backlog, node, *next)))
            found = node;
    }
    return found;
}

bool asx__backlog_take(asx__backlog *backlog, bool bet, asx__bytes *work,
                       asx__backlog_place *ret_place)
{
    piece *p = backlog->first;
    *ret_place = (asx__backlog_place){ NULL, NULL, 0 };
    if (p != NULL) {
        (void)asx__bytes_keep(work, p->bytes, p->len);
        backlog->first = p->next;
        if (backlog->first == NULL)
            backlog->end = &backlog->first;
        backlog->pieces--;
        free(p);
        return !work->bad;
    }
    asx__backlog_node *node = highest(backlog, false);
    if (node == NULL && bet && !backlog->source)
        node = highest(backlog, true);
    if (node == NULL)
        return false;
    double share = backlog->share / (double)asx__backlog_len(backlog);
    backlog->share -= share;
    take_branch(backlog, node, share, work, ret_place);
    return !work->bad;
}

uint64_t asx__backlog_len(const asx__backlog *backlog)
{
    uint64_t len = backlog->pieces;
    for (const asx__backlog_node *node = backlog->nodes; node != NULL; node = node->next) {
        len += count_of(node->rest);
        for (const asx__branch *s = node->bets; s != NULL; s = s->next)
            len += !s->busy;
    }
    return len;
}

/* ---- being done ----------------------------------------------------------------------------- */

void asx__backlog_done(asx__backlog *backlog, const asx__backlog_place *place)
{
    if (place->node == NULL)
        return;
    place->step->busy = false;
    place->node->users--;
    drop_if_done(backlog, place->node);
}

/* If there is no other bet at work, what is to be taken anew is like the rest. */
static void fold(asx__backlog_node *node)
{
    asx__branch **end = &node->bets;
    for (; *end != NULL; end = &(*end)->next)
        if ((*end)->busy)
            return;
    for (asx__branch *s = node->bets; s != NULL; s = s->next)
        s->turn = 0;
    *end = node->rest;
    node->rest = node->bets;
    node->bets = NULL;
}

static asx__branch **tree_of(const asx__backlog_place *place)
{
    asx__branch **list = &place->node->bets;
    while ((*list)->turn != place->step->turn)
        list = &(*list)->next;
    return list;
}

asx__bet asx__backlog_bet(asx__backlog *backlog, const asx__backlog_place *place)
{
    asx__branch *step = place->step;
    if (step == NULL || !step->bet)
        return ASX__BET_WON;
    if (step->lost)
        return ASX__BET_LOST;
    if (step->child != NULL || depends(backlog, place->node, step))
        return ASX__BET_OPEN;
    asx__branch **list = tree_of(place), *tree = *list;
    *list = tree->next;
    tree->next = NULL;
    drop(backlog, tree);
    step->bet = false;
    fold(place->node);
    return ASX__BET_WON;
}

bool asx__backlog_is_late(const asx__backlog_place *place)
{
    return place->step != NULL && place->step->bet && place->step->child != NULL;
}

bool asx__backlog_late(const asx__backlog_place *place, asx__bytes *late)
{
    if (!asx__backlog_is_late(place) || place->step->lost || place->step->child->out)
        return false;
    asx__bytes_u32(late, count_of(place->step->child));
    for (asx__branch *s = place->step->child; s != NULL; s = s->next) {
        uint32_t len = 0;
        for (const asx__branch *step = s; step != NULL; step = step->child)
            len++;
        asx__bytes_u32(late, len);
        for (const asx__branch *step = s; step != NULL; step = step->child)
            put_one(late, step);
        s->out = true;
    }
    return true;
}

void asx__backlog_heard(asx__backlog *backlog, const asx__backlog_place *place)
{
    asx__branch **list = &place->step->child;
    while (*list != NULL && (*list)->out) {
        asx__branch *heard = *list;
        *list = heard->next;
        heard->next = NULL;
        drop(backlog, heard);
    }
}

void asx__backlog_lose(const asx__backlog_place *place)
{
    place->step->lost = true;
}

void asx__backlog_undo(asx__backlog *backlog, const asx__backlog_place *place)
{
    asx__backlog_node *node = place->node;
    asx__branch **list = &node->asleep;
    (*tree_of(place))->busy = false;
    while (*list != place->step)
        list = &(*list)->next;
    *list = place->step->next;
    place->step->next = NULL;
    drop(backlog, place->step);
    backlog->share += place->share;
    node->users--;
    fold(node);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void rename_all(asx__backlog *backlog, asx__branch *s, asx__rename_fn *rename, void *ctx,
                       bool *bad)
{
    for (; s != NULL && s->stamp != backlog->branches.stamp; s = s->next) {
        s->stamp = backlog->branches.stamp;
        s->prints.touched = s->prints.written = 0;
        for (uint32_t i = 0; i < s->prints.len; i++) {
            uint64_t name = rename(ctx, s->memory[i] >> 1), writes = s->memory[i] & 1;
            *bad = *bad || name == 0;
            s->memory[i] = name << 1 | writes;
            s->prints.touched |= asx__print_bit(name);
            s->prints.written |= writes != 0 ? asx__print_bit(name) : 0;
        }
        s->prints.sorted = asx__prints_sort(s->memory, s->prints.len);
        rename_all(backlog, s->child, rename, ctx, bad);
    }
}

asx_status asx__backlog_rename(asx__backlog *backlog, asx__rename_fn *rename, void *ctx)
{
    bool bad = false;
    backlog->branches.stamp++;
    for (asx__backlog_node *node = backlog->nodes; node != NULL; node = node->next) {
        rename_all(backlog, node->asleep, rename, ctx, &bad);
        rename_all(backlog, node->rest, rename, ctx, &bad);
    }
    return bad ? ASX_E_NOT_SUPPORTED : ASX_OK;
}

static uint32_t deepest(const asx__backlog *backlog)
{
    uint32_t depth = 0;
    for (const asx__backlog_node *node = backlog->nodes; node != NULL; node = node->next)
        depth = node->depth > depth ? node->depth : depth;
    return depth;
}

void asx__backlog_save(asx__backlog *backlog, asx__bytes *file)
{
    asx__bytes_double(file, backlog->share);
    asx__bytes_u64(file, backlog->pieces);
    for (const piece *p = backlog->first; p != NULL; p = p->next) {
        asx__bytes_u32(file, (uint32_t)p->len);
        (void)asx__bytes_keep(file, p->bytes, p->len);
    }
    uint32_t number = 0, most = deepest(backlog);
    for (uint32_t depth = 0; depth <= most; depth++) /* parents first */
        for (asx__backlog_node *node = backlog->nodes; node != NULL; node = node->next) {
            if (node->depth != depth)
                continue;
            node->number = ++number;
            asx__bytes_u32(file, 1);
            asx__bytes_u32(file, node->parent != NULL ? node->parent->number : 0);
            asx__bytes_u32(file, node->via != NULL ? node->via->task : 0);
            asx__bytes_u32(file, node->via != NULL ? node->via->choice : 0);
            asx__bytes_u32(file, count_of(node->asleep));
            for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
                put_one(file, s);
            asx__branch_put_tree(&backlog->branches, file, node->rest);
        }
    asx__bytes_u32(file, 0);
}

static asx__backlog_node *numbered(const asx__backlog *backlog, uint32_t number)
{
    asx__backlog_node *node = backlog->nodes;
    while (node != NULL && node->number != number)
        node = node->next;
    return node;
}

asx_status asx__backlog_load(asx__backlog *backlog, asx__reader *file)
{
    backlog->share = asx__read_double(file);
    uint64_t pieces = asx__read_u64(file);
    for (uint64_t i = 0; i < pieces && !file->bad; i++) {
        asx__reader part = asx__read_part(file);
        if (!part.bad && asx__backlog_put(backlog, part.at, part.len) < 0)
            return ASX_E_RESOURCE_EXHAUSTED;
    }
    for (uint32_t number = 1; asx__read_u32(file) == 1 && !file->bad; number++) {
        uint32_t parent = asx__read_u32(file);
        asx__backlog_place above = { numbered(backlog, parent), NULL, 0 };
        uint32_t task = asx__read_u32(file), choice = asx__read_u32(file);
        if (above.node != NULL)
            above.step = above.node->asleep;
        while (above.step != NULL && (above.step->task != task || above.step->choice != choice))
            above.step = above.step->next;
        if (parent != 0 && above.step == NULL)
            return ASX_E_TRACE_CORRUPT;
        if (above.step != NULL)
            above.step->busy = true;
        asx__backlog_node *node = add_node(backlog, &above);
        if (node == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        node->number = number;
        node->asleep = read_list(backlog, file, asx__read_count(file, 16));
        node->rest = asx__branch_read_tree(&backlog->branches, file);
    }
    if (backlog->branches.failed)
        return ASX_E_RESOURCE_EXHAUSTED;
    return file->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}
