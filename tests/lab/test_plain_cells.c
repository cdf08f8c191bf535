/* Cells of a program that is not for the laboratory. */
#include "lab/support_cells.h"

#include "harness.h"

ASX_TEST(plain_cells_have_the_type_of_their_variable)
{
    CHECK_EQ(cells_are_wrong(), 0);
}
