// Command guest does, when its export is called, what makes Go's runtime enter functions in
// the middle: it recovers from panics, switches between goroutines, grows stacks, collects
// garbage and more. What it prints says how that went.
package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"
)

func main() {}

//go:wasmexport run
func run() {
	for _, part := range []func() string{panics, named, loops, goroutines, deep, garbage, maps, floats, selects, sorts, iterators, exits, wide, functions} {
		fmt.Println(part())
	}
	fmt.Println(reenter())
}

func reenter() (s string) {
	defer func() { s = fmt.Sprint("recovered at the end: ", recover()) }()
	var p *[10]int
	return fmt.Sprint(p[3])
}

func panics() string {
	var out []string
	for _, n := range []int{0, 1, 2, 3, 4, 5} {
		err := func() (err error) {
			defer func() {
				if r := recover(); r != nil {
					err = fmt.Errorf("case %d: %v", n, r)
				}
			}()
			defer func() { out = append(out, fmt.Sprint("deferred ", n)) }()
			return fails(n)
		}()
		out = append(out, fmt.Sprint(err))
	}
	return strings.Join(out, "; ")
}

func fails(n int) error {
	list := []int{1, 2, 3}
	switch n {
	case 0:
		return errors.New("no panic")
	case 1:
		panic("on purpose")
	case 2:
		return fmt.Errorf("%d", list[n+5])
	case 3:
		var m map[string]int
		m["x"] = 1
	case 4:
		var e error
		return errors.New(e.Error())
	case 5:
		return fmt.Errorf("%d", 10/(n-5))
	}
	return nil
}

// named runs more defers than a function has bits for, in a loop, and panics anew.
func named() (s string) {
	defer func() { s += fmt.Sprint(" and ", recover()) }()
	for i := range 20 {
		defer func() {
			s += fmt.Sprint(i)
			if i == 7 {
				panic("again")
			}
		}()
	}
	panic("first")
}

func loops() string {
	n := 0
outer:
	for i := 0; ; i++ {
		for j := range 100 {
			switch {
			case i*j%17 == 16:
				continue outer
			case i > 200:
				break outer
			case j > i:
				goto next
			}
			n += i ^ j
		}
	next:
	}
	return fmt.Sprint("loops ", n)
}

func goroutines() string {
	var wg sync.WaitGroup
	var mu sync.Mutex
	sums := make([]int, 8)
	ch := make(chan int)
	for range sums {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for i := range ch {
				mu.Lock()
				sums[i%len(sums)] += fib(i % 15)
				mu.Unlock()
				runtime.Gosched()
			}
			runtime.Goexit()
		}()
	}
	for i := range 500 {
		ch <- i
	}
	close(ch)
	wg.Wait()
	return fmt.Sprint("goroutines ", sums)
}

func fib(n int) int {
	if n < 2 {
		return n
	}
	return fib(n-1) + fib(n-2)
}

// deep makes a stack grow again and again, with pointers into it.
func deep() string {
	done := make(chan int)
	go func() {
		var v int
		descend(1000, &v)
		done <- v
	}()
	return fmt.Sprint("deep ", <-done)
}

func descend(n int, v *int) {
	var room [100]int
	if n > 0 {
		room[n%100] = n
		descend(n-1, &room[n%7])
		*v += room[n%7]
		if n%100 == 0 {
			runtime.GC() // which makes stacks smaller
		}
	}
	for _, r := range room {
		*v += r % 7
	}
}

type node struct {
	left, right *node
	text        string
}

func tree(n int) *node {
	if n == 0 {
		return nil
	}
	return &node{tree(n - 1), tree(n - 1), strings.Repeat("x", n)}
}

func (n *node) count() int {
	if n == nil {
		return 0
	}
	return n.left.count() + n.right.count() + len(n.text)
}

func garbage() string {
	debug.SetGCPercent(10)
	n, kept := 0, tree(10)
	for range 30 {
		n += tree(10).count()
	}
	runtime.GC()
	return fmt.Sprint("garbage ", n, kept.count())
}

