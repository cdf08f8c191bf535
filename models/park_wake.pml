/* park_wake.pml - a fiber parks, wakers and a cancel race with it.
 *
 * One fiber waits twice in a row, each time for its own condition. A signaller per condition makes
 * it true and wakes whoever is published; a canceller asks the fiber to stop and wakes it wherever
 * it finds it, or never does. If there is a cancel, there may be no signal. State and ticket are
 * one atomic word. Claims:
 *
 *   - nobody is lost: the fiber reaches its end (else: an invalid end state)
 *   - nobody is queued twice (assertion on `queued`)
 *   - a wake that was meant for one wait never ends a later one (assertion on `meant`)
 *   - the fiber runs no user code between its commit and its next dispatch (`on_cpu`)
 *
 * Variants, by -D:
 *   AS_WRITTEN           commit, one look at the flag, a waker that saw PARKING sets it and goes
 *   NO_PENDING_CHECK     the parker does not look for a wake that came while it was parking
 *   NO_TICKET            wakers do not compare the ticket
 *   PUBLISH_AFTER_COMMIT the waiter becomes visible after the fiber is already parked
 *   PENDING_OVERWRITTEN  the flag is a plain store: a late waker of an older wait can erase a newer
 *   ONE_LOOK_BY_WAKER    a waker that saw PARKING raises the flag and does not look again
 *   NO_CANCEL_LOOK       the fiber does not look for a cancel after it has published PARKING
 *   (none)               the protocol: a waker raises the flag to its ticket and never lowers it,
 *                        then looks at the state again. The runtime does these steps with the
 *                        engine held, so that fewer of them can come between each other
 */
#define WAITS 2

mtype = { RUNNABLE, RUNNING, PARKING, PARKED };

mtype state = RUNNING;      /* one word with ticket */
byte ticket = 0;
byte wake_pending = 0;      /* ticket of the wait that was woken while parking */
byte queued = 0;            /* entries in run queues */
bool cond[WAITS];
byte waiter[WAITS];         /* published ticket, 0: none */
bool cancelled = false;
bool will_cancel = false;   /* decided at the start */
bool on_cpu = true;
byte meant = 0;             /* ticket the last enqueue was meant for */

#ifdef NO_TICKET
#define SAME(t) true
#else
#define SAME(t) (ticket == t)
#endif

inline enqueue(t) {
    queued++;
    assert(queued == 1);
    meant = t
}

/* Claims a parked fiber: the one who wins enqueues it. */
inline claim(t) {
    atomic {
        if
        :: state == PARKED && SAME(t) -> state = RUNNABLE; enqueue(t)
        :: else -> skip
        fi
    }
}

inline wake(t) {
    if
    :: atomic { state == PARKED && SAME(t) -> skip };
       claim(t)
    :: atomic { state == PARKING && SAME(t) -> skip };
#if defined(AS_WRITTEN) || defined(PENDING_OVERWRITTEN)
       wake_pending = t;
#else
       atomic { if :: wake_pending < t -> wake_pending = t :: else fi };
#endif
#if !defined(AS_WRITTEN) && !defined(ONE_LOOK_BY_WAKER)
       claim(t)
#endif
    :: atomic { !((state == PARKED || state == PARKING) && SAME(t)) -> skip }
    fi
}

/* Takes the fiber back to the processor once somebody has queued it. */
inline dispatch() {
    atomic { queued == 1 -> queued--; state = RUNNING; on_cpu = true }
}

inline commit(i) {
    /* on the worker's stack, after the switch */
    atomic { assert(state == PARKING); state = PARKED; on_cpu = false };
#ifdef PUBLISH_AFTER_COMMIT
    waiter[i] = ticket;
#endif
#ifndef NO_PENDING_CHECK
    atomic {
        pending = wake_pending;
#ifdef AS_WRITTEN
        wake_pending = 0
#endif
    };
    if
#ifdef AS_WRITTEN
    :: pending != 0 ->
#else
    :: pending == ticket ->
#endif
       waiter[i] = 0;
       atomic {
           if
           :: state == PARKED -> state = RUNNABLE; enqueue(ticket)
#ifdef AS_WRITTEN
           :: else -> assert(false) /* "must succeed" */
#else
           :: else -> skip          /* somebody else has queued it */
#endif
           fi
       }
    :: else -> skip
    fi;
#endif
    dispatch();
#if !defined(NO_TICKET)
    assert(meant == ticket)
#endif
}

/* Publishes itself, unless the condition holds; then parks. */
inline publish_and_park(i) {
    if
    :: atomic { cond[i] -> state = RUNNING } /* publish refuses: it is complete */
    :: atomic { !cond[i] ->
#ifndef PUBLISH_AFTER_COMMIT
          waiter[i] = ticket
#else
          skip
#endif
       };
       commit(i);
       waiter[i] = 0;
       if
       :: cond[i] || cancelled -> i++
       :: else -> assert(false) /* woken for nothing: a later wait was ended */
       fi
    fi
}

active proctype fiber() {
    byte i = 0;
    byte pending;
    do
    :: i == WAITS -> break
    :: i < WAITS && (cond[i] || cancelled) -> i++
    :: i < WAITS && !cond[i] && !cancelled ->
       assert(on_cpu);
       atomic { ticket++; state = PARKING };
#ifdef AS_WRITTEN
       wake_pending = 0;
#endif
#if defined(AS_WRITTEN) || defined(NO_CANCEL_LOOK)
       publish_and_park(i)
#else
       if
       :: cancelled -> state = RUNNING /* looked after PARKING was published */
       :: !cancelled -> publish_and_park(i)
       fi
#endif
    od
}

proctype signaller(byte i) {
    byte t;
    if
    :: true -> skip
    :: will_cancel -> goto none /* then nobody needs to signal */
    fi;
    atomic { cond[i] = true; t = waiter[i] };
    if
    :: t != 0 -> wake(t)
    :: else -> skip
    fi;
none:
    skip
}

proctype canceller() {
    byte t;
    if
    :: !will_cancel -> goto none
    :: will_cancel -> skip
    fi;
    cancelled = true;
    t = ticket; /* whatever wait it is in now */
    if
    :: t != 0 -> wake(t)
    :: else -> skip
    fi;
none:
    skip
}

init {
    atomic {
        if
        :: will_cancel = true
        :: will_cancel = false /* there may be no cancel */
        fi;
        run signaller(0);
        run signaller(0); /* a second source for the same wait, such as its time-out */
        run signaller(1);
        run canceller()
    }
}
