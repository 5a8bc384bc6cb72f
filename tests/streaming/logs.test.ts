/** Container logs from the node to real clients. */
import assert from 'node:assert/strict'
import { appendFile, readdir, rename, writeFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import type { SimulatedRuntime } from '#/cri/simulated.ts'
import { kubectl, startKubectl } from './kubectl.ts'
import { StreamingCluster } from './streaming-cluster.ts'
import { waitUntil } from '../wait-until.ts'

describe('logs', async () => {
  const cluster = await StreamingCluster.start({ after })
  const { node, folder } = cluster
  const runtime = cluster.runtime as SimulatedRuntime
  const logs = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await kubectl(cluster, ['logs', ...words])
    return code === 0 ? stdout : stderr
  }
  const talk = (text: string): string[] => ['sh', '-c', `${text}; sleep infinity`]

  test('kubectl logs honors tail, limit-bytes, since and timestamps', async () => {
    await node.run('talker', [{ name: 'main', command: talk('echo one; echo two >&2; echo three') }])
    await waitUntil(async () => (await logs('talker')) === 'one\ntwo\nthree\n')
    assert.equal(await logs('talker', '--tail=1'), 'three\n')
    assert.equal(await logs('talker', '--tail=0'), '')
    assert.equal(await logs('talker', '--limit-bytes=5'), 'one\nt')
    assert.equal(await logs('talker', '--since=1h', '--tail=2'), 'two\nthree\n')
    assert.equal(await logs('talker', '--since-time=2099-01-01T00:00:00Z'), '')
    assert.match(
      await logs('talker', '--timestamps', '--tail=1'),
      /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{9}Z three\n$/,
    )
    assert.equal(
      await logs('talker', '-c', 'main', '--insecure-skip-tls-verify-backend'),
      'one\ntwo\nthree\n',
    )
  })

  test("kubectl logs reports errors with Kubernetes' messages", async () => {
    await node.run('two', [
      { name: 'a', command: ['sleep', 'infinity'] },
      { name: 'b', command: ['sleep', 'infinity'] },
    ])
    const raw = async (query: string): Promise<string> => {
      const path = `/api/v1/namespaces/default/pods/two/log?${query}`
      return (await kubectl(cluster, ['get', '--raw', path])).stderr
    }
    assert.match(await raw(''), /a container name must be specified for pod two, choose one of: \[a b\]/)
    assert.match(await logs('two', '-c', 'x'), /container x is not valid for pod two/)
    assert.match(await logs('nobody'), /pods "nobody" not found/)
    assert.match(
      await logs('two', '-c', 'a', '--previous'),
      /previous terminated container "a" in pod "two" not found/,
    )
    assert.match(
      await raw('container=a&tailLines=-1'),
      /tailLines: Invalid value: -1: must be greater than or equal/,
    )
    assert.match(await raw('container=a&tailLines=x'), /invalid syntax/)
    assert.match(await raw('container=a&sinceTime=x'), /parsing time/)
    assert.match(await raw('container=a&stream=Both'), /Unsupported value: "Both"/)
  })

  test('kubectl logs of a restarted container shows the current log, or the previous with -p', async () => {
    runtime.setScript('again', [
      { exitAfterMs: 1, exitCode: 1, logs: [{ text: 'first' }] },
      { logs: [{ text: 'second' }] },
    ])
    await node.run('again', [{ name: 'again' }])
    await waitUntil(async () => (await logs('again')) === 'first\n')
    await waitUntil(
      async () =>
        node.pod('default', 'again')?.status?.containerStatuses?.[0]?.state?.terminated !== undefined,
    )
    await node.restart('again', 'again')
    await waitUntil(async () => (await logs('again')) === 'second\n')
    assert.equal(await logs('again', '--previous'), 'first\n')
  })

  test('kubectl logs -f follows the log across rotation until the container exits', async () => {
    const pod = await node.run('followed', [{ name: 'main', command: talk('echo begin') }])
    const { uid } = pod.metadata
    const child = startKubectl(cluster, ['logs', '--follow', 'followed'])
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const next = async (): Promise<unknown> => (await lines.next()).value
    assert.equal(await next(), 'begin')
    const path = join(folder, 'node/logs/pods', `default_followed_${uid}`, 'main', '0.log')
    const line = (text: string): string => `2024-01-01T00:00:00.5Z stdout F ${text}\n`
    await appendFile(path, line('more'))
    assert.equal(await next(), 'more')
    await rename(path, `${path}.20240101-000000`)
    await writeFile(path, line('new file'))
    assert.equal(await next(), 'new file')
    await appendFile(path, `2024-01-01T00:00:00.5Z stdout P in `)
    await appendFile(path, `\n2024-01-01T00:00:00.5Z stdout F parts\n`)
    assert.equal(await next(), 'in parts')
    runtime.endContainer(node.containerId(uid, 'main')!, 0)
    assert.equal(await next(), undefined)
    await waitUntil(async () => node.listenerCount === 0)
  })

  test('kubectl logs of a waiting container reports the waiting reason', async () => {
    const waiting = await node.run('waiting', [{ name: 'main', command: ['sleep', 'infinity'] }])
    const [status] = waiting.status!.containerStatuses!
    const { containerID: _id, ...without } = status!
    const pod = node.pod('default', 'waiting')!
    const show = (reason: string): void => {
      const state = { waiting: { reason } }
      Object.assign(pod, { status: { ...pod.status, containerStatuses: [{ ...without, state }] } })
    }
    show('ContainerCreating')
    const { stderr } = await kubectl(cluster, ['logs', 'waiting'])
    assert.equal(
      stderr,
      'Error from server (BadRequest): container "main" in pod "waiting" is waiting to start: ContainerCreating\n',
    )
    show('ImagePullBackOff')
    assert.match(await logs('waiting'), /is waiting to start: trying and failing to pull image/)
  })

  test('many kubectl logs -f that are killed leave no listener and no open file', async () => {
    await node.run('busy', [{ name: 'main', command: talk('echo hello') }])
    const before = await openFiles()
    for (let round = 0; round < 3; round++) {
      const children = Array.from({ length: 8 }, () => startKubectl(cluster, ['logs', '-f', 'busy']))
      await Promise.all(children.map(child => new Promise(resolve => child.stdout.once('data', resolve))))
      assert.ok(node.listenerCount >= 8)
      for (const child of children) child.kill('SIGKILL')
      await waitUntil(async () => node.listenerCount === 0)
    }
    await waitUntil(async () => (await openFiles()) <= before + 4)
  })
})

async function openFiles(): Promise<number> {
  return (await readdir('/proc/self/fd')).length
}
