/* file.c - the life of a file: made in a region, moved to another, closed with it at the latest.
 *
 * A region that has files has a house, a resident that lists them: a resident itself cannot leave
 * its region before that closes, and a listener's region sees a million connections come and go.
 * The house is memory of the region; a file that is still closing when the region is gone belongs
 * to the runtime.
 */
#include "io/io.h"

#include <asx/layer.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* ---- houses --------------------------------------------------------------------------------- */

static void finalize(asx_runtime *rt, asx__resident *resident)
{
    asx__house *house = (asx__house *)(void *)resident;
    (void)rt;
    for (asx__node *at = house->files.next; at != &house->files; at = at->next)
        if (((asx__file *)(void *)at)->sort == ASX__FILE_CHILD)
            asx__child_kill((asx__file *)(void *)at);
    for (asx__node *at = house->files.next; at != &house->files; at = at->next)
        if (((asx__file *)(void *)at)->sort == ASX__FILE_CHILD)
            asx__child_await((asx__file *)(void *)at, false);
    while (!asx__list_empty(&house->files))
        asx__file_close(house->io, (asx__file *)(void *)house->files.next);
}

static void retire(asx_runtime *rt, asx__resident *resident)
{
    finalize(rt, resident); /* what a finalizer of another resident has made meanwhile */
}

static uint64_t undelivered(const asx__resident *resident)
{
    (void)resident;
    return 0;
}

static const asx__resident_ops house_ops = { finalize, retire, undelivered };

/* NULL: no memory. */
static asx__house *house_of(asx__io *io, asx__region *region)
{
    if (region->io_house != NULL)
        return region->io_house;
    asx__house *house = asx__region_memory(region, sizeof *house);
    if (house == NULL)
        return NULL;
    *house = (asx__house){ .resident.ops = &house_ops, .io = io, .region = region };
    asx__list_init(&house->files);
    asx__region_host(region, &house->resident);
    region->io_house = house;
    return house;
}

asx_status asx__io_region(asx_runtime *rt, const asx_region *handle, asx__region **ret_region)
{
    if (handle == NULL) { /* what a task does for itself is not gated */
        asx__region *scope = asx__task_scope(rt->current);
        *ret_region = scope != NULL ? scope : rt->current->region;
        return ASX_OK;
    }
    asx_region inside = *handle;
    if (asx__is_gate(inside.rt_) && inside.rt_->behind == rt)
        inside.rt_ = rt;
    asx_status st = asx__region_resolve(&inside, ASX_STATE_MASK_ALL, ret_region);
    if (st < 0)
        return st;
    if ((*ret_region)->rt != rt)
        return ASX_E_STALE_HANDLE;
    return asx__region_gate((asx_region_state)(*ret_region)->state, ASX__GATE_CREATE_CHANNEL,
                            false);
}

/* ---- making --------------------------------------------------------------------------------- */

static void close_wait_unpublish(asx_runtime *rt, asx__task *task, void *waitable, bool granted)
{
    asx__file *file = (asx__file *)(void *)((char *)waitable - offsetof(asx__file, close_wait));
    (void)rt;
    (void)granted;
    if (file->closer == task)
        file->closer = NULL;
}

static const asx__waitable_ops close_ops = { ASX__WAIT_IO_CLOSE, asx__wait_never_ends,
                                             close_wait_unpublish };

static void init_file(asx__file *file, asx__io *io, uint32_t index)
{
    asx_runtime *home = file->home;
    uint32_t events[ASX__DIRECTIONS];
    for (unsigned d = 0; d < ASX__DIRECTIONS; d++)
        events[d] = asx__load_relaxed(&file->events[d]);
    size_t from = offsetof(asx__file, io); /* what is before that others may look at */
    memset((char *)file + from, 0, sizeof *file - from);
    if (home == NULL)
        file->home = io->rt;
    file->io = io;
    file->index = index;
    file->close_wait = (asx__waitable){ &close_ops, index };
    for (unsigned d = 0; d < ASX__DIRECTIONS; d++) {
        asx__list_init(&file->waiting[d]);
        asx__store_relaxed(&file->dry[d], events[d] - 1); /* it is not */
    }
}

asx_status asx__file_make(asx__io *io, asx__region *region, enum asx__file_sort sort, int fd,
                          const char *name, asx__file **ret_file)
{
    asx_runtime *rt = io->rt;
    asx__house *house = house_of(io, region);
    uint32_t index;
    asx__file *file = house != NULL ? asx__slab_alloc(rt, &io->files, &index) : NULL;
    if (file == NULL) {
        (void)close(fd);
        return ASX_E_RESOURCE_EXHAUSTED;
    }
    init_file(file, io, index);
    file->sort = (uint8_t)sort;
    file->fd = fd;
    file->name = name != NULL ? name : "";
    file->inward = file->outward = true;
    file->house = house;
    asx__list_push_back(&house->files, &file->node);
    io->open_files++;
    asx__store_relaxed(&file->pins, 0u);
    asx__store_relaxed(&file->generation, ((uint64_t)rt->number << 48) | ++io->file_generation);
    file->tag = (uint32_t)io->file_generation;
    *ret_file = file;
    return ASX_OK;
}

