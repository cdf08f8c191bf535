/* watch.c - the newest value, and the tasks that wait for another.
 *
 * A fiber that waits gets value and version written by the task that sets them; a poll task is
 * woken and finds them. Nothing is granted, so nothing has to be passed on.
 */
#include "sync/object.h"

#include <asx/watch.h>

#define HEAD(watch_) ((asx__sync *)(void *)(watch_))

typedef struct asx__watched {
    asx__sync sync;
    char *value;         /* I */
    size_t element_size; /* I */
    uint64_t version;
    bool closed;
} asx__watched;
_Static_assert(sizeof(asx__watched) <= ASX__SYNC_RECORD_SIZE, "fits the slab");

typedef struct watch_io {
    uint64_t *seen;
    void *value; /* NULL: not wanted */
} watch_io;

static void unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    (void)rt;
    ASX__ASSERT(!granted);
    asx__sync_unlink(asx__sync_of(waitable), task);
}

static void end(asx__sync *s)
{
    asx__sync_wake_all(s, ASX_E_DISCONNECTED);
}

static const asx__sync_type watch_type = {
    .kind = ASX__SYNC_WATCH,
    .is_channel = true,
    .created = ASX_EVENT_WATCH_CREATE,
    .waits = { { ASX__WAIT_WATCH_CHANGED, NULL, unpublish } },
    .end = end,
};

asx_status asx_watch_create(const asx_region *region, size_t element_size, const void *value,
                            const asx_watch_options *options, asx_watch *ret_watch)
{
    ASX__EMPTY(ret_watch);
    ASX__GATE_REGION(region, asx_watch_create(&in, element_size, value, options, ret_watch));
    asx__sync *s = NULL;
    void *memory = NULL;
    bool good = ret_watch != NULL && value != NULL && element_size != 0;
    asx_status st = asx__sync_create(region, &watch_type, ASX__NAME_OF(options), element_size, good,
                                     &s, &memory);
    if (st < 0)
        return st;
    asx__watched *w = (asx__watched *)(void *)s;
    w->value = memory;
    w->element_size = element_size;
    w->version = 1;
    memcpy(w->value, value, element_size);
    asx__sync_created(s, 0);
    ret_watch->watch_ = w;
    ret_watch->generation_ = s->generation;
    return ASX_OK;
}

static void look(asx__watched *w, const asx__task *task, uint64_t *seen, void *ret_value)
{
    if (ret_value != NULL)
        asx__message_copy(ret_value, w->value, w->element_size);
    *seen = w->version;
    if (w->sync.rt->tracing)
        asx__sync_journal(&w->sync, task, ASX_EVENT_WATCH_RECV, w->version, 0, w->sync.seq);
}

/* ---- setting -------------------------------------------------------------------------------- */

static asx_status set(asx__watched *w, const void *value)
{
    (void)asx__sync_announce(&w->sync, ASX__OP_WATCH_SEND);
    if (w->closed)
        return asx__sync_found(&w->sync, ASX_E_DISCONNECTED);
    asx__message_copy(w->value, value, w->element_size);
    w->version++;
    if (w->sync.rt->tracing)
        w->sync.seq = asx__sync_journal(&w->sync, w->sync.rt->current, ASX_EVENT_WATCH_SEND,
                                        w->version, w->sync.waiting, 0);
    while (w->sync.waiting != 0) {
        asx__task *task = asx__sync_first(&w->sync);
        asx__sync_unlink(&w->sync, task);
        if ((task->flags & ASX__T_POLL) == 0) {
            watch_io *io = task->r.io;
            look(w, task, io->seen, io->value);
        }
        asx__wake(w->sync.rt, task, ASX_OK, false);
    }
    return ASX_OK;
}

asx_status asx_watch_send(const asx_watch *watch, const void *value)
{
    if (watch == NULL || value == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(watch, watch_, NULL, asx_watch_send(watch, value));
    asx_status st = asx__sync_resolve(HEAD(watch->watch_), watch->generation_, ASX_E_DISCONNECTED);
    return st < 0 ? st : set(watch->watch_, value);
}

static asx_status close_watch(asx__watched *w)
{
    (void)asx__sync_announce(&w->sync, ASX__OP_WATCH_CLOSE);
    if (w->closed)
        return asx__sync_found(&w->sync, ASX_E_DISCONNECTED);
    w->closed = true;
    if (w->sync.rt->tracing)
        asx__sync_journal(&w->sync, w->sync.rt->current, ASX_EVENT_WATCH_CLOSE, 0, 0, 0);
    asx__sync_wake_all(&w->sync, ASX_E_DISCONNECTED);
    return ASX_OK;
}

asx_status asx_watch_close(const asx_watch *watch)
{
    if (watch == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(watch, watch_, NULL, asx_watch_close(watch));
    asx_status st = asx__sync_resolve(HEAD(watch->watch_), watch->generation_, ASX_E_DISCONNECTED);
    return st < 0 ? st : close_watch(watch->watch_);
}

/* ---- looking -------------------------------------------------------------------------------- */

asx_status asx_watch_get(const asx_watch *watch, void *ret_value, uint64_t *ret_version)
{
    ASX__EMPTY(ret_version);
    uint64_t ignored;
    if (watch == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(watch, watch_, NULL, asx_watch_get(watch, ret_value, ret_version));
    asx__watched *w = watch->watch_;
    asx_status st = asx__sync_resolve(HEAD(w), watch->generation_, ASX_E_DISCONNECTED);
    if (st < 0)
        return st;
    (void)asx__sync_announce(&w->sync, ASX__OP_WATCH_GET);
    look(w, w->sync.rt->current, ret_version != NULL ? ret_version : &ignored, ret_value);
    return ASX_OK;
}

static asx_status wait_for(asx_runtime *rt, asx__task *task, asx__watched *w, uint64_t *seen,
                           void *ret_value)
{
    (void)asx__sync_announce(&w->sync, ASX__OP_WATCH_CHANGED, .watch.seen = *seen);
    asx_status st = asx__checkpoint(rt, task);
    if (st < 0)
        return st;
    if (*seen != w->version) {
        look(w, task, seen, ret_value);
        return ASX_OK;
    }
    if (w->closed)
        return asx__sync_found(&w->sync, ASX_E_DISCONNECTED);
    st = asx__wait_prepare(rt, task, asx__sync_waitable(&w->sync, 0));
    if (st < 0)
        return st;
    watch_io io = { seen, ret_value };
    return asx__sync_wait_in(&w->sync, task, 0, &io);
}

asx_status asx_watch_changed(asx_cx *cx, const asx_watch *watch, uint64_t *seen, void *ret_value)
{
    asx__task *task;
    if (watch == NULL || seen == NULL)
        return ASX_E_INVALID_ARGUMENT;
    ASX__GATE_SYNC(watch, watch_, cx, asx_watch_changed(in_cx, watch, seen, ret_value));
    asx__watched *w = watch->watch_;
    asx_status st = asx__sync_enter(HEAD(w), watch->generation_, ASX_E_DISCONNECTED, cx, &task);
    return st < 0 ? st : wait_for(w->sync.rt, task, w, seen, ret_value);
}
