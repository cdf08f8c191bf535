/* assert.h - three levels of assertion on our own code.
 *
 *   ASX__ASSERT        always on, cheap: a broken promise inside the runtime
 *   ASX__DEBUG_ASSERT  level 1 (debug builds)
 *   ASX__AUDIT_ASSERT  level 2 (audit builds): may walk whole structures
 *
 * They guard against errors in asx. Misuse by the caller of a public function is answered with a
 * status and never asserted.
 */
#ifndef ASX_BASE_ASSERT_H
#define ASX_BASE_ASSERT_H

#ifndef ASX_ASSERT_LEVEL
#define ASX_ASSERT_LEVEL 0
#endif

#define ASX__LIKELY(x) __builtin_expect(!!(x), 1)
#define ASX__UNLIKELY(x) __builtin_expect(!!(x), 0)

#define ASX__ASSERT(expr) (ASX__LIKELY(expr) ? (void)0 : __builtin_trap())

#if ASX_ASSERT_LEVEL >= 1
#define ASX__DEBUG_ASSERT(expr) ASX__ASSERT(expr)
#else
#define ASX__DEBUG_ASSERT(expr) ((void)sizeof((expr) ? 1 : 0))
#endif

#if ASX_ASSERT_LEVEL >= 2
#define ASX__AUDIT_ASSERT(expr) ASX__ASSERT(expr)
#else
#define ASX__AUDIT_ASSERT(expr) ((void)sizeof((expr) ? 1 : 0))
#endif

#endif
