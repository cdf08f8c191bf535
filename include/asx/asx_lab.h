/* asx_lab.h - the laboratory, and the runtime with it: includes every public header.
 *
 * Programs link libasx-lab, which brings libasx along (pkg-config asx-lab, CMake asx::lab); lab
 * test programs link libasx-lab-main too, which has their main (asx-lab-main, asx::lab_main). A
 * program that is built without ASX_LAB and uses only operations on cells needs neither.
 *
 * With ASX_LAB defined, calls of the runtime say where they stand (<asx/lab_sites.h>). For that a
 * source under test that includes <asx/asx.h> alone is compiled with `-include asx/asx_lab.h`.
 */
#ifndef ASX_ASX_LAB_H
#define ASX_ASX_LAB_H

#include <asx/asx.h>
#include <asx/explore.h>
#include <asx/lab.h>
#include <asx/lab_sites.h>
#include <asx/oracle.h>
#include <asx/search.h>

#endif
