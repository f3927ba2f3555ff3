/* For led.c. */
void *bump(void *argument)
{
	volatile long *word = argument;
	long sum = 0;

	for (int i = 0; i < 100000; i++)
		sum += ++*word;
	return (void *)sum;
}
