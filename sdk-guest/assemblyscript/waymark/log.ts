// Log lines go to the host's log, up to a number of bytes per run. What a user
// should see belongs into Response.warn.
import { Host, LogLevel } from "@extism/as-pdk";
import { blockOf } from "./host";
import { encodeUTF8 } from "./text";

export { LogLevel as Level };

export function log(level: LogLevel, message: string): void {
  const data = encodeUTF8(message);
  if (data.length > 0) Host.logMemory(level, blockOf(data));
}
