/* module.c - which module an address lies in, and what the function there is called.
 *
 * Names are looked up in the full symbol table of the module's file (static functions are in no
 * other), else in its dynamic one. The file is read, not mapped: it may be cut short while we read.
 * What was found is kept for the rest of the look, since tasks wait in a few places.
 *
 * Where the C library can say without a lock where a module lies (_dl_find_object, glibc 2.35), it
 * is asked that way. Elsewhere dl_iterate_phdr() takes the loader's lock, which a thread that is
 * inside dlopen() when the signal arrives holds itself; there the lock is recursive.
 */
#include "see/see.h"

#include <elf.h>
#include <errno.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

enum { SECTIONS = 64 };

static const char self_path[] = "/proc/self/exe";

static void set_path(asx__module *module, const char *path)
{
    if (path == NULL)
        path = "";
    size_t len = strnlen(path, sizeof module->path - 1);
    memcpy(module->path, path, len);
    module->path[len] = '\0';
    if (len == 0) {
        long got = readlink(self_path, module->path, sizeof module->path - 1);
        module->path[got > 0 ? got : 0] = '\0';
    }
}

#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 35)
#define HAVE_FIND_OBJECT 1
#endif
#endif

#if defined(HAVE_FIND_OBJECT)

static bool find(uintptr_t pc, asx__module *module, bool *ret_main)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)pc, &found) != 0)
        return false;
    const struct link_map *map = found.dlfo_link_map;
    module->low = (uintptr_t)found.dlfo_map_start;
    module->high = (uintptr_t)found.dlfo_map_end;
    module->cfi.sorted = found.dlfo_eh_frame;
    module->base = map != NULL ? (uintptr_t)map->l_addr : 0;
    *ret_main = map == NULL || map->l_name == NULL || map->l_name[0] == '\0';
    set_path(module, map != NULL ? map->l_name : "");
    return true;
}

#else

struct query {
    uintptr_t pc;
    asx__module *module;
    bool found, is_main;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct query *query = arg;
    asx__module *module = query->module;
    uintptr_t low = UINTPTR_MAX, high = 0, header = 0;
    bool inside = false;
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = (uintptr_t)(info->dlpi_addr + part->p_vaddr);
        uintptr_t end = begin + (uintptr_t)part->p_memsz;
        if (part->p_type == PT_GNU_EH_FRAME)
            header = begin;
        if (part->p_type != PT_LOAD)
            continue;
        inside = inside || (query->pc >= begin && query->pc < end);
        low = begin < low ? begin : low;
        high = end > high ? end : high;
    }
    if (!inside)
        return 0;
    module->low = low;
    module->high = high;
    module->base = (uintptr_t)info->dlpi_addr;
    module->cfi.sorted = (const uint8_t *)header;
    query->is_main = info->dlpi_name == NULL || info->dlpi_name[0] == '\0';
    set_path(module, info->dlpi_name);
    query->found = true;
    return 1;
}

static bool find(uintptr_t pc, asx__module *module, bool *ret_main)
{
    struct query query = { .pc = pc, .module = module };
    (void)dl_iterate_phdr(visit, &query);
    *ret_main = query.is_main;
    return query.found;
}

#endif

/* ---- the file ------------------------------------------------------------------------------- */

static bool read_at(const asx__module *module, uint64_t at, void *to, size_t len)
{
    return pread(module->fd, to, len, (off_t)at) == (ssize_t)len;
}

static void note_symbols(asx__module *module, const Elf64_Ehdr *header, const Elf64_Shdr *section)
{
    Elf64_Shdr strings;
    if (section->sh_link >= header->e_shnum ||
        !read_at(module, header->e_shoff + section->sh_link * sizeof strings, &strings,
                 sizeof strings))
        return;
    module->symbols = section->sh_offset;
    module->symbol_count = section->sh_size / sizeof(Elf64_Sym);
    module->strings = strings.sh_offset;
    module->strings_size = strings.sh_size;
}

static void note_frames(asx__module *module, const Elf64_Shdr *section, uint64_t names)
{
    char name[10];
    if (!read_at(module, names + section->sh_name, name, sizeof name) ||
        memcmp(name, ".eh_frame", sizeof name) != 0)
        return;
    uintptr_t begin = module->base + (uintptr_t)section->sh_addr;
    if (begin >= module->low && begin < module->high &&
        section->sh_size <= module->high - begin) {
        module->cfi.plain = (const uint8_t *)begin;
        module->cfi.end = module->cfi.plain + section->sh_size;
    }
}

/* Finds the symbol table, the full one or else the dynamic one, and where needed the entries of
 * unwinding. */
