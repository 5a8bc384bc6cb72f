/**
 * Test cluster for certificates of kubelets: a real API server that authenticates client certificates and bootstrap
 * tokens, the controllers that approve and sign, and connections without sockets that present the credentials of a
 * kubeconfig. Cryptography takes real time, for which virtual time waits.
 */
import './certificates/encode-certificate-request.ts'
import { X509Certificate } from 'node:crypto'
import type { TestContext } from 'node:test'
import { secrets } from '#/api/generated/core/v1-resources.ts'
import { stringifyYaml } from '#/api/text/stringify-yaml.ts'
import type { ApiResponse, Peer } from '#/api/transport.ts'
import { certificateApprovingController } from '#/controllers/certificate-approving.ts'
import { certificateSigningController } from '#/controllers/certificate-signing.ts'
import type { Controller } from '#/controllers/controller.ts'
import { kubeletServingCertificateApprovingController } from '#/controllers/kubelet-serving-certificate-approving.ts'
import { startTestControlPlane, type TestControlPlane } from '#/controllers/test-control-plane.ts'
import { ensureClusterCertificates, type KeyAndCertificate } from '#/kubeadm/certificates.ts'
import { csrSigner } from '#/kubeadm/csr-signer.ts'
import { nodeBootstrapTokenGroup } from '#/kubeadm/bootstrap-token.ts'
import { ensureRoleBindings, ensureTlsBootstrapRoleBindings } from '#/kubeadm/role-bindings.ts'
import { readWholeBody, type HttpClientOptions, type HttpConnect } from '#/platform/http-client.ts'
import { nodeCrypto } from '#/platform/node.ts'
import type { Linux } from '#/platform/linux.ts'
import type { Platform } from '#/platform/platform.ts'
import { SimulatedLinux, Simulation, type SimulatedHost } from '#/platform/simulated.ts'
import type { TlsBootstrapOptions } from './tls-bootstrap.ts'

const bootstrapToken = 'abcdef.0123456789abcdef'

export interface TestTlsCluster {
  readonly plane: TestControlPlane
  readonly crypto: Crypto
  readonly connect: HttpConnect
  /** Advances virtual time until the promise settles. */
  readonly run: <T>(promise: Promise<T>) => Promise<T>
  /** Advances virtual time, and completes what happens meanwhile. */
  readonly advance: (ms: number) => Promise<void>
}

export interface TestTlsClusterOptions {
  /** Controllers to leave out. */
  readonly without?: readonly Controller[]
}

export async function startTestTlsCluster(
  t: Pick<TestContext, 'after'>,
  { without = [] }: TestTlsClusterOptions = {},
): Promise<TestTlsCluster> {
  const { crypto, idle } = trackedCrypto()
  const ca = await makeCa(crypto, idle)
  const controllers: readonly Controller[] = [
    certificateApprovingController,
    certificateSigningController({
      sign: request => csrSigner({ platform: plane.platform, crypto }, ca)(request),
    }),
    kubeletServingCertificateApprovingController,
  ]
  const plane = await startTestControlPlane(
    t,
    controllers.filter(each => !without.includes(each)),
    { authentication: { certificates: { authorities: ca.cert }, bootstrapTokens: true } },
  )
  const advance = async (ms: number): Promise<void> => {
    for (let step = 0; step < advanceSteps; step++) {
      await idle()
      await plane.advance(ms / advanceSteps)
    }
  }
  const run = <T>(promise: Promise<T>): Promise<T> =>
    settled(promise, async () => {
      await idle()
      await plane.settle()
    })
  const { log } = plane.platform
  await run(ensureRoleBindings(plane.client, log))
  await run(ensureTlsBootstrapRoleBindings(plane.client, log))
  await plane.create(secrets, tokenSecret)
  return { plane, crypto, run, advance, connect: options => connectTo(plane, options) }
}

/** Cryptographic operations that may follow from each other while time advances. */
const advanceSteps = 20

const tokenSecret = {
  metadata: { namespace: 'kube-system', name: 'bootstrap-token-abcdef' },
  type: 'bootstrap.kubernetes.io/token',
  data: Object.fromEntries(
    Object.entries({
      'token-id': 'abcdef',
      'token-secret': '0123456789abcdef',
      'usage-bootstrap-authentication': 'true',
      'auth-extra-groups': nodeBootstrapTokenGroup,
    }).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  ),
}

export interface TestNode {
  readonly options: TlsBootstrapOptions
  readonly host: SimulatedHost
  readonly linux: Pick<Linux, 'files'>
  readonly failures: string[]
}

