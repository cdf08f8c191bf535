/* Programs from the literature on partial order reduction, whose number of classes is known. Each
 * is a lab test named after the program and its size. */
#ifndef ASX_LAB
#define ASX_LAB 1
#endif
#include <asx/asx_lab.h>

#include <string.h>

/* These are counted, not searched. */
ASX_LAB_DEFAULT_MODE("optimal");

/* Starts `count` tasks with arguments 0 .. count - 1 and waits for them. */
static void together(asx_cx *cx, asx_task_fn fn, intptr_t count)
{
    asx_region r;
    asx_lab_check(cx, asx_region_open(cx, NULL, &r) == ASX_OK);
    for (intptr_t i = 0; i < count; i++)
        asx_lab_check(cx, asx_spawn(&r, "task", fn, (void *)i) == ASX_OK);
    asx_lab_check(cx, asx_region_close(&r, ASX_OK) == ASX_OK);
}

static int x, y, z;
static int table[128];
static int size;

/* ---- one writes, n read: 2^n ---------------------------------------------------------------- */

static asx_status readers_task(asx_cx *cx, void *arg)
{
    if (arg == NULL)
        asx_lab_store(cx, &x, 42);
    else
        (void)asx_lab_load(cx, &x);
    return ASX_OK;
}

static void readers(asx_cx *cx, int n)
{
    x = 0;
    together(cx, readers_task, n + 1);
}

ASX_LAB_TEST(readers_1) { readers(cx, 1); }
ASX_LAB_TEST(readers_2) { readers(cx, 2); }
ASX_LAB_TEST(readers_3) { readers(cx, 3); }
ASX_LAB_TEST(readers_4) { readers(cx, 4); }
ASX_LAB_TEST(readers_5) { readers(cx, 5); }
ASX_LAB_TEST(readers_6) { readers(cx, 6); }
ASX_LAB_TEST(readers_7) { readers(cx, 7); }
ASX_LAB_TEST(readers_8) { readers(cx, 8); }
ASX_LAB_TEST(readers_9) { readers(cx, 9); }
ASX_LAB_TEST(readers_10) { readers(cx, 10); }
ASX_LAB_TEST(readers_11) { readers(cx, 11); }
ASX_LAB_TEST(readers_12) { readers(cx, 12); }
ASX_LAB_TEST(readers_13) { readers(cx, 13); }

/* ---- the last zero of an array that writers fill: (n + 3) 2^(n - 2) -------------------------- */

static asx_status lastzero_task(asx_cx *cx, void *arg)
{
    intptr_t j = (intptr_t)arg;
    if (j == 0) {
        int i = size;
        while (asx_lab_load(cx, &table[i]) != 0)
            i--;
        return ASX_OK;
    }
    int below = asx_lab_load(cx, &table[j - 1]);
    asx_lab_store(cx, &table[j], below + 1);
    return ASX_OK;
}

static void lastzero(asx_cx *cx, int n)
{
    memset(table, 0, sizeof table);
    size = n;
    together(cx, lastzero_task, n + 1);
}

ASX_LAB_TEST(lastzero_2) { lastzero(cx, 2); }
ASX_LAB_TEST(lastzero_3) { lastzero(cx, 3); }
ASX_LAB_TEST(lastzero_4) { lastzero(cx, 4); }
ASX_LAB_TEST(lastzero_5) { lastzero(cx, 5); }
ASX_LAB_TEST(lastzero_6) { lastzero(cx, 6); }
ASX_LAB_TEST(lastzero_7) { lastzero(cx, 7); }
ASX_LAB_TEST(lastzero_8) { lastzero(cx, 8); }
ASX_LAB_TEST(lastzero_9) { lastzero(cx, 9); }
ASX_LAB_TEST(lastzero_10) { lastzero(cx, 10); }
ASX_LAB_TEST(lastzero_11) { lastzero(cx, 11); }
ASX_LAB_TEST(lastzero_12) { lastzero(cx, 12); }
ASX_LAB_TEST(lastzero_13) { lastzero(cx, 13); }
ASX_LAB_TEST(lastzero_14) { lastzero(cx, 14); }
ASX_LAB_TEST(lastzero_15) { lastzero(cx, 15); }

