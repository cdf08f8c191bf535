/* export.h - what libasx shows to libasx-lab besides the public interface.
 *
 * A function of the runtime that the laboratory calls is declared ASX__SEAM. In the shared library
 * its symbol has the version ASX_PRIVATE_<version of the project>, so that the laboratory is never
 * loaded with a runtime of another version. Nothing else may call it. A test (tests/build/consumer)
 * fails if one is shown that the laboratory does not call.
 */
#ifndef ASX_BASE_EXPORT_H
#define ASX_BASE_EXPORT_H

#define ASX__SEAM __attribute__((visibility("default")))

#endif
