/**
 * Writes a complete segment: the result of rewriting others, a snapshot, or the only segment of a restored store.
 * It gets its name when it is complete and durable, so a crash leaves no half of it.
 */
import type { Clock, Files, FileStep, FileWriter } from '#/platform/platform.ts'
import { encodeFrame, recordSize, type Chain, type FrameRecord } from './frame.ts'
import { encodeHeader, headerBytes, type SegmentHeader } from './segment-header.ts'

export interface SegmentWriterOptions {
  readonly files: Files
  readonly clock: Clock
  readonly path: string
  readonly header: Omit<SegmentHeader, 'rewritten'>
  /** The chain at the end of the segments that this one replaces, if any. */
  readonly end?: Chain
}

export interface WrittenSegment {
  readonly header: SegmentHeader
  readonly endBytes: number
}

export class SegmentWriter implements AsyncDisposable {
  readonly #options: SegmentWriterOptions
  readonly #writer: FileWriter
  #chain: Chain
  #endBytes = headerBytes
  /** The records of the next frame, and their size. */
  #records: FrameRecord[] = []
  #listeners: (((positionBytes: number) => void) | undefined)[] = []
  #bytes = 0
  #unsyncedBytes = 0

  private constructor(options: SegmentWriterOptions, writer: FileWriter) {
    this.#options = options
    this.#writer = writer
    this.#chain = options.header.previous
  }

  static async open(options: SegmentWriterOptions): Promise<SegmentWriter> {
    await options.files.remove(partial(options.path))
    return new SegmentWriter(options, await options.files.openWriter())
  }

  /** The position in the file is reported once the frame of the record is complete. */
  async add(record: FrameRecord, onPosition?: (positionBytes: number) => void): Promise<void> {
    this.#records.push(record)
    this.#listeners.push(onPosition)
    this.#bytes += recordSize(record)
    if (this.#bytes >= frameBytes || this.#records.length >= frameRecords) await this.#flush()
  }

  /** Makes the segment durable and gives it its name. */
  async finish(): Promise<WrittenSegment> {
    await this.#flush()
    const { files, path, end = this.#chain } = this.#options
    const header: SegmentHeader = { ...this.#options.header, rewritten: { end, content: this.#chain } }
    const file = partial(path)
    await this.#writer.perform([
      { type: 'write', path: file, positionBytes: 0, bytes: encodeHeader(header) },
      { type: 'sync', path: file },
      { type: 'close', path: file },
    ])
    await files.rename(file, path)
    return { header, endBytes: this.#endBytes }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer[Symbol.asyncDispose]()
    await this.#options.files.remove(partial(this.#options.path))
  }

  async #flush(): Promise<void> {
    if (this.#records.length === 0) return
    const { bytes, chain, positions } = encodeFrame(this.#records, this.#chain)
    const positionBytes = this.#endBytes
    for (const [index, listener] of this.#listeners.entries()) listener?.(positionBytes + positions[index]!)
    this.#endBytes += bytes.length
    this.#chain = chain
    this.#records = []
    this.#listeners = []
    this.#bytes = 0
    const path = partial(this.#options.path)
    this.#unsyncedBytes += bytes.length
    const isDue = this.#unsyncedBytes >= syncBytes
    if (isDue) this.#unsyncedBytes = 0
    const write: FileStep = { type: 'write', path, positionBytes, bytes }
    await this.#writer.perform(isDue ? [write, { type: 'sync', path }] : [write])
    // Requests are served between two frames.
    await this.#options.clock.turn()
  }
}

function partial(path: string): string {
  return `${path}.partial`
}

/** Synced in small parts, since one large sync would delay the commits of the store. */
const syncBytes = 1024 * 1024

/** Bounds the time for which a frame occupies the event loop. */
const frameBytes = 128 * 1024
const frameRecords = 250
