/** Where segments are kept. Numbers of segments ascend and are never used again. */
import type { ReadFile } from '#/platform/platform.ts'

export interface SegmentStorage extends AsyncDisposable {
  list(): Promise<StoredSegments>
  /** The content of a journal. */
  readJournal(number: number): Promise<Uint8Array>
  /**
   * Continues a journal at a size, behind which everything is cut off, or creates it. There is one at a time:
   * another one that was open is closed.
   */
  openJournal(number: number, sizeBytes: number): Promise<void>
  /** Not durable. After an error the journal must be opened again. */
  appendToJournal(bytes: Uint8Array): Promise<void>
  removeJournal(number: number): Promise<void>
  /** Durable when resolved. */
  writeSegment(number: number, content: Uint8Array): Promise<void>
  openSegment(number: number): Promise<ReadFile>
  removeSegment(number: number): Promise<void>
}

export interface StoredSegments {
  /** Ascending. */
  readonly segments: readonly { readonly number: number; readonly sizeBytes: number }[]
  /** Ascending. */
  readonly journals: readonly number[]
}

/** There is no journal in memory, since the open segment has all records. */
export function memoryStorage(): SegmentStorage {
  const segments = new Map<number, Uint8Array>()
  return {
    list: async () => ({ segments: [], journals: [] }),
    readJournal: async () => new Uint8Array(),
    openJournal: async () => {},
    appendToJournal: async () => {},
    removeJournal: async () => {},
    writeSegment: async (number, content) => void segments.set(number, content),
    openSegment: async number => openContent(segments.get(number)),
    removeSegment: async number => void segments.delete(number),
    [Symbol.asyncDispose]: async () => segments.clear(),
  }
}

function openContent(content: Uint8Array | undefined): ReadFile {
  if (content === undefined) throw new Error('the segment has been removed')
  return {
    read: (positionBytes, lengthBytes) => content.subarray(positionBytes, positionBytes + lengthBytes),
    [Symbol.asyncDispose]: async () => {},
  }
}
