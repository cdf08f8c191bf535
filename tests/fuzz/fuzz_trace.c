/* fuzz_trace.c - bytes as a trace file, and bytes as the events of one that is sealed properly: it
 * is refused, or can be read to its end, printed, judged by the oracles and put into layers. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "base/bytes.h"
#include "lab/oracle/oracle.h"
#include "trace/foata.h"
#include "trace/trace.h"

static bool look(const void *bytes, size_t len)
{
    asx_trace_reader reader;
    asx__oracles oracles;
    asx__foata foata;
    asx_event event;
    char line[512];
    if (asx_trace_reader_init(&reader, bytes, len) < 0)
        return false;
    asx_trace_reader again = reader;
    asx__oracles_init(&oracles);
    while (asx_trace_reader_next(&reader, &event) >= 0) {
        (void)asx_event_format(&event, line, sizeof(line));
        asx__oracles_hear(&oracles, &event);
    }
    (void)asx__oracles_end(&oracles, ASX_OK);
    asx__oracles_deinit(&oracles);
    if (asx__foata_make(&again, &foata) >= 0)
        asx__foata_deinit(&foata);
    return true;
}

static void *take(void *ctx, size_t size)
{
    (void)ctx;
    return malloc(size);
}

static void give(void *ctx, void *block, size_t size)
{
    (void)ctx;
    (void)size;
    free(block);
}

/* Small numbers, so that events speak of the same objects; 255 and 254 are the largest ones. */
static uint64_t word(uint8_t byte)
{
    return byte >= 254 ? UINT64_MAX - (255u - byte) : byte;
}

/* Eight bytes are an event: kind, task, object, a, b, cause, time. */
static void append(asx__trace *trace, const uint8_t *b)
{
    static const uint32_t kinds[] = {
#define KIND(name, number, text, object, a, b) ASX_EVENT_##name,
        ASX_EVENT_LIST(KIND)
#undef KIND
    };
    uint32_t kind = kinds[b[0] % (sizeof(kinds) / sizeof(kinds[0]))];
    uint64_t cause = b[5] < trace->next_seq ? b[5] : 0;
    trace->worker = b[7] & 3u;
    (void)asx__trace_append(trace, word(b[6]), kind, word(b[1]), word(b[2]), word(b[3]),
                            word(b[4]), cause);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    const asx__trace_memory memory = { take, give, NULL };
    asx__bytes file = { 0 };
    asx__trace trace = { 0 };
    (void)look(bytes, len);
    if (asx__trace_init(&trace, 0, ASX__TRACE_REFUSE, &memory) < 0)
        return 0;
    for (; len >= 8; bytes += 8, len -= 8)
        append(&trace, bytes);
    if (asx__trace_write(&trace, 1, "f", 1, asx__bytes_keep, &file) < 0 ||
        !look(file.at, file.len))
        abort();
    free(file.at);
    asx__trace_deinit(&trace);
    return 0;
}
