/* hello.c - tasks live in a region, and the region closes when nothing of it is left.
 *
 * Three tasks greet, each after giving way once. asx_region_close() returns when all three have
 * ended, so the counter that they share may live on the stack of app().
 */
#include <stdio.h>

#include <asx/asx.h>

struct guest {
    const char *name;
    int *greeted;
};

static asx_status greet(asx_cx *cx, void *arg)
{
    struct guest *guest = arg;
    asx_status st = asx_yield(cx); /* the others go first; a cancel would be told here */
    if (st < 0)
        return st;
    printf("hello from %s\n", guest->name);
    ++*guest->greeted;
    return ASX_OK;
}

static asx_status app(asx_cx *cx, void *arg)
{
    (void)arg;
    int greeted = 0;
    struct guest guests[] = { { "Anna", &greeted }, { "Boris", &greeted }, { "Clara", &greeted } };
    asx_region room;
    asx_status st = asx_region_open(cx, NULL, &room);
    if (st < 0)
        return st;
    for (int i = 0; i < 3; i++)
        asx_spawn(&room, guests[i].name, greet, &guests[i]); /* a failure here sticks to it ... */
    st = asx_region_close(&room, ASX_OK); /* ... and is told here */
    printf("%d of 3 have greeted, close says %s\n", greeted, asx_status_str(st));
    return st;
}

int main(void)
{
    return asx_main(app, NULL);
}
