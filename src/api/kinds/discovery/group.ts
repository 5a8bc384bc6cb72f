/** Rules and table columns of `discovery.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { EndpointSlice } from '../../generated/discovery/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { formatListWithMore, shownMax } from '../cell-text.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { endpointSliceRules } from './endpoint-slice.ts'

export const discoveryRules: GroupRules = { EndpointSlice: endpointSliceRules }

const endpointSliceColumns: KindColumns<EndpointSlice> = {
  columns: [
    nameColumn,
    textColumn('AddressType', 'IPv4, IPv6 or FQDN.'),
    textColumn('Ports', 'Ports of the endpoints.'),
    textColumn('Endpoints', 'Addresses of the endpoints.'),
    ageColumn,
  ],
  cells: (slice: Unchecked<EndpointSlice>) => [
    nameOf(slice),
    slice.addressType ?? '',
    portsText(slice),
    endpointsText(slice),
    ageOf(slice),
  ],
}

function portsText({ ports = [] }: Unchecked<EndpointSlice>): string {
  const shown = ports.slice(0, shownMax).map(({ port, name }) => String(port ?? name ?? '*'))
  return formatListWithMore(shown, ports.length) || '<unset>'
}

function endpointsText({ endpoints = [] }: Unchecked<EndpointSlice>): string {
  const shown: string[] = []
  let count = 0
  for (const { addresses = [] } of endpoints) {
    count += addresses.length
    for (const address of addresses) {
      if (shown.length === shownMax) break
      shown.push(address)
    }
  }
  return formatListWithMore(shown, count) || '<unset>'
}

export const discoveryColumns: GroupColumns = { EndpointSlice: endpointSliceColumns }
