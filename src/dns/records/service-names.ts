import type { Service } from '#/api/generated/core/v1.ts'
import { formatIp, parseIpLeniently } from '#/api/net/ip.ts'
import { isDnsName, recordTypes, type Question, type ResourceRecord } from '../dns-message.ts'
import type { DnsState, Resolution } from '../records.ts'
import { endpointsOf, type NamedEndpoint, type NamedPort } from './endpoints.ts'
import { addressRecord, isAsked, nameRecord, serviceRecord } from './make-records.ts'

/**
 * `labels` are those before `svc`: `name.namespace`, optionally preceded by a host, or by a port and a
 * protocol.
 */
export function resolveService(question: Question, labels: readonly string[], state: DnsState): Resolution {
  const [namespace, name, ...before] = labels.toReversed()
  if (namespace === undefined) return nothing
  if (name === undefined) return state.hasNamespace(namespace) ? nothing : missing
  const service = state.service(namespace, name)
  if (service === undefined || before.length > 2) return missing
  const fullName = `${name}.${namespace}.svc.${state.domain}`
  if (service.spec?.type === 'ExternalName') {
    return before.length === 0 ? resolveAlias(question, service, state) : missing
  }
  const targets = targetsOf(service, { namespace, name, fullName }, state)
  const [last, first] = before
  if (last === undefined) return answer(question, isKnown(service, targets) ? targets : undefined, state)
  if (last.startsWith('_')) return resolvePort(question, { targets, protocol: last, port: first }, state)
  if (first !== undefined) return missing
  const endpoints = endpointsOf(state.slicesOf(namespace, name)).filter(({ host }) => host === last)
  const asked = endpoints.map(endpoint => targetOf(endpoint, fullName))
  return answer(question, asked.length > 0 ? asked : undefined, state)
}

/** A name with addresses, and the ports of the service there. */
interface Target {
  readonly name: string
  readonly addresses: readonly string[]
  readonly ports: readonly NamedPort[]
}

const missing: Resolution = { is: 'missing' }
const nothing: Resolution = { is: 'found', answers: [] }

/** A headless service without ready endpoints does not exist in DNS. */
function isKnown({ spec }: Service, targets: readonly Target[]): boolean {
  return spec?.clusterIP !== 'None' || targets.length > 0
}

function targetsOf(
  { spec = {} }: Service,
  {
    namespace,
    name,
    fullName,
  }: { readonly namespace: string; readonly name: string; readonly fullName: string },
  state: DnsState,
): readonly Target[] {
  if (spec.clusterIP === 'None') {
    return endpointsOf(state.slicesOf(namespace, name)).map(endpoint => targetOf(endpoint, fullName))
  }
  const texts = spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? '']
  const addresses = texts.flatMap(text => parseIpLeniently(text) ?? []).map(formatIp)
  const ports = (spec.ports ?? []).map(({ name: port = '', protocol = 'TCP', port: number }) => {
    return { name: port, protocol: protocol.toLowerCase(), port: number }
  })
  return addresses.length === 0 ? [] : [{ name: fullName, addresses, ports }]
}

function targetOf({ host, address, ports }: NamedEndpoint, fullName: string): Target {
  return { name: `${host}.${fullName}`, addresses: [address], ports }
}

interface PortName {
  readonly targets: readonly Target[]
  /** With the leading underscore: `_tcp`, `_http`. */
  readonly protocol: string
  readonly port: string | undefined
}

function resolvePort(question: Question, { targets, protocol, port }: PortName, state: DnsState): Resolution {
  const offering = targets.flatMap(target => {
    const ports = target.ports.filter(each => {
      return `_${each.protocol}` === protocol && (port === undefined || `_${each.name}` === port)
    })
    return ports.length > 0 ? { ...target, ports } : []
  })
  if (offering.length === 0) return missing
  // `_tcp.name` is an empty non-terminal: it exists but has no records.
  return port === undefined ? nothing : answer(question, offering, state)
}

function answer(
  { name, type }: Question,
  targets: readonly Target[] | undefined,
  { ttlSeconds }: DnsState,
): Resolution {
  if (targets === undefined) return missing
  const addresses = new Set(targets.flatMap(target => target.addresses))
  if (type !== recordTypes.SRV) {
    const records = [...addresses].map(address => addressRecord(name, address, ttlSeconds))
    return { is: 'found', answers: records.filter(record => isAsked(type, record)) }
  }
  const offers = targets.flatMap(target => target.ports.map(({ port }) => ({ target: target.name, port })))
  const different = [...new Map(offers.map(offer => [`${offer.target} ${offer.port}`, offer])).values()]
  const weight = Math.max(1, Math.floor(100 / Math.max(1, different.length)))
  const additionals: ResourceRecord[] = targets.flatMap(target => {
    return target.addresses.map(address => addressRecord(target.name, address, ttlSeconds))
  })
  return {
    is: 'found',
    answers: different.map(offer => serviceRecord(name, { ...offer, weight, ttlSeconds })),
    additionals: different.length > 0 ? additionals : [],
  }
}

function resolveAlias(question: Question, { spec }: Service, { ttlSeconds }: DnsState): Resolution {
  const target = (spec?.externalName ?? '').replace(/\.$/, '')
  // The API accepts external names that are not valid in DNS.
  if (target === '' || !isDnsName(target)) return nothing
  const record = nameRecord(question.name, { type: recordTypes.CNAME, target, ttlSeconds })
  return isAsked(question.type, record)
    ? { is: 'found', answers: [record] }
    : { is: 'alias', answer: record, target }
}
