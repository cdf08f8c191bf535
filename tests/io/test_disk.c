/* test_disk.c - files: what is written is read, nothing leads out of a directory, a download is
 * whole. */
#include "io/support_io.h"

#include <asx/buffer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void with_folder(asx_task_fn fn)
{
    char command[128];
    strcpy(folder, "/tmp/asx-disk-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    io_run(fn, NULL, ASX_OK);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_EQ(system(command), 0);
}

static asx_status writes_and_reads(asx_cx *cx, void *arg)
{
    asx_file file;
    asx_file_details d;
    char text[16];
    size_t n, done = 0;
    (void)arg;
    CHECK_EQ(asx_file_open(cx, NULL, in_folder("a"), ASX_FILE_READ, NULL, &file), ASX_E_NOT_FOUND);
    CHECK(file.file_ == NULL);
    CHECK_STATUS(asx_file_open(cx, NULL, in_folder("a"),
                               ASX_FILE_READ | ASX_FILE_WRITE | ASX_FILE_CREATE,
                               &(asx_file_options){ .mode = 0640 }, &file),
                 ASX_OK);
    CHECK_STATUS(asx_file_write(cx, &file, 3, "hello", 5, &done), ASX_OK);
    CHECK_EQ(done, 5u);
    CHECK_STATUS(asx_file_sync(cx, &file), ASX_OK);
    CHECK_STATUS(asx_file_read(cx, &file, 1, text, sizeof text, &n), ASX_OK);
    CHECK_EQ(n, 7u);
    CHECK_MEM_EQ(text, "\0\0hello", 7);
    CHECK_STATUS(asx_file_read(cx, &file, 8, text, sizeof text, &n), ASX_OK);
    CHECK_EQ(n, 0u);
    CHECK_EQ(asx_file_info(cx, &file, &d), ASX_OK);
    CHECK_EQ(d.size, 8u);
    CHECK_EQ(d.mode, 0640u);
    CHECK(d.is_regular && !d.is_directory && d.modified_ns != 0);
    CHECK_EQ(asx_file_close(cx, &file), ASX_OK);
    CHECK_EQ(asx_file_read(cx, &file, 0, text, 1, &n), ASX_E_STALE_HANDLE);
    CHECK_EQ(asx_file_open(cx, NULL, in_folder("a"),
                           ASX_FILE_WRITE | ASX_FILE_CREATE | ASX_FILE_EXCLUSIVE, NULL, &file),
             ASX_E_EXISTS);
    CHECK_EQ(asx_file_open(cx, NULL, "/dev/full", ASX_FILE_WRITE, NULL, &file), ASX_OK);
    done = 0;
    CHECK_EQ(asx_file_write(cx, &file, 0, "x", 1, &done), ASX_E_NO_SPACE);
    CHECK_EQ(done, 0u);
    return ASX_OK;
}

ASX_TEST(what_is_written_is_read_and_a_full_disk_is_told)
{
    with_folder(writes_and_reads);
}

static asx_status stays_inside(asx_cx *cx, void *arg)
{
    static const char *const outside[] = { "../outside", "/etc/passwd", "down/../../outside",
                                           "link_out", "link_up/outside" };
    asx_file_options below = { .refuse_symlinks = false };
    asx_file root, file;
    (void)arg;
    CHECK_EQ(mkdir(in_folder("root"), 0700), 0);
    CHECK_EQ(mkdir(in_folder("root/down"), 0700), 0);
    CHECK_EQ(symlink("/etc/passwd", in_folder("root/link_out")), 0);
    CHECK_EQ(symlink("..", in_folder("root/link_up")), 0);
    CHECK_EQ(symlink("down", in_folder("root/link_in")), 0);
    fclose(fopen(in_folder("outside"), "w"));
    fclose(fopen(in_folder("root/down/inside"), "w"));
    CHECK_STATUS(asx_file_open(cx, NULL, in_folder("root"), ASX_FILE_DIRECTORY, NULL, &root),
                 ASX_OK);
    below.beneath = &root;
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        CHECK_STATUS(asx_file_open(cx, NULL, outside[i], ASX_FILE_READ, &below, &file),
                     ASX_E_PERMISSION);
    CHECK_STATUS(asx_file_open(cx, NULL, "down/inside", ASX_FILE_READ, &below, &file), ASX_OK);
    CHECK_STATUS(asx_file_open(cx, NULL, "link_in/inside", ASX_FILE_READ, &below, &file), ASX_OK);
    below.refuse_symlinks = true;
    CHECK_STATUS(asx_file_open(cx, NULL, "link_in/inside", ASX_FILE_READ, &below, &file),
                 ASX_E_PERMISSION);
    return ASX_OK;
}

ASX_TEST(no_path_leads_out_of_a_directory)
{
    with_folder(stays_inside);
}

static asx_status lists(asx_cx *cx, void *arg)
{
    asx_file dir;
    asx_directory_entry entry;
    _Alignas(8) char buffer[128]; /* several calls */
    size_t size, seen = 0, directories = 0, links = 0;
    (void)arg;
    CHECK_EQ(mkdir(in_folder("down"), 0700), 0);
    CHECK_EQ(symlink("down", in_folder("link")), 0);
    for (int i = 0; i < 20; i++) {
        char name[32];
        snprintf(name, sizeof name, "file-%02d", i);
        fclose(fopen(in_folder(name), "w"));
    }
    CHECK_EQ(asx_file_open(cx, NULL, folder, ASX_FILE_DIRECTORY, NULL, &dir), ASX_OK);
    CHECK_EQ(asx_directory_read(cx, &dir, buffer, 8, &size), ASX_E_INVALID_ARGUMENT);
    do {
        size_t at = 0;
        CHECK_STATUS(asx_directory_read(cx, &dir, buffer, sizeof buffer, &size), ASX_OK);
        while (asx_directory_next(buffer, size, &at, &entry)) {
            seen += strncmp(entry.name, "file-", 5) == 0 && entry.is_regular;
            directories += entry.is_directory;
            links += entry.is_link;
        }
    } while (size != 0);
    CHECK_EQ(seen, 20u);
    CHECK_EQ(directories, 1u);
    CHECK_EQ(links, 1u);
    return ASX_OK;
}

ASX_TEST(a_directory_is_listed_and_nothing_is_left_out)
{
    with_folder(lists);
}

/* ---- sending -------------------------------------------------------------------------------- */

enum { BIG = 3 << 20 };

typedef struct download {
    asx_stream out, in;
    asx_file file;
    uint64_t done;
    size_t read;
} download;

static asx_status sends(asx_cx *cx, void *arg)
{
    download *d = arg;
    asx_status st = asx_stream_send_file(cx, &d->out, &d->file, 1, BIG - 1, &d->done);
    CHECK(st == ASX_OK || st == ASX_E_CANCELLED);
    return st;
}

static void receives(asx_cx *cx, download *d, size_t size)
{
    static unsigned char bytes[65536];
    size_t n;
    while (d->read < size) {
        CHECK_STATUS(asx_stream_read(cx, &d->in, bytes, sizeof bytes, &n), ASX_OK);
        CHECK(n != 0);
        for (size_t i = 0; i < n; i++)
            CHECK_EQ(bytes[i], (unsigned char)((1 + d->read + i) % 249));
        d->read += n;
    }
}

static asx_status downloads(asx_cx *cx, void *arg)
{
    static unsigned char content[BIG];
    download d = { .read = 0 };
    asx_region r;
    size_t done = 0;
    (void)arg;
    for (size_t i = 0; i < BIG; i++)
        content[i] = (unsigned char)(i % 249);
    CHECK_STATUS(asx_file_open(cx, NULL, in_folder("big"),
                               ASX_FILE_READ | ASX_FILE_WRITE | ASX_FILE_CREATE, NULL, &d.file),
                 ASX_OK);
    CHECK_STATUS(asx_file_write(cx, &d.file, 0, content, BIG, &done), ASX_OK);
    io_connected(cx, NULL, &d.out, &d.in);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "sends", sends, &d), ASX_OK);
    receives(cx, &d, BIG / 3); /* cancelled in the middle, it goes on from there */
    CHECK_EQ(asx_region_cancel(&r, NULL), ASX_OK);
    ASX_IGNORE(asx_region_close(&r, ASX_OK));
    CHECK_GE(d.done, d.read);
    CHECK_EQ(asx_region_open(cx, NULL, &r), ASX_OK);
    CHECK_EQ(asx_spawn(&r, "sends", sends, &d), ASX_OK);
    receives(cx, &d, BIG - 1);
    CHECK_STATUS(asx_region_close(&r, ASX_OK), ASX_OK);
    CHECK_EQ(d.done, (uint64_t)BIG - 1);
    d.done = 0;
    CHECK_EQ(asx_stream_send_file(cx, &d.out, &d.file, BIG, 1, &d.done), ASX_E_END);
    return ASX_OK;
}

