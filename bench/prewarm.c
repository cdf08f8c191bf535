/* Touches memory and gives it back: prewarm <MiB>.
 *
 * A virtual machine hands free memory back to its host after a while, and the first touch
 * afterwards takes several times as long as one that the guest serves from its own free
 * list. The driver runs this before every single measurement, ours and the peers', so that
 * none of them pays for a pause that it did not make.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define MIB ((size_t)1024 * 1024)
#define PAGE_BYTES 4096u

int main(int argc, char **argv)
{
    size_t bytes = argc == 2 ? strtoul(argv[1], NULL, 10) * MIB : 0;
    if (bytes == 0) {
        fprintf(stderr, "usage: prewarm <MiB>\n");
        return 2;
    }
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        perror("prewarm");
        return 1;
    }
    madvise(p, bytes, MADV_HUGEPAGE); /* the same memory, touched with fewer faults */
    for (size_t i = 0; i < bytes; i += PAGE_BYTES)
        p[i] = 1;
    return 0;
}
