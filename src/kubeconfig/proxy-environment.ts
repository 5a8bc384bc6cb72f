/**
 * The proxy that the environment selects for a server, by the rules of Go programs: HTTPS_PROXY or HTTP_PROXY for the
 * scheme of the server, unless NO_PROXY excludes it. Loopback addresses are never proxied.
 */
import { cidrContains, parseCidr } from '#/api/net/cidr.ts'
import { parseIp, unmapIp, type Ip } from '#/api/net/ip.ts'

export type Environment = Readonly<Record<string, string | undefined>>

/** Undefined if the server is to be reached directly. */
export function proxyFromEnvironment(server: string, environment: Environment): string | undefined {
  const { protocol, hostname, port } = new URL(server)
  const isSecure = protocol === 'https:'
  const proxy = readProxy(valueOf(environment, isSecure ? 'HTTPS_PROXY' : 'HTTP_PROXY'))
  if (proxy === undefined) return undefined
  const host = hostname.replace(/^\[(.*)\]$/, '$1').toLowerCase()
  const address = parseIp(host)
  const target: Target = {
    host,
    port: port === '' ? (isSecure ? '443' : '80') : port,
    ip: address && unmapIp(address),
  }
  const exceptions = valueOf(environment, 'NO_PROXY').toLowerCase().split(',')
  const isDirect = isLoopback(target) || exceptions.some(each => excludes(each.trim(), target))
  return isDirect ? undefined : proxy
}

interface Target {
  readonly host: string
  readonly port: string
  readonly ip: Ip | undefined
}

function valueOf(environment: Environment, name: string): string {
  return environment[name] || environment[name.toLowerCase()] || ''
}

/** Undefined if the text is not a URL, with or without a scheme. */
function readProxy(text: string): string | undefined {
  if (text === '') return undefined
  const url = text.includes('://') ? text : `http://${text}`
  return URL.canParse(url) ? url : undefined
}

const loopback = parseCidr('127.0.0.0/8')!
const loopbackIpv6 = parseCidr('::1/128')!

function isLoopback({ host, ip }: Target): boolean {
  if (ip === undefined) return host === 'localhost'
  return cidrContains(loopback, ip) || cidrContains(loopbackIpv6, ip)
}

/** True if the entry of NO_PROXY, in lower case, matches the target. */
function excludes(entry: string, { host, port, ip }: Target): boolean {
  if (entry === '*') return true
  const cidr = parseCidr(entry)
  if (cidr !== undefined) return ip !== undefined && cidrContains(cidr, ip)
  const { host: given, port: givenPort } = splitPort(entry)
  if (given === '' || (givenPort !== '' && givenPort !== port)) return false
  const address = parseIp(given)
  if (address !== undefined || ip !== undefined) {
    const other = address && unmapIp(address)
    return other !== undefined && other.family === ip?.family && other.value === ip.value
  }
  const domain = given.replace(/^\*(?=\.)/, '')
  return domain.startsWith('.') ? host.endsWith(domain) : host === domain || host.endsWith(`.${domain}`)
}

function splitPort(entry: string): { readonly host: string; readonly port: string } {
  const [, bracketed, bracketedPort] = /^\[([^\]]*)\](?::(.*))?$/.exec(entry) ?? []
  if (bracketed !== undefined) return { host: bracketed, port: bracketedPort ?? '' }
  const [, host, port] = /^([^:]*):([^:]*)$/.exec(entry) ?? []
  return host === undefined ? { host: entry, port: '' } : { host, port: port ?? '' }
}