ASX_TEST(a_file_is_sent_whole_and_goes_on_after_a_cancel)
{
    with_folder(downloads);
}

/* ---- copying -------------------------------------------------------------------------------- */

static asx_status copies(asx_cx *cx, void *arg)
{
    asx_stream a[2], b[2];
    asx_reader r;
    char buffer[8], heard[32];
    size_t written = 0, read = 0;
    uint64_t done = 0;
    (void)arg;
    CHECK_EQ(asx_stream_pair(cx, NULL, &a[0], &a[1]), ASX_OK);
    CHECK_EQ(asx_stream_pair(cx, NULL, &b[0], &b[1]), ASX_OK);
    CHECK_EQ(asx_stream_write_all(cx, &a[0], "through a small buffer", 22, &written), ASX_OK);
    CHECK_EQ(asx_stream_close(cx, &a[0]), ASX_OK);
    CHECK_EQ(asx_reader_init(&r, &a[1], buffer, sizeof buffer), ASX_OK);
    CHECK_STATUS(asx_reader_copy(cx, &r, &b[0], 10, &done), ASX_OK);
    CHECK_EQ(done, 10u);
    CHECK_STATUS(asx_reader_copy(cx, &r, &b[0], UINT64_MAX, &done), ASX_E_END);
    CHECK_EQ(done, 22u);
    CHECK_EQ(asx_stream_read_exact(cx, &b[1], heard, 22, &read), ASX_OK);
    CHECK_MEM_EQ(heard, "through a small buffer", 22);
    return ASX_OK;
}

ASX_TEST(a_copy_stops_where_it_is_told_and_at_the_end)
{
    io_run(copies, NULL, ASX_OK);
}