func maps() string {
	m := map[string][]int{}
	for i := range 3000 {
		k := fmt.Sprintf("%x", i*i%701)
		m[k] = append(m[k], i)
		if i%5 == 0 {
			delete(m, fmt.Sprintf("%x", i%97))
		}
	}
	keys := make([]string, 0, len(m))
	sum := 0
	for k, v := range m {
		keys = append(keys, k)
		sum += len(v) * v[0]
	}
	sort.Strings(keys)
	return fmt.Sprint("maps ", len(m), sum, keys[:5])
}

func floats() string {
	x, y := 1.0, float32(3)
	for i := range 100 {
		x = x*1.01 + float64(i)/7
		y -= float32(x) / 1e6
	}
	return fmt.Sprintf("floats %.6f %.4f %d %v", x, y, int64(x), complex(x, 1)*complex(0, 2))
}

func selects() string {
	a, b, quit := make(chan int), make(chan string, 3), make(chan struct{})
	go func() {
		defer close(quit)
		for i := range 10 {
			a <- i
			b <- fmt.Sprint(i)
		}
	}()
	sum, text := 0, 0
	for {
		select {
		case v := <-a:
			sum += v
		case s := <-b:
			text += len(s)
		case <-quit:
			for len(b) > 0 {
				text += len(<-b)
			}
			return fmt.Sprint("selects ", sum, text)
		case <-time.After(time.Minute):
			return "too late"
		}
	}
}

func sorts() string {
	list := make([]node, 300)
	for i := range list {
		list[i].text = fmt.Sprint(i * 7919 % 1009)
	}
	slices.SortFunc(list, func(a, b node) int { return strings.Compare(a.text, b.text) })
	return fmt.Sprint("sorts ", list[0].text, list[150].text, list[299].text)
}

func iterators() (s string) {
	defer func() { s += fmt.Sprint(" ", recover()) }()
	for i := range func(yield func(int) bool) {
		defer func() { s += "left " }()
		for i := range 5 {
			if !yield(i) {
				return
			}
		}
	} {
		defer func() { s += fmt.Sprint(i) }()
		if i == 3 {
			break
		}
	}
	panic("behind the loop")
}

func exits() string {
	_, err := os.ReadFile("/nowhere")
	where := make([]uintptr, 20)
	n := runtime.Callers(0, where)
	frame, _ := runtime.CallersFrames(where[:n]).Next()
	return fmt.Sprint("exits ", err != nil, n > 3, frame.Function)
}

type record struct {
	a, b, c, d int64
	e          [40]byte
	f          *record
	g          any
}

// wide reads and writes through the same pointers, in both orders.
func wide() string {
	r := &record{a: 1, b: 2, c: 3, d: 4}
	r.f = r
	for i := range int64(50) {
		r.f.a, r.f.d = r.f.d+i, r.f.a^i
		r.e[i%40] += byte(r.c)
		if i%3 == 0 {
			r.f = &record{a: r.a, c: i, d: 5, f: r, g: r.b}
			r = r.f
		}
		r.b += r.a
		*r = record{r.d, r.c, r.b, r.a, r.e, r.f, i}
	}
	return fmt.Sprint("wide ", r.a, r.b, r.c, r.d, r.e, r.g)
}

// functions finds every function by its address, at its beginning and a little behind it, and
// says where a call came from.
func functions() string {
	h, n := fnv.New64(), 0
	for pc := uintptr(0x1000 << 16); ; pc += 1 << 16 {
		f := runtime.FuncForPC(pc + 1)
		if f == nil {
			break
		}
		file, line := f.FileLine(f.Entry())
		fmt.Fprintln(h, f.Name(), f.Entry(), file, line, runtime.FuncForPC(pc).Name())
		n++
	}
	_, _, line, ok := runtime.Caller(0)
	return fmt.Sprint("functions ", n > 1000, " ", h.Sum64(), " ", line, ok, strings.Contains(string(debug.Stack()), "main.functions"))
}
