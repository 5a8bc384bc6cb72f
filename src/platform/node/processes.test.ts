import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempDisposable, realpath, writeFile } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'
import { waitUntil } from '../../../tests/wait-until.ts'
import { nodeProcesses } from './processes.ts'

const processes = nodeProcesses()

test('a process gets stdin, environment and working directory and returns output and exit code', async () => {
  const folder = await realpath(tmpdir())
  const command = ['sh', '-c', 'cat; pwd; echo "$GREETING $1" >&2; exit 3', 'sh', '--flag']
  const child = await processes.start(command, { environment: { GREETING: 'hello' }, folder })
  child.stdin.end('input\n')
  assert.equal(await text(child.stdout), `input\n${folder}\n`)
  assert.equal(await text(child.stderr), 'hello --flag\n')
  assert.deepEqual(await child.exited, { code: 3 })
})

test('process output can be read after the exit', async () => {
  const child = await processes.start(['sh', '-c', 'echo first; echo second >&2'])
  await child.exited
  await (
    await processes.start(['true'])
  ).exited
  assert.equal(await text(child.stdout), 'first\n')
  assert.equal(await text(child.stderr), 'second\n')
})

test('starting a missing program, a directory or a file that is not executable fails', async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), 'k8ts-processes-'))
  const folder = temporary.path
  await writeFile(join(folder, 'plain'), 'not a program')
  await assert.rejects(processes.start(['no-such-program']), { code: 'ENOENT', message: /no-such-program/ })
  await assert.rejects(processes.start([join(folder, 'plain')]), { code: 'EACCES' })
  await assert.rejects(processes.start([folder]), { code: 'EACCES' })
  await assert.rejects(processes.start(['true'], { folder: join(folder, 'none') }), {
    code: 'ENOENT',
    message: /none/,
  })
})

/** True if the process exists and is not a zombie. */
async function isRunning(pid: number): Promise<boolean> {
  const status = await text(spawn('ps', ['-o', 'stat=', '-p', `${pid}`]).stdout)
  return status.trim() !== '' && !status.startsWith('Z')
}

async function untilGone(pid: number): Promise<void> {
  await waitUntil(async () => !(await isRunning(pid)))
}

test('killing a process kills its children and is idempotent', async () => {
  const child = await processes.start(['sh', '-c', 'sleep 1000 & echo $!; wait'])
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const grandchild = Number(line.toString())
  assert.equal(await isRunning(grandchild), true)
  child.kill('SIGTERM')
  assert.deepEqual(await child.exited, { signal: 'SIGTERM' })
  await untilGone(grandchild)
  child.kill('SIGKILL')
})

test('aborting kills a process, during its start or later', async () => {
  const controller = new AbortController()
  const child = await processes.start(['sleep', '1000'], { signal: controller.signal })
  const soon = processes.start(['sleep', '1000'], { signal: controller.signal })
  controller.abort(new Error('enough'))
  assert.deepEqual(await child.exited, { signal: 'SIGKILL' })
  assert.deepEqual(await (await soon).exited, { signal: 'SIGKILL' })
  await assert.rejects(processes.start(['true'], { signal: controller.signal }), /enough/)
})

test('writing to the stdin of an exited process is no error', async () => {
  const child = await processes.start(['true'])
  await child.exited
  const error = await new Promise<NodeJS.ErrnoException | null | undefined>(resolve => {
    child.stdin.write('x'.repeat(1_000_000), resolve)
  })
  assert.match(`${error?.code}`, /EPIPE|ECONNRESET|ERR_STREAM_DESTROYED/)
})

test(
  'child processes end with their parent',
  { skip: process.platform !== 'linux' && 'needs Linux' },
  async () => {
    const source = new URL('./processes.ts', import.meta.url).href
    for (const end of ['process.exit()', 'process.kill(process.pid, "SIGKILL")']) {
      const script = `
      const { readFileSync } = await import('node:fs')
      const { nodeProcesses } = await import('${source}')
      const child = await nodeProcesses().start(['sleep', '1000'])
      // The launcher asks the kernel for the signal before it becomes the program.
      while (readFileSync('/proc/' + child.pid + '/comm', 'utf8') !== 'sleep\\n') await null
      process.stdout.write(child.pid + '\\n', () => ${end})`
      const parent = spawn(process.execPath, ['--input-type=module', '-e', script])
      const pid = Number(await text(parent.stdout))
      assert.ok(pid > 0)
      await untilGone(pid)
    }
  },
)
