/**
 * Clients, the kubelet's streaming server and client, and the streaming server of a real containerd, end to
 * end.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, test, type TestContext } from 'node:test'
import { containerConfig, sandboxConfig } from '#/cri/test-configs.ts'
import { streamClients } from '../streaming/kubectl.ts'
import { hash, Kubectl, talk } from '../streaming/kubectl-session.ts'
import { startPodServer, type PodServer } from '../streaming/pod-server.ts'
import { removePods } from './remove-pods.ts'
import { containersMissing, TestContainerd } from './test-containerd.ts'
import { busyboxReference } from './test-images.ts'

const skip = containersMissing

let node: TestContainerd | undefined
before(async () => {
  if (!containersMissing) node = await TestContainerd.start()
})
after(() => node?.[Symbol.asyncDispose]())

for (const client of streamClients) {
  const { name } = client

  test(`kubectl exec in a container over ${name}`, { skip }, async t => {
    const kubectl = new Kubectl(await startContainer(t, ['sleep', '100000']), client)
    const input = randomBytes(16 * 1024 * 1024)
    const large = await kubectl.run(['exec', '-i', 'web', '--', 'cat'], input)
    assert.deepEqual([hash(large.stdout), large.stderr, large.code], [hash(input), '', 0])
    const read = await kubectl.run(['exec', '-i', 'web', '--', 'wc', '-c'], input)
    assert.equal(read.stdout.toString(), `${input.length}\n`)
    const failed = await kubectl.run(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
    assert.deepEqual([failed.stdout.toString(), failed.code], ['out\n', 7])
    assert.match(failed.stderr, /^err\n.*exit code 7/s)
    const missing = await kubectl.run(['exec', 'web', '--', '/no/such/program'])
    assert.match(missing.stderr, /no such file or directory/)
  })

  test(`kubectl attach to a container over ${name}`, { skip }, async t => {
    const kubectl = new Kubectl(await startContainer(t, ['cat']), client)
    const attached = await kubectl.run(['attach', '-i', 'web'], Buffer.from('typed\n'))
    assert.equal(attached.stdout.toString(), 'typed\n')
  })

  test(`kubectl port-forward to a container over ${name}`, { skip }, async t => {
    const server = await startContainer(t, ['nc', '-ll', '-p', '8080', '-e', 'cat'])
    const { local } = await new Kubectl(server, client).forward(t, 8_080)
    const inputs = Array.from({ length: 3 }, () => randomBytes(1_000_000))
    const echoed = await Promise.all(inputs.map(input => talk(local, input)))
    assert.deepEqual(echoed.map(hash), inputs.map(hash))
  })
}

test('a TTY in a container gets the resize events of kubectl', { skip: containersMissing }, async t => {
  const { runtime } = node!
  const { id } = await runContainer(t, ['sleep', '100000'])
  const until = (size: string): string => `until [ "$(stty size)" = "${size}" ]; do sleep 0.05; done`
  const streams = { stdin: true, stdout: true, stderr: false, tty: true }
  const script = `${until('30 100')}; echo first; ${until('50 200')}; echo second; exit 3`
  await using process = await runtime.exec({ containerId: id, command: ['sh', '-c', script], ...streams })
  process.resize({ columns: 100, rows: 30 })
  let said = ''
  for await (const bytes of process.stdout) {
    said += Buffer.from(bytes).toString()
    if (said.includes('first')) process.resize({ columns: 200, rows: 50 })
  }
  assert.match(said, /first\r\n[^]*second\r\n$/)
  assert.deepEqual(await process.result, { type: 'exited', code: 3 })
})

/** A container behind a server for kubectl. */
async function startContainer(t: TestContext, command: readonly string[]): Promise<PodServer> {
  const { runtime } = node!
  const { id, sandboxId } = await runContainer(t, command)
  return startPodServer(t, {
    exec: (words, options) => runtime.exec({ containerId: id, command: words, ...options }),
    attach: options => runtime.attach(id, options),
    connect: port => runtime.portForward(sandboxId, port),
  })
}

async function runContainer(
  t: TestContext,
  command: readonly string[],
): Promise<{ readonly id: string; readonly sandboxId: string }> {
  const { runtime, platform, folder, cgroupParent } = node!
  const uid = platform.random.uuid('pod')
  const sandbox = sandboxConfig(uid, { logFolder: `${folder}/logs/${uid}`, cgroupParent })
  const sandboxId = await runtime.runPodSandbox(sandbox)
  t.after(() => removePods(runtime, platform))
  const image = await runtime.imageStatus(busyboxReference)
  assert.ok(image)
  const config = containerConfig('main', {
    image: image.id,
    userImage: busyboxReference,
    command,
    labels: sandbox.labels,
    stdin: command[0] === 'cat',
    stdinOnce: command[0] === 'cat',
  })
  const id = await runtime.createContainer({ sandboxId, sandbox, config })
  await runtime.startContainer(id)
  return { id, sandboxId }
}
