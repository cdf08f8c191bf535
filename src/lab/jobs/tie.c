/* tie.c - messages between keeper and workers, and what a worker does between executions. */
#include "lab/jobs/jobs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEPT_MOST = 64, KEPT_BYTES_MOST = 1 << 16 }; /* executions; and what they found */

/* ---- messages ------------------------------------------------------------------------------- */

static bool send_all(int fd, const char *bytes, size_t len)
{
    while (len != 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int fd, char *bytes, size_t len)
{
    while (len != 0) {
        ssize_t got = recv(fd, bytes, len, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        bytes += got;
        len -= (size_t)got;
    }
    return true;
}

/* Both sides are the same program: numbers as they are. */
typedef struct head {
    uint64_t kind, len;
} head;

bool asx__message_send(int fd, asx__message kind, const void *bytes, size_t len)
{
    head h = { kind, len };
    return send_all(fd, (const char *)&h, sizeof h) && send_all(fd, bytes, len);
}

bool asx__message_receive(int fd, asx__message *ret_kind, asx__bytes *bytes)
{
    head h;
    bytes->len = 0;
    if (!receive_all(fd, (char *)&h, sizeof h))
        return false;
    if (h.len > bytes->cap) {
        char *larger = realloc(bytes->at, (size_t)h.len * 2);
        if (larger == NULL)
            return false;
        bytes->at = larger;
        bytes->cap = (size_t)h.len * 2;
    }
    bytes->len = (size_t)h.len;
    *ret_kind = (asx__message)h.kind;
    return receive_all(fd, bytes->at, bytes->len);
}

/* ---- a worker ------------------------------------------------------------------------------- */

/* A worker's `sharing` is the beginning of its tie. */
static asx__tie *tie_of(const asx__explorer *x)
{
    return (asx__tie *)x->sharing;
}

/* Whoever sends must be able to hear, or both would wait for the other to read. Without its keeper
 * it is nothing, here and below. */
static asx__message receive_word(asx__tie *tie)
{
    asx__message kind;
    if (!asx__message_receive(tie->fd, &kind, &tie->message) ||
        (kind != ASX__MESSAGE_TOLD && kind != ASX__MESSAGE_LATE))
        _exit(1);
    asx__bytes *into = kind == ASX__MESSAGE_TOLD ? &tie->told : &tie->late, old = *into;
    *into = tie->message;
    tie->message = old;
    return kind;
}

static void receive_told(asx__tie *tie)
{
    while (receive_word(tie) != ASX__MESSAGE_TOLD)
        continue;
    tie->awaits = false;
    tie->has_told = true;
}

static void receive_late(asx__tie *tie)
{
    while (tie->late.len == 0)
        if (receive_word(tie) == ASX__MESSAGE_TOLD) {
            tie->awaits = false;
            tie->has_told = true;
        }
}

static void tell(asx__explorer *x, asx__message kind, const asx__bytes *bytes)
{
    if (tie_of(x)->awaits)
        receive_told(tie_of(x));
    if (!asx__message_send(tie_of(x)->fd, kind, bytes != NULL ? bytes->at : "",
                           bytes != NULL ? bytes->len : 0))
        _exit(1);
}

static void report(asx__explorer *x);

/* Work, or the end. */
static bool receive_work(asx__explorer *x)
{
    asx__message kind;
    asx__bytes bytes = { 0 };
    do {
        if (!asx__message_receive(tie_of(x)->fd, &kind, &bytes))
            _exit(1);
        if (kind == ASX__MESSAGE_ASKED)
            report(x);
    } while (kind == ASX__MESSAGE_ASKED || kind == ASX__MESSAGE_LATE);
    tie_of(x)->late.len = 0; /* it was for what is done */
    if (kind == ASX__MESSAGE_BET) { /* what comes of it is reported by itself */
        report(x);
        tie_of(x)->reporting = true;
        kind = ASX__MESSAGE_WORK;
    }
    if (kind == ASX__MESSAGE_WORK) {
        asx__reader r = { bytes.at, bytes.len, false }, work = asx__read_part(&r);
        asx_status st = asx__dpor_take(x->dpor, &work);
        if (st >= 0 && r.len != 0)
            st = asx__dpor_hear(x->dpor, &r);
        if (st < 0)
            x->status = st;
    }
    free(bytes.at);
    return kind == ASX__MESSAGE_WORK && x->status >= 0;
}

/* What one has met concerns all: they begin again. */
static void share_features(asx__explorer *x)
{
    uint32_t own = (x->cancels ? ASX__FEATURE_CANCELS : 0u) |
                   (x->far_cancels ? ASX__FEATURE_FAR_CANCELS : 0u) |
                   (x->far_spawns ? ASX__FEATURE_FAR_SPAWNS : 0u) |
                   (x->elsewhere ? ASX__FEATURE_ELSEWHERE : 0u) |
                   (x->drops ? ASX__FEATURE_DROPS : 0u) |
                   (x->claims ? ASX__FEATURE_CLAIMS : 0u) |
                   (x->failures ? ASX__FEATURE_FAILURES : 0u) |
                   (asx__dpor_is_wide(x->dpor) ? ASX__FEATURE_WIDE : 0u);
    if ((own & ~asx__load_relaxed(&tie_of(x)->common->features)) != 0)
        (void)asx__fetch_or_relaxed(&tie_of(x)->common->features, own);
}

static bool begin(asx__explorer *x)
{
    uint32_t features = asx__load_relaxed(&tie_of(x)->common->features);
    x->cancels = x->cancels || (features & ASX__FEATURE_CANCELS) != 0;
    x->far_cancels = (features & ASX__FEATURE_FAR_CANCELS) != 0;
    x->far_spawns = (features & ASX__FEATURE_FAR_SPAWNS) != 0;
    x->elsewhere = (features & ASX__FEATURE_ELSEWHERE) != 0;
    x->drops = (features & ASX__FEATURE_DROPS) != 0;
    x->claims = (features & ASX__FEATURE_CLAIMS) != 0;
    x->failures = (features & ASX__FEATURE_FAILURES) != 0;
    if (tie_of(x)->wide)
        asx__dpor_be_wide(x->dpor);
    share_features(x);
    return receive_work(x);
}

static bool allow_one(asx__common *common)
{
    uint64_t allowed = asx__load_relaxed(&common->allowed);
    while (allowed != 0)
        if (asx__cas_acq_rel(&common->allowed, &allowed, allowed - 1))
            return true;
    return false;
}

/* Something was found for the bet: the engine puts it in its place. */
static void take_late(asx__explorer *x)
{
    asx__tie *tie = tie_of(x);
    uint32_t want = ASX__HEAR_LATE;
    if (!asx__cas_acq_rel(&tie->slot->want, &want, ASX__GIVE_NOTHING))
        return; /* it is lost */
    receive_late(tie);
    asx_status st = asx__dpor_hear_late(x->dpor, &tie->late);
    if (st < 0)
        x->status = st;
    tie->late.len = 0;
    tie->hears_late = true;
}

static void before_finish(asx__explorer *x)
{
    asx__tie *tie = tie_of(x);
    asx__giving giving = (asx__giving)asx__load_acquire(&tie->slot->want);
    share_features(x);
    if (asx__dpor_restarts(x->dpor)) {
        tell(x, ASX__MESSAGE_RESTART, NULL);
        _exit(0);
    }
    if (asx__dpor_samples(x->dpor)) {
        if (tie->failed)
            asx__dpor_end_samples(x->dpor);
        return;
    }
    if (giving == ASX__HEAR_LATE)
        take_late(x);
    /* The next one has to be allowed; one that was given up has not begun. */
    bool allowed = !tie->limited || asx__dpor_blocked(x->dpor) || allow_one(tie->common);
    if (!allowed || tie->failed)
        giving = ASX__GIVE_ALL;
    tie->reporting = tie->reporting || giving == ASX__GIVE_ALL;
    tie->refund = tie->limited && allowed;
    asx__dpor_ask(x->dpor, giving < ASX__TAKE_BACK ? giving : ASX__GIVE_NOTHING);
}

static void report(asx__explorer *x)
{
    asx__tally tally = { .bugs = x->bugs, .too_long = x->too_long };
    asx__bytes bytes = { 0 }, classes = { 0 };
    asx__slot *slot = tie_of(x)->slot;
    asx__dpor_report(x->dpor, &tally.stats, &classes);
    (void)asx__bytes_keep(&bytes, &tally, sizeof tally);
    (void)asx__bytes_keep(&bytes, classes.at, classes.len);
    if (bytes.bad || classes.bad)
        _exit(1);
    tell(x, ASX__MESSAGE_REPORT, &bytes);
    x->bugs = x->too_long = 0;
    asx__store_relaxed(&slot->executions, 0);
    asx__store_relaxed(&slot->steps, 0);
    asx__store_relaxed(&slot->deadlocks, 0);
    asx__store_relaxed(&slot->redundant, 0);
    asx__store_relaxed(&slot->bugs, 0);
    asx__store_relaxed(&slot->too_long, 0);
    asx__store_relaxed(&slot->done, 0);
    tie_of(x)->reporting = false;
    free(bytes.at);
    free(classes.at);
}

static void show(asx__explorer *x)
{
    asx__dpor_stats stats;
    asx__slot *slot = tie_of(x)->slot;
    asx__dpor_stats_get(x->dpor, &stats);
    asx__store_relaxed(&slot->executions, stats.executions);
    asx__store_relaxed(&slot->steps, stats.steps);
    asx__store_relaxed(&slot->deadlocks, stats.deadlocks);
    asx__store_relaxed(&slot->redundant, stats.redundant);
    asx__store_relaxed(&slot->bugs, x->bugs);
    asx__store_relaxed(&slot->too_long, x->too_long);
    uint64_t done;
    memcpy(&done, &stats.done, sizeof done);
    asx__store_relaxed(&slot->done, done);
}

/* What was found for the backlog can wait until there is more of it: to be answered takes longer
 * than an execution. What is found meanwhile is told too, unless it is the same. */
static bool can_wait(const asx__explorer *x)
{
    return x->more && asx__dpor_is_wide(x->dpor) &&
           asx__load_relaxed(&tie_of(x)->slot->want) == ASX__GIVE_NOTHING &&
           asx__dpor_given(x->dpor)->len < KEPT_BYTES_MOST &&
           (tie_of(x)->kept < KEPT_MOST || tie_of(x)->awaits);
}

static bool has_come(int fd)
{
    struct pollfd waits = { .fd = fd, .events = POLLIN };
    return poll(&waits, 1, 0) > 0;
}

/* What the backlog has made of it, if that is known by now; or it is of no use any more. */
static void hear(asx__explorer *x)
{
    asx__tie *tie = tie_of(x);
    if (tie->awaits && (!x->more || has_come(tie->fd)))
        receive_told(tie);
    if (tie->has_told && x->more) {
        asx__reader r = { tie->told.at, tie->told.len, false };
        asx_status st = asx__dpor_hear(x->dpor, &r);
        if (st < 0)
            x->status = st;
    }
    tie->has_told = false;
}

/* What the engine has given; the backlog's answer is needed while the work goes on. */
static void give(asx__explorer *x)
{
    asx__bytes *given = asx__dpor_given(x->dpor);
    asx__bytes bytes = { 0 };
    bool asks = x->more && asx__dpor_is_wide(x->dpor);
    bool back = asks && asx__load_relaxed(&tie_of(x)->slot->want) == ASX__TAKE_BACK;
    if (given->len == 0 && !back)
        return;
    tie_of(x)->kept++;
    if (can_wait(x))
        return;
    tie_of(x)->kept = 0;
    asx__bytes_u32(&bytes, asks);
    asx__bytes_u32(&bytes, back);
    (void)asx__bytes_keep(&bytes, given->at, given->len);
    given->len = 0;
    if (bytes.bad)
        _exit(1);
    uint32_t want = asx__load_relaxed(&tie_of(x)->slot->want);
    if (back || want == ASX__GIVE_TOP || want == ASX__GIVE_BETS)
        asx__store_relaxed(&tie_of(x)->slot->want, ASX__GIVE_NOTHING);
    tell(x, ASX__MESSAGE_GIVEN, &bytes);
    hear(x); /* of what was given before, if that was still to come */
    tie_of(x)->awaits = asks;
    if (back) { /* whose nodes they are has to be known */
        receive_told(tie_of(x));
        hear(x);
    }
    free(bytes.at);
}

static void after_finish(asx__explorer *x)
{
    asx__tie *tie = tie_of(x);
    if (x->status < 0 || x->stop)
        return;
    show(x);
    if (tie->hears_late) {
        asx__bytes heard = { 0 };
        asx__bytes_u32(&heard, !asx__dpor_too_late(x->dpor));
        tell(x, ASX__MESSAGE_HEARD, &heard);
        tie->hears_late = false;
        free(heard.at);
    }
    if (asx__load_acquire(&tie->slot->want) == ASX__GIVE_UP) {
        x->more = false;
        asx__dpor_given(x->dpor)->len = 0;
    }
    hear(x);
    give(x);
    if (x->more || x->status < 0)
        return;
    if (tie->refund)
        (void)asx__fetch_add_relaxed(&tie->common->allowed, 1);
    tie->refund = false;
    if (tie->reporting || asx__dpor_samples(x->dpor))
        report(x);
    tie->failed = false;
    tell(x, ASX__MESSAGE_DONE, NULL);
    x->more = receive_work(x);
    x->stop = !x->more;
}

static void put_text(asx__bytes *bytes, const char *text)
{
    size_t len = strlen(text) + 1;
    asx__bytes_u32(bytes, (uint32_t)len);
    (void)asx__bytes_keep(bytes, text, len);
}

static void failure_found(asx__explorer *x, const asx_explore_failure *failure)
{
    asx__bytes bytes = { 0 };
    asx__bytes_u32(&bytes, failure->verdict);
    asx__bytes_u64(&bytes, failure->execution);
    asx__bytes_u64(&bytes, failure->steps);
    put_text(&bytes, failure->text);
    put_text(&bytes, failure->site);
    put_text(&bytes, failure->schedule);
    put_text(&bytes, failure->interleaving);
    if (bytes.bad)
        _exit(1);
    tell(x, ASX__MESSAGE_FAILURE, &bytes);
    free(bytes.at);
    tie_of(x)->failed = tie_of(x)->first_only;
}

static void end(asx__explorer *x)
{
    asx__bytes bytes = { 0 };
    report(x);
    asx__bytes_u32(&bytes, (uint32_t)x->status);
    asx__bytes_u32(&bytes, x->unsupported);
    asx__bytes_u32(&bytes, x->lost);
    asx__bytes_u32(&bytes, x->cell_moved);
    asx__bytes_u64(&bytes, (uintptr_t)x->unsupported_site); /* of the program that both are */
    (void)asx__bytes_keep(&bytes, x->diverged, sizeof x->diverged);
    tell(x, ASX__MESSAGE_STATUS, &bytes);
    free(bytes.at);
}

void asx__tie_init(asx__tie *tie, asx__common *common, asx__slot *slot, int fd)
{
    *tie = (asx__tie){ .sharing = { .names = &common->names,
                                    .begin = begin,
                                    .before_finish = before_finish,
                                    .after_finish = after_finish,
                                    .failure = failure_found,
                                    .end = end },
                       .fd = fd,
                       .common = common,
                       .slot = slot };
}
