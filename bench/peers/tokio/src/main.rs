//! The workloads on tokio.
//!
//!     bench <workload> <variant or -> <workers>      prints: RESULT <value>
//!
//! Exit status 3 means that tokio has nothing of the kind. One worker is the current-thread
//! runtime, two are the multi-thread runtime; both have I/O and time enabled, as
//! `#[tokio::main]` has. The workload itself is a spawned task, since the future given to
//! `block_on` is not one and would be woken by other means.
//!
//! An mpsc channel has one receiver, so the tasks of W6 and W8, which all wait for the same
//! thing, wait on a watch channel. Variant "oneshot" of W5 sends the sums through channels
//! instead of joining; that of W6 gives every task a channel of its own.

use std::future::Future;
use std::hint::spin_loop;
use std::pin::Pin;
use std::process::exit;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::Mutex;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{yield_now, JoinHandle, JoinSet};
use tokio::time::{sleep, Sleep};

const SKYNET_LEAVES: u64 = 1_000_000;
const SKYNET_SUM: u64 = SKYNET_LEAVES * (SKYNET_LEAVES - 1) / 2;

/// As `std::future::poll_fn`, which Debian's compiler does not have.
struct PollFn<F>(F);

impl<F: FnMut(&mut Context<'_>) -> Poll<()> + Unpin> Future for PollFn<F> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        (self.0)(cx)
    }
}

fn ns_since(start: Instant) -> f64 {
    start.elapsed().as_nanos() as f64
}

/// Linux on x86-64 and aarch64 as Debian builds it has pages of 4 KiB.
fn resident_bytes() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split_whitespace().nth(1).unwrap().parse().unwrap();
    pages * 4096.0
}

async fn spawn_join() -> f64 {
    const TOTAL: usize = 1_000_000;
    const LIVE: usize = 10_000;
    let mut tasks: Vec<JoinHandle<()>> = Vec::with_capacity(LIVE);
    let start = Instant::now();
    for _ in 0..TOTAL / LIVE {
        for _ in 0..LIVE {
            tasks.push(tokio::spawn(async {}));
        }
        for task in tasks.drain(..) {
            task.await.unwrap();
        }
    }
    ns_since(start) / TOTAL as f64
}

async fn yield_pair() -> f64 {
    const SWITCHES: usize = 10_000_000;
    async fn body() {
        for _ in 0..SWITCHES / 2 {
            yield_now().await;
        }
    }
    let start = Instant::now();
    let (a, b) = (tokio::spawn(body()), tokio::spawn(body()));
    a.await.unwrap();
    b.await.unwrap();
    ns_since(start) / SWITCHES as f64
}

async fn ping_pong() -> f64 {
    const TRIPS: u64 = 1_000_000;
    let (there_tx, mut there_rx) = mpsc::channel::<u64>(1);
    let (back_tx, mut back_rx) = mpsc::channel::<u64>(1);
    let start = Instant::now();
    let echo = tokio::spawn(async move {
        for _ in 0..TRIPS {
            back_tx.send(there_rx.recv().await.unwrap()).await.unwrap();
        }
    });
    let caller = tokio::spawn(async move {
        for i in 0..TRIPS {
            there_tx.send(i).await.unwrap();
            assert_eq!(back_rx.recv().await, Some(i));
        }
    });
    echo.await.unwrap();
    caller.await.unwrap();
    ns_since(start) / TRIPS as f64
}

async fn many_to_one() -> f64 {
    const PRODUCERS: u64 = 4;
    const EACH: u64 = 1_000_000;
    let (tx, mut rx) = mpsc::channel::<u64>(1024);
    let start = Instant::now();
    for _ in 0..PRODUCERS {
        let tx = tx.clone();
        tokio::spawn(async move {
            for i in 0..EACH {
                tx.send(i).await.unwrap();
            }
        });
    }
    drop(tx);
    let mut sum = 0;
    while let Some(v) = rx.recv().await {
        sum += v;
    }
    let spent_ns = ns_since(start);
    assert_eq!(sum, PRODUCERS * (EACH * (EACH - 1) / 2));
    (PRODUCERS * EACH) as f64 / spent_ns * 1e3
}

fn skynet(first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            return first;
        }
        let share = leaves / 10;
        let children: [JoinHandle<u64>; 10] =
            std::array::from_fn(|i| tokio::spawn(skynet(first + i as u64 * share, share)));
        let mut sum = 0;
        for child in children {
            sum += child.await.unwrap();
        }
        sum
    })
}

