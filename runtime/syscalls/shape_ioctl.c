/*
 * ioctl: what each request reads and writes.
 *
 * Old requests are bare numbers and stand in a list. Newer ones carry type,
 * direction and size in their number (_IOC), and that is believed, except
 *   - where the number is known to lie (the list comes first), and
 *   - for drivers whose structs hold pointers or have an open end: what is
 *     behind those would escape the log, so they are unknown.
 * A request of neither kind is unknown, and recording stops with its number.
 *
 * Sizes that the number tells go in and come back (INOUT_FIXED): a driver may
 * write only a part.
 */
#include <asm/errno.h>
#include <asm/ioctls.h>
#include <linux/fs.h>
#include <linux/if.h>
#include <linux/serial.h>
#include <linux/sockios.h>
#include <linux/termios.h>

#include "shapes.h"

enum way { NO = IO_NONE, RD = OUT_FIXED, WR = IN_BYTES, RW = INOUT_FIXED };

struct request {
	uint32_t number;
	uint16_t way; /* enum way, seen from the program: RD means the kernel writes */
	uint16_t size;
};

#define TERMIOS sizeof(struct termios)
#define TERMIO	sizeof(struct termio)
#define IFREQ	sizeof(struct ifreq)
_Static_assert(TERMIOS == 36 && TERMIO == 18 && IFREQ == 40, "the kernel's");

/* Numbers that have no macro in any header that can be included here. */
enum {
	SG_IO = 0x2285,
	HDIO_GETGEO = 0x0301,
	KDGKBTYPE = 0x4B33,
	KDSETMODE = 0x4B3A,
	KDGETMODE = 0x4B3B,
	KDGKBMODE = 0x4B44,
	KDSKBMODE = 0x4B45,
	VT_OPENQRY = 0x5600,
	VT_GETMODE = 0x5601,
	VT_SETMODE = 0x5602,
	VT_GETSTATE = 0x5603,
	VT_RELDISP = 0x5605,
	VT_ACTIVATE = 0x5606,
	VT_WAITACTIVE = 0x5607,
};

