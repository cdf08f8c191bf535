/* foata.h - a trace up to the order of what commutes: its Foata normal form.
 *
 * Words
 *   resource   where two events can meet: a task, a region, an obligation, a timer, a lock; of a
 *              channel its two ends, each of its slots, and whether it is open
 *   depend     two events that access a common resource, and one of them writes
 *   layer      an event is in layer 1 + the largest layer of the earlier events it depends on
 *   name       of an object: which task created it, and as which of its kind. Serial numbers count
 *              creations of all tasks, so they change with the schedule; names do not.
 *
 * A cell, and what else only a lab test accesses, is created by no task: its name is an access, by
 * the task that did it and as which of its own. An access of a cell writes it or reads it.
 *
 * Two traces have the same normal form iff they have the same events and order those that depend on
 * each other in the same way. Which task was switched to when (task-run, task-park, task-wake,
 * task-yield) is the schedule, not what the program did, and is left out, as is the seed. But a
 * task that is woken goes on after what its waker has done.
 *
 * An event writes the task that did it and the object it is about. Starting and ending a task reads
 * its region, so that tasks of one region commute. The k-th message of a channel of c slots writes
 * one end of it and slot k mod c, so that a send commutes with receives of other slots; that is why
 * it is left out how many messages there were then. An advance of the clock depends on everything.
 */
#ifndef ASX_TRACE_FOATA_H
#define ASX_TRACE_FOATA_H

#include <asx/trace.h>

typedef struct asx__foata_item {
    uint64_t layer; /* from 1 */
    uint64_t seq;   /* of the event in its trace */
    char *text;     /* with names instead of numbers */
} asx__foata_item;

/* Items by layer, then by text. */
typedef struct asx__foata {
    asx__foata_item *items;
    size_t len, cap;
    uint64_t layers;
} asx__foata;

/* Reads the trace to its end. ASX_E_TRACE_CORRUPT, ASX_E_RESOURCE_EXHAUSTED: nothing is made. */
ASX_MUST_USE asx_status asx__foata_make(asx_trace_reader *reader, asx__foata *ret);
void asx__foata_deinit(asx__foata *foata);

#endif
