/* cmd_run.c - `asx run`, `replay` of a recorded scenario, `digest`.
 *
 * A recorded trace holds its scenario as the trace's program: one comment line that says how it
 * was run, then the text of the section, so that replaying needs nothing but the trace.
 */
#include "cli/cli.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lab/main/pack.h"
#include "trace/trace.h"

#define PROGRAM_HEAD "# asx run vehicle=%s mode=%s line=%u file=%s\n"
#define SECTIONS_MAX 4096

/* ---- run ---- */

typedef struct run_arguments {
    const char *file, *trace, *id;
    uint64_t seed;
    bool has_seed;
    unsigned vehicle;
} run_arguments;

static bool read_arguments(int argc, char **argv, run_arguments *a)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seed") == 0) {
            if (!cli_option_number(argc, argv, &i, &a->seed))
                return false;
            a->has_seed = true;
        } else if (strcmp(argv[i], "--trace") == 0) {
            if ((a->trace = cli_option_value(argc, argv, &i)) == NULL)
                return false;
        } else if (strcmp(argv[i], "--scenario") == 0) {
            if ((a->id = cli_option_value(argc, argv, &i)) == NULL)
                return false;
        } else if (strcmp(argv[i], "--vehicle") == 0) {
            const char *vehicle = cli_option_value(argc, argv, &i);
            if (vehicle == NULL)
                return false;
            a->vehicle = strcmp(vehicle, "poll") == 0 ? SCN_POLL : SCN_FIBER;
            if (strcmp(vehicle, "poll") != 0 && strcmp(vehicle, "fiber") != 0)
                return cli_error("--vehicle: fiber or poll, not '%s'", vehicle) == CLI_OK;
        } else if (argv[i][0] == '-' || a->file != NULL) {
            return cli_error("run: '%s' is not expected", argv[i]) == CLI_OK;
        } else {
            a->file = argv[i];
        }
    }
    return a->file != NULL || cli_error("run: which file?") == CLI_OK;
}

static bool has_id(const scn *s, const char *id)
{
    for (uint32_t i = 0; i < s->id_count; i++) {
        if (strcmp(s->ids[i], id) == 0)
            return true;
    }
    return false;
}

/* Reads every section, so that an error anywhere is told, and keeps the one that is asked for. */
static bool choose(const char *file, const char *text, size_t len, const char *id, scn *ret_scn)
{
    scn_section *sections = calloc(SECTIONS_MAX, sizeof(*sections));
    scn_error error;
    size_t found = 0;
    bool bad = sections == NULL;
    size_t count = bad ? 0 : scn_split(text, len, sections, SECTIONS_MAX);
    if (count > SECTIONS_MAX) {
        (void)cli_error("%s: more than %d scenarios", file, SECTIONS_MAX);
        bad = true;
    }
    if (!bad && count == 0)
        (void)cli_error("%s:1: no line 'scenario NAME'", file);
    for (size_t i = 0; i < count && !bad; i++) {
        scn s;
        if (scn_parse(file, sections[i].line, sections[i].text, sections[i].len, &s, &error) < 0) {
            (void)fflush(stdout);
            (void)fprintf(stderr, "%s\n", error.text);
            bad = true;
        } else if (id != NULL && !has_id(&s, id)) {
            scn_deinit(&s);
        } else if (found++ == 0) {
            *ret_scn = s;
        } else {
            scn_deinit(&s);
        }
    }
    free(sections);
    if (!bad && found > 1 && id == NULL)
        (void)cli_error("%s: %zu scenarios in it; say which with --scenario", file, found);
    if (!bad && found > 1 && id != NULL)
        (void)cli_error("%s: %zu scenarios '%s'", file, found, id);
    if (!bad && count > 0 && found == 0)
        (void)cli_error("%s: no scenario '%s'", file, id);
    if (found > 0 && (bad || found > 1))
        scn_deinit(ret_scn);
    return !bad && found == 1;
}

static asx_status file_sink(void *ctx, const void *bytes, size_t len)
{
    return fwrite(bytes, 1, len, ctx) == len ? ASX_OK : ASX_E_SYSTEM;
}