/* clang-format off */
static const struct request requests[] = {
	/* terminals */
	{ TCGETS,	  RD, TERMIOS }, { TCSETS,  WR, TERMIOS }, { TCSETSW, WR, TERMIOS }, { TCSETSF, WR, TERMIOS },
	{ TCGETA,	  RD, TERMIO },	 { TCSETA,  WR, TERMIO },  { TCSETAW, WR, TERMIO },  { TCSETAF, WR, TERMIO },
	{ TCSBRK,	  NO, 0 }, { TCSBRKP, NO, 0 }, { TCXONC, NO, 0 }, { TCFLSH, NO, 0 },
	{ TIOCSBRK,	  NO, 0 }, { TIOCCBRK, NO, 0 },
	{ TIOCEXCL,	  NO, 0 }, { TIOCNXCL, NO, 0 }, { TIOCSCTTY, NO, 0 }, { TIOCNOTTY, NO, 0 },
	{ TIOCGPGRP,	  RD, 4 }, { TIOCSPGRP, WR, 4 }, { TIOCGSID, RD, 4 },
	{ TIOCOUTQ,	  RD, 4 }, { FIONREAD, RD, 4 }, { TIOCSTI, WR, 1 },
	{ TIOCGWINSZ,	  RD, sizeof(struct winsize) }, { TIOCSWINSZ, WR, sizeof(struct winsize) },
	{ TIOCMGET,	  RD, 4 }, { TIOCMSET, WR, 4 }, { TIOCMBIS, WR, 4 }, { TIOCMBIC, WR, 4 }, { TIOCMIWAIT, NO, 0 },
	{ TIOCGSOFTCAR,	  RD, 4 }, { TIOCSSOFTCAR, WR, 4 }, { TIOCCONS, NO, 0 }, { TIOCPKT, WR, 4 },
	{ TIOCGETD,	  RD, 4 }, { TIOCSETD, WR, 4 }, { TIOCVHANGUP, NO, 0 },
	{ TIOCGSERIAL,	  RD, sizeof(struct serial_struct) }, { TIOCSSERIAL, WR, sizeof(struct serial_struct) },
	{ TIOCGICOUNT,	  RD, sizeof(struct serial_icounter_struct) }, { TIOCSERGETLSR, RD, 4 },
	{ TIOCGLCKTRMIOS, RD, TERMIOS }, { TIOCSLCKTRMIOS, WR, TERMIOS },
	{ TIOCGPTPEER,	  NO, 0 }, /* the result is a descriptor */
	{ KDGKBTYPE,	  RD, 1 }, { KDGETMODE, RD, 4 }, { KDSETMODE, NO, 0 }, { KDGKBMODE, RD, 4 }, { KDSKBMODE, NO, 0 },
	{ VT_OPENQRY,	  RD, 4 }, { VT_GETMODE, RD, 8 }, { VT_SETMODE, WR, 8 }, { VT_GETSTATE, RD, 6 },
	{ VT_RELDISP,	  NO, 0 }, { VT_ACTIVATE, NO, 0 }, { VT_WAITACTIVE, NO, 0 },
	/* any descriptor */
	{ FIONBIO,	  WR, 4 }, { FIOASYNC, WR, 4 }, { FIOCLEX, NO, 0 }, { FIONCLEX, NO, 0 }, { FIOQSIZE, RD, 8 },
	{ FIBMAP,	  RW, 4 }, { FIGETBSZ, RD, 4 },
	/* files: these four say long, and move an int */
	{ FS_IOC_GETFLAGS, RD, 4 }, { FS_IOC_SETFLAGS, WR, 4 }, { FS_IOC_GETVERSION, RD, 4 }, { FS_IOC_SETVERSION, WR, 4 },
	{ FICLONE,	  NO, 0 }, /* says int, and takes the descriptor itself */
	{ FICLONERANGE,	  WR, sizeof(struct file_clone_range) },
	{ FIFREEZE,	  NO, 0 }, { FITHAW, NO, 0 },
	/* block devices */
	{ BLKROGET,	  RD, 4 }, { BLKROSET, WR, 4 }, { BLKRRPART, NO, 0 }, { BLKGETSIZE, RD, 8 }, { BLKFLSBUF, NO, 0 },
	{ BLKRAGET,	  RD, 8 }, { BLKRASET, NO, 0 }, { BLKFRAGET, RD, 8 }, { BLKFRASET, NO, 0 }, { BLKSECTGET, RD, 2 },
	{ BLKSSZGET,	  RD, 4 }, { BLKPBSZGET, RD, 4 }, { BLKIOMIN, RD, 4 }, { BLKIOOPT, RD, 4 }, { BLKALIGNOFF, RD, 4 },
	{ BLKBSZGET,	  RD, 4 }, /* says size_t */
	{ BLKBSZSET,	  WR, 4 }, { BLKDISCARD, WR, 16 }, { BLKSECDISCARD, WR, 16 }, { BLKZEROOUT, WR, 16 },
	{ BLKDISCARDZEROES, RD, 4 }, { BLKROTATIONAL, RD, 2 }, { HDIO_GETGEO, RD, 16 },
	/* sockets and interfaces */
	{ FIOSETOWN,	  WR, 4 }, { SIOCSPGRP, WR, 4 }, { FIOGETOWN, RD, 4 }, { SIOCGPGRP, RD, 4 }, { SIOCATMARK, RD, 4 },
	{ SIOCGSTAMP_OLD, RD, 16 }, { SIOCGSTAMPNS_OLD, RD, 16 }, { SIOCOUTQNSD, RD, 4 }, { SIOCGSKNS, NO, 0 },
	{ SIOCGIFNAME,	  RW, IFREQ }, { SIOCGIFFLAGS, RW, IFREQ }, { SIOCGIFADDR, RW, IFREQ }, { SIOCGIFDSTADDR, RW, IFREQ },
	{ SIOCGIFBRDADDR, RW, IFREQ }, { SIOCGIFNETMASK, RW, IFREQ }, { SIOCGIFMETRIC, RW, IFREQ }, { SIOCGIFMTU, RW, IFREQ },
	{ SIOCGIFHWADDR,  RW, IFREQ }, { SIOCGIFINDEX, RW, IFREQ }, { SIOCGIFTXQLEN, RW, IFREQ }, { SIOCGIFMAP, RW, IFREQ },
	{ SIOCGIFPFLAGS,  RW, IFREQ },
	{ SIOCSIFFLAGS,	  WR, IFREQ }, { SIOCSIFADDR, WR, IFREQ }, { SIOCSIFDSTADDR, WR, IFREQ }, { SIOCSIFBRDADDR, WR, IFREQ },
	{ SIOCSIFNETMASK, WR, IFREQ }, { SIOCSIFMETRIC, WR, IFREQ }, { SIOCSIFMTU, WR, IFREQ }, { SIOCSIFHWADDR, WR, IFREQ },
	{ SIOCSIFNAME,	  WR, IFREQ }, { SIOCSIFTXQLEN, WR, IFREQ }, { SIOCADDMULTI, WR, IFREQ }, { SIOCDELMULTI, WR, IFREQ },
	{ SIOCBRADDBR,	  NO, 0 }, { SIOCBRDELBR, NO, 0 },
};
/* clang-format on */

