/* layer.h - streams whose bytes go through code: TLS, a compression, a double in a test.
 *
 * A layered stream has no descriptor. What is read from it and written to it is what the functions
 * of its layer say, which usually read and write another stream below. Tasks use it as any other
 * stream (io.h).
 *
 * The functions of a layer run in the task that made the call, outside of the runtime, and may
 * wait. One task reads and one writes at a time; a task that reads and one that writes may be in
 * the layer at the same time, with several workers on two threads. In a poll task a function that
 * has to wait returns ASX_E_WOULD_BLOCK, and is called again when the task repeats its call.
 */
#ifndef ASX_LAYER_H
#define ASX_LAYER_H

#include <asx/io.h>

ASX_BEGIN_DECLS

/* What a layer does; NULL: its streams have no such call, ASX_E_NOT_SUPPORTED. */
typedef struct asx_stream_layer {
    const char *name; /* for reports */
    /* As asx_stream_read() and asx_stream_write(); `size` is not 0, *ret_n is 0 before. */
    asx_status (*read)(asx_cx *cx, void *state, void *buffer, size_t size, size_t *ret_n);
    asx_status (*write)(asx_cx *cx, void *state, const void *data, size_t size, size_t *ret_n);
    /* As asx_stream_wait() and asx_stream_shutdown(). */
    asx_status (*wait)(asx_cx *cx, void *state, unsigned what, unsigned *ret_ready);
    asx_status (*shutdown)(asx_cx *cx, void *state);
    /* The stream is closed by a call: ends the calls that wait in the layer, as a close of the
     * stream below does. Not called when the stream ends with its region. */
    asx_status (*close)(asx_cx *cx, void *state);
    /* The stream is closed and no task is in the layer: frees the state. Called once, by the
     * runtime: it may not wait, and calls nothing of asx. */
    void (*destroy)(void *state);
} asx_stream_layer;

/* Makes a stream of that layer, in the region (io.h). It owns `state` from here on if it returns
 * ASX_OK, else it has not touched it. `layer` is borrowed as long as the runtime lives.
 *   ASX_E_INVALID_ARGUMENT  no layer, or one without destroy
 *   ASX_E_CAPABILITY (IO), ASX_E_WRONG_CONTEXT, ASX_E_STALE_HANDLE (the region),
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED, ASX_E_NOT_SUPPORTED, ASX_E_RESOURCE_EXHAUSTED */
ASX_API asx_status asx_stream_layer_open(asx_cx *cx, const asx_region *region,
                                         const asx_stream_layer *layer, void *state,
                                         const asx_stream_options *options,
                                         asx_stream *ret_stream);

/* Calls fn(cx, state, arg) in the calling task, for calls of the layer's own; the state is not
 * destroyed meanwhile. Returns what `fn` returns. ASX_E_INVALID_ARGUMENT: also a stream that is not
 * of that layer. ASX_E_STALE_HANDLE, ASX_E_WRONG_CONTEXT. */
typedef asx_status (*asx_stream_layer_fn)(asx_cx *cx, void *state, void *arg);
ASX_API asx_status asx_stream_layer_call(asx_cx *cx, const asx_stream *stream,
                                         const asx_stream_layer *layer, asx_stream_layer_fn fn,
                                         void *arg);

ASX_END_DECLS

#endif