static char *make_program(const scn *s, const scn_run_options *o, size_t *ret_len)
{
    const char *base = strrchr(s->file, '/');
    char head[512];
    int n = snprintf(head, sizeof(head), PROGRAM_HEAD, o->vehicle == SCN_POLL ? "poll" : "fiber",
                     o->mode == SCN_LAB ? "lab" : "live", (unsigned)s->line,
                     base == NULL ? s->file : base + 1);
    if (n < 0 || (size_t)n >= sizeof(head))
        return NULL;
    char *program = malloc((size_t)n + s->section_len + 1);
    if (program == NULL)
        return NULL;
    memcpy(program, head, (size_t)n);
    memcpy(program + n, s->section, s->section_len);
    *ret_len = (size_t)n + s->section_len;
    return program;
}

static int run_scenario(const scn *s, const run_arguments *a)
{
    scn_result result;
    scn_run_options options = { .vehicle = a->vehicle,
                                .mode = (s->modes & SCN_LAB) != 0 ? SCN_LAB : SCN_LIVE,
                                .seed = a->has_seed ? &a->seed : NULL };
    FILE *out = NULL;
    char *program = make_program(s, &options, &options.program_len);
    options.program = program;
    if (program == NULL)
        return cli_error("%s: out of memory", s->file);
    if (a->trace != NULL) {
        out = fopen(a->trace, "wb");
        if (out == NULL) {
            free(program);
            return cli_error("%s: %s", a->trace, strerror(errno));
        }
        options.sink = file_sink;
        options.sink_ctx = out;
    }
    asx_status st = scn_run(s, &options, &result);
    bool written = out == NULL || fclose(out) == 0;
    free(program);
    if (st < 0 && out != NULL)
        (void)remove(a->trace);
    if (st < 0)
        return cli_error("%s:%u: cannot run: %s %s", s->file, (unsigned)s->line, asx_status_str(st),
                         asx_status_hint(st));
    if (!written)
        return cli_error("%s: %s", a->trace, strerror(errno));
    if (!result.passed) {
        (void)printf("FAIL %s %s:%u: %s\n", s->ids[0], s->file, (unsigned)result.line, result.why);
        return CLI_FAILED;
    }
    (void)printf("ok %s digest %016" PRIx64 " events %" PRIu64 "\n", s->ids[0], result.digest,
                 result.events);
    return CLI_OK;
}

int cli_run(int argc, char **argv)
{
    run_arguments a = { .vehicle = SCN_FIBER };
    char *text = NULL;
    size_t len = 0;
    scn s;
    if (!read_arguments(argc, argv, &a) || !cli_read_file(a.file, &text, &len))
        return CLI_USAGE;
    int code = CLI_USAGE;
    if (choose(a.file, text, len, a.id, &s)) {
        code = run_scenario(&s, &a);
        scn_deinit(&s);
    }
    free(text);
    return code;
}

/* ---- traces ---- */

/* Where the trace of a crash pack begins; 0: it is none, or has none. */
static size_t trace_in_pack(const char *bytes, size_t len)
{
    static const char word[] = "\ntrace ";
    if (len < ASX__PACK_HEAD_LEN || memcmp(bytes, ASX__PACK_HEAD, ASX__PACK_HEAD_LEN) != 0)
        return 0;
    const char *at = memmem(bytes, len, word, sizeof(word) - 1);
    const char *end = at != NULL ? strchr(at + 1, '\n') : NULL;
    return end != NULL ? (size_t)(end + 1 - bytes) : 0;
}

bool cli_open_trace(const char *path, char **ret_bytes, asx_trace_reader *ret_reader)
{
    size_t len = 0;
    if (!cli_read_file(path, ret_bytes, &len))
        return false;
    size_t begin = trace_in_pack(*ret_bytes, len);
    asx_status st = asx_trace_reader_init(ret_reader, *ret_bytes + begin, len - begin);
    if (st >= 0)
        return true;
    if (st == ASX_E_TRACE_CORRUPT)
        (void)cli_error("%s: damaged at byte %zu", path, begin + ret_reader->error_offset);
    else
        (void)cli_error("%s: %s %s", path, asx_status_str(st), asx_status_hint(st));
    free(*ret_bytes);
    return false;
}

