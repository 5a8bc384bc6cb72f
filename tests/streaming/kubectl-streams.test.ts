import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import { test } from 'node:test'
import { streamClients } from './kubectl.ts'
import { hash, Kubectl, talk } from './kubectl-session.ts'
import { startPodServer } from './pod-server.ts'
import { waitUntil } from '../wait-until.ts'

for (const client of streamClients) {
  const { name } = client

  test(`kubectl exec and attach over ${name} transfer streams and the exit code`, async t => {
    const server = await startPodServer(t)
    const kubectl = new Kubectl(server, client)
    const plain = await kubectl.run(['exec', 'web', '--', 'sh', '-c', 'echo out; echo err >&2; exit 7'])
    assert.equal(plain.stdout.toString(), 'out\n')
    assert.match(plain.stderr, /^err\n.*command terminated with exit code 7/s)
    assert.equal(plain.code, 7)
    const input = randomBytes(8 * 1024 * 1024)
    const large = await kubectl.run(['exec', '-i', 'web', '--', 'cat'], input)
    assert.deepEqual([hash(large.stdout), large.stderr, large.code], [hash(input), '', 0])
    const read = await kubectl.run(['exec', '-i', 'web', '--', 'wc', '-c'], input)
    assert.equal(read.stdout.toString().trim(), String(input.length))
    const missing = await kubectl.run(['exec', 'web', '--', '/no/such/program'])
    assert.match(missing.stderr, /ENOENT/)
    assert.notEqual(missing.code, 0)
    const attached = await kubectl.run(['attach', '-i', 'web'], Buffer.from('typed\n'))
    assert.equal(attached.stdout.toString(), 'typed\n')
    assert.ok(
      server.protocols.every(protocol => protocol.startsWith(client.protocol)),
      String(server.protocols),
    )
  })

  test(`killing kubectl ends its command over ${name}`, async t => {
    const server = await startPodServer(t)
    const script = 'echo begun; exec sleep 1000'
    const child = new Kubectl(server, client).start('exec', '-i', 'web', '--', 'sh', '-c', script)
    await once(child.stdout, 'data')
    child.kill('SIGKILL')
    await waitUntil(() => server.results.length > 0)
    assert.deepEqual(server.results, [{ type: 'failed', message: 'client disconnected' }])
  })

  test(`kubectl port-forward over ${name} reaches a port`, async t => {
    const server = await startPodServer(t)
    const target = createServer({ allowHalfOpen: true }, socket => void socket.pipe(socket))
    target.listen(0, '127.0.0.1')
    await once(target, 'listening')
    t.after(() => target.close())
    const { port } = target.address() as AddressInfo
    const { local, child } = await new Kubectl(server, client).forward(t, port)
    const inputs = Array.from({ length: 5 }, () => randomBytes(1_000_000))
    const echoed = await Promise.all(inputs.map(input => talk(local, input)))
    assert.deepEqual(echoed.map(hash), inputs.map(hash))
    target.close()
    const complaint = once(child.stderr, 'data')
    assert.equal((await talk(local, Buffer.from('anybody there?'))).length, 0)
    assert.match(String(await complaint), new RegExp(`forwarding.*port ${port}: .*ECONNREFUSED`, 's'))
  })
}
