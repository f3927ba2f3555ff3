/* A library with nothing in it. */
int empty;
