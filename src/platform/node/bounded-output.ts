import { copyFileSync, fstatSync, ftruncateSync } from 'node:fs'

/** By which a process that runs in the background learns the path of the file that its output is appended to. */
export const outputFileVariable = 'K8TS_OUTPUT_FILE'

/**
 * For a process whose output is appended to a file: called after each line of the log, it keeps the file bounded. A
 * full file is copied to the older one, in place of the one before, and emptied. The descriptor stays the same, so
 * that whatever writes to it (a crash of Node too) ends up in the file, and every line is in one of the two files at
 * any moment, also if the process is killed in between. Undefined when the output goes elsewhere.
 */
export function outputBound(
  path = process.env[outputFileVariable],
  descriptor: number = process.stderr.fd,
): (() => void) | undefined {
  if (path === undefined || !fstatSync(descriptor).isFile()) return undefined
  return () => {
    if (fstatSync(descriptor).size <= sizeBytesMax) return
    try {
      copyFileSync(path, `${path}.old`)
    } catch {
      // A full disk: what the log has said so far is lost, and what it says from now on has room.
    }
    ftruncateSync(descriptor)
  }
}

/** Of each of the two files. */
const sizeBytesMax = 4 * 1_024 * 1_024
