/** Table columns of Namespace, ConfigMap, Secret, ServiceAccount, ResourceQuota and ComponentStatus. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../../columns.ts'
import type {
  ComponentStatus,
  ConfigMap,
  Namespace,
  ResourceQuota,
  Secret,
  ServiceAccount,
} from '../../../generated/core/v1.ts'
import type { KindColumns } from '../../../table-columns.ts'
import { sizeOf } from '../../cell-text.ts'
import { textColumn } from '../../make-column.ts'
import type { Unchecked } from '../../validation/unchecked.ts'

export const namespaceColumns: KindColumns<Namespace> = {
  columns: [nameColumn, textColumn('Status', 'The status of the namespace.'), ageColumn],
  cells: (object: Unchecked<Namespace>) => [nameOf(object), object.status?.phase ?? '', ageOf(object)],
}

export const configMapColumns: KindColumns<ConfigMap> = {
  columns: [nameColumn, textColumn('Data', 'Number of data entries.'), ageColumn],
  cells: (object: Unchecked<ConfigMap>) => [
    nameOf(object),
    sizeOf(object.data) + sizeOf(object.binaryData),
    ageOf(object),
  ],
}

export const secretColumns: KindColumns<Secret> = {
  columns: [
    nameColumn,
    textColumn('Type', 'Type of the secret.'),
    textColumn('Data', 'Number of data entries.'),
    ageColumn,
  ],
  cells: (object: Unchecked<Secret>) => [
    nameOf(object),
    object.type ?? '',
    sizeOf(object.data),
    ageOf(object),
  ],
}

export const serviceAccountColumns: KindColumns<ServiceAccount> = {
  columns: [nameColumn, ageColumn],
  cells: (object: Unchecked<ServiceAccount>) => [nameOf(object), ageOf(object)],
}

export const resourceQuotaColumns: KindColumns<ResourceQuota> = {
  columns: [
    nameColumn,
    textColumn('Request', 'Request represents a minimum amount of cpu/memory that a container may consume.'),
    textColumn(
      'Limit',
      'Limits control the maximum amount of cpu/memory that a container may use independent of contention on the node.',
    ),
    ageColumn,
  ],
  cells: (quota: Unchecked<ResourceQuota>) => [nameOf(quota), ...quotaTexts(quota), ageOf(quota)],
}

export const componentStatusColumns: KindColumns<ComponentStatus> = {
  columns: [
    nameColumn,
    textColumn('Status', 'Health of the component.'),
    textColumn('Message', 'Health check message.'),
    textColumn('Error', 'Health check error.'),
  ],
  cells: (object: Unchecked<ComponentStatus>) => {
    const healthy = object.conditions?.find(condition => condition.type === 'Healthy')
    if (healthy === undefined) return [nameOf(object), 'Unknown', '', '']
    const status = healthy.status === 'True' ? 'Healthy' : 'Unhealthy'
    return [nameOf(object), status, healthy.message ?? '', healthy.error ?? '']
  },
}

function quotaTexts({ status }: Unchecked<ResourceQuota>): readonly [requests: string, limits: string] {
  const { hard = {}, used = {} } = status ?? {}
  const requests: string[] = []
  const limits: string[] = []
  for (const name of Object.keys(hard).sort()) {
    const amount = Object.hasOwn(used, name) ? used[name] : '0'
    const list = name.startsWith('limits.') ? limits : requests
    list.push(`${name}: ${amount}/${hard[name]}`)
  }
  return [requests.join(', '), limits.join(', ')]
}
