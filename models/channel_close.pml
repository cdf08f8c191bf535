/* channel_close.pml - closing a channel against sends and receives that are being admitted.
 *
 * One slot, two senders, one receiver, one closer. A send is admitted if it sees the channel open
 * at the moment it takes the slot or publishes itself as a waiter; an admitted message must be
 * received, also after the close; one that is not admitted must fail and must not transfer. The
 * receiver goes on until the channel is closed and nothing is left.
 *
 * Variants, by -D:
 *   NO_ADMISSION_RULE  a sender looks at `open` first and takes the slot or publishes later
 *   CLOSE_DISCARDS     close throws away what is queued and whoever waits
 *   CLOSE_NO_WAKE      close does not wake a parked receiver
 *   (none)             the protocol the channels use
 */
#define SENDERS 2

bool open = true;
byte queued = 0;             /* capacity 1 */
bool waits[SENDERS];         /* published senders with a message */
bool woken[SENDERS];
bool receiver_parked = false;
bool receiver_woken = false;
byte admitted = 0;
byte refused = 0;
byte received = 0;
byte done = 0;              /* senders and receiver that have ended */

inline wake_receiver() {
    if
    :: receiver_parked -> receiver_parked = false; receiver_woken = true
    :: else -> skip
    fi
}

proctype sender(byte me) {
    bool seen_open;
#ifdef NO_ADMISSION_RULE
    seen_open = open; /* checked here, relied on below */
    if
    :: seen_open ->
       atomic {
           admitted++;
           if
           :: queued == 0 -> queued = 1; wake_receiver()
           :: else -> waits[me] = true
           fi
       }
    :: else -> refused++
    fi;
#else
    atomic {
        seen_open = open;
        if
        :: seen_open && queued == 0 -> admitted++; queued = 1; wake_receiver()
        :: seen_open && queued != 0 -> admitted++; waits[me] = true
        :: !seen_open -> refused++
        fi
    };
#endif
    if
    :: waits[me] -> woken[me] /* until its message has been taken */
    :: !waits[me] -> skip
    fi;
    done++
}

proctype receiver() {
    bool got;
    do
    :: atomic {
           got = false;
           if
           :: queued > 0 ->
              queued = 0; got = true;
              if /* the slot goes to whoever waits */
              :: waits[0] -> waits[0] = false; queued = 1; woken[0] = true
              :: !waits[0] && waits[1] -> waits[1] = false; queued = 1; woken[1] = true
              :: else -> skip
              fi
           :: queued == 0 && !open -> break
           :: queued == 0 && open -> receiver_parked = true
           fi
       };
       if
       :: got -> received++
       :: else -> receiver_woken; receiver_woken = false
       fi
    od;
    done++
}

active proctype closer() {
    atomic {
        open = false;
#ifdef CLOSE_DISCARDS
        queued = 0;
        if :: waits[0] -> waits[0] = false; woken[0] = true :: else -> skip fi;
        if :: waits[1] -> waits[1] = false; woken[1] = true :: else -> skip fi;
#endif
#ifndef CLOSE_NO_WAKE
        wake_receiver()
#endif
    }
}

init {
    atomic { run sender(0); run sender(1); run receiver() };
    done == SENDERS + 1;
    assert(received == admitted && admitted + refused == SENDERS)
}
