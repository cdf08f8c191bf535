"""Single faults for C sources: mutants(path, text, names) yields every one it knows.

A fault is a small change that a careless hand might make: another relation, one more or
less, && for ||, a condition turned round, a statement left out, another constant of the
same family, a status that is not passed on, a wrong cell or a missing row in a table.

The source is read as tokens, not parsed: what the reader cannot place is left alone, and
a change that does not compile is dropped later by the compiler. Assertions are left alone
(a weaker assertion is no fault of the program), the functions that they call, and
declarations, except for the values they start with.
"""
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<space>\s+|\\\n)|(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*")
    |(?P<char>'(?:\\.|[^'\\\n])*')|(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|[0-9]+[uUlL]*)
    |(?P<name>[A-Za-z_]\w*)
    |(?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)""",
    re.S | re.X,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", re.M | re.S)
CONSTANT = re.compile(r"^(ASX__?[A-Z]+_)[A-Z0-9_]+$")
FAMILY_EDGE = re.compile(r"_(COUNT|LIST|MAX|MIN|MASK|BITS|SHIFT)$")

ASSERTIONS = {"ASX__ASSERT", "ASX__DEBUG_ASSERT", "ASX__AUDIT_ASSERT", "_Static_assert"}
TYPE_WORDS = set(
    "const static struct union enum unsigned signed int char bool long short void float double "
    "size_t ssize_t volatile register extern typedef va_list _Atomic _Alignas".split()
)
OTHER_SIGN = {
    "<": ("<=", ">=", "!="), "<=": ("<", ">", "=="), ">": (">=", "<=", "!="),
    ">=": (">", "<", "=="),
    "==": ("!=",), "!=": ("==",), "&&": ("||",), "||": ("&&",),
    "++": ("--",), "--": ("++",), "+=": ("-=",), "-=": ("+=",), "|=": ("&=",), "&=": ("|=",),
    "<<": (">>",), ">>": ("<<",),
}
OTHER_BINARY = {"+": "-", "-": "+", "&": "|", "|": "&", "/": "*"}
OPEN = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Mutant:
    path: str
    line: int
    function: str  # or the table it stands in
    kind: str
    before: str  # the line as it is, and as it becomes
    after: str
    edits: tuple  # (start, end, text), in order, not overlapping

    def apply(self, text):
        out, at = [], 0
        for start, end, new in self.edits:
            # Lines keep their numbers, so that equal code gives equal objects.
            lost = text.count("\n", start, end) - new.count("\n")
            out += [text[at:start], new, "\n" * max(lost, 0)]
            at = end
        return "".join(out) + text[at:]


@dataclass
class Token:
    kind: str
    text: str
    start: int
    end: int


def tokens_of(text):
    """Tokens without space and comments; directives are left out."""
    found, at = [], 0
    spans = [(m.start(), m.end()) for m in DIRECTIVE.finditer(text)]
    for start, end in spans + [(len(text), len(text))]:
        for m in TOKEN.finditer(text, at, max(start, at)):
            if m.lastgroup not in ("space", "comment"):
                found.append(Token(m.lastgroup, m.group(), m.start(), m.end()))
        at = max(end, at)
    return found


def pairs_of(tokens):
    """Index of the partner of every bracket."""
    partner, stack = {}, []
    for i, token in enumerate(tokens):
        if token.kind != "sign":
            continue
        if token.text in OPEN:
            stack.append(i)
        elif token.text in (")", "]", "}") and stack:
            partner[stack[-1]] = i
            partner[i] = stack.pop()
    return partner


def families(texts):
    """Constants by family: {prefix: sorted names}, from the texts of the tree."""
    found = {}
    for text in texts:
        tokens = tokens_of(text)
        for i, token in enumerate(tokens):
            m = token.kind == "name" and CONSTANT.match(token.text)
            if not m or FAMILY_EDGE.search(token.text):
                continue
            if i + 1 < len(tokens) and tokens[i + 1].text == "(":
                continue
            found.setdefault(m.group(1), set()).add(token.text)
    return {prefix: sorted(names) for prefix, names in found.items()}


def other_number(text):
    m = re.match(r"(0[xX][0-9a-fA-F]+|[0-9]+)([uUlL]*)$", text)
    value = int(m.group(1), 0) if not re.match(r"0[0-9]", m.group(1)) else int(m.group(1), 8)
    value = 0 if value == 1 else value + 1
    return (hex(value) if text[:2].lower() == "0x" else str(value)) + m.group(2)


class Source:
    """One file, while its mutants are made."""

    def __init__(self, path, text, names):
        self.counted = None
        self.path, self.text, self.names = path, text, names
        self.tokens = tokens_of(text)
        self.partner = pairs_of(self.tokens)
        self.found = []
        self.function, self.returns = "", ""

    def add(self, kind, *edits):
        start = edits[0][0]
        begin = self.text.rfind("\n", 0, start) + 1
        mutant = Mutant(self.path, self.text.count("\n", 0, start) + 1, self.function, kind, "",
                        "", tuple(edits))
        changed = mutant.apply(self.text)
        before = self.text[begin:].split("\n", 1)[0]
        after = changed[begin:].split("\n", 1)[0]
        if before == after:  # a change of a later line only
            return
        tidy = lambda line: " ".join(line.rstrip("\\").split())
        self.found.append(Mutant(mutant.path, mutant.line, self.function, kind, tidy(before),
                                 tidy(after), mutant.edits))

    def replace(self, kind, token, new):
        self.add(kind, (token.start, token.end, new))

    # --- expressions ---

    @staticmethod
    def is_constant(name):
        return name == "ASX_OK" or CONSTANT.match(name)

    def relatives(self, name, returned):
        if name == "ASX_OK":
            return ["ASX_E_INVALID_ARGUMENT"]
        family = self.names.get(CONSTANT.match(name).group(1), [])
        if name not in family or len(family) < 2:
            return ["ASX_OK"] if returned and name.startswith("ASX_E_") else []
        other = family[(family.index(name) + 1) % len(family)]
        return [other] + (["ASX_OK"] if returned and name.startswith("ASX_E_") else [])

    def swap_branches(self, i, last):
        """a ? b : c becomes a ? c : b."""
        depth, colon, end = 0, None, None
        j = i + 1
        while j <= last:
            t = self.tokens[j].text
            if t in OPEN and j in self.partner:
                j = self.partner[j] + 1
                continue
            if t == "?":
                depth += 1
            elif t == ":" and depth > 0:
                depth -= 1
            elif t == ":" and colon is None:
                colon = j
            elif t in (")", "]", "}", ",", ";"):
                end = j
                break
            j += 1
        if colon is None:
            return
        end = last + 1 if end is None else end
        a, b = self.tokens[i + 1].start, self.tokens[colon - 1].end
        c, d = self.tokens[colon + 1].start, self.tokens[end - 1].end
        flat = lambda s: " ".join(s.split())
        if flat(self.text[a:b]) != flat(self.text[c:d]):
            self.add("branches swapped", (a, b, flat(self.text[c:d])), (c, d, flat(self.text[a:b])))

    def expression(self, first, last, returned=False):
        """Every token of tokens[first..last]."""
        i = first
        while i <= last:
            token = self.tokens[i]
            before = self.tokens[i - 1]
            operand_before = before.kind in ("name", "number", "string", "char") and \
                before.text not in ("return", "case", "sizeof") or before.text in (")", "]")
            if token.text in ASSERTIONS and self.tokens[i + 1].text == "(":
                i = self.partner[i + 1] + 1
                continue
            if token.kind == "number":
                self.replace("number", token, other_number(token.text))
            elif token.kind == "name":
                if token.text in ("true", "false"):
                    self.replace("constant", token, "false" if token.text == "true" else "true")
                elif self.is_constant(token.text) and self.tokens[i + 1].text != "(":
                    for other in self.relatives(token.text, returned and i == first == last):
                        self.replace("constant", token, other)
            elif token.kind == "sign":
                self.sign(i, token, before, operand_before, last)
            i += 1

    def sign(self, i, token, before, operand_before, last):
        text = token.text
        # A status is ASX_OK or negative: `st < 0` and `st != 0` are the same question.
        same = "!=" if (before.text, text, self.tokens[i + 1].text) == ("st", "<", "0") or \
            i == self.counted else ""
        for other in OTHER_SIGN.get(text, ()):
            if other != same:
                self.replace("operator", token, other)
        if text in OTHER_BINARY and operand_before:
            self.replace("operator", token, OTHER_BINARY[text])
        elif text in ("!", "~") and before.text != "!" and self.tokens[i + 1].text != "!":
            self.replace("operator", token, "")
        elif text == "?":
            self.swap_branches(i, last)

    # --- statements ---

    def is_declaration(self, first, last):
        t = self.tokens
        if t[first].text in TYPE_WORDS:
            return True
        if t[first].kind != "name":
            return False
        i = first + 1
        while i <= last and (t[i].text == "*" or t[i].text == "const"):
            i += 1
        return i <= last and t[i].kind == "name" and t[i + 1].text in ("=", ";", ",", "[") and \
            (i > first + 1 or t[first + 1].kind == "name")

    def condition(self, first, last):
        if last >= first:
            start, end = self.tokens[first].start, self.tokens[last].end
            self.add("condition negated", (start, start, "!("), (end, end, ")"))
            self.expression(first, last)

    def delete(self, kind, first, semicolon):
        self.add(kind, (self.tokens[first].start, self.tokens[semicolon].end, ";"))

    def simple(self, first, semicolon, body_end):
        """A statement that ends with its semicolon."""
        t = self.tokens
        word = t[first].text
        if word in ("break", "continue", "goto"):
            self.delete("statement left out", first, semicolon)
        elif word == "return":
            if semicolon + 1 != body_end:
                self.delete("return left out", first, semicolon)
            if semicolon > first + 1:
                self.returned(first + 1, semicolon - 1)
        elif word in ASSERTIONS or word in ("va_start", "va_end", "_Static_assert"):
            pass
        elif self.is_declaration(first, semicolon):
            for i in range(first, semicolon):
                if t[i].text == "=":
                    self.expression(i + 1, semicolon - 1)
                    break
        elif not (word == "(" and t[first + 1].text == "void" and semicolon == first + 4):
            self.delete("statement left out", first, semicolon)
            self.expression(first, semicolon - 1)

    def returned(self, first, last):
        t = self.tokens
        constant = first == last and (t[first].kind != "name" or self.is_constant(t[first].text)
                                      or t[first].text in ("true", "false", "NULL"))
        start, end = t[first].start, t[last].end
        if not constant and self.returns == "asx_status":
            self.add("status dropped", (start, start, "((void)("), (end, end, "), ASX_OK)"))
        if not constant and self.returns == "bool":
            self.add("answer negated", (start, start, "!("), (end, end, ")"))
        self.expression(first, last, returned=self.returns == "asx_status")

    def for_header(self, open_, close):
        parts, begin, i = [], open_ + 1, open_ + 1
        while i <= close:
            if self.tokens[i].text in OPEN:
                i = self.partner[i]
            elif self.tokens[i].text == ";" or i == close:
                parts.append((begin, i - 1))
                begin = i + 1
            i += 1
        if len(parts) == 3:
            first, last = parts[0]
            for k in range(first, last + 1):
                if self.tokens[k].text == "=":
                    self.expression(k + 1, last)
                    break
            self.counted = self.counts(*parts)
            self.condition(*parts[1])
            self.counted = None
            self.expression(*parts[2])

    def counts(self, start, condition, step):
        """Of `i = 0; i < n; i++`, where `<` and `!=` are the same: the place of `<`."""
        words = [[t.text for t in self.tokens[a:b + 1]] for a, b in (start, condition, step)]
        if len(words[1]) > 2 and words[0][-3:] == [words[1][0], "=", "0"] and \
                words[1][1] == "<" and words[2] == [words[1][0], "++"]:
            return condition[0] + 1
        return None

    def body(self, open_, close):
        t, i = self.tokens, open_ + 1
        while i < close:
            word = t[i].text
            if word in ("{", "}", ";", "else", "do"):
                i += 1
            elif word in ("if", "while", "switch", "for") and t[i + 1].text == "(":
                end = self.partner[i + 1]
                if word == "for":
                    self.for_header(i + 1, end)
                elif word == "switch":
                    self.expression(i + 2, end - 1)
                else:
                    self.condition(i + 2, end - 1)
                i = end + 1
            elif word in ("case", "default"):
                while t[i].text != ":":
                    i += 1
                i += 1
            elif t[i].kind == "name" and t[i + 1].text == ":":
                i += 2
            else:
                end = i
                while end < close and t[end].text != ";":
                    end = self.partner.get(end, end) + 1 if t[end].text in OPEN else end + 1
                if end >= close:
                    return
                self.simple(i, end, close)
                i = end + 1

    # --- the file ---

    def table(self, open_):
        """Values of an initializer, not what stands in [brackets] before them."""
        close, i = self.partner[open_], open_ + 1
        while i < close:
            if self.tokens[i].text == "[":
                i = self.partner[i] + 1
                continue
            if self.tokens[i].kind != "sign":
                self.expression(i, i)
            i += 1

    def top(self):
        t, i, begin = self.tokens, 0, 0
        while i < len(t):
            if t[i].text == "{" and i in self.partner:
                close = self.partner[i]
                if t[i - 1].text == ")":
                    head = self.partner[i - 1]
                    words = [x.text for x in t[begin:head]]
                    self.function = t[head - 1].text
                    self.returns = "pointer" if "*" in words else "asx_status" \
                        if "asx_status" in words else "bool" if "bool" in words else ""
                    if not self.function.endswith("_is_valid"):
                        self.body(i, close)
                elif t[i - 1].text == "=":
                    self.function, self.returns = t[begin + 1].text, ""
                    for k in range(begin, i):
                        if t[k].kind == "name" and t[k].text not in TYPE_WORDS:
                            self.function = t[k].text
                    self.table(i)
                i = close
                begin = i + 1
            elif t[i].text == ";":
                begin = i + 1
            elif t[i].text == "(" and i in self.partner:
                i = self.partner[i]
            i += 1
        self.function = ""

    def lists(self):
        """#define SOME_LIST(X) X(a, b) X(c, d): other cells, missing rows."""
        for m in re.finditer(r"^#define (\w+_LIST)\((\w+)\)((?:\\\n|[^\n])*)", self.text, re.M):
            self.function = m.group(1)
            rows = []
            for row in re.finditer(r"\b%s\(" % m.group(2), m.group(3)):
                cells, at = split_cells(self.text, m.start(3) + row.end())
                rows.append((m.start(3) + row.start(), at, cells))
            for start, end, _ in rows:
                lines = self.text.count("\n", start, end)
                self.add("row left out", (start, end, "\\\n" * lines))
            self.cells(rows)
        self.function = ""

    def cells(self, rows):
        for column in range(max((len(cells) for _, _, cells in rows), default=0)):
            values = []
            for _, _, cells in rows:
                if column < len(cells) and cells[column][0] not in values:
                    values.append(cells[column][0])
            for _, _, cells in rows:
                if column >= len(cells):
                    continue
                value, start, end = cells[column]
                if re.fullmatch(r"0[xX][0-9a-fA-F]+|[0-9]+", value):
                    self.add("cell", (start, end, other_number(value)))
                elif re.fullmatch(r"\w+", value) and len(values) > 1:
                    other = values[(values.index(value) + 1) % len(values)]
                    self.add("cell", (start, end, other))


def split_cells(text, at):
    """The arguments of a call whose bracket has just been opened, and where it ends."""
    cells, depth, start = [], 0, at
    while True:
        c = text[at]
        if c == '"':
            at = re.compile(r'"(?:\\.|[^"\\])*"').match(text, at).end()
            continue
        if c in "([{":
            depth += 1
        elif c in ")]}" and depth > 0:
            depth -= 1
        elif c == ")" or (c == "," and depth == 0):
            raw = text[start:at]
            lead = len(raw) - len(raw.lstrip(" \\\n"))
            value = raw.strip(" \\\n")
            cells.append((value, start + lead, start + lead + len(value)))
            if c == ")":
                return cells, at + 1
            start = at + 1
        at += 1


def mutants(path, text, names, only_lists=False):
    """All of them, in the order of the file, without repetitions."""
    source = Source(path, text, names)
    if not only_lists:
        source.top()
    source.lists()
    seen, result = set(), []
    for m in sorted(source.found, key=lambda m: (m.edits[0][0], m.kind, m.after)):
        if m.edits not in seen:
            seen.add(m.edits)
            result.append(m)
    return result
