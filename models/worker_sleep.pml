/* worker_sleep.pml - a worker goes to sleep while others put work into the queues.
 *
 * Two workers search, announce that they are going to sleep, search once more, and only then sleep
 * on their own futex. A producer enqueues and wakes one sleeper, if there is any and nobody is
 * searching already. The items need each other, so both workers must get one. Claim: every item is
 * taken (else: an invalid end state with work left and a worker asleep).
 *
 * Variants, by -D:
 *   NO_RECHECK        the worker does not look at the queue again after announcing
 *   WAKE_BEFORE_PUSH  the producer looks for sleepers before the item is visible
 *   SEARCHER_FORGETS  a searcher that found work does not pass the search on, although the
 *                     producer relied on it
 *   (none)            the protocol the runtime uses
 */
#define WORKERS 2
#define ITEMS 2

byte queue = 0;          /* runnable items that are visible */
byte taken = 0;
byte searching = 0;      /* workers that look for work */
byte sleepers = 0;       /* workers that have announced sleep */
bool futex[WORKERS];     /* set: the worker may leave its futex */
bool asleep[WORKERS];
bool closing = false;

inline wake_one() {
    atomic {
        if
        :: sleepers > 0 && searching == 0 ->
           if
           :: asleep[0] -> asleep[0] = false; sleepers--; searching++; futex[0] = true
           :: asleep[1] -> asleep[1] = false; sleepers--; searching++; futex[1] = true
           fi
        :: else -> skip
        fi
    }
}

proctype worker(byte me) {
    bool got;
    searching++;
search:
    got = false;
    atomic { if :: queue > 0 -> queue--; got = true :: else -> skip fi };
    if
    :: got ->
       atomic { searching-- };
#ifndef SEARCHER_FORGETS
       /* The producer may have relied on this search: the last searcher passes it on. */
       if
       :: queue > 0 -> wake_one()
       :: else -> skip
       fi;
#endif
       taken++;
       taken == ITEMS; /* the items need each other: one worker alone cannot finish them */
       searching++;
       goto search
    :: !got && closing -> searching--; goto done
    :: !got && !closing ->
       atomic { searching--; asleep[me] = true; sleepers++ };
#ifndef NO_RECHECK
       if
       :: queue > 0 || closing ->
          atomic {
              if
              :: asleep[me] -> asleep[me] = false; sleepers--; searching++
              :: else -> futex[me] = false /* somebody has woken us meanwhile */
              fi
          };
          goto search
       :: else -> skip
       fi;
#endif
       futex[me]; /* sleeps; the waker has counted us as searching */
       futex[me] = false;
       goto search
    fi;
done:
    skip
}

active proctype producer() {
    byte n = 0;
    do
    :: n == ITEMS -> break
    :: n < ITEMS ->
#ifdef WAKE_BEFORE_PUSH
       wake_one();
       queue++;
#else
       queue++;
       wake_one();
#endif
       n++
    od;
    taken == ITEMS; /* else everyone sleeps and work is left: an invalid end state */
    closing = true;
    atomic { if :: asleep[0] -> asleep[0] = false; sleepers--; searching++; futex[0] = true
                :: else -> skip fi };
    atomic { if :: asleep[1] -> asleep[1] = false; sleepers--; searching++; futex[1] = true
                :: else -> skip fi }
}

init {
    atomic { run worker(0); run worker(1) }
}
