import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeFiles } from './files.ts'

const machine = JSON.stringify(new URL('machine.ts', import.meta.url).href)

/** A process that handles SIGTERM, and whose read of a FIFO without a writer never returns. */
function startReader(fifo: string, deadlineMs: number) {
  const program = `
    const { terminationSignal } = await import(${machine})
    terminationSignal({ deadlineMs: ${deadlineMs} })
    const { readFile } = await import('node:fs/promises')
    setTimeout(() => process.stdout.write('reading'), 50)
    await readFile(${JSON.stringify(fifo)})
  `
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  return spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: [...stdio] })
}

async function makeFifo() {
  const folder = await mkdtempDisposable(join(tmpdir(), 'k8ts-machine-'))
  const fifo = join(folder.path, 'fifo')
  execFileSync('mkfifo', [fifo])
  return { fifo, [Symbol.asyncDispose]: () => folder.remove() }
}

test('a process with a blocked read ends at the deadline after SIGTERM', async () => {
  await using made = await makeFifo()
  using reader = startReader(made.fifo, 100)
  await once(reader.stdout, 'data')
  reader.kill('SIGTERM')
  assert.deepEqual(await once(reader, 'exit'), [null, 'SIGKILL'])
})

test('a process with a blocked read ends immediately at the second signal', async () => {
  await using made = await makeFifo()
  using reader = startReader(made.fifo, 3_600_000)
  await once(reader.stdout, 'data')
  reader.kill('SIGTERM')
  const again = setInterval(() => reader.kill('SIGTERM'), 20)
  assert.deepEqual(await once(reader, 'exit'), [null, 'SIGKILL'])
  clearInterval(again)
})

test('the status of a FIFO is neither that of a folder nor that of a regular file', async () => {
  await using made = await makeFifo()
  const status = await nodeFiles().stat(made.fifo)
  assert.deepEqual([status?.isFolder, status?.isFile], [false, false])
})