/* ---- inodes and blocks of a file system: 2^(n - 13) ------------------------------------------ */

enum { INODES = 32, BLOCKS = 26 };
static asx_lab_mutex inode_locks[INODES], block_locks[BLOCKS];
static int inode[INODES], busy[BLOCKS];

static asx_status filesystem_task(asx_cx *cx, void *arg)
{
    int i = (int)((intptr_t)arg % INODES);
    (void)asx_lab_mutex_lock(cx, &inode_locks[i]);
    if (inode[i] == 0) {
        int b = i * 2 % BLOCKS;
        for (;;) {
            (void)asx_lab_mutex_lock(cx, &block_locks[b]);
            if (!busy[b]) {
                busy[b] = 1;
                inode[i] = b + 1;
                (void)asx_lab_mutex_unlock(cx, &block_locks[b]);
                break;
            }
            (void)asx_lab_mutex_unlock(cx, &block_locks[b]);
            b = (b + 1) % BLOCKS;
        }
    }
    (void)asx_lab_mutex_unlock(cx, &inode_locks[i]);
    return ASX_OK;
}

static void filesystem(asx_cx *cx, int n)
{
    memset(inode_locks, 0, sizeof inode_locks);
    memset(block_locks, 0, sizeof block_locks);
    memset(inode, 0, sizeof inode);
    memset(busy, 0, sizeof busy);
    together(cx, filesystem_task, n);
}

ASX_LAB_TEST(filesystem_13) { filesystem(cx, 13); }
ASX_LAB_TEST(filesystem_14) { filesystem(cx, 14); }
ASX_LAB_TEST(filesystem_15) { filesystem(cx, 15); }
ASX_LAB_TEST(filesystem_16) { filesystem(cx, 16); }
ASX_LAB_TEST(filesystem_17) { filesystem(cx, 17); }
ASX_LAB_TEST(filesystem_18) { filesystem(cx, 18); }
ASX_LAB_TEST(filesystem_19) { filesystem(cx, 19); }
ASX_LAB_TEST(filesystem_20) { filesystem(cx, 20); }
ASX_LAB_TEST(filesystem_21) { filesystem(cx, 21); }
ASX_LAB_TEST(filesystem_22) { filesystem(cx, 22); }
ASX_LAB_TEST(filesystem_23) { filesystem(cx, 23); }
ASX_LAB_TEST(filesystem_24) { filesystem(cx, 24); }
ASX_LAB_TEST(filesystem_25) { filesystem(cx, 25); }
ASX_LAB_TEST(filesystem_26) { filesystem(cx, 26); }

/* ---- a hash table that tasks insert into: 8^(n - 11) ----------------------------------------- */

static asx_status indexer_task(asx_cx *cx, void *arg)
{
    int t = (int)(intptr_t)arg;
    for (int m = 1; m <= 4; m++) {
        int w = m * 11 + t;
        int h = w * 7 % 128;
        while (!asx_lab_cas(cx, &table[h], 0, w))
            h = (h + 1) % 128;
    }
    return ASX_OK;
}

static void indexer(asx_cx *cx, int n)
{
    memset(table, 0, sizeof table);
    together(cx, indexer_task, n);
}

ASX_LAB_TEST(indexer_11) { indexer(cx, 11); }
ASX_LAB_TEST(indexer_12) { indexer(cx, 12); }
ASX_LAB_TEST(indexer_13) { indexer(cx, 13); }
ASX_LAB_TEST(indexer_14) { indexer(cx, 14); }
ASX_LAB_TEST(indexer_15) { indexer(cx, 15); }

/* ---- two tasks that add each other's number, one that looks ---------------------------------- */

