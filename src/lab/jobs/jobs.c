/* jobs.c - the keeper (see jobs.h): who does what. */
#include "lab/jobs/jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lab/jobs/keeper.h"
#include "lab/oracle/site.h"

#define TICK_MS 20       /* between two looks at the clock */
#define GONE_MS 1000     /* who has closed its end of the line has this long to end */
#define WORTH 32         /* work of so many executions is worth asking for */
/* If not, nobody is asked for so long, then twice as long, up to the second; or so many times what
 * it takes the keeper, up to the last. */
#define PAUSE_NS (ASX_MS / 16)
#define PAUSE_FREE_NS (16 * ASX_MS)
#define SPENT_TIMES 32
#define PAUSE_MOST_NS (500 * ASX_MS)
/* ---- workers -------------------------------------------------------------------------------- */

static void be_worker(asx__keeper *k, uint32_t number, int fd)
{
    asx_explore_options o = *k->options;
    asx_explore_result result;
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].pid != 0)
            (void)close(k->workers[i].fd);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)signal(SIGINT, SIG_IGN); /* the keeper hears it, and tells us */
    asx__tie tie;
    asx__tie_init(&tie, k->common, &k->common->slots[number], fd);
    tie.wide = k->wide;
    tie.limited = o.executions_max != 0 && !k->sampling;
    tie.first_only = o.stop_at_first;
    o.time_max_ns = o.executions_max = 0;
    o.on_progress = NULL;
    o.stop_at_first = false;
    o.sink = NULL;
    asx_status st = asx__explore_alone(&o, k->fn, k->arg, &tie.sharing, &result);
    _exit(st < 0 ? 1 : 0);
}

static bool start_worker(asx__keeper *k, uint32_t number)
{
    int ends[2];
    asx__lab_worker *w = &k->workers[number];
    memset(w, 0, sizeof *w);
    memset(&k->common->slots[number], 0, sizeof k->common->slots[number]);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    pid_t pid = fork();
    if (pid == 0) {
        (void)close(ends[0]);
        be_worker(k, number, ends[1]);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return false;
    }
    w->pid = pid;
    w->fd = ends[0];
    return true;
}

static void end_worker(asx__lab_worker *w, bool force)
{
    int state;
    if (w->pid == 0)
        return;
    if (force)
        (void)kill(w->pid, SIGKILL);
    (void)close(w->fd);
    while (waitpid(w->pid, &state, 0) < 0 && errno == EINTR)
        continue;
    w->pid = 0;
    w->busy = false;
}

/* The test has ended the worker's process. It is waited for before any other one is ended, so that
 * whoever watches them learns first how this one did. If the test has only closed the line, the
 * worker is ended by us. */
static void end_gone(asx__keeper *k, asx__lab_worker *w)
{
    int fd = (int)syscall(SYS_pidfd_open, w->pid, 0);
    struct pollfd end = { .fd = fd, .events = POLLIN };
    while (fd >= 0 && poll(&end, 1, GONE_MS) < 0 && errno == EINTR)
        continue;
    end_worker(w, fd < 0 || end.revents == 0);
    if (fd >= 0)
        (void)close(fd);
    k->broken = ASX_E_SYSTEM;
}

/* Of a bet nothing can be given. */
static void want(asx__keeper *k, asx__giving giving)
{
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].busy && (k->workers[i].batch == NULL || k->sampling))
            asx__store_release(&k->common->slots[i].want, giving);
}

/* Everything is wanted back; bets are called off. */
static void collect(asx__keeper *k)
{
    k->collecting = true;
    asx__keeper_settle_bets(k);
    want(k, ASX__GIVE_ALL);
    for (asx__batch *b = k->bets; b != NULL; b = b->next) {
        b->off = asx__backlog_bet(k->backlog, &b->place) == ASX__BET_OPEN;
        asx__backlog_lose(&b->place);
    }
    asx__keeper_settle_bets(k);
}

void asx__keeper_stop(asx__keeper *k, asx_explore_stop why)
{
    if (k->stopped == ASX_EXPLORE_STOP_NONE)
        k->stopped = why;
    collect(k);
}

/* ---- work ----------------------------------------------------------------------------------- */

