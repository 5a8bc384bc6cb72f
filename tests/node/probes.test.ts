/** Probes with real sockets: different server behaviors, and the messages of the events. */
import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { createSecureServer } from 'node:http2'
import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer, type AddressInfo, type Server } from 'node:net'
import { test, type TestContext } from 'node:test'
import * as grpc from '@grpc/grpc-js'
import type { Probe } from '#/api/generated/core/v1.ts'
import type { KubeletPod } from '#/kubelet/kubelet-pod.ts'
import { Probes } from '#/kubelet/probes.ts'
import { connectHttp, loadGrpc, nodePlatform } from '#/platform/node.ts'
import { KubeletMetrics } from '#/kubelet/kubelet-metrics.ts'
import { testCertificates } from '../http/test-certificates.ts'

const platform = nodePlatform({ log: { level: 'error', format: 'text' } })

/** Probes a container once: the result and the message. */
async function ask(
  probe: Probe,
  ports: readonly { name: string; containerPort: number }[] = [],
): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  const events: string[] = []
  using probes = new Probes({
    metrics: new KubeletMetrics().probes,
    platform,
    runtime: { execSync: () => assert.fail('nothing is run') },
    connectHttp,
    connectGrpc: loadGrpc,
    recorder: {
      record: (_, { reason, message }) => {
        events.push(`${reason}: ${message.replace('Readiness probe ', '')}`)
        if (message.includes('errored')) resolve('errored')
      },
    },
    onChange: () => resolve(probes.results('id').readiness ?? ''),
  })
  const readinessProbe = { timeoutSeconds: 30, failureThreshold: 1, ...probe }
  const pod: KubeletPod = {
    metadata: { name: 'it', namespace: 'default', uid: 'u' },
    spec: { containers: [{ name: 'it', image: 'it', ports, readinessProbe }] },
  }
  probes.follow(pod, [{ id: 'id', name: 'it', startedMs: platform.clock.now(), address: '127.0.0.1' }])
  const result = await promise
  return [result, ...events].join('; ')
}

async function listening(t: TestContext, server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  return (server.address() as AddressInfo).port
}

test('an HTTP probe succeeds with a status from 200 to 399', async t => {
  const port = await listening(
    t,
    createServer((request, response) => {
      response.writeHead(Number(request.url?.slice(1))).end('body')
    }),
  )
  const failed = (status: number): string =>
    `failure; Unhealthy: failed: HTTP probe failed with statuscode: ${status}`
  const redirected = 'success; ProbeWarning: warning: Probe terminated redirects, Response body: '
  const cases: readonly [number, string][] = [
    [200, 'success'],
    [299, 'success'],
    [304, redirected],
    [399, `${redirected}body`],
    [400, failed(400)],
    [404, failed(404)],
    [500, failed(500)],
    [503, failed(503)],
  ]
  for (const [status, expected] of cases) {
    assert.equal(await ask({ httpGet: { path: `/${status}`, port } }), expected, String(status))
  }
})

test('an HTTP probe sends a User-Agent header unless the probe sets one', async t => {
  const heard: Record<string, unknown>[] = []
  const port = await listening(
    t,
    createServer(({ headers, url, method }, response) => {
      heard.push({ ...headers, url, method })
      response.end()
    }),
  )
  await ask({ httpGet: { path: '/a b?c=d#e', port } })
  const httpHeaders = [
    { name: 'Host', value: 'example.com' },
    { name: 'User-Agent', value: 'me' },
    { name: 'Accept', value: '' },
    { name: 'X-Twice', value: '1' },
    { name: 'x-twice', value: '2' },
  ]
  await ask({ httpGet: { path: 'x', port: 'web', httpHeaders } }, [{ name: 'web', containerPort: port }])
  const [plain, told] = heard
  assert.deepEqual(
    [plain?.['user-agent'], plain?.['accept'], plain?.['url'], plain?.['host'], plain?.['connection']],
    ['kube-probe/1.36', '*/*', '/a%20b?c=d', `127.0.0.1:${port}`, 'close'],
  )
  assert.deepEqual(
    [told?.['user-agent'], told?.['accept'], told?.['url'], told?.['host'], told?.['x-twice']],
    ['me', undefined, '/x', 'example.com', '1, 2'],
  )
  const unknown = await ask({ httpGet: { port: 'none' } })
  assert.match(unknown, /^errored; Unhealthy: errored and resulted in unknown state: port "none" not found$/)
})

