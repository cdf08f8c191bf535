/* waits.c - who waits for whom when nothing can go on.
 *
 * A task stands before an operation, or waits for the end of others, which is none where nothing is
 * cancelled: then the oracles know, who have heard that it does. They also know who has a guard of
 * a read-write lock or of a semaphore. Whoever holds a mutex the engine knows. Who could send or
 * receive, give a signal or release units of a semaphore that is a cell is not known to anybody:
 * such waits are told without a name.
 */
#include "lab/explore/explore.h"
#include "lab/oracle/site.h"
#include "lab/oracle/wait_graph.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_MOST 4

typedef struct waits {
    const asx__explorer *x;
    asx__wait_graph graph; /* nodes: the engine's numbers */
    size_t *places;        /* of these in the explorer's `tasks`, + 1; 0: not of this execution */
    asx__text *text;
} waits;

static bool begin(waits *w, const asx__explorer *x, asx__text *text)
{
    uint32_t nodes = asx__dpor_tasks(x->dpor);
    *w = (waits){ .x = x, .text = text, .places = calloc((size_t)nodes + 1, sizeof *w->places) };
    if (w->places == NULL || !asx__wait_graph_init(&w->graph, nodes)) {
        free(w->places);
        return false;
    }
    for (size_t i = 0; i < x->tasks_len; i++)
        if (x->tasks[i].id < nodes)
            w->places[x->tasks[i].id] = i + 1;
    return true;
}

static void end(waits *w)
{
    free(w->places);
    asx__wait_graph_deinit(&w->graph);
}

/* NULL: it is none of this execution. */
static const asx__lab_task *task_of(const waits *w, uint32_t id)
{
    return w->places[id] != 0 ? &w->x->tasks[w->places[id] - 1] : NULL;
}

static uint64_t serial_of(const waits *w, uint32_t id)
{
    return w->x->first_serial + w->places[id] - 1;
}

/* It has waited for a condition and nobody has told it to go on. */
static bool waits_for_condition(const asx__explorer *x, const asx__op *op)
{
    return op != NULL && op->kind == ASX__OP_CONDITION_GO_ON &&
           asx__dpor_state(x->dpor, asx__op_ticket(op)) == 0;
}

/* What it waits for is the end of others, and no operation. */
static bool waits_for_ends(const waits *w, uint32_t id, uint32_t *ret_wait, uint64_t *ret_object)
{
    if (asx__dpor_pending(w->x->dpor, id) != NULL || task_of(w, id) == NULL)
        return false;
    *ret_wait = asx__oracles_waits(&w->x->oracles, serial_of(w, id), ret_object);
    return *ret_wait == ASX__WAIT_JOIN || *ret_wait == ASX__WAIT_REGION_CLOSE;
}

/* ---- for whom ------------------------------------------------------------------------------- */

static void add_keeper(void *ctx, uint64_t serial)
{
    waits *w = ctx;
    const asx__lab_task *task = asx__explorer_task(w->x, serial);
    if (task != NULL && task->id != ASX__DPOR_NONE)
        asx__wait_graph_add(&w->graph, task->id);
}

static void add_holder(waits *w, uint64_t state)
{
    if (state != 0 && state - 1 < w->graph.nodes)
        asx__wait_graph_add(&w->graph, (uint32_t)(state - 1));
}

/* Those who hold what the task waits for. */
static void add_guards(waits *w, uint64_t serial, uint32_t wait, uint64_t name)
{
    for (size_t i = 0; i < w->x->things_len; i++)
        if (w->x->things[i].name == name)
            asx__oracles_keepers(&w->x->oracles, serial, wait, w->x->things[i].serial, add_keeper,
                                 w);
}

/* They have not got it: a reader lets them go first. */
static void add_writers(waits *w, uint64_t name)
{
    for (uint32_t t = 0; t < w->graph.nodes; t++) {
        const asx__op *op = asx__dpor_pending(w->x->dpor, t);
        if (op != NULL && op->kind == ASX__OP_WRITE_LOCK && asx__op_name(op) == name)
            asx__wait_graph_add(&w->graph, t);
    }
}

static void add_unended(waits *w, const uint64_t *ends, uint32_t len)
{
    for (uint32_t i = 0; i < len; i++)
        if (ASX__NAME_TAG_OF(ends[i]) == ASX__NAME_FIN &&
            asx__dpor_state(w->x->dpor, ends[i]) == 0)
            asx__wait_graph_add(&w->graph, (uint32_t)ASX__NAME_TASK_OF(ends[i]));
}

