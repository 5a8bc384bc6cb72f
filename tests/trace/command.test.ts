import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Cluster } from '#/testing/testing.ts'
import type { OtlpTraces } from '#/trace/otlp.ts'
import { deploymentOf } from '../why/why-cluster.ts'

const script = fileURLToPath(new URL('../../k8ts', import.meta.url))
const run = promisify(execFile)

type TraceCommand = (...words: readonly string[]) => Promise<string>

async function traced(): Promise<{ readonly cluster: Cluster; readonly trace: TraceCommand }> {
  const cluster = await Cluster.start({ nodes: 1, clock: 'real' })
  const kubeconfig = await cluster.kubeconfig()
  await cluster.apply([deploymentOf()])
  await cluster.settle()
  const trace: TraceCommand = async (...words) => {
    return (await run(script, ['trace', ...words, '--kubeconfig', kubeconfig])).stdout
  }
  return { cluster, trace }
}

test('k8ts trace prints the chain as text, as JSON and for a pod, and the state below it', async () => {
  const { cluster, trace } = await traced()
  await using _cluster = cluster
  const [plain, json, why] = await Promise.all([
    trace('deployment', 'web'),
    trace('deploy/web', '-o', 'json'),
    trace('deployment', 'web', '--why'),
  ])
  assert.match(plain, /^Deployment default\/web, from /)
  assert.match(plain, /default-scheduler: create Pod\/binding default\/web-/)
  const document = JSON.parse(json) as {
    readonly kind: string
    readonly hops: readonly { readonly actor: string }[]
  }
  assert.equal(document.kind, 'Trace')
  assert.ok(document.hops.some(({ actor }) => actor === 'kubelet'))
  assert.match(why, /\n\nDeployment default\/web .*ready/)
})

test('k8ts trace explains what it cannot do', async () => {
  const { cluster, trace } = await traced()
  await using _cluster = cluster
  await assert.rejects(trace('deployment', 'gone'), {
    code: 1,
    stderr: 'no change of deployment gone is recorded\n',
  })
  await assert.rejects(trace('deployment', 'web', '--at-revision', '1'), {
    code: 1,
    stderr: 'no change with revision 1 of deployment web is recorded\n',
  })
  for (const [words, message] of misuses) await assert.rejects(trace(...words), message)
})

const misuses: readonly (readonly [readonly string[], RegExp])[] = [
  [['deployment'], /usage: k8ts trace KIND NAME/],
  [['nonsense', 'web'], /the server has no resource of the kind "nonsense"/],
  [['deployment', 'web', '--scheduling'], /--scheduling requires a pod/],
  [['pod', 'web', '--scheduling', '-o', 'otlp'], /--scheduling has no output otlp/],
  [['deployment', 'web', '-o', 'json', '--why'], /--output excludes --why and --follow/],
  [['deployment', 'web', '--otlp', 'localhost:4318'], /--otlp localhost:4318: must be an http or https URL/],
]

test('a trace is sent to a collector, and its refusal is an error', async t => {
  const { cluster, trace } = await traced()
  await using _cluster = cluster
  const collector = await startCollector(t)
  const printed = JSON.parse(await trace('deployment', 'web', '-o', 'otlp')) as OtlpTraces
  await trace('deployment', 'web', '--otlp', collector.url)
  assert.deepEqual(
    collector.received.map(({ path, type }) => `${path} ${type}`),
    ['/v1/traces application/json'],
  )
  assert.deepEqual(JSON.parse(collector.received[0]?.body ?? ''), printed)
  await assert.rejects(
    trace('deployment', 'web', '--otlp', `${collector.url}/refused`),
    /answered 400: no \\u001b/,
  )
})

test('a followed chain is printed while it happens', async t => {
  const { cluster } = await traced()
  await using _cluster = cluster
  const words = ['trace', 'deployment', 'web', '--follow', '--kubeconfig', await cluster.kubeconfig()]
  const following = spawn(script, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => following.kill())
  let output = ''
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(output)) output += String((await once(following.stdout, 'data'))[0])
  }
  await until(/update Deployment\/status/)
  output = ''
  await cluster.apply([deploymentOf({}, { replicas: 2 })])
  await until(/began with kubernetes-admin .*: apply Deployment default\/web/)
  await until(/kubelet on node-1: /)
  await until(/update Deployment\/status/)
})

interface Received {
  readonly path: string
  readonly type: string
  readonly body: string
}

async function startCollector(
  t: TestContext,
): Promise<{ readonly url: string; readonly received: readonly Received[] }> {
  const received: Received[] = []
  const accept = async (request: IncomingMessage): Promise<number> => {
    const path = request.url ?? ''
    const body = await text(request)
    if (path !== '/v1/traces') return 400
    received.push({ path, type: request.headers['content-type'] ?? '', body })
    return 200
  }
  const server = createServer((request, response) => {
    void accept(request).then(status => {
      response.writeHead(status).end(status === 200 ? '{}' : 'no \u001b[31m')
    })
  })
  t.after(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received }
}