static bool may_begin(asx__keeper *k)
{
    if (k->options->executions_max == 0 || k->sampling)
        return true;
    uint64_t allowed = asx__load_relaxed(&k->common->allowed);
    while (allowed != 0)
        if (asx__cas_acq_rel(&k->common->allowed, &allowed, allowed - 1))
            return true;
    return false;
}

static void may_not_begin(asx__keeper *k)
{
    if (k->options->executions_max != 0 && !k->sampling)
        (void)asx__fetch_add_relaxed(&k->common->allowed, 1);
}

/* What was asked for was soon done, or nobody could take it: next time later. Who gives shares his
 * nodes from then on, and tells of all that he finds for them; so he takes them back meanwhile. */
static void pause_asking(asx__keeper *k)
{
    k->pause_ns = k->pause_ns < PAUSE_NS ? PAUSE_NS : 2 * k->pause_ns;
    if (k->pause_ns > PAUSE_FREE_NS)
        k->pause_ns = PAUSE_FREE_NS;
    if (k->pause_ns < SPENT_TIMES * k->spent_ns)
        k->pause_ns = SPENT_TIMES * k->spent_ns;
    if (k->pause_ns > PAUSE_MOST_NS)
        k->pause_ns = PAUSE_MOST_NS;
    k->ask_ns = asx__keeper_now() + k->pause_ns;
    k->spent_ns = 0;
    k->asked = false;
}

static bool is_pausing(const asx__keeper *k)
{
    return k->ask_ns != 0 && asx__keeper_busy(k) != 0 && asx__keeper_now() < k->ask_ns;
}

static void let_take_back(asx__keeper *k)
{
    for (uint32_t i = 0; i < k->jobs; i++) {
        asx__lab_worker *w = &k->workers[i];
        if (w->busy && w->gave && w->place.node != NULL && w->batch == NULL)
            asx__store_release(&k->common->slots[i].want, ASX__TAKE_BACK);
        w->gave = false;
    }
}

/* Somebody has no work. */
static void ask_for_work(asx__keeper *k)
{
    bool given = false;
    for (uint32_t i = 0; i < k->jobs; i++)
        given = given || k->workers[i].gave;
    if (k->tells && k->asked && given && !is_pausing(k))
        pause_asking(k);
    if (is_pausing(k)) {
        let_take_back(k);
        return;
    }
    want(k, asx__keeper_may_bet(k) ? ASX__GIVE_BETS : ASX__GIVE_TOP);
    k->asked = true;
}

/* While others are not asked for work, who is alone gets all that he can have. */
static void send_work(asx__keeper *k, uint32_t i, const asx__bytes *work)
{
    asx__lab_worker *w = &k->workers[i];
    asx__bytes message = { 0 };
    size_t hole = asx__bytes_hole(&message);
    (void)asx__bytes_keep(&message, work->at, work->len);
    asx__bytes_fill(&message, hole);
    if (w->place.node != NULL && asx__keeper_busy(k) == 0 && asx__keeper_now() < k->ask_ns)
        asx__backlog_tell(k->backlog, &w->place, true, &message);
    asx__store_release(&k->common->slots[i].want, ASX__GIVE_NOTHING);
    w->before = asx__load_relaxed(&k->common->slots[i].executions);
    w->gave = false;
    w->beside = asx__keeper_busy(k) != 0;
    bool bet = !k->sampling && asx__backlog_bet(k->backlog, &w->place) == ASX__BET_OPEN;
    if (bet)
        asx__keeper_add_bet(k, w);
    w->busy = !message.bad;
    if (message.bad)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    else
        asx__keeper_say(w, bet ? ASX__MESSAGE_BET : ASX__MESSAGE_WORK, &message);
    free(message.at);
}

