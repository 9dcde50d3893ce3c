// What AssemblyScript calls when an assertion fails, an index is out of range
// or something is thrown. Its own would be an import that no host has; this one
// writes the reason to standard error, which the host keeps for runs that end
// in a trap, and ends the run.
import { encodeUTF8 } from "./text";

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "fd_write")
declare function fd_write(fd: i32, parts: usize, count: i32, written: usize): i32;

const STDERR: i32 = 2;

export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = message === null ? "aborted" : message;
  const where = file === null ? "" : " (" + file + ":" + line.toString() + ":" + column.toString() + ")";
  const data = encodeUTF8("panic: " + text + where + "\n");
  const part = new StaticArray<usize>(3); // the text's address and length, and where the count goes
  part[0] = data.dataStart;
  part[1] = data.length;
  const at = changetype<usize>(part);
  fd_write(STDERR, at, 1, at + 2 * sizeof<usize>());
  unreachable();
}
