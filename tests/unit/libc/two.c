/* See one.c. */
const char *whoami(void);
const char *whoami(void)
{
	return "two";
}
int number(void);
int number(void)
{
	return 2;
}
