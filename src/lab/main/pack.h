/* pack.h - what the tool and the main of lab tests agree on. */
#ifndef ASX_LAB_MAIN_PACK_H
#define ASX_LAB_MAIN_PACK_H

/* How a crash pack begins; src/lab/main/pack.c has the rest of its format. */
#define ASX__PACK_HEAD "asx-crash-pack 1\n"
#define ASX__PACK_HEAD_LEN (sizeof(ASX__PACK_HEAD) - 1)

/* In the environment: the descriptor to which a lab test program writes a byte, to say that it is
 * one. It takes the variable out. */
#define ASX__LAB_ANSWER "ASX_LAB_ANSWER"

#endif
