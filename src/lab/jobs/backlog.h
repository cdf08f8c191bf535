/* backlog.h - what is left to do of an exploration, in pieces that anybody can take.
 *
 * Plans and prefixes are kept as they were given, and taken in that order by as many as there are.
 * For programs whose operations access several objects it keeps a tree: nodes with who sleeps there
 * and what is left to try. A step sleeps at its node as soon as it is taken; it is *busy* as long
 * as somebody is at work below it, or something is left there.
 *
 * What sleeps below a branch is left to the branch that went first, and what that one finds it
 * hands back, to its node or below. If the later one has begun by then, it comes too late. So those
 * branches are taken first that conflict with every busy step that sleeps at their node. Then
 * nothing that is busy sleeps below such a one: it is on its own, and what it covers can be
 * forgotten, whoever finds it and however late. The branches of a node are taken in their order,
 * which decides what was put below which; of the nodes the highest is, which has most below it.
 *
 * Other branches are taken as a *bet*: that nothing which belongs below them will be found too
 * late. What is found is told to him who is at work there. It is too late if a step covers it below
 * which he has done everything, or if he is gone: then the bet is lost. It is won when nothing is
 * busy any more on which it depends, which came before it and does not conflict with it. The tree
 * of a bet is kept. Until it is won
 * - what it has done does not count: who was at work gives none of it away, what he reports is put
 *   aside, and when the bet is lost he stops and its tree is taken anew, before the rest;
 * - to those who came before it, it does not sleep: it is among what is left to try.
 * What was found for the nodes above it is true in any case. Who came first is told by the *turn*
 * of a step; a bet that is lost keeps its own.
 *
 * Source sets: nothing is ever put below a branch, and a step that sleeps, busy or not, stands for
 * all that begins with it; so branches can be taken as they come. Only a step that can go in
 * several ways is waited for: the others of its answers, which have to be tried next, may not have
 * been found yet. How many executions are given up depends on who was first where.
 *
 * A node is forgotten when nothing is left there, nobody is at work below it, and it has no nodes
 * below it.
 */
#ifndef ASX_LAB_JOBS_BACKLOG_H
#define ASX_LAB_JOBS_BACKLOG_H

#include "base/bytes.h"

typedef struct asx__backlog asx__backlog;
typedef struct asx__backlog_node asx__backlog_node;

/* Where somebody is at work: below a step of a node; NULL: not below a node. */
typedef struct asx__backlog_place {
    asx__backlog_node *node;
    struct asx__branch *step;
    double share;      /* of the whole, as it was taken */
} asx__backlog_place;

typedef enum asx__bet {
    ASX__BET_WON,      /* or it was none */
    ASX__BET_OPEN,
    ASX__BET_LOST
} asx__bet;

/* `source`: sequences of one step (source sets). NULL: no memory. */
asx__backlog *asx__backlog_create(bool source);
void asx__backlog_destroy(asx__backlog *backlog);
/* Something to do, as it stands. */
asx_status asx__backlog_put(asx__backlog *backlog, const void *work, size_t len);
/* What somebody at work there has given; where he is from now on. ASX_E_TRACE_CORRUPT,
 * ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__backlog_give(asx__backlog *backlog, asx__backlog_place *place, asx__reader *given);
/* What has changed because of what was given, for asx__dpor_hear(). `back`: the nodes above him at
 * which nobody else is at work become his own; then he must have given all that he found. */
void asx__backlog_tell(asx__backlog *backlog, asx__backlog_place *place, bool back,
                       asx__bytes *told);
/* He is done there. */
void asx__backlog_done(asx__backlog *backlog, const asx__backlog_place *place);
/* The next piece of work, appended to `work`, and where it is; a bet if there is nothing else, and
 * if that may be. False: there is none, or no memory (the bytes are bad). */
bool asx__backlog_take(asx__backlog *backlog, bool bet, asx__bytes *work,
                       asx__backlog_place *ret_place);
/* How his bet stands. After anybody has given something or is done. */
asx__bet asx__backlog_bet(asx__backlog *backlog, const asx__backlog_place *place);
/* What was found for his bet since it began, for asx__dpor_hear_late(); it is open until he has
 * heard that. False: nothing, or he has not answered yet. */
bool asx__backlog_late(const asx__backlog_place *place, asx__bytes *late);
void asx__backlog_heard(asx__backlog *backlog, const asx__backlog_place *place);
/* There is something that he has not heard. */
bool asx__backlog_is_late(const asx__backlog_place *place);
/* It is called off. */
void asx__backlog_lose(const asx__backlog_place *place);
/* It is lost, and he is no longer there. */
void asx__backlog_undo(asx__backlog *backlog, const asx__backlog_place *place);
/* How many pieces could be taken. */
uint64_t asx__backlog_len(const asx__backlog *backlog);
/* All that is left, while nobody is at work. */
void asx__backlog_save(asx__backlog *backlog, asx__bytes *file);
/* Into an empty backlog. ASX_E_TRACE_CORRUPT, ASX_E_RESOURCE_EXHAUSTED. */
asx_status asx__backlog_load(asx__backlog *backlog, asx__reader *file);
/* Other names for all objects. ASX_E_NOT_SUPPORTED: one has none (0), and the backlog is spoilt. */
typedef uint64_t asx__rename_fn(void *ctx, uint64_t name);
asx_status asx__backlog_rename(asx__backlog *backlog, asx__rename_fn *rename, void *ctx);

#endif
