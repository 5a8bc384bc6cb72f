/**
 * Ingresses of a cluster with real containers: TLS and several services, a rolling update and a killed
 * endpoint under a steady stream of requests, a taken port, and no process without an Ingress.
 */
import assert from 'node:assert/strict'
import { Agent, request as httpRequest } from 'node:http'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { deployments } from '#/api/generated/apps/v1-resources.ts'
import type { Deployment } from '#/api/generated/apps/v1.ts'
import { events, nodes, pods, secrets, services } from '#/api/generated/core/v1-resources.ts'
import { ingressClasses, ingresses } from '#/api/generated/networking/v1-resources.ts'
import type { Ingress } from '#/api/generated/networking/v1.ts'
import { selfSigned } from '../http-proxy/test-proxy.ts'
import { waitUntil } from '../wait-until.ts'
import { isReady, LastingCluster } from './lasting-cluster.ts'
import { containersMissing } from './test-containerd.ts'

const namespace = 'default'

test('Ingresses of a cluster with containers', { skip: containersMissing }, async t => {
  const cluster = await LastingCluster.start(t)
  const { client } = cluster
  const [node] = (await client.list(nodes)).items
  const address = node?.status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? ''

  await t.test('without an Ingress there is its class, and nothing listens', async () => {
    assert.equal(
      (await client.get(ingressClasses, { name: 'k8ts' })).spec?.controller,
      'k8ts.io/ingress-controller',
    )
    await assert.rejects(ask(address, { host: 'web.example.com' }))
  })

  // The port is taken until the process has failed for the first time.
  const squatter = createServer().listen({ host: address, port: 443 })
  await once(squatter, 'listening')
  const certificate = selfSigned('web.example.com')
  for (const name of ['web', 'api']) {
    await client.create(deployments, deploymentOf(name))
    await client.create(services, {
      metadata: { name, namespace },
      spec: { selector: { app: name }, ports: [{ name: 'http', port: 8_000, targetPort: 80 }] },
    })
  }
  await client.create(secrets, {
    metadata: { name: 'web-tls', namespace },
    type: 'kubernetes.io/tls',
    data: { 'tls.crt': btoa(certificate.cert), 'tls.key': btoa(certificate.key) },
  })
  await client.create(ingresses, ingress)
  await cluster.until(all => all.filter(isReady).length === 4)

  await t.test('a taken port is reported as an event, and served as soon as it is free', async () => {
    await waitUntil(async () => {
      const { items } = await client.list(events)
      return items.some(
        ({ reason, involvedObject }) => reason === 'BackOff' && involvedObject.kind === 'IngressClass',
      )
    })
    squatter.close()
    await waitUntil(async () => (await statusOf(cluster)).includes(address))
    await waitUntil(
      async () => (await ask(address, { host: 'plain.example.com' }).catch(() => undefined)) === 'web',
    )
  })

  await t.test('paths lead to two services, over TLS with the certificate of the secret', async () => {
    assert.equal(await ask(address, { host: 'plain.example.com', path: '/api/index.html' }), 'api')
    await assert.rejects(ask(address, { host: 'web.example.com' }), /308/)
    const socket = connectTls({
      host: address,
      port: 443,
      servername: 'web.example.com',
      ca: certificate.cert,
    })
    await once(socket, 'secureConnect')
    socket.write('GET /index.html HTTP/1.1\r\nHost: web.example.com\r\nConnection: close\r\n\r\n')
    assert.match(await text(socket), /^HTTP\/1.1 200 [^]*web\n$/)
  })

  await t.test('a rolling update fails no request, on new connections and on kept ones', async () => {
    const stream = new RequestStream(address)
    await client.patch(deployments, { name: 'web', namespace }, { type: 'merge', patch: changeOf('second') })
    await waitUntil(async () => {
      const { status, metadata } = await client.get(deployments, { name: 'web', namespace })
      const isNew = status?.observedGeneration === metadata.generation
      return isNew && status?.updatedReplicas === 2 && status.availableReplicas === 2 && status.replicas === 2
    })
    await cluster.until(all => all.filter(({ metadata }) => metadata.labels?.['app'] === 'web').length === 2)
    const { failures, count } = await stream.stop()
    assert.ok(count > 100, `${count} requests`)
    assert.deepEqual(failures, [])
  })

  await t.test('a killed endpoint costs only the requests that it held', async () => {
    const stream = new RequestStream(address)
    const victim = (await cluster.pods()).find(({ metadata }) => metadata.labels?.['app'] === 'web')
    const name = victim?.metadata.name ?? ''
    await client.delete(pods, { name, namespace }, { gracePeriodSeconds: 0 })
    await cluster.until(all => {
      const own = all.filter(({ metadata }) => metadata.labels?.['app'] === 'web')
      return own.every(({ metadata }) => metadata.name !== name) && own.filter(isReady).length === 2
    })
    const { failures } = await stream.stop()
    assert.ok(failures.length <= RequestStream.concurrency, JSON.stringify(failures))
  })

  await t.test('the next start serves the Ingress again', async () => {
    await cluster.kill()
    await cluster.start()
    await waitUntil(
      async () => (await ask(address, { host: 'plain.example.com' }).catch(() => undefined)) === 'web',
    )
  })
})

