import type { Pod, Service } from '#/api/generated/core/v1.ts'
import { quote } from '#/api/text/quote.ts'

export interface ForwardedPort {
  /** 0 for a free one. */
  readonly local: number
  readonly remote: number
}

/**
 * The ports of a pod that arguments such as `8080:http` name: ports of the pod, or of the service that it was chosen
 * for, as `8080:80`. Throws Error.
 */
export function resolvePorts(
  given: readonly string[],
  { pod, service }: { readonly pod: Pod; readonly service?: Service | undefined },
): readonly string[] {
  const udpPorts = service ? udpPortsOfService(service) : udpPortsOfPod(pod)
  for (const text of given) {
    const { remote } = splitPort(text)
    const port = numberIn(remote) ?? (service ? servicePortNamed(service, remote) : podPortNamed(pod, remote))
    if (udpPorts.has(port)) throw new Error(`UDP protocol is not supported for ${remote}`)
  }
  return given.map(text => {
    const { local, remote } = splitPort(text)
    if (service) return servicePort(text, service, pod)
    if (remote === '') throw new Error('remote port cannot be empty')
    const port = numberIn(remote) === undefined ? String(podPortNamed(pod, remote)) : remote
    return local === remote ? port : `${local}:${port}`
  })
}

function servicePort(text: string, service: Service, pod: Pod): string {
  const { local: givenLocal, remote } = splitPort(text)
  const number = numberIn(remote) ?? servicePortNamed(service, remote)
  const local = givenLocal === remote ? String(number) : givenLocal
  const target = String(targetPort(service, pod, number))
  return local === target ? target : `${local}:${target}`
}

function targetPort({ metadata, spec }: Service, pod: Pod, number: number): number {
  const found = spec?.ports?.find(({ port }) => port === number)
  if (found === undefined) throw new Error(`Service ${metadata.name} does not have a service port ${number}`)
  const { targetPort: target } = found
  if (spec?.clusterIP === 'None') return number
  if (typeof target === 'string') return podPortNamed(pod, target)
  return target || number
}

/** `8080:80` has two ports; anything else is both. */
function splitPort(text: string): { readonly local: string; readonly remote: string } {
  const [local = '', remote = local, ...more] = text.split(':')
  return { local, remote: more.length > 0 ? local : remote }
}

function numberIn(text: string): number | undefined {
  return /^[+-]?\d+$/.test(text) ? Number(text) : undefined
}

function servicePortNamed({ metadata, spec }: Service, name: string): number {
  const found = spec?.ports?.find(each => each.name === name)
  if (found !== undefined) return found.port
  throw new Error(`Service '${metadata.name}' does not have a named port '${name}'`)
}

function podPortNamed({ metadata, spec }: Pod, name: string): number {
  const containers = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
  const found = containers.flatMap(({ ports = [] }) => ports).find(each => each.name === name)
  if (found !== undefined) return found.containerPort
  throw new Error(`Pod '${metadata.name}' does not have a named port '${name}'`)
}

interface ProtocolPort {
  readonly number: number
  readonly protocol: string | undefined
}

function udpPortsOfService({ spec }: Service): ReadonlySet<number> {
  return onlyUdp((spec?.ports ?? []).map(({ port, protocol }) => ({ number: port, protocol })))
}

function udpPortsOfPod({ spec }: Pod): ReadonlySet<number> {
  const ports = (spec?.containers ?? []).flatMap(each => each.ports ?? [])
  return onlyUdp(ports.map(({ containerPort, protocol }) => ({ number: containerPort, protocol })))
}

function onlyUdp(ports: readonly ProtocolPort[]): ReadonlySet<number> {
  const numbers = (protocol: string): ReadonlySet<number> =>
    new Set(ports.filter(each => each.protocol === protocol).map(({ number }) => number))
  return numbers('UDP').difference(numbers('TCP'))
}

/** Reads `5000`, `8888:5000` and `:5000`. Throws Error. */
export function parsePorts(given: readonly string[]): readonly ForwardedPort[] {
  return given.map(text => {
    const [first = '', second, ...more] = text.split(':')
    if (more.length > 0) throw new Error(`invalid port format '${text}'`)
    const local = parsePort('local', second !== undefined && first === '' ? '0' : first)
    const remote = parsePort('remote', second ?? first)
    if (remote === 0) throw new Error('remote port must be > 0')
    return { local, remote }
  })
}

function parsePort(side: 'local' | 'remote', text: string): number {
  const refused = (reason: string): Error =>
    new Error(`error parsing ${side} port '${text}': strconv.ParseUint: parsing ${quote(text)}: ${reason}`)
  if (!/^\d+$/.test(text)) throw refused('invalid syntax')
  const port = Number(text)
  if (port > 65_535) throw refused('value out of range')
  return port
}