/* Gives work to those who have none. */
static void hand_out(asx__keeper *k)
{
    bool hungry = false;
    for (uint32_t i = 0; i < k->jobs && !k->collecting && k->broken >= 0; i++) {
        asx__lab_worker *w = &k->workers[i];
        if (w->pid == 0 || w->busy)
            continue;
        asx__bytes work = { 0 };
        if (!may_begin(k))
            return;
        bool any;
        if (k->sampling)
            any = asx__keeper_take_samples(k, w, &work);
        else
            any = !is_pausing(k) &&
                  asx__backlog_take(k->backlog, asx__keeper_may_bet(k), &work, &w->place);
        if (!any) {
            may_not_begin(k);
            hungry = true;
        } else if (work.bad) {
            k->broken = ASX_E_RESOURCE_EXHAUSTED;
        } else {
            send_work(k, i, &work);
        }
        free(work.at);
    }
    if (hungry && !k->sampling)
        ask_for_work(k);
}

static void on_given(asx__keeper *k, asx__lab_worker *w)
{
    uint64_t began = asx__keeper_now();
    asx__reader r = { k->message.at, k->message.len, false };
    bool asked = asx__read_u32(&r) != 0, back = asx__read_u32(&r) != 0;
    asx_status st = asx__backlog_give(k->backlog, &w->place, &r);
    if (st < 0)
        k->broken = st;
    w->gave = !back;
    asx__keeper_settle_bets(k);
    if (!asked)
        return;
    k->tells = true;
    asx__bytes told = { 0 };
    asx__backlog_tell(k->backlog, &w->place, back, &told);
    k->spent_ns += asx__keeper_now() - began;
    if (told.bad)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    else
        asx__keeper_say(w, ASX__MESSAGE_TOLD, &told);
    free(told.at);
}

static void on_done(asx__keeper *k, asx__lab_worker *w)
{
    asx__batch *b = w->batch;
    w->busy = false;
    uint64_t executions = asx__load_relaxed(&k->common->slots[w - k->workers].executions);
    if (b != NULL && !k->sampling)
        executions = w->before + (asx__backlog_bet(k->backlog, &b->place) == ASX__BET_LOST
                                      ? 0 : b->tally.stats.executions);
    if (w->beside && executions >= w->before + WORTH) {
        k->pause_ns /= 8;
        k->ask_ns = k->spent_ns = 0;
    } else if (w->beside && k->tells) {
        pause_asking(k);
    }
    w->batch = NULL;
    if (k->sampling)
        asx__keeper_settle_samples(k, b);
    else if (b == NULL)
        asx__backlog_done(k->backlog, &w->place);
    asx__keeper_settle_bets(k);
}

static void on_heard(asx__keeper *k, const asx__lab_worker *w)
{
    asx__reader r = { k->message.at, k->message.len, false };
    bool heard = asx__read_u32(&r) != 0;
    if (w->batch == NULL) {
        k->broken = ASX_E_SYSTEM;
        return;
    }
    if (heard)
        asx__backlog_heard(k->backlog, &w->batch->place);
    else
        asx__backlog_lose(&w->batch->place);
    asx__keeper_settle_bets(k);
}

/* Its last word. Samples that it has not come to the end of count as far as it came. */
static void on_status(asx__keeper *k, asx__lab_worker *w)
{
    asx__reader r = { k->message.at, k->message.len, false };
    asx_status st = (asx_status)asx__read_u32(&r);
    uint32_t unsupported = asx__read_u32(&r);
    bool lost = asx__read_u32(&r) != 0, moved = asx__read_u32(&r) != 0;
    uint64_t site = asx__read_u64(&r);
    if (st < 0 && k->status >= 0) {
        k->status = st;
        k->cell_moved = moved;
        k->unsupported = unsupported;
        k->unsupported_site = (const char *)(uintptr_t)site;
        const char *diverged = asx__read(&r, sizeof k->diverged);
        if (diverged != NULL)
            memcpy(k->diverged, diverged, sizeof k->diverged);
    }
    if (lost) {
        k->lost = true;
        asx__keeper_stop(k, ASX_EXPLORE_STOP_FIRST);
    }
    if (st < 0)
        asx__keeper_stop(k, ASX_EXPLORE_STOP_FAILED);
    if (k->sampling && w->batch != NULL)
        asx__keeper_settle_samples(k, w->batch);
    w->batch = NULL;
}

