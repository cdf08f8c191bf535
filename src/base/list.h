/* list.h - circular doubly linked lists with a sentinel; nodes are embedded at offset 0.
 *
 * An empty list's head points to itself, so insert and remove have no branches and a node can be
 * removed without knowing the list it is in.
 */
#ifndef ASX_BASE_LIST_H
#define ASX_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

typedef struct asx__node {
    struct asx__node *next;
    struct asx__node *prev;
} asx__node;

static inline void asx__list_init(asx__node *head)
{
    head->next = head;
    head->prev = head;
}

static inline bool asx__list_empty(const asx__node *head)
{
    return head->next == head;
}

static inline void asx__list_insert_before(asx__node *at, asx__node *node)
{
    asx__node *prev = at->prev;
    node->next = at;
    node->prev = prev;
    prev->next = node;
    at->prev = node;
}

static inline void asx__list_push_back(asx__node *head, asx__node *node)
{
    asx__list_insert_before(head, node);
}

static inline void asx__list_push_front(asx__node *head, asx__node *node)
{
    asx__list_insert_before(head->next, node);
}

static inline void asx__list_remove(asx__node *node)
{
    asx__node *next = node->next;
    asx__node *prev = node->prev;
    prev->next = next;
    next->prev = prev;
}

/* Takes out the first node of a list that is not empty. The same as asx__list_remove(), but where
 * it writes does not depend on what the node says, which a processor can use. */
static inline asx__node *asx__list_pop_front(asx__node *head)
{
    asx__node *node = head->next;
    asx__node *next = node->next;
    head->next = next;
    next->prev = head;
    return node;
}

#endif
