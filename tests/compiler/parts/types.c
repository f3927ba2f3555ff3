/* Values of every type and size pass through hooks unchanged: bit-fields and their neighbours, packed members, long double,
   128 bits, structures by value, unions, unaligned accesses that cross a page, volatile ones, variable arguments. */
#include <complex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bits {
	unsigned a : 3, b : 13, c : 1;
	int d : 7;
	unsigned long long e : 40;
	signed char f : 5;
} bits;

struct __attribute__((packed)) packed {
	char a;
	short b;
	int c;
	long long d;
	double e;
	long double f;
} packed;

union {
	float f;
	uint32_t u;
	char c[4];
} both;

struct big {
	int a[50];
	char tail;
} big[3];
struct odd {
	char c[7];
} odd[4];
struct two {
	double x, y;
} two;

_Bool truth;
char c8;
short s16;
float f32;
double f64;
long double f80;
_Float16 f16;
__int128 i128;
float _Complex cf;
double _Complex cd;
void *ptr;
int (*function)(const char *, ...) = printf;
volatile int vi;
volatile long double vld;
_BitInt(24) bit24;
_BitInt(57) bit57;

__attribute__((noinline)) static struct big make(int n, struct two t)
{
	struct big b = big[n % 3];

	for (int i = 0; i < 50; i++)
		b.a[i] += i * n + (int)t.x;
	return b;
}

__attribute__((noinline)) static double add(int count, ...)
{
	va_list args;
	double sum = 0;

	va_start(args, count);
	for (int i = 0; i < count; i++)
		sum += i % 2 ? va_arg(args, double) : va_arg(args, int);
	va_end(args);
	return sum;
}

static unsigned long hash(const void *data, size_t size)
{
	unsigned long h = 5381;

	for (size_t i = 0; i < size; i++)
		h = h * 33 + ((const unsigned char *)data)[i];
	return h;
}

__attribute__((noinline)) static void fields(int n)
{
	bits.a += n;
	bits.b ^= n * 77;
	bits.c = !bits.c;
	bits.d -= n;
	bits.e = bits.e * 5 + n;
	bits.f++;
	packed.a++;
	packed.b += n;
	packed.c -= n;
	packed.d ^= (long long)n << 33;
	packed.e += n / 2.0;
	packed.f += n / 4.0;
}

int main(void)
{
	for (int n = 0; n < 9; n++)
		fields(n);
	printf("%u %u %u %d %llu %d\n", bits.a, bits.b, bits.c, bits.d, (unsigned long long)bits.e, bits.f);
	printf("%d %d %d %lld %g %Lg\n", packed.a, packed.b, packed.c, packed.d, packed.e, packed.f);
	both.f = 1.5f;
	both.c[3] ^= 0x40;
	truth = both.u > 5;
	c8 = (char)(both.u >> 20);
	s16 = (short)(s16 - c8);
	f32 += 2.5f;
	f64 = f32 / 3;
	f80 = f64 * 7;
	f16 = (_Float16)f32;
	f16 += (_Float16)1;
	i128 = (__int128)s16 * 0x123456789abcdefll;
	cf = f32 + 2 * I;
	cd = cf * cf;
	ptr = &ptr;
	bit24 = 0x5a5a5a;
	bit24 += 1000;
	bit57 = (_BitInt(57))(bit24 * 99999);
	for (vi = 0; vi < 5; vi++)
		vld += vi;
	function("%d %d %d %g %g %Lg %g %llx %g %g %d %d %lld %Lg\n", truth, c8, s16, (double)f32, f64, f80,
		 (double)f16, (unsigned long long)(i128 >> 7), creal(cd), cimag(cf), *(void **)ptr == ptr, (int)bit24,
		 (long long)bit57, vld);
	for (int n = 0; n < 6; n++) {
		big[(n + 1) % 3] = make(n, (struct two){ n, two.y });
		odd[n % 4] = odd[(n + 1) % 4];
		odd[n % 3].c[n] = (char)n;
		two.y += n;
	}
	printf("%lx %lx %g\n", hash(big, sizeof big), hash(odd, sizeof odd), add(6, 1, 2.5, 3, 4.5, 5, 6.5));
	/* over the end of a page, at every offset */
	char *page = aligned_alloc(4096, 8192);
	memset(page, 1, 8192);
	for (int i = 1; i < 17; i++) {
		uint64_t v;
		__int128 w;
		memcpy(&v, page + 4096 - i % 8, 8);
		v += (uint64_t)i << 20;
		memcpy(page + 4096 - i % 8, &v, 8);
		memcpy(&w, page + 4096 - i, 16);
		w *= 3;
		memcpy(page + 4096 - i, &w, 16);
	}
	memmove(page + 4000, page + 4050, 100);
	memmove(page + 4020, page + 4000, 200);
	memset(page + 4090, 7, (size_t)(vi + 3));
	memset(page + 9, 7, (size_t)(vi - 5));
	printf("%lx\n", hash(page, 8192));
	free(page);
}
