/* checkpoint.c - an exploration as a file: what is left to do, and what was counted.
 *
 *     "asx-checkpoint 1\n"
 *     u64   hash of all that follows
 *     u32   length, and who it is of: program, test, options
 *     the rest: counters, classes, names of tasks, the backlog
 *
 * Names of objects. Most are made of tasks and numbers and mean the same in every run. Cells are
 * named by their address, and a program is loaded elsewhere each time; in the file they are named
 * by their place in the program. A cell that is not in the program's own data has no such name, and
 * then there is no checkpoint (asx__backlog_rename()). What the file says of places holds for the
 * same program only, so its contents are part of who it is of.
 */
#include "lab/jobs/jobs.h"

#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[] = "asx-checkpoint 1\n";
#define IN_PROGRAM (UINT64_C(1) << 60) /* an offset, not an address */

/* ---- names ---------------------------------------------------------------------------------- */

typedef struct program {
    uint64_t base, end; /* where it is */
} program;

/* The first object is the program itself. */
static int note_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
    program *p = ctx;
    (void)size;
    p->base = info->dlpi_addr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        uint64_t end = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type == PT_LOAD && end > p->end)
            p->end = end;
    }
    return 1;
}

static bool is_made(uint64_t name)
{
    return ASX__NAME_IS_MADE(name);
}

static uint64_t to_file(void *ctx, uint64_t name)
{
    const program *p = ctx;
    if (is_made(name))
        return name;
    return name >= p->base && name < p->end ? (name - p->base) | IN_PROGRAM : 0;
}

static uint64_t from_file(void *ctx, uint64_t name)
{
    const program *p = ctx;
    if (is_made(name))
        return name;
    uint64_t offset = name & ~IN_PROGRAM;
    return (name & IN_PROGRAM) != 0 && offset < p->end - p->base ? p->base + offset : 0;
}

/* ---- who it is of --------------------------------------------------------------------------- */

static uint64_t hash_bytes(const char *bytes, size_t len)
{
    uint64_t state = asx__hash_begin(0);
    for (size_t i = 0; i < len; i += 8) {
        uint64_t word = 0;
        for (size_t k = 0; k < 8 && i + k < len; k++)
            word |= (uint64_t)(unsigned char)bytes[i + k] << (8 * k);
        state = asx__hash_absorb(state, word);
    }
    return asx__hash_finish(state, len);
}

/* Of the file that this process runs, which nobody can write meanwhile; 0: it cannot be read. */
static uint64_t hash_of_program(void)
{
    static asx__atomic_u64 known; /* A: as for the file; 0: not yet */
    struct stat st;
    uint64_t hash = asx__load_relaxed(&known);
    if (hash != 0)
        return hash;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (fstat(fd, &st) == 0 && st.st_size > 0) {
        void *bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            hash = hash_bytes(bytes, (size_t)st.st_size);
            (void)munmap(bytes, (size_t)st.st_size);
        }
    }
    (void)close(fd);
    asx__store_relaxed(&known, hash);
    return hash;
}

static void put_identity(const asx_explore_options *o, asx__bytes *b)
{
    const char *name = o->program != NULL ? o->program : "";
    size_t hole = asx__bytes_hole(b);
    asx__bytes_u64(b, hash_of_program());
    asx__bytes_u32(b, (uint32_t)strlen(name));
    (void)asx__bytes_keep(b, name, strlen(name));
    asx__bytes_u32(b, o->mode);
    asx__bytes_u64(b, o->seed);
    asx__bytes_u64(b, o->steps_max);
    asx__bytes_u32(b, o->clock);
    asx__bytes_u32(b, o->faults);
    asx__bytes_u32(b, o->bound);
    asx__bytes_u32(b, o->delays);
    asx__bytes_u32(b, o->weak);
    asx__bytes_u32(b, o->depth);
    asx__bytes_u32(b, o->trust_reduction);
    asx__bytes_fill(b, hole);
}

/* What of it is different; NULL: nothing. */
static const char *difference(asx__reader *theirs, const asx_explore_options *o)
{
    asx__bytes own = { 0 };
    put_identity(o, &own);
    asx__reader all = { own.at, own.len, false };
    asx__reader ours = asx__read_part(&all);
    const char *why = NULL;
    if (asx__read_u64(theirs) != asx__read_u64(&ours))
        why = "it is of another program, or the program was built again";
    uint32_t their_len = asx__read_u32(theirs), our_len = asx__read_u32(&ours);
    const char *their_name = asx__read(theirs, their_len), *our_name = asx__read(&ours, our_len);
    if (why == NULL && (their_name == NULL || our_name == NULL || their_len != our_len ||
                        memcmp(their_name, our_name, our_len) != 0))
        why = "it is of another test";
    if (why == NULL && asx__read_u32(theirs) != asx__read_u32(&ours))
        why = "it was made in another mode";
    if (why == NULL && asx__read_u64(theirs) != asx__read_u64(&ours))
        why = "it was made with another seed";
    if (why == NULL && (theirs->len != ours.len || memcmp(theirs->at, ours.at, ours.len) != 0))
        why = "it was made with other options";
    free(own.at);
    return why;
}

/* ---- writing -------------------------------------------------------------------------------- */

static void put_tally(asx__bytes *b, const asx__tally *t)
{
    const asx__dpor_stats *s = &t->stats;
    const uint64_t words[] = { s->executions, s->steps, s->steps_longest, s->tasks_most,
                               s->redundant, s->checked, s->deadlocks, s->blocked, s->bounded,
                               s->branches_most, s->frames_most, s->span, t->bugs, t->too_long };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        asx__bytes_u64(b, words[i]);
    asx__bytes_double(b, s->done);
}