/* False: it is gone. */
static bool hear(asx__keeper *k, asx__lab_worker *w)
{
    asx__message kind;
    if (!asx__message_receive(w->fd, &kind, &k->message))
        return false;
    switch (kind) {
    case ASX__MESSAGE_GIVEN:
        on_given(k, w);
        break;
    case ASX__MESSAGE_HEARD:
        on_heard(k, w);
        break;
    case ASX__MESSAGE_FAILURE:
        asx__keeper_failure(k, w);
        break;
    case ASX__MESSAGE_REPORT:
        asx__keeper_report(k, w);
        break;
    case ASX__MESSAGE_DONE:
        on_done(k, w);
        break;
    case ASX__MESSAGE_RESTART:
        k->restart = true;
        k->wide = true;
        break;
    case ASX__MESSAGE_STATUS: /* its last word, before it was told to go */
        on_status(k, w);
        end_worker(w, false);
        break;
    default:
        k->broken = ASX_E_SYSTEM;
        break;
    }
    return true;
}

static void wait_for_messages(asx__keeper *k)
{
    struct pollfd fds[ASX__JOBS_MOST];
    uint32_t who[ASX__JOBS_MOST];
    nfds_t count = 0;
    for (uint32_t i = 0; i < k->jobs; i++)
        if (k->workers[i].pid != 0) {
            who[count] = i;
            fds[count++] = (struct pollfd){ .fd = k->workers[i].fd, .events = POLLIN };
        }
    uint64_t now = asx__keeper_now();
    uint64_t wait = TICK_MS * ASX_MS;
    if (k->ask_ns > now && k->ask_ns - now < wait)
        wait = k->ask_ns - now;
    if (ppoll(fds, count, &(struct timespec){ .tv_nsec = (long)wait }, NULL) <= 0)
        return;
    for (nfds_t i = 0; i < count && k->broken >= 0 && !k->restart; i++)
        if (fds[i].revents != 0 && k->workers[who[i]].pid != 0 && !hear(k, &k->workers[who[i]]))
            end_gone(k, &k->workers[who[i]]);
}

/* ---- the whole ------------------------------------------------------------------------------ */

static asx_status save(asx__keeper *k)
{
    asx__bytes file = { 0 };
    uint32_t features = asx__load_relaxed(&k->common->features);
    k->unsaved = (features & ASX__FEATURE_ELSEWHERE) != 0;
    if (k->unsaved)
        return ASX_OK;
    asx__saved c = { .sum = k->sum,
                          .classes = &k->classes,
                          .names = &k->common->names,
                          .backlog = k->backlog,
                          .wide = k->wide || (features & ASX__FEATURE_WIDE) != 0,
                          .features = features,
                          .next_sample = k->next_sample,
                          .span = k->span,
                          .elapsed_ns = asx__keeper_now() - k->started_ns + k->before_ns };
    asx_status st = asx__saved_write(k->options, &c, &file);
    if (st >= 0)
        st = k->options->on_checkpoint(k->options->ctx, file.at, file.len);
    k->unsaved = st < 0;
    free(file.at);
    return st;
}

/* Who had no work when everything was wanted back has not told what it did before. */
static void ask_for_reports(asx__keeper *k)
{
    for (uint32_t i = 0; i < k->jobs && k->broken >= 0; i++) {
        asx__lab_worker *w = &k->workers[i];
        if (w->pid == 0 || asx__load_relaxed(&k->common->slots[i].executions) == 0)
            continue;
        asx__keeper_say(w, ASX__MESSAGE_ASKED, NULL);
        if (!hear(k, w))
            end_gone(k, w);
    }
}

static void look_at_the_clock(asx__keeper *k, uint64_t *told_ns)
{
    const asx_explore_options *o = k->options;
    uint64_t now = asx__keeper_now();
    if (k->collecting || now - *told_ns < TICK_MS * ASX_MS)
        return;
    *told_ns = now;
    asx_explore_progress p;
    asx__keeper_progress(k, &p);
    if (o->time_max_ns != 0 && now - k->started_ns >= o->time_max_ns)
        asx__keeper_stop(k, ASX_EXPLORE_STOP_TIME);
    else if (o->on_progress != NULL && !o->on_progress(o->ctx, &p))
        asx__keeper_stop(k, ASX_EXPLORE_STOP_ASKED);
    else if (o->on_checkpoint != NULL && o->checkpoint_every_ns != 0 &&
             now - k->saved_ns >= o->checkpoint_every_ns) {
        collect(k);
    }
}

