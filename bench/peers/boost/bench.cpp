/* The workloads on Boost.Fiber.
 *
 *     bench <workload> <variant or -> <workers>      prints: RESULT <value>
 *
 * Exit status 3 means that Boost.Fiber has nothing of the kind.
 *
 * Choices, each the best of what was tried:
 *   - Stacks have 16 KiB and malloc keeps what is freed. With the default of 128 KiB, or
 *     with malloc trimming its heap between batches, W1 measures page faults: 6 us a task.
 *   - One worker takes stacks from the pool wherever stacks are used again (W1, W5). The
 *     pool has no lock, so two workers take them from malloc.
 *   - buffered_channel wants a power of two and holds one message less than it is given:
 *     2 gives the capacity 1 of W3; the 1024 of W4 is given as 1024 and holds 1023.
 *   - Fibers are posted, except in skynet, where a dispatched child runs at once. Its sums
 *     travel by channel: with join instead, a finished child keeps its stack until the
 *     parent comes round, which took five times as long.
 *
 * There is no cancellation: variant "close" of W8 closes the channel on which all wait,
 * which is as near as it gets.
 */
#include <boost/fiber/algo/work_stealing.hpp>
#include <boost/fiber/all.hpp>

#include <chrono>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <malloc.h>
#include <unistd.h>

namespace bf = boost::fibers;
using monotonic = std::chrono::steady_clock;
using channel = bf::buffered_channel<uint64_t>;

static constexpr std::size_t STACK_BYTES = 16 * 1024;
static constexpr uint64_t SKYNET_LEAVES = 1000000;
static constexpr uint64_t SKYNET_SUM = SKYNET_LEAVES * (SKYNET_LEAVES - 1) / 2;

static double since_ns(monotonic::time_point start)
{
    return std::chrono::duration<double, std::nano>(monotonic::now() - start).count();
}

static void require(bool held, const char *what)
{
    if (!held) {
        std::fprintf(stderr, "boost: %s\n", what);
        std::exit(1);
    }
}

static double resident_bytes()
{
    long total = 0;
    long resident = 0;
    FILE *statm = std::fopen("/proc/self/statm", "r");
    require(statm != nullptr, "no /proc/self/statm");
    require(std::fscanf(statm, "%ld %ld", &total, &resident) == 2, "odd /proc/self/statm");
    std::fclose(statm);
    return double(resident) * double(sysconf(_SC_PAGESIZE));
}

template <class Stacks, class Body> static bf::fiber post(Stacks &stacks, Body body)
{
    return bf::fiber(bf::launch::post, std::allocator_arg, stacks, std::move(body));
}

static void join_all(std::vector<bf::fiber> &fibers)
{
    for (bf::fiber &f : fibers)
        f.join();
    fibers.clear();
}

template <class Stacks> static double spawn_join(Stacks stacks)
{
    constexpr int total = 1000000;
    constexpr int live = 10000;
    std::vector<bf::fiber> fibers;
    fibers.reserve(live);
    auto start = monotonic::now();
    for (int done = 0; done < total; done += live) {
        for (int i = 0; i < live; i++)
            fibers.push_back(post(stacks, [] {}));
        join_all(fibers);
    }
    return since_ns(start) / total;
}

static double yield_pair()
{
    constexpr int switches = 10000000;
    auto body = [] {
        for (int i = 0; i < switches / 2; i++)
            boost::this_fiber::yield();
    };
    auto start = monotonic::now();
    bf::fiber a(body);
    bf::fiber b(body);
    a.join();
    b.join();
    return since_ns(start) / switches;
}

template <class Channel> static double ping_pong(Channel &there, Channel &back)
{
    constexpr uint64_t trips = 1000000;
    auto start = monotonic::now();
    bf::fiber echo([&] {
        uint64_t v = 0;
        for (uint64_t i = 0; i < trips; i++) {
            there.pop(v);
            back.push(v);
        }
    });
    bf::fiber caller([&] {
        uint64_t v = 0;
        for (uint64_t i = 0; i < trips; i++) {
            there.push(i);
            back.pop(v);
            require(v == i, "wrong echo");
        }
    });
    echo.join();
    caller.join();
    return since_ns(start) / double(trips);
}

static double many_to_one()
{
    constexpr uint64_t producers = 4;
    constexpr uint64_t each = 1000000;
    channel c(1024);
    std::vector<bf::fiber> fibers;
    auto start = monotonic::now();
    for (uint64_t p = 0; p < producers; p++) {
        fibers.emplace_back([&c] {
            for (uint64_t i = 0; i < each; i++)
                c.push(i);
        });
    }
    uint64_t sum = 0;
    uint64_t v = 0;
    for (uint64_t i = 0; i < producers * each; i++) {
        c.pop(v);
        sum += v;
    }
    double spent_ns = since_ns(start);
    join_all(fibers);
    require(sum == producers * (each * (each - 1) / 2), "wrong sum");
    return double(producers * each) / spent_ns * 1e3;
}

