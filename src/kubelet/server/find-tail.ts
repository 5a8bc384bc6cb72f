import { parseLogLine } from './log-line.ts'

/** Reads up to `length` bytes at an offset; fewer only at the end of the file. */
export type ReadRange = (offset: number, length: number) => Promise<Uint8Array>

export interface LogFile {
  readonly read: ReadRange
  readonly sizeBytes: number
}

/**
 * Offset of the last lines, searched from the end with as few reads as possible. Partial lines of one log
 * line count as one, and so does an unterminated line.
 */
export async function findTail(file: LogFile, lines: number): Promise<number> {
  if (lines <= 0) return file.sizeBytes
  let found = 0
  /** Offset of the part seen last: it starts the line unless the part before it is partial. */
  let candidate: number | undefined
  for await (const { offset, bytes } of linesBackwards(file)) {
    if (candidate !== undefined && !isPartial(bytes) && ++found === lines) return candidate
    candidate = offset
  }
  return 0
}

const blockBytes = 64 * 1024

/** Runtimes write no longer lines; such a line may count as several. */
const lineBytesMax = 1024 * 1024

const newline = 0x0a

interface FoundLine {
  readonly offset: number
  /** Without the newline. */
  readonly bytes: Uint8Array
}

/** Last line first. */
async function* linesBackwards({ read, sizeBytes }: LogFile): AsyncGenerator<FoundLine, void, undefined> {
  /** End of a line that starts in an earlier block. */
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
