/**
 * Resolves the names of a cluster from services, endpoint slices and namespaces, as a pure function.
 * Implements the Kubernetes DNS-based service discovery specification, version 1.1.0.
 * https://github.com/kubernetes/dns/blob/master/docs/specification.md
 */
import type { Service } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'
import type { PodNames } from './dns-configuration.ts'
import { recordTypes, type Question, type ResourceRecord } from './dns-message.ts'
import { addressRecord, isAsked, nameRecord, soaRecord, textRecord } from './records/make-records.ts'
import { parseReverseName, resolveAddress } from './records/reverse-names.ts'
import { resolveService } from './records/service-names.ts'

/** The state of the cluster needed for name resolution. Keys and addresses are canonical. */
export interface DnsState {
  /** Lower case, without the trailing dot: `cluster.local`. */
  readonly domain: string
  /** TTL of all answers, also of negative ones: a name may exist as soon as its service is created. */
  readonly ttlSeconds: number
  readonly pods: PodNames
  /** Addresses of the cluster DNS. */
  readonly nameServers: readonly string[]
  hasNamespace(name: string): boolean
  service(namespace: string, name: string): Service | undefined
  slicesOf(namespace: string, name: string): readonly EndpointSlice[]
  /** Services with this cluster IP; `slicesAt` returns slices with an endpoint at this address. */
  servicesAt(address: string): readonly Service[]
  slicesAt(address: string): readonly EndpointSlice[]
  /** True if a pod of the namespace has this address; undefined while pods are not known. */
  hasPodAt(namespace: string, address: string): boolean | undefined
}

export type Resolution =
  /** The name exists; without answers it has no records of the queried type. */
  | {
      readonly is: 'found'
      readonly answers: readonly ResourceRecord[]
      readonly additionals?: readonly ResourceRecord[]
    }
  /** A CNAME, to be followed unless the CNAME record itself was queried. */
  | { readonly is: 'alias'; readonly answer: ResourceRecord; readonly target: string }
  | { readonly is: 'missing' }
  | { readonly is: 'unknown' }
  /** Not a name of the cluster. */
  | { readonly is: 'foreign' }

export function resolveName(question: Question, state: DnsState): Resolution {
  const name = question.name.toLowerCase()
  const address = parseReverseName(name)
  if (address !== undefined) return resolveAddress(question, address, state)
  if (name === state.domain) return resolveApex(question, state)
  if (!name.endsWith(`.${state.domain}`)) return { is: 'foreign' }
  const labels = name.slice(0, -state.domain.length - 1).split('.')
  const kind = labels.at(-1)
  const rest = labels.slice(0, -1)
  if (kind === 'svc') return resolveService(question, rest, state)
  if (kind === 'pod' && state.pods !== 'disabled') return resolvePod(question, rest, state)
  if (kind === 'dns') return resolveNameServer(question, rest, state)
  if (kind === 'dns-version' && rest.length === 0) {
    const version = textRecord(question.name, specification, state.ttlSeconds)
    return found([version].filter(record => isAsked(question.type, record)))
  }
  return { is: 'missing' }
}

const specification = '1.1.0'

function found(answers: readonly ResourceRecord[]): Resolution {
  return { is: 'found', answers }
}

function resolveApex(question: Question, state: DnsState): Resolution {
  const { domain, ttlSeconds, nameServers } = state
  if (question.type === recordTypes.SOA || question.type === recordTypes.ANY)
    return found([soaRecord(domain, domain, ttlSeconds)])
  if (question.type !== recordTypes.NS) return found([])
  const server = `ns.dns.${domain}`
  return {
    is: 'found',
    answers: [nameRecord(question.name, { type: recordTypes.NS, target: server, ttlSeconds })],
    additionals: nameServers.map(address => addressRecord(server, address, ttlSeconds)),
  }
}

function resolveNameServer({ name, type }: Question, labels: readonly string[], state: DnsState): Resolution {
  if (labels.length === 0) return found([])
  if (labels.length > 1 || labels[0] !== 'ns') return { is: 'missing' }
  const records = state.nameServers.map(address => addressRecord(name, address, state.ttlSeconds))
  return found(records.filter(record => isAsked(type, record)))
}

/** `10-244-0-5.default.pod`: resolves to the address in the name, whether or not a pod has it. */
function resolvePod({ name, type }: Question, labels: readonly string[], state: DnsState): Resolution {
  const [namespace, dashed] = labels.toReversed()
  if (namespace === undefined) return found([])
  if (labels.length > 2 || !state.hasNamespace(namespace)) return { is: 'missing' }
  if (dashed === undefined) return found([])
  const ip = parseIp(dashed.replaceAll('-', '.')) ?? parseIp(dashed.replaceAll('-', ':'))
  if (ip === undefined) return { is: 'missing' }
  const address = formatIp(ip)
  const isPod = state.pods !== 'verified' || state.hasPodAt(namespace, address)
  if (!isPod) return { is: isPod === undefined ? 'unknown' : 'missing' }
  return found([addressRecord(name, address, state.ttlSeconds)].filter(record => isAsked(type, record)))
}
