import type { IngressClass, IPAddress, ServiceCIDR } from '#/api/generated/networking/v1.ts'
import type { Describer } from '../describer.ts'
import { describeTransitions } from '../sections/conditions.ts'
import { describeEvents } from '../sections/events.ts'
import { describeAnnotations, describeLabels } from '../sections/metadata.ts'

export const describeIngressClass: Describer<IngressClass> = async (ingressClass, context) => {
  const { writer } = context
  const { metadata, spec = {} } = ingressClass
  writer.fields(0, [['Name', metadata.name ?? '']])
  describeLabels(writer, ingressClass)
  describeAnnotations(writer, ingressClass)
  writer.fields(0, [['Controller', spec.controller ?? '']])
  if (spec.parameters) {
    writer.write(0, 'Parameters:\n')
    writer.fields(1, [
      ['APIGroup', spec.parameters.apiGroup],
      ['Kind', spec.parameters.kind],
      ['Name', spec.parameters.name],
    ])
  }
  await describeEvents(ingressClass, context)
}

export const describeServiceCidr: Describer<ServiceCIDR> = async (serviceCidr, context) => {
  const { writer } = context
  const { metadata, spec, status } = serviceCidr
  writer.fields(0, [['Name', metadata.name ?? '']])
  describeLabels(writer, serviceCidr)
  describeAnnotations(writer, serviceCidr)
  writer.fields(0, [['CIDRs', (spec?.cidrs ?? []).join(', ')]])
  if (status?.conditions?.length) {
    writer.write(0, 'Status:\n')
    describeTransitions(status.conditions, context)
  }
  await describeEvents(serviceCidr, context)
}

export const describeIpAddress: Describer<IPAddress> = async (address, context) => {
  const { writer } = context
  const { metadata, spec } = address
  writer.fields(0, [['Name', metadata.name ?? '']])
  describeLabels(writer, address)
  describeAnnotations(writer, address)
  if (spec?.parentRef) {
    const { group = '', resource, namespace = '', name } = spec.parentRef
    writer.write(0, 'Parent Reference:\n')
    writer.fields(1, [
      ['Group', group],
      ['Resource', resource],
      ['Namespace', namespace],
      ['Name', name],
    ])
  }
  await describeEvents(address, context)
}
