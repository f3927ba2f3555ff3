/* See one.c and awkward.cpp. */
const char *whoami(void);
const char *whoami(void)
{
	return "the next";
}
int number(void);
int number(void)
{
	return 2;
}
int hdestroy(int n, double d);
int hdestroy(int n, double d)
{
	return (int)(n * d);
}
