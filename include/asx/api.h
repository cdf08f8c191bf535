/* api.h - what every public header needs: linkage, visibility, attributes, call sites.
 *
 * A "site" is the string "file:line" of the place in the user's program that created something.
 * Calls that create tasks, regions and obligations record theirs, so that every report can say
 * where a survivor or a leak came from: asx_spawn(...) is a macro that calls asx_spawn_at() with
 * ASX_SITE. It passes its arguments on as they are, so that compound literals with commas in them
 * can be given. It is a function too, for pointers to it and for other languages: that one knows
 * no place, and reports show none.
 */
#ifndef ASX_API_H
#define ASX_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ASX_BEGIN_DECLS extern "C" {
#define ASX_END_DECLS }
#define ASX_NORETURN [[noreturn]]
#else
#define ASX_BEGIN_DECLS
#define ASX_END_DECLS
#define ASX_NORETURN _Noreturn
#endif

#if defined(__GNUC__) || defined(__clang__)
#define ASX_API __attribute__((visibility("default")))
#define ASX_MUST_USE __attribute__((warn_unused_result))
#define ASX_PRINTF(fmt_index, arg_index) __attribute__((format(printf, fmt_index, arg_index)))
#define ASX_INLINE static inline __attribute__((unused)) /* functions that a macro makes */
#else
#define ASX_API
#define ASX_MUST_USE
#define ASX_PRINTF(fmt_index, arg_index)
#define ASX_INLINE static inline
#endif

/* Says that what a call returns is not wanted; some compilers do not take a cast for that. */
#define ASX_IGNORE(call) ((void)!(call))

#define ASX_STRINGIFY_(x) #x
#define ASX_STRINGIFY(x) ASX_STRINGIFY_(x)
#define ASX_SITE __FILE__ ":" ASX_STRINGIFY(__LINE__)
/* The call that is never made has compilers check the arguments against the function that the
 * caller has named. */
#define ASX_PLACED_(function, ...)                                                                 \
    (0 ? function(__VA_ARGS__) : function##_at(__VA_ARGS__, ASX_SITE))

#define ASX_VERSION_MAJOR 0
#define ASX_VERSION_MINOR 2
#define ASX_VERSION_PATCH 0

#endif
