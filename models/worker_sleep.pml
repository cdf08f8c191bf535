/* worker_sleep.pml - workers lie down, search, sleep and are rung for: the protocol of sched/bell.h
 * as sched/workers.c uses it.
 *
 * Whoever looks for work, puts some or rings holds the engine. A worker that finds nothing notes,
 * in the same hold, how often its bell was rung. It searches: looks at its bell for a while, then
 * says that it sleeps, looks once more, and sleeps in the system, which compares the count again.
 * Who puts work rings in the same hold, and wakes the sleeper in the system afterwards if that has
 * said that it sleeps. A backlog with nobody awake always gets somebody up; else it may or may not.
 * Two workers, two who put one item each. Claim: every item is taken, and everyone comes to its end
 * (else: an invalid end state, with an item or the end unnoticed and everyone asleep).
 *
 * Variants, by -D:
 *   TWO_HOLDS         the worker looks for work, leaves, and lies down in a hold of its own
 *   SEEN_OUTSIDE      it notes the count of its bell when it has left
 *   RING_BEFORE_PUT   who has work rings in a hold of its own, before the work is there
 *   ROUSE_LOOKS_FIRST who rings looks whether the worker sleeps before the count goes up
 *   SLEEP_SAID_LATE   the worker says that it sleeps when it does so already
 *   NO_COMPARE        the system does not compare the count
 *   LEFT_TO_SLEEPERS  who leaves work behind does not ask whether anybody is awake
 *   (none)            the protocol the runtime uses
 */
#define WORKERS 2
#define ITEMS 2

mtype = { ACTIVE, IDLE_SPIN, SLEEP };

bool held = false;        /* the engine */
byte waiting = 0;         /* L: items that are visible */
byte taken = 0;
bool stop = false;        /* L */
bool asleep[WORKERS];     /* L: somebody may get it up */
mtype state[WORKERS] = ACTIVE;
byte rung[WORKERS];
bool blocked[WORKERS];    /* in the system, on its bell */

#define ALL_ASLEEP (asleep[0] && asleep[1])
#define NOBODY WORKERS

inline enter() { atomic { !held -> held = true } }

/* Inside: gets somebody up who sleeps; who. */
inline ring_one(who) {
    atomic {
        if
        :: asleep[0] -> who = 0
        :: asleep[1] -> who = 1
        :: else -> who = NOBODY
        fi;
        if
        :: who != NOBODY -> asleep[who] = false
        :: else -> skip
        fi
    };
#ifdef ROUSE_LOOKS_FIRST
    said = who != NOBODY && state[who] == SLEEP;
#endif
    if
    :: who != NOBODY -> rung[who]++
    :: else -> skip
    fi
}

/* Inside, on the way out: nobody leaves work to those who all sleep. */
inline leave(who) {
    who = NOBODY;
#ifndef LEFT_TO_SLEEPERS
    if
    :: waiting > 0 && ALL_ASLEEP -> ring_one(who)
    :: else -> skip
    fi;
#endif
    held = false;
    rouse(who)
}

/* Afterwards, inside or outside. */
inline rouse(who) {
    if
    :: who != NOBODY ->
#ifdef ROUSE_LOOKS_FIRST
       if
       :: said -> blocked[who] = false
       :: else -> skip
       fi
#else
       if
       :: state[who] == SLEEP -> blocked[who] = false
       :: else -> skip
       fi
#endif
    :: else -> skip
    fi
}

inline sleep_in_system(me) {
    atomic {
        if
#ifdef NO_COMPARE
        :: true -> blocked[me] = true
#else
        :: rung[me] == seen -> blocked[me] = true
        :: else -> skip
#endif
        fi
    };
#ifdef SLEEP_SAID_LATE
    state[me] = SLEEP;
#endif
    !blocked[me]
}

/* Looks at its bell for a while; then says that it sleeps, and looks again. */
inline search_then_sleep(me) {
    if
    :: rung[me] != seen -> skip
    :: true ->
#ifndef SLEEP_SAID_LATE
       state[me] = SLEEP;
#endif
       if
       :: rung[me] != seen -> skip
       :: else ->
          if
          :: true -> sleep_in_system(me)
          :: true -> /* hardly anybody enters: it looks what there is first */
             enter();
             found = waiting > 0;
             leave(who);
             if
             :: found -> skip
             :: else -> sleep_in_system(me)
             fi
          fi
       fi
    fi
}

/* Inside at first and at the end. */
inline rest(me) {
    asleep[me] = true;
    found = false;
    do
    :: true ->
       state[me] = IDLE_SPIN;
#ifndef SEEN_OUTSIDE
       seen = rung[me];
#endif
       leave(who);
#ifdef SEEN_OUTSIDE
       seen = rung[me];
#endif
       search_then_sleep(me);
       enter();
       if
       :: !asleep[me] -> break
       :: asleep[me] && (stop || waiting > 0) -> asleep[me] = false; break
       :: else -> skip /* it lies down again */
       fi
    od;
    state[me] = ACTIVE
}

proctype worker(byte me) {
    byte seen, who;
    bool found, said;
    enter();
    do
    :: stop -> break
    :: !stop && waiting > 0 ->
       waiting--;
       leave(who);
       taken++; /* the item runs */
       enter()
    :: !stop && waiting == 0 ->
#ifdef TWO_HOLDS
       held = false;
       enter();
#endif
       rest(me)
    od;
    held = false
}

proctype producer() {
    byte who;
    bool said;
#ifdef RING_BEFORE_PUT
    enter();
    ring_one(who);
    held = false;
    rouse(who);
    enter();
    waiting++;
    held = false
#else
    enter();
    waiting++;
    if
    :: true -> leave(who)
    :: true -> /* worth a core of its own */
       ring_one(who);
       held = false;
       rouse(who)
    fi
#endif
}

init {
    byte who, i;
    bool said;
    atomic { run worker(0); run worker(1); run producer(); run producer() };
    taken == ITEMS; /* else work is left while everyone sleeps: an invalid end state */
    enter();
    stop = true;
    do
    :: i < WORKERS -> ring_one(who); rouse(who); i++
    :: else -> break
    od;
    held = false
}
