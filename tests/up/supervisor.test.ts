/** The process of a cluster crashes: `k8ts up` starts it again, and says why. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { isProcessAlive } from '#/platform/node.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { adminClient, post, script } from './process.ts'

/** Makes the process crash on signals. */
const crashes = `data:text/javascript,${encodeURIComponent(`
  process.on('SIGUSR2', () => { throw new RangeError('thrown by the test') })
  process.on('SIGALRM', () => { for (const all = [];;) all.push(new Array(1_000_000).fill(all.length)) })
`)}`

interface Supervised {
  readonly folder: string
  readonly supervisorPid: number
  readonly output: () => string
  /** Exit code and signal of the supervisor. */
  readonly ended: Promise<readonly unknown[]>
  readonly kill: (signal: NodeJS.Signals) => void
}

/** Resolves when the cluster is ready. */
async function startSupervised(t: TestContext, environment = {}): Promise<Supervised> {
  const folder = join(await temporaryFolder(t), 'data')
  const child = spawn(script, ['up', '--no-node', '--data-dir', folder, '--port', '0'], {
    env: { ...process.env, NODE_OPTIONS: `--max-old-space-size=200 --import=${crashes}`, ...environment },
  })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGKILL')
    await ended
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', piece => (output += String(piece)))
  await waitUntil(() => /^ready in /m.test(output))
  return {
    folder,
    supervisorPid: child.pid!,
    output: () => output,
    ended,
    kill: signal => child.kill(signal),
  }
}

interface Status {
  readonly code: number
  readonly text: string
  /** Of the process that runs the cluster. */
  readonly pid: number
}

function statusOf({ folder }: Supervised): Promise<Status> {
  return new Promise(resolve => {
    execFile(script, ['status', '--data-dir', folder], (error, text) => {
      const pid = Number(/, process (\d+), supervisor /.exec(text)?.[1])
      resolve({ code: Number(error?.code ?? 0), text, pid })
    })
  })
}

async function statusWhen(cluster: Supervised, condition: (status: Status) => boolean): Promise<Status> {
  let status = await statusOf(cluster)
  await waitUntil(async () => {
    status = await statusOf(cluster)
    return condition(status)
  })
  return status
}

test('a cluster that is killed is started again with its state, and k8ts status and an Event tell it', async t => {
  const cluster = await startSupervised(t)
  const first = await adminClient(cluster.folder)
  assert.equal((await post(first, '/api/v1/namespaces', { metadata: { name: 'kept' } })).status, 201)
  const before = await statusOf(cluster)
  assert.match(
    before.text,
    new RegExp(`^ready at https://\\S+, process \\d+, supervisor ${cluster.supervisorPid},`),
  )
  assert.doesNotMatch(before.text, /restarted/)

  process.kill(before.pid, 'SIGKILL')
  const after = await statusWhen(cluster, ({ code }) => code === 0)
  assert.notEqual(after.pid, before.pid)
  assert.match(after.text, /^restarted once after a crash, the last less than a minute ago: SIGKILL,/m)
  assert.match(cluster.output(), /^\S+ ERROR Cluster crashed, restarting reason="SIGKILL,.* restarts=1 /m)
  assert.equal(cluster.output().match(/^ready in /gm)?.length, 2)
  const second = await adminClient(cluster.folder)
  assert.equal((await second.ask('/api/v1/namespaces/kept')).status, 200)
  await waitUntil(async () => {
    const { text } = await second.ask('/api/v1/namespaces/default/events')
    return text.includes('"reason":"ClusterRestarted"')
  })

  cluster.kill('SIGTERM')
  assert.deepEqual(await cluster.ended, [0, null])
  assert.equal(isProcessAlive(after.pid), false)
})

test('a cluster that crashes repeatedly tells why, waits, and is found by k8ts down meanwhile', async t => {
  const cluster = await startSupervised(t)
  process.kill((await statusOf(cluster)).pid, 'SIGALRM')
  const outOfMemory = await statusWhen(cluster, ({ code, text }) => code === 0 && /^restarted/m.test(text))
  assert.match(outOfMemory.text, /^restarted once after .*: .*heap out of memory \(SIGABRT\)$/m)

  process.kill(outOfMemory.pid, 'SIGUSR2')
  const waiting = await statusWhen(cluster, ({ text }) => /^starting in \d+ s, process /.test(text))
  assert.equal(waiting.code, 1)
  assert.match(
    waiting.text,
    /^restarted 2 times after .*: uncaught exception: RangeError: thrown by the test$/m,
  )

  await promisify(execFile)(script, ['down', '--data-dir', cluster.folder])
  assert.deepEqual(await cluster.ended, [0, null])
  assert.equal(isProcessAlive(waiting.pid), false)
  await assert.rejects(stat(cluster.folder), { code: 'ENOENT' })
})

test('SIGKILL of the supervisor ends the cluster, and the next k8ts up continues with its state', async t => {
  const cluster = await startSupervised(t)
  const { pid } = await statusOf(cluster)
  cluster.kill('SIGKILL')
  assert.deepEqual(await cluster.ended, [null, 'SIGKILL'])
  await waitUntil(() => !isProcessAlive(pid))
  const again = spawn(script, ['up', '--no-node', '--data-dir', cluster.folder, '--port', '0'])
  t.after(() => again.kill('SIGKILL'))
  let output = ''
  again.stdout.on('data', piece => (output += String(piece)))
  await waitUntil(() => /^ready in /m.test(output))
  const ended = once(again, 'exit')
  // As ctrl-C in a terminal: both processes get it, and the supervisor passes it on.
  process.kill((await statusOf(cluster)).pid, 'SIGINT')
  again.kill('SIGINT')
  assert.deepEqual(await ended, [0, null])
  assert.match(output, /^stopping$/m)
})

test('a cluster without supervisor stays dead, and one that is ended by SIGHUP too', async t => {
  const alone = await startSupervised(t, { K8TS_SUPERVISOR: 'off' })
  assert.match((await statusOf(alone)).text, new RegExp(`, process ${alone.supervisorPid}, for`))
  alone.kill('SIGKILL')
  assert.deepEqual(await alone.ended, [null, 'SIGKILL'])
  const supervised = await startSupervised(t)
  const { pid } = await statusOf(supervised)
  supervised.kill('SIGHUP')
  assert.deepEqual(await supervised.ended, [null, 'SIGHUP'])
  assert.equal(isProcessAlive(pid), false)
})
