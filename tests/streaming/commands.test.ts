/** exec, attach and port-forward with real clients over both protocols. */
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { after, describe, test } from 'node:test'
import type { SimulatedRuntime } from '#/cri/simulated.ts'
import { kubectl, kubectlBytes, startKubectl, streamClients } from './kubectl.ts'
import { StreamingCluster } from './streaming-cluster.ts'
import { waitUntil } from '../wait-until.ts'

describe('commands', async () => {
  const cluster = await StreamingCluster.start({ after })
  const { node } = cluster
  const runtime = cluster.runtime as SimulatedRuntime
  runtime.setScript('server', {
    ports: { 8080: 'echo', 9090: connection => connection.end('bye\n') },
  })
  await node.run('over', [{ name: 'main', command: ['true'] }])
  runtime.setScript('main', { execs: { absent: { error: 'no such program' } } })
  await node.run('web', [{ name: 'main', command: ['sleep', 'infinity'] }])
  await node.run('server', [{ name: 'server', command: ['sleep', 'infinity'] }], [8080])

  for (const client of streamClients) {
    const { name } = client
    const run = (words: readonly string[], input: Uint8Array | string = '') =>
      kubectl(cluster, words, { input, client })

    test(`kubectl exec over ${name} returns stdout, stderr and the exit code`, async () => {
      const script = 'echo out; echo err >&2; exit 3'
      assert.deepEqual(await run(['exec', 'web', '--', 'sh', '-c', script]), {
        code: 3,
        stdout: 'out\n',
        stderr: 'err\ncommand terminated with exit code 3\n',
      })
      assert.deepEqual(await run(['exec', 'web', '-c', 'main', '--', 'true']), {
        code: 0,
        stdout: '',
        stderr: '',
      })
    })

    test(`kubectl exec -i over ${name} passes stdin to its end`, async () => {
      assert.deepEqual(await run(['exec', '-i', 'web', '--', 'cat'], 'line\n'), {
        code: 0,
        stdout: 'line\n',
        stderr: '',
      })
      const bytes = randomBytes(12_000_000)
      const { code, stdout, stderr } = await kubectlBytes(cluster, ['exec', '-i', 'web', '--', 'cat'], {
        input: bytes,
        client,
      })
      assert.equal(code, 0, stderr.toString())
      assert.equal(sum(stdout), sum(bytes))
    })

    test(`kubectl exec over ${name} reports why a command cannot run`, async () => {
      const { code, stderr } = await run(['exec', 'web', '-c', 'other', '--', 'true'])
      assert.notEqual(code, 0)
      assert.match(stderr, /container other is not valid for pod web/)
      assert.match((await run(['exec', 'nobody', '--', 'true'])).stderr, /pods "nobody" not found/)
      const over = await run(['exec', 'over', '--', 'true'])
      assert.match(over.stderr, /container not found \("main"\)/)
      const absent = await run(['exec', 'web', '--', 'absent'])
      assert.notEqual(absent.code, 0)
      assert.match(absent.stderr, /no such program/)
    })

    test(`kubectl attach over ${name} exchanges data with the main process`, async () => {
      const main = `copier-${streamClients.indexOf(client)}`
      await node.run(main, [{ name: 'main', command: ['cat'], stdin: true }])
      const child = startKubectl(cluster, ['attach', '-i', main], client)
      child.stdin.write('hello\n')
      const [text] = (await once(child.stdout, 'data')) as [Buffer]
      assert.equal(text.toString(), 'hello\n')
      child.stdin.end()
      const [code] = (await once(child, 'exit')) as [number]
      assert.equal(code, 0)
    })

    test(`kubectl port-forward over ${name} serves several connections concurrently`, async () => {
      const child = startKubectl(cluster, ['port-forward', 'pod/server', ':8080', ':9090'], client)
      const ports = await portsOf(child.stdout, 2)
      const payload = randomBytes(3_000_000)
      const echoed = await Promise.all([1, 2, 3].map(() => exchange(ports.get(8080)!, payload)))
      for (const bytes of echoed) assert.equal(sum(bytes), sum(payload))
      assert.equal((await exchange(ports.get(9090)!, Buffer.alloc(0))).toString(), 'bye\n')
      child.kill('SIGTERM')
      await once(child, 'exit')
    })

    test(`kubectl port-forward over ${name} reports a closed port`, async () => {
      const child = startKubectl(cluster, ['port-forward', 'pod/server', ':7'], client)
      const ports = await portsOf(child.stdout, 1)
      let said = ''
      child.stderr.on('data', (text: Buffer) => {
        said += text.toString()
      })
      assert.equal((await exchange(ports.get(7)!, Buffer.from('x'))).length, 0)
      await waitUntil(() => said.includes('error forwarding port 7 to pod'))
      assert.match(said, /error forwarding port 7 to pod [0-9a-f]+, uid /)
      assert.doesNotMatch(said, /error forwarding port.*error forwarding port/)
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    })
  }

  test('exec sessions of killed clients end and leave no connection', async () => {
    const before = { api: cluster.server.connectionCount, kubelet: cluster.kubelet.connectionCount }
    const children = streamClients.flatMap(client =>
      Array.from({ length: 4 }, () => startKubectl(cluster, ['exec', '-i', 'web', '--', 'cat'], client)),
    )
    for (const child of children) child.stdin.write('hello\n')
    await Promise.all(children.map(child => once(child.stdout, 'data')))
    assert.ok(cluster.kubelet.connectionCount >= children.length)
    for (const child of children) child.kill('SIGKILL')
    const isBack = (): boolean =>
      cluster.server.connectionCount <= before.api && cluster.kubelet.connectionCount <= before.kubelet
    await waitUntil(isBack)
  })
})

async function portsOf(output: NodeJS.ReadableStream, count: number): Promise<Map<number, number>> {
  const ports = new Map<number, number>()
  let text = ''
  // The listener stays: kubectl continues to print, and would block on a full pipe.
  output.on('data', piece => {
    text += String(piece)
    for (const [, local, remote] of text.matchAll(/Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)/g)) {
      ports.set(Number(remote), Number(local))
    }
  })
  await waitUntil(() => ports.size === count)
  return ports
}

/** Sends the bytes and reads the whole response. */
async function exchange(port: number, bytes: Uint8Array): Promise<Buffer> {
  const socket = connect({ host: '127.0.0.1', port })
  socket.on('error', () => undefined)
  const received: Buffer[] = []
  let size = 0
  socket.on('data', (piece: Buffer) => {
    received.push(piece)
    size += piece.length
    if (bytes.length > 0 && size === bytes.length) socket.end()
  })
  if (bytes.length > 0) socket.write(bytes)
  await new Promise(resolve => socket.once('close', resolve))
  return Buffer.concat(received)
}

function sum(bytes: Uint8Array): string {
  return `${bytes.length} ${createHash('sha256').update(bytes).digest('hex')}`
}
