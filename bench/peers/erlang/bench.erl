%% The workloads on Erlang processes.
%%
%%     erl +P 4000000 +S <workers>:<workers> -noshell -s bench main
%%         -extra <workload> <variant or ->              prints: RESULT <value>
%%
%% Exit status 3 means that Erlang has nothing of the kind. A mailbox has no capacity: W3
%% sends straight to the other process, and W4 is kept to 1024 messages by credits, 256 for
%% each producer (variant "unbounded" leaves them out). The scope of W8 is a process to
%% which all others are linked; it is killed, and monitors tell when each one is gone.
-module(bench).
-export([main/0, notify/1]).

-define(SKYNET_LEAVES, 1000000).
-define(SKYNET_SUM, (?SKYNET_LEAVES * (?SKYNET_LEAVES - 1) div 2)).
-define(PRODUCERS, 4).
-define(MESSAGES_EACH, 1000000).
-define(CREDITS, 256).

main() ->
    [Workload, Variant] = init:get_plain_arguments(),
    Result = run(Workload, Variant),
    io:format("RESULT ~.3f~n", [float(Result)]),
    halt(0).

run("w1", "-") -> on_large_heap(fun spawn_join/0);
run("w2", "-") -> yield_pair();
run("w3", "-") -> ping_pong();
run("w4", "-") -> many_to_one(fun(To) -> produce_with_credits(To, ?MESSAGES_EACH, ?CREDITS) end);
run("w4", "unbounded") -> many_to_one(fun(To) -> produce(To, ?MESSAGES_EACH) end);
run("w5", "-") -> skynet_time();
run("w6", "-") -> parked_bytes();
run("w7a", "-") -> on_large_heap(fun timers_cancelled/0);
run("w7b", "-") -> sleepers();
run("w8", "-") -> cancel_storm();
run(_, _) -> halt(3).

%% Helpers

ns(Fun) ->
    Start = erlang:monotonic_time(nanosecond),
    Fun(),
    erlang:monotonic_time(nanosecond) - Start.

resident_bytes() ->
    {ok, Statm} = file:read_file("/proc/self/statm"),
    [_Total, Resident | _] = string:lexemes(binary_to_list(Statm), " \n"),
    list_to_integer(Resident) * 4096.

repeat(0, _) -> ok;
repeat(N, Fun) -> Fun(), repeat(N - 1, Fun).

notify(Pid) -> Pid ! ended.

await_ended(0) -> ok;
await_ended(N) -> receive ended -> await_ended(N - 1) end.

%% Runs Fun in a process whose heap need not grow while the clock runs.
on_large_heap(Fun) ->
    Self = self(),
    spawn_opt(fun() -> Self ! {result, Fun()} end, [{min_heap_size, 100000}]),
    receive {result, Result} -> Result end.

%% W1

spawn_join() ->
    Total = 1000000,
    Live = 10000,
    Self = self(),
    Batch = fun() ->
        repeat(Live, fun() -> spawn(?MODULE, notify, [Self]) end),
        await_ended(Live)
    end,
    ns(fun() -> repeat(Total div Live, Batch) end) / Total.

%% W2

yield(0) -> ok;
yield(N) -> erlang:yield(), yield(N - 1).

yield_pair() ->
    Switches = 10000000,
    Self = self(),
    Yielder = fun() -> yield(Switches div 2), notify(Self) end,
    ns(fun() -> repeat(2, fun() -> spawn(Yielder) end), await_ended(2) end) / Switches.

%% W3

echo(0) -> ok;
echo(N) -> receive {From, Value} -> From ! Value end, echo(N - 1).

call(_, 0) -> ok;
call(Echo, N) -> Echo ! {self(), N}, receive N -> ok end, call(Echo, N - 1).

ping_pong() ->
    Trips = 1000000,
    Self = self(),
    ns(fun() ->
        Echo = spawn(fun() -> echo(Trips) end),
        spawn(fun() -> call(Echo, Trips), notify(Self) end),
        await_ended(1)
    end) / Trips.

