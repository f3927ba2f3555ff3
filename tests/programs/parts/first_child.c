/* The first fork of a recording: parent and child write to the same place from then on. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *who, int times)
{
	char line[64];

	for (int i = 0; i < times; i++)
		if (write(1, line, (size_t)snprintf(line, sizeof line, "%s %d\n", who, i)) < 0)
			_exit(1);
}

int main(void)
{
	if (fork() == 0) {
		say("child", 30);
		_exit(0);
	}
	say("parent", 300);
	wait(NULL);
	return 0;
}
