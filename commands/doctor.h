/* What doctor.c shows and doctor_checks.c finds. */
#ifndef DOCTOR_H
#define DOCTOR_H

enum verdict { FINE, LIMITED, MISSING };

/* What a check found, and what to do about it ("" if nothing). */
struct finding {
	enum verdict verdict;
	char text[400], advice[400];
};

struct check {
	const char *name;
	void (*run)(struct finding *f);
};
extern const struct check doctor_checks[]; /* the last has no name */

#endif
