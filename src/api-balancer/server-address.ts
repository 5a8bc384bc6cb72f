/** Addresses of API servers as `HOST:PORT`: what `k8ts join` writes and what the balancer's state shows. */
import { formatIp, parseIp } from '#/api/net/ip.ts'

export interface ServerAddress {
  readonly host: string
  readonly port: number
}

/** The host is an IPv4 address, an IPv6 address in brackets or a DNS name. Undefined if the text is neither. */
export function parseServerAddress(text: string): ServerAddress | undefined {
  const [, ipv6, name = '', digits] = addressPattern.exec(text) ?? []
  const port = Number(digits)
  const host = ipv6 === undefined ? canonicalHost(name) : canonicalIp(ipv6, 6)
  return host !== undefined && port >= 1 && port <= portMax ? { host, port } : undefined
}

/** Equal addresses have equal texts if they were parsed. */
export function formatServerAddress({ host, port }: ServerAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

const portMax = 65_535
const addressPattern = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/
const namePattern = /^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*$/
const nameCharactersMax = 253

/** A name that ends with a number is no DNS name but an IPv4 address, perhaps an invalid one. */
function canonicalHost(text: string): string | undefined {
  const name = text.toLowerCase()
  if (/(?:^|\.)\d+$/.test(name)) return canonicalIp(name, 4)
  return name.length <= nameCharactersMax && namePattern.test(name) ? name : undefined
}

function canonicalIp(text: string, family: 4 | 6): string | undefined {
  const ip = parseIp(text)
  return ip?.family === family ? formatIp(ip) : undefined
}
