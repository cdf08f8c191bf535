/* serve_file.c - static files: which one, which representation, whether at all, which part.
 *
 * Nothing outside of the folder is ever opened: the system looks the path up beneath it
 * (asx_file_open), whatever links and dots are in it. What begins with a dot is not served either,
 * but for /.well-known.
 */
#include "cli/serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { PATH_MAX_BYTES = 2048, TAG_MAX = 64 };

/* A file that is open, and what is said of it. */
typedef struct found {
    asx_file file;
    asx_file_details details;
    const char *coding; /* NULL: none */
    char path[PATH_MAX_BYTES];
    char tag[TAG_MAX];
    char modified[ASX_HTTP_DATE_MAX];
} found;

/* ---- which file ----------------------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* The path without its first slash and with its escapes undone. Status 400 or 404, or 0. */
static unsigned decode(asx_http_text path, char *ret_path)
{
    size_t len = 0;
    for (size_t i = 1; i < path.len; i++) {
        char c = path.at[i];
        if (c == '%') { /* two digits are there: the reader has looked */
            c = (char)(hex(path.at[i + 1]) << 4 | hex(path.at[i + 2]));
            i += 2;
            if (c == '\0')
                return 400;
            if (c == '/')
                return 404;
        }
        if (len == PATH_MAX_BYTES - sizeof("index.html.br"))
            return 414;
        ret_path[len++] = c;
    }
    ret_path[len] = '\0';
    return 0;
}

/* Does a part of the path begin with a dot? */
static bool is_hidden(const char *path)
{
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        part += *part == '/';
        if (*part == '.' && strncmp(part, ".well-known", 11) != 0)
            return true;
    }
    return false;
}

/* Opens it below the folder. Status 0, 403, 404 or 500. */
static unsigned open_below(asx_cx *cx, const serve_site *site, const char *path, found *f)
{
    asx_region here;
    asx_file_options options = { .name = "file", .beneath = &site->root };
    asx_status st = asx_cx_region(cx, &here);
    if (st == ASX_OK)
        st = asx_file_open(cx, &here, path[0] != '\0' ? path : ".", ASX_FILE_READ, &options,
                           &f->file);
    if (st == ASX_E_PERMISSION)
        return 403;
    if (st < 0)
        return st == ASX_E_NOT_FOUND || st == ASX_E_INVALID_ARGUMENT ? 404 : 500;
    if (asx_file_info(cx, &f->file, &f->details) == ASX_OK &&
        (f->details.is_regular || f->details.is_directory))
        return 0;
    (void)asx_file_close(cx, &f->file);
    return 404;
}

/* Is the coding in the list of Accept-Encoding, and not with q=0? */
static bool accepts(const asx_http1_head *head, const char *coding)
{
    asx_http_text value;
    size_t len = strlen(coding);
    if (asx_http1_head_find(head, "accept-encoding", 0, &value, NULL) < 0)
        return false;
    for (size_t i = 0; i + len <= value.len; i++) {
        bool begins = i == 0 || value.at[i - 1] == ' ' || value.at[i - 1] == ',';
        if (!begins || strncasecmp(value.at + i, coding, len) != 0)
            continue;
        size_t end = i + len;
        if (end == value.len || value.at[end] == ',' || value.at[end] == ' ')
            return true;
        size_t rest = value.len - end;
        bool none = rest >= 4 && strncasecmp(value.at + end, ";q=0", 4) == 0 &&
                    (rest == 4 || value.at[end + 4] == ',' || value.at[end + 4] == ' ');
        return value.at[end] == ';' && !none;
    }
    return false;
}

/* Takes the compressed file beside it, if there is one that the client reads. */
static void prefer_compressed(asx_cx *cx, const serve_site *site, const asx_http1_head *head,
                              found *f)
{
    static const struct {
        const char *coding, *suffix;
    } codings[] = { { "br", ".br" }, { "gzip", ".gz" } };
    for (size_t i = 0; i < sizeof(codings) / sizeof(codings[0]); i++) {
        char path[PATH_MAX_BYTES + 4];
        found other;
        if (!accepts(head, codings[i].coding))
            continue;
        (void)snprintf(path, sizeof(path), "%s%s", f->path, codings[i].suffix);
        if (open_below(cx, site, path, &other) != 0)
            continue;
        if (other.details.is_regular) {
            (void)asx_file_close(cx, &f->file);
            f->file = other.file;
            f->details = other.details;
            f->coding = codings[i].coding;
            return;
        }
        (void)asx_file_close(cx, &other.file);
    }
}

