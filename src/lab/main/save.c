/* save.c - checkpoints as files, and being told to stop. */
#include "lab/main/lab_main.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/atomic.h"

/* A second interrupt is meant only if somebody has had the time to see that the first one was not
 * enough: whoever signals a process and then its group (timeout, a terminal and a parent) does it
 * at once. */
#define MEANT_AFTER_NS ASX_SEC

static asx__atomic_u64 interrupted_ns; /* when; 0: it was not */

static void on_signal(int number)
{
    uint64_t first = 0, now = now_ns() + 1;
    if (asx__cas_acq_rel(&interrupted_ns, &first, now) || now < first + MEANT_AFTER_NS)
        return;
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* it comes when we return */
}

void hear_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool was_interrupted(void)
{
    return asx__load_relaxed(&interrupted_ns) != 0;
}

asx_status on_checkpoint(void *ctx, const void *bytes, size_t len)
{
    lab_request *r = ctx;
    char path[4096];
    r->unsaved = ENAMETOOLONG; /* it is told with the result */
    if ((size_t)snprintf(path, sizeof path, "%s.new", r->checkpoint) >= sizeof path)
        return ASX_E_SYSTEM;
    r->unsaved = 0;
    FILE *file = fopen(path, "wb");
    bool good = file != NULL && fwrite(bytes, 1, len, file) == len;
    if (file != NULL && fclose(file) != 0)
        good = false;
    if (good && rename(path, r->checkpoint) == 0)
        return ASX_OK;
    r->unsaved = errno != 0 ? errno : EIO;
    (void)unlink(path);
    return ASX_E_SYSTEM;
}

char *read_file(const char *path, size_t *ret_len)
{
    FILE *file = fopen(path, "rb");
    size_t len = 0, cap = 4096;
    char *text = file != NULL ? malloc(cap) : NULL;
    while (text != NULL) {
        size_t got = fread(text + len, 1, cap - len - 1, file);
        len += got;
        if (got == 0)
            break;
        if (len + 1 < cap)
            continue;
        cap *= 2;
        char *larger = realloc(text, cap);
        if (larger == NULL)
            free(text);
        text = larger;
    }
    if (file != NULL)
        fclose(file);
    if (text != NULL)
        text[len] = '\0';
    if (text != NULL && ret_len != NULL)
        *ret_len = len;
    return text;
}
