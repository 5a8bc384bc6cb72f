/** Logs, exec, cp and port-forward of real containers, with real kubectl, through both servers. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import type { Pod } from '#/api/generated/core/v1.ts'
import { kubectl, startKubectl, streamClients } from '../streaming/kubectl.ts'
import { ask } from '../streaming/raw-upgrade.ts'
import { StreamingCluster } from '../streaming/streaming-cluster.ts'
import { containersMissing, TestContainerd } from './test-containerd.ts'
import { waitUntil } from '../wait-until.ts'

const skip = containersMissing

describe('real containers', { skip }, async () => {
  if (skip) return
  const containerd = await TestContainerd.start()
  const { runtime, cgroupParent } = containerd
  const cluster = await StreamingCluster.start({ after }, { runtime, cgroupParent, image: 'busybox:latest' })
  after(() => containerd[Symbol.asyncDispose]())
  const { node, folder } = cluster
  await node.run('web', [
    { name: 'main', command: ['sh', '-c', 'echo begin; echo error >&2; exec sleep 100000'] },
  ])

  for (const client of streamClients) {
    const { name, environment } = client
    const index = streamClients.indexOf(client)
    const run = (words: readonly string[], input = '') => kubectl(cluster, words, { input, client })

    test(`kubectl exec over ${name} has stdin, stdout, stderr and the exit code`, async () => {
      const script = 'cat; echo error >&2; exit 7'
      assert.deepEqual(await run(['exec', '-i', 'web', '--', 'sh', '-c', script], 'in\n'), {
        code: 7,
        stdout: 'in\n',
        stderr: 'error\ncommand terminated with exit code 7\n',
      })
      const missing = await run(['exec', 'web', '--', '/no/such/program'])
      assert.notEqual(missing.code, 0)
      assert.match(missing.stderr, /no such file or directory/)
    })

    test(`kubectl cp over ${name} copies files in both directions`, async () => {
      const bytes = randomBytes(20_000_000)
      const path = join(folder, `sent-${index}`)
      await writeFile(path, bytes)
      const there = await run(['cp', path, `web:/tmp/${index}`])
      assert.equal(there.code, 0, there.stderr)
      const sums = await run(['exec', 'web', '--', 'sha256sum', `/tmp/${index}`])
      assert.equal(sums.stdout.slice(0, 64), sha256(bytes))
      const back = await run(['cp', `web:/tmp/${index}`, `${path}-back`])
      assert.equal(back.code, 0, back.stderr)
      assert.equal(sha256(await readFile(`${path}-back`)), sha256(bytes))
    })

    test(`kubectl exec -t over ${name} has a TTY of the requested size`, async () => {
      // The terminal size arrives after the command has started.
      const script = 'tty; until stty size | grep "33 77"; do sleep 0.1; done; exit 5'
      const words = [client.kubectl, 'exec', '-it', 'web', '--', 'sh', '-c', script]
      const shown = `stty rows 33 cols 77; ${words.map(word => `'${word}'`).join(' ')}`
      const env = { ...process.env, KUBECONFIG: cluster.kubeconfig, HOME: folder, ...environment }
      const child = spawn('script', ['-qec', shown, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
      const output = text(child.stdout)
      const [code] = (await once(child, 'exit')) as [number]
      child.stdin.end()
      const printed = await output
      assert.equal(code, 5, printed)
      assert.match(printed, /\/dev\/(?:pts\/\d+|console)/)
      assert.match(printed, /33 77/)
    })

    test(`kubectl port-forward over ${name} reaches a port of the pod`, async () => {
      const server = `server-${index}`
      await node.run(server, [{ name: 'main', command: ['nc', '-ll', '-p', '8080', '-e', 'cat'] }])
      const child = startKubectl(cluster, ['port-forward', `pod/${server}`, ':8080'], client)
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const first = (await lines.next()) as { readonly value: string }
      const [, port = ''] = /127\.0\.0\.1:(\d+)/.exec(first.value) ?? []
      const socket = connect(Number(port), '127.0.0.1')
      socket.write('hello')
      const [answer] = (await once(socket, 'data')) as [Buffer]
      assert.equal(answer.toString(), 'hello')
      socket.destroy()
      child.kill('SIGTERM')
      await once(child, 'exit')
    })

    test(`kubectl attach over ${name} reaches the main process`, async () => {
      const copier = `copier-${index}`
      await node.run(copier, [{ name: 'main', command: ['cat'], stdin: true }])
      const child = startKubectl(cluster, ['attach', '-i', copier], client)
      child.stdin.write('hello\n')
      const [answer] = (await once(child.stdout, 'data')) as [Buffer]
      assert.equal(answer.toString(), 'hello\n')
      child.kill('SIGKILL')
    })
  }

  test('kubectl logs shows the log of the runtime and follows it to the exit of the container', async () => {
    // Streams are read concurrently, so the order between stdout and stderr is not preserved.
    const { stdout } = await kubectl(cluster, ['logs', 'web'])
    assert.deepEqual(stdout.split('\n').sort(), ['', 'begin', 'error'])
    const long = 'x'.repeat(40_000)
    const script = `echo ${long}; for i in 1 2 3; do echo line $i; sleep 0.2; done; exit 3`
    await node.run('counter', [{ name: 'main', command: ['sh', '-c', script] }])
    const followed = await kubectl(cluster, ['logs', '-f', 'counter'])
    assert.deepEqual(followed, { code: 0, stdout: `${long}\nline 1\nline 2\nline 3\n`, stderr: '' })
    assert.equal((await kubectl(cluster, ['logs', 'counter', '--tail=4'])).stdout, followed.stdout)
    assert.equal((await kubectl(cluster, ['logs', 'counter', '--tail=1'])).stdout, 'line 3\n')
  })

  test('the kubelet serves the usage of containers in summary, resource and cAdvisor metrics', async () => {
    const { port } = cluster.kubelet.address
    const identity = cluster.certificates.kubeletClient
    const get = async (path: string): Promise<string> =>
      (await ask(cluster, { port, line: `GET ${path}`, identity })).body
    const read = async () => {
      const summary = JSON.parse(await get('/stats/summary')) as Summary
      const [main] = summary.pods.find(({ podRef }) => podRef.name === 'web')?.containers ?? []
      return { summary, main }
    }
    let { summary, main } = await read()
    // containerd updates disk usage every ten seconds.
    await waitUntil(async () => {
      ;({ summary, main } = await read())
      return (main?.rootfs?.usedBytes ?? 0) > 20_000_000
    })
    assert.ok(main && main.memory.workingSetBytes > 0 && main.cpu.usageCoreNanoSeconds > 0)
    assert.ok(main.cpu.usageNanoCores !== undefined && main.rootfs && main.rootfs.usedBytes > 20_000_000)
    assert.ok(summary.node.memory.workingSetBytes > main.memory.workingSetBytes)
    assert.ok(summary.node.cpu.usageNanoCores !== undefined)
    const figure =
      /^container_memory_working_set_bytes\{container="main",namespace="default",pod="web"\} (\S+) \d+$/m
    assert.ok(Number(figure.exec(await get('/metrics/resource'))?.[1]) > 0)
    assert.match(await get('/metrics/cadvisor'), /^machine_cpu_cores\{boot_id=.*\} \d+$/m)
    assert.match(await get('/metrics'), /^kubelet_http_requests_total\{.*path="metrics\/cadvisor".*\} 1$/m)
    const running = JSON.parse(await get('/runningpods/')) as { readonly items: readonly Pod[] }
    assert.ok(running.items.some(({ metadata }) => metadata.name === 'web'))
  })
})

interface Summary {
  readonly node: Usage
  readonly pods: readonly {
    readonly podRef: { readonly name: string }
    readonly containers: readonly (Usage & { readonly rootfs?: { readonly usedBytes: number } })[]
  }[]
}

interface Usage {
  readonly cpu: { readonly usageNanoCores?: number; readonly usageCoreNanoSeconds: number }
  readonly memory: { readonly workingSetBytes: number }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
