/* main.c - the entry point of the `asx` tool; everything else can be linked into tests. */
#include "cli/cli.h"

#include "base/streams.h"

int main(int argc, char **argv)
{
    asx__streams_begin();
    return cli_main(argc, argv);
}
