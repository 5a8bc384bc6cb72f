/** A server on loopback that plays an extension API server behind the front proxy, with group wardle.example.com. */
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import type { TestContext } from 'node:test'
import type { TLSSocket } from 'node:tls'
import type { KeyAndCertificate } from '#/kubeadm/certificates.ts'

export interface ReceivedRequest {
  readonly method: string
  readonly url: string
  /** Names and values alternate, as received. */
  readonly rawHeaders: readonly string[]
  /** Common name of the verified client certificate. */
  readonly proxy: string | undefined
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void

export interface ExtensionServer {
  readonly port: number
  /** Requests for resources; those of the aggregator itself are left out. */
  readonly received: ReceivedRequest[]
  /** Of all requests, those of the aggregator included. */
  readonly paths: string[]
  /** By path without the query; replaces the usual answers. */
  readonly answers: Map<string, Answer>
  /** Called with upgraded connections. */
  onUpgrade: (socket: Duplex) => void
  stop(): Promise<void>
}

export interface ExtensionServerOptions {
  readonly serving: KeyAndCertificate
  readonly frontProxyCa: string
  readonly port?: number
}

export const groupVersion = 'wardle.example.com/v1alpha1'

export async function startExtensionServer(
  t: Pick<TestContext, 'after'>,
  { serving, frontProxyCa, port = 0 }: ExtensionServerOptions,
): Promise<ExtensionServer> {
  const received: ReceivedRequest[] = []
  const paths: string[] = []
  const answers = new Map<string, Answer>()
  const tls = { ...serving, ca: frontProxyCa, requestCert: true, rejectUnauthorized: false }
  const server = createServer(tls, (request, response) => {
    const [path = ''] = (request.url ?? '').split('?')
    paths.push(path)
    if (isOfUser(request)) received.push(describe(request))
    const answer = answers.get(path) ?? usual.get(path) ?? echo
    answer(request, response)
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex) => {
    received.push(describe(request))
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo/1.0\r\n\r\n')
    extension.onUpgrade(socket)
  })
  await once(server.listen(port, '127.0.0.1'), 'listening')
  const stop = async (): Promise<void> => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  }
  t.after(stop)
  const extension: ExtensionServer = {
    port: (server.address() as AddressInfo).port,
    received,
    paths,
    answers,
    onUpgrade: socket => void socket.pipe(socket),
    stop,
  }
  return extension
}

/** The aggregator's own requests have a user of their own. */
function isOfUser({ headers }: IncomingMessage): boolean {
  return !/^system:(?:kube-)?aggregator$/.test(String(headers['x-remote-user']))
}

function describe(request: IncomingMessage): ReceivedRequest {
  const { method = '', url = '', rawHeaders } = request
  const socket = request.socket as TLSSocket
  const proxy = socket.authorized ? String(socket.getPeerCertificate().subject.CN) : undefined
  return { method, url, rawHeaders, proxy }
}

export function json(value: unknown, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(value))
  }
}

/** Answers with what was sent. */
const echo: Answer = (request, response) => {
  response.writeHead(request.method === 'POST' ? 201 : 200, {
    'content-type': request.headers['content-type'] ?? 'application/json',
    'x-extension': 'yes',
  })
  request.pipe(response)
}

const [group = '', version = ''] = groupVersion.split('/')
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const aggregatedType = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'

export const flunders = {
  resource: 'flunders',
  responseKind: { group, version, kind: 'Flunder' },
  scope: 'Namespaced',
  singularResource: 'flunder',
  verbs,
}

const resourceListOfWardle = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion,
  resources: [{ name: 'flunders', singularName: 'flunder', namespaced: true, kind: 'Flunder', verbs }],
}

const usual: ReadonlyMap<string, Answer> = new Map([
  [
    '/apis',
    json(
      {
        kind: 'APIGroupDiscoveryList',
        apiVersion: 'apidiscovery.k8s.io/v2',
        items: [{ metadata: { name: group }, versions: [{ version, resources: [flunders] }] }],
      },
      { 'content-type': aggregatedType },
    ),
  ],
  [`/apis/${groupVersion}`, json(resourceListOfWardle)],
  [
    '/openapi/v3',
    json({
      paths: {
        [`apis/${groupVersion}`]: { serverRelativeURL: `/openapi/v3/apis/${groupVersion}?hash=ABC` },
        'apis/apps/v1': { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=EVIL' },
      },
    }),
  ],
  [`/openapi/v3/apis/${groupVersion}`, json({ openapi: '3.0.0', info: { title: 'wardle' }, paths: {} })],
  [
    '/openapi/v2',
    json({
      swagger: '2.0',
      paths: {
        [`/apis/${groupVersion}/flunders`]: {
          get: {
            responses: { 200: { description: 'OK', schema: { $ref: '#/definitions/wardle.Flunder' } } },
          },
        },
      },
      definitions: { 'wardle.Flunder': { type: 'object' } },
    }),
  ],
])
