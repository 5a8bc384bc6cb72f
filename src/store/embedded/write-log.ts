/** Writes the files of a store that is not in use: by a migration, a restore or a repair. */
import { join } from 'node:path'
import type { Clock, Files } from '#/platform/platform.ts'
import type { StoredEntry } from '../content.ts'
import { recordSize, type FrameRecord } from './frame.ts'
import { encodeMark, markFile } from './mark.ts'
import { firstChain, segmentName } from './segment-header.ts'
import { SegmentWriter, type WrittenSegment } from './segment-writer.ts'

export interface WriteLogOptions {
  readonly files: Files
  readonly clock: Clock
  /** Has no segments. */
  readonly folder: string
  readonly marks: readonly string[]
  readonly storeId: string
  readonly segmentBytesMax: number
  /** Versions are with their values, ordered by revision. */
  readonly records: Iterable<FrameRecord> | AsyncIterable<FrameRecord>
  /** The revision of the store. */
  readonly revision: () => number
}

/** The marks are written last: before that the store is not complete. */
export async function writeLog(options: WriteLogOptions): Promise<void> {
  const { files, clock, folder, marks, storeId, segmentBytesMax, records } = options
  let number = 1
  let previous = firstChain(storeId)
  let endBytes = 0
  let writer: SegmentWriter | undefined
  const finish = async (): Promise<void> => {
    if (writer === undefined) return
    const written: WrittenSegment = await writer.finish()
    await writer[Symbol.asyncDispose]()
    writer = undefined
    previous = written.header.rewritten!.end
    endBytes = written.endBytes
    number++
  }
  let bytes = 0
  try {
    for await (const record of records) {
      if (bytes >= segmentBytesMax) {
        await finish()
        bytes = 0
      }
      const header = { format: 2, storeId, first: number, last: number, previous } as const
      writer ??= await SegmentWriter.open({ files, clock, path: join(folder, segmentName(header)), header })
      bytes += recordSize(record)
      await writer.add(record)
    }
    await finish()
  } finally {
    await writer?.[Symbol.asyncDispose]()
  }
  const mark = {
    storeId,
    revision: options.revision(),
    segment: number - 1,
    positionBytes: endBytes,
    chain: previous,
  }
  for (const path of marks) await files.write(path, markFile(encodeMark(mark)), { mode: 0o600 })
}

/** The record of an object that exists. */
export function toPutRecord({ key, value, revision, createRevision, expiresMs }: StoredEntry): FrameRecord {
  const place = { note: undefined, older: undefined, location: 0, sizeBytes: 0 }
  const version = { key, value, revision, createRevision, expiresMs, isDeletion: false, ...place }
  return { type: 'put', version }
}

export const defaultSegmentBytesMax = 8 * 1024 * 1024
