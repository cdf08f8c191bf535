"""tools/mutate.py makes the faults it promises, and only those: mutate.py SOURCE_TREE."""
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + "/tools")
import mutate

SOURCE = """
#define STATE_LIST(X) \\
    X(OPEN, 1, "open") \\
    X(CLOSED, 2, "closed")
static const int table[] = { [ASX_KIND_A] = 7 };
/* a < b */
asx_status f(int a, struct s *p)
{
    ASX__ASSERT(a < 1000);
    int sum = a + 1;
    if (a < sum && !p->done)
        return ASX_E_FULL;
    p->left--;
    for (int i = 0; i < a; i++)
        g(p, ASX_KIND_B);
    return p->ok ? g(p, 2) : ASX_OK;
}
bool h(void)
{
    return g("a < b");
}
"""
WANTED = """
7 => 8
int sum = a - 1;
int sum = a + 0;
if (!(a < sum && !p->done))
if (a <= sum && !p->done)
if (a >= sum && !p->done)
if (a != sum && !p->done)
if (a < sum || !p->done)
if (a < sum && p->done)
return ASX_OK;
return ASX_E_OTHER;
;
p->left++;
for (int i = 1; i < a; i++)
for (int i = 0; !(i < a); i++)
for (int i = 0; i <= a; i++)
for (int i = 0; i >= a; i++)
for (int i = 0; i < a; i--)
g(p, ASX_KIND_A);
return ((void)(p->ok ? g(p, 2) : ASX_OK), ASX_OK);
return p->ok ? g(p, 3) : ASX_OK;
return p->ok ? ASX_OK : g(p, 2);
return p->ok ? g(p, 2) : ASX_E_INVALID_ARGUMENT;
return !(g("a < b"));
X(CLOSED, 1, "open")
X(OPEN, 0, "open")
X(OPEN, 2, "closed")
X(CLOSED, 3, "closed")
"""

names = {"ASX_KIND_": ["ASX_KIND_A", "ASX_KIND_B"], "ASX_E_": ["ASX_E_FULL", "ASX_E_OTHER"]}
made = mutate.mutants("f.c", SOURCE, names)
after = {m.after for m in made}
errors = 0
for line in WANTED.strip().splitlines():
    if line == "7 => 8":
        line = "static const int table[] = { [ASX_KIND_A] = 8 };"
    if line not in after:
        print("not made:", line)
        errors += 1
for m in made:
    changed = m.apply(SOURCE)
    if changed == SOURCE or changed.count("\n") != SOURCE.count("\n"):
        print("changes nothing, or the lines:", m)
        errors += 1
    if "1000" in m.before or "/*" in m.before or m.function == "":
        print("must be left alone:", m)
        errors += 1
if "for (int i = 0; i != a; i++)" in after:
    print("made, and it is the same program: for (int i = 0; i != a; i++)")
    errors += 1
left_out = [m for m in made if m.kind in ("statement left out", "row left out")]
if sorted(m.line for m in left_out) != [3, 4, 13, 15]:
    print("left out:", [(m.line, m.before) for m in left_out])
    errors += 1
if len({m.edits for m in made}) != len(made) or len(made) > 40:
    print("too many:", len(made))
    errors += 1
print(f"{len(made)} faults, {errors} errors")
sys.exit(errors > 0)
