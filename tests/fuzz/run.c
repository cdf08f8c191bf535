/* run.c - where there is no libFuzzer: calls the function once for each file that is named, and
 * with `--mutate N` before them N times more, each time with some bytes changed. What is changed
 * follows from the file's bytes, so each run does the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MAX = 1 << 16 };
static unsigned long mutations;

static uint64_t draw(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A byte is changed, doubled or left out; or a run of bytes is put in another place. */
static size_t change(uint8_t *bytes, size_t len, uint64_t *state)
{
    static const char often[] = "\r\n :;,0\t\0";
    size_t at = (size_t)(draw(state) % len), n = (size_t)(draw(state) % 8) + 1;
    switch (draw(state) % 5) {
    case 0: bytes[at] = (uint8_t)draw(state); return len;
    case 1: bytes[at] = (uint8_t)often[draw(state) % sizeof(often)]; return len;
    case 2: memmove(bytes + at, bytes + at + 1, len - at - 1); return len - 1;
    case 3:
        memmove(bytes + at + 1, bytes + at, len - at);
        bytes[at] = (uint8_t)often[draw(state) % sizeof(often)];
        return len + 1;
    default: {
        size_t from = (size_t)(draw(state) % len);
        n = n < len - from ? n : len - from;
        n = n < len - at ? n : len - at;
        memmove(bytes + at, bytes + from, n);
        return len;
    }
    }
}

static void run_mutations(const uint8_t *bytes, size_t len)
{
    uint64_t state = len + 1;
    for (size_t i = 0; i < len; i++)
        state = state * 31 + bytes[i] + 1;
    for (unsigned long i = 0; i < mutations && len > 0; i++) {
        uint8_t *changed = malloc(len + 4);
        size_t now = len;
        if (changed == NULL)
            return;
        memcpy(changed, bytes, len);
        for (uint64_t n = draw(&state) % 4 + 1; n > 0 && now > 0; n--)
            now = change(changed, now, &state);
        uint8_t *exact = realloc(changed, now != 0 ? now : 1);
        if (exact != NULL)
            (void)LLVMFuzzerTestOneInput(exact, now);
        free(exact != NULL ? exact : changed);
    }
}

static int run_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(MAX);
    if (file == NULL || bytes == NULL) {
        perror(path);
        return 1;
    }
    size_t len = fread(bytes, 1, MAX, file);
    (void)fclose(file);
    uint8_t *exact = malloc(len != 0 ? len : 1); /* so that reading beyond it is noticed */
    if (exact == NULL)
        return 1;
    for (size_t i = 0; i < len; i++)
        exact[i] = bytes[i];
    free(bytes);
    (void)LLVMFuzzerTestOneInput(exact, len);
    run_mutations(exact, len);
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int first = 1;
    if (argc > 2 && strcmp(argv[1], "--mutate") == 0) {
        mutations = strtoul(argv[2], NULL, 10);
        first = 3;
    }
    int bad = argc <= first;
    for (int i = first; i < argc; i++)
        bad |= run_file(argv[i]);
    (void)printf("%d inputs, %lu changes of each\n", argc - first, mutations);
    return bad;
}
