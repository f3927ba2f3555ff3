/*
 * What the fuzz targets share: a directory of their own, and heddle's readers with a die() that comes back.
 *
 * Each target is one reader of something that a trace holds. It gets bytes (LLVMFuzzerTestOneInput), puts them where its
 * reader looks for them, and reads. What can go wrong: a store or load out of bounds, an undefined operation, a loop
 * without end, memory without bound. To say that the bytes are damaged is right.
 */
#ifndef FUZZ_H
#define FUZZ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Makes the directory, in memory, empty; its path. */
void fuzz_new(void);
const char *fuzz_dir(void);
void fuzz_write(const char *name, const void *data, size_t size);
/* Calls `read`; true: it came back, false: it died with a message. */
bool fuzz_read(void (*read)(const void *), const void *with);
/* Writes p0.t<slot>.log with these entries as its only chunk, as heddle would: all hashes fit. */
void fuzz_write_log(unsigned slot, const void *entries, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
#endif
