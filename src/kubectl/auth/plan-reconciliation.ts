import type {
  AggregationRule,
  ClusterRole,
  ClusterRoleBinding,
  PolicyRule,
  Role,
  RoleBinding,
  Subject,
} from '#/api/generated/rbac/v1.ts'
import type { Labels } from '#/api/labels.ts'
import { uncoveredRules } from './policy-rules.ts'

export type RoleOwner = Role | ClusterRole
export type Binding = RoleBinding | ClusterRoleBinding

export interface Reconciliation<T> {
  /** `recreate`: the role of a binding cannot be changed. */
  readonly operation: 'none' | 'create' | 'update' | 'recreate'
  /** What the object should be. */
  readonly object: T
  /** True if the object opted out: nothing may be changed. */
  readonly isProtected: boolean
}

export interface RoleReconciliation extends Reconciliation<RoleOwner> {
  readonly missingRules: readonly PolicyRule[]
  readonly extraRules: readonly PolicyRule[]
}

export interface BindingReconciliation extends Reconciliation<Binding> {
  readonly missingSubjects: readonly Subject[]
  readonly extraSubjects: readonly Subject[]
}

const autoUpdateAnnotation = 'rbac.authorization.kubernetes.io/autoupdate'

interface RoleOptions {
  /** Undefined if the role does not exist. */
  readonly existing: RoleOwner | undefined
  readonly expected: RoleOwner
  readonly removeExtraPermissions: boolean
}

/** How a role gets the expected rules, labels and annotations. Its other rules are kept by default. */
export function planRole({ existing, expected, removeExtraPermissions }: RoleOptions): RoleReconciliation {
  const expectedRules = expected.rules ?? []
  if (existing === undefined) {
    const missing = { missingRules: expectedRules, extraRules: [] }
    return { operation: 'create', object: expected, isProtected: false, ...missing }
  }
  const existingRules = existing.rules ?? []
  const [expectedAggregation, existingAggregation] = [aggregationOf(expected), aggregationOf(existing)]
  const areBothAggregated = expectedAggregation !== undefined && existingAggregation !== undefined
  const extraRules = areBothAggregated
    ? []
    : uncoveredRules({ wanted: existingRules, granted: expectedRules })
  const missingRules = uncoveredRules({ wanted: expectedRules, granted: existingRules })
  const rules = removeExtraPermissions
    ? missingRules.length + extraRules.length > 0 && expectedRules
    : missingRules.length > 0 && [...existingRules, ...missingRules]
  const aggregationRule = planAggregation({
    existing: existingAggregation,
    expected: expectedAggregation,
    removesExtra: removeExtraPermissions,
  })
  const metadata = planMetadata(existing, expected)
  const { aggregationRule: _previous, ...rest } = existing as ClusterRole
  const isChanged = metadata !== undefined || rules !== false || aggregationRule !== existingAggregation
  return {
    operation: isChanged ? 'update' : 'none',
    object: {
      ...rest,
      metadata: metadata ?? existing.metadata,
      rules: rules || existingRules,
      ...(aggregationRule && { aggregationRule }),
    },
    isProtected: isProtected(existing),
    missingRules,
    extraRules,
  }
}

function aggregationOf(role: RoleOwner): AggregationRule | undefined {
  return 'aggregationRule' in role ? role.aggregationRule : undefined
}

interface AggregationOptions {
  readonly existing: AggregationRule | undefined
  readonly expected: AggregationRule | undefined
  readonly removesExtra: boolean
}

/** The existing rule itself if it needs no change. */
function planAggregation({
  existing,
  expected,
  removesExtra,
}: AggregationOptions): AggregationRule | undefined {
  if (expected === undefined) return undefined
  const [had = [], wanted = []] = [existing?.clusterRoleSelectors, expected.clusterRoleSelectors]
  const missing = without(wanted, had)
  if (removesExtra) return missing.length + without(had, wanted).length > 0 ? expected : existing
  return missing.length > 0 ? { ...existing, clusterRoleSelectors: [...had, ...missing] } : existing
}

interface BindingOptions {
  readonly existing: Binding | undefined
  readonly expected: Binding
  readonly removeExtraSubjects: boolean
}

/** How a binding gets the expected subjects, labels and annotations. */
export function planBinding({
  existing,
  expected,
  removeExtraSubjects,
}: BindingOptions): BindingReconciliation {
  const expectedSubjects = expected.subjects ?? []
  const none = { missingSubjects: [], extraSubjects: [] }
  if (existing === undefined) {
    return {
      operation: 'create',
      object: expected,
      isProtected: false,
      ...none,
      missingSubjects: expectedSubjects,
    }
  }
  if (!isSame(existing.roleRef, expected.roleRef)) {
    return { operation: 'recreate', object: expected, isProtected: isProtected(existing), ...none }
  }
  const existingSubjects = existing.subjects ?? []
  const missingSubjects = without(expectedSubjects, existingSubjects)
  const extraSubjects = without(existingSubjects, expectedSubjects)
  const subjects = removeExtraSubjects
    ? missingSubjects.length + extraSubjects.length > 0 && expectedSubjects
    : missingSubjects.length > 0 && [...existingSubjects, ...missingSubjects]
  const metadata = planMetadata(existing, expected)
  return {
    operation: metadata !== undefined || subjects !== false ? 'update' : 'none',
    object: { ...existing, metadata: metadata ?? existing.metadata, subjects: subjects || existingSubjects },
    isProtected: isProtected(existing),
    missingSubjects,
    extraSubjects,
  }
}

function isProtected({ metadata }: RoleOwner | Binding): boolean {
  return metadata.annotations?.[autoUpdateAnnotation] === 'false'
}

/** With the labels and annotations that are missing; undefined if none is. Values that are there are kept. */
function planMetadata<T extends RoleOwner | Binding>(
  { metadata }: T,
  expected: T,
): T['metadata'] | undefined {
  const labels = missingLabels(metadata.labels, expected.metadata.labels)
  const annotations = missingLabels(metadata.annotations, expected.metadata.annotations)
  if (!labels && !annotations) return undefined
  return { ...metadata, ...(labels && { labels }), ...(annotations && { annotations }) }
}

function missingLabels(existing: Labels = {}, expected: Labels = {}): Labels | undefined {
  const merged = { ...expected, ...existing }
  return Object.keys(merged).length > Object.keys(existing).length ? merged : undefined
}

/** The values of the first list that are not in the second one, each once. */
function without<T extends object>(values: readonly T[], others: readonly T[]): readonly T[] {
  const found: T[] = []
  for (const value of values) {
    if (![...others, ...found].some(other => isSame(other, value))) found.push(value)
  }
  return found
}

/** An absent field is an empty one. */
function isSame(a: object, b: object): boolean {
  return canonicalText(a) === canonicalText(b)
}

function canonicalText(value: object): string {
  const entries = Object.entries(value).filter(([, each]) => each !== '' && each !== undefined)
  const sorted = entries.sort(([one], [other]) => (one < other ? -1 : 1))
  return JSON.stringify(
    sorted.map(([name, each]) => [name, typeof each === 'object' && each ? canonicalText(each) : each]),
  )
}
