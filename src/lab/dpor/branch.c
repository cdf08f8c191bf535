/* branch.c - branches that lists may have in common (see branch.h). */
#include "lab/dpor/branch.h"

/* ---- many prints ---------------------------------------------------------------------------- */

enum { PRINTS_MANY = 16 };

static int compare_words(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return (a > b) - (a < b);
}

bool asx__prints_sort(uint64_t *at, uint32_t len)
{
    if (ASX__LIKELY(len <= PRINTS_MANY))
        return false;
    for (uint32_t i = 1; i < len; i++)
        if (at[i - 1] > at[i]) {
            qsort(at, len, sizeof *at, compare_words);
            break;
        }
    return true;
}

/* Is the name among them, and written there or by who asks? */
static bool conflicts_with(const asx__prints *sorted, uint64_t print)
{
    uint32_t from = 0, to = sorted->len;
    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        if (sorted->at[middle] < (print & ~UINT64_C(1)))
            from = middle + 1;
        else
            to = middle;
    }
    for (; from < sorted->len && (sorted->at[from] ^ print) <= 1; from++)
        if (((sorted->at[from] | print) & 1) != 0)
            return true;
    return false;
}

bool asx__prints_conflict_far(const asx__prints *x, const asx__prints *y)
{
    if (!y->sorted || (x->sorted && x->len > y->len)) {
        const asx__prints *other = x;
        x = y;
        y = other;
    }
    for (uint32_t i = 0; i < x->len; i++)
        if (conflicts_with(y, x->at[i]))
            return true;
    return false;
}

/* ---- room ----------------------------------------------------------------------------------- */

static bool grow(asx__branches *all, void **memory, size_t *cap, size_t need, size_t size)
{
    size_t more = need < 32 ? 32 : need * 2;
    void *larger = realloc(*memory, more * size);
    if (larger == NULL) {
        all->failed = true;
        return false;
    }
    all->bytes += (more - *cap) * size;
    *memory = larger;
    *cap = more;
    return true;
}

#define ROOM(all, vec)                                                                             \
    ((vec).len < (vec).cap ||                                                                      \
     grow((all), (void **)&(vec).at, &(vec).cap, (vec).len + 1, sizeof *(vec).at))

static size_t size_of(uint32_t prints)
{
    uint32_t room = prints > ASX__BRANCH_PRINTS ? prints : ASX__BRANCH_PRINTS;
    return sizeof(asx__branch) + room * sizeof(uint64_t);
}

/* One with room for so many prints, which nobody has written yet. */
static asx__branch *get(asx__branches *all, uint32_t prints)
{
    asx__branch *branch = prints <= ASX__BRANCH_PRINTS ? all->spare : NULL;
    if (branch != NULL) {
        all->spare = branch->next;
    } else {
        branch = malloc(size_of(prints));
        if (branch == NULL) {
            all->failed = true;
            return NULL;
        }
        all->bytes += size_of(prints);
    }
    branch->child = branch->next = NULL;
    branch->refs = 1;
    branch->stamp = 0;
    branch->since = branch->past = branch->turn = 0;
    branch->out = branch->busy = branch->bet = branch->lost = false;
    all->count++;
    return branch;
}

static void put_away(asx__branches *all, asx__branch *branch)
{
    all->count--;
    if (branch->prints.len <= ASX__BRANCH_PRINTS) {
        branch->next = all->spare;
        all->spare = branch;
        return;
    }
    all->bytes -= size_of(branch->prints.len);
    free(branch);
}

void asx__branches_deinit(asx__branches *all)
{
    while (all->spare != NULL) {
        asx__branch *next = all->spare->next;
        free(all->spare);
        all->spare = next;
    }
    free(all->way.at);
    free(all->todo.at);
    free(all->read.at);
}

asx__branch *asx__branch_make(asx__branches *all, uint32_t task, uint32_t choice,
                              const asx__prints *prints)
{
    asx__branch *branch = get(all, prints->len);
    if (branch == NULL)
        return NULL;
    branch->task = task;
    branch->choice = choice;
    branch->prints = *prints;
    branch->prints.at = branch->memory;
    if (prints->len != 0)
        memcpy(branch->memory, prints->at, prints->len * sizeof *prints->at);
    if (!prints->sorted)
        branch->prints.sorted = asx__prints_sort(branch->memory, prints->len);
    return branch;
}

/* ---- who points to what --------------------------------------------------------------------- */

static asx__branch *ref(asx__branch *list)
{
    if (list != NULL)
        list->refs++;
    return list;
}

void asx__branch_drop(asx__branches *all, asx__branch *list)
{
    while (list != NULL) {
        asx__branch *next = list->next;
        if (list->refs > 1) {
            list->refs--;
            return;
        }
        asx__branch_drop(all, list->child);
        put_away(all, list);
        list = next;
    }
}

