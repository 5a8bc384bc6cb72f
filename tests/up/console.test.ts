/** The console of `k8ts up`, as a user gets it. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { temporaryFolder } from '../temporary-folder.ts'
import { waitUntil } from '../wait-until.ts'
import { script } from './process.ts'

const link = /^console: (http:\/\/127\.0\.0\.1:\d+)\/#token=([\w-]{43})$/m
const flags = ['--no-node', '--store=memory', '--port=0']

interface SignedIn {
  readonly status: number
  readonly user?: string
}

async function signIn(output: string): Promise<SignedIn> {
  const [, origin, token] = link.exec(output) ?? assert.fail(`no link: ${output}`)
  const response = await fetch(`${origin}/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token }),
  })
  const { user } = (await response.json()) as { readonly user?: string }
  return { status: response.status, ...(user !== undefined && { user }) }
}

test('k8ts up --detach prints a link to a console, of which its log knows nothing', async t => {
  let folder = ''
  const k8ts = async (...words: readonly string[]): Promise<string> =>
    (await promisify(execFile)(script, [...words, '--data-dir', folder])).stdout
  t.after(() => k8ts('down'))
  folder = join(await temporaryFolder(t), 'data')
  const said = await k8ts('up', '--detach', ...flags)
  assert.deepEqual(await signIn(said), { status: 200, user: 'kubernetes-admin' })
  assert.equal((await signIn(said)).status, 401, 'the link is used')
  const another = await k8ts('console')
  assert.match(another, /^console: .*\n$/)
  assert.equal((await signIn(another)).status, 200)
  assert.doesNotMatch(await readFile(join(folder, 'k8ts.log'), 'utf8'), /token=/)
  const record = join(folder, 'console.json')
  assert.equal((await stat(record)).mode & 0o777, 0o600)
  const { linkKey } = JSON.parse(await readFile(record, 'utf8')) as { readonly linkKey: string }
  assert.ok(linkKey.length >= 43 && !said.includes(linkKey))
})

/** Runs `k8ts up` until it is ready, and returns its output and a function that stops it. */
async function up(
  t: TestContext,
  ...words: readonly string[]
): Promise<[output: string, stop: () => Promise<void>]> {
  const child = spawn(script, ['up', ...flags, ...words])
  t.after(() => child.kill('SIGKILL'))
  const exited = once(child, 'exit')
  let output = ''
  child.stdout.on('data', chunk => (output += chunk))
  child.stderr.on('data', chunk => (output += chunk))
  await Promise.race([waitUntil(() => /^export KUBECONFIG=.*\n/m.test(output)), exited])
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await exited
  }
  return [output, stop]
}

test('the console has the same port after a restart, unless it is taken', async t => {
  const folder = await temporaryFolder(t)
  const [first, stop] = await up(t, '--data-dir', folder)
  const [, origin] = link.exec(first) ?? []
  assert.equal((await signIn(first)).status, 200)
  await stop()
  const [second, stopSecond] = await up(t, '--data-dir', folder)
  assert.equal(link.exec(second)?.[1], origin)
  assert.equal((await signIn(first)).status, 401, 'links end with the process')
  await stopSecond()
  const taken = createServer().listen(0, '127.0.0.1')
  t.after(() => taken.close())
  await once(taken, 'listening')
  const { port } = taken.address() as { readonly port: number }
  await writeFile(join(folder, 'console.json'), JSON.stringify({ port, pid: 1, linkKey: 'old' }))
  const [third, stopThird] = await up(t, '--data-dir', folder)
  assert.equal((await signIn(third)).status, 200)
  await stopThird()
  const [refused] = await up(t, '--data-dir', folder, '--console-port', String(port))
  assert.match(refused, new RegExp(`^k8ts: port ${port} of the console is in use`, 'm'))
  const [without, stopWithout] = await up(t, '--data-dir', folder, '--no-console')
  assert.doesNotMatch(without, /console/)
  await stopWithout()
})
