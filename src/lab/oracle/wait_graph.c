/* wait_graph.c - see wait_graph.h. Depth first: a circle is closed by who waits for somebody that
 * is on the way to it. */
#include "lab/oracle/wait_graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

bool asx__wait_graph_init(asx__wait_graph *g, uint32_t nodes)
{
    memset(g, 0, sizeof *g);
    g->nodes = nodes;
    g->first = calloc((size_t)nodes + 1, sizeof *g->first);
    return g->first != NULL;
}

void asx__wait_graph_deinit(asx__wait_graph *g)
{
    free(g->first);
    free(g->to);
    memset(g, 0, sizeof *g);
}

void asx__wait_graph_begin(asx__wait_graph *g)
{
    ASX__ASSERT(g->begun < g->nodes);
    g->begun++;
    g->first[g->begun] = (uint32_t)g->to_len;
}

void asx__wait_graph_add(asx__wait_graph *g, uint32_t to)
{
    uint32_t self = g->begun - 1, from = g->first[self];
    ASX__ASSERT(to < g->nodes);
    for (size_t i = from; i < g->to_len; i++)
        if (g->to[i] == to)
            return;
    if (g->to_len > from && to == self)
        return;
    if (g->to_len == (size_t)from + 1 && g->to[from] == self) {
        g->to[from] = to;
        return;
    }
    if (g->to_len == g->to_cap) {
        size_t cap = g->to_cap != 0 ? g->to_cap * 2 : 16;
        uint32_t *larger = realloc(g->to, cap * sizeof *larger);
        if (larger == NULL)
            return;
        g->to = larger;
        g->to_cap = cap;
    }
    g->to[g->to_len++] = to;
    g->first[g->begun] = (uint32_t)g->to_len;
}

typedef struct walk {
    uint32_t *path, len;
    uint32_t *next; /* by node: whom to go to next */
    uint32_t *place; /* by node: its place on the path + 1; 0: it was not come to */
} walk;

static void come_to(walk *w, const asx__wait_graph *g, uint32_t node)
{
    w->path[w->len++] = node;
    w->next[node] = g->first[node];
    w->place[node] = w->len;
}

/* Where on the path a circle begins that it ends with; UINT32_MAX: nobody that can be come to from
 * here waits in one. */
static uint32_t find(walk *w, const asx__wait_graph *g)
{
    while (w->len != 0) {
        uint32_t node = w->path[w->len - 1];
        if (w->next[node] == g->first[node + 1]) {
            w->place[node] = UINT32_MAX; /* done with */
            w->len--;
            continue;
        }
        uint32_t to = g->to[w->next[node]++];
        if (w->place[to] == 0)
            come_to(w, g, to);
        else if (w->place[to] != UINT32_MAX)
            return w->place[to] - 1;
    }
    return UINT32_MAX;
}

uint32_t *asx__wait_graph_circle(const asx__wait_graph *g, uint32_t *ret_len)
{
    walk w = { .len = 0 };
    uint32_t from = UINT32_MAX;
    ASX__ASSERT(g->begun == g->nodes);
    w.path = calloc((size_t)g->nodes * 3 + 1, sizeof *w.path);
    if (w.path == NULL)
        return NULL;
    w.next = w.path + g->nodes;
    w.place = w.next + g->nodes;
    for (uint32_t node = 0; node < g->nodes && from == UINT32_MAX; node++) {
        if (w.place[node] != 0)
            continue;
        come_to(&w, g, node);
        from = find(&w, g);
    }
    if (from == UINT32_MAX) {
        free(w.path);
        return NULL;
    }
    *ret_len = w.len - from;
    memmove(w.path, w.path + from, *ret_len * sizeof *w.path);
    return w.path;
}
