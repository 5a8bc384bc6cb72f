/**
 * Versions in a file, one frame per append: length, checksum, content. A torn frame fails its checksum; it
 * and everything after it were never acknowledged and are truncated on open.
 */
import { crc32 } from 'node:zlib'
import type { AppendFile, Files } from '#/platform/platform.ts'
import type { Journal } from './local/journal.ts'
import type { Version } from './local/version.ts'

export interface OpenedJournal {
  readonly journal: FileJournal
  readonly versions: readonly Version[]
  readonly compacted: number
}

export class FileJournal implements Journal {
  readonly #file: AppendFile

  private constructor(file: AppendFile) {
    this.#file = file
  }

  static async open(files: Files, path: string): Promise<OpenedJournal> {
    const content = (await files.stat(path)) ? await files.read(path) : new Uint8Array()
    const { records, goodBytes } = readFrames(content)
    if (goodBytes < content.length) await files.truncate(path, goodBytes)
    const file = await files.openAppend(path, { mode: 0o600 })
    const versions = records.flatMap(record => record.versions.map(fromRecord))
    const compacted = records.reduce((highest, record) => Math.max(highest, record.compacted), 0)
    return { journal: new FileJournal(file), versions, compacted }
  }

  async append(versions: readonly Version[]): Promise<void> {
    await this.#write({ compacted: 0, versions: versions.map(toRecord) })
  }

  readValue(revision: number): Uint8Array {
    throw new Error(`revision ${revision} is kept in memory`)
  }

  /** The versions stay in the file and are removed again when it is loaded. */
  async prune(compacted: number): Promise<void> {
    await this.#write({ compacted, versions: [] })
  }

  async close(): Promise<void> {
    await this.#file[Symbol.asyncDispose]()
  }

  async #write(record: FrameRecord): Promise<void> {
    const content = Buffer.from(JSON.stringify(record))
    const frame = Buffer.alloc(frameHeaderBytes + content.length)
    frame.writeUInt32LE(content.length, 0)
    frame.writeUInt32LE(crc32(content), 4)
    content.copy(frame, frameHeaderBytes)
    await this.#file.append(frame)
    await this.#file.sync()
  }
}

const frameHeaderBytes = 8

interface FrameRecord {
  readonly compacted: number
  readonly versions: readonly VersionRecord[]
}

/** Key, revision, createRevision, expiry, value in base64. */
type VersionRecord = readonly [string, number, number, number, string | null]

function readFrames(content: Uint8Array): { records: FrameRecord[]; goodBytes: number } {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  const records: FrameRecord[] = []
  let goodBytes = 0
  while (goodBytes + frameHeaderBytes <= bytes.length) {
    const length = bytes.readUInt32LE(goodBytes)
    const end = goodBytes + frameHeaderBytes + length
    // No frame is empty: a zero length is a disk block that was allocated but not written.
    if (length === 0 || end > bytes.length) break
    const frame = bytes.subarray(goodBytes + frameHeaderBytes, end)
    if (crc32(frame) !== bytes.readUInt32LE(goodBytes + 4)) break
    records.push(JSON.parse(frame.toString()) as FrameRecord)
    goodBytes = end
  }
  return { records, goodBytes }
}

function toRecord(version: Version): VersionRecord {
  const value = version.value === undefined ? null : Buffer.from(version.value).toString('base64')
  return [version.key, version.revision, version.createRevision, version.expiresMs, value]
}

function fromRecord([key, revision, createRevision, expiresMs, value]: VersionRecord): Version {
  const bytes = value === null ? undefined : Buffer.from(value, 'base64')
  return { key, revision, createRevision, value: bytes, expiresMs, older: undefined }
}
