/** Logs, exec, attach and port-forward of pods on the simulated node of `k8ts up --simulated-nodes 1`. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Attach, CoreV1Api, Exec, KubeConfig, Log, type V1Pod, type V1Status } from '@kubernetes/client-node'
import { clusterForFile } from '../clients/cluster.ts'
import { waitUntil } from '../wait-until.ts'
import { streamClients } from './kubectl.ts'
import { Kubectl } from './kubectl-session.ts'

const cluster = await clusterForFile({ simulatedNodes: 1, store: 'memory' })
const config = new KubeConfig()
config.loadFromFile(cluster.kubeconfig)
const core = config.makeApiClient(CoreV1Api)

type StartStreams = (stdout: PassThrough, stderr: PassThrough) => ReturnType<Exec['exec']>

/** Creates a pod and waits until it has started. */
async function run(name: string, command?: readonly string[], restartPolicy = 'Always'): Promise<void> {
  const container = { name: 'main', image: 'it', ...(command && { command: [...command] }) }
  const body: V1Pod = { metadata: { name }, spec: { restartPolicy, containers: [container] } }
  await core.createNamespacedPod({ namespace: 'default', body })
  await waitUntil(async () => {
    const pod = await core.readNamespacedPod({ namespace: 'default', name })
    return (pod.status?.phase ?? 'Pending') !== 'Pending'
  })
}

await run('web')

test('Log of @kubernetes/client-node follows a simulated container to its end', async () => {
  await run('job', ['sh', '-c', 'echo one; sleep 1; echo two; sleep 1'], 'Never')
  const stream = new PassThrough()
  await new Log(config).log('default', 'job', 'main', stream, { follow: true })
  assert.equal(await text(stream), 'one\ntwo\n')
})

test('Exec and Attach of @kubernetes/client-node say that the node is simulated', async () => {
  const outputOf = async (start: StartStreams): Promise<readonly string[]> => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const socket = await start(stdout, stderr)
    await new Promise(resolve => void socket.addEventListener('close', resolve))
    stdout.end()
    stderr.end()
    return [await text(stdout), await text(stderr)]
  }
  const status = Promise.withResolvers<V1Status>()
  const executed = await outputOf((stdout, stderr) =>
    new Exec(config).exec(
      'default',
      'web',
      'main',
      ['ls', '-l'],
      stdout,
      stderr,
      null,
      false,
      status.resolve,
    ),
  )
  assert.deepEqual(executed, ['node node-1 is simulated: the command ["ls","-l"] was not run\n', ''])
  assert.equal((await status.promise).status, 'Success')
  const attached = await outputOf((stdout, stderr) =>
    new Attach(config).attach('default', 'web', 'main', stdout, stderr, null, false),
  )
  assert.deepEqual(attached, ['node node-1 is simulated: containers have no processes to attach to\n', ''])
})

for (const client of streamClients) {
  test(`kubectl over ${client.name} on a simulated node`, async t => {
    const kubectl = new Kubectl({ kubeconfig: cluster.kubeconfig }, client)
    const check = async (line: string, expected: readonly [code: number, stdout: string]): Promise<void> => {
      const { code, stdout, stderr } = await kubectl.run(line.split(' '))
      assert.deepEqual([code, stdout.toString()], expected, `${line}: ${stderr}`)
    }
    await check('logs web', [0, 'simulated container main started, image it\n'])
    await check('exec web -- echo hello', [0, 'hello\n'])
    await check('exec web -- false', [1, ''])
    await check('exec web -- id', [0, 'node node-1 is simulated: the command ["id"] was not run\n'])
    const copied = await kubectl.run(['exec', '-i', 'web', '--', 'cat'], Buffer.from('input'))
    assert.deepEqual([copied.code, copied.stdout.toString()], [0, 'input'])
    const { local, child } = await kubectl.forward(t, 80)
    let errors = ''
    child.stderr.on('data', piece => (errors += String(piece)))
    await fetch(`http://127.0.0.1:${local}/`).catch(() => undefined)
    await waitUntil(() => errors.includes('node node-1 is simulated: no process listens on port 80'))
    child.kill()
  })
}
