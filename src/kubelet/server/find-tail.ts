import { parseLogLine } from './log-line.ts'

/** Reads so many bytes of a file from an offset; fewer only at its end. */
export type ReadRange = (offset: number, length: number) => Promise<Uint8Array>

export interface LogFile {
  readonly read: ReadRange
  readonly sizeBytes: number
}

/**
 * Where in a file its last lines begin, read from its end, no more than is needed. A line that was written in parts is
 * one; one that has no end yet is one too.
 */
export async function findTail(file: LogFile, lines: number): Promise<number> {
  if (lines <= 0) return file.sizeBytes
  let found = 0
  /** The part of a line that was looked at last: it begins the line unless the one before it goes on here. */
  let candidate: number | undefined
  for await (const { offset, bytes } of linesBackwards(file)) {
    if (candidate !== undefined && !isPartial(bytes) && ++found === lines) return candidate
    candidate = offset
  }
  return 0
}

const blockBytes = 64 * 1024

/** A line that is longer is taken for several: runtimes write none. */
const lineBytesMax = 1024 * 1024

const newline = 0x0a

interface FoundLine {
  readonly offset: number
  /** Without its line break. */
  readonly bytes: Uint8Array
}

/** From the last line to the first. */
async function* linesBackwards({ read, sizeBytes }: LogFile): AsyncGenerator<FoundLine, void, undefined> {
  /** The end of a line that begins in an earlier block. */
  let carry: Uint8Array = new Uint8Array()
  for (let end = sizeBytes; end > 0;) {
    const start = Math.max(0, end - blockBytes)
    const block = Buffer.concat([await read(start, end - start), carry])
    const isLastLineWhole = end === sizeBytes && block.at(-1) === newline
    let lineEnd = isLastLineWhole ? block.length - 1 : block.length
    for (;;) {
      const at = lineEnd === 0 ? -1 : block.lastIndexOf(newline, lineEnd - 1)
      if (at < 0) break
      yield { offset: start + at + 1, bytes: block.subarray(at + 1, lineEnd) }
      lineEnd = at
    }
    carry = lineEnd > lineBytesMax ? new Uint8Array() : block.subarray(0, lineEnd)
    end = start
  }
  if (sizeBytes > 0) yield { offset: 0, bytes: carry }
}

function isPartial(line: Uint8Array): boolean {
  return parseLogLine(line)?.isPartial ?? false
}
