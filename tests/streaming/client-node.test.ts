/** Logs, exec and port-forward with `@kubernetes/client-node`, which has its own WebSocket implementation. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { Attach, CoreV1Api, Exec, KubeConfig, Log, PortForward, type V1Status } from '@kubernetes/client-node'
import type { SimulatedRuntime } from '#/cri/simulated.ts'
import { StreamingCluster } from './streaming-cluster.ts'

describe('client-node', async () => {
  const cluster = await StreamingCluster.start({ after })
  const { node } = cluster
  const config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfig)
  const runtime = cluster.runtime as SimulatedRuntime
  runtime.setScript('server', { ports: { 8080: 'echo' } })
  await node.run('web', [{ name: 'main', command: ['sh', '-c', 'echo hello; sleep infinity'] }])
  await node.run('server', [{ name: 'server', command: ['sleep', 'infinity'] }])

  test('exec of client-node returns stdout, stderr and the status', async () => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()]
    const { promise, resolve } = Promise.withResolvers<V1Status>()
    const command = ['sh', '-c', 'echo out; echo err >&2; exit 4']
    await new Exec(config).exec('default', 'web', 'main', command, stdout, stderr, null, false, resolve)
    const [out, error, status] = await Promise.all([text(stdout), text(stderr), promise])
    assert.deepEqual(
      [out, error, status.status, status.reason],
      ['out\n', 'err\n', 'Failure', 'NonZeroExitCode'],
    )
    assert.deepEqual(status.details?.causes, [{ reason: 'ExitCode', message: '4' }])
  })

  test('exec of client-node sends stdin and its end', async () => {
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    const { promise, resolve } = Promise.withResolvers<V1Status>()
    await new Exec(config).exec('default', 'web', 'main', ['cat'], stdout, null, stdin, false, resolve)
    stdin.end('what goes in')
    assert.equal(await text(stdout), 'what goes in')
    assert.equal((await promise).status, 'Success')
  })

  test('attach of client-node exchanges data with the main process', async () => {
    await node.run('copier', [{ name: 'main', command: ['cat'], stdin: true }])
    const [stdin, stdout] = [new PassThrough(), new PassThrough()]
    const socket = await new Attach(config).attach('default', 'copier', 'main', stdout, null, stdin, false)
    stdin.write('hello')
    const [piece] = (await once(stdout, 'data')) as [Buffer]
    assert.equal(piece.toString(), 'hello')
    socket.close()
  })

  test('port-forward of client-node reaches a port of the pod', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const socket = await new PortForward(config).portForward('default', 'server', [8080], output, null, input)
    input.write('there and back')
    const [piece] = (await once(output, 'data')) as [Buffer]
    assert.equal(piece.toString(), 'there and back')
    socket.close()
  })

  test('logs of client-node are read and followed', async () => {
    const core = config.makeApiClient(CoreV1Api)
    const read = await core.readNamespacedPodLog({ namespace: 'default', name: 'web', tailLines: 1 })
    assert.equal(read, 'hello\n')
    const output = new PassThrough()
    await new Log(config).log('default', 'web', 'main', output, { follow: true })
    const [piece] = (await once(output, 'data')) as [Buffer]
    assert.equal(piece.toString(), 'hello\n')
    const uid = node.pod('default', 'web')?.metadata.uid ?? ''
    runtime.endContainer(node.containerId(uid, 'main')!, 0)
    assert.equal(await text(output), '')
  })
})
