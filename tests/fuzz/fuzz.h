/* fuzz.h - what a fuzzer calls: each fuzz_<name>.c has one function, which must come back whatever
 * the bytes are. With clang and the preset `fuzz` libFuzzer calls it (`make fuzz`); in every other
 * build tests/fuzz/run.c does, once for each file of tests/fuzz/seeds/<name>: what was found once
 * stays found. */
#ifndef ASX_FUZZ_H
#define ASX_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

#endif
