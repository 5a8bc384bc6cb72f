/** The thread of a `FileWriter`. Requests are executed sequentially, with blocking calls. */
import { closeSync, constants, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { parentPort, receiveMessageOnPort } from 'node:worker_threads'
import type { FileStep } from '../../platform.ts'
import type { FileError, Reply, Request } from './messages.ts'

interface OpenFile {
  readonly descriptor: number
  /** False until a created file's name is durable. */
  isNameSynced: boolean
}

const files = new Map<string, OpenFile>()

function perform(step: FileStep): void {
  switch (step.type) {
    case 'write':
      writeAt(fileAt(step.path).descriptor, step.bytes, step.positionBytes)
      break
    case 'sync':
      syncFile(step.path)
      break
    case 'close':
      closeFile(step.path)
      break
  }
}

function fileAt(path: string): OpenFile {
  const known = files.get(path)
  if (known) return known
  const opened = openExisting(path) ?? createFile(path)
  files.set(path, opened)
  return opened
}

function openExisting(path: string): OpenFile | undefined {
  try {
    return { descriptor: openSync(path, constants.O_RDWR), isNameSynced: true }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

function createFile(path: string): OpenFile {
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL
  return { descriptor: openSync(path, flags, 0o600), isNameSynced: false }
}

function writeAt(descriptor: number, bytes: Uint8Array, positionBytes: number): void {
  for (let done = 0; done < bytes.length;)
    done += writeSync(descriptor, bytes, done, bytes.length - done, positionBytes + done)
}

function syncFile(path: string): void {
  const file = fileAt(path)
  fdatasyncSync(file.descriptor)
  if (file.isNameSynced) return
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
  file.isNameSynced = true
}

function closeFile(path: string): void {
  const file = files.get(path)
  files.delete(path)
  if (file) closeSync(file.descriptor)
}

const port = parentPort!

function answer({ id, steps }: Request): void {
  let step = 0
  let error: FileError | undefined
  try {
    for (; step < steps.length; step++) perform(steps[step]!)
  } catch (failure) {
    const { message, code } = failure as NodeJS.ErrnoException
    error = { message, code, step }
  }
  port.postMessage({ id, error } satisfies Reply)
}

port.on('message', (first: Request) => {
  answer(first)
  // Polls before sleeping: a wakeup takes about as long as a sync of a fast disk, and a client that awaits each
  // reply sends its next request sooner.
  let idleSinceMs = performance.now()
  while (performance.now() - idleSinceMs < pollingMs) {
    const next: { readonly message: Request } | undefined = receiveMessageOnPort(port)
    if (next === undefined) continue
    answer(next.message)
    idleSinceMs = performance.now()
  }
})

/** Time to poll for the next request before sleeping. */
const pollingMs = 0.1
