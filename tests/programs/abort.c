/* abort() blocks signals, raises SIGABRT to its own thread id, and must end the replay by the same signal. */
// run: signal=6 same
#include <stdio.h>
#include <stdlib.h>

int main(void)
{
	puts("going");
	fflush(stdout);
	abort();
}
