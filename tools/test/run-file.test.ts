import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, globSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { containersMissing } from '../../tests/node/test-containerd.ts'
import { runFile, type FileRun } from './run-file.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const timeouts = { testMs: 100_000, fileMs: 110_000 }

test('a file that passes leaves its folder empty, and is reported with its counts', async t => {
  const { run, told } = await play(t, `test('it', () => tell({}))`)
  const { counts, leftovers } = await run
  assert.deepEqual([counts.tests, counts.passed, counts.failed], [1, 1, 0])
  assert.deepEqual(leftovers, [])
  assert.equal(existsSync((await told).folder), false)
})

test('a file that fails is told of with what it left, which is removed', async t => {
  const { run, told } = await play(
    t,
    `test('it', async () => {
      const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
      child.unref()
      await writeFile(join(tmpdir(), 'file'), '')
      await tell({ pids: [child.pid] })
      throw new Error('it fails')
    })`,
  )
  const { counts, leftovers } = await run
  const { pids } = await told
  assert.equal(counts.failed, 1)
  assert.deepEqual(leftovers, [`process ${pids?.[0]} sleep 1000`])
  await isGone(await told)
})

test('a process that a file leaves which passes is killed, too', async t => {
  const { run, told } = await play(
    t,
    `test('it', async () => {
      const child = spawn('sleep', ['1001'], { detached: true, stdio: 'ignore' })
      child.unref()
      await tell({ pids: [child.pid] })
    })`,
  )
  const { counts, leftovers } = await run
  const { pids } = await told
  assert.deepEqual([counts.passed, counts.failed], [1, 0])
  assert.deepEqual(leftovers, [`process ${pids?.[0]} sleep 1001`])
  await isGone(await told)
})

test('a file that takes too long is killed', async t => {
  const { run, told } = await play(
    t,
    `test('it', () => new Promise(() => setInterval(() => tell({}), 50)))`,
    {
      testMs: 60_000,
      fileMs: 2_000,
    },
  )
  const { counts } = await run
  assert.equal(counts.cancelled + counts.failed > 0, true)
  await isGone(await told)
})

test('nothing is left of containers whose file was aborted', { skip: containersMissing }, async t => {
  const { run, told, abort } = await play(
    t,
    `test('it', async t => {
      const { TestNode } = await import(${url('tests/node/test-node.ts')})
      const { temporaryFolder } = await import(${url('tests/temporary-folder.ts')})
      const node = await TestNode.start(t)
      const command = ['sleep', '100000']
      const ports = [{ containerPort: 80, hostPort: 18999 }]
      await node.run('web', {
        volumes: [{ name: 'v', emptyDir: { medium: 'Memory' } }],
        containers: [
          { name: 'web', image: 'busybox', command, ports, volumeMounts: [{ name: 'v', mountPath: '/v' }] },
        ],
      })
      const { status } = await node.untilRunning('web')
      const ids = (await node.containerd.runtime.listPodSandbox()).map(({ id }) => id)
      await tell({ addresses: [status.podIP], cgroup: node.settings.cgroupRoot, ids })
      await new Promise(() => setInterval(() => undefined, 1_000))
    })`,
  )
  const before = await told
  assert.notEqual(await routesTo(before.addresses![0]!), '')
  assert.ok(globSync(`/sys/fs/cgroup/*${before.cgroup}`).length > 0)
  abort()
  const { leftovers } = await run
  assert.ok(
    leftovers.some(line => line.includes('sleep 100000')),
    leftovers.join('\n'),
  )
  await isGone(before)
})

test('nothing is left of a cluster whose file was aborted', { skip: containersMissing }, async t => {
  const { run, told, abort } = await play(
    t,
    `test('it', async t => {
      const { LastingCluster } = await import(${url('tests/node/lasting-cluster.ts')})
      const { pods } = await import(${url('src/api/generated/core/v1-resources.ts')})
      const cluster = await LastingCluster.start(t)
      const container = { name: 'web', image: 'busybox', command: ['sleep', '100000'] }
      const spec = { containers: [{ ...container, imagePullPolicy: 'IfNotPresent' }] }
      await cluster.client.create(pods, { metadata: { namespace: 'default', name: 'web' }, spec })
      const [{ status }] = await cluster.untilReady(['web'])
      const { slot } = JSON.parse(await readFile(join(cluster.folder, 'network.json'), 'utf8'))
      await tell({ addresses: [status.podIP, status.hostIP], bridge: 'k8ts' + slot })
      await new Promise(() => setInterval(() => undefined, 1_000))
    })`,
  )
  const before = await told
  assert.ok((await command('ip', '-o', 'link')).includes(` ${before.bridge}: `))
  abort()
  const { leftovers } = await run
  assert.ok(
    leftovers.some(line => line.startsWith('cluster ')),
    leftovers.join('\n'),
  )
  await isGone(before)
})

