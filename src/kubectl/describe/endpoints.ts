import type { EndpointAddress, Endpoints } from '#/api/generated/core/v1.ts'
import type { EndpointSlice } from '#/api/generated/discovery/v1.ts'
import type { Describer } from './describer.ts'
import { describeEvents } from './sections/events.ts'
import { describeAnnotations, describeLabels } from './sections/metadata.ts'

export const describeEndpoints: Describer<Endpoints> = async (endpoints, context) => {
  const { writer } = context
  writer.fields(0, [
    ['Name', endpoints.metadata.name ?? ''],
    ['Namespace', endpoints.metadata.namespace ?? ''],
  ])
  describeLabels(writer, endpoints)
  describeAnnotations(writer, endpoints)
  writer.write(0, 'Subsets:\n')
  for (const { addresses, notReadyAddresses, ports = [] } of endpoints.subsets ?? []) {
    writer.fields(1, [
      ['Addresses', addressesText(addresses)],
      ['NotReadyAddresses', addressesText(notReadyAddresses)],
    ])
    if (ports.length > 0) {
      writer.write(1, 'Ports:\n')
      writer.rows(2, [
        ...portsHeader,
        ...ports.map(({ name, port, protocol = '' }) => [name || '<unset>', port, protocol]),
      ])
    }
    writer.write(0, '\n')
  }
  await describeEvents(endpoints, context)
}

export const describeEndpointSlice: Describer<EndpointSlice> = async (slice, context) => {
  const { writer } = context
  const ports = slice.ports ?? []
  const endpoints = slice.endpoints ?? []
  writer.fields(0, [
    ['Name', slice.metadata.name ?? ''],
    ['Namespace', slice.metadata.namespace ?? ''],
  ])
  describeLabels(writer, slice)
  describeAnnotations(writer, slice)
  writer.fields(0, [['AddressType', slice.addressType]])
  writer.write(0, ports.length === 0 ? 'Ports: <unset>\n' : 'Ports:\n')
  if (ports.length > 0) {
    writer.rows(1, [
      ...portsHeader,
      ...ports.map(({ name, port, protocol = '' }) => [name || '<unset>', port ?? '<unset>', protocol]),
    ])
  }
  writer.write(0, endpoints.length === 0 ? 'Endpoints: <none>\n' : 'Endpoints:\n')
  for (const { addresses, conditions, hostname, targetRef, nodeName, zone } of endpoints) {
    writer.fields(1, [['- Addresses', addresses.join(', ') || '<none>']])
    writer.write(2, 'Conditions:\n')
    writer.fields(3, [['Ready', conditions?.ready ?? '<unset>']])
    writer.fields(2, [
      ['Hostname', hostname ?? '<unset>'],
      ['TargetRef', targetRef && `${targetRef.kind ?? ''}/${targetRef.name ?? ''}`],
      ['NodeName', nodeName ?? '<unset>'],
      ['Zone', zone ?? '<unset>'],
    ])
  }
  await describeEvents(slice, context)
}

const portsHeader = [
  ['Name', 'Port', 'Protocol'],
  ['----', '----', '--------'],
] as const

function addressesText(addresses: readonly EndpointAddress[] = []): string {
  return addresses.map(({ ip }) => ip).join(',') || '<none>'
}
