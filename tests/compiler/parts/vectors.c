/* Vectors of all sizes, also those that the machine does not have, loops that LTO vectorises, and the machine's own loads of
   several vectors at once. */
#include <stdint.h>
#include <stdio.h>
#if defined __aarch64__
#include <arm_neon.h>
#elif defined __x86_64__
#include <immintrin.h>
#endif

typedef int v2i __attribute__((vector_size(8)));
typedef float v4f __attribute__((vector_size(16)));
typedef double v4d __attribute__((vector_size(32)));
typedef long v8l __attribute__((vector_size(64)));
typedef char v3c __attribute__((ext_vector_type(3)));
typedef _Bool v8b __attribute__((ext_vector_type(8)));

v2i a;
v4f b;
v4d c;
v8l d;
v3c e;
v8b f;
float x[1000], y[1000], sum;
int64_t n[300];
uint8_t bytes[4096];

__attribute__((noinline)) static void loops(int count)
{
	for (int i = 0; i < count; i++)
		x[i] = y[i] * 2 + (float)i;
	for (int i = 0; i < count; i++)
		y[i] += x[count - 1 - i];
	for (int i = 0; i < count; i++)
		sum += x[i];
	for (int i = 0; i < 300; i++)
		n[i] = n[(i * 7) % 300] + i;
	for (int i = 0; i < 4096; i++)
		bytes[i] = (uint8_t)(bytes[i] * 3 + i);
	for (int i = 0; i < 1365; i++)
		bytes[i * 3] = (uint8_t)(bytes[i * 3 + 1] + bytes[i * 3 + 2]);
	for (int i = 0; i < count; i++)
		if (y[i] > 500)
			y[i] -= 500;
}

int main(void)
{
	for (int i = 0; i < 5; i++) {
		a += i;
		b = b * 2 + (float)i;
		c += (double)i / 3;
		d = (d << 1) ^ i;
		e += (char)i;
		f[i] = !f[i];
		loops(1000 - i);
	}
	printf("%d %g %g %ld %d %d\n", a[1], (double)b[3], c[2], d[7], e.z, f[2]);
#if defined __aarch64__
	float32x4x2_t two = vld2q_f32(x + 4);
	uint8x16x3_t three = vld3q_u8(bytes + 5);
	vst2q_f32(y + 8, two);
	vst3q_u8(bytes + 100, three);
	vst1q_lane_f32(y + 1, two.val[1], 2);
	two.val[0] = vld1q_lane_f32(x + 77, two.val[0], 3);
	vst1q_f32(y + 90, two.val[0]);
#elif defined __x86_64__
	_mm_storeu_ps(y + 9, _mm_add_ps(_mm_loadu_ps(x + 3), _mm_loadu_ps(x + 5)));
	_mm_stream_si32((int *)n, 5);
	_mm_maskmoveu_si128(_mm_set1_epi8(3), _mm_set1_epi16(0x00ff), (char *)bytes + 64);
#endif
	double total = sum;
	long numbers = 0;
	for (int i = 0; i < 1000; i++)
		total += x[i] - y[i];
	for (int i = 0; i < 300; i++)
		numbers = numbers * 5 + n[i];
	for (int i = 0; i < 4096; i++)
		numbers = numbers * 7 + bytes[i];
	printf("%.9g %ld\n", total, numbers);
}