/** What a file says of itself while it runs. */
interface Told {
  readonly folder: string
  readonly pids?: readonly number[]
  readonly addresses?: readonly string[]
  readonly cgroup?: string
  readonly bridge?: string
  /** Of sandboxes. */
  readonly ids?: readonly string[]
}

interface Played {
  readonly run: Promise<FileRun>
  readonly told: Promise<Told>
  readonly abort: () => void
}

/** Runs a test file with this content. */
async function play(t: TestContext, content: string, own = timeouts): Promise<Played> {
  const folder = await mkdtemp(join(tmpdir(), 'k8ts-test-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const [file, said] = [join(folder, 'it.test.mjs'), join(folder, 'said.json')]
  const lines = [
    `import { spawn } from 'node:child_process'`,
    `import { readFile, rename, writeFile } from 'node:fs/promises'`,
    `import { tmpdir } from 'node:os'`,
    `import { join } from 'node:path'`,
    `import { test } from 'node:test'`,
    `async function tell(what) {`,
    `  await writeFile('${said}.new', JSON.stringify({ folder: tmpdir(), ...what }))`,
    `  await rename('${said}.new', '${said}')`,
    `}`,
    content,
  ]
  await writeFile(file, lines.join('\n'))
  // Node runs no test files from within one.
  delete process.env['NODE_TEST_CONTEXT']
  const aborting = new AbortController()
  t.after(() => aborting.abort())
  const run = runFile(file, { root, timeouts: own, signal: aborting.signal })
  let isOver = false
  run.finally(() => (isOver = true)).catch(() => undefined)
  const hear = async (): Promise<Told> => {
    while (!isOver && !existsSync(said)) await sleep(20)
    if (existsSync(said)) return JSON.parse(await readFile(said, 'utf8')) as Told
    throw new Error(`the file said nothing: ${JSON.stringify((await run).events)}`)
  }
  return { run, told: hear(), abort: () => aborting.abort() }
}

function url(path: string): string {
  return `'file://${join(root, path)}'`
}

async function isGone({ folder, pids = [], addresses = [], cgroup, bridge, ids = [] }: Told): Promise<void> {
  assert.equal(existsSync(folder), false, 'the folder')
  for (const pid of pids) {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => 'State:\tX')
    assert.match(status, /^State:\s*[XZ]/m, `process ${pid}`)
  }
  for (const pid of (await readdir('/proc')).filter(name => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
    assert.equal(command.includes(folder), false, command)
  }
  assert.equal((await readFile('/proc/self/mountinfo', 'utf8')).includes(folder), false, 'mounts')
  for (const address of addresses) assert.equal(await routesTo(address), '', `routes to ${address}`)
  if (cgroup !== undefined) assert.deepEqual(globSync(`/sys/fs/cgroup/{*,.}${cgroup}`), [], 'control groups')
  assert.deepEqual(globSync(`/sys/fs/cgroup/{*,.}/*${basename(folder)}*`), [], 'control groups')
  if (bridge !== undefined) {
    assert.equal((await command('ip', '-o', 'link')).includes(` ${bridge}: `), false, 'the bridge')
    assert.equal((await command('nft', 'list', 'tables')).includes(` ${bridge}-`), false, 'tables')
  }
  const rules = ids.length > 0 ? await command('iptables', '-w', '-t', 'nat', '-S') : ''
  for (const id of ids) assert.equal(rules.includes(id), false, 'rules of ports')
}

/** Through an interface of a pod; others lead to everything. */
async function routesTo(address: string): Promise<string> {
  const routes = await command('ip', 'route', 'show', address)
  return routes
    .split('\n')
    .filter(line => line.startsWith(address))
    .join()
}

async function command(program: string, ...parameters: readonly string[]): Promise<string> {
  return (await promisify(execFile)(program, parameters)).stdout
}
