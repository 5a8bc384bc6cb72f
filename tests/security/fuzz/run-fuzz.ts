/**
 * Sends the inputs of some seeds through the handler chain, and posts the number of correct responses. Runs
 * as a worker thread.
 */
import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { parentPort, workerData } from 'node:worker_threads'
import type { ApiResponse, Peer } from '#/api/transport.ts'
import type { Handle } from '#/apiserver/pipeline.ts'
import { apiRequest, type RequestParts } from '../api-request.ts'
import { users } from '../users.ts'
import { drawBody, type Target } from './bodies.ts'
import type { TestCertificates } from './certificates.ts'
import { Draw } from './draw.ts'
import { drawHeaders } from './headers.ts'
import { marked, objects } from './objects.ts'
import { drawMethod, drawPath, drawQuery } from './paths.ts'
import { whyUnauthorized } from './rights.ts'
import { startFuzzedServer } from './server.ts'
import { drawToken } from './tokens.ts'

interface Input {
  readonly who: 'anonymous' | 'nobody' | 'administrator'
  readonly method: string
  readonly url: string
  readonly parts: RequestParts
}

class Fuzz {
  readonly #errors: string[] = []
  readonly #targets: Target[] = []
  #handle: Handle | undefined
  #token = ''
  #certificates: TestCertificates | undefined

  async start(): Promise<void> {
    const { handle, certificates } = await startFuzzedServer(message => void this.#errors.push(message))
    this.#handle = handle
    this.#certificates = certificates
    await this.#fill()
  }

  async play(seed: number): Promise<void> {
    const input = this.#input(seed)
    const why = await this.#whyWrong(input).catch((error: unknown) => inspect(error))
    const errors = this.#errors.splice(0)
    if (why !== undefined) throw new Error(`${describe(seed, input)}: ${why}\n${errors.join('\n')}`)
  }

  async #whyWrong({ who, method, url, parts }: Input): Promise<string | undefined> {
    const stopping = new AbortController()
    const request = { ...apiRequest(method, url, parts), signal: stopping.signal }
    const response = await this.#handle!(request)
    // A watch ends only when it is aborted.
    if (response.body?.type === 'stream') stopping.abort(over)
    const { status } = response
    if (status >= 500) return theirs.test(bodyOf(response)) ? undefined : `${status} ${bodyOf(response)}`
    if (this.#errors.length > 0) return `${status}, and an error in the log`
    const why = status < 400 && who !== 'administrator' && whyUnauthorized(who, request, bodyOf(response))
    return why ? `${status}, but ${why}: ${bodyOf(response).slice(0, 500)}` : undefined
  }

  #input(seed: number): Input {
    const draw = new Draw(seed)
    const nobody: Peer = { address: '192.0.2.1' }
    switch (seed % 5) {
      case 0:
      case 1: {
        const who = draw.one(['anonymous', 'nobody', 'administrator'] as const)
        const peer = who === 'anonymous' ? {} : { user: users[who] }
        const url = `${drawPath(draw)}${drawQuery(draw)}`
        // Writes of an administrator must not affect the next input.
        const dry =
          who === 'administrator' ? `${url.includes('?') ? '&' : '?'}dryRun=All&timeoutSeconds=1` : ''
        const headers = { 'content-type': 'application/json', ...drawHeaders(draw) }
        const body = draw.oneIn(2) ? draw.one(smallBodies) : ''
        return {
          who,
          method: drawMethod(draw),
          url: `${url}${dry}`,
          parts: { headers, body, peer: { ...nobody, ...peer } },
        }
      }
      case 2: {
        const scheme = draw.one(['Bearer', 'Bearer', 'Bearer', 'bearer', 'BEARER', 'Basic', 'Token'])
        const authorization = `${scheme} ${drawToken(draw, this.#token)}`
        const headers = { ...(draw.oneIn(4) && drawHeaders(draw)), authorization }
        const url = draw.one(['/api', '/apis', marked, '/openid/v1/jwks', '/metrics', drawPath(draw)])
        return { who: 'anonymous', method: 'GET', url, parts: { headers, peer: nobody } }
      }
      case 3: {
        const { who, certificate } = draw.one(this.#certificates!.peers)
        const peer: Peer = draw.oneIn(8)
          ? { ...nobody, certificateError: draw.one(['CERT_HAS_EXPIRED', 'SELF_SIGNED_CERT_IN_CHAIN', '']) }
          : { ...nobody, certificate }
        const headers = draw.oneIn(2) ? drawHeaders(draw) : {}
        const url = draw.one(['/api', marked, '/metrics', `${drawPath(draw)}${drawQuery(draw)}`])
        return {
          who: peer.certificate ? who : 'anonymous',
          method: draw.one(['GET', 'DELETE', 'POST']),
          url,
          parts: { headers, peer },
        }
      }
      default: {
        const { method, url, headers, body } = drawBody(draw, this.#targets)
        return { who: 'administrator', method, url, parts: { headers, body } }
      }
    }
  }

  async #fill(): Promise<void> {
    const handle = this.#handle!
    for (const [folder, object] of objects) {
      const { metadata } = object as { readonly metadata: { readonly name: string } }
      const path = `${folder}/${metadata.name}`
      const accepts = ['application/json', 'application/vnd.kubernetes.protobuf']
      const read = (accept: string): Promise<ApiResponse> =>
        handle(apiRequest('GET', path, { headers: { accept } }))
      const [json, protobuf] = await Promise.all(accepts.map(read))
      this.#targets.push({
        folder,
        name: metadata.name,
        json: asWritten(bodyOf(json!)),
        protobuf: bytesOf(protobuf!),
      })
    }
    const tokens = '/api/v1/namespaces/default/serviceaccounts/marked/token'
    const made = await handle(apiRequest('POST', tokens, { body: { spec: {} } }))
    this.#token = (JSON.parse(bodyOf(made)) as { readonly status: { readonly token: string } }).status.token
    const authorization = `Bearer ${this.#token}`
    const checked = await handle(apiRequest('GET', '/api', { headers: { authorization }, peer: {} }))
    assert.equal(checked.status, 200, 'the token that others are made of is good')
  }
}

