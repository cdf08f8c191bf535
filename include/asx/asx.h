/* asx.h - structured concurrency for C: includes every public header of the runtime. Programs link
 * libasx. The laboratory is <asx/asx_lab.h> and libasx-lab. */
#ifndef ASX_ASX_H
#define ASX_ASX_H

#include <asx/api.h>
#include <asx/blocking.h>
#include <asx/broadcast.h>
#include <asx/budget.h>
#include <asx/buffer.h>
#include <asx/cancel.h>
#include <asx/channel.h>
#include <asx/cx.h>
#include <asx/dns.h>
#include <asx/file.h>
#include <asx/flow.h>
#include <asx/handle.h>
#include <asx/http.h>
#include <asx/http1.h>
#include <asx/io.h>
#include <asx/layer.h>
#include <asx/limit.h>
#include <asx/mpmc.h>
#include <asx/net.h>
#include <asx/obligation.h>
#include <asx/oneshot.h>
#include <asx/outcome.h>
#include <asx/process.h>
#include <asx/region.h>
#include <asx/runtime.h>
#include <asx/see.h>
#include <asx/state.h>
#include <asx/status.h>
#include <asx/stream.h>
#include <asx/supervisor.h>
#include <asx/sync.h>
#include <asx/task.h>
#include <asx/time.h>
#include <asx/timer.h>
#include <asx/trace.h>
#include <asx/watch.h>

#endif
