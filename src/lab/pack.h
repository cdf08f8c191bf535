/* pack.h - how a crash pack begins; src/lab/main/pack.c has the rest of its format. */
#ifndef ASX_LAB_PACK_H
#define ASX_LAB_PACK_H

#define ASX__PACK_HEAD "asx-crash-pack 1\n"
#define ASX__PACK_HEAD_LEN (sizeof(ASX__PACK_HEAD) - 1)

#endif