/* Status 0: *f is open, a regular file; 301: a folder whose path has no slash at its end. */
static unsigned find(asx_cx *cx, const serve_site *site, const asx_http1_head *head, found *f)
{
    unsigned status = decode(head->path, f->path);
    if (status == 0 && is_hidden(f->path))
        status = 404;
    if (status == 0)
        status = open_below(cx, site, f->path, f);
    if (status != 0)
        return status;
    if (f->details.is_directory) {
        size_t len = strlen(f->path);
        (void)asx_file_close(cx, &f->file);
        if (len > 0 && f->path[len - 1] != '/')
            return 301;
        memcpy(f->path + len, "index.html", sizeof("index.html"));
        status = open_below(cx, site, f->path, f);
        if (status != 0)
            return status;
        if (f->details.is_directory) {
            (void)asx_file_close(cx, &f->file);
            return 404;
        }
    }
    prefer_compressed(cx, site, head, f);
    return 0;
}

/* ---- what is said of it --------------------------------------------------------------------- */

static const char *type_of(const char *path)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {
        { "html", "text/html; charset=utf-8" }, { "htm", "text/html; charset=utf-8" },
        { "css", "text/css; charset=utf-8" }, { "js", "text/javascript; charset=utf-8" },
        { "mjs", "text/javascript; charset=utf-8" }, { "json", "application/json" },
        { "txt", "text/plain; charset=utf-8" }, { "md", "text/markdown; charset=utf-8" },
        { "csv", "text/csv; charset=utf-8" }, { "xml", "application/xml" },
        { "svg", "image/svg+xml" }, { "png", "image/png" }, { "jpg", "image/jpeg" },
        { "jpeg", "image/jpeg" }, { "gif", "image/gif" }, { "webp", "image/webp" },
        { "avif", "image/avif" }, { "ico", "image/x-icon" }, { "woff", "font/woff" },
        { "woff2", "font/woff2" }, { "ttf", "font/ttf" }, { "otf", "font/otf" },
        { "pdf", "application/pdf" }, { "wasm", "application/wasm" }, { "zip", "application/zip" },
        { "gz", "application/gzip" }, { "tar", "application/x-tar" }, { "mp3", "audio/mpeg" },
        { "ogg", "audio/ogg" }, { "wav", "audio/wav" }, { "mp4", "video/mp4" },
        { "webm", "video/webm" },
    };
    const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
    if (dot == NULL || (slash != NULL && slash > dot))
        return "application/octet-stream";
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if (strcasecmp(dot + 1, types[i].suffix) == 0)
            return types[i].type;
    return "application/octet-stream";
}

static void describe(asx_http_response *response, found *f)
{
    const asx_file_details *d = &f->details;
    (void)snprintf(f->tag, sizeof(f->tag), "\"%" PRIx64 "-%" PRIx64 "-%" PRIx64 "\"", d->inode,
                   d->size, d->modified_ns);
    (void)asx_http_date_text(d->modified_ns / ASX_SEC, f->modified);
    (void)asx_http_response_field(response, "ETag", f->tag);
    (void)asx_http_response_field(response, "Last-Modified", f->modified);
    (void)asx_http_response_field(response, "Vary", "Accept-Encoding");
    (void)asx_http_response_field(response, "Accept-Ranges", "bytes");
    (void)asx_http_response_field(response, "X-Content-Type-Options", "nosniff");
    if (f->coding != NULL)
        (void)asx_http_response_field(response, "Content-Encoding", f->coding);
}

/* ---- conditions and parts ------------------------------------------------------------------- */

/* Is the tag in the list, or is that a star? `weak`: W/ before it does not matter. */
static bool tag_listed(asx_http_text list, const char *tag, bool weak)
{
    size_t len = strlen(tag);
    if (list.len == 1 && list.at[0] == '*')
        return true;
    for (size_t i = 0; i + len <= list.len; i++) {
        if (memcmp(list.at + i, tag, len) != 0)
            continue;
        bool is_weak = i >= 2 && memcmp(list.at + i - 2, "W/", 2) == 0;
        if (weak || !is_weak)
            return true;
    }
    return false;
}

static bool header(const asx_http1_head *head, const char *name, asx_http_text *ret_value)
{
    return asx_http1_head_find(head, name, 0, ret_value, NULL) == ASX_OK;
}

/* 200, 304 or 412, in the order of RFC 9110, 13.2.2. */
static unsigned weigh(const asx_http1_head *head, const found *f)
{
    asx_http_text value;
    uint64_t since, modified = f->details.modified_ns / ASX_SEC;
    if (header(head, "if-match", &value)) {
        if (!tag_listed(value, f->tag, false))
            return 412;
    } else if (header(head, "if-unmodified-since", &value) &&
               asx_http_date_read(value, &since) == ASX_OK && modified > since)
        return 412;
    if (header(head, "if-none-match", &value))
        return tag_listed(value, f->tag, true) ? 304 : 200;
    if (header(head, "if-modified-since", &value) &&
        asx_http_date_read(value, &since) == ASX_OK && modified <= since)
        return 304;
    return 200;
}