static int one(struct sys_io *io, unsigned rule, uint32_t size)
{
	if (rule != IO_NONE)
		io[0] = (struct sys_io){ (uint8_t)rule, 2, NO_ARG, size };
	return 0;
}

/* Tunnels say int for what is a struct ifreq, and int where the value itself is passed. */
static int tunnel(uint32_t number, struct sys_io *io)
{
	switch (_IOC_NR(number)) {
	case 202: /* TUNSETIFF */
	case 210: /* TUNGETIFF */
	case 217: /* TUNSETQUEUE */ return one(io, INOUT_FIXED, IFREQ);
	case 207: /* TUNGETFEATURES */
	case 211: /* TUNGETSNDBUF */
	case 215: /* TUNGETVNETHDRSZ */ return one(io, OUT_FIXED, 4);
	case 212: /* TUNSETSNDBUF */
	case 216: /* TUNSETVNETHDRSZ */ return one(io, IN_BYTES, 4);
	}
	return _IOC_NR(number) <= 208 ? 0 : -1; /* owner, group, offload ...: values */
}

/* Name spaces (0xb7) and pidfds (0xff): most answer with a descriptor or a number. */
static int namespaces(uint32_t number, struct sys_io *io)
{
	if (_IOC_TYPE(number) == 0xb7 && _IOC_NR(number) == 4) /* NS_GET_OWNER_UID */
		return one(io, OUT_FIXED, 4);
	if (_IOC_TYPE(number) == 0xb7 && _IOC_NR(number) >= 6 && _IOC_NR(number) <= 9)
		return 0; /* NS_GET_PID_FROM_PIDNS ...: say int, and take the number itself */
	return _IOC_SIZE(number) ? one(io, INOUT_FIXED, _IOC_SIZE(number)) : 0;
}

int shape_ioctl(const uint64_t args[6], struct sys_io *io)
{
	uint32_t number = (uint32_t)args[1];
	for (unsigned i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (requests[i].number == number)
			return one(io, requests[i].way, requests[i].size);

	unsigned type = _IOC_TYPE(number), nr = _IOC_NR(number), size = _IOC_SIZE(number);
	switch (type) {
	case 'T':
		if (size && nr >= 200)
			return tunnel(number, io);
		break;
	case 0xb7:
	case 0xff: return namespaces(number, io);
	case 0x8b: /* wireless: pointers inside; the answer of every other interface */ return EOPNOTSUPP;
	case 0x89:
		if (number == SIOCETHTOOL || number == SIOCGIFCONF) /* pointers inside; callers know other ways */
			return EOPNOTSUPP;
		break;
	case 'f': /* an open end: extents, encryption, verity. All callers know this answer */
		if (nr == 11 || nr == 44 || (nr >= 19 && nr <= 27) || (nr >= 133 && nr <= 135))
			return EOPNOTSUPP;
		if (nr == 16 || nr == 17) /* PAGEMAP_SCAN, PROCMAP_QUERY: pointers inside; older kernels say so */
			return ENOTTY;
		break;
	case 'X': /* open ends and pointers, but for FS_IOC_FSGETXATTR, FSSETXATTR, FIFREEZE, FITHAW, FITRIM */
		if (nr == 31 || nr == 32 || (nr >= 119 && nr <= 121))
			break;
		return nr == 59 ? EOPNOTSUPP : -1;
	case 'E': /* masks of events: a pointer inside; EVIOCSFF gives an id back */
		if (nr == 0x92 || nr == 0x80)
			return -1;
		break;
	case 0x12: /* BLKREPORTZONE: an open end */
		if (nr == 130)
			return -1;
		break;
	case 0x94: /* btrfs and FIDEDUPERANGE: open ends */ return nr == 54 ? EOPNOTSUPP : -1;
	case 'A':  /* sound */
	case 'N':  /* NVMe */
	case 'U':  /* USB */
	case 'V':  /* video */
	case 'd':  /* graphics */
	case 'k':  /* SPI */
	case 0xae: /* KVM */
	case 0xb3: /* MMC */
	case 0xfd: /* device mapper */ return -1;
	}
	if (!type || !size)
		return -1;
	if (_IOC_DIR(number) == _IOC_WRITE)
		return one(io, IN_BYTES, size);
	if (_IOC_DIR(number) & _IOC_READ)
		return one(io, INOUT_FIXED, size);
	return -1;
}