interface Question {
  readonly host: string
  readonly path?: string
  readonly agent?: Agent
}

/** The body of a response with status 200; rejects with any other status. */
async function ask(address: string, { host, path = '/index.html', agent }: Question): Promise<string> {
  const request = httpRequest({ host: address, port: 80, path, headers: { host }, agent: agent ?? false })
  request.setTimeout(30_000, () => request.destroy(new Error('timeout')))
  request.end()
  const [response] = await once(request, 'response')
  const body = await text(response)
  if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`)
  return body.trim()
}

/** About 100 requests a second, half of them on new connections. */
class RequestStream {
  static readonly concurrency = 4
  readonly #stopping = new AbortController()
  readonly #failures: string[] = []
  readonly #running: Promise<unknown>
  #count = 0

  constructor(address: string) {
    const workers = Array.from({ length: RequestStream.concurrency }, (_, index) =>
      this.#work(address, index % 2 === 0),
    )
    this.#running = Promise.all(workers)
  }

  async stop(): Promise<{ readonly failures: readonly string[]; readonly count: number }> {
    this.#stopping.abort()
    await this.#running
    return { failures: this.#failures, count: this.#count }
  }

  async #work(address: string, isKept: boolean): Promise<void> {
    const agent = new Agent({ keepAlive: isKept, maxSockets: 1 })
    while (!this.#stopping.signal.aborted) {
      this.#count++
      await ask(address, { host: 'plain.example.com', agent }).catch((error: unknown) => {
        this.#failures.push(String(error))
      })
      await sleep(40)
    }
    agent.destroy()
  }
}

async function statusOf({ client }: LastingCluster): Promise<readonly (string | undefined)[]> {
  const { status } = await client.get(ingresses, { name: 'web', namespace })
  return status?.loadBalancer?.ingress?.map(({ ip }) => ip) ?? []
}

function changeOf(version: string) {
  return { spec: { template: { metadata: { annotations: { version } } } } }
}

/** The first process of a container ignores SIGTERM, so that the pod serves until its grace period ends. */
function deploymentOf(name: string): Deployment {
  const page = '/tmp/www/index.html'
  const script = `mkdir -p /tmp/www/api && echo ${name} >${page} && cp ${page} /tmp/www/api/`
  return {
    metadata: { name, namespace },
    spec: {
      replicas: 2,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: 3,
          containers: [
            {
              name: 'main',
              image: 'busybox',
              imagePullPolicy: 'Never',
              command: ['sh', '-c', `${script} && exec httpd -f -p 80 -h /tmp/www`],
              readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 },
            },
          ],
        },
      },
    },
  }
}

const web = { service: { name: 'web', port: { name: 'http' } } }
const api = { service: { name: 'api', port: { number: 8_000 } } }

const ingress: Ingress = {
  metadata: { name: 'web', namespace },
  spec: {
    tls: [{ hosts: ['web.example.com'], secretName: 'web-tls' }],
    rules: ['web.example.com', 'plain.example.com'].map(host => ({
      host,
      http: {
        paths: [
          { path: '/', pathType: 'Prefix', backend: web },
          { path: '/api', pathType: 'Prefix', backend: api },
        ],
      },
    })),
  },
}
