/* run.c - where there is no libFuzzer: calls the function once for each file that is named. */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz.h"

static int run_file(const char *path)
{
    enum { MAX = 1 << 16 };
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
    free(exact);
    return 0;
}

int main(int argc, char **argv)
{
    int bad = argc < 2;
    for (int i = 1; i < argc; i++)
        bad |= run_file(argv[i]);
    (void)printf("%d inputs\n", argc - 1);
    return bad;
}
