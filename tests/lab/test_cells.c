/* Cells in the laboratory, outside of an exploration. */
#define ASX_LAB 1
#include "lab/support_cells.h"

#include "harness.h"

ASX_TEST(cells_of_the_laboratory_have_the_type_of_their_variable)
{
    CHECK_EQ(cells_are_wrong(), 0);
}