fn skynet_oneshot(
    sum_tx: oneshot::Sender<u64>,
    first: u64,
    leaves: u64,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            sum_tx.send(first).unwrap();
            return;
        }
        let share = leaves / 10;
        let parts: [oneshot::Receiver<u64>; 10] = std::array::from_fn(|i| {
            let (part_tx, part_rx) = oneshot::channel();
            tokio::spawn(skynet_oneshot(part_tx, first + i as u64 * share, share));
            part_rx
        });
        let mut sum = 0;
        for part in parts {
            sum += part.await.unwrap();
        }
        sum_tx.send(sum).unwrap();
    })
}

async fn skynet_time(by_channel: bool) -> f64 {
    let start = Instant::now();
    let sum = if by_channel {
        let (tx, rx) = oneshot::channel();
        tokio::spawn(skynet_oneshot(tx, 0, SKYNET_LEAVES));
        rx.await.unwrap()
    } else {
        tokio::spawn(skynet(0, SKYNET_LEAVES)).await.unwrap()
    };
    let spent_ns = ns_since(start);
    assert_eq!(sum, SKYNET_SUM);
    spent_ns / 1e6
}

async fn parked_bytes(own_channel: bool) -> f64 {
    const TASKS: usize = 1_000_000;
    let (_never, shared) = watch::channel(0u64);
    let mut senders: Vec<oneshot::Sender<u64>> = Vec::new();
    if own_channel {
        senders.reserve_exact(TASKS);
    }
    let before = resident_bytes();
    for _ in 0..TASKS {
        if own_channel {
            let (tx, rx) = oneshot::channel();
            senders.push(tx);
            tokio::spawn(async move { rx.await.is_ok() });
        } else {
            let mut rx = shared.clone();
            tokio::spawn(async move { rx.changed().await.is_ok() });
        }
    }
    sleep(Duration::from_millis(300)).await;
    (resident_bytes() - before) / TASKS as f64
}

/// The deadline of timer `i`: spread over 1 to 60 seconds, in no order.
fn deadline(i: usize) -> Duration {
    Duration::from_micros(1_000_000 + (i * 7919 % 1_000_000) as u64 * 59)
}

/// A `Sleep` is registered by its first poll and cancelled by its drop.
async fn timers_cancelled() -> f64 {
    const COUNT: usize = 1_000_000;
    let mut timers: Vec<Pin<Box<Sleep>>> = Vec::with_capacity(COUNT);
    let start = Instant::now();
    PollFn(|cx: &mut Context<'_>| {
        for i in 0..COUNT {
            let mut timer = Box::pin(sleep(deadline(i)));
            assert!(timer.as_mut().poll(cx).is_pending());
            timers.push(timer);
        }
        Poll::Ready(())
    })
    .await;
    drop(timers);
    ns_since(start) / COUNT as f64
}

async fn sleepers() -> f64 {
    const TASKS: usize = 100_000;
    let mut tasks = Vec::with_capacity(TASKS);
    let start = Instant::now();
    for i in 0..TASKS {
        let nap = Duration::from_millis(1 + (i * 7919 % 1000) as u64);
        tasks.push(tokio::spawn(sleep(nap)));
    }
    for task in tasks {
        task.await.unwrap();
    }
    ns_since(start) / 1e6 - 1000.0
}

async fn cancel_storm() -> f64 {
    const TASKS: usize = 100_000;
    let (_never, shared) = watch::channel(0u64);
    let mut scope = JoinSet::new();
    for _ in 0..TASKS {
        let mut rx = shared.clone();
        scope.spawn(async move { rx.changed().await.is_ok() });
    }
    sleep(Duration::from_millis(200)).await;
    let start = Instant::now();
    scope.abort_all();
    let mut cancelled = 0;
    while let Some(end) = scope.join_next().await {
        cancelled += end.is_err() as usize;
    }
    let spent_ns = ns_since(start);
    assert_eq!(cancelled, TASKS);
    spent_ns / 1e6
}

/// Jobs that share nothing, one for each worker.
const OPERATIONS: usize = 600_000;
/// Tasks of one job at a time.
const LIVE: usize = 1000;
/// Tasks of a set that is awaited.
const CHILDREN: usize = 10;
const STEPS_PER_200_NS: u64 = 120;

static BEGUN: AtomicUsize = AtomicUsize::new(0);
static STARTED: AtomicBool = AtomicBool::new(false);
static START: Mutex<Option<Instant>> = Mutex::new(None);

/// The last job to begin starts the clock; the others keep their workers meanwhile.
fn begin_together(jobs: usize) {
    if BEGUN.fetch_add(1, SeqCst) + 1 == jobs {
        *START.lock().unwrap() = Some(Instant::now());
        STARTED.store(true, SeqCst);
    }
    while !STARTED.load(SeqCst) {
        spin_loop();
    }
}

