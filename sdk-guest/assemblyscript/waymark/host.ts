// What the host offers beside what @extism/as-pdk declares.
import { Memory } from "@extism/as-pdk";
import { error_set, length } from "@extism/as-pdk/lib/env";

// @ts-ignore: decorator
@external("extism:host/user", "fs_read")
export declare function fs_read(path: u64, offset: u64, length: u64): u64;
// @ts-ignore: decorator
@external("extism:host/user", "fs_list")
export declare function fs_list(path: u64): u64;
// @ts-ignore: decorator
@external("extism:host/user", "fs_stat")
export declare function fs_stat(path: u64): u64;
// @ts-ignore: decorator
@external("extism:host/user", "front_matter")
export declare function front_matter(block: u64, lenient: u64): u64;
// @ts-ignore: decorator
@external("extism:host/env", "error_get")
export declare function error_get(): u64;

// bytesOf returns what a block holds; 0 is no block.
export function bytesOf(handle: u64): Uint8Array {
  const size = handle == 0 ? 0 : length(handle);
  return size == 0 ? new Uint8Array(0) : new Memory(handle, size).toUint8Array();
}

// blockOf puts bytes into a new block. The kernel has no empty ones.
export function blockOf(data: Uint8Array): Memory {
  const block = Memory.allocate(data.length);
  block.store(data);
  return block;
}

// setError makes a text the call's error; an empty one clears it.
export function setError(data: Uint8Array): void {
  error_set(data.length == 0 ? 0 : blockOf(data).offset);
}
