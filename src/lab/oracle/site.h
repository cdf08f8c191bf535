/* site.h - where a call stands in the source, "f.c:12", and behind a line break how it calls what
 * it is about: "f.c:12\n&pool->lock". The macros of a lab test make it (<asx/lab_sites.h>).
 */
#ifndef ASX_LAB_ORACLE_SITE_H
#define ASX_LAB_ORACLE_SITE_H

#include <string.h>

#define ASX__SITE_WORDS_MOST 40

/* Of the place alone. */
static inline int asx__site_len(const char *site)
{
    return (int)strcspn(site, "\n");
}

/* How the object is called, without parentheses around it and the sign of its address, and cut if
 * it is long. NULL: the call does not say. */
static inline const char *asx__site_words(const char *site, int *ret_len)
{
    const char *words = site != NULL ? strchr(site, '\n') : NULL;
    if (words == NULL)
        return NULL;
    size_t len = strlen(++words);
    if (len > 2 && words[0] == '(' && strcspn(words + 1, "()") == len - 2) {
        words++;
        len -= 2;
    }
    if (len > 1 && words[0] == '&') {
        words++;
        len--;
    }
    *ret_len = len < ASX__SITE_WORDS_MOST ? (int)len : ASX__SITE_WORDS_MOST;
    return len != 0 ? words : NULL;
}

/* The place alone; of a long one the end. `site` may be NULL. */
static inline void asx__site_copy(char *at, size_t size, const char *site)
{
    size_t len = site != NULL ? (size_t)asx__site_len(site) : 0;
    size_t from = len < size ? 0 : len - (size - 1);
    if (site != NULL)
        memcpy(at, site + from, len - from);
    at[len - from] = '\0';
}

#endif
