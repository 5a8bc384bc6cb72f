import { messageOf } from '#/base/message-of.ts'
import type { Ingress, IngressBackend, IngressLoadBalancerIngress } from '#/api/generated/networking/v1.ts'
import type { DescribeContext, Describer } from '../describer.ts'
import { services } from '../related-resources.ts'
import { endpointAddresses, listEndpointSlices } from '../sections/endpoint-addresses.ts'
import { describeEvents } from '../sections/events.ts'
import { describeAnnotations, describeLabels } from '../sections/metadata.ts'

export const describeIngress: Describer<Ingress> = async (ingress, context) => {
  const { writer } = context
  const { metadata, spec = {}, status } = ingress
  const textOf = (backend: IngressBackend): Promise<string> => {
    return backendText(backend, metadata.namespace, context)
  }
  const defaultBackend = spec.defaultBackend ? await textOf(spec.defaultBackend) : '<default>'
  writer.fields(0, [['Name', metadata.name ?? '']])
  describeLabels(writer, ingress)
  writer.fields(0, [
    ['Namespace', metadata.namespace ?? ''],
    ['Address', addressesText(status?.loadBalancer?.ingress)],
    ['Ingress Class', spec.ingressClassName ?? '<none>'],
    ['Default backend', defaultBackend],
  ])
  if (spec.tls?.length) writer.write(0, 'TLS:\n')
  for (const { secretName, hosts = [] } of spec.tls ?? []) {
    writer.write(1, `${secretName ? `${secretName} terminates` : 'SNI routes'} ${hosts.join(',')}\n`)
  }
  writer.write(0, 'Rules:\n')
  writer.rows(1, [
    ['Host', 'Path', 'Backends'],
    ['----', '----', '--------'],
  ])
  const rules = (spec.rules ?? []).filter(({ http }) => http)
  for (const { host, http } of rules) {
    writer.rows(1, [[host || '*', '']])
    for (const { path = '', backend } of http?.paths ?? []) {
      writer.rows(2, [['', `${path} `, await textOf(backend)]])
    }
  }
  if (rules.length === 0) writer.rows(1, [['*', '*', defaultBackend]])
  describeAnnotations(writer, ingress)
  await describeEvents(ingress, context)
}

/** `web:80 (10.0.0.1:8080)`. */
async function backendText(
  { service, resource }: IngressBackend,
  namespace: string | undefined,
  context: DescribeContext,
): Promise<string> {
  if (service) {
    const { name, port: { number = 0, name: portName = '' } = {} } = service
    const addresses = await serviceAddresses({ namespace, name, number, portName }, context)
    return `${name}:${number === 0 ? portName : number} (${addresses})`
  }
  if (!resource) return ''
  return `APIGroup: ${resource.apiGroup ?? '<none>'}, Kind: ${resource.kind}, Name: ${resource.name}`
}

interface BackendPort {
  readonly namespace: string | undefined
  /** Of the Service. */
  readonly name: string
  /** Zero if the port has a name. */
  readonly number: number
  readonly portName: string
}

async function serviceAddresses(
  { namespace, name, number, portName }: BackendPort,
  context: DescribeContext,
): Promise<string> {
  try {
    const slices = await listEndpointSlices({ namespace, name }, context)
    const { spec } = await context.client.get(services, { namespace, name })
    const port = (spec?.ports ?? []).findLast(each => {
      return (number !== 0 && each.port === number) || (portName !== '' && each.name === portName)
    })
    return endpointAddresses(slices, port?.name ?? '')
  } catch (error) {
    return `<error: ${messageOf(error)}>`
  }
}

/** Sorted and without duplicates. */
function addressesText(ingress: readonly IngressLoadBalancerIngress[] = []): string {
  const addresses = ingress.map(({ ip, hostname }) => ip || hostname || '').filter(address => address !== '')
  return [...new Set(addresses)].sort().join(',')
}
