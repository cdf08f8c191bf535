/* print.c - reads messages from stdin, each behind its kind (one byte: 0 request, 1 response) and
 * its length (four bytes, lowest first), and prints for each a line: what became of it, how many
 * bytes were used, and in hexadecimal what it says. For compare.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support_http1.h"

int main(void)
{
    static reading r;
    unsigned char top[5];
    while (fread(top, 1, 5, stdin) == 5) {
        size_t len = top[1] | (size_t)top[2] << 8 | (size_t)top[3] << 16;
        char *bytes = malloc(len + 1);
        if (bytes == NULL || fread(bytes, 1, len, stdin) != len)
            return 1;
        read_in_pieces(top[0] == 0 ? ASX_HTTP1_REQUEST : ASX_HTTP1_RESPONSE, bytes, len, NULL, 0,
                       &r);
        printf("%d %zu ", r.result, r.used);
        for (size_t i = 0; r.said[i] != '\0'; i++)
            printf("%02x", (unsigned)(unsigned char)r.said[i]);
        printf("\n");
        free(bytes);
    }
    return 0;
}