fn compute(steps: u64) -> u64 {
    // Volatile: the compiler is not to know how many.
    let steps = unsafe { std::ptr::read_volatile(&steps) };
    let mut x = steps;
    for _ in 0..steps {
        x = (x ^ (x >> 33)).wrapping_mul(0xff51afd7ed558ccd);
    }
    let mut kept = 0; // or nothing would be computed: nobody looks at the value
    unsafe { std::ptr::write_volatile(&mut kept, x) };
    kept
}

async fn apart<F, J>(jobs: usize, job: F) -> f64
where
    F: Fn(usize) -> J + Send + Sync + Copy + 'static,
    J: Future<Output = ()> + Send + 'static,
{
    let all: Vec<_> = (0..jobs)
        .map(|_| {
            tokio::spawn(async move {
                begin_together(jobs);
                job(OPERATIONS / jobs).await
            })
        })
        .collect();
    for one in all {
        one.await.unwrap();
    }
    let start = START.lock().unwrap().unwrap();
    ns_since(start) / OPERATIONS as f64
}

async fn groups<F, T>(operations: usize, size: usize, body: F)
where
    F: Fn() -> T,
    T: Future + Send + 'static,
    T::Output: Send + 'static,
{
    let mut tasks = Vec::with_capacity(size);
    for _ in 0..operations / size {
        for _ in 0..size {
            tasks.push(tokio::spawn(body()));
        }
        for task in tasks.drain(..) {
            task.await.unwrap();
        }
    }
}

async fn play_ball(operations: usize) {
    let (there_tx, mut there_rx) = mpsc::channel::<u64>(1);
    let (back_tx, mut back_rx) = mpsc::channel::<u64>(1);
    let echo = tokio::spawn(async move {
        for _ in 0..operations {
            back_tx.send(there_rx.recv().await.unwrap()).await.unwrap();
        }
    });
    let caller = tokio::spawn(async move {
        for _ in 0..operations {
            there_tx.send(0).await.unwrap();
            back_rx.recv().await.unwrap();
        }
    });
    echo.await.unwrap();
    caller.await.unwrap();
}

/// A `Sleep` is registered by its first poll and cancelled by its drop.
async fn set_and_stop(operations: usize) {
    for _ in 0..operations {
        let mut timer = Box::pin(sleep(Duration::from_secs(10)));
        PollFn(|cx: &mut Context<'_>| {
            assert!(timer.as_mut().poll(cx).is_pending());
            Poll::Ready(())
        })
        .await;
    }
}

async fn run_apart(what: &str, jobs: usize) -> f64 {
    const NAP: Duration = Duration::from_micros(1);
    match what {
        "w10-spawn-" => apart(jobs, |n| groups(n, LIVE, || async {})).await,
        "w10-close-" => apart(jobs, |n| groups(n, CHILDREN, || async {})).await,
        "w10-sleep-" => apart(jobs, |n| groups(n, LIVE, || sleep(NAP))).await,
        "w10-ping-pong-" => apart(jobs, play_ball).await,
        "w10-timers-" => apart(jobs, set_and_stop).await,
        "w10-compute-200-" => {
            apart(jobs, |n| groups(n, LIVE, || async { compute(STEPS_PER_200_NS) })).await
        }
        "w10-compute-1000-" => {
            apart(jobs, |n| groups(n, LIVE, || async { compute(5 * STEPS_PER_200_NS) })).await
        }
        _ => exit(3),
    }
}

async fn run(what: String, workers: usize) -> f64 {
    match what.as_str() {
        "w1-" => spawn_join().await,
        "w2-" => yield_pair().await,
        "w3-" => ping_pong().await,
        "w4-" => many_to_one().await,
        "w5-" => skynet_time(false).await,
        "w5oneshot" => skynet_time(true).await,
        "w6-" => parked_bytes(false).await,
        "w6oneshot" => parked_bytes(true).await,
        "w7a-" => timers_cancelled().await,
        "w7b-" => sleepers().await,
        "w8-" => cancel_storm().await,
        _ => run_apart(&what, workers).await,
    }
}

fn runtime(workers: usize) -> Runtime {
    if workers == 1 {
        Builder::new_current_thread().enable_all().build().unwrap()
    } else {
        Builder::new_multi_thread()
            .worker_threads(workers)
            .enable_all()
            .build()
            .unwrap()
    }
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    assert_eq!(
        args.len(),
        4,
        "usage: bench <workload> <variant or -> <workers>"
    );
    let workers = args[3].parse().expect("workers is a count");
    let workload = run(format!("{}{}", args[1], args[2]), workers);
    let rt = runtime(workers);
    let result = rt.block_on(async { tokio::spawn(workload).await.unwrap() });
    println!("RESULT {result:.3}");
    exit(0); // parked tasks are left behind
}
