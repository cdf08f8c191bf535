/* remote_wait.pml - a task of one shard waits in an object that tasks of others use.
 *
 * The object has a latch and a list. A waiter links itself under the latch, with its shard held,
 * and parks; its shard is left after the switch. A waker of another shard takes it off the list
 * under the latch, and sends a message to the waiter's shard: only there the task becomes
 * runnable. A cancellation works on the waiter's shard: it looks under the latch whether the task
 * is still linked. If it is, the cancel unlinks it and wakes it; if not, the message is on its
 * way, and what it brings passes on to the next when the task gives it up.
 *
 * Two tasks wait for one of two grants each, a waker gives two grants away, and a cancel comes to the
 * first task or does not. A guest may look after the waiters' shard while their worker runs.
 *
 * Variants, by -D:
 *   CANCEL_IS_BLIND   the cancel wakes the task without looking whether it is linked
 *   WAKES_AT_ONCE     the waker makes the task runnable itself, without its shard
 *   LEAVES_EARLY      the waiter's shard is left before the task has left its stack
 *   GRANT_IS_LOST     a grant that meets a cancel is not passed on
 *   (none)            the protocol
 */
#define TASKS 2

mtype = { RUNS, PARKED, READY, ENDED };

mtype state[TASKS] = RUNS;
bool linked[TASKS];
bool granted[TASKS];         /* by a message that has come */
bool cancelled[TASKS];
bool on_stack[TASKS];        /* its worker still uses the stack that it suspends */
byte wakes[TASKS];           /* times it was made runnable in this wait */
byte grants = 2;             /* not given away */
byte used = 0;
byte ended = 0;
bool latch = false;
bool shard = false;          /* of the waiters */
chan inbox = [4] of { byte };

inline take(lock) { atomic { !lock; lock = true } }
inline drop(lock) { lock = false }

inline make_ready(t) {
    assert(!on_stack[t]);
    wakes[t]++;
    assert(wakes[t] == 1);
    state[t] = READY
}

/* Gives a grant to the first who waits, or keeps it; with the latch. */
inline give() {
    if
    :: linked[0] -> linked[0] = false; inbox!0
    :: !linked[0] && linked[1] -> linked[1] = false; inbox!1
    :: else -> grants++
    fi
}

/* The worker of the waiters' shard, in the name of one task. */
proctype waiter(byte me) {
    take(shard);
    take(latch);
    if
    :: grants > 0 -> grants--; drop(latch); drop(shard); used++
    :: else ->
       linked[me] = true;
       drop(latch);
       on_stack[me] = true;
       state[me] = PARKED;
#ifdef LEAVES_EARLY
       drop(shard);
       on_stack[me] = false;
#else
       on_stack[me] = false;
       drop(shard);
#endif
       state[me] == READY;
       if
       :: granted[me] && !cancelled[me] -> used++
       :: granted[me] && cancelled[me] -> /* taken back before it ran: the next has it */
#ifndef GRANT_IS_LOST
          take(latch); give(); drop(latch)
#else
          skip
#endif
       :: else -> assert(cancelled[me])
       fi
    fi;
    state[me] = ENDED;
    ended++
}

/* Whoever looks after the inbox: their worker, or a guest. */
proctype minder() {
    byte t;
    do
    :: inbox?t ->
       take(shard);
       granted[t] = true;
#ifndef WAKES_AT_ONCE
       if
       :: state[t] == PARKED -> make_ready(t)
       :: else -> skip
       fi;
#endif
       drop(shard)
    :: ended == TASKS && empty(inbox) -> break
    od
}

proctype waker() {
    byte i;
    for (i : 1 .. 2) {
        take(latch);
#ifdef WAKES_AT_ONCE
        if
        :: linked[0] -> linked[0] = false; granted[0] = true; make_ready(0)
        :: !linked[0] && linked[1] -> linked[1] = false; granted[1] = true; make_ready(1)
        :: else -> grants++
        fi;
#else
        give();
#endif
        drop(latch)
    }
}

proctype canceller() {
    bool ends;
    take(shard);
    if
    :: state[0] == PARKED ->
       cancelled[0] = true;
       take(latch);
#ifdef CANCEL_IS_BLIND
       ends = true;
#else
       ends = linked[0];
#endif
       linked[0] = false;
       drop(latch);
       if
       :: ends -> make_ready(0)
       :: else -> skip /* the message will */
       fi
    :: else -> skip
    fi;
    drop(shard)
}

init {
    atomic {
        grants = 0;
        run waiter(0); run waiter(1); run minder(); run waker();
        if :: run canceller() :: skip fi
    };
    (_nr_pr == 1);
    assert(used + grants == 2 && ended == TASKS)
}
