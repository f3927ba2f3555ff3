/*
 * The length of an x86-64 instruction: prefixes, opcode, operand byte, index byte, displacement, immediate. What
 * follows an opcode stands in a table for each of the manual's opcode maps, a letter for each:
 *
 *   .  nothing                       m  operand byte
 *   b  immediate of 1 byte           M  operand byte, immediate of 1 byte
 *   z  of 4 bytes, or 2 by prefix    Z  operand byte, immediate as z
 *   r  distance of 4 bytes           t T  m, and b or z if the operation in it is a test
 *   w  of 2 bytes                    v  immediate as large as the register
 *   o  address of 8 bytes            e  enter: 3 bytes
 *   p  a prefix                      R  a prefix that widens registers
 *   V W E  another set of instructions ("VEX" of 3 and 2 bytes, "EVEX")
 *   2 3 4  the next map              x  no instruction in 64-bit mode, or none that compilers use
 */
#include "loader/arch/x86_64/decode.h"
#include "runtime/base/base.h"

static const char map_one[] = "mmmmbzxxmmmmbzx2"
			      "mmmmbzxxmmmmbzxx"
			      "mmmmbzpxmmmmbzpx"
			      "mmmmbzpxmmmmbzpx"
			      "RRRRRRRRRRRRRRRR"
			      "................"
			      "xxEmppppzZbM...."
			      "bbbbbbbbbbbbbbbb"
			      "MZxMmmmmmmmmmmmm"
			      "..........x....."
			      "oooo....bz......"
			      "bbbbbbbbvvvvvvvv"
			      "MMw.VWMZe.w..bx."
			      "mmmmxxx.mmmmmmmm"
			      "bbbbbbbbrrxb...."
			      "p.pp..tT......mm";
static const char map_0f[] = "mmmmx.....x.xm.x"
			     "mmmmmmmmmmmmmmmm"
			     "mmmmxxxxmmmmmmmm"
			     "........3x4xxxxx"
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm"
			     "MMMMmmm.mmmmmmmm"
			     "rrrrrrrrrrrrrrrr"
			     "mmmmmmmmmmmmmmmm"
			     "...mMmxx...mMmmm"
			     "mmmmmmmmmmMmmmmm"
			     "mmMmMMMm........"
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm"
			     "mmmmmmmmmmmmmmmm";
_Static_assert(sizeof map_one == 257 && sizeof map_0f == 257, "a letter for each opcode");

static char follows(enum opcode_map map, uint8_t opcode)
{
	switch (map) {
	case MAP_ONE: return map_one[opcode];
	case MAP_0F: return map_0f[opcode];
	case MAP_0F38: return 'm';
	case MAP_0F3A: return 'M';
	}
	return 'x';
}

static unsigned prefixes(const uint8_t *p, struct instruction *i)
{
	unsigned n = 0;
	for (; n < INSTRUCTION_MOST && map_one[p[n]] == 'p'; n++) {
		i->short16 |= p[n] == 0x66;
		i->address32 |= p[n] == 0x67;
		i->locked |= p[n] == 0xf0;
		if (p[n] == 0xf2 || p[n] == 0xf3)
			i->repeat = p[n];
		if (p[n] == 0x64 || p[n] == 0x65)
			i->segment = p[n];
	}
	if (map_one[p[n]] == 'R')
		i->rex = p[n++];
	return n;
}

/* Opcode bytes, or what stands for them. Returns where the next byte is. */
static unsigned opcode(const uint8_t *p, unsigned n, struct instruction *i)
{
	switch (map_one[p[n]]) {
	case '2':
		i->map = MAP_0F;
		if (map_0f[p[n + 1]] == '3' || map_0f[p[n + 1]] == '4')
			i->map = map_0f[p[++n]] == '3' ? MAP_0F38 : MAP_0F3A;
		i->opcode = p[n + 1];
		return n + 2;
	case 'W':
		i->vex = true;
		i->rex = 0x40 | (~p[n + 1] >> 5 & 4);
		i->map = MAP_0F;
		i->opcode = p[n + 2];
		return n + 3;
	case 'V':
	case 'E': {
		unsigned rest = map_one[p[n]] == 'V' ? 3 : 4, map = p[n + 1] & (rest == 3 ? 31 : 7);
		i->evex = rest == 4;
		i->vex = !i->evex;
		i->rex = 0x40 | (~p[n + 1] >> 5 & 7) | (p[n + 2] >> 4 & 8);
		i->map = map > MAP_0F3A ? MAP_0F38 : map; /* those of half-precision numbers */
		i->opcode = p[n + rest];
		return n + rest + 1;
	}
	}
	i->opcode = p[n];
	return n + 1;
}

/* The operand byte at p[n], and what belongs to it. */
static unsigned operand(const uint8_t *p, unsigned n, struct instruction *i)
{
	unsigned mode = OPERAND_MODE(p[n]), base = OPERAND_BASE(p[n]);
	i->operand_at = n++;
	if (mode == MODE_REGISTER)
		return n;
	if (base == BASE_INDEXED)
		base = OPERAND_BASE(p[n++]);
	i->displacement_at = n;
	i->displacement_size = mode == 1 ? 1 : mode == 2 || base == BASE_NONE ? 4 : 0;
	return n + i->displacement_size;
}

static unsigned immediate(char kind, const uint8_t *p, const struct instruction *i)
{
	unsigned by_prefix = i->short16 && !(i->rex & 8) ? 2 : 4;
	bool test = (kind == 't' || kind == 'T') && OPERAND_REGISTER(p[i->operand_at]) < 2;
	switch (kind) {
	case 'b':
	case 'M': return 1;
	case 'z':
	case 'Z': return by_prefix;
	case 'r': return 4;
	case 'w': return 2;
	case 'e': return 3;
	case 'v': return i->rex & 8 ? 8 : by_prefix;
	case 'o': return i->address32 ? 4 : 8;
	case 't': return test ? 1 : 0;
	case 'T': return test ? by_prefix : 0;
	}
	return 0;
}

static bool decode_bytes(const uint8_t *p, struct instruction *i)
{
	*i = (struct instruction){ 0 };
	unsigned n = opcode(p, prefixes(p, i), i);
	char kind = follows(i->map, i->opcode);
	switch (kind) {
	case 'm':
	case 'M':
	case 'Z':
	case 't':
	case 'T': n = operand(p, n, i); break;
	case '.':
	case 'b':
	case 'z':
	case 'r':
	case 'w':
	case 'e':
	case 'v':
	case 'o': break;
	default: return false;
	}
	i->length = n + immediate(kind, p, i);
	bool xop = i->map == MAP_ONE && i->opcode == 0x8f && OPERAND_REGISTER(p[i->operand_at]); /* no pop */
	return i->length <= INSTRUCTION_MOST && !xop;
}

bool decode(const uint8_t *code, uint64_t room, struct instruction *i)
{
	uint8_t copy[INSTRUCTION_LOOK] = { 0 };
	if (room >= sizeof copy)
		return decode_bytes(code, i);
	memcpy(copy, code, room);
	return decode_bytes(copy, i) && i->length <= room;
}

unsigned put_jump(uint8_t *at, uint64_t from, uint64_t to)
{
	int32_t distance = (int32_t)(to - (from + JUMP_SIZE));
	at[0] = JUMP;
	memcpy(at + 1, &distance, 4);
	return JUMP_SIZE;
}
