/* scn_read.h - what the parts of the scenario reader share.
 *
 * A line is cut into tokens when it is read, with the variables that are bound at that moment
 * filled in: the block of a `for` is read once per value, a body once per list of arguments.
 * The first error stops everything; later ones are not recorded.
 */
#ifndef ASX_CLI_SCN_READ_H
#define ASX_CLI_SCN_READ_H

#include "cli/scn_words.h"

enum {
    SCN_TOKENS_MAX = 512,
    SCN_BINDINGS_MAX = 16,
    SCN_NESTING_MAX = 12,
    SCN_LINE_MAX = 4096,
    SCN_OPS_MAX = 200000,
    SCN_BODIES_MAX = 4096,
    SCN_OBJECTS_MAX = 4096,
    SCN_ROUNDS_MAX = 200000, /* of all `for` together */
    SCN_PARAMS_MAX = 8,
    SCN_TEXT_MAX = 4 << 20
};

typedef struct scn_token {
    const char *text;
    bool quoted;
} scn_token;

typedef struct scn_binding {
    const char *name;
    const char *value;
} scn_binding;

/* A body as it is written; instances are made from it. */
typedef struct scn_template {
    const char *name;
    const char *params[SCN_PARAMS_MAX];
    uint32_t param_count;
    uint32_t first, end; /* lines of the block */
    bool used;
} scn_template;

/* Where an instance comes from, beside scn_body. */
typedef struct scn_instance {
    uint32_t template_index;
    const char *args[SCN_PARAMS_MAX];
} scn_instance;

typedef struct scn_reader {
    scn *s;
    scn_error *error;
    bool failed;
    bool no_memory;
    uint32_t line_base;      /* number of line 0 */
    const char **lines;
    uint32_t line_count;
    uint32_t *block_end;     /* of a line that opens a block: its `end` */
    uint32_t line;           /* index of the line that is read */
    scn_token tokens[SCN_TOKENS_MAX];
    uint32_t token_count;
    uint32_t next;           /* token to be read */
    scn_binding bindings[SCN_BINDINGS_MAX];
    uint32_t binding_count;
    scn_template *templates;
    uint32_t template_count, template_cap;
    scn_instance *instances; /* as many as s->bodies */
    uint32_t instance_cap;
    uint32_t note_codes;
    uint32_t rounds;
    bool has_main;
    bool has_seeds;
} scn_reader;

/* Says where and why; always false. */
bool scn_bad(scn_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Memory of the scenario. NULL: none left, and the reader has failed. */
void *scn_alloc(scn_reader *r, size_t size);
const char *scn_copy(scn_reader *r, const char *text, size_t len);
/* Makes room for one more element. False: no memory. */
bool scn_grow(scn_reader *r, void **array, uint32_t *cap, uint32_t count, size_t size);

/* Cuts line `index` into r->tokens. */
bool scn_tokenize(scn_reader *r, uint32_t index);

/* The next token, or NULL at the end of the line. */
const char *scn_peek(const scn_reader *r);
const char *scn_take(scn_reader *r);
/* Takes the next token if it is this word. */
bool scn_take_word(scn_reader *r, const char *word);
/* False (and an error) unless the line is at its end. */
bool scn_line_end(scn_reader *r);

bool scn_number(const char *text, uint64_t *ret_number);
bool scn_take_number(scn_reader *r, const char *what, uint64_t *ret_number);
bool scn_take_value(scn_reader *r, bool compare, scn_value *ret_value);
bool scn_take_status(scn_reader *r, int32_t *ret_status);
bool scn_take_yes_no(scn_reader *r, uint64_t *ret_number);

/* The object of this name and type; made if there is none yet. SCN_NONE: error. */
uint32_t scn_object_named(scn_reader *r, scn_type type, const char *name, bool define);
uint32_t scn_take_object(scn_reader *r, scn_type type, bool define);
/* The instance that a token such as `worker(3,ok)` names. SCN_NONE: error. */
uint32_t scn_take_body(scn_reader *r);

/* Fields of a set, up to `->` or the end of the line. Appends them to s->fields. */
bool scn_take_fields(scn_reader *r, const scn_field_form *forms, uint32_t *ret_first,
                     uint32_t *ret_count);

bool scn_read_op(scn_reader *r);
bool scn_read_config(scn_reader *r);
bool scn_read_expect(scn_reader *r);

/* Puts a field of a region or a budget where it belongs. False: the number does not fit. */
bool scn_region_field(const scn_field *field, uint64_t n, asx_region_options *options,
                      asx_budget *budget, bool *has_budget);
bool scn_budget_field(const scn_field *field, uint64_t n, asx_budget *budget);

/* Reserved objects, in the order of s->objects. */
enum { SCN_ROOT, SCN_HERE, SCN_SELF, SCN_MAIN, SCN_RESERVED };

#endif
