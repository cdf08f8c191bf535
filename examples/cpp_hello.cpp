/* cpp_hello.cpp - the same calls from C++: destructors run, and a task may throw inside itself.
 *
 * An exception may not leave a task's function: below it are frames of C. So it is turned into a
 * status there, and the region carries it to whoever closes.
 */
#include <cstdio>
#include <stdexcept>
#include <string>

#include <asx/asx.h>

struct announce {
    explicit announce(const std::string &who) : name(who) {}
    ~announce() { std::printf("%s: destroyed\n", name.c_str()); }
    std::string name;
};

static int half(int n)
{
    if (n % 2 != 0)
        throw std::invalid_argument("odd");
    return n / 2;
}

static asx_status worker(asx_cx *cx, void *arg)
{
    int n = *static_cast<int *>(arg);
    announce scope("worker " + std::to_string(n));
    try {
        asx_status st = asx_yield(cx); /* the fiber is left and entered again inside the try */
        if (st < 0)
            return st;
        std::printf("half of %d is %d\n", n, half(n));
        return ASX_OK;
    } catch (const std::exception &e) {
        std::printf("worker %d: %s\n", n, e.what());
        return ASX_E_INVALID_ARGUMENT;
    }
}

static asx_status app(asx_cx *cx, void *)
{
    int numbers[] = { 4, 7, 10 };
    asx_region_options options = asx_region_options();
    options.name = "halves";
    options.policy = ASX_POLICY_COLLECT; /* a failure does not cancel the others */
    asx_region r;
    asx_status st = asx_region_open(cx, &options, &r);
    if (st < 0)
        return st;
    for (int &n : numbers)
        asx_spawn(&r, "worker", worker, &n);
    st = asx_region_close(&r, ASX_OK);
    std::printf("close says %s\n", asx_status_str(st));
    return ASX_OK;
}

int main()
{
    return asx_main(app, nullptr);
}