%% W4

%% The last message that the credits allow carries the producer's name; its receipt
%% gives all of them back.
produce_with_credits(_, 0, _) -> ok;
produce_with_credits(To, N, 0) -> receive refill -> produce_with_credits(To, N, ?CREDITS) end;
produce_with_credits(To, N, 1) -> To ! {self(), N}, produce_with_credits(To, N - 1, 0);
produce_with_credits(To, N, Left) -> To ! N, produce_with_credits(To, N - 1, Left - 1).

produce(_, 0) -> ok;
produce(To, N) -> To ! N, produce(To, N - 1).

consume(0, Sum) -> Sum;
consume(N, Sum) ->
    receive
        {From, Value} -> From ! refill, consume(N - 1, Sum + Value);
        Value -> consume(N - 1, Sum + Value)
    end.

many_to_one(Producer) ->
    Self = self(),
    Total = ?PRODUCERS * ?MESSAGES_EACH,
    Expected = ?PRODUCERS * (?MESSAGES_EACH * (?MESSAGES_EACH + 1) div 2),
    Spent = ns(fun() ->
        Consumer = spawn_opt(fun() -> Expected = consume(Total, 0), notify(Self) end,
                             [{message_queue_data, off_heap}]),
        repeat(?PRODUCERS, fun() -> spawn(fun() -> Producer(Consumer) end) end),
        await_ended(1)
    end),
    Total / Spent * 1.0e3.

%% W5

skynet(Parent, First, 1) -> Parent ! First;
skynet(Parent, First, Leaves) ->
    Self = self(),
    Share = Leaves div 10,
    [spawn(fun() -> skynet(Self, First + I * Share, Share) end) || I <- lists:seq(0, 9)],
    Parent ! collect(10, 0).

collect(0, Sum) -> Sum;
collect(N, Sum) -> receive Part -> collect(N - 1, Sum + Part) end.

skynet_time() ->
    Self = self(),
    ns(fun() ->
        spawn(fun() -> skynet(Self, 0, ?SKYNET_LEAVES) end),
        receive ?SKYNET_SUM -> ok end
    end) / 1.0e6.

%% W6

parked_bytes() ->
    Tasks = 1000000,
    Before = resident_bytes(),
    repeat(Tasks, fun() -> spawn(fun() -> receive never -> ok end end) end),
    timer:sleep(300),
    (resident_bytes() - Before) / Tasks.

%% W7a

%% The deadline of timer I: spread over 1 to 60 seconds, in no order.
deadline_ms(I) -> (1000000 + I * 7919 rem 1000000 * 59) div 1000.

timers_cancelled() ->
    Count = 1000000,
    ns(fun() ->
        Timers = [erlang:start_timer(deadline_ms(I), self(), none) || I <- lists:seq(1, Count)],
        [erlang:cancel_timer(T, [{async, false}, {info, false}]) || T <- Timers]
    end) / Count.

%% W7b

sleepers() ->
    Tasks = 100000,
    Self = self(),
    Sleeper = fun(I) -> fun() -> timer:sleep(1 + I * 7919 rem 1000), notify(Self) end end,
    ns(fun() ->
        [spawn(Sleeper(I)) || I <- lists:seq(0, Tasks - 1)],
        await_ended(Tasks)
    end) / 1.0e6 - 1000.

%% W8

cancel_storm() ->
    Tasks = 100000,
    Self = self(),
    Scope = spawn(fun() ->
        Park = fun() -> receive never -> ok end end,
        Self ! {tasks, [spawn_link(Park) || _ <- lists:seq(1, Tasks)]},
        receive never -> ok end
    end),
    Pids = receive {tasks, List} -> List end,
    [erlang:monitor(process, Pid) || Pid <- Pids],
    timer:sleep(200),
    ns(fun() ->
        exit(Scope, kill),
        repeat(Tasks, fun() -> receive {'DOWN', _, _, _, killed} -> ok end end)
    end) / 1.0e6.