test('an HTTP probe follows at most ten redirects on the same host', async t => {
  let elsewhere = 0
  const other = await listening(
    t,
    createServer((_, response) => (elsewhere++, response.end())),
  )
  const answer: RequestListener = (request, response) => {
    const [, kind = '', count = ''] = request.url?.split('/') ?? []
    const targets: Record<string, string | undefined> = {
      count: Number(count) > 0 ? `/count/${Number(count) - 1}` : undefined,
      away: `http://localhost:${other}/`,
      port: `http://127.0.0.1:${other}/`,
      loop: '/loop',
      bad: '/missing',
    }
    const location = targets[kind]
    if (location !== undefined) response.writeHead(302, { location }).end('moved')
    else response.writeHead(kind === 'missing' ? 404 : 200).end('here')
  }
  const port = await listening(t, createServer(answer))
  const get = (path: string): Promise<string> => ask({ httpGet: { path, port } })
  assert.equal(await get('/count/9'), 'success')
  const loop = `failure; Unhealthy: failed: Get "http://127.0.0.1:${port}/loop": stopped after 10 redirects`
  assert.equal(await get('/loop'), loop)
  assert.equal(await get('/bad'), 'failure; Unhealthy: failed: HTTP probe failed with statuscode: 404')
  const warned = 'success; ProbeWarning: warning: Probe terminated redirects, Response body: moved'
  assert.equal(await get('/away'), warned)
  assert.equal(elsewhere, 0)
  assert.equal(await get('/port'), 'success', 'another port of the same host is followed')
  assert.equal(elsewhere, 1)
})

test('an HTTPS probe does not verify certificates and negotiates HTTP/2', async t => {
  const { server } = await testCertificates(t, ['elsewhere.example'])
  const versions: string[] = []
  const answer: RequestListener = ({ httpVersion }, response) => {
    versions.push(httpVersion)
    response.end()
  }
  const http1 = await listening(t, createTlsServer({ cert: server.cert, key: server.key }, answer))
  const http2 = createSecureServer({ cert: server.cert, key: server.key }, ({ httpVersion }, response) => {
    versions.push(httpVersion)
    response.end()
  })
  const port2 = await listening(t, http2)
  const plain = await listening(t, createServer(answer))
  assert.equal(await ask({ httpGet: { port: http1, scheme: 'HTTPS', path: '/' } }), 'success')
  assert.equal(await ask({ httpGet: { port: port2, scheme: 'HTTPS', path: '/' } }), 'success')
  assert.deepEqual(versions, ['1.1', '2.0'])
  assert.equal(
    await ask({ httpGet: { port: plain, scheme: 'HTTPS', path: '/' } }),
    `failure; Unhealthy: failed: Get "https://127.0.0.1:${plain}/": http: server gave HTTP response to HTTPS client`,
  )
})

test('an HTTP probe fails for invalid or incomplete responses', { timeout: 60_000 }, async t => {
  const silent = await listening(
    t,
    createTcpServer(socket => t.after(() => socket.destroy())),
  )
  const rude = await listening(
    t,
    createTcpServer(socket => socket.once('data', () => socket.destroy())),
  )
  const babbling = await listening(
    t,
    createTcpServer(socket => socket.end('hello\r\n\r\n')),
  )
  const endless = await listening(
    t,
    createServer((_, response) => {
      response.writeHead(200)
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      }
      response.on('drain', more)
      more()
    }),
  )
  const broken = await listening(
    t,
    createServer((_, response) => {
      response.writeHead(200, { 'content-length': 100 }).write('half', () => response.destroy())
    }),
  )
  const get = (port: number, timeoutSeconds = 30): Promise<string> => {
    return ask({ httpGet: { port, path: '/' }, timeoutSeconds })
  }
  const text = (port: number, reason: string): string => {
    return `failure; Unhealthy: failed: Get "http://127.0.0.1:${port}/": ${reason}`
  }
  assert.equal(
    await get(silent, 1),
    text(silent, 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'),
  )
  assert.equal(await get(rude), text(rude, 'EOF'))
  assert.match(await get(babbling), /malformed HTTP response/)
  assert.equal(await get(endless), 'success', 'no more than 10 KiB are read')
  assert.equal(await get(broken), 'errored; Unhealthy: errored and resulted in failure state: unexpected EOF')
})

