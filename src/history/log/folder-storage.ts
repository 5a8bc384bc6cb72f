/**
 * Segments in a folder: `000000000007.segment` is sealed, `000000000008.journal` is open. Readable only by
 * the owner.
 */
import { join } from 'node:path'
import type { AppendFile, Files } from '#/platform/platform.ts'
import type { SegmentStorage, StoredSegments } from './segment-storage.ts'

export class FolderStorage implements SegmentStorage {
  readonly #files: Files
  readonly #folder: string
  #journal: AppendFile | undefined

  private constructor(files: Files, folder: string) {
    this.#files = files
    this.#folder = folder
  }

  static async open(files: Files, folder: string): Promise<FolderStorage> {
    await files.makeFolder(folder, { mode: 0o700 })
    return new FolderStorage(files, folder)
  }

  async list(): Promise<StoredSegments> {
    const segments: { number: number; sizeBytes: number }[] = []
    const journals: number[] = []
    for (const name of await this.#files.list(this.#folder)) {
      const match = namePattern.exec(name)
      if (match === null) continue
      const number = Number(match[1])
      if (match[2] === 'journal') journals.push(number)
      else
        segments.push({
          number,
          sizeBytes: (await this.#files.stat(this.#path(number, 'segment')))?.sizeBytes ?? 0,
        })
    }
    return { segments, journals }
  }

  readJournal(number: number): Promise<Uint8Array> {
    return this.#files.read(this.#path(number, 'journal'))
  }

  async openJournal(number: number, sizeBytes: number): Promise<void> {
    await this.#closeJournal()
    const path = this.#path(number, 'journal')
    const journal = await this.#files.openAppend(path, { mode: 0o600 })
    try {
      if (((await this.#files.stat(path))?.sizeBytes ?? 0) > sizeBytes)
        await this.#files.truncate(path, sizeBytes)
    } catch (error) {
      await journal[Symbol.asyncDispose]()
      throw error
    }
    this.#journal = journal
  }

  async appendToJournal(bytes: Uint8Array): Promise<void> {
    await this.#journal!.append(bytes)
  }

  async removeJournal(number: number): Promise<void> {
    await this.#files.remove(this.#path(number, 'journal'))
  }

  writeSegment(number: number, content: Uint8Array): Promise<void> {
    return this.#files.write(this.#path(number, 'segment'), content, { mode: 0o600 })
  }

  openSegment(number: number): ReturnType<Files['openRead']> {
    return this.#files.openRead(this.#path(number, 'segment'))
  }

  async removeSegment(number: number): Promise<void> {
    await this.#files.remove(this.#path(number, 'segment'))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#closeJournal()
  }

  async #closeJournal(): Promise<void> {
    const journal = this.#journal
    this.#journal = undefined
    await journal?.[Symbol.asyncDispose]()
  }

  #path(number: number, extension: 'segment' | 'journal'): string {
    return join(this.#folder, `${String(number).padStart(12, '0')}.${extension}`)
  }
}

const namePattern = /^(\d{12})\.(segment|journal)$/
