import type { LoadBalancerIngress, Service, ServicePort } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Describer } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { endpointAddresses, listEndpointSlices } from '../sections/endpoint-addresses.ts'
import { describeEvents } from '../sections/events.ts'
import { describeAnnotations, describeLabels, mapText } from '../sections/metadata.ts'

export const describeService: Describer<Service> = async (service, context) => {
  const { writer } = context
  const { metadata, spec = {}, status = {} } = service
  const { name = '', namespace } = metadata
  writer.fields(0, [
    ['Name', name],
    ['Namespace', namespace ?? ''],
  ])
  describeLabels(writer, service)
  describeAnnotations(writer, service)
  writer.fields(0, [
    ['Selector', mapText(spec.selector)],
    ['Type', spec.type ?? ''],
    ['IP Family Policy', spec.ipFamilyPolicy],
    ['IP Families', joined(spec.ipFamilies) ?? '<none>'],
    ['IP', spec.clusterIP ?? ''],
    ['IPs', joined(spec.clusterIPs) ?? '<none>'],
    ['External IPs', joined(spec.externalIPs)],
    ['Desired LoadBalancer IP', spec.loadBalancerIP || undefined],
    ['External Name', spec.externalName || undefined],
    ['LoadBalancer Ingress', joined(status.loadBalancer?.ingress?.map(ingressText), ', ')],
  ])
  // Without them, a Service is described all the same.
  const slices = await listEndpointSlices({ namespace, name }, context).catch(() => [])
  for (const port of spec.ports ?? []) describePort(writer, port, slices)
  writer.fields(0, [
    ['Session Affinity', spec.sessionAffinity ?? ''],
    ['External Traffic Policy', spec.externalTrafficPolicy || undefined],
    ['Internal Traffic Policy', spec.internalTrafficPolicy],
    ['HealthCheck NodePort', spec.healthCheckNodePort || undefined],
    ['LoadBalancer Source Ranges', joined(spec.loadBalancerSourceRanges)],
    ['Traffic Distribution', spec.trafficDistribution],
  ])
  await describeEvents(service, context)
}

function describePort(writer: DescribeWriter, port: ServicePort, slices: readonly EndpointSlice[]): void {
  const { name = '', protocol = '', targetPort = 0, nodePort } = port
  const label = name || '<unset>'
  writer.rows(0, [
    ['Port:', label, `${port.port}/${protocol}`],
    ['TargetPort:', `${targetPort}/${protocol}`],
    ...(port.appProtocol === undefined ? [] : [['AppProtocol:', port.appProtocol]]),
    ...(nodePort ? [['NodePort:', label, `${nodePort}/${protocol}`]] : []),
    ['Endpoints:', endpointAddresses(slices, name)],
  ])
}

/** Undefined if there are none. */
function joined(texts: readonly string[] = [], separator = ','): string | undefined {
  return texts.length === 0 ? undefined : texts.join(separator)
}

function ingressText({ ip, ipMode, hostname }: LoadBalancerIngress): string {
  if (!ip) return hostname ?? ''
  return ipMode === undefined ? ip : `${ip} (${ipMode})`
}
