/** Open files of one life, and its file writer. */
import type { AppendFile, FileStep, FileWriter, ReadFile } from '../platform.ts'
import type { Folder } from './disk.ts'
import type { File } from './file.ts'
import type { Life } from './life.ts'
import { never, systemError } from './world.ts'

/** A file and the name under which it was opened. */
export interface OpenedFile {
  readonly path: string
  readonly file: File
  readonly folder: Folder
  readonly name: string
  readonly isCreated: boolean
}

/** Appends in call order; after a failure every call fails with the same error, as on a real platform. */
export class SimulatedAppendFile implements AppendFile {
  readonly #life: Life
  readonly #actions: Pick<AppendFile, 'append' | 'sync'>
  /** Settles when all calls so far are done; stays rejected after a failure. */
  #last: Promise<void> = Promise.resolve()

  constructor(life: Life, actions: Pick<AppendFile, 'append' | 'sync'>) {
    this.#life = life
    this.#actions = actions
  }

  append(bytes: Uint8Array): Promise<void> {
    const copy = Uint8Array.from(bytes)
    return this.#after(() => this.#actions.append(copy))
  }

  sync(): Promise<void> {
    return this.#after(() => this.#actions.sync())
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#life.ended) return never()
    const last = this.#last
    this.#last = last.then(() => Promise.reject(systemError('EBADF', 'the file is closed')))
    this.#last.catch(() => undefined)
    await last.catch(() => undefined)
  }

  #after(operation: () => Promise<void>): Promise<void> {
    this.#last = this.#last.then(operation)
    // The caller gets the error; this avoids an unhandled rejection of the chain.
    this.#last.catch(() => undefined)
    return this.#last
  }
}

export class SimulatedReadFile implements ReadFile {
  readonly #read: ReadFile['read']
  #isClosed = false

  constructor(read: ReadFile['read']) {
    this.#read = read
  }

  read(positionBytes: number, lengthBytes: number): Uint8Array {
    if (this.#isClosed) throw systemError('EBADF', 'the file is closed')
    return this.#read(positionBytes, lengthBytes)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
  }
}

export interface WriterActions {
  open(path: string): OpenedFile
  write(opened: OpenedFile, positionBytes: number, bytes: Uint8Array): Promise<void>
  sync(opened: OpenedFile): Promise<void>
}

/** When the life ends, the step in progress may have happened, and the steps after it do not happen. */
export class SimulatedFileWriter implements FileWriter {
  readonly #life: Life
  readonly #actions: WriterActions
  readonly #opened = new Map<string, OpenedFile>()
  /** Resolves when all calls so far are done. */
  #last: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(life: Life, actions: WriterActions) {
    this.#life = life
    this.#actions = actions
  }

  perform(steps: readonly FileStep[]): Promise<void> {
    if (this.#isClosed) return Promise.reject(systemError('EBADF', 'the file writer is closed'))
    const taken = takeBytes(steps)
    const done = this.#last.then(() => this.#executeAll(taken))
    this.#last = done.catch(() => undefined)
    return done
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#life.ended) return never()
    this.#isClosed = true
    await this.#last
    this.#opened.clear()
  }

  async #executeAll(steps: readonly FileStep[]): Promise<void> {
    for (const [index, step] of steps.entries()) {
      try {
        await this.#execute(step)
      } catch (error) {
        throw Object.assign(error as Error, { step: index })
      }
    }
  }

  async #execute(step: FileStep): Promise<void> {
    if (this.#life.ended) return never()
    switch (step.type) {
      case 'write':
        return this.#actions.write(this.#open(step.path), step.positionBytes, step.bytes)
      case 'sync':
        return this.#actions.sync(this.#open(step.path))
      case 'close':
        this.#opened.delete(step.path)
    }
  }

  #open(path: string): OpenedFile {
    const opened = this.#opened.get(path) ?? this.#actions.open(path)
    this.#opened.set(path, opened)
    return opened
  }
}

/** Detaches the buffers that a real file writer moves to its thread, to reveal callers that go on using them. */
function takeBytes(steps: readonly FileStep[]): FileStep[] {
  const moved = new Set<ArrayBuffer>()
  const taken = steps.map(step => {
    if (step.type !== 'write') return step
    if (step.bytes.byteLength === step.bytes.buffer.byteLength) moved.add(step.bytes.buffer)
    return { ...step, bytes: Uint8Array.from(step.bytes) }
  })
  for (const buffer of moved) buffer.transfer()
  return taken
}