/* Counts the digest again from the events, when all of them are there. */
static bool digest_agrees(asx_trace_reader *reader, bool *ret_complete)
{
    uint64_t state = asx__hash_begin(0);
    asx_event event;
    asx_status st;
    while ((st = asx_trace_reader_next(reader, &event)) >= 0)
        state = asx__event_absorb(state, &event);
    uint64_t digest = asx__hash_finish(state, reader->events_total * ASX__EVENT_DIGEST_BYTES);
    *ret_complete = st == ASX_E_EMPTY && reader->event_count == reader->events_total;
    return !*ret_complete || digest == reader->digest;
}

int cli_digest(int argc, char **argv)
{
    asx_trace_reader reader;
    char *bytes = NULL;
    bool complete = false;
    const char *path = argc == 2 ? argv[1] : NULL;
    if (path == NULL)
        return cli_error("usage: asx digest TRACE");
    if (!cli_open_trace(path, &bytes, &reader))
        return CLI_USAGE;
    bool agrees = digest_agrees(&reader, &complete);
    if (agrees)
        (void)printf("%016" PRIx64 "\n", reader.digest);
    free(bytes);
    return agrees ? CLI_OK : cli_error("%s: the digest does not belong to these events", path);
}

/* ---- replay ---- */

static void show_side(const char *name, const asx_event *event, bool ended)
{
    char line[512];
    if (ended || event->seq == 0) {
        (void)printf("%s ended\n", name);
        return;
    }
    (void)asx_event_format(event, line, sizeof(line));
    (void)printf("%s %s\n", name, line);
}

static int show_divergence(const scn_result *result)
{
    const asx_divergence *d = &result->divergence;
    uint64_t seq = d->recorded.seq != 0 ? d->recorded.seq : d->actual.seq;
    if (d->in_lost_events) {
        (void)printf("diverged in an event that the recorded trace lost\n");
        return CLI_FAILED;
    }
    (void)printf("diverged at event %" PRIu64 "\n", seq);
    show_side("recorded:", &d->recorded, d->recorded_ended);
    show_side("     run:", &d->actual, d->run_ended);
    return CLI_FAILED;
}

static int replay_scenario(const char *path, const scn *s, unsigned vehicle,
                           asx_trace_reader *reader)
{
    scn_result result;
    uint64_t seed = reader->seed;
    scn_run_options options = { .vehicle = vehicle,
                                .mode = SCN_LAB,
                                .seed = &seed,
                                .unchecked = true,
                                .recorded = reader };
    asx_status st = scn_run(s, &options, &result);
    if (st < 0)
        return cli_error("%s: cannot replay: %s %s", path, asx_status_str(st),
                         asx_status_hint(st));
    if (result.status == ASX_E_DIVERGED || result.divergence.diverged)
        return show_divergence(&result);
    if (result.digest != reader->digest) {
        (void)printf("diverged: digest %016" PRIx64 ", recorded %016" PRIx64 "\n", result.digest,
                     reader->digest);
        return CLI_FAILED;
    }
    (void)printf("replayed %s digest %016" PRIx64 "\n", s->ids[0], result.digest);
    return CLI_OK;
}

int cli_replay_trace(const char *path)
{
    asx_trace_reader reader;
    char *bytes = NULL;
    char vehicle[8], mode[8], file[256];
    unsigned line = 0;
    int head = 0;
    if (!cli_open_trace(path, &bytes, &reader))
        return CLI_USAGE;
    int code = CLI_USAGE;
    char *program = malloc(reader.program_len + 1);
    scn_error error;
    scn s;
    if (program != NULL) {
        memcpy(program, reader.program, reader.program_len);
        program[reader.program_len] = '\0';
    }
    if (program == NULL)
        (void)cli_error("%s: out of memory", path);
    else if (sscanf(program, "# asx run vehicle=%7s mode=%7s line=%u file=%255[^\n]%n", vehicle,
                    mode, &line, file, &head) != 4 ||
             head == 0 || program[head] != '\n')
        (void)cli_error("%s: was not recorded by 'asx run'", path);
    else if (strcmp(mode, "lab") != 0)
        (void)cli_error("%s: was recorded on the real clock and cannot be repeated", path);
    else if (scn_parse(file, line, program + head + 1, strlen(program + head) - 1, &s, &error) < 0)
        (void)cli_error("%s: %s", path, error.text);
    else {
        code = replay_scenario(path, &s, strcmp(vehicle, "poll") == 0 ? SCN_POLL : SCN_FIBER,
                               &reader);
        scn_deinit(&s);
    }
    free(program);
    free(bytes);
    return code;
}
