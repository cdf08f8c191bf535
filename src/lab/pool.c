/* pool.c - work that nobody has taken yet (see pool.h).
 *
 * The rule by which a sequence is covered by a step, and how it goes into the tree of a node, is
 * that of dpor_tree.c; here the sequence does not stand in an execution but by itself.
 */
#include "lab/pool.h"

#include "lab/dpor_int.h"

struct asx__pool_node {
    asx__pool_node *parent, *next; /* in the pool */
    asx__branch *asleep; /* list */
    asx__branch *rest; /* tree */
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

/* Does the step cover the sequence, a list? *ret_at: where it is in it, or NULL. */
static bool covers(const asx__pool *pool, asx__branch *sequence, const asx__branch *by,
                   asx__branch **ret_at)
{
    *ret_at = NULL;
    for (asx__branch *s = sequence; s != NULL; s = s->next) {
        if (s->out)
            continue;
        if (s->task == by->task) {
            *ret_at = s;
            return s->choice == by->choice;
        }
        if (asx__prints_conflict(&s->prints, &by->prints))
            return false;
    }
    return !pool->source;
}

static bool is_empty(const asx__branch *sequence)
{
    while (sequence != NULL && sequence->out)
        sequence = sequence->next;
    return sequence == NULL;
}

/* What is left of it, as a chain in a tree (source sets: the first step); frees the others. */
static asx__branch *chain_of(asx__pool *pool, asx__branch *sequence)
{
    asx__branch *first = NULL, **end = &first;
    while (sequence != NULL) {
        asx__branch *next = sequence->next;
        sequence->next = NULL;
        if (sequence->out || (pool->source && first != NULL)) {
            drop(pool, sequence);
        } else {
            *end = sequence;
            end = &sequence->child;
        }
        sequence = next;
    }
    return first;
}

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

/* Owns the sequence. */
static void insert(asx__pool *pool, asx__pool_node *node, asx__branch *sequence)
{
    asx__branch *at;
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        if (covers(pool, sequence, s, &at)) {
            drop(pool, sequence);
            return;
        }
    asx__branch **list = &node->rest;
    asx__branch_begin(&pool->branches);
    while (*list != NULL) {
        if (!covers(pool, sequence, *list, &at)) {
            list = asx__branch_go(&pool->branches, list, false);
            continue;
        }
        if (at != NULL)
            at->out = true;
        if ((*list)->child == NULL || is_empty(sequence)) {
            drop(pool, sequence);
            return;
        }
        list = asx__branch_go(&pool->branches, list, true);
    }
    if (pool->branches.shared)
        list = asx__branch_own_way(&pool->branches, &node->rest);
    asx__branch *chain = chain_of(pool, sequence);
    if (pool->source && chain != NULL)
        list = place_of_answer(node, chain->task, list);
    if (list == NULL) {
        drop(pool, chain);
    } else if (chain != NULL) {
        chain->next = *list;
        *list = chain;
    }
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static void remove_node(asx__pool *pool, asx__pool_node *node)
{
    asx__pool_node **at = &pool->nodes;
    while (*at != node)
        at = &(*at)->next;
    *at = node->next;
    drop(pool, node->asleep);
    drop(pool, node->rest);
    free(node);
}

static void drop_if_done(asx__pool *pool, asx__pool_node *node)
{
    while (node != NULL && node->users == 0 && node->rest == NULL) {
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
        node->asleep = on;
        node->rest = asx__branch_read_tree(&pool->branches, r);
        node->users++;
        if (place->node != NULL)
            place->node->users--;
        *place = (asx__pool_place){ node, on };
    }
    return r->bad ? ASX_E_TRACE_CORRUPT : ASX_OK;
}

static asx_status give_found(asx__pool *pool, const asx__pool_place *place, asx__reader *r)
{
    while (r->len != 0 && !r->bad) {
        uint32_t depth = asx__read_u32(r);
        asx__branch *sequence = read_list(pool, r, asx__read_count(r, 16));
        asx__pool_node *node = place->node;
        while (node != NULL && node->depth > depth)
            node = node->parent;
        if (r->bad || node == NULL || node->depth != depth || sequence == NULL) {
            drop(pool, sequence);
            return ASX_E_TRACE_CORRUPT;
        }
        node->touched = true;
        insert(pool, node, sequence);
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
    for (asx__pool_node *node = pool->nodes; node != NULL; node = node->next)
        asx__branches_share(&pool->branches, &alikes, &node->rest);
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

static void put_node(asx__pool *pool, asx__pool_node *node, asx__bytes *b)
{
    node->touched = false;
    asx__bytes_u32(b, node->depth);
    asx__bytes_u32(b, count_of(node->asleep));
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        put_one(b, s);
    asx__branch_put_tree(&pool->branches, b, node->rest);
}

/* The lowest node is no longer the pool's. Returns what share of the whole is left there. */
static double give_up(asx__pool *pool, asx__pool_place *place, asx__bytes *b)
{
    asx__pool_node *node = place->node;
    uint64_t len = asx__pool_len(pool);
    double share = len != 0 ? pool->share * count_of(node->rest) / (double)len : 0;
    put_node(pool, node, b);
    *place = (asx__pool_place){ node->parent, node->via }; /* there: a user less, and one more */
    pool->share -= share;
    remove_node(pool, node);
    return share;
}

void asx__pool_tell(asx__pool *pool, asx__pool_place *place, bool back, asx__bytes *told)
{
    asx__bytes nodes = { 0 };
    double share = 0;
    while (back && !pool->source && place->node != NULL && place->node->users == 1)
        share += give_up(pool, place, &nodes);
    for (asx__pool_node *node = place->node; node != NULL; node = node->parent)
        if (node->touched)
            put_node(pool, node, &nodes);
    uint32_t shared = place->node != NULL ? place->node->depth + 1 : 0;
    asx__bytes_u32(told, back && !pool->source ? shared : UINT32_MAX);
    asx__bytes_double(told, share);
    (void)asx__bytes_keep(told, nodes.at, nodes.len);
    told->bad = told->bad || nodes.bad;
    free(nodes.at);
}

void asx__pool_done(asx__pool *pool, const asx__pool_place *place)
{
    if (place->node == NULL)
        return;
    place->step->busy = false;
    place->node->users--;
    drop_if_done(pool, place->node);
}

/* ---- taking --------------------------------------------------------------------------------- */

static const asx__pool_node *ancestor(const asx__pool_node *node, uint32_t depth)
{
    while (node->depth > depth)
        node = node->parent;
    return node;
}

static void take_branch(asx__pool *pool, asx__pool_node *node, double share, asx__bytes *work,
                        asx__pool_place *ret_place)
{
    asx__branch *branch = asx__branch_own(&pool->branches, &node->rest);
    if (branch == NULL) {
        work->bad = true;
        return;
    }
    node->rest = branch->next;
    branch->next = NULL;
    asx__bytes_u32(work, ASX__WORK_BRANCH);
    asx__bytes_u32(work, 1);
    asx__bytes_double(work, share);
    asx__bytes_u32(work, node->depth + 1);
    for (uint32_t i = 0; i <= node->depth; i++) {
        const asx__pool_node *at = ancestor(node, i);
        if (i < node->depth) {
            const asx__pool_node *below = ancestor(node, i + 1);
            asx__bytes_u32(work, below->via->task);
            asx__bytes_u32(work, below->via->choice);
            asx__bytes_u32(work, 0);
        }
        asx__bytes_u32(work, count_of(at->asleep));
        for (const asx__branch *s = at->asleep; s != NULL; s = s->next)
            put_one(work, s);
    }
    asx__branch_put_tree(&pool->branches, work, branch);
    drop(pool, branch->child);
    branch->child = NULL;
    branch->next = node->asleep;
    branch->busy = true;
    node->asleep = branch;
    node->users++;
    *ret_place = (asx__pool_place){ node, branch };
}

/* Does nothing sleep below the branch of which something is left to do, and on which it depends?
 * See pool.h. */
static bool is_by_itself(const asx__pool *pool, const asx__pool_node *node,
                         const asx__branch *branch)
{
    for (const asx__branch *s = node->asleep; s != NULL; s = s->next)
        if (s->busy && s->task != branch->task && (!pool->source || s->prints.several) &&
            !asx__prints_conflict(&s->prints, &branch->prints))
            return false;
    return true;
}

static asx__pool_node *highest(const asx__pool *pool)
{
    asx__pool_node *found = NULL;
    for (asx__pool_node *node = pool->nodes; node != NULL; node = node->next)
        if (node->rest != NULL && (found == NULL || node->depth < found->depth) &&
            is_by_itself(pool, node, node->rest))
            found = node;
    return found;
}

bool asx__pool_take(asx__pool *pool, asx__bytes *work, asx__pool_place *ret_place)
{
    piece *p = pool->first;
    *ret_place = (asx__pool_place){ NULL, NULL };
    if (p != NULL) {
        (void)asx__bytes_keep(work, p->bytes, p->len);
        pool->first = p->next;
        if (pool->first == NULL)
            pool->end = &pool->first;
        pool->pieces--;
        free(p);
        return !work->bad;
    }
    asx__pool_node *node = highest(pool);
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
    for (const asx__pool_node *node = pool->nodes; node != NULL; node = node->next)
        len += count_of(node->rest);
    return len;
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
        asx__pool_place above = { numbered(pool, parent), NULL };
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
