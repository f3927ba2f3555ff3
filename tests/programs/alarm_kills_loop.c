/* A busy loop reaches no event, so a held signal would wait for ever: a fatal one must end it at once. */
// run: signal=14 same no-checksum="ends at no event"
#include <unistd.h>

int main(void)
{
	if (write(1, "looping\n", 8) != 8)
		return 1;
	alarm(1);
	for (volatile long i = 0;; i++)
		;
}
