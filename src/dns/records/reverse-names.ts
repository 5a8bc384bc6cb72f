import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import { formatIp, parseIp } from '#/api/net/ip.ts'
import { recordTypes, type Question } from '../dns-message.ts'
import type { DnsState, Resolution } from '../records.ts'
import { endpointsOf } from './endpoints.ts'
import { nameRecord } from './make-records.ts'

/**
 * The address of a reverse name such as `5.0.244.10.in-addr.arpa` or its IPv6 equivalent; undefined for other
 * names.
 */
export function parseReverseName(name: string): string | undefined {
  const ipv4 = /^((?:\d{1,3}\.){4})in-addr\.arpa$/.exec(name)?.[1]
  const ipv6 = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name)?.[1]
  const digits = (ipv4 ?? ipv6)?.split('.').slice(0, -1).toReversed()
  if (digits === undefined) return undefined
  const text = ipv4 === undefined ? digits.join('').match(/.{4}/g)!.join(':') : digits.join('.')
  const ip = parseIp(text)
  return ip && formatIp(ip)
}

/** Services take precedence; an endpoint has one name for each of its services. */
export function resolveAddress({ name, type }: Question, address: string, state: DnsState): Resolution {
  const { domain, ttlSeconds } = state
  const services = state.servicesAt(address).map(({ metadata }) => {
    return `${metadata.name}.${metadata.namespace}.svc.${domain}`
  })
  const targets =
    services.length > 0 ? services : state.slicesAt(address).flatMap(slice => namesIn(slice, address, domain))
  if (targets.length === 0) return { is: 'foreign' }
  if (type !== recordTypes.PTR && type !== recordTypes.ANY) return { is: 'found', answers: [] }
  const answers = [...new Set(targets)].map(target =>
    nameRecord(name, { type: recordTypes.PTR, target, ttlSeconds }),
  )
  return { is: 'found', answers }
}

function namesIn(slice: EndpointSlice, address: string, domain: string): readonly string[] {
  const service = slice.metadata.labels?.['kubernetes.io/service-name']
  if (service === undefined) return []
  const endpoints = endpointsOf([slice]).filter(endpoint => endpoint.address === address)
  return endpoints.map(({ host }) => `${host}.${service}.${slice.metadata.namespace}.svc.${domain}`)
}
