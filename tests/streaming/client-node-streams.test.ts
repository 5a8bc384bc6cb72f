import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { buffer, text } from 'node:stream/consumers'
import { test } from 'node:test'
import { Exec, KubeConfig, PortForward, type V1Status } from '@kubernetes/client-node'
import { startPodServer } from './pod-server.ts'
import { waitUntil } from '../wait-until.ts'

test('exec of @kubernetes/client-node transfers stdin, output and status', async t => {
  const { kubeconfig, results } = await startPodServer(t)
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const status = Promise.withResolvers<V1Status>()
  const input = Buffer.alloc(300_000, 'abc')
  const socket = await new Exec(config).exec(
    'default',
    'web',
    'main',
    ['sh', '-c', 'cat; echo said >&2; exit 5'],
    stdout,
    stderr,
    Readable.from([input]),
    false,
    status.resolve,
  )
  socket.addEventListener('close', () => {
    stdout.end()
    stderr.end()
  })
  const [out, said, ended] = await Promise.all([buffer(stdout), text(stderr), status.promise])
  assert.ok(out.equals(input))
  assert.equal(said, 'said\n')
  assert.equal(ended.reason, 'NonZeroExitCode')
  assert.deepEqual(ended.details?.causes, [{ reason: 'ExitCode', message: '5' }])
  await waitUntil(() => results.length > 0)
  assert.deepEqual(results, [{ type: 'exited', code: 5 }])
})

test('port-forward of @kubernetes/client-node works with its older protocol', async t => {
  const { kubeconfig } = await startPodServer(t)
  const config = new KubeConfig()
  config.loadFromFile(kubeconfig)
  const target = createServer(
    socket => void socket.on('data', bytes => void socket.write(`heard ${String(bytes)}`)),
  )
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
  t.after(() => target.close())
  const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const { port } = target.address() as AddressInfo
  const socket = await new PortForward(config).portForward('default', 'web', [port], output, errors, input)
  input.write('hello')
  let heard = ''
  for await (const piece of output) {
    heard += String(piece)
    if (heard === 'heard hello') break
  }
  assert.ok(socket !== null && typeof socket === 'object' && 'close' in socket)
  socket.close()
})