static void read_tally(asx__reader *r, asx__tally *t)
{
    asx__dpor_stats *s = &t->stats;
    uint64_t *const words[] = { &s->executions, &s->steps, &s->steps_longest, &s->tasks_most,
                                &s->redundant, &s->checked, &s->deadlocks, &s->blocked,
                                &s->bounded, &s->branches_most, &s->frames_most, &s->span,
                                &t->bugs, &t->too_long };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        *words[i] = asx__read_u64(r);
    s->done = asx__read_double(r);
}

asx_status asx__saved_write(const asx_explore_options *options, asx__saved *c,
                                 asx__bytes *file)
{
    program p = { 0, 0 };
    (void)dl_iterate_phdr(note_program, &p);
    asx_status st = asx__backlog_rename(c->backlog, to_file, &p);
    if (st < 0)
        return st;
    (void)asx__bytes_keep(file, magic, sizeof magic - 1);
    asx__bytes_u64(file, 0);
    size_t start = file->len;
    put_identity(options, file);
    put_tally(file, &c->sum);
    asx__bytes_u32(file, c->wide);
    asx__bytes_u32(file, c->features);
    asx__bytes_u64(file, c->next_sample);
    asx__bytes_u64(file, c->span);
    asx__bytes_u64(file, c->elapsed_ns);
    asx__bytes_u64(file, c->classes->mask);
    asx__bytes_u32(file, (uint32_t)c->classes->len);
    for (size_t i = 0; i < c->classes->cap; i++)
        if (c->classes->at[i] != 0)
            asx__bytes_u64(file, c->classes->at[i]);
    asx__bytes_u32(file, c->names->len);
    for (uint32_t i = 0; i < c->names->len; i++) {
        asx__bytes_u32(file, c->names->at[i].parent);
        asx__bytes_u32(file, c->names->at[i].nth);
    }
    asx__backlog_save(c->backlog, file);
    if (file->bad)
        return ASX_E_RESOURCE_EXHAUSTED;
    uint64_t hash = hash_bytes(file->at + start, file->len - start);
    for (unsigned i = 0; i < 8; i++)
        file->at[start - 8 + i] = (char)(unsigned char)(hash >> (8u * i));
    return asx__backlog_rename(c->backlog, from_file, &p);
}

/* ---- reading -------------------------------------------------------------------------------- */

static void read_counters(asx__reader *r, asx__saved *c)
{
    read_tally(r, &c->sum);
    c->wide = asx__read_u32(r) != 0;
    c->features = asx__read_u32(r);
    c->next_sample = asx__read_u64(r);
    c->span = asx__read_u64(r);
    c->elapsed_ns = asx__read_u64(r);
}

static asx_status read_rest(asx__reader *r, asx__saved *c)
{
    read_counters(r, c);
    uint64_t mask = asx__read_u64(r);
    uint32_t count = asx__read_count(r, 8);
    for (uint32_t i = 0; i < count; i++)
        if (asx__classes_add(c->classes, asx__read_u64(r), SIZE_MAX) < 0)
            return ASX_E_RESOURCE_EXHAUSTED;
    c->classes->mask = mask;
    count = asx__read_count(r, 8);
    if (count > ASX__COMMON_NAMES_MOST)
        return ASX_E_TRACE_CORRUPT;
    for (uint32_t i = 0; i < count; i++) {
        c->names->at[i].parent = asx__read_u32(r);
        c->names->at[i].nth = asx__read_u32(r);
    }
    c->names->len = count;
    asx_status st = asx__backlog_load(c->backlog, r);
    return st >= 0 && r->len != 0 ? ASX_E_TRACE_CORRUPT : st;
}

/* Whole, and of this program, test and options: what follows is left to read. */
static asx_status begin_read(const asx_explore_options *options, asx__reader *ret_r,
                             const char **ret_why)
{
    asx__reader r = { options->resume, options->resume_len, false };
    const char *head = asx__read(&r, sizeof magic - 1);
    if (head == NULL || memcmp(head, magic, 14) != 0) {
        *ret_why = "it is not a checkpoint";
        return ASX_E_TRACE_CORRUPT;
    }
    if (memcmp(head, magic, sizeof magic - 1) != 0) {
        *ret_why = "it is of another version";
        return ASX_E_TRACE_VERSION;
    }
    uint64_t hash = asx__read_u64(&r);
    if (r.bad || hash != hash_bytes(r.at, r.len)) {
        *ret_why = "it is damaged";
        return ASX_E_TRACE_CORRUPT;
    }
    asx__reader who = asx__read_part(&r);
    *ret_why = difference(&who, options);
    *ret_r = r;
    return *ret_why != NULL ? ASX_E_DIVERGED : ASX_OK;
}

asx_status asx__saved_read(const asx_explore_options *options, asx__saved *c,
                                const char **ret_why)
{
    asx__reader r;
    program p = { 0, 0 };
    asx_status st = begin_read(options, &r, ret_why);
    if (st < 0)
        return st;
    st = read_rest(&r, c);
    (void)dl_iterate_phdr(note_program, &p);
    if (st >= 0)
        st = asx__backlog_rename(c->backlog, from_file, &p);
    if (st < 0)
        *ret_why = st == ASX_E_RESOURCE_EXHAUSTED ? "there is no memory" : "it is damaged";
    return st < 0 && st != ASX_E_RESOURCE_EXHAUSTED ? ASX_E_TRACE_CORRUPT : st;
}

uint64_t asx__saved_samples(const asx_explore_options *options)
{
    asx_explore_options o = *options;
    asx__saved c = { .next_sample = 0 };
    const char *why = NULL;
    asx__reader r;
    asx__explore_defaults(&o);
    if (o.resume == NULL || begin_read(&o, &r, &why) < 0)
        return 0;
    read_counters(&r, &c);
    return r.bad ? 0 : c.next_sample;
}
