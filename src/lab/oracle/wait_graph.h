/* wait_graph.h - who waits for whom, to find those that wait in a circle.
 *
 * Nodes are numbers. Each is begun in turn, and then it is said for whom it waits. These may be
 * several: all who are in a region that is to be closed, or those of whom one has to give something
 * back.
 */
#ifndef ASX_LAB_ORACLE_WAIT_GRAPH_H
#define ASX_LAB_ORACLE_WAIT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct asx__wait_graph {
    uint32_t *first;   /* by node: where those begin that it waits for; and where the last end */
    uint32_t *to;
    uint32_t nodes, begun;
    size_t to_len, to_cap;
} asx__wait_graph;

/* False: no memory. */
bool asx__wait_graph_init(asx__wait_graph *g, uint32_t nodes);
void asx__wait_graph_deinit(asx__wait_graph *g);
/* The next node, from 0. */
void asx__wait_graph_begin(asx__wait_graph *g);
/* The node that was begun last waits for this one. For itself only if there is nobody else: who has
 * some permits and waits for more can get them from others. For want of memory it is left out. */
void asx__wait_graph_add(asx__wait_graph *g, uint32_t to);

/* Those that a node waits for. */
static inline const uint32_t *asx__wait_graph_of(const asx__wait_graph *g, uint32_t node,
                                                 uint32_t *ret_len)
{
    *ret_len = g->first[node + 1] - g->first[node];
    return g->to + g->first[node];
}

/* Nodes each of which waits for the next, and the last for the first: free(). NULL: there are
 * none, or no memory. All nodes have been begun. */
uint32_t *asx__wait_graph_circle(const asx__wait_graph *g, uint32_t *ret_len);

#endif