static void find_tables(asx__module *module)
{
    Elf64_Ehdr header;
    Elf64_Shdr section, names;
    bool full = false;
    module->tables_known = true;
    if (module->fd < 0 || !read_at(module, 0, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_shentsize != sizeof section ||
        !read_at(module, header.e_shoff + header.e_shstrndx * sizeof names, &names, sizeof names))
        return;
    for (uint32_t i = 0; i < header.e_shnum && i < SECTIONS; i++) {
        if (!read_at(module, header.e_shoff + i * sizeof section, &section, sizeof section))
            return;
        if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !full)) {
            full = section.sh_type == SHT_SYMTAB;
            note_symbols(module, &header, &section);
        } else if (module->cfi.sorted == NULL && (section.sh_flags & SHF_ALLOC) != 0) {
            note_frames(module, &section, names.sh_offset);
        }
    }
}

asx__module *asx__module_of(asx__look *look, uintptr_t pc)
{
    for (uint32_t i = 0; i < look->module_count; i++)
        if (pc >= look->modules[i].low && pc < look->modules[i].high)
            return &look->modules[i];
    /* The last place is used again and again once all are taken. */
    uint32_t place = look->module_count < ASX__MODULES ? look->module_count : ASX__MODULES - 1;
    asx__module *module = &look->modules[place];
    if (place < look->module_count && module->fd >= 0)
        (void)close(module->fd);
    memset(module, 0, sizeof *module);
    bool is_main = false;
    look->module_count = place;
    if (!find(pc, module, &is_main))
        return NULL;
    module->cfi.begin = (const uint8_t *)module->low;
    module->cfi.end = (const uint8_t *)module->high;
    module->fd = open(is_main ? self_path : module->path, O_RDONLY | O_CLOEXEC);
    if (module->cfi.sorted == NULL)
        find_tables(module);
    look->module_count = place + 1;
    return module;
}

/* ---- symbols -------------------------------------------------------------------------------- */

/* The function that begins last at or below `at`, a file's address, and reaches up to it if it says
 * how long it is. */
static bool search(asx__look *look, const asx__module *module, uint64_t at, Elf64_Sym *ret)
{
    bool found = false;
    for (uint64_t from = 0; from < module->symbol_count;) {
        uint64_t count = module->symbol_count - from;
        if (count > ASX__SYMBOL_CHUNK)
            count = ASX__SYMBOL_CHUNK;
        if (!read_at(module, module->symbols + from * sizeof(Elf64_Sym), look->chunk,
                     count * sizeof(Elf64_Sym)))
            return found;
        for (uint64_t i = 0; i < count; i++) {
            Elf64_Sym symbol;
            memcpy(&symbol, look->chunk + i * sizeof symbol, sizeof symbol);
            unsigned type = ELF64_ST_TYPE(symbol.st_info);
            if ((type != STT_FUNC && type != STT_GNU_IFUNC) || symbol.st_shndx == SHN_UNDEF ||
                symbol.st_value > at ||
                (symbol.st_size != 0 && at - symbol.st_value >= symbol.st_size))
                continue;
            if (!found || symbol.st_value > ret->st_value)
                *ret = symbol;
            found = true;
        }
        from += count;
    }
    return found;
}

/* Keeps the name in look->names. 0: no room. */
static uint32_t keep_name(asx__look *look, const asx__module *module, uint64_t offset)
{
    enum { NAME = 120 };
    if (offset >= module->strings_size || look->names_len + NAME + 1 > sizeof look->names)
        return 0;
    char *to = look->names + look->names_len;
    uint64_t len = module->strings_size - offset;
    if (len > NAME)
        len = NAME;
    if (!read_at(module, module->strings + offset, to, len))
        return 0;
    to[len] = '\0';
    if (*to == '\0')
        return 0;
    uint32_t name = look->names_len;
    look->names_len += (uint32_t)strlen(to) + 1;
    return name;
}

const char *asx__symbol_of(asx__look *look, uintptr_t pc, uint32_t *ret_offset)
{
    for (uint32_t i = 0; i < look->symbol_count; i++) {
        if (look->symbols[i].pc != pc)
            continue;
        *ret_offset = look->symbols[i].offset;
        return look->symbols[i].name != 0 ? look->names + look->symbols[i].name : NULL;
    }
    asx__module *module = asx__module_of(look, pc);
    if (module == NULL || module->fd < 0)
        return NULL;
    if (!module->tables_known)
        find_tables(module);
    if (look->symbol_count == ASX__SYMBOLS || look->names_len + 128 > sizeof look->names) {
        look->symbol_count = 0; /* begin anew rather than not at all */
        look->names_len = 1;
    }
    Elf64_Sym symbol;
    asx__symbol entry = { .pc = pc };
    if (search(look, module, pc - module->base, &symbol)) {
        entry.offset = (uint32_t)(pc - module->base - symbol.st_value);
        entry.name = keep_name(look, module, symbol.st_name);
    }
    look->symbols[look->symbol_count++] = entry;
    *ret_offset = entry.offset;
    return entry.name != 0 ? look->names + entry.name : NULL;
}
