/* file.h - regular files and directories, owned by regions.
 *
 * What is in the system's cache is read and opened at once; all else is done on the threads of
 * asx_blocking(), while the task waits: so on a fiber. A poll task gets ASX_E_NOT_SUPPORTED from a
 * call that would need a thread. Work that has begun is not cancelled: the call waits for its end
 * and says what was done, and the next call tells of the cancel.
 *
 * Statuses, besides those of cx.h, of every call with a file: ASX_E_STALE_HANDLE (it is closed),
 * ASX_E_CAPABILITY (IO), ASX_E_RESOURCE_EXHAUSTED, ASX_E_SYSTEM, and in a runtime without I/O
 * (io.h) ASX_E_NOT_SUPPORTED.
 */
#ifndef ASX_FILE_H
#define ASX_FILE_H

#include <asx/io.h>

ASX_BEGIN_DECLS

typedef struct asx_file {
    void *file_;
    uint64_t generation_;
} asx_file;

enum {
    ASX_FILE_READ = 1,
    ASX_FILE_WRITE = 2,
    ASX_FILE_CREATE = 4,
    ASX_FILE_EXCLUSIVE = 8, /* with CREATE: it must not be there; ASX_E_EXISTS */
    ASX_FILE_TRUNCATE = 16,
    ASX_FILE_APPEND = 32,   /* writes go to the end, whatever their offset */
    ASX_FILE_DIRECTORY = 64 /* a directory, to open other files beneath */
};

/* Zero in any field means its default. */
typedef struct asx_file_options {
    const char *name;        /* borrowed until the file is closed, for reports; NULL: "" */
    uint32_t mode;           /* permissions of a new file; default 0666, less the umask */
    const asx_file *beneath; /* a directory: the path is looked for below it, and nothing leads out
                                of it, no "..", no absolute path, no symbolic link */
    bool refuse_symlinks;    /* with `beneath`: none is followed, wherever it leads */
} asx_file_options;

/* Opens a file by its path, which is borrowed until the call returns.
 *   ASX_E_NOT_FOUND, ASX_E_EXISTS, ASX_E_PERMISSION, ASX_E_NO_SPACE, ASX_E_DESCRIPTORS
 *   ASX_E_PERMISSION       too: the path leads out of `beneath`, or is a link and must not be one
 *   ASX_E_INVALID_ARGUMENT neither READ, WRITE nor DIRECTORY
 *   ASX_E_REGION_NOT_OPEN, ASX_E_REGION_CLOSED */
ASX_API asx_status asx_file_open(asx_cx *cx, const asx_region *region, const char *path,
                                 unsigned flags, const asx_file_options *options,
                                 asx_file *ret_file);

/* Reads up to `size` bytes from `offset`; *ret_n 0: that is its end. */
ASX_API asx_status asx_file_read(asx_cx *cx, const asx_file *file, uint64_t offset, void *buffer,
                                 size_t size, size_t *ret_n);
/* Writes at `offset`, all of it; *done says how much was written, and is moved on, as in
 * asx_stream_write_all(). ASX_E_NO_SPACE. */
ASX_API asx_status asx_file_write(asx_cx *cx, const asx_file *file, uint64_t offset,
                                  const void *data, size_t size, size_t *done);
/* What was written is on the disk when it returns. */
ASX_API asx_status asx_file_sync(asx_cx *cx, const asx_file *file);

typedef struct asx_file_details {
    uint64_t size;
    uint64_t modified_ns; /* since 1970 */
    uint64_t device, inode;
    uint32_t mode;        /* permissions */
    bool is_regular, is_directory;
} asx_file_details;
/* Does not wait. */
ASX_API asx_status asx_file_info(asx_cx *cx, const asx_file *file, asx_file_details *ret_details);

/* Reads entries of a directory, as many as fit into the buffer, which is aligned for any type; the
 * next call goes on behind them. *ret_size says how much of the buffer is used; 0: there are no
 * more. ASX_E_INVALID_ARGUMENT: too small for one. ASX_E_NOT_FOUND: no directory, or it is gone. */
ASX_API asx_status asx_directory_read(asx_cx *cx, const asx_file *directory, void *buffer,
                                      size_t size, size_t *ret_size);

typedef struct asx_directory_entry {
    const char *name; /* in the buffer */
    bool is_regular, is_directory, is_link; /* none of them: something else, or unknown */
} asx_directory_entry;
/* The next entry of those that were read; *at is 0 at first, and moved on. "." and ".." are left
 * out. False: there is no other. Pure. */
ASX_API bool asx_directory_next(const void *buffer, size_t size, size_t *at,
                                asx_directory_entry *ret_entry);

/* Closes it. Calls that are under way end first. */
ASX_API asx_status asx_file_close(asx_cx *cx, const asx_file *file);

/* Writes `size` bytes of the file from `offset` to a socket, without a copy in this process. *done
 * says how many, and is moved on; so it may be called again after a cancel. Statuses as
 * asx_stream_write(), and ASX_E_END: the file is shorter. */
ASX_API asx_status asx_stream_send_file(asx_cx *cx, const asx_stream *stream, const asx_file *file,
                                        uint64_t offset, uint64_t size, uint64_t *done);

ASX_END_DECLS

#endif