static bool is_left(const asx__keeper *k)
{
    return k->sampling ? k->next_sample < k->samples_end || k->batches != NULL
                       : asx__backlog_len(k->backlog) != 0;
}

/* Until everything is done, or it has to end, or to begin again. */
static void keep(asx__keeper *k)
{
    uint64_t told_ns = k->started_ns;
    while (k->broken >= 0 && !k->restart) {
        hand_out(k);
        if (asx__keeper_busy(k) == 0) {
            bool more = is_left(k) && k->stopped == ASX_EXPLORE_STOP_NONE;
            if (!more || !k->collecting)
                break; /* done, told to stop, or no more is allowed */
            if (!k->sampling)
                ask_for_reports(k);
            if (k->broken >= 0)
                k->status = save(k);
            k->saved_ns = asx__keeper_now(); /* however long it took, there is time for more */
            k->collecting = false;
            if (k->status < 0)
                break;
            continue;
        }
        wait_for_messages(k);
        look_at_the_clock(k, &told_ns);
    }
}

static bool start_all(asx__keeper *k)
{
    asx__bytes all = { 0 };
    if (!k->resumed && !k->sampling) {
        asx__bytes_u32(&all, ASX__WORK_EVERYTHING);
        asx__bytes_u32(&all, k->wide);
        asx__bytes_double(&all, 1);
        if (all.bad || asx__backlog_put(k->backlog, all.at, all.len) < 0)
            k->broken = ASX_E_RESOURCE_EXHAUSTED;
        free(all.at);
    }
    for (uint32_t i = 0; i < k->jobs && k->broken >= 0; i++)
        if (!start_worker(k, i))
            k->broken = ASX_E_SYSTEM;
    return k->broken >= 0;
}

/* Everything from the beginning, prepared for what was met. */
static void begin_again(asx__keeper *k)
{
    for (uint32_t i = 0; i < k->jobs; i++)
        end_worker(&k->workers[i], true);
    if ((asx__load_relaxed(&k->common->features) & ASX__FEATURE_ELSEWHERE) != 0)
        k->jobs = 1;
    asx__keeper_drop_batches(&k->batches);
    asx__keeper_drop_batches(&k->bets);
    k->batches_end = &k->batches;
    asx__backlog_destroy(k->backlog);
    k->backlog = asx__backlog_create(k->options->mode == ASX_EXPLORE_SOURCE);
    if (k->backlog == NULL)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    asx__classes_clear(&k->classes);
    memset(&k->sum, 0, sizeof k->sum);
    k->common->names.len = 0;
    asx__store_relaxed(&k->common->names.lock, 0);
    asx__store_relaxed(&k->common->allowed, k->options->executions_max);
    k->next_sample = k->span = k->before_ns = 0;
    k->samples_end = k->options->executions_max;
    k->restart = k->collecting = k->told = k->at_first = k->resumed = k->lost = false;
    k->status = ASX_OK; /* who was not prepared may have got lost */
    k->unsupported = 0;
    k->unsupported_site = NULL;
    k->diverged[0] = '\0';
    k->cell_moved = false;
    k->stopped = ASX_EXPLORE_STOP_NONE;
}

/* Their last reports, which they make at the same time. Without them nothing can be said. */
static void end_all(asx__keeper *k)
{
    for (uint32_t i = 0; i < k->jobs && k->broken >= 0; i++)
        if (k->workers[i].pid != 0)
            asx__keeper_say(&k->workers[i], ASX__MESSAGE_END, NULL);
    for (uint32_t i = 0; i < k->jobs; i++) {
        asx__lab_worker *w = &k->workers[i];
        while (w->pid != 0 && k->broken >= 0)
            if (!hear(k, w))
                end_gone(k, w);
        end_worker(w, true);
    }
}

static asx_explore_stop stopped_by(asx__keeper *k)
{
    if (k->status < 0)
        return ASX_EXPLORE_STOP_FAILED;
    if (k->stopped != ASX_EXPLORE_STOP_NONE && (is_left(k) || k->lost || k->sampling))
        return k->stopped;
    if (k->sampling)
        return ASX_EXPLORE_STOP_SAMPLED;
    if (is_left(k))
        return ASX_EXPLORE_STOP_EXECUTIONS;
    if (k->sum.stats.bounded != 0)
        return ASX_EXPLORE_STOP_BOUND;
    return k->sum.too_long != 0 ? ASX_EXPLORE_STOP_TOO_LONG : ASX_EXPLORE_STOP_NONE;
}

