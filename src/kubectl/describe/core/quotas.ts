import { quantityOf } from '#/api/core/resource-amounts.ts'
import type { LimitRange, LimitRangeItem, Namespace, ResourceQuota } from '#/api/generated/core/v1.ts'
import { isApiError } from '#/api/errors.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import type { Resource } from '#/api/resource.ts'
import { formatQuantity, quantityFromInteger, quantityValue } from '#/api/text/quantity.ts'
import type { DescribeContext, Describer } from '../describer.ts'
import type { DescribeWriter } from '../describe-writer.ts'
import { limitRanges, resourceQuotas } from '../related-resources.ts'
import { describeTransitions } from '../sections/conditions.ts'
import { byText } from '../sections/containers.ts'
import { describeAnnotations, describeLabels, sortedKeys } from '../sections/metadata.ts'

export const describeNamespace: Describer<Namespace> = async (namespace, context) => {
  const { writer } = context
  const { metadata, status = {} } = namespace
  const { name = '' } = metadata
  const quotas = await listIfServed(resourceQuotas, name, context)
  const ranges = await listIfServed(limitRanges, name, context)
  writer.fields(0, [['Name', name]])
  describeLabels(writer, namespace)
  describeAnnotations(writer, namespace)
  writer.fields(0, [['Status', status.phase ?? '']])
  if (status.conditions?.length) describeTransitions(status.conditions, context)
  if (quotas) describeQuotas(writer, quotas)
  if (ranges) describeRanges(writer, ranges)
}

/** Undefined if the server does not have the resource. */
async function listIfServed<T extends KubernetesObject>(
  resource: Resource<T>,
  namespace: string,
  { client, chunkSize }: DescribeContext,
): Promise<readonly T[] | undefined> {
  try {
    const list = await client.listAll(resource, { namespace, ...(chunkSize > 0 && { limit: chunkSize }) })
    return list.items
  } catch (error) {
    if (isApiError(error, 'NotFound')) return undefined
    throw error
  }
}

function describeQuotas(writer: DescribeWriter, quotas: readonly ResourceQuota[]): void {
  if (quotas.length === 0) return writer.write(0, '\nNo resource quota.\n')
  writer.write(0, '\nResource Quotas\n')
  for (const quota of byText(quotas, ({ metadata }) => metadata.name ?? '')) {
    const { hard = {}, used = {} } = quota.status ?? {}
    writer.fields(1, [['Name', quota.metadata.name ?? '']])
    describeScopes(writer, quota, { level: 1, bullet: '*' })
    writer.rows(1, [
      ['Resource', 'Used', 'Hard'],
      ['--------', '---', '---'],
      ...sortedKeys(hard).map(name => [name, used[name] ?? '0', hard[name] ?? '']),
    ])
  }
}

export const describeResourceQuota: Describer<ResourceQuota> = (quota, { writer }) => {
  const { hard = {}, used = {} } = quota.status ?? {}
  writer.fields(0, [
    ['Name', quota.metadata.name ?? ''],
    ['Namespace', quota.metadata.namespace ?? ''],
  ])
  describeScopes(writer, quota, { level: 0, bullet: ' *' })
  writer.rows(0, [
    ['Resource', 'Used', 'Hard'],
    ['--------', '----', '----'],
    ...sortedKeys(hard).map(name => {
      const limit = hard[name] ?? '0'
      return [name, inFormatOf(limit, used[name] ?? '0'), limit]
    }),
  ])
}

/** The amount with the suffixes of the limit: `1Gi`, not `1073741824`. */
function inFormatOf(limit: string, amount: string): string {
  const { format } = quantityOf(limit)
  const used = quantityOf(amount)
  return used.format === format ? amount : formatQuantity(quantityFromInteger(quantityValue(used), format))
}

function describeScopes(
  writer: DescribeWriter,
  { spec }: ResourceQuota,
  { level, bullet }: { readonly level: number; readonly bullet: string },
): void {
  const scopes = (spec?.scopes ?? []).toSorted()
  if (scopes.length === 0) return
  writer.fields(level, [['Scopes', scopes.join(', ')]])
  for (const text of scopes.flatMap(scope => scopeTexts.get(scope) ?? [])) {
    writer.write(level, `${bullet} Matches all pods that ${text}\n`)
  }
}

const scopeTexts: ReadonlyMap<string, string> = new Map([
  [
    'Terminating',
    'have an active deadline. ' +
      'These pods have a limited lifespan on a node before being actively terminated by the system.',
  ],
  [
    'NotTerminating',
    'do not have an active deadline. ' +
      'These pods usually include long running pods whose container command is not expected to terminate.',
  ],
  ['BestEffort', 'do not have resource requirements set. These pods have a best effort quality of service.'],
  [
    'NotBestEffort',
    'have at least one resource requirement set. ' +
      'These pods have a burstable or guaranteed quality of service.',
  ],
])

export const describeLimitRange: Describer<LimitRange> = (range, { writer }) => {
  writer.fields(0, [
    ['Name', range.metadata.name ?? ''],
    ['Namespace', range.metadata.namespace ?? ''],
  ])
  writer.rows(0, [...limitHeader, ...limitRows(range)])
}

function describeRanges(writer: DescribeWriter, ranges: readonly LimitRange[]): void {
  if (ranges.length === 0) return writer.write(0, '\nNo LimitRange resource.\n')
  writer.write(0, '\nResource Limits\n')
  const rows = [...limitHeader, ...ranges.flatMap(limitRows)]
  writer.rows(
    0,
    rows.map(([type = '', ...cells]) => [` ${type}`, ...cells]),
  )
}

const limitHeader: readonly (readonly string[])[] = [
  ['Type', 'Resource', 'Min', 'Max', 'Default Request', 'Default Limit', 'Max Limit/Request Ratio'],
  ['----', '--------', '---', '---', '---------------', '-------------', '-----------------------'],
]

function limitRows({ spec }: LimitRange): readonly (readonly string[])[] {
  return (spec?.limits ?? []).flatMap(limit => {
    const lists = [limit.min, limit.max, limit.defaultRequest, limit.default, limit.maxLimitRequestRatio]
    return resourcesOf(lists).map(name => [limit.type, name, ...lists.map(list => list?.[name] ?? '-')])
  })
}

function resourcesOf(lists: readonly LimitRangeItem['max'][]): string[] {
  return [...new Set(lists.flatMap(list => Object.keys(list ?? {})))].sort()
}