const over = new Error('the answer is known')

/** Without the fields set by the server, which would be rejected. */
function asWritten(text: string): string {
  const object = JSON.parse(text) as { readonly metadata: Readonly<Record<string, unknown>> }
  const {
    managedFields: _m,
    resourceVersion: _r,
    uid: _u,
    creationTimestamp: _c,
    ...metadata
  } = object.metadata
  return JSON.stringify({ ...object, metadata })
}

const attributes = { namespace: 'default', verb: 'get', resource: 'secrets' }
const smallBodies = [
  '{}',
  'null',
  '[]',
  '{"kind":"DeleteOptions","apiVersion":"v1"}',
  '{"metadata":{"name":"x"}}',
  JSON.stringify({ spec: { resourceAttributes: attributes } }),
  JSON.stringify({ spec: { namespace: 'default' } }),
  JSON.stringify({ spec: { user: 'root', groups: ['system:masters'], resourceAttributes: attributes } }),
  JSON.stringify({ spec: { token: 'x', audiences: ['y'], expirationSeconds: 600 } }),
  JSON.stringify({ metadata: { name: 'marked' }, target: { kind: 'Node', name: 'marked' } }),
]

/**
 * Server errors that Kubernetes returns, too: 504 for a resourceVersion that is too large, and 500 for one that is not
 * a number, an apply patch that does not match the schema, an unknown directive in a patch, and an invalid Binding.
 */
const theirs = new RegExp(
  [
    'Too large resource version',
    '"message":\\s*"failed to create typed patch object ',
    '"message":\\s*"unknown patch type: ',
    '"message":\\s*"(?:resourceVersion: .*)?strconv\\.ParseUint: ',
    '"message":\\s*"\\[?target\\.',
  ].join('|'),
)

function bytesOf({ body }: ApiResponse): Buffer {
  return body?.type === 'value' ? Buffer.concat(body.bytes()) : Buffer.alloc(0)
}

function bodyOf(response: ApiResponse): string {
  return bytesOf(response).toString()
}

function describe(seed: number, { who, method, url, parts }: Input): string {
  const body = parts.body instanceof Uint8Array ? Buffer.from(parts.body).toString('latin1') : ''
  const headers = JSON.stringify(parts.headers).slice(0, 800)
  return `seed ${seed}: ${who} ${method} ${url.slice(0, 500)} ${headers} ${body.slice(0, 2_000)}`
}

/** Stops early: one bug affects many seeds. */
const failuresMax = 10

const { from, to } = workerData as { readonly from: number; readonly to: number }
const fuzz = new Fuzz()
await fuzz.start()
const failures: unknown[] = []
for (let seed = from; seed < to && failures.length < failuresMax; seed++) {
  await fuzz.play(seed).catch((error: unknown) => void failures.push(error))
}
if (failures.length > 0) throw new Error(failures.map(error => (error as Error).message).join('\n\n'))
parentPort!.postMessage(to - from)