test('a probe fails when the port is closed', async t => {
  const server = createTcpServer()
  const port = await listening(t, server)
  await new Promise(resolve => server.close(resolve))
  const refused = `dial tcp 127.0.0.1:${port}: connect: connection refused`
  assert.equal(
    await ask({ httpGet: { port, path: '/' } }),
    `failure; Unhealthy: failed: Get "http://127.0.0.1:${port}/": ${refused}`,
  )
  assert.equal(await ask({ tcpSocket: { port } }), `failure; Unhealthy: failed: ${refused}`)
  assert.equal(
    await ask({ grpc: { port } }),
    `failure; Unhealthy: failed: timeout: failed to connect service "127.0.0.1:${port}" within 30s: ` +
      'context deadline exceeded',
  )
})

test('a TCP probe succeeds when a connection is accepted', async t => {
  const ended = Promise.withResolvers<void>()
  const server = createTcpServer(socket => {
    socket.on('error', () => ended.resolve()).on('close', () => ended.resolve())
    socket.resume()
  })
  const port = await listening(t, server)
  assert.equal(await ask({ tcpSocket: { port } }), 'success')
  assert.equal(await ask({ tcpSocket: { port, host: 'localhost' } }), 'success')
  await ended.promise
})

test('a gRPC probe queries the health service', { timeout: 60_000 }, async t => {
  const health = (statuses: Readonly<Record<string, number>>): grpc.Server => {
    const server = new grpc.Server()
    const asIs = (bytes: Buffer): Buffer => bytes
    const check = {
      requestStream: false,
      responseStream: false,
      path: '/grpc.health.v1.Health/Check',
    } as const
    const codecs = {
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    }
    server.addService(
      { check: { ...check, ...codecs } },
      {
        check: (call: grpc.ServerUnaryCall<Buffer, Buffer>, reply: grpc.sendUnaryData<Buffer>) => {
          const status = statuses[call.request.subarray(2).toString()]
          if (status === 99) return
          if (status === undefined) reply({ code: grpc.status.NOT_FOUND, details: 'unknown service' })
          else reply(null, Buffer.from([8, status]))
        },
      },
    )
    return server
  }
  const serve = async (server: grpc.Server): Promise<number> => {
    t.after(() => server.forceShutdown())
    const credentials = grpc.ServerCredentials.createInsecure()
    return new Promise((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', credentials, (error, port) => (error ? reject(error) : resolve(port)))
    })
  }
  const port = await serve(health({ '': 1, 'down': 2, 'odd': 7, 'slow': 99 }))
  const other = await serve(new grpc.Server())
  const cases: readonly [Probe, string][] = [
    [{ grpc: { port } }, 'success'],
    [{ grpc: { port, service: 'down' } }, 'service unhealthy (responded with "NOT_SERVING")'],
    [{ grpc: { port, service: 'odd' } }, 'service unhealthy (responded with "7")'],
    [
      { grpc: { port, service: 'none' } },
      'error: health rpc probe failed: rpc error: code = NotFound desc = unknown service',
    ],
    [
      { grpc: { port, service: 'slow' }, timeoutSeconds: 1 },
      'timeout: health rpc did not complete within 1s',
    ],
    [
      { grpc: { port: other } },
      'error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ' +
        'The server does not implement the method /grpc.health.v1.Health/Check',
    ],
  ]
  for (const [probe, expected] of cases) {
    const text = expected === 'success' ? expected : `failure; Unhealthy: failed: ${expected}`
    assert.equal(await ask(probe), text)
  }
})
