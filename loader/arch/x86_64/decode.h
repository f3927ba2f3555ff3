/* x86-64: where an instruction ends, and where its operands are. */
#ifndef X86_64_DECODE_H
#define X86_64_DECODE_H
#include <stdbool.h>
#include <stdint.h>

#define INSTRUCTION_MOST 15 /* bytes */
/* What is none, or ends too early, may be taken apart beyond its end: where so much may be read, nothing is copied. */
#define INSTRUCTION_LOOK (INSTRUCTION_MOST + 8)

enum opcode_map { MAP_ONE, MAP_0F, MAP_0F38, MAP_0F3A };

struct instruction {
	unsigned length;
	enum opcode_map map;
	bool vex, evex;		 /* with that prefix: of AVX, of AVX-512 */
	uint8_t opcode, rex;	 /* rex: also as vex says it */
	uint8_t segment;	 /* the prefix byte; 0: none */
	bool short16, address32; /* prefixes 66 and 67 */
	uint8_t repeat;		 /* f2, f3, or 0 */
	bool locked;
	unsigned operand_at;	  /* of the operand byte ("ModRM"); 0: it has none */
	unsigned displacement_at; /* and its bytes: 0, 1 or 4 */
	unsigned displacement_size;
};

/* The one at `code`, where `room` bytes may be read; false: it is none that is known. */
bool decode(const uint8_t *code, uint64_t room, struct instruction *i);

/* A branch to anywhere in reach: what stands at `from`, put into `at`. Returns its size. */
enum { JUMP = 0xe9, JUMP_SHORT = 0xeb, JUMP_SIZE = 5 };
unsigned put_jump(uint8_t *at, uint64_t from, uint64_t to);

/* The parts of the operand byte. */
#define OPERAND_MODE(byte)     ((byte) >> 6)
#define OPERAND_REGISTER(byte) ((byte) >> 3 & 7)
#define OPERAND_BASE(byte)     ((byte)&7)
enum { MODE_REGISTER = 3, BASE_INDEXED = 4, BASE_NONE = 5 };

/* Has it an operand in memory? Not told by the operand byte: the stack of push and call, strings. */
static inline bool has_memory(const uint8_t *code, const struct instruction *i)
{
	return i->operand_at && OPERAND_MODE(code[i->operand_at]) != MODE_REGISTER;
}

/* Does it read and write at once: by its prefix, or by itself? */
static inline bool is_told(const struct instruction *i)
{
	return i->locked || (i->map == MAP_ONE && (i->opcode == 0x86 || i->opcode == 0x87));
}

/* Has it an operand in memory with an index? */
static inline bool is_indexed(const uint8_t *code, const struct instruction *i)
{
	const uint8_t *p = code + i->operand_at;
	return has_memory(code, i) && OPERAND_BASE(p[0]) == BASE_INDEXED && (OPERAND_REGISTER(p[1]) != 4 || i->rex & 2);
}

/* Is its operand relative to the address of the next instruction? */
static inline bool is_pc_relative(const uint8_t *code, const struct instruction *i)
{
	return i->operand_at && OPERAND_MODE(code[i->operand_at]) == 0 &&
	       OPERAND_BASE(code[i->operand_at]) == BASE_NONE;
}
#endif