static asx_status resume(asx__keeper *k, const char **ret_why)
{
    asx__saved c = { .classes = &k->classes, .names = &k->common->names, .backlog = k->backlog };
    asx_status st = asx__saved_read(k->options, &c, ret_why);
    if (st < 0)
        return st;
    k->sum = c.sum;
    k->resumed = true;
    k->wide = c.wide;
    asx__store_relaxed(&k->common->features, c.features);
    k->next_sample = c.next_sample;
    k->samples_end += c.next_sample < UINT64_MAX - k->samples_end ? c.next_sample : 0;
    k->span = c.span;
    k->before_ns = c.elapsed_ns;
    return ASX_OK;
}

static void run(asx__keeper *k, asx_explore_result *ret_result)
{
    const asx_explore_options *o = k->options;
    for (bool again = true; again && start_all(k);) {
        keep(k);
        again = k->restart;
        if (again)
            begin_again(k);
    }
    end_all(k);
    bool more = is_left(k) || k->sampling; /* of samples there are always more */
    if (k->broken >= 0 && o->on_checkpoint != NULL && more && k->status >= 0 && !k->lost)
        k->status = save(k);
    if (k->broken < 0)
        return;
    if (k->unsaved)
        ret_result->unsaved = k->status < 0
                                  ? "it cannot be written"
                                  : "a shared cell is in memory that will be elsewhere next time";
    asx__keeper_progress(k, &ret_result->totals);
    ret_result->status = k->status;
    ret_result->stopped = stopped_by(k);
    ret_result->complete = ret_result->stopped == ASX_EXPLORE_STOP_NONE;
    ret_result->unsupported = k->unsupported != 0 ? asx_event_kind_str(k->unsupported) : NULL;
    ret_result->cell_moved = k->cell_moved;
    memcpy(ret_result->diverged, k->diverged, sizeof k->diverged);
    asx__site_copy(ret_result->unsupported_site, sizeof ret_result->unsupported_site,
                   k->unsupported_site);
}

asx_status asx__jobs_run(const asx_explore_options *options, asx_lab_fn fn, void *arg,
                         asx_explore_result *ret_result)
{
    asx__keeper *k = calloc(1, sizeof *k);
    asx_explore_result result = { .refused = NULL };
    if (k == NULL)
        return ASX_E_RESOURCE_EXHAUSTED;
    k->options = options;
    k->fn = fn;
    k->arg = arg;
    k->jobs = options->jobs > 1 ? options->jobs : 1;
    k->sampling = asx__explore_samples(options);
    k->samples_end = options->executions_max;
    k->batches_end = &k->batches;
    k->started_ns = k->saved_ns = asx__keeper_now();
    k->backlog = asx__backlog_create(options->mode == ASX_EXPLORE_SOURCE);
    k->common = mmap(NULL, sizeof *k->common, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (k->backlog == NULL || k->common == MAP_FAILED)
        k->broken = ASX_E_RESOURCE_EXHAUSTED;
    else
        asx__store_relaxed(&k->common->allowed, options->executions_max);
    if (k->broken >= 0 && options->resume != NULL) {
        result.status = resume(k, &result.refused);
        result.stopped = ASX_EXPLORE_STOP_FAILED;
    }
    if (k->broken >= 0 && result.status >= 0)
        run(k, &result);
    asx_status st = k->broken;
    if (st >= 0)
        *ret_result = result;
    for (uint32_t i = 0; i < k->jobs; i++)
        end_worker(&k->workers[i], true);
    asx__keeper_drop_batches(&k->batches);
    asx__keeper_drop_batches(&k->bets);
    asx__backlog_destroy(k->backlog);
    if (k->common != MAP_FAILED)
        (void)munmap(k->common, sizeof *k->common);
    free(k->classes.at);
    free(k->message.at);
    free(k);
    return st;
}