/* Digits up to another character. False: there is none, or too many. */
static bool number(asx_http_text *text, uint64_t *ret_number)
{
    size_t i = 0;
    *ret_number = 0;
    while (i < text->len && text->at[i] >= '0' && text->at[i] <= '9' && i < 18)
        *ret_number = *ret_number * 10 + (uint64_t)(text->at[i++] - '0');
    text->at += i;
    text->len -= i;
    return i > 0;
}

/* One range of bytes: 206 with it, 416, or 200 for the whole: also where there are several, which
 * nobody has to serve. */
static unsigned range(const asx_http1_head *head, const found *f, uint64_t *ret_from,
                      uint64_t *ret_size)
{
    asx_http_text value, condition;
    uint64_t size = f->details.size, first, last = UINT64_MAX;
    *ret_from = 0;
    *ret_size = size;
    if (!header(head, "range", &value) || value.len < 6 ||
        strncasecmp(value.at, "bytes=", 6) != 0)
        return 200;
    if (header(head, "if-range", &condition) &&
        !(condition.len == strlen(f->tag) && memcmp(condition.at, f->tag, condition.len) == 0) &&
        !(condition.len == strlen(f->modified) &&
          memcmp(condition.at, f->modified, condition.len) == 0))
        return 200;
    value = (asx_http_text){ value.at + 6, value.len - 6 };
    bool has_first = number(&value, &first);
    if (value.len == 0 || value.at[0] != '-')
        return 200;
    value = (asx_http_text){ value.at + 1, value.len - 1 };
    bool has_last = number(&value, &last);
    if (value.len != 0 || (!has_first && !has_last) || (has_first && has_last && last < first))
        return 200;
    if (!has_first) { /* the last so many */
        first = last < size ? size - last : 0;
        if (last == 0)
            return 416;
        last = UINT64_MAX;
    } else if (!has_last)
        last = UINT64_MAX;
    if (first >= size)
        return 416;
    *ret_from = first;
    *ret_size = (last < size ? last + 1 : size) - first;
    return 206;
}

/* ---- answers -------------------------------------------------------------------------------- */

static asx_status say(asx_cx *cx, asx_http_response *response, unsigned status)
{
    char text[80];
    int len = snprintf(text, sizeof(text), "%u %s\n", status, asx_http_status_text(status));
    (void)asx_http_response_status(response, status);
    (void)asx_http_response_field(response, "Content-Type", "text/plain; charset=utf-8");
    return asx_http_response_send(cx, response, text, (size_t)len);
}

static asx_status redirect(asx_cx *cx, const asx_http1_head *head, asx_http_response *response)
{
    char where[2 * PATH_MAX_BYTES];
    int len = snprintf(where, sizeof(where), "%.*s/%s%.*s", (int)head->path.len, head->path.at,
                       head->query.at != NULL ? "?" : "",
                       (int)head->query.len, head->query.at != NULL ? head->query.at : "");
    if (len < 0 || (size_t)len >= sizeof(where) ||
        asx_http_response_field(response, "Location", where) < 0)
        return say(cx, response, 414);
    return say(cx, response, 301);
}

static asx_status send_found(asx_cx *cx, const asx_http1_head *head, asx_http_response *response,
                             found *f)
{
    uint64_t from, size;
    char part[80];
    describe(response, f);
    unsigned status = weigh(head, f);
    if (status == 304) {
        (void)asx_http_response_status(response, 304);
        return asx_http_response_send(cx, response, NULL, 0);
    }
    if (status == 200)
        status = range(head, f, &from, &size);
    if (status == 412)
        return say(cx, response, 412);
    (void)snprintf(part, sizeof(part), "bytes */%" PRIu64, f->details.size);
    if (status == 206)
        (void)snprintf(part, sizeof(part), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, from,
                       from + size - 1, f->details.size);
    if (status != 200)
        (void)asx_http_response_field(response, "Content-Range", part);
    if (status == 416)
        return say(cx, response, 416);
    (void)asx_http_response_status(response, status);
    (void)asx_http_response_field(response, "Content-Type", type_of(f->path));
    return asx_http_response_file(cx, response, &f->file, from, size);
}

asx_status serve_file(asx_cx *cx, asx_http_request *request, asx_http_response *response,
                      void *arg)
{
    const serve_site *site = arg;
    const asx_http1_head *head = asx_http_request_head(request);
    found f;
    bool get = head->method.len == 3 && memcmp(head->method.at, "GET", 3) == 0;
    if (!get && !(head->method.len == 4 && memcmp(head->method.at, "HEAD", 4) == 0)) {
        (void)asx_http_response_field(response, "Allow", "GET, HEAD");
        return say(cx, response, 405);
    }
    f.coding = NULL;
    unsigned status = find(cx, site, head, &f);
    if (status == 301)
        return redirect(cx, head, response);
    if (status != 0)
        return say(cx, response, status);
    asx_status st = send_found(cx, head, response, &f);
    (void)asx_file_close(cx, &f.file);
    return st;
}
