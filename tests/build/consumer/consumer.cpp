// A C++ program outside the tree: a task that throws and catches inside itself.
#include <asx/asx.h>
#include <iostream>
#include <stdexcept>

static asx_status thrower(asx_cx *, void *arg)
{
    try {
        throw std::runtime_error("25");
    } catch (const std::exception &e) {
        *static_cast<std::string *>(arg) = e.what();
    }
    return ASX_OK;
}

static asx_status app(asx_cx *cx, void *arg)
{
    asx_region region;
    asx_status st = asx_region_open(cx, nullptr, &region);
    if (st < 0)
        return st;
    st = asx_spawn(&region, "thrower", thrower, arg);
    return asx_region_close(&region, st);
}

int main()
{
    std::string text;
    if (asx_main(app, &text) != 0)
        return 1;
    std::cout << ASX_VERSION_MAJOR << "." << ASX_VERSION_MINOR << "." << ASX_VERSION_PATCH << " "
              << text << "\n";
    return 0;
}
