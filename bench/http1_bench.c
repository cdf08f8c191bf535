/* http1_bench.c - how long the head of a request takes, in one piece: ns per head, best of several
 * rounds. http1_bench [ROUNDS] prints one line for each head. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <asx/http1.h>

enum { SLOTS = 64, HEADS = 200000 };

static const struct {
    const char *name, *bytes;
} heads[] = {
    { "small", "GET /hello HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" },
    { "browser", "GET /wp-content/uploads/2010/03/hello-kitty-darth-vader-pink.jpg HTTP/1.1\r\n"
                 "Host: www.example.org\r\n"
                 "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:102.0) Gecko/20100101\r\n"
                 "Accept: image/avif,image/webp,*/*;q=0.8\r\n"
                 "Accept-Language: en-us,en;q=0.5\r\n"
                 "Accept-Encoding: gzip, deflate, br\r\n"
                 "Connection: keep-alive\r\n"
                 "Cookie: wp_ozh_wsa_visits=2; wp_ozh_wsa_visit_lasttime=xxxxxxxxxx; "
                 "__utma=xxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.xxxxxxxxxx.x\r\n"
                 "\r\n" },
};

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double round_ns(const char *bytes, size_t len)
{
    asx_http1_slot slots[SLOTS];
    asx_http1_head head;
    double begin = now_ns();
    for (int i = 0; i < HEADS; i++) {
        __asm__ volatile("" : "+r"(bytes) : : "memory");
        if (asx_http1_head_init(&head, ASX_HTTP1_REQUEST, slots, SLOTS, NULL) < 0 ||
            asx_http1_head_read(&head, bytes, len) < 0 || head.len != len)
            exit(1);
    }
    return (now_ns() - begin) / HEADS;
}

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        size_t len = strlen(heads[i].bytes);
        double best = 1e9;
        for (int r = 0; r < rounds; r++) {
            double ns = round_ns(heads[i].bytes, len);
            best = ns < best ? ns : best;
        }
        printf("%-8s %4zu bytes %7.1f ns %6.2f bytes/ns\n", heads[i].name, len, best,
               (double)len / best);
    }
    return 0;
}
