/* main.c - the entry point of the `asx` tool; everything else can be linked into tests. */
#include "cli/cli.h"

int main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
