/**
 * A snapshot as one file: a segment that contains the revision and the existing objects. Its header has the chain of
 * its last frame, so any change of the file is recognized. It is read frame by frame.
 */
import type { Clock, Files, ReadFile } from '#/platform/platform.ts'
import type { StoreContent, StoredEntry } from '../content.ts'
import { SnapshotDamagedError } from './damage.ts'
import { chainOf, frameAt, frameHeaderBytes, frameSize, recordsOf, valueIn, type Frame } from './frame.ts'
import { decodeHeader, firstChain, formatVersion, headerBytes, type SegmentHeader } from './segment-header.ts'
import { SegmentWriter } from './segment-writer.ts'
import { toPutRecord } from './write-log.ts'

export interface WriteSnapshotOptions {
  readonly files: Files
  readonly clock: Clock
  readonly path: string
  readonly storeId: string
  readonly revision: number
  readonly entries: AsyncIterable<StoredEntry>
}

/** Rejects when the file exists. An interrupted write leaves no file with this name. */
export async function writeSnapshotFile(options: WriteSnapshotOptions): Promise<void> {
  const { files, clock, path, storeId, revision, entries } = options
  if (await files.stat(path)) throw new Error(`${path} exists already: choose another name, or remove it`)
  const header = {
    format: 2,
    storeId,
    first: 1,
    last: 1,
    previous: firstChain(storeId),
    savedMs: clock.now(),
  } as const
  await using writer = await SegmentWriter.open({ files, clock, path, header })
  await writer.add({ type: 'compact', revision })
  for await (const entry of entries) await writer.add(toPutRecord(entry))
  await writer.finish()
}

export class SnapshotFile implements StoreContent {
  readonly storeId: string
  readonly revision: number
  readonly savedMs: number
  readonly sizeBytes: number
  readonly #path: string
  readonly #header: SegmentHeader
  readonly #reader: ReadFile

  private constructor(
    path: string,
    {
      header,
      reader,
      ...content
    }: Pick<SnapshotFile, 'revision' | 'savedMs' | 'sizeBytes'> & {
      readonly header: SegmentHeader
      readonly reader: ReadFile
    },
  ) {
    this.storeId = header.storeId
    this.revision = content.revision
    this.savedMs = content.savedMs
    this.sizeBytes = content.sizeBytes
    this.#path = path
    this.#header = header
    this.#reader = reader
  }

  /** Reads the beginning only. Rejects with SnapshotDamagedError when it is damaged. */
  static async open(files: Files, path: string): Promise<SnapshotFile> {
    const sizeBytes = (await files.stat(path))?.sizeBytes ?? 0
    await using resources = new AsyncDisposableStack()
    const reader = resources.use(await files.openRead(path))
    const header = decodeHeader(reader.read(0, headerBytes))
    if (header === undefined)
      throw new SnapshotDamagedError(path, 'it is not a snapshot, or its header is damaged')
    if ('newer' in header) {
      throw new Error(
        `${path} has format ${header.newer}, and this version of k8ts reads format ${formatVersion}: ` +
          'use the version of k8ts that wrote it',
      )
    }
    const { savedMs } = header
    if (savedMs === undefined)
      throw new Error(`${path} is a segment of a store, not a snapshot: see k8ts snapshot save --help`)
    const first = readFrame(reader, headerBytes, sizeBytes)
    const [only] = first ? recordsOf(first) : []
    if (only?.record.type !== 'compact')
      throw new SnapshotDamagedError(path, 'the log is damaged', headerBytes)
    const { revision } = only.record
    resources.move()
    return new SnapshotFile(path, { header, reader, revision, savedMs, sizeBytes })
  }

  async *entries(): AsyncGenerator<StoredEntry, void, undefined> {
    let position = headerBytes
    let chain = this.#header.previous
    while (position < this.sizeBytes) {
      const frame = readFrame(this.#reader, position, this.sizeBytes)
      if (frame === undefined || Buffer.compare(frame.previous, chain) !== 0)
        throw new SnapshotDamagedError(this.#path, 'the log is damaged', position)
      for (const located of recordsOf(frame)) {
        if (located.record.type !== 'put') continue
        const { key, revision, createRevision, expiresMs } = located.record.version
        const value = valueIn(
          frame.bytes.subarray(located.position, located.position + located.sizeBytes),
          revision,
        )
        if (value === undefined)
          throw new SnapshotDamagedError(this.#path, `the value of ${key} is damaged`, position)
        yield { key, value, revision, createRevision, expiresMs }
      }
      chain = chainOf(frame.bytes)
      position += frame.bytes.length
    }
    if (Buffer.compare(chain, this.#header.rewritten?.content ?? Buffer.of()) !== 0)
      throw new SnapshotDamagedError(this.#path, 'the end of the file is missing', position)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#reader[Symbol.asyncDispose]()
  }
}

function readFrame(reader: ReadFile, position: number, fileBytes: number): Frame | undefined {
  const size = frameSize(toBuffer(reader.read(position, frameHeaderBytes)))
  if (size === undefined || position + size > fileBytes) return undefined
  return frameAt(toBuffer(reader.read(position, size)), 0)
}

function toBuffer({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}