template <class Stacks>
static void skynet(Stacks &stacks, channel &sums, uint64_t first, uint64_t leaves)
{
    if (leaves == 1) {
        sums.push(first);
        return;
    }
    channel parts(16);
    uint64_t share = leaves / 10;
    for (uint64_t i = 0; i < 10; i++) {
        auto body = [&stacks, &parts, first, share, i] {
            skynet(stacks, parts, first + i * share, share);
        };
        bf::fiber(bf::launch::dispatch, std::allocator_arg, stacks, body).detach();
    }
    uint64_t sum = 0;
    for (int i = 0; i < 10; i++)
        sum += parts.value_pop();
    sums.push(sum);
}

template <class Stacks> static double skynet_time(Stacks stacks)
{
    channel sums(2);
    auto start = monotonic::now();
    post(stacks, [&] { skynet(stacks, sums, 0, SKYNET_LEAVES); }).detach();
    uint64_t sum = sums.value_pop();
    double spent_ns = since_ns(start);
    require(sum == SKYNET_SUM, "wrong sum");
    return spent_ns / 1e6;
}

static double parked_bytes()
{
    constexpr int tasks = 1000000;
    auto *never = new bf::unbuffered_channel<uint64_t>;
    bf::fixedsize_stack stacks(STACK_BYTES);
    double before = resident_bytes();
    for (int i = 0; i < tasks; i++) {
        post(stacks, [never] {
            uint64_t v = 0;
            never->pop(v);
        }).detach();
    }
    boost::this_fiber::sleep_for(std::chrono::milliseconds(300));
    return (resident_bytes() - before) / tasks;
}

static double sleepers()
{
    constexpr int tasks = 100000;
    bf::fixedsize_stack stacks(STACK_BYTES);
    std::vector<bf::fiber> fibers;
    fibers.reserve(tasks);
    auto start = monotonic::now();
    for (long i = 0; i < tasks; i++) {
        std::chrono::milliseconds nap(1 + i * 7919 % 1000);
        fibers.push_back(post(stacks, [nap] { boost::this_fiber::sleep_for(nap); }));
    }
    join_all(fibers);
    return since_ns(start) / 1e6 - 1000;
}

static double close_storm()
{
    constexpr int tasks = 100000;
    bf::unbuffered_channel<uint64_t> never;
    bf::fixedsize_stack stacks(STACK_BYTES);
    std::vector<bf::fiber> fibers;
    fibers.reserve(tasks);
    for (int i = 0; i < tasks; i++) {
        fibers.push_back(post(stacks, [&never] {
            uint64_t v = 0;
            never.pop(v);
        }));
    }
    boost::this_fiber::sleep_for(std::chrono::milliseconds(200));
    auto start = monotonic::now();
    never.close();
    join_all(fibers);
    return since_ns(start) / 1e6;
}

static double run(const std::string &what, int workers)
{
    bf::fixedsize_stack from_malloc(STACK_BYTES);
    bf::pooled_fixedsize_stack pooled(STACK_BYTES);
    if (what == "w1-")
        return workers == 1 ? spawn_join(pooled) : spawn_join(from_malloc);
    if (what == "w2-")
        return yield_pair();
    if (what == "w3-") {
        channel there(2);
        channel back(2);
        return ping_pong(there, back);
    }
    if (what == "w3unbuffered") {
        bf::unbuffered_channel<uint64_t> there;
        bf::unbuffered_channel<uint64_t> back;
        return ping_pong(there, back);
    }
    if (what == "w4-")
        return many_to_one();
    if (what == "w5-")
        return workers == 1 ? skynet_time(pooled) : skynet_time(from_malloc);
    if (what == "w6-")
        return parked_bytes();
    if (what == "w7b-")
        return sleepers();
    if (what == "w8close")
        return close_storm();
    std::exit(3);
}

/* The second worker: a thread whose main fiber waits for ever, so that its scheduler steals. */
static void second_worker()
{
    bf::use_scheduling_algorithm<bf::algo::work_stealing>(2, true);
    bf::mutex mutex;
    bf::condition_variable_any never;
    std::unique_lock<bf::mutex> lock(mutex);
    for (;;)
        never.wait(lock);
}

int main(int argc, char **argv)
{
    require(argc == 4, "usage: bench <workload> <variant or -> <workers>");
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    int workers = std::atoi(argv[3]);
    require(workers == 1 || workers == 2, "one worker or two");
    if (workers == 2) {
        std::thread(second_worker).detach();
        bf::use_scheduling_algorithm<bf::algo::work_stealing>(2, true);
    }
    std::printf("RESULT %.3f\n", run(std::string(argv[1]) + argv[2], workers));
    std::fflush(stdout);
    _exit(0); /* parked fibers and the second worker are left behind */
}
