/* branch.h - branches: steps to try, with what must follow, as trees of an engine or a backlog.
 *
 *   child   what must follow: a list of branches, of which each begins with that step
 *   next    what else there is to try at the same place
 *
 * Trees of different nodes, and different places of one tree, mostly say the same of what they have
 * in common: if each of many tasks may come before a cancellation or after it, whatever the others
 * do, then a tree that says so has as many ends as there are sets of tasks, but only a few branches
 * that differ. So a list can be part of several: `refs` says of how many. To add something to one
 * of them, what is on the way to it is copied. What is alike is looked for when there are twice as
 * many branches as there were when that was last done; so it costs no more than to make them.
 */
#ifndef ASX_LAB_DPOR_BRANCH_H
#define ASX_LAB_DPOR_BRANCH_H

#include "base/assert.h"
#include "base/hash.h"
#include "base/bytes.h"

/* A footprint: which objects, name * 2 + writes. The masks have a bit per name, by hash; if there
 * are many that says little, and they are sorted where they need not be in their order. */
typedef struct asx__prints {
    const uint64_t *at;
    uint32_t len;
    bool all;
    uint64_t touched, written;
    bool several;              /* it can go in several ways */
    bool sorted;
} asx__prints;

/* True: there are so many that they are sorted now. */
bool asx__prints_sort(uint64_t *at, uint32_t len);
/* One of them is sorted. */
bool asx__prints_conflict_far(const asx__prints *x, const asx__prints *y);

static inline uint64_t asx__print_bit(uint64_t name)
{
    return UINT64_C(1) << (name * ASX__HASH_M1 >> 58);
}

static inline bool asx__prints_conflict(const asx__prints *x, const asx__prints *y)
{
    if (x->all || y->all)
        return true;
    if (((x->touched & y->written) | (x->written & y->touched)) == 0)
        return false;
    if (ASX__UNLIKELY(x->sorted || y->sorted))
        return asx__prints_conflict_far(x, y);
    for (uint32_t i = x->len; i-- > 0;) /* if there are many, that is sooner found from behind */
        for (uint32_t k = y->len; k-- > 0;)
            if ((x->at[i] ^ y->at[k]) <= 1 && ((x->at[i] | y->at[k]) & 1) != 0)
                return true;
    return false;
}

/* A step to try, with what comes after it; or one that was tried. Most have room for so many
 * prints; these are used again. */
#define ASX__BRANCH_PRINTS 10
typedef struct asx__branch {
    struct asx__branch *child, *next;
    uint32_t task, choice;
    uint32_t refs;             /* how many point to it: one, if nobody shares it */
    uint32_t number;           /* of who goes over all of them, ... */
    uint64_t stamp;            /* ... and whether he was here */
    bool out;                  /* of a sequence by itself: it was found in a tree; of what came
                                  late for a bet of the backlog: it was told */
    bool busy;                 /* of the backlog: somebody is at work below it, or something is
                                  left */
    bool bet, lost;            /* of the backlog: see backlog.h */
    uint32_t since, past;      /* of an engine, asleep: the node where it was done; where in
                                  asx__dpor.pasts, + 1, it is what it came after; 0: not known */
    uint32_t turn;             /* of the backlog: when it was first taken at its node; 0: it was
                                  not */
    asx__prints prints;        /* its `at` follows */
    uint64_t memory[];
} asx__branch;

/* Fewer are not worth it: of an engine; of the backlog, which tells others of them. The tests
 * lab-classes-trees and lab-dpor-shared have 0: each time. */
#ifndef ASX__SHARE_FROM
#define ASX__SHARE_FROM 2048
#endif
#define ASX__SHARE_FROM_BACKLOG (ASX__SHARE_FROM / 32)

/* Zeroed: none. */
typedef struct asx__branches {
    asx__branch *spare;        /* for later use, linked by `next` */
    uint64_t count, bytes;
    uint64_t share_at;         /* from so many on, what is alike is looked for */
    uint64_t stamp;
    bool shared;               /* some may have several that point to them */
    bool failed;               /* no memory */
    struct {
        uint8_t *at;
        size_t len, cap;
    } way;                     /* scratch: from the beginning of a list; below, or beside */
    struct {
        asx__branch ***at;
        size_t len, cap;
    } todo;                    /* scratch: lists that are gone over */
    struct {
        asx__branch **at;
        size_t len, cap;
    } read;                    /* scratch: those of a tree that is read */
} asx__branches;

/* What is spare, and scratch. */
void asx__branches_deinit(asx__branches *all);

/* NULL: no memory, here and below, and `failed` says so. */
asx__branch *asx__branch_make(asx__branches *all, uint32_t task, uint32_t choice,
                              const asx__prints *prints);
/* One less points to the list. */
void asx__branch_drop(asx__branches *all, asx__branch *list);
/* The first of the list goes: what was beside it stays in *list, what was below it is returned. */
asx__branch *asx__branch_behead(asx__branches *all, asx__branch **list);
/* The first of the list, which nobody shares from now on. */
asx__branch *asx__branch_own(asx__branches *all, asx__branch **list);

/* A way through a tree, to a place where something is added: begins, and goes on from the first of
 * the list to what is below it or beside it. */
void asx__branch_begin(asx__branches *all);
asx__branch **asx__branch_go(asx__branches *all, asx__branch **list, bool below);
/* Where it ended, and nobody shares what is on the way. */
asx__branch **asx__branch_own_way(asx__branches *all, asx__branch **list);

/* A sequence that stands by itself, not in an execution, is a list; what is `out` does not belong
 * to it any more. The rules are those of tree.c. `source`: what would follow is not known. */
bool asx__sequence_is_empty(const asx__branch *sequence);
/* Does the step cover it? *ret_at: where it is in it, or NULL. */
bool asx__sequence_is_covered(asx__branch *sequence, const asx__branch *by, bool source,
                              asx__branch **ret_at);
/* Goes along what covers it in the tree. Where the rest of it belongs; NULL: the tree has it, or no
 * memory. */
asx__branch **asx__sequence_place(asx__branches *all, asx__branch **tree, asx__branch *sequence,
                                  bool source);
/* What is left of it, as a chain in a tree (`source`: the first step); frees the others. */
asx__branch *asx__sequence_chain(asx__branches *all, asx__branch *sequence, bool source);

/* Are there so many that it is time to look for those that are alike? Then: begin, the trees, end.
 * Without memory nothing is shared. */
static inline bool asx__branches_are_many(const asx__branches *all)
{
    return all->count + 1 > ASX__SHARE_FROM && all->count >= all->share_at;
}
typedef struct asx__alikes {
    asx__branch **at;
    size_t mask;
} asx__alikes;
bool asx__branches_begin(asx__branches *all, asx__alikes *ret_alikes);
void asx__branches_share(asx__branches *all, const asx__alikes *alikes, asx__branch **list);
void asx__branches_end(asx__branches *all, asx__alikes *alikes);

/* As bytes: what is in several places of a tree is there once. */
void asx__branch_put(asx__bytes *b, uint32_t task, uint32_t choice, const asx__prints *prints);
void asx__branch_put_tree(asx__branches *all, asx__bytes *b, asx__branch *list);
asx__branch *asx__branch_read(asx__branches *all, asx__reader *r);
/* NULL: it is empty, or the reader is bad, or no memory. */
asx__branch *asx__branch_read_tree(asx__branches *all, asx__reader *r);

#endif
