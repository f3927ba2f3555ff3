/*
 * The address space of a recorded process: who lives where.
 *
 * One map for aarch64 and x86-64. Everything lies below 2^47, which both offer
 * to every process. The program's own memory is kept below 2^40, so that a
 * table with a byte per 512 bytes takes 2 GiB of address space a thread;
 * everything of ours lies above 2^46, where no program asks to be.
 *
 *   from              to                what
 *   0000_0001_0000    0010_0000_0000    programs linked at a fixed address
 *   0010_0000_0000    0018_0000_0000    PIE program
 *   0018_0000_0000    001f_e000_0000    brk heap
 *   0020_0000_0000    0090_0000_0000    mmap without an address (interpreter and libraries first)
 *   0090_0000_0000    00a0_0000_0000    stacks and TLS of threads, by slot
 *   00a0_0000_0000    00f8_0000_0000    arenas of the allocator, by slot
 *   00f8_0000_0000    00ff_fff0_0000    stack of the first thread, growing down
 *   00ff_fff1_0000    00ff_fff2_0000    where the program's signal handlers return to
 *   5000_0000_0000    6000_0000_0000    claim tables, by slot
 *   6000_0000_0000    6000_1000_0000    loader and runtime (with the gate first)
 *   6000_1000_0000    6000_1100_0000    control page, table of entries for libheddle.so
 *   6001_0000_0000    6004_0000_0000    stacks of the runtime, by slot
 *   6010_0000_0000    6090_0000_0000    rings and streams, by slot
 *   6200_0000_0000    6220_0000_0000    arguments of exec, by slot
 *   6300_0000_0000    6400_0000_0000    tables of the order schemes
 *   6400_0000_0000    6c00_0000_0000    their states per 8 bytes of the program
 *   6c00_0000_0000    6d00_0000_0000    replay --races: a word per 8 bytes of the program
 *   6d00_0000_0000    6e00_0000_0000    heddle report: what threads tell, by slot
 *   6e00_0000_0000    7000_0000_0000    buffers for large system calls
 *
 * Stub pools must be in branch range of the code they serve (128 MiB on
 * aarch64). The last 64 KiB of every 64 MiB block of program memory are kept
 * free for them: mmap_place() never hands them out for mappings that fit
 * between two of them. Who needs many (runtime/atomics/) finds them in the 512 MiB
 * below each place where code is mapped.
 *
 * A kernel with fewer than 47 bits of user addresses (39-bit Android kernels)
 * cannot start the loader; `heddle doctor` says so. RLIMIT_AS and strict
 * overcommit count only what is really mapped: nothing here is reserved in
 * advance except what a thread uses.
 */
#ifndef MEMORY_MAP_H
#define MEMORY_MAP_H

#define MAP_PIE_BASE	  0x001000000000ul
#define MAP_BRK_BASE	  0x001800000000ul
#define MAP_BRK_END	  0x001fe0000000ul
#define MAP_LOW_BASE	  0x000040000000ul /* for MAP_32BIT, as the kernel has it */
#define MAP_LOW_END	  0x000080000000ul
#define MAP_MMAP_BASE	  0x002000000000ul
#define MAP_MMAP_END	  0x009000000000ul
#define MAP_STACKS_BASE	  0x009000000000ul
#define MAP_STACKS_END	  0x00a000000000ul
#define MAP_ARENAS_BASE	  0x00a000000000ul
#define MAP_ARENAS_END	  0x00f800000000ul
#define MAP_STACK_TOP	  0x00fffff00000ul
#define MAP_SIGNAL_RETURN 0x00fffff10000ul
#define MAP_PROGRAM_END	  0x010000000000ul

#define MAP_OURS_BASE	   0x500000000000ul
#define MAP_CLAIMS_BASE	   0x500000000000ul
#define MAP_LOADER_BASE	   0x600000000000ul /* also in loader/loader.lds */
#define MAP_LOADER_END	   0x600010000000ul
#define MAP_CONTROL_BASE   0x600010000000ul
#define MAP_ENTRIES	   0x600010100000ul
#define MAP_RUNTIME_STACKS 0x600100000000ul
#define MAP_STREAMS_BASE   0x601000000000ul
#define MAP_STREAM_ROOM	   0x000004000000ul /* per slot */
#define MAP_STREAMS_END	   0x609000000000ul
#define MAP_STAMPS_BASE	   0x609000000000ul
#define MAP_STAMPS_ROOM	   0x000c00000000ul /* per level */
#define MAP_ARGS_BASE	   0x620000000000ul
#define MAP_TABLES_BASE	   0x630000000000ul
#define MAP_TABLES_END	   0x640000000000ul
#define MAP_SHADOW_BASE	   0x640000000000ul
#define MAP_RACES_BASE	   0x6c0000000000ul
#define MAP_STORY_BASE	   0x6d0000000000ul
#define MAP_SCRATCH_BASE   0x6e0000000000ul
#define MAP_SCRATCH_END	   0x700000000000ul
#define MAP_OURS_END	   0x700000000000ul

#define MAP_SLOTS	       8192	  /* threads alive at once */
#define MAP_RUNTIME_STACK_ROOM 0x100000ul /* per slot */
#define MAP_THREAD_STACK_ROOM  0x800000ul /* per slot: guard, stack, TLS; larger stacks are mapped elsewhere */

#define MAP_POOL_EVERY 0x4000000ul /* 64 MiB */
#define MAP_POOL_SIZE  0x10000ul
#define MAP_POOL_ROOM  0x20000000ul /* 512 MiB, below MAP_LOW_BASE, MAP_PIE_BASE and MAP_MMAP_BASE */

#endif
