/* What the reference keeps of a program that it runs; see support_reference.h. */
#ifndef TESTS_LAB_CLASSES_MODEL_H
#define TESTS_LAB_CLASSES_MODEL_H

#include "support_reference.h"

enum {
    HELD_TX = 1,
    HELD_MUTEX = 2, /* and 4 */
    HELD_READ = 8,
    HELD_WRITE = 16,
    HELD_UNITS = 32,
    HELD_PERMIT = 64,
    HELD_RECEIVER = 128, /* of the broadcast */
    HELD_ANSWER = 256
};
enum { BEFORE, ALIVE, LEAVING, ENDED }; /* a task */
enum { NOBODY = 255 };

/* How a step ended: part of the event. */
enum { DONE, FAILED, TOLD, CLOSED, WHOLE /* a wait, at once */, ANSWER };

typedef struct queue {
    uint8_t tail, head, claims, closed;
    uint8_t message[REF_QUEUE];
} queue;

/* Who comes gets a ticket; the first that waits is served. */
enum { WAITS = 1, SERVED, LEFT };

typedef struct line {
    uint8_t came, stored; /* a notification; of a barrier: how many came when it was last full */
    uint8_t ticket[REF_TICKETS];
} line;

/* Of the first message that it has not received. */
typedef struct reader {
    uint8_t next, gone;
} reader;

typedef struct task {
    uint8_t phase, pc, part; /* part of a step that has two */
    uint16_t held;
    uint8_t units;
    uint8_t flag, masked, chosen, faulty;
    uint8_t came; /* when it did its last step */
    uint8_t ticket;
    uint8_t scope, closed; /* who it has started and waits for, or 0; its own region is closed */
    uint8_t raced;         /* likewise in a race that is over, and nothing has looked since */
    uint8_t beside;        /* who is the first in its region: how many others are there */
    uint8_t spared;        /* likewise: deadlines of those who were cancelled when it was opened */
    uint8_t due;           /* when the region that it has opened is late; 0: never */
    uint8_t stopped;       /* likewise: nobody is started there any more */
    uint8_t places;        /* likewise: how many are there */
    uint8_t limited;       /* where it lives, if there is room for one only */
    uint8_t shield, bare;  /* likewise; the last region whose shield was down */
    uint8_t pledge, gone;  /* likewise: what is promised in the region inside; it is closed */
    uint8_t links, failed, told;
    uint8_t version;       /* of the watch that it has seen */
    uint64_t seen;
} task;

typedef struct state {
    task task[REF_TASKS];
    queue one, many;
    uint8_t cell[2], mutex[2];
    uint8_t readers, writer, requests, units, senders;
    uint8_t now, epochs;
    line line[3];             /* condition, notify, barrier */
    uint8_t once;             /* 0, who runs it + 2, 1: done */
    uint8_t answer, answered; /* oneshot: its value; 1: sent, 2: sender gone, 4: nobody receives */
    uint8_t version, watch_closed;
    uint8_t sent, broadcast_closed, counted;
    uint8_t message[REF_QUEUE];
    reader reader[REF_TASKS + 1];
} state;

/* A step that was done. */
typedef struct event {
    int len;
    struct {
        uint8_t object;
        bool writes;
    } access[REF_OBJECTS];
    uint8_t label;
} event;

typedef struct walk {
    const ref_program *p;
    int blind;
    bool permits, cancels, ends; /* the end of a task is an event */
    bool late;                   /* who runs in a region starts others there */
    ref_count count;
} walk;

void ref_access(event *e, int object, bool writes);
void ref_see(task *t, unsigned value);

/* The steps of support_objects.c; false: not now. */
bool ref_operate_object(const walk *w, state *s, int number, ref_step step, event *e);
/* This step, or what the initializer of a once does in it. */
ref_step ref_within(const task *t, ref_step step);
/* To the next part of a once; false: it is over. */
bool ref_advance_once(task *t, ref_step step, int label);
/* Waits in a line, and may be told to leave it. */
bool ref_waits_in_line(const task *t, int op);
/* It has used up its end of the oneshot, and does nothing. */
bool ref_is_idle(const state *s, ref_step step);

/* The steps of support_scopes.c. */
bool ref_operate_scope(const walk *w, state *s, int number, ref_step step, event *e);
bool ref_is_scope(int op);
/* Sets its flag, and what it has opened is cancelled with it. */
void ref_cancel(state *s, int number, event *e);
void ref_end(const walk *w, state *s, int number, event *e);
/* The deadline of what it has opened; false: not now. */
bool ref_passes(const walk *w, state *s, int number, event *e);
bool ref_race_is_over(const state *s, const task *t, ref_step step);
bool ref_race_has_told(const task *t);
bool ref_waits_for_first(const task *t, int op);

#endif
