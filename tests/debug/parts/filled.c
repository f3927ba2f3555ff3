/*
 * A variable that the program writes, and then a system call. What could go wrong: going back to that change must not end at the system
 * call before.
 */
#include <stdio.h>
#include <unistd.h>

static char text[8];

int main(void)
{
	int fds[2];

	if (pipe(fds))
		return 1;
	text[0] = 'a'; /* line of the store */
	if (write(fds[1], "hello", 5) != 5)
		return 1;
	if (read(fds[0], text, 5) != 5) /* line of the call */
		return 1;
	puts(text); /* line of the end */
	return 0;
}
