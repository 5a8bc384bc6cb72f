/** Container logs in real files that grow and are rotated. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { makeTemporaryFolder, nodeLinux, nodePlatform } from '#/platform/node.ts'
import { waitUntil } from '../../../tests/wait-until.ts'
import { readContainerLog, type ContainerLogOptions } from './container-log.ts'
import { logFileSource, type LogReaderOptions } from './log-reader.ts'

const { files } = nodePlatform({ log: { level: 'error', format: 'text' } })
const { files: linuxFiles } = await nodeLinux()

async function temporaryFolder(t: TestContext): Promise<string> {
  const folder = await makeTemporaryFolder()
  t.after(() => files.remove(folder))
  return folder
}

async function append(path: string, text: string): Promise<void> {
  await using file = await files.openAppend(path)
  await file.append(Buffer.from(text))
}

function line(text: string): string {
  return `2024-01-01T00:00:00.5Z stdout F ${text}\n`
}

async function logFile(t: TestContext): Promise<string> {
  const folder = join(await temporaryFolder(t), 'c')
  await files.makeFolder(folder)
  const path = join(folder, '0.log')
  await linuxFiles.writeUnsynced(path, '', 0o644)
  return path
}

function read(path: string, options: Partial<ContainerLogOptions> = {}): AsyncIterable<Uint8Array> {
  const { signal } = new AbortController()
  const source = logFileSource({ files, linuxFiles, path })
  return readContainerLog({ source, selection: { timestamps: false }, signal, ...options })
}

async function textOf(pieces: AsyncIterable<Uint8Array>): Promise<string> {
  return Buffer.concat(await Array.fromAsync(pieces)).toString()
}

/** Follows the log of a container that runs until stopped. */
class Follower {
  text = ''
  /** Offset of the last read. */
  offset = 0
  readonly watched = new Set<string>()
  readonly done: Promise<void>
  #isRunning = true
  #tell = (): void => undefined

  constructor(path: string, options: Partial<ContainerLogOptions> = {}) {
    const follow = {
      isRunning: async () => this.#isRunning,
      onChange: (callback: () => void) => {
        this.#tell = callback
        return () => undefined
      },
    }
    const observed: LogReaderOptions['linuxFiles'] = {
      openBeneath: (...parameters) => linuxFiles.openBeneath(...parameters),
      lstat: file => linuxFiles.lstat(file),
      readRange: (file, offset, length) => {
        this.offset = offset
        return linuxFiles.readRange(file, offset, length)
      },
      watch: (folder, signal) => {
        const changes = linuxFiles.watch(folder, signal)
        this.watched.add(folder)
        return changes
      },
    }
    const source = logFileSource({ files, linuxFiles: observed, path })
    this.done = this.#read(read(path, { source, follow, ...options }))
  }

  async shows(text: string): Promise<void> {
    await waitUntil(() => this.text.length >= text.length)
    assert.equal(this.text, text)
  }

  endContainer(): void {
    this.#isRunning = false
    this.#tell()
  }

  async #read(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const piece of pieces) this.text += Buffer.from(piece).toString()
  }
}

test('a log is read to its end, or its last lines', async t => {
  const path = await logFile(t)
  await files.write(path, ['1', '2', '3'].map(line).join(''))
  assert.equal(await textOf(read(path)), '1\n2\n3\n')
  assert.equal(await textOf(read(path, { tailLines: 2 })), '2\n3\n')
  assert.equal(await textOf(read(path, { tailLines: 0 })), '')
  assert.equal(await textOf(read(join(path, '..', 'other.log'))), '')
  assert.equal(await textOf(read(path, { selection: { timestamps: false, limitBytes: 3 } })), '1\n2')
})

test('following a log yields each line until the container exits', async t => {
  const path = await logFile(t)
  await files.write(path, line('old') + line('1'))
  const follower = new Follower(path, { tailLines: 1 })
  await follower.shows('1\n')
  await append(path, line('2'))
  await follower.shows('1\n2\n')
  await append(path, line('3').slice(0, 30))
  await append(path, line('3').slice(30))
  await follower.shows('1\n2\n3\n')
  await append(path, line('last'))
  follower.endContainer()
  await follower.done
  assert.equal(follower.text, '1\n2\n3\nlast\n')
})

test('following a log continues across rotation and truncation without loss', async t => {
  const path = await logFile(t)
  const follower = new Follower(path)
  await append(path, line('1'))
  await follower.shows('1\n')
  for (let turn = 2; turn < 8; turn += 3) {
    await files.rename(path, `${path}.${turn}`)
    // The runtime has the file open and writes to it until it reopens its log.
    await append(`${path}.${turn}`, line(String(turn)))
    await linuxFiles.writeUnsynced(path, '', 0o644)
    await append(`${path}.${turn}`, line(String(turn + 1)))
    await append(path, line(String(turn + 2)))
    const expected = Array.from({ length: turn + 2 }, (_, index) => `${index + 1}\n`).join('')
    await follower.shows(expected)
  }
  await files.truncate(path, 0)
  await waitUntil(() => follower.offset === 0)
  await append(path, line('again'))
  await follower.shows('1\n2\n3\n4\n5\n6\n7\nagain\n')
  follower.endContainer()
  await follower.done
})

test('following a missing log waits for its file, and aborting releases it', async t => {
  const folder = await temporaryFolder(t)
  const path = join(folder, 'pod', 'c', '0.log')
  const stopping = new AbortController()
  const follower = new Follower(path, { signal: stopping.signal })
  await waitUntil(() => follower.watched.has(folder))
  await files.makeFolder(join(folder, 'pod'))
  await waitUntil(() => follower.watched.has(join(folder, 'pod')))
  await files.makeFolder(join(folder, 'pod', 'c'))
  await files.write(path, line('first'))
  await follower.shows('first\n')
  await append(path, line('second'))
  await follower.shows('first\nsecond\n')
  stopping.abort()
  await follower.done
  await files.remove(join(folder, 'pod'))
})

test('a slow log reader does not block the writer and gets all lines', async t => {
  const path = await logFile(t)
  const long = 'x'.repeat(10_000)
  const stopping = new AbortController()
  const follow = { isRunning: async () => true, onChange: () => () => undefined }
  const pieces = read(path, { follow, signal: stopping.signal })[Symbol.asyncIterator]()
  for (let count = 0; count < 500; count++) await append(path, line(`${count} ${long}`))
  let text = ''
  while (text.length < 500 * 10_000) {
    const next = await pieces.next()
    assert.ok(!next.done)
    text += Buffer.from(next.value).toString()
  }
  assert.deepEqual(
    [...text.matchAll(/^\d+/gm)].map(Number),
    Array.from({ length: 500 }, (_, index) => index),
  )
  stopping.abort()
  assert.equal((await pieces.next()).done, true)
})
