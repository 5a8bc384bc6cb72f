import { compareText } from '../documents/value.ts'
import type { Gvk } from './resource-id.ts'

/** Kinds in the order in which they are created; those that are not listed are in between. */
export interface KindOrder {
  readonly orderFirst: readonly string[]
  readonly orderLast: readonly string[]
}

export const defaultKindOrder: KindOrder = {
  orderFirst: [
    'Namespace',
    'ResourceQuota',
    'StorageClass',
    'CustomResourceDefinition',
    'ServiceAccount',
    'PodSecurityPolicy',
    'Role',
    'ClusterRole',
    'RoleBinding',
    'ClusterRoleBinding',
    'ConfigMap',
    'Secret',
    'Endpoints',
    'Service',
    'LimitRange',
    'PriorityClass',
    'PersistentVolume',
    'PersistentVolumeClaim',
    'Deployment',
    'StatefulSet',
    'CronJob',
    'PodDisruptionBudget',
  ],
  orderLast: ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration'],
}

/** By the position of the kind, then by group, version and kind. */
export function compareGvk(left: Gvk, right: Gvk, positions = defaultPositions): number {
  const order = (positions.get(left.kind) ?? 0) - (positions.get(right.kind) ?? 0)
  if (order !== 0) return order
  const byText = compareText(sortKey(left), sortKey(right))
  // Namespaces of other groups follow those of the core group.
  const isReversed = left.kind === 'Namespace' && (left.group === '' || right.group === '')
  return isReversed ? -byText : byText
}

export function kindPositions({ orderFirst, orderLast }: KindOrder): ReadonlyMap<string, number> {
  return new Map([
    ...orderFirst.map((kind, index) => [kind, index - orderFirst.length] as const),
    ...orderLast.map((kind, index) => [kind, index + 1] as const),
  ])
}

const defaultPositions = kindPositions(defaultKindOrder)

/** Texts for missing members sort after all letters. */
function sortKey({ group, version, kind }: Gvk): string {
  return `${group || '~G'}_${version || '~V'}_${kind || '~K'}`
}