/* Where there is no room for one more. */
static void add_inmates(waits *w, uint64_t serial, uint64_t flag)
{
    for (size_t i = 0; i < w->x->regions_len; i++)
        if (asx__aim_flag(w->x, w->x->regions[i].serial) == flag)
            asx__oracles_keepers(&w->x->oracles, serial, ASX__WAIT_ADMISSION,
                                 w->x->regions[i].serial, add_keeper, w);
}

static void add_keepers_of_op(waits *w, uint64_t serial, const asx__op *op)
{
    const asx__explorer *x = w->x;
    uint32_t before = (uint32_t)w->graph.to_len;
    switch (op->kind) {
    case ASX__OP_LOCK: /* of the runtime's own only the engine knows */
        add_holder(w, op->object != NULL ? asx__state_read(op->object, op->size)
                                         : asx__dpor_state(x->dpor, asx__op_name(op)));
        break;
    case ASX__OP_CONDITION_GO_ON:
        if (!waits_for_condition(x, op))
            add_holder(w, asx__dpor_state(x->dpor, op->other));
        break;
    case ASX__OP_READ_LOCK:
        add_guards(w, serial, ASX__WAIT_RWLOCK_READ, asx__op_name(op));
        if (w->graph.to_len == before)
            add_writers(w, asx__op_name(op));
        break;
    case ASX__OP_WRITE_LOCK:
        add_guards(w, serial, ASX__WAIT_RWLOCK_WRITE, asx__op_name(op));
        break;
    case ASX__OP_ACQUIRE:
        add_guards(w, serial, ASX__WAIT_SEMAPHORE_ACQUIRE, asx__op_name(op));
        break;
    case ASX__OP_ONCE_CALL:
        add_guards(w, serial, ASX__WAIT_ONCE_CALL, asx__op_name(op));
        break;
    case ASX__OP_JOIN:
        add_unended(w, &op->name, 1);
        break;
    case ASX__OP_CLOSE_REGION:
    case ASX__OP_FIRST_OF:
        add_unended(w, op->targets, op->targets_len);
        break;
    case ASX__OP_SPAWN:
        add_inmates(w, serial, op->name);
        break;
    default:
        break;
    }
}

static void add_keepers(waits *w, uint32_t id)
{
    const asx__op *op = asx__dpor_pending(w->x->dpor, id);
    uint64_t object;
    uint32_t wait;
    if (task_of(w, id) == NULL)
        return;
    if (op != NULL)
        add_keepers_of_op(w, serial_of(w, id), op);
    else if (waits_for_ends(w, id, &wait, &object))
        asx__oracles_keepers(&w->x->oracles, serial_of(w, id), wait, object, add_keeper, w);
}

/* ---- text ----------------------------------------------------------------------------------- */

/* "1 a"; the clock is none of the tasks. */
static void add_name(const waits *w, uint32_t id)
{
    const asx__lab_task *task = task_of(w, id);
    if (task != NULL)
        asx__explore_add_lane(w->x, w->text, task);
    else
        asx__explore_add_task(w->x, w->text, id);
}

/* " 2 b, 3 c and 4 d" */
static void add_names(const waits *w, const uint32_t *tasks, uint32_t len)
{
    for (uint32_t i = 0; i < len && i < NAMES_MOST; i++) {
        asx__text_add(w->text, i == 0 ? " " : i + 1 == len ? " and " : ", ");
        add_name(w, tasks[i]);
    }
    if (len > NAMES_MOST)
        asx__text_add(w->text, " and %u more", len - NAMES_MOST);
}

static void add_place(const waits *w, const char *site)
{
    int len = 0;
    const char *file = asx__explore_file(site, &len);
    asx__text_add(w->text, " (%.*s)", len, file);
}

static void add_close(const waits *w, const uint32_t *inside, uint32_t len)
{
    asx__text_add(w->text, " waits to close a region");
    if (len == 0)
        return;
    asx__text_add(w->text, " with");
    add_names(w, inside, len);
    asx__text_add(w->text, " in it");
}

/* "0 test waits to join 1 a (f.c:12)", "0 test waits to close a region with 1 a in it (f.c:12)" */
static void add_wait_for_ends(const waits *w, uint32_t id, uint32_t wait)
{
    uint32_t len;
    const uint32_t *whom = asx__wait_graph_of(&w->graph, id, &len);
    asx__text_add(w->text, "%s", w->text->len != 0 ? "; " : "");
    add_name(w, id);
    if (wait == ASX__WAIT_JOIN) {
        asx__text_add(w->text, " waits to join");
        add_names(w, whom, len);
    } else {
        add_close(w, whom, len);
    }
    add_place(w, asx__lab_task_site(task_of(w, id)));
}

