/** The configurations of all sources as one. */
import type {
  Backend,
  ProxyConfiguration,
  ProxyListener,
  ServerCertificate,
  VirtualHost,
} from './proxy-configuration.ts'

/**
 * One configuration of all sources. Listeners with the same address and port become one: of virtual hosts
 * with the same host name the routes of earlier sources come first, and of several certificates for a name
 * the first counts. A listener whose protocol differs from that of an earlier source is left out, since a
 * socket has one protocol.
 */
export function mergeConfigurations(sources: readonly ProxyConfiguration[]): ProxyConfiguration {
  const [only, ...others] = sources
  if (only !== undefined && others.length === 0) return only
  const listeners = new Map<string, ProxyListener>()
  const backends = new Map<string, Backend>()
  for (const source of sources) {
    for (const listener of source.listeners) {
      const key = `${listener.host} ${listener.port}`
      const known = listeners.get(key)
      if (known === undefined) listeners.set(key, listener)
      else if (known.protocol === listener.protocol) listeners.set(key, mergeListeners(known, listener))
    }
    for (const [id, backend] of source.backends) if (!backends.has(id)) backends.set(id, backend)
  }
  return { listeners: [...listeners.values()], backends }
}

function mergeListeners(first: ProxyListener, second: ProxyListener): ProxyListener {
  return {
    ...first,
    certificates: mergeCertificates(first.certificates, second.certificates),
    virtualHosts: mergeVirtualHosts(first.virtualHosts, second.virtualHosts),
  }
}

function mergeCertificates(
  first: readonly ServerCertificate[],
  second: readonly ServerCertificate[],
): readonly ServerCertificate[] {
  const named = new Set(first.flatMap(({ hostnames }) => hostnames))
  const hasDefault = first.some(({ hostnames }) => hostnames.length === 0)
  const added = second.flatMap(certificate => {
    if (certificate.hostnames.length === 0) return hasDefault ? [] : [certificate]
    const hostnames = certificate.hostnames.filter(hostname => !named.has(hostname))
    return hostnames.length === 0 ? [] : [{ ...certificate, hostnames }]
  })
  return [...first, ...added]
}

function mergeVirtualHosts(
  first: readonly VirtualHost[],
  second: readonly VirtualHost[],
): readonly VirtualHost[] {
  const keyOf = ({ hostname, wildcard }: VirtualHost): string =>
    hostname.startsWith('*.') ? `${hostname} ${wildcard}` : hostname
  const merged = new Map(first.map(host => [keyOf(host), host]))
  for (const host of second) {
    const known = merged.get(keyOf(host))
    merged.set(keyOf(host), known ? { ...known, routes: [...known.routes, ...host.routes] } : host)
  }
  return [...merged.values()]
}
