/* pool.c - work that nobody has taken yet (see pool.h). */
#include "lab/pool.h"

#include "lab/dpor_int.h"

struct asx__pool_node {
    asx__pool_node *parent, *next; /* in the pool */
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

struct asx__pool {
    bool source;
    asx__branches branches;
    piece *first, **end;
    uint64_t pieces;
    asx__pool_node *nodes;
    double share;      /* of the whole, of what is left at nodes */
};

asx__pool *asx__pool_create(bool source)
{
    asx__pool *pool = calloc(1, sizeof *pool);
    if (pool == NULL)
        return NULL;
    pool->source = source;
    pool->end = &pool->first;
    return pool;
}

static void drop(asx__pool *pool, asx__branch *list)
{
    asx__branch_drop(&pool->branches, list);
}

void asx__pool_destroy(asx__pool *pool)
{
    if (pool == NULL)
        return;
    while (pool->first != NULL) {
        piece *next = pool->first->next;
        free(pool->first);
        pool->first = next;
    }
    while (pool->nodes != NULL) {
        asx__pool_node *next = pool->nodes->next;
        drop(pool, pool->nodes->asleep);
        drop(pool, pool->nodes->bets);
        drop(pool, pool->nodes->rest);
        free(pool->nodes);
        pool->nodes = next;
    }
    asx__branches_deinit(&pool->branches);
    free(pool);
}

asx_status asx__pool_put(asx__pool *pool, const void *work, size_t len)
{
    piece *p = malloc(sizeof *p + len);
    if (p == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    p->next = NULL;
    p->len = len;
    memcpy(p->bytes, work, len);
    *pool->end = p;
    pool->end = &p->next;
    pool->pieces++;
    return ASX_OK;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* A list of `count`, which follow one another. */
static asx__branch *read_list(asx__pool *pool, asx__reader *r, uint32_t count)
{
    asx__branch *first = NULL, **end = &first;
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        *end = asx__branch_read(&pool->branches, r);
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
static bool has_gone(const asx__pool_node *node, uint32_t task)
{
    const asx__branch *s = node->asleep;
    while (s != NULL && s->task != task)
        s = s->next;
    return s != NULL;
}

/* Source sets: no other task comes between the answers of one; see dpor_tree.c. */
static asx__branch **place_of_answer(asx__pool_node *node, uint32_t task, asx__branch **end)
{
    asx__branch **list = &node->rest;
    if (has_gone(node, task))
        return list;
    while (*list != NULL && (*list)->task != task)
        list = &(*list)->next;
    return *list != NULL ? list : end;
}

/* Into the tree, of which the node is; owns the sequence. False: the tree has it. */
static bool put_into(asx__pool *pool, asx__pool_node *node, asx__branch **tree,
                     asx__branch *sequence)
{
    asx__branch **list = asx__sequence_place(&pool->branches, tree, sequence, pool->source);
    if (list == NULL) {
        drop(pool, sequence);
        return false;
    }
    asx__branch *chain = asx__sequence_chain(&pool->branches, sequence, pool->source);
    if (pool->source && chain != NULL)
        list = place_of_answer(node, chain->task, list);
    if (chain != NULL) {
        chain->next = *list;
        *list = chain;
    }
    return true;
}

static asx__branch *sleeper_of(const asx__pool_node *node, uint32_t turn)
{
    asx__branch *s = node->asleep;
    while (s->turn != turn)
        s = s->next;
    return s;
}

static asx__branch *copy_of(asx__pool *pool, const asx__branch *sequence)
{
    asx__branch *first = NULL, **end = &first;
    for (const asx__branch *s = sequence; s != NULL; s = s->next) {
        if (s->out)
            continue;
        *end = asx__branch_make(&pool->branches, s->task, s->choice, &s->prints);
        if (*end == NULL)
            break;
        end = &(*end)->child;
    }
    return first;
}

/* A bet covers it: it belongs below that. If somebody is at work there, it comes late: see
 * asx__pool_late(). */
static void put_below(asx__pool *pool, asx__pool_node *node, asx__branch *bet,
                      asx__branch *sequence)
{
    if (bet->child == NULL || asx__sequence_is_empty(sequence)) {
        drop(pool, sequence);
        return;
    }
    asx__branch *late = bet->busy ? copy_of(pool, sequence) : NULL;
    if (!put_into(pool, node, &bet->child, sequence)) {
        drop(pool, late);
        return;
    }
    asx__branch **end = bet->busy ? &sleeper_of(node, bet->turn)->child : NULL;
    while (end != NULL && *end != NULL)
        end = &(*end)->next;
    if (end != NULL)
        *end = late;
}

/* Found by somebody below the step of that turn. Owns the sequence. */
static void insert(asx__pool *pool, asx__pool_node *node, uint32_t turn, asx__branch *sequence)
{
    asx__branch *at;
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        if (!(s->bet && s->turn > turn) &&
            asx__sequence_is_covered(sequence, s, pool->source, &at)) {
            drop(pool, sequence);
            return;
        }
    for (asx__branch *s = node->bets; s != NULL; s = s->next)
        if (asx__sequence_is_covered(sequence, s, pool->source, &at)) {
            if (at != NULL)
                at->out = true;
            put_below(pool, node, s, sequence);
            return;
        }
    (void)put_into(pool, node, &node->rest, sequence);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void remove_node(asx__pool *pool, asx__pool_node *node)
{
    asx__pool_node **at = &pool->nodes;
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    drop(pool, node->asleep);
    drop(pool, node->bets);
    drop(pool, node->rest);
    free(node);
}

static void drop_if_done(asx__pool *pool, asx__pool_node *node)
{
    while (node != NULL && node->users == 0 && node->bets == NULL && node->rest == NULL) {
        asx__pool_node *parent = node->parent;
        if (node->via != NULL)
            node->via->busy = false;
        remove_node(pool, node);
        if (parent != NULL)
            parent->users--;
        node = parent;
    }
}

static asx__pool_node *add_node(asx__pool *pool, const asx__pool_place *above)
{
    asx__pool_node *node = calloc(1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->parent = above->node;
    node->via = above->step;
    if (above->node != NULL) {
        node->depth = above->node->depth + 1;
        above->node->users++;
    }
    node->next = pool->nodes;
    pool->nodes = node;
    return node;
}

/* The giver stays below the last of them. */
static asx_status give_nodes(asx__pool *pool, asx__pool_place *place, asx__reader *r)
{
    uint32_t count = asx__read_count(r, 4);
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        asx__branch *asleep = read_list(pool, r, asx__read_count(r, 16));
        asx__branch *on = asx__branch_read(&pool->branches, r);
        asx__pool_node *node = on != NULL ? add_node(pool, place) : NULL;
        if (node == NULL) {
            drop(pool, asleep);
            drop(pool, on);
            return r->bad ? ASX_E_TRACE_CORRUPT : ASX_E_RESOURCE_EXHAUSTED;
        }
        on->next = asleep;
        on->busy = true;
        on->turn = ++node->turns;
        node->asleep = on;
        node->rest = asx__branch_read_tree(&pool->branches, r);
        node->users++;
        if (place->node != NULL)
            place->node->users--;
        *place = (asx__pool_place){ node, on, place->share };
    }
    return r->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}

static asx_status give_found(asx__pool *pool, const asx__pool_place *place, asx__reader *r)
{
    while (r->len != 0 && !r->bad) {
        uint32_t depth = asx__read_u32(r);
        asx__branch *sequence = read_list(pool, r, asx__read_count(r, 16));
        asx__pool_node *node = place->node;
        const asx__branch *step = place->step;
        while (node != NULL && node->depth > depth) {
            step = node->via;
            node = node->parent;
        }
        if (r->bad || node == NULL || node->depth != depth || sequence == NULL) {
            drop(pool, sequence);
            return ASX_E_TRACE_CORRUPT;
        }
        node->touched = true;
        insert(pool, node, step->turn, sequence);
    }
    return r->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}

/* What the trees have in common is there once; see dpor_tree.c. */
static void share_alike(asx__pool *pool)
{
    asx__alikes alikes;
    if (pool->source || pool->branches.count + 1 <= ASX__SHARE_FROM_POOL ||
        !asx__branches_begin(&pool->branches, &alikes))
        return; /* else each time: it is told to others */
    for (asx__pool_node *node = pool->nodes; node != NULL; node = node->next) {
        for (asx__branch *s = node->bets; s != NULL; s = s->next)
            asx__branches_share(&pool->branches, &alikes, &s->child);
        asx__branches_share(&pool->branches, &alikes, &node->rest);
    }
    asx__branches_end(&pool->branches, &alikes);
}

asx_status asx__pool_give(asx__pool *pool, asx__pool_place *place, asx__reader *given)
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
            pool->share += share;
            st = give_nodes(pool, place, &part);
        } else if (kind == ASX__WORK_FOUND) {
            st = give_found(pool, place, &part);
        } else if (kind == ASX__WORK_PLAN || kind == ASX__WORK_DFS) {
            st = asx__pool_put(pool, whole.at, whole.len);
        } else {
            st = ASX_E_TRACE_CORRUPT;
        }
    }
    share_alike(pool);
    if (pool->branches.failed)
        return ASX_E_RESOURCE_EXHAUSTED;
    return given->bad ? ASX_E_TRACE_CORRUPT : st;
}

/* Who sleeps there for somebody below the step of that turn. */
static void put_asleep(asx__bytes *b, const asx__pool_node *node, uint32_t turn)
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
static void put_node(asx__pool *pool, asx__pool_node *node, uint32_t turn, asx__bytes *b)
{
    asx__branch **end = &node->bets;
    node->touched = false;
    asx__bytes_u32(b, node->depth);
    put_asleep(b, node, turn);
    while (*end != NULL)
        end = &(*end)->next;
    *end = node->rest;
    asx__branch_put_tree(&pool->branches, b, node->bets);
    *end = NULL;
}

/* The lowest node is no longer the pool's. Returns what share of the whole is left there. */
static double give_up(asx__pool *pool, asx__pool_place *place, asx__bytes *b)
{
    asx__pool_node *node = place->node;
    uint64_t len = asx__pool_len(pool);
    double share = len != 0 ? pool->share * count_of(node->rest) / (double)len : 0;
    put_node(pool, node, UINT32_MAX, b);
    /* There: a user less, and one more. */
    *place = (asx__pool_place){ node->parent, node->via, place->share };
    pool->share -= share;
    remove_node(pool, node);
    return share;
}

void asx__pool_tell(asx__pool *pool, asx__pool_place *place, bool back, asx__bytes *told)
{
    asx__bytes nodes = { 0 };
    double share = 0;
    /* Beside his bet there may be one to be taken anew. */
    while (back && !pool->source && place->node != NULL && place->node->users == 1 &&
           place->node->bets == NULL)
        share += give_up(pool, place, &nodes);
    const asx__branch *step = place->step;
    for (asx__pool_node *node = place->node; node != NULL; node = node->parent) {
        if (node->touched)
            put_node(pool, node, step->turn, &nodes);
        step = node->via;
    }
    uint32_t shared = place->node != NULL ? place->node->depth + 1 : 0;
    asx__bytes_u32(told, back && !pool->source ? shared : UINT32_MAX);
    asx__bytes_double(told, share);
    (void)asx__bytes_keep(told, nodes.at, nodes.len);
    told->bad = told->bad || nodes.bad;
    free(nodes.at);
}

/* ---- taking --------------------------------------------------------------------------------- */

static const asx__pool_node *ancestor(const asx__pool_node *node, uint32_t depth)
{
    while (node->depth > depth)
        node = node->parent;
    return node;
}

/* What is taken next there; NULL: nothing. */
static asx__branch **next_of(asx__pool_node *node)
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

/* May something be put below the branch by what came before it, and is not done? See pool.h. */
static bool depends(const asx__pool *pool, const asx__pool_node *node, const asx__branch *branch)
{
    uint32_t turn = branch->turn != 0 ? branch->turn : UINT32_MAX;
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        if (s->busy && s->turn < turn && (!pool->source || s->prints.several) &&
            commute(s, branch))
            return true;
    for (const asx__branch *s = node->bets; s != NULL && s->turn < turn; s = s->next)
        if (!s->busy && commute(s, branch))
            return true;
    return false;
}

/* A bet keeps its tree. */
static asx__branch *keep_bet(asx__pool *pool, asx__pool_node *node, asx__branch *branch)
{
    asx__branch *step = asx__branch_make(&pool->branches, branch->task, branch->choice,
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

static void take_branch(asx__pool *pool, asx__pool_node *node, double share, asx__bytes *work,
                        asx__pool_place *ret_place)
{
    asx__branch **list = next_of(node);
    asx__branch *branch = asx__branch_own(&pool->branches, list);
    if (branch == NULL) {
        work->bad = true;
        return;
    }
    bool bet = depends(pool, node, branch);
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
    asx__branch_put_tree(&pool->branches, work, branch);
    if (bet) {
        branch = keep_bet(pool, node, branch);
        if (branch == NULL) {
            work->bad = true;
            return;
        }
    } else {
        drop(pool, branch->child);
        branch->child = NULL;
    }
    branch->next = node->asleep;
    branch->busy = true;
    node->asleep = branch;
    node->users++;
    *ret_place = (asx__pool_place){ node, branch, share };
}

static asx__pool_node *highest(const asx__pool *pool, bool bet)
{
    asx__pool_node *found = NULL;
    for (asx__pool_node *node = pool->nodes; node != NULL; node = node->next) {
        asx__branch **next = next_of(node);
        if (next != NULL && (found == NULL || node->depth < found->depth) &&
            (bet || !depends(pool, node, *next)))
            found = node;
    }
    return found;
}

bool asx__pool_take(asx__pool *pool, bool bet, asx__bytes *work, asx__pool_place *ret_place)
{
    piece *p = pool->first;
    *ret_place = (asx__pool_place){ NULL, NULL, 0 };
    if (p != NULL) {
        (void)asx__bytes_keep(work, p->bytes, p->len);
        pool->first = p->next;
        if (pool->first == NULL)
            pool->end = &pool->first;
        pool->pieces--;
        free(p);
        return !work->bad;
    }
    asx__pool_node *node = highest(pool, false);
    if (node == NULL && bet && !pool->source)
        node = highest(pool, true);
    if (node == NULL)
        return false;
    double share = pool->share / (double)asx__pool_len(pool);
    pool->share -= share;
    take_branch(pool, node, share, work, ret_place);
    return !work->bad;
}

uint64_t asx__pool_len(const asx__pool *pool)
{
    uint64_t len = pool->pieces;
    for (const asx__pool_node *node = pool->nodes; node != NULL; node = node->next) {
        len += count_of(node->rest);
        for (const asx__branch *s = node->bets; s != NULL; s = s->next)
            len += !s->busy;
    }
    return len;
}

/* ---- being done ----------------------------------------------------------------------------- */

void asx__pool_done(asx__pool *pool, const asx__pool_place *place)
{
    if (place->node == NULL)
        return;
    place->step->busy = false;
    place->node->users--;
    drop_if_done(pool, place->node);
}

/* If there is no other bet at work, what is to be taken anew is like the rest. */
static void fold(asx__pool_node *node)
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

static asx__branch **tree_of(const asx__pool_place *place)
{
    asx__branch **list = &place->node->bets;
    while ((*list)->turn != place->step->turn)
        list = &(*list)->next;
    return list;
}

asx__bet asx__pool_bet(asx__pool *pool, const asx__pool_place *place)
{
    asx__branch *step = place->step;
    if (step == NULL || !step->bet)
        return ASX__BET_WON;
    if (step->lost)
        return ASX__BET_LOST;
    if (step->child != NULL || depends(pool, place->node, step))
        return ASX__BET_OPEN;
    asx__branch **list = tree_of(place), *tree = *list;
    *list = tree->next;
    tree->next = NULL;
    drop(pool, tree);
    step->bet = false;
    fold(place->node);
    return ASX__BET_WON;
}

bool asx__pool_is_late(const asx__pool_place *place)
{
    return place->step != NULL && place->step->bet && place->step->child != NULL;
}

bool asx__pool_late(const asx__pool_place *place, asx__bytes *late)
{
    if (!asx__pool_is_late(place) || place->step->lost || place->step->child->out)
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

void asx__pool_heard(asx__pool *pool, const asx__pool_place *place)
{
    asx__branch **list = &place->step->child;
    while (*list != NULL && (*list)->out) {
        asx__branch *heard = *list;
        *list = heard->next;
        heard->next = NULL;
        drop(pool, heard);
    }
}

void asx__pool_lose(const asx__pool_place *place)
{
    place->step->lost = true;
}

void asx__pool_undo(asx__pool *pool, const asx__pool_place *place)
{
    asx__pool_node *node = place->node;
    asx__branch **list = &node->asleep;
    (*tree_of(place))->busy = false;
    while (*list != place->step)
        list = &(*list)->next;
    *list = place->step->next;
    place->step->next = NULL;
    drop(pool, place->step);
    pool->share += place->share;
    node->users--;
    fold(node);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void rename_all(asx__pool *pool, asx__branch *s, asx__rename_fn *rename, void *ctx,
                       bool *bad)
{
    for (; s != NULL && s->stamp != pool->branches.stamp; s = s->next) {
        s->stamp = pool->branches.stamp;
        s->prints.touched = s->prints.written = 0;
        for (uint32_t i = 0; i < s->prints.len; i++) {
            uint64_t name = rename(ctx, s->memory[i] >> 1), writes = s->memory[i] & 1;
            *bad = *bad || name == 0;
            s->memory[i] = name << 1 | writes;
            s->prints.touched |= asx__print_bit(name);
            s->prints.written |= writes != 0 ? asx__print_bit(name) : 0;
        }
        s->prints.sorted = asx__prints_sort(s->memory, s->prints.len);
        rename_all(pool, s->child, rename, ctx, bad);
    }
}

asx_status asx__pool_rename(asx__pool *pool, asx__rename_fn *rename, void *ctx)
{
    bool bad = false;
    pool->branches.stamp++;
    for (asx__pool_node *node = pool->nodes; node != NULL; node = node->next) {
        rename_all(pool, node->asleep, rename, ctx, &bad);
        rename_all(pool, node->rest, rename, ctx, &bad);
    }
    return bad ? ASX_E_NOT_SUPPORTED : ASX_OK;
}

static uint32_t deepest(const asx__pool *pool)
{
    uint32_t depth = 0;
    for (const asx__pool_node *node = pool->nodes; node != NULL; node = node->next)
        depth = node->depth > depth ? node->depth : depth;
    return depth;
}

void asx__pool_save(asx__pool *pool, asx__bytes *file)
{
    asx__bytes_double(file, pool->share);
    asx__bytes_u64(file, pool->pieces);
    for (const piece *p = pool->first; p != NULL; p = p->next) {
        asx__bytes_u32(file, (uint32_t)p->len);
        (void)asx__bytes_keep(file, p->bytes, p->len);
    }
    uint32_t number = 0, most = deepest(pool);
    for (uint32_t depth = 0; depth <= most; depth++) /* parents first */
        for (asx__pool_node *node = pool->nodes; node != NULL; node = node->next) {
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
            asx__branch_put_tree(&pool->branches, file, node->rest);
        }
    asx__bytes_u32(file, 0);
}

static asx__pool_node *numbered(const asx__pool *pool, uint32_t number)
{
    asx__pool_node *node = pool->nodes;
    while (node != NULL && node->number != number)
        node = node->next;
    return node;
}

asx_status asx__pool_load(asx__pool *pool, asx__reader *file)
{
    pool->share = asx__read_double(file);
    uint64_t pieces = asx__read_u64(file);
    for (uint64_t i = 0; i < pieces && !file->bad; i++) {
        asx__reader part = asx__read_part(file);
        if (!part.bad && asx__pool_put(pool, part.at, part.len) < 0)
            return ASX_E_RESOURCE_EXHAUSTED;
    }
    for (uint32_t number = 1; asx__read_u32(file) == 1 && !file->bad; number++) {
        uint32_t parent = asx__read_u32(file);
        asx__pool_place above = { numbered(pool, parent), NULL, 0 };
        uint32_t task = asx__read_u32(file), choice = asx__read_u32(file);
        if (above.node != NULL)
            above.step = above.node->asleep;
        while (above.step != NULL && (above.step->task != task || above.step->choice != choice))
            above.step = above.step->next;
        if (parent != 0 && above.step == NULL)
            return ASX_E_TRACE_CORRUPT;
        if (above.step != NULL)
            above.step->busy = true;
        asx__pool_node *node = add_node(pool, &above);
        if (node == NULL)
            return ASX_E_RESOURCE_EXHAUSTED;
        node->number = number;
        node->asleep = read_list(pool, file, asx__read_count(file, 16));
        node->rest = asx__branch_read_tree(&pool->branches, file);
    }
    if (pool->branches.failed)
        return ASX_E_RESOURCE_EXHAUSTED;
    return file->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}