export async function makeTestNode(
  { plane, crypto, connect, run }: TestTlsCluster,
  nodeName = 'n1',
): Promise<TestNode> {
  const host = plane.simulation.host(`machine-${nodeName}`)
  const linux = new SimulatedLinux({ files: host.files })
  const failures: string[] = []
  const platform = followingLinks(host, linux)
  await run(writeKubeconfig(platform, '/bootstrap-kubelet.conf', { token: bootstrapToken }))
  const options = {
    platform,
    linux,
    crypto,
    connect,
    nodeName,
    folder: '/pki',
    kubeconfig: '/kubelet.conf',
    bootstrapKubeconfig: '/bootstrap-kubelet.conf',
    onFailure: (error: unknown) => void failures.push(String(error)),
  }
  return { options, host, linux, failures }
}

/** Simulated files do not follow links by themselves. */
function followingLinks(host: SimulatedHost, linux: Pick<Linux, 'files'>): Platform {
  const { clock, random, network, processes, log } = host
  const read = async (path: string): Promise<Uint8Array> => host.files.read(await linux.files.realPath(path))
  const files = new Proxy(host.files, {
    get: (target, name) => {
      const value: unknown = name === 'read' ? read : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { clock, random, network, files, processes, log }
}

/** A kubeconfig with one user. */
export async function writeKubeconfig(
  { files }: Platform,
  path: string,
  user: Readonly<Record<string, string>>,
): Promise<void> {
  const text = stringifyYaml({
    'clusters': [{ name: 'c', cluster: { server: 'https://192.0.2.100:6443' } }],
    'contexts': [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
    'users': [{ name: 'u', user: { ...user } }],
  })
  await files.write(path, text)
}

async function makeCa(crypto: Crypto, idle: () => Promise<void>): Promise<KeyAndCertificate> {
  const simulation = new Simulation({ seed: 1 })
  const platform = simulation.host('ca')
  const made = ensureClusterCertificates({ platform, crypto, folder: '/pki', serverNames: [] })
  const { ca } = await settled(made, async () => {
    await idle()
    await simulation.advance(1_000)
  })
  return { cert: ca.cert, key: ca.key ?? '' }
}

async function settled<T>(promise: Promise<T>, step: () => Promise<void>): Promise<T> {
  let isSettled = false
  const mark = (): void => {
    isSettled = true
  }
  promise.then(mark, mark)
  while (!isSettled) await step()
  return promise
}

interface TrackedCrypto {
  readonly crypto: Crypto
  /** Resolves when no operation is pending. */
  readonly idle: () => Promise<void>
}

function trackedCrypto(): TrackedCrypto {
  const pending = new Set<Promise<unknown>>()
  const real = nodeCrypto()
  const subtle = new Proxy(real.subtle, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...values: readonly unknown[]): unknown => {
        const result: unknown = Reflect.apply(value, target, values)
        if (!(result instanceof Promise)) return result
        const done = result.catch(() => undefined).finally(() => pending.delete(done))
        pending.add(done)
        return result
      }
    },
  })
  const crypto = new Proxy(real, {
    get: (target, name) => {
      const value: unknown = name === 'subtle' ? subtle : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return {
    crypto,
    idle: async () => {
      while (pending.size > 0) await Promise.all(pending)
    },
  }
}

/** TLS is reduced to the verification of the client certificate at the time of the request. */
function connectTo(
  { handleRequest: handle, platform }: TestControlPlane,
  { tls }: HttpClientOptions,
): ReturnType<HttpConnect> {
  return {
    request: async ({ method, path, headers = {}, body, signal = new AbortController().signal }) => {
      const url = new URL(path, 'https://server')
      const response = await handle({
        method,
        path: url.pathname,
        query: url.searchParams,
        headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
        body: { bytes: () => readWholeBody(body) },
        signal,
        peer: peerOf(tls?.cert, platform.clock.now()),
      })
      return {
        status: response.status,
        headers: {},
        body: bytesOf(response),
        discard: () => undefined,
      }
    },
    upgrade: () => Promise.reject(new Error('not supported')),
    close: () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}

function peerOf(cert: Uint8Array | string | undefined, nowMs: number): Peer {
  const address = '192.0.2.1'
  if (cert === undefined) return { address }
  const { subject, raw, validToDate } = new X509Certificate(cert)
  if (validToDate.getTime() <= nowMs) return { address, certificateError: 'certificate has expired' }
  const values = (name: string): string[] => {
    return subject
      .split('\n')
      .filter(line => line.startsWith(`${name}=`))
      .map(line => line.slice(name.length + 1))
  }
  const [commonName = ''] = values('CN')
  return { address, certificate: { commonName, organizations: values('O'), chain: [raw] } }
}

async function* bytesOf({ body }: ApiResponse): AsyncGenerator<Uint8Array, void, undefined> {
  if (body?.type === 'value') yield* body.bytes()
  if (body?.type === 'stream') {
    for await (const chunks of body.chunks) for (const chunk of chunks) yield chunk.bytes()
  }
}
