/* support_io.h - what tests of input and output have in common. */
#ifndef ASX_TESTS_IO_SUPPORT_H
#define ASX_TESTS_IO_SUPPORT_H

#include <asx/asx.h>

#include "harness.h"

/* Runs it in a runtime of its own, which must end with `wanted`, and leave no descriptor behind. */
void io_run(asx_task_fn fn, void *arg, asx_status wanted);

/* Open descriptors of the process. */
unsigned io_descriptors(void);

/* A listener at a free port of the loopback, and where that is. */
void io_listen(asx_cx *cx, const asx_region *region, asx_listener *ret_listener,
               asx_address *ret_address);

/* Two ends of a TCP connection in the region. */
void io_connected(asx_cx *cx, const asx_region *region, asx_stream *ret_client,
                  asx_stream *ret_server);

/* Writes until nothing more fits, so that the next write waits. */
void io_fill(asx_cx *cx, const asx_stream *stream);

/* Microseconds of processor time that this process has used. */
uint64_t io_cpu_us(void);

#endif
