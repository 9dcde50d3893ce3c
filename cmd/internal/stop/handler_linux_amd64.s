#include "textflag.h"

// These run as the kernel calls a signal handler, on the signal stack, with the
// number, the siginfo and the context in DI, SI and DX, at any moment of the
// process. They use no Go and touch nothing but the variables of the package.

#define SYS_rt_sigaction 13
#define SYS_getpid 39
#define SYS_kill 62
#define SYS_timer_settime 223
#define SYS_clock_gettime 228
#define CLOCK_PROCESS_CPUTIME_ID 2
#define SIGKILL 9
#define SI_TIMER -2

// stopSignal is the handler of the signals that ask the process to end. The first
// arms the timer that kills and goes on to the runtime's handler. A second one
// puts the default action back and sends itself once more: that takes effect as
// soon as the handler returns.
TEXT stopSignal<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVL  $1, AX
	LOCK
	XADDL AX, ·signals(SB)
	TESTL AX, AX
	JNE   again
	PUSHQ DI
	PUSHQ SI
	PUSHQ DX
	MOVL  ·killTimer(SB), DI
	XORL  SI, SI
	LEAQ  ·killSpec(SB), DX
	XORL  R10, R10
	MOVL  $SYS_timer_settime, AX
	SYSCALL
	MOVL  $CLOCK_PROCESS_CPUTIME_ID, DI
	MOVQ  ·words(SB), SI
	ADDQ  $8, SI
	MOVL  $SYS_clock_gettime, AX
	SYSCALL
	POPQ  DX
	POPQ  SI
	POPQ  DI
	MOVQ  ·runtimeHandle(SB), AX
	JMP   AX

again:
	MOVQ  ·words(SB), AX
	MOVL  $3, (AX)
	PUSHQ DI
	LEAQ  ·defaultAction(SB), SI
	XORL  DX, DX
	MOVL  $8, R10
	MOVL  $SYS_rt_sigaction, AX
	SYSCALL
	MOVL  $SYS_getpid, AX
	SYSCALL
	MOVL  AX, DI
	POPQ  SI
	MOVL  $SYS_kill, AX
	SYSCALL
	RET

// expired is the handler of the timers' signal. It records the cause, which is
// the signal's value, and kills; the watchdog's first two signals only count.
TEXT expired<>(SB), NOSPLIT|NOFRAME|TOPFRAME, $0
	MOVL  8(SI), CX
	CMPL  CX, $SI_TIMER
	JNE   kill
	MOVL  24(SI), R8
	CMPL  R8, $1
	JNE   record
	MOVL  $1, AX
	LOCK
	XADDL AX, ·bites(SB)
	CMPL  AX, $2
	JLT   back

record:
	MOVQ  ·words(SB), AX
	MOVL  R8, (AX)
	MOVL  $CLOCK_PROCESS_CPUTIME_ID, DI
	LEAQ  24(AX), SI
	MOVL  $SYS_clock_gettime, AX
	SYSCALL

kill:
	MOVL  $SYS_getpid, AX
	SYSCALL
	MOVL  AX, DI
	MOVL  $SIGKILL, SI
	MOVL  $SYS_kill, AX
	SYSCALL

back:
	RET

// func onStopSignal() uintptr
TEXT ·onStopSignal(SB), NOSPLIT, $0-8
	MOVQ $stopSignal<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET

// func onTimer() uintptr
TEXT ·onTimer(SB), NOSPLIT, $0-8
	MOVQ $expired<>(SB), AX
	MOVQ AX, ret+0(FP)
	RET
