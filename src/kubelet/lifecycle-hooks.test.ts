import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LifecycleHandler } from '#/api/generated/core/v1.ts'
import type { ContainerRuntime, ExecResult, ExecSyncRequest } from '#/cri/cri.ts'
import type { HttpClientRequest, HttpConnect } from '#/platform/http-client.ts'
import { Simulation } from '#/platform/simulated.ts'
import { LifecycleHooks } from './lifecycle-hooks.ts'
import { kubeletPod } from './testdata/objects.ts'
import { KubeletMetrics } from './kubelet-metrics.ts'

interface Asked {
  readonly requests: string[]
  readonly commands: string[]
}

/** Runs a hook. Returns its requests or its error. */
async function run(
  handler: LifecycleHandler,
  { exitCode = 0, addresses = ['10.0.0.1'] } = {},
): Promise<string> {
  const simulation = new Simulation({ seed: 1 })
  const asked: Asked = { requests: [], commands: [] }
  const hooks = new LifecycleHooks({
    metrics: new KubeletMetrics(),
    platform: simulation.host('node'),
    runtime: execsOnly(asked, exitCode),
    connectHttp: recording(asked),
  })
  const container = { name: 'web', image: 'i', ports: [{ name: 'http', containerPort: 8080 }] }
  const target = { pod: kubeletPod(), container, containerId: 'id', addresses }
  const hook = hooks.run(handler, target, new AbortController().signal).then(
    () => [...asked.requests, ...asked.commands, `${simulation.nowMs} ms`].join(' '),
    (error: Error) => error.message,
  )
  return simulation.run(hook)
}

function execsOnly(asked: Asked, exitCode: number): ContainerRuntime {
  const execSync = async ({ containerId: id, command }: ExecSyncRequest): Promise<ExecResult> => {
    asked.commands.push(`${id}: ${command.join(' ')}`)
    return { exitCode, stdout: Buffer.from('out'), stderr: Buffer.from('err') }
  }
  return { execSync } as Partial<ContainerRuntime> as ContainerRuntime
}

function recording(asked: Asked): HttpConnect {
  return ({ origin, tls }) => ({
    request: async ({ method, path, headers = {} }: HttpClientRequest) => {
      const extra = headers['x-who'] === undefined ? '' : ` ${String(headers['x-who'])}`
      asked.requests.push(`${method} ${origin}${path}${extra}${tls?.insecureSkipVerify ? '' : ' verified'}`)
      return { status: 500, headers: {}, body: emptyBody(), discard: () => undefined }
    },
    upgrade: () => assert.fail('nothing is upgraded'),
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  })
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

test('an exec hook runs in the container and fails with a nonzero exit code', async () => {
  const handler = { exec: { command: ['sh', '-c', 'true'] } }
  assert.equal(await run(handler), 'id: sh -c true 0 ms')
  assert.equal(await run(handler, { exitCode: 3 }), 'command sh -c true exited with 3: outerr')
})

test('an HTTP hook sends a request to the pod and accepts any response', async () => {
  const check = async (
    httpGet: NonNullable<LifecycleHandler['httpGet']>,
    expected: string,
  ): Promise<void> => {
    assert.equal(await run({ httpGet }), expected)
  }
  await check({ port: 80 }, 'GET http://10.0.0.1:80/ 0 ms')
  await check({ port: 'http', path: 'stop?now' }, 'GET http://10.0.0.1:8080/stop?now 0 ms')
  await check({ port: 80, scheme: 'HTTPS', host: 'fd00::1' }, 'GET https://[fd00::1]:80/ 0 ms')
  await check({ port: 80, httpHeaders: [{ name: 'X-Who', value: 'me' }] }, 'GET http://10.0.0.1:80/ me 0 ms')
  await check({ port: 'missing' }, 'invalid port number: missing')
  assert.match(await run({ httpGet: { port: 80 } }, { addresses: [] }), /pod has no IP/)
})

test('a sleep hook waits for its seconds', async () => {
  assert.equal(await run({ sleep: { seconds: 7 } }), '7000 ms')
})

test('a hook without an action is rejected', async () => {
  assert.equal(await run({ tcpSocket: { port: 80 } }), 'invalid handler: tcpSocket')
})
