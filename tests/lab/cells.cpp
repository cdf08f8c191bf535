// The cells of support_cells.h as C++.
#include "lab/support_cells.h"

int main()
{
    return cells_are_wrong();
}