static asx_status fib_task(asx_cx *cx, void *arg)
{
    int *to = arg == NULL ? &x : &y, *from = arg == NULL ? &y : &x;
    if ((intptr_t)arg == 2) {
        (void)asx_lab_load(cx, &x);
        (void)asx_lab_load(cx, &y);
        return ASX_OK;
    }
    for (int k = 0; k < size; k++) {
        int mine = asx_lab_load(cx, to);
        int other = asx_lab_load(cx, from);
        asx_lab_store(cx, to, mine + other);
    }
    return ASX_OK;
}

static void fib(asx_cx *cx, int n)
{
    x = y = 1;
    size = n;
    together(cx, fib_task, 3);
}

ASX_LAB_TEST(fib_1) { fib(cx, 1); }
ASX_LAB_TEST(fib_2) { fib(cx, 2); }
ASX_LAB_TEST(fib_3) { fib(cx, 3); }
ASX_LAB_TEST(fib_4) { fib(cx, 4); }
ASX_LAB_TEST(fib_5) { fib(cx, 5); }

/* ---- compare-and-swap in a circle ------------------------------------------------------------ */

static asx_status casrot_task(asx_cx *cx, void *arg)
{
    int i = (int)(intptr_t)arg + 1;
    (void)asx_lab_cas(cx, &x, i - 1, i);
    return ASX_OK;
}

static void casrot(asx_cx *cx, int n)
{
    x = 0;
    together(cx, casrot_task, n);
}

ASX_LAB_TEST(casrot_2) { casrot(cx, 2); }
ASX_LAB_TEST(casrot_3) { casrot(cx, 3); }
ASX_LAB_TEST(casrot_4) { casrot(cx, 4); }
ASX_LAB_TEST(casrot_5) { casrot(cx, 5); }
ASX_LAB_TEST(casrot_6) { casrot(cx, 6); }
ASX_LAB_TEST(casrot_7) { casrot(cx, 7); }
ASX_LAB_TEST(casrot_8) { casrot(cx, 8); }

/* ---- what an event reads decides what comes after it: 5 -------------------------------------- */

static asx_status branch_task(asx_cx *cx, void *arg)
{
    switch ((intptr_t)arg) {
    case 0:
        asx_lab_store(cx, &x, 1);
        break;
    case 1:
        asx_lab_store(cx, &y, 1);
        break;
    case 2:
        if (!asx_lab_load(cx, &y))
            asx_lab_store(cx, &z, 1);
        break;
    default:
        if (asx_lab_load(cx, &z) && !asx_lab_load(cx, &y))
            asx_lab_store(cx, &x, 2);
        break;
    }
    return ASX_OK;
}

ASX_LAB_TEST(branch)
{
    x = y = z = 0;
    together(cx, branch_task, 4);
}

/* ---- dining philosophers, all left-handed: 2^n - 1, one of them a deadlock ------------------- */

static asx_lab_mutex forks[16];

static asx_status philosopher(asx_cx *cx, void *arg)
{
    intptr_t i = (intptr_t)arg;
    (void)asx_lab_mutex_lock(cx, &forks[i]);
    (void)asx_lab_mutex_lock(cx, &forks[(i + 1) % size]);
    (void)asx_lab_mutex_unlock(cx, &forks[(i + 1) % size]);
    (void)asx_lab_mutex_unlock(cx, &forks[i]);
    return ASX_OK;
}

static void philosophers(asx_cx *cx, int n)
{
    memset(forks, 0, sizeof forks);
    size = n;
    together(cx, philosopher, n);
}

ASX_LAB_TEST(philosophers_2) { philosophers(cx, 2); }
ASX_LAB_TEST(philosophers_3) { philosophers(cx, 3); }
ASX_LAB_TEST(philosophers_4) { philosophers(cx, 4); }
ASX_LAB_TEST(philosophers_5) { philosophers(cx, 5); }
ASX_LAB_TEST(philosophers_6) { philosophers(cx, 6); }
ASX_LAB_TEST(philosophers_7) { philosophers(cx, 7); }
ASX_LAB_TEST(philosophers_8) { philosophers(cx, 8); }
ASX_LAB_TEST(philosophers_9) { philosophers(cx, 9); }
ASX_LAB_TEST(philosophers_10) { philosophers(cx, 10); }