asx_status asx__file_find(const asx_runtime *rt, void *handle_file, uint64_t generation,
                          enum asx__file_sort sort, asx__file **ret_file)
{
    asx__file *file = handle_file;
    if (file == NULL || generation == 0)
        return ASX_E_INVALID_ARGUMENT;
    if (file->home != rt)
        return ASX_E_WRONG_CONTEXT;
    if (asx__file_generation(file) != generation)
        return ASX_E_STALE_HANDLE;
    if (file->sort != sort)
        return ASX_E_INVALID_ARGUMENT;
    *ret_file = file;
    return ASX_OK;
}

/* ---- closing -------------------------------------------------------------------------------- */

void asx__file_settle(asx__io *io, asx__file *file)
{
    if (!file->closing || file->out != 0 || asx__load_seq_cst(&file->pins) != 0)
        return;
    if (file->sort == ASX__FILE_CHILD && !asx__child_is_gone(io, file))
        return;
    asx__signals_give_back(io, file);
    file->closing = false;
    io->closing_files--;
    if (file->fd >= 0) {
        io->back->forget(io, file);
        (void)close(file->fd); /* Linux has closed it, whatever this says */
    }
    file->fd = -1;
    file->tag = 0;
    if (ASX__UNLIKELY(io->paused != NULL))
        asx__io_resume(io);
    if (file->layer != NULL)
        file->layer->destroy(file->layer_state);
    file->layer = NULL;
    if (file->path != NULL)
        asx__mem_free(io->rt, file->path, strlen(file->path) + 1);
    file->path = NULL;
    asx__task *closer = file->closer;
    file->closer = NULL;
    asx__slab_release(&io->files, file, file->index);
    if (closer != NULL)
        asx__wake(io->rt, closer, ASX_OK, false);
}

void asx__file_close(asx__io *io, asx__file *file)
{
    ASX__DEBUG_ASSERT(asx__file_generation(file) != 0 && !file->closing);
    asx__store_seq_cst(&file->generation, UINT64_C(0));
    asx__list_remove(&file->node);
    file->house = NULL;
    file->closing = true;
    io->open_files--;
    io->closing_files++;
    if (file->paused)
        asx__io_unpause(io, file);
    if (file->path != NULL)
        (void)unlink(file->path);
    if (file->sort == ASX__FILE_CHILD)
        asx__child_kill(file);
    if (file->is_socket && (file->out != 0 || asx__load_seq_cst(&file->pins) != 0))
        (void)shutdown(file->fd, SHUT_RDWR); /* a ring holds the connection open otherwise */
    file->out++; /* not settled before all have been told */
    asx__file_drain(io, file);
    file->out--;
    asx__file_settle(io, file);
}

asx_status asx__file_move(asx__file *file, asx__region *region)
{
    asx__house *house = house_of(file->io, region);
    if (house == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    asx__list_remove(&file->node);
    asx__list_push_back(&house->files, &file->node);
    file->house = house;
    return ASX_OK;
}

asx_status asx__file_await_close(asx_runtime *rt, asx__task *task, asx__file *file)
{
    if (!file->closing || (task->flags & ASX__T_POLL) != 0 || rt->in_cleanup)
        return ASX_OK;
    file->closer = task;
    (void)asx__park(rt, task, &file->close_wait, NULL);
    return ASX_OK;
}

asx_status asx__file_close_for(asx_runtime *rt, asx__task *task, asx__file *file)
{
    asx__file_close(file->io, file);
    return asx__file_await_close(rt, task, file);
}

void asx__files_discard(asx__io *io)
{
    for (uint32_t i = 0; i < io->files.carved; i++) {
        asx__file *file = asx__slab_at(&io->files, i);
        if (asx__file_generation(file) == 0 && !file->closing)
            continue;
        if (file->sort == ASX__FILE_CHILD) {
            asx__child_kill(file);
            asx__child_await(file, true);
        }
        asx__signals_give_back(io, file);
        if (file->fd >= 0)
            (void)close(file->fd);
        if (file->layer != NULL)
            file->layer->destroy(file->layer_state);
        if (file->path != NULL)
            asx__mem_free(io->rt, file->path, strlen(file->path) + 1);
    }
}
