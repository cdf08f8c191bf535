/* layer.c - streams without a descriptor, whose calls go to functions of a layer.
 *
 * A call finds the file inside, marks it as in use (busy by direction, pins in all), and goes out
 * for the function. A close takes the generation away at once, has the layer end the calls that
 * wait in it, and the state is destroyed when the last of them has come back. A task that is
 * completed by force in such a call does not come back: the state is destroyed with the runtime.
 */
#include <asx/layer.h>

#include "io/io.h"

/* A call on its way out, and what it brings back. */
typedef struct layer_call {
    const asx_stream_layer *layer;
    void *state;
    void *buffer;
    const void *data;
    size_t size, n;
    unsigned what, ready;
    asx_stream_layer_fn fn; /* of the layer's own call, with ... */
    void *arg;
} layer_call;

static asx_status call_read(asx_cx *cx, void *arg)
{
    layer_call *c = arg;
    return c->layer->read(cx, c->state, c->buffer, c->size, &c->n);
}

static asx_status call_write(asx_cx *cx, void *arg)
{
    layer_call *c = arg;
    return c->layer->write(cx, c->state, c->data, c->size, &c->n);
}

static asx_status call_wait(asx_cx *cx, void *arg)
{
    layer_call *c = arg;
    return c->layer->wait(cx, c->state, c->what, &c->ready);
}

static asx_status call_shutdown(asx_cx *cx, void *arg)
{
    layer_call *c = arg;
    return c->layer->shutdown(cx, c->state);
}

static asx_status call_close(asx_cx *cx, void *arg)
{
    layer_call *c = arg;
    return c->layer->close(cx, c->state);
}

static asx_status call_own(asx_cx *cx, void *arg)
{
    layer_call *c = arg;
    return c->fn(cx, c->state, c->arg);
}

/* Goes out for the function. */
static asx_status go(asx_cx *cx, asx_runtime *rt, asx__file *file, asx_call_fn fn, layer_call *c)
{
    uint64_t generation = asx__file_generation(file);
    c->layer = file->layer;
    c->state = file->layer_state;
    asx__store_relaxed(&file->pins, asx__load_relaxed(&file->pins) + 1);
    asx_status st = asx__call_out(rt, cx, fn, c);
    asx__store_relaxed(&file->pins, asx__load_relaxed(&file->pins) - 1);
    if (asx__file_generation(file) == generation)
        return st;
    asx__file_settle(file->io, file);
    return st == ASX_E_STALE_HANDLE ? ASX_E_CLOSED : st; /* of the stream below */
}

/* The same by a task that has a direction for itself meanwhile. */
static asx_status go_in(asx_cx *cx, asx_runtime *rt, asx__file *file, enum asx__direction d,
                        asx_call_fn fn, layer_call *c)
{
    if (file->busy[d] != 0)
        return ASX_E_BUSY;
    file->busy[d]++;
    asx_status st = go(cx, rt, file, fn, c);
    file->busy[d]--;
    if (st == ASX_OK)
        asx__store_relaxed(&file->bytes[d], asx__load_relaxed(&file->bytes[d]) + c->n);
    return st;
}

asx_status asx__layer_read(asx_cx *cx, asx_runtime *rt, asx__file *file, void *buffer, size_t size,
                           size_t *ret_n)
{
    layer_call call = { .buffer = buffer, .size = size };
    if (file->layer->read == NULL)
        return ASX_E_NOT_SUPPORTED;
    asx_status st = go_in(cx, rt, file, ASX__INWARD, call_read, &call);
    *ret_n = st == ASX_OK ? call.n : 0;
    return st;
}

asx_status asx__layer_write(asx_cx *cx, asx_runtime *rt, asx__file *file, const void *data,
                            size_t size, size_t *ret_n)
{
    layer_call call = { .data = data, .size = size };
    if (file->layer->write == NULL)
        return ASX_E_NOT_SUPPORTED;
    asx_status st = go_in(cx, rt, file, ASX__OUTWARD, call_write, &call);
    *ret_n = st == ASX_OK ? call.n : 0;
    return st;
}

