// The workloads on goroutines and channels.
//
//	bench <workload> <variant or -> <workers>      prints: RESULT <value>
//
// Exit status 3 means that Go has nothing of the kind. A goroutine cannot be joined, so a
// WaitGroup counts those that have ended (W1, W7b, W8) and skynet's sums travel by channel.
//
// Variants: W3 "unbuffered" has no slot in the channels; W7a "channel" makes timers that
// would send on a channel instead of calling a function; W8 "select" parks on a receive as
// well as on the context.
//
// W10 has a job for each worker, and no job touches anything of another.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	skynetLeaves = 1000000
	skynetSum    = skynetLeaves * (skynetLeaves - 1) / 2
)

func require(held bool, what string) {
	if !held {
		fmt.Fprintln(os.Stderr, "go:", what)
		os.Exit(1)
	}
}

func nsSince(start time.Time) float64 {
	return float64(time.Since(start).Nanoseconds())
}

func residentBytes() float64 {
	statm, err := os.ReadFile("/proc/self/statm")
	require(err == nil, "no /proc/self/statm")
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	require(err == nil, "odd /proc/self/statm")
	return float64(pages * os.Getpagesize())
}

func spawnJoin() float64 {
	const total, live = 1000000, 10000
	var ended sync.WaitGroup
	start := time.Now()
	for done := 0; done < total; done += live {
		ended.Add(live)
		for i := 0; i < live; i++ {
			go func() { ended.Done() }()
		}
		ended.Wait()
	}
	return nsSince(start) / total
}

func yieldPair() float64 {
	const switches = 10000000
	var ended sync.WaitGroup
	ended.Add(2)
	start := time.Now()
	for task := 0; task < 2; task++ {
		go func() {
			for i := 0; i < switches/2; i++ {
				runtime.Gosched()
			}
			ended.Done()
		}()
	}
	ended.Wait()
	return nsSince(start) / switches
}

func pingPong(capacity int) float64 {
	const trips = 1000000
	there, back := make(chan uint64, capacity), make(chan uint64, capacity)
	var ended sync.WaitGroup
	ended.Add(2)
	start := time.Now()
	go func() {
		for i := 0; i < trips; i++ {
			back <- <-there
		}
		ended.Done()
	}()
	go func() {
		for i := uint64(0); i < trips; i++ {
			there <- i
			require(<-back == i, "wrong echo")
		}
		ended.Done()
	}()
	ended.Wait()
	return nsSince(start) / trips
}

func manyToOne() float64 {
	const producers, each = 4, 1000000
	c := make(chan uint64, 1024)
	start := time.Now()
	for p := 0; p < producers; p++ {
		go func() {
			for i := uint64(0); i < each; i++ {
				c <- i
			}
		}()
	}
	var sum uint64
	for i := 0; i < producers*each; i++ {
		sum += <-c
	}
	spent := nsSince(start)
	require(sum == producers*(each*(each-1)/2), "wrong sum")
	return producers * each / spent * 1e3
}

func skynet(sums chan<- uint64, first, leaves uint64) {
	if leaves == 1 {
		sums <- first
		return
	}
	parts := make(chan uint64, 10)
	share := leaves / 10
	for i := uint64(0); i < 10; i++ {
		go skynet(parts, first+i*share, share)
	}
	var sum uint64
	for i := 0; i < 10; i++ {
		sum += <-parts
	}
	sums <- sum
}

func skynetTime() float64 {
	sums := make(chan uint64)
	start := time.Now()
	go skynet(sums, 0, skynetLeaves)
	sum := <-sums
	spent := nsSince(start)
	require(sum == skynetSum, "wrong sum")
	return spent / 1e6
}

func parkedBytes() float64 {
	const tasks = 1000000
	never := make(chan uint64)
	runtime.GC()
	before := residentBytes()
	for i := 0; i < tasks; i++ {
		go func() { <-never }()
	}
	time.Sleep(300 * time.Millisecond)
	return (residentBytes() - before) / tasks
}

// The deadline of timer i: spread over 1 to 60 seconds, in no order.
func deadline(i int) time.Duration {
	return time.Second + time.Duration(i*7919%1000000)*59*time.Microsecond
}

func timersCancelled(create func(time.Duration) *time.Timer) float64 {
	const count = 1000000
	timers := make([]*time.Timer, count)
	var none time.Timer
	for i := range timers { // the program's own memory is touched before
		timers[i] = &none
	}
	start := time.Now()
	for i := range timers {
		timers[i] = create(deadline(i))
	}
	for _, t := range timers {
		require(t.Stop(), "timer fired")
	}
	return nsSince(start) / count
}

func callTimer(d time.Duration) *time.Timer {
	return time.AfterFunc(d, func() {})
}