asx__branch *asx__branch_behead(asx__branches *all, asx__branch **list)
{
    asx__branch *head = *list, *child = head->child;
    *list = head->next;
    if (head->refs == 1) {
        put_away(all, head);
    } else {
        head->refs--;
        (void)ref(*list);
        (void)ref(child);
    }
    return child;
}

asx__branch *asx__branch_own(asx__branches *all, asx__branch **list)
{
    asx__branch *branch = *list;
    if (branch->refs == 1)
        return branch;
    asx__branch *copy = asx__branch_make(all, branch->task, branch->choice, &branch->prints);
    if (copy == NULL)
        return NULL;
    copy->child = ref(branch->child);
    copy->next = ref(branch->next);
    branch->refs--;
    *list = copy;
    return copy;
}

void asx__branch_begin(asx__branches *all)
{
    all->way.len = 0;
}

asx__branch **asx__branch_go(asx__branches *all, asx__branch **list, bool below)
{
    if (all->shared && ROOM(all, all->way))
        all->way.at[all->way.len++] = below;
    return below ? &(*list)->child : &(*list)->next;
}

asx__branch **asx__branch_own_way(asx__branches *all, asx__branch **list)
{
    for (size_t i = 0; i < all->way.len; i++) {
        asx__branch *branch = asx__branch_own(all, list);
        if (branch == NULL)
            return NULL;
        list = all->way.at[i] ? &branch->child : &branch->next;
    }
    return all->failed ? NULL : list;
}

/* ---- sequences by themselves ---------------------------------------------------------------- */

bool asx__sequence_is_empty(const asx__branch *sequence)
{
    while (sequence != NULL && sequence->out)
        sequence = sequence->next;
    return sequence == NULL;
}

bool asx__sequence_is_covered(asx__branch *sequence, const asx__branch *by, bool source,
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
    return !source;
}

asx__branch **asx__sequence_place(asx__branches *all, asx__branch **tree, asx__branch *sequence,
                                  bool source)
{
    asx__branch **list = tree, *at;
    asx__branch_begin(all);
    while (*list != NULL) {
        if (!asx__sequence_is_covered(sequence, *list, source, &at)) {
            list = asx__branch_go(all, list, false);
            continue;
        }
        if (at != NULL)
            at->out = true;
        if ((*list)->child == NULL || asx__sequence_is_empty(sequence))
            return NULL;
        list = asx__branch_go(all, list, true);
    }
    return all->shared ? asx__branch_own_way(all, tree) : list;
}

asx__branch *asx__sequence_chain(asx__branches *all, asx__branch *sequence, bool source)
{
    asx__branch *first = NULL, **end = &first;
    while (sequence != NULL) {
        asx__branch *next = sequence->next;
        sequence->next = NULL;
        if (sequence->out || (source && first != NULL)) {
            asx__branch_drop(all, sequence);
        } else {
            *end = sequence;
            end = &sequence->child;
        }
        sequence = next;
    }
    return first;
}

/* ---- those that are alike ------------------------------------------------------------------- */

/* Their lists are the same, not only alike. */
static bool are_alike(const asx__branch *x, const asx__branch *y)
{
    return x->child == y->child && x->next == y->next && x->task == y->task &&
           x->choice == y->choice && x->prints.len == y->prints.len &&
           x->prints.all == y->prints.all && x->prints.several == y->prints.several &&
           memcmp(x->memory, y->memory, x->prints.len * sizeof *x->memory) == 0;
}

static uint64_t hash_of(const asx__branch *b)
{
    uint64_t words[] = { (uintptr_t)b->child, (uintptr_t)b->next,
                         (uint64_t)b->task << 32 | b->choice };
    return asx__hash_words(asx__hash_words(0, b->memory, b->prints.len), words, 3);
}

bool asx__branches_begin(asx__branches *all, asx__alikes *ret_alikes)
{
    size_t cap = 64;
    while (cap < 2 * all->count)
        cap *= 2;
    *ret_alikes = (asx__alikes){ calloc(cap, sizeof *ret_alikes->at), cap - 1 };
    all->stamp++;
    return ret_alikes->at != NULL;
}

void asx__branches_end(asx__branches *all, asx__alikes *alikes)
{
    free(alikes->at);
    all->share_at = ASX__SHARE_FROM != 0 ? 2 * all->count : 0;
    all->shared = true;
}

/* One whose lists have been gone over. */
static void join_alike(asx__branches *all, const asx__alikes *alikes, asx__branch **list)
{
    asx__branch *branch = *list;
    size_t at = (size_t)hash_of(branch) & alikes->mask;
    while (alikes->at[at] != NULL && !are_alike(alikes->at[at], branch))
        at = (at + 1) & alikes->mask;
    asx__branch *first = alikes->at[at];
    if (first == NULL) {
        alikes->at[at] = branch;
        branch->stamp = all->stamp;
        return;
    }
    *list = ref(first);
    if (--branch->refs != 0)
        return; /* others point to it, and will come here */
    if (branch->child != NULL)
        branch->child->refs--;
    if (branch->next != NULL)
        branch->next->refs--;
    put_away(all, branch);
}