/* What they do with the object that another waits for. */
static const char *deed_of(const waits *w, const asx__op *op, uint32_t keeper, bool several)
{
    const asx__op *own = asx__dpor_pending(w->x->dpor, keeper);
    bool asks = op->kind == ASX__OP_READ_LOCK && own != NULL && own->kind == ASX__OP_WRITE_LOCK &&
                asx__op_name(own) == asx__op_name(op);
    if (asks)
        return several ? "have asked for" : "has asked for";
    if (op->kind == ASX__OP_ONCE_CALL)
        return several ? "call" : "calls";
    return several ? "hold" : "holds";
}

static void add_object(const waits *w, const asx__op *op, const uint32_t *whom, uint32_t len)
{
    int words_len = 0;
    const char *words = (asx__op_traits[op->kind] & ASX__O_NAMELESS) != 0
                            ? NULL
                            : asx__site_words(op->site, &words_len);
    if (words != NULL)
        asx__text_add(w->text, " %.*s", words_len, words);
    if (len == 0)
        return;
    switch (op->kind) {
    case ASX__OP_JOIN:
        add_names(w, whom, len);
        break;
    case ASX__OP_FIRST_OF:
        asx__text_add(w->text, " of");
        add_names(w, whom, len);
        break;
    case ASX__OP_SPAWN:
        asx__text_add(w->text, " in a region with");
        add_names(w, whom, len);
        asx__text_add(w->text, " in it");
        break;
    default:
        asx__text_add(w->text, words != NULL ? ", which" : " what");
        add_names(w, whom, len);
        asx__text_add(w->text, " %s", deed_of(w, op, whom[0], len > 1));
        break;
    }
}

/* "1 a waits to lock m, which 2 b holds (f.c:12)" */
static void add_wait(const waits *w, uint32_t id, const asx__op *op)
{
    uint32_t len;
    const uint32_t *whom = asx__wait_graph_of(&w->graph, id, &len);
    bool condition = waits_for_condition(w->x, op);
    const char *doing = asx__op_str(condition ? ASX__OP_CONDITION_WAIT : op->kind);
    bool is_wait = strncmp(doing, "wait ", 5) == 0;
    asx__text_add(w->text, "%s", w->text->len != 0 ? "; " : "");
    add_name(w, id);
    if (op->kind == ASX__OP_CLOSE_REGION) {
        add_close(w, whom, len);
    } else {
        asx__text_add(w->text, " waits %s%s", is_wait ? "" : "to ", is_wait ? doing + 5 : doing);
        add_object(w, op, whom, len);
    }
    add_place(w, op->site);
}

/* "cycle: 1 a -> 2 b -> 1 a" */
static void add_circle(const waits *w)
{
    uint32_t len = 0;
    uint32_t *circle = asx__wait_graph_circle(&w->graph, &len);
    for (uint32_t i = 0; i <= len && circle != NULL; i++) {
        asx__text_add(w->text, i == 0 ? "; cycle: " : " -> ");
        add_name(w, circle[i % len]);
    }
    free(circle);
}

static void add_futurelocks(const waits *w)
{
    const asx__explorer *x = w->x;
    for (size_t i = 0; i < x->tasks_len; i++) {
        if (x->tasks[i].id == ASX__DPOR_NONE)
            continue;
        /* Who waits for a condition has lent its lock. */
        uint32_t lent = waits_for_condition(x, asx__dpor_pending(x->dpor, x->tasks[i].id));
        if (asx__oracles_held_by(&x->oracles, x->first_serial + i) <= lent)
            continue;
        asx__text_add(w->text, "; futurelock: ");
        add_name(w, x->tasks[i].id);
        asx__text_add(w->text, " holds an obligation");
    }
}

/* Those before an operation first: that a test waits for its tasks is often no news. */
void asx__explore_waiting(const asx__explorer *x, asx__text *text)
{
    waits w;
    uint32_t wait;
    uint64_t object;
    asx__text_clear(text);
    if (!begin(&w, x, text))
        return;
    for (uint32_t t = 0; t < w.graph.nodes; t++) {
        asx__wait_graph_begin(&w.graph);
        add_keepers(&w, t);
    }
    for (uint32_t t = 0; t < w.graph.nodes; t++) {
        const asx__op *op = asx__dpor_pending(x->dpor, t);
        if (op != NULL && op->kind != ASX__OP_FIRE_TIMER) /* that one was cancelled */
            add_wait(&w, t, op);
    }
    for (uint32_t t = 0; t < w.graph.nodes; t++)
        if (waits_for_ends(&w, t, &wait, &object))
            add_wait_for_ends(&w, t, wait);
    add_circle(&w);
    if (text->len == 0)
        asx__text_add(text, "every task waits for another to end");
    add_futurelocks(&w);
    end(&w);
}
