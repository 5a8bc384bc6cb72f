/**
 * The annotations of an Ingress. Those with the prefix of this controller count more than the same ones of
 * ingress-nginx, which manifests often have.
 */
import { parseCidr } from '#/api/net/cidr.ts'
import type { Backend, RouteTimeouts } from '#/http-proxy/proxy-configuration.ts'

const annotationPrefix = 'ingress.k8ts.io/'
const nginxPrefix = 'nginx.ingress.kubernetes.io/'

export interface IngressSettings {
  readonly protocol: Backend['protocol']
  readonly timeouts: RouteTimeouts
  readonly bodyBytesMax: number | undefined
  readonly allowedClientCidrs: readonly string[] | undefined
  /** Requests in clear for hosts with TLS are redirected. */
  readonly isSslRedirect: boolean
  /** Annotations that cannot be understood; they are ignored. */
  readonly problems: readonly string[]
}

export function readIngressAnnotations(annotations: Readonly<Record<string, string>> = {}): IngressSettings {
  const problems: string[] = []
  const read = <T>(name: string, parse: (text: string) => T | undefined): T | undefined => {
    const prefix = annotations[annotationPrefix + name] === undefined ? nginxPrefix : annotationPrefix
    const text = annotations[prefix + name]
    if (text === undefined) return undefined
    const value = parse(text.trim())
    if (value === undefined)
      problems.push(`annotation ${prefix}${name}: invalid value ${JSON.stringify(text)}`)
    return value
  }
  const connectMs = read('proxy-connect-timeout', parseSeconds)
  const readMs = read('proxy-read-timeout', parseSeconds)
  const sendMs = read('proxy-send-timeout', parseSeconds)
  const requestMs = read('request-timeout', parseSeconds)
  const idleMs = readMs === undefined && sendMs === undefined ? undefined : Math.max(readMs ?? 0, sendMs ?? 0)
  const bodyBytesMax = read('proxy-body-size', parseSize)
  const allowed = read('whitelist-source-range', parseCidrs) ?? read('allowlist-source-range', parseCidrs)
  return {
    protocol: read('backend-protocol', text => protocols.get(text.toUpperCase())) ?? 'http1',
    timeouts: {
      ...(connectMs !== undefined && { connectMs }),
      ...(idleMs !== undefined && { backendIdleMs: idleMs }),
      ...(requestMs !== undefined && { requestMs }),
    },
    bodyBytesMax: bodyBytesMax === 0 ? undefined : bodyBytesMax,
    allowedClientCidrs: allowed,
    isSslRedirect: read('ssl-redirect', parseBoolean) ?? true,
    problems,
  }
}

const protocols: ReadonlyMap<string, Backend['protocol']> = new Map([
  ['HTTP', 'http1'],
  ['HTTPS', 'https1'],
  ['GRPC', 'http2'],
  ['GRPCS', 'https2'],
])

/** Seconds, with an optional `s`, as ingress-nginx accepts them. */
function parseSeconds(text: string): number | undefined {
  const match = /^(\d{1,6})s?$/.exec(text)
  return match ? Number(match[1]) * 1_000 : undefined
}

/** Bytes, or with a unit of nginx: `8m`. */
function parseSize(text: string): number | undefined {
  const match = /^(\d{1,9})([kmg]?)$/i.exec(text)
  if (match === null) return undefined
  const factors: Readonly<Record<string, number>> = { '': 1, 'k': 1_024, 'm': 1_024 ** 2, 'g': 1_024 ** 3 }
  return Number(match[1]) * factors[match[2]!.toLowerCase()]!
}

function parseBoolean(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined
}

/** Ranges or single addresses. */
function parseCidrs(text: string): readonly string[] | undefined {
  const ranges = text.split(',').map(each => each.trim())
  const cidrs = ranges.map(range =>
    range.includes('/') ? range : `${range}/${range.includes(':') ? 128 : 32}`,
  )
  return cidrs.every(cidr => parseCidr(cidr) !== undefined) ? cidrs : undefined
}