func sleepers() float64 {
	const tasks = 100000
	var ended sync.WaitGroup
	ended.Add(tasks)
	start := time.Now()
	for i := 0; i < tasks; i++ {
		nap := time.Duration(1+i*7919%1000) * time.Millisecond
		go func() {
			time.Sleep(nap)
			ended.Done()
		}()
	}
	ended.Wait()
	return nsSince(start)/1e6 - 1000
}

func cancelStorm(withReceive bool) float64 {
	const tasks = 100000
	ctx, cancel := context.WithCancel(context.Background())
	never := make(chan uint64)
	var ended sync.WaitGroup
	ended.Add(tasks)
	park := func() {
		<-ctx.Done()
		ended.Done()
	}
	if withReceive {
		park = func() {
			select {
			case <-ctx.Done():
			case <-never:
			}
			ended.Done()
		}
	}
	for i := 0; i < tasks; i++ {
		go park()
	}
	time.Sleep(200 * time.Millisecond)
	start := time.Now()
	cancel()
	ended.Wait()
	return nsSince(start) / 1e6
}

// ---- jobs that share nothing, one for each worker ----

const (
	operations    = 600000
	live          = 1000 // goroutines of one job at a time
	children      = 10   // of a group that is waited for
	stepsPer200ns = 120
)

func compute(steps uint64) uint64 {
	x := steps
	for i := uint64(0); i < steps; i++ {
		x = (x ^ x>>33) * 0xff51afd7ed558ccd
	}
	return x
}

func apart(jobs int, job func(operations int)) float64 {
	var ended sync.WaitGroup
	var begun int32
	var start time.Time
	var started int32
	ended.Add(jobs)
	for i := 0; i < jobs; i++ {
		go func() {
			if atomic.AddInt32(&begun, 1) == int32(jobs) {
				start = time.Now()
				atomic.StoreInt32(&started, 1)
			}
			for atomic.LoadInt32(&started) == 0 {
			}
			job(operations / jobs)
			ended.Done()
		}()
	}
	ended.Wait()
	return nsSince(start) / operations
}

func groups(operations, size int, body func()) {
	var ended sync.WaitGroup
	for done := 0; done < operations; done += size {
		ended.Add(size)
		for i := 0; i < size; i++ {
			go func() {
				body()
				ended.Done()
			}()
		}
		ended.Wait()
	}
}

func computers(steps uint64) func(int) {
	return func(operations int) {
		values := make([]uint64, live)
		var ended sync.WaitGroup
		for done := 0; done < operations; done += live {
			ended.Add(live)
			for i := 0; i < live; i++ {
				go func(i int) {
					values[i] = compute(steps)
					ended.Done()
				}(i)
			}
			ended.Wait()
		}
	}
}

func playBall(operations int) {
	there, back := make(chan uint64, 1), make(chan uint64, 1)
	var ended sync.WaitGroup
	ended.Add(2)
	go func() {
		for i := 0; i < operations; i++ {
			there <- 0
			<-back
		}
		ended.Done()
	}()
	go func() {
		for i := 0; i < operations; i++ {
			back <- <-there
		}
		ended.Done()
	}()
	ended.Wait()
}

func setAndStop(operations int) {
	for i := 0; i < operations; i++ {
		require(callTimer(10*time.Second).Stop(), "timer fired")
	}
}

var apartJobs = map[string]func(int){
	"w10-spawn-":        func(n int) { groups(n, live, func() {}) },
	"w10-close-":        func(n int) { groups(n, children, func() {}) },
	"w10-sleep-":        func(n int) { groups(n, live, func() { time.Sleep(time.Microsecond) }) },
	"w10-ping-pong-":    playBall,
	"w10-timers-":       setAndStop,
	"w10-compute-200-":  computers(stepsPer200ns),
	"w10-compute-1000-": computers(5 * stepsPer200ns),
}

func run(what string, workers int) float64 {
	if job := apartJobs[what]; job != nil {
		return apart(workers, job)
	}
	switch what {
	case "w1-":
		return spawnJoin()
	case "w2-":
		return yieldPair()
	case "w3-":
		return pingPong(1)
	case "w3unbuffered":
		return pingPong(0)
	case "w4-":
		return manyToOne()
	case "w5-":
		return skynetTime()
	case "w6-":
		return parkedBytes()
	case "w7a-":
		return timersCancelled(callTimer)
	case "w7achannel":
		return timersCancelled(time.NewTimer)
	case "w7b-":
		return sleepers()
	case "w8-":
		return cancelStorm(false)
	case "w8select":
		return cancelStorm(true)
	}
	os.Exit(3)
	return 0
}

func main() {
	require(len(os.Args) == 4, "usage: bench <workload> <variant or -> <workers>")
	workers, err := strconv.Atoi(os.Args[3])
	require(err == nil && workers > 0, "workers is a count")
	runtime.GOMAXPROCS(workers)
	fmt.Printf("RESULT %.3f\n", run(os.Args[1]+os.Args[2], workers))
}