asx_status asx__layer_wait(asx_cx *cx, asx_runtime *rt, asx__file *file, unsigned what,
                           unsigned *ret_ready)
{
    layer_call call = { .what = what };
    if (file->layer->wait == NULL)
        return ASX_E_NOT_SUPPORTED;
    asx_status st = go(cx, rt, file, call_wait, &call);
    *ret_ready = call.ready;
    return st;
}

asx_status asx__layer_shutdown(asx_cx *cx, asx_runtime *rt, asx__file *file)
{
    layer_call call = { .n = 0 };
    if (file->layer->shutdown == NULL)
        return ASX_E_NOT_SUPPORTED;
    return go_in(cx, rt, file, ASX__OUTWARD, call_shutdown, &call);
}

asx_status asx__layer_close(asx_cx *cx, asx_runtime *rt, asx__task *task, asx__file *file)
{
    layer_call call = { .layer = file->layer, .state = file->layer_state };
    asx__store_relaxed(&file->pins, asx__load_relaxed(&file->pins) + 1);
    asx__file_close(file->io, file);
    if (file->layer->close != NULL)
        (void)asx__call_out(rt, cx, call_close, &call);
    asx__store_relaxed(&file->pins, asx__load_relaxed(&file->pins) - 1);
    asx__file_settle(file->io, file);
    return asx__file_await_close(rt, task, file);
}

/* ---- making --------------------------------------------------------------------------------- */

static asx_status open_layered(asx_cx *cx, const asx_region *region, const asx_stream_layer *layer,
                               void *state, const char *name, asx_stream *ret_stream)
{
    asx__task *task;
    asx_runtime *rt;
    asx__region *home;
    asx__io *io;
    asx__file *file;
    asx_status st = asx__cx_enter(cx, ASX_CAP_IO, &task, &rt);
    if (st == ASX_OK)
        st = asx__io_region(rt, region, &home);
    if (st == ASX_OK)
        st = asx__io_of(rt, &io);
    if (st == ASX_OK)
        st = asx__file_make(io, home, ASX__FILE_STREAM, -1, name, &file);
    if (st < 0)
        return st;
    file->layer = layer;
    file->layer_state = state;
    *ret_stream = (asx_stream){ file, asx__file_generation(file) };
    return ASX_OK;
}

asx_status asx_stream_layer_open(asx_cx *cx, const asx_region *region,
                                 const asx_stream_layer *layer, void *state,
                                 const asx_stream_options *options, asx_stream *ret_stream)
{
    ASX__GATE_CX(cx, asx_stream_layer_open(&in, region, layer, state, options, ret_stream));
    if (ret_stream == NULL)
        return ASX_E_INVALID_ARGUMENT;
    *ret_stream = (asx_stream){ NULL, 0 };
    if (layer == NULL || layer->destroy == NULL)
        return ASX_E_INVALID_ARGUMENT;
    return open_layered(cx, region, layer, state, options != NULL ? options->name : NULL,
                        ret_stream);
}

asx_status asx_stream_layer_call(asx_cx *cx, const asx_stream *stream,
                                 const asx_stream_layer *layer, asx_stream_layer_fn fn, void *arg)
{
    ASX__GATE_CX(cx, asx_stream_layer_call(&in, stream, layer, fn, arg));
    asx__task *task;
    asx_runtime *rt;
    asx__file *file;
    if (stream == NULL || layer == NULL || fn == NULL)
        return ASX_E_INVALID_ARGUMENT;
    asx_status st = asx__cx_enter(cx, 0, &task, &rt);
    if (st == ASX_OK)
        st = asx__file_find(rt, stream->file_, stream->generation_, ASX__FILE_STREAM, &file);
    if (st < 0)
        return st;
    if (file->layer != layer)
        return ASX_E_INVALID_ARGUMENT;
    layer_call call = { .fn = fn, .arg = arg };
    return go(cx, rt, file, call_own, &call);
}
