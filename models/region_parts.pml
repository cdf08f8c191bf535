/* region_parts.pml - one region with tasks on two shards, which speak by messages only.
 *
 * The region has its home on shard 0. A task on its way to shard 1 is counted at the home (transit);
 * where it arrives it joins the region's part there, which tells the home that it has arrived, and
 * whether the part is new. The home counts parts; a part that is empty and knows that the region
 * closes goes, and says so. A cancellation and a close are told to every part that the home knows
 * of, and to each part that it comes to know of later. No process ever holds both shards.
 *
 * Each task waits until it is cancelled, and may spawn another one first, where it runs. The owner
 * closes the region; it is cancelled before or after that. The region may be Closed only when no
 * task of it is left anywhere, and it must become so.
 *
 * Variants, by -D:
 *   NO_TRANSIT       a task on its way is counted nowhere
 *   NO_ANSWER        a part that comes up late is not told what it has missed
 *   PART_FORGETS     a task that arrives in a part that was told is not told itself
 *   EMPTY_IS_CLOSED  a part that is empty goes before it knows of the close, and does not say so
 *   ARRIVAL_IN_TWO   the home takes the task off the way first, and counts its part later
 *   (none)           the protocol
 */
#define TASKS 4              /* at most, spawned ones included */

mtype = { ARRIVED_NEW, ARRIVED, EMPTY, TELL_CANCEL, TELL_CLOSE };

chan to_home = [8] of { mtype };
chan to_part = [8] of { mtype };

/* The home; accessed with shard 0. */
byte home_live = 0;
byte transit = 0;
byte parts = 0;
bool closing = false;
bool cancelled = false;
bool closed = false;

/* The part; accessed with shard 1. */
bool part_exists = false;
byte part_live = 0;
bool part_closing = false;
bool part_cancelled = false;

/* What is true, whoever knows it. */
byte alive = 0;
byte spawned = 0;
byte told_home = 0;          /* tasks of the home that were told and have not ended */
byte told_part = 0;

inline try_close() {
    if
    :: closing && home_live == 0 && transit == 0 && parts == 0 && !closed ->
       closed = true;
       assert(alive == 0)
    :: else -> skip
    fi
}

inline part_may_go() {
    if
    :: part_exists && part_live == 0 && part_closing -> part_exists = false;
       part_closing = false; part_cancelled = false; to_home!EMPTY
#ifdef EMPTY_IS_CLOSED
    :: part_exists && part_live == 0 && !part_closing -> part_exists = false
#endif
    :: else -> skip
    fi
}

/* Worker 0: everything that happens with shard 0. */
proctype home() {
    do
    :: atomic { to_home?ARRIVED_NEW ->
#ifdef ARRIVAL_IN_TWO
           transit--; try_close(); parts++;
#else
           parts++; transit--;
#endif
#ifndef NO_ANSWER
           if :: cancelled -> to_part!TELL_CANCEL :: else -> skip fi;
           if :: closing -> to_part!TELL_CLOSE :: else -> skip fi;
#endif
           try_close() }
    :: atomic { to_home?ARRIVED -> transit--; try_close() }
    :: atomic { to_home?EMPTY -> parts--; try_close() }
    :: atomic { home_live > told_home && !cancelled && !closing && spawned < TASKS ->
           spawned++; alive++; home_live++ }              /* a task spawns another */
    :: atomic { told_home > 0 -> told_home--; home_live--; alive--; try_close() }
    :: closed -> break
    od
}

proctype owner() {
    atomic { closing = true;
        if :: parts > 0 -> to_part!TELL_CLOSE :: else -> skip fi;
        try_close() }
}

proctype canceller() {
    atomic { cancelled = true; told_home = home_live;
        if :: parts > 0 -> to_part!TELL_CANCEL :: else -> skip fi }
}

/* Worker 1: steals at most twice; everything that happens with shard 1. */
proctype thief() {
    byte hand = 0;           /* a task in its hand */
    bool hand_told = false;
    byte steals = 0;
    do
    :: atomic { hand == 0 && steals < 2 && home_live > 0 -> /* enters shard 0, leaves it */
           steals++; hand = 1; home_live--;
           hand_told = (told_home > home_live);
           if :: hand_told -> told_home-- :: else -> skip fi;
#ifndef NO_TRANSIT
           transit++
#endif
       }
    :: atomic { hand == 1 -> /* enters shard 1 */
           hand = 0; part_live++;
           if
           :: part_exists ->
              if :: hand_told -> told_part++
                 :: !hand_told && part_cancelled ->
#ifndef PART_FORGETS
                    told_part++
#else
                    skip
#endif
                 :: else -> skip
              fi;
#ifndef NO_TRANSIT
              to_home!ARRIVED
#else
              skip
#endif
           :: else ->
              part_exists = true;
              if :: hand_told -> told_part++ :: else -> skip fi;
#ifndef NO_TRANSIT
              to_home!ARRIVED_NEW
#else
              transit++; to_home!ARRIVED_NEW
#endif
           fi }
    :: atomic { to_part?TELL_CANCEL ->
           if :: part_exists -> part_cancelled = true; told_part = part_live
              :: else -> skip fi }
    :: atomic { to_part?TELL_CLOSE ->
           if :: part_exists -> part_closing = true; part_may_go()
              :: else -> skip fi }
    :: atomic { part_live > told_part && !part_cancelled && !part_closing && spawned < TASKS ->
           spawned++; alive++;
           part_live++ }
    :: atomic { told_part > 0 -> told_part--; part_live--; alive--; part_may_go() }
    :: closed && hand == 0 && empty(to_part) -> break
    od
}

init {
    atomic {
        spawned = 2; alive = 2; home_live = 2;
        run home(); run owner(); run canceller(); run thief()
    }
}
