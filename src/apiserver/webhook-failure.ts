/** Failed webhook calls, described in the wording of client-go. */
import { messageOf } from '#/base/message-of.ts'
import { parseJson } from '#/api/text/json.ts'
import { quote } from '#/api/text/quote.ts'
import { HttpClientError } from '#/platform/http-client.ts'
import { RemoteTimeoutError, type RemoteResponse } from './remote-server.ts'

/**
 * The webhook could not be called or its response could not be decoded; its failurePolicy decides what
 * happens.
 */
export class WebhookCallError extends Error {
  /** HTTP status code for the webhook metrics. */
  readonly code: number

  /** What happened, without a prefix that says which call failed. */
  readonly reason: string

  constructor(message: string, code: number, options: ErrorOptions & { readonly reason?: string } = {}) {
    super(message, options)
    this.name = 'WebhookCallError'
    this.code = code
    this.reason = options.reason ?? message
  }
}

/** Describes a call that got no response. */
export function describeFailure(error: unknown, address: string): string {
  if (error instanceof RemoteTimeoutError) return 'context deadline exceeded'
  if (isAbortion(error)) return 'context canceled'
  if (!(error instanceof HttpClientError)) return messageOf(error)
  const { code = '', message } = rootOf(error)
  const known = networkTexts[code]
  if (known !== undefined) return error.reason === 'unreachable' ? `dial tcp ${address}: ${known}` : known
  if (untrustedCodes.has(code)) return untrusted('certificate signed by unknown authority')
  if (expiredCodes.has(code)) return untrusted('certificate has expired or is not yet valid')
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return untrusted(message)
  const [, alert] = /^ERR_SSL_.*_ALERT_(\w+)$/.exec(code) ?? []
  if (alert !== undefined) return `remote error: tls: ${alert.toLowerCase().replaceAll('_', ' ')}`
  return error.message.trim()
}

function isAbortion(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

interface Failure {
  readonly code?: string
  readonly message: string
}

/** The innermost cause: the system error. */
function rootOf(error: Error): Failure {
  let root: Error = error
  for (let depth = 0; root.cause instanceof Error && depth < causesMax; depth++) root = root.cause
  return root
}

const causesMax = 10

const networkTexts: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  ECONNRESET: 'read: connection reset by peer',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  ENOTFOUND: 'lookup: no such host',
  ETIMEDOUT: 'i/o timeout',
}

const untrustedCodes: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
])

const expiredCodes: ReadonlySet<string> = new Set(['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID'])

function untrusted(why: string): string {
  return `tls: failed to verify certificate: x509: ${why}`
}

/** Describes a response with an error status; a Status body provides the message. */
export function describeRefusal({ status, headers, bytes }: RemoteResponse): string {
  const said = statusMessage(bytes)
  if (said !== undefined) return said
  const type = headers['content-type'] ?? ''
  const isText = type === '' || type.startsWith('text/')
  const text = isText ? Buffer.from(bytes.subarray(0, textBytesMax)).toString().trim() : 'unknown'
  if (status === 403 || status === 415) return text
  const known = refusals[status]
  if (known !== undefined) return known
  if (status >= 500)
    return `an error on the server (${quote(text)}) has prevented the request from succeeding`
  return `the server responded with the status code ${status} but did not return more information`
}

/** Maximum size of a response body quoted in an error. */
const textBytesMax = 2_048

const refusals: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  406: 'the server was unable to respond with a content type that the client supports',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504:
    'the server was unable to return a response in the time allotted, ' +
    'but may still be processing the request',
}

function statusMessage(bytes: Uint8Array): string | undefined {
  try {
    const value = parseJson(bytes)
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
    const { kind, message } = value
    return kind === 'Status' && typeof message === 'string' && message !== '' ? message : undefined
  } catch {
    // Not JSON, e.g. an HTML page.
    return undefined
  }
}
