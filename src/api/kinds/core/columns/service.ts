/** Table columns of Service and Endpoints. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../../columns.ts'
import type { Endpoints, Service, ServicePort } from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { loadBalancerStatusText, formatListWithMore, labelsText, shownMax } from '../../cell-text.ts'
import { textColumn, wideColumn } from '../../make-column.ts'
import type { Unchecked } from '../../validation/unchecked.ts'

export const serviceColumns: KindColumns<Service> = {
  columns: [
    nameColumn,
    textColumn('Type', 'Type of the service.'),
    textColumn('Cluster-IP', 'Cluster IP of the service.'),
    textColumn('External-IP', 'External IPs and load balancer addresses.'),
    textColumn('Port(s)', 'Ports of the service with their node ports.'),
    ageColumn,
    wideColumn('Selector', 'Label selector for the pods of the service.'),
  ],
  cells: (service: Unchecked<Service>) => {
    const { type = '', clusterIPs, clusterIP, ports = [], selector } = service.spec ?? {}
    return [
      nameOf(service),
      type,
      clusterIPs?.[0] ?? (clusterIP || '<none>'),
      externalText(service),
      ports.map(portText).join(',') || '<none>',
      ageOf(service),
      labelsText(selector),
    ]
  },
}

export const endpointsColumns: KindColumns<Endpoints> = {
  columns: [nameColumn, textColumn('Endpoints', 'Addresses and ports of the endpoints.'), ageColumn],
  cells: (endpoints: Unchecked<Endpoints>) => [nameOf(endpoints), addressesText(endpoints), ageOf(endpoints)],
}

function externalText({ spec = {}, status }: Unchecked<Service>): string {
  const { type = '', externalIPs = [], externalName = '' } = spec
  const given = externalIPs.join(',')
  switch (type) {
    case 'ClusterIP':
    case 'NodePort':
      return given || '<none>'
    case 'LoadBalancer': {
      const balancer = loadBalancerStatusText(status?.loadBalancer?.ingress)
      return balancer !== '' && given !== '' ? `${balancer},${given}` : balancer || given || '<pending>'
    }
    case 'ExternalName':
      return externalName
    default:
      return '<unknown>'
  }
}

function portText({ port = 0, nodePort = 0, protocol = '' }: Unchecked<ServicePort>): string {
  return nodePort > 0 ? `${port}:${nodePort}/${protocol}` : `${port}/${protocol}`
}

function addressesText({ subsets = [] }: Unchecked<Endpoints>): string {
  if (subsets.length === 0) return '<none>'
  const shown: string[] = []
  let count = 0
  for (const { addresses = [], ports = [] } of subsets) {
    count += addresses.length * Math.max(ports.length, 1)
    // Endpoints without ports are printed as addresses only.
    for (const port of ports.length > 0 ? ports : [undefined]) {
      for (const { ip = '' } of addresses) {
        if (shown.length === shownMax) break
        shown.push(port === undefined ? ip : `${ip.includes(':') ? `[${ip}]` : ip}:${port.port ?? 0}`)
      }
    }
  }
  return formatListWithMore(shown, count)
}
