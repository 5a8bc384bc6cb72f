/** Sessions with a real API server and a real kubelet server, by the client of this project. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { buffer } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { openConnection } from '#/client/connection.ts'
import type { SimulatedRuntime } from '#/cri/simulated.ts'
import { loadKubeconfig, settingsOf } from '#/kubeconfig/kubeconfig.ts'
import { connectHttp } from '#/platform/node.ts'
import { connectRemoteCommand } from '#/streams/remote-command.ts'
import { connectRemotePortForward } from '#/streams/remote-port-forward.ts'
import { StreamingCluster } from './streaming-cluster.ts'

describe('remote sessions', async () => {
  const cluster = await StreamingCluster.start({ after })
  const { node, platform, kubeconfig } = cluster
  const { clock, random } = platform
  const runtime = cluster.runtime as SimulatedRuntime
  runtime.setScript('main', { ports: { 8080: 'echo' } })
  await node.run('web', [{ name: 'main', command: ['sleep', 'infinity'] }], [8080])
  const sources = { explicitPath: kubeconfig, environment: {}, workingFolder: '/' }
  const settings = settingsOf(await loadKubeconfig(platform, sources))!
  const open = (user = settings.user) =>
    openConnection({ platform, connect: connectHttp, settings: { ...settings, user } })
  const http = await open()
  after(() => http[Symbol.asyncDispose]())
  const pod = '/api/v1/namespaces/default/pods/web'
  const streams = { stdin: true, stdout: true, stderr: true, tty: false }
  const execOf = (...command: string[]): string => {
    const words = command.map(word => `&command=${encodeURIComponent(word)}`).join('')
    return `${pod}/exec?stdin=true&stdout=true&stderr=true${words}`
  }

  for (const webSocket of [true, false]) {
    const name = webSocket ? 'WebSocket' : 'SPDY'
    const options = { http, clock, random, webSocket }

    test(`exec over ${name} transfers the streams and the exit code`, async () => {
      const input = randomBytes(3_000_000)
      await using cat = await connectRemoteCommand({ ...options, streams, path: execOf('cat') })
      const output = Array.fromAsync(cat.stdout)
      await cat.writeStdin(input)
      cat.endStdin()
      assert.ok(Buffer.concat(await output).equals(input))
      assert.deepEqual(await cat.result, { type: 'exited', code: 0 })
      const path = execOf('sh', '-c', 'echo err >&2; exit 3')
      await using failing = await connectRemoteCommand({ ...options, streams, path })
      assert.equal(Buffer.concat(await Array.fromAsync(failing.stderr)).toString(), 'err\n')
      assert.deepEqual(await failing.result, { type: 'exited', code: 3 })
    })

    test(`port-forward over ${name} reaches a port`, async () => {
      await using forward = await connectRemotePortForward({ ...options, path: `${pod}/portforward` })
      const inputs = Array.from({ length: 5 }, () => randomBytes(500_000))
      for (const input of inputs) {
        const { data } = await forward.open(8080)
        data.end(input)
        assert.ok((await buffer(data)).equals(input))
      }
      const closed = await forward.open(81)
      assert.match(await closed.failure, /81/)
    })

    test(`refusals over ${name} have the status of the API server`, async () => {
      const path = execOf('true').replace('web', 'missing')
      const message = /pods \\"missing\\" not found/
      await assert.rejects(connectRemoteCommand({ ...options, streams, path }), { status: 404, message })
      await using anonymous = await open({ token: { data: 'wrong' } })
      const refused = connectRemotePortForward({ ...options, http: anonymous, path: `${pod}/portforward` })
      await assert.rejects(refused, { status: 401 })
    })
  }
})