void asx__branches_share(asx__branches *all, const asx__alikes *alikes, asx__branch **list)
{
    all->todo.len = 0;
    if (!ROOM(all, all->todo))
        return;
    all->todo.at[all->todo.len++] = list;
    while (all->todo.len != 0) {
        asx__branch **at = all->todo.at[all->todo.len - 1], *branch = *at;
        asx__branch **first = NULL;
        if (branch == NULL || branch->stamp == all->stamp) {
            all->todo.len--;
            continue;
        }
        if (branch->next != NULL && branch->next->stamp != all->stamp)
            first = &branch->next;
        else if (branch->child != NULL && branch->child->stamp != all->stamp)
            first = &branch->child;
        if (first == NULL) {
            join_alike(all, alikes, at);
            all->todo.len--;
        } else if (ROOM(all, all->todo)) {
            all->todo.at[all->todo.len++] = first;
        } else {
            return;
        }
    }
}

/* ---- as bytes ------------------------------------------------------------------------------- */

enum { TREE_END, TREE_BRANCH, TREE_AGAIN }; /* AGAIN: a list that was there, by its first branch */

void asx__branch_put(asx__bytes *b, uint32_t task, uint32_t choice, const asx__prints *prints)
{
    asx__bytes_u32(b, task);
    asx__bytes_u32(b, choice);
    asx__bytes_u32(b, (uint32_t)prints->all | (uint32_t)prints->several << 1);
    asx__bytes_u32(b, prints->len);
    for (uint32_t i = 0; i < prints->len; i++)
        asx__bytes_u64(b, prints->at[i]);
}

static void put_list(const asx__branches *all, asx__bytes *b, asx__branch *list, uint32_t *number)
{
    for (; list != NULL; list = list->next) {
        if (list->stamp == all->stamp) {
            asx__bytes_u32(b, TREE_AGAIN);
            asx__bytes_u32(b, list->number);
            return;
        }
        list->stamp = all->stamp;
        list->number = (*number)++;
        asx__bytes_u32(b, TREE_BRANCH);
        asx__branch_put(b, list->task, list->choice, &list->prints);
        put_list(all, b, list->child, number);
    }
    asx__bytes_u32(b, TREE_END);
}

void asx__branch_put_tree(asx__branches *all, asx__bytes *b, asx__branch *list)
{
    uint32_t number = 0;
    all->stamp++;
    put_list(all, b, list, &number);
}

asx__branch *asx__branch_read(asx__branches *all, asx__reader *r)
{
    uint32_t task = asx__read_u32(r), choice = asx__read_u32(r), flags = asx__read_u32(r);
    uint32_t len = asx__read_count(r, 8);
    asx__branch *branch = r->bad ? NULL : get(all, len);
    if (branch == NULL) {
        r->bad = true;
        return NULL;
    }
    branch->task = task;
    branch->choice = choice;
    branch->prints = (asx__prints){ branch->memory, len, (flags & 1) != 0, 0, 0,
                                    (flags & 2) != 0, false };
    for (uint32_t i = 0; i < len; i++) {
        branch->memory[i] = asx__read_u64(r);
        uint64_t bit = asx__print_bit(branch->memory[i] >> 1);
        branch->prints.touched |= bit;
        branch->prints.written |= (branch->memory[i] & 1) != 0 ? bit : 0;
    }
    branch->prints.sorted = asx__prints_sort(branch->memory, len);
    return branch;
}

/* A list that has been read to its end. */
static asx__branch *read_again(asx__branches *all, asx__reader *r)
{
    uint32_t number = asx__read_u32(r);
    if (r->bad || number >= all->read.len || all->read.at[number]->stamp != all->stamp) {
        r->bad = true;
        return NULL;
    }
    all->shared = true;
    return ref(all->read.at[number]);
}

static asx__branch *read_list(asx__branches *all, asx__reader *r)
{
    asx__branch *first = NULL, **end = &first;
    uint32_t what;
    while ((what = asx__read_u32(r)) == TREE_BRANCH && !r->bad) {
        if (!ROOM(all, all->read))
            r->bad = true;
        *end = asx__branch_read(all, r);
        if (*end == NULL)
            break;
        all->read.at[all->read.len++] = *end;
        (*end)->child = read_list(all, r);
        end = &(*end)->next;
    }
    if (what == TREE_AGAIN && !r->bad)
        *end = read_again(all, r);
    r->bad = r->bad || what > TREE_AGAIN;
    for (asx__branch *b = first; b != NULL && b->stamp != all->stamp; b = b->next)
        b->stamp = all->stamp;
    return first;
}

asx__branch *asx__branch_read_tree(asx__branches *all, asx__reader *r)
{
    all->read.len = 0;
    all->stamp++;
    return read_list(all, r);
}
