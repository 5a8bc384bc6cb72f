/**
 * The status of a CustomResourceDefinition: names are accepted unless another definition of the group has
 * them, and a definition whose names are accepted is established, which means that it is served.
 */
import { conditionOf, isTrue, withCondition, withoutCondition } from '../conditions.ts'
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionNames,
} from '../generated/apiextensions/v1.ts'
import { apiApprovalOf } from './api-approval.ts'
import { validateStructuralSchema } from './structural-schema.ts'
import { formatFieldErrors } from '../field-error.ts'
import { quote } from '../text/quote.ts'

/** Holds a definition that is being deleted until all instances are gone. */
export const cleanupFinalizer = 'customresourcecleanup.apiextensions.k8s.io'

/** Returns the same definition if its status is current. `others` may include the definition itself. */
export function planDefinitionStatus(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  now: string,
): CustomResourceDefinition {
  const { acceptedNames, condition: namesAccepted } = acceptNames(definition, others)
  let conditions = definition.status?.conditions
  const set = (condition: Omit<CustomResourceDefinitionCondition, 'lastTransitionTime'>): void => {
    conditions = withCondition(conditions, { ...condition, lastTransitionTime: now })
  }
  set(namesAccepted)
  if (!isTrue(conditions, 'Established')) set(namesAccepted.status === 'True' ? established : notEstablished)
  const approval = apiApprovalOf(definition, definition.spec.group)
  if (approval) set({ type: 'KubernetesAPIApprovalPolicyConformant', ...approval })
  else conditions = withoutCondition(conditions, 'KubernetesAPIApprovalPolicyConformant')
  const violations = structuralViolations(definition)
  if (violations)
    set({ type: 'NonStructuralSchema', status: 'True', reason: 'Violations', message: violations })
  else conditions = withoutCondition(conditions, 'NonStructuralSchema')
  const isSame =
    conditions === definition.status?.conditions && acceptedNames === definition.status?.acceptedNames
  return isSame ? definition : { ...definition, status: { ...definition.status, acceptedNames, conditions } }
}

const established = {
  type: 'Established',
  status: 'True',
  reason: 'InitialNamesAccepted',
  message: 'the initial names have been accepted',
}

const notEstablished = {
  type: 'Established',
  status: 'False',
  reason: 'NotAccepted',
  message: 'not all names are accepted',
}

interface AcceptedNames {
  readonly acceptedNames: CustomResourceDefinitionNames
  readonly condition: Omit<CustomResourceDefinitionCondition, 'lastTransitionTime'>
}

/** A name in conflict keeps its accepted value. */
function acceptNames(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): AcceptedNames {
  const taken = namesOfOthers(definition, others)
  const { names: wanted } = definition.spec
  const before = definition.status?.acceptedNames ?? { plural: '', kind: '' }
  const conflicts: Conflict[] = []
  const take = (reason: string, requested: readonly string[], inUse: ReadonlySet<string>): boolean => {
    const repeated = requested.filter(name => inUse.has(name)).map(name => `${quote(name)} is already in use`)
    if (repeated.length === 0) return true
    conflicts.push({
      reason,
      message: repeated.length === 1 ? repeated.join('') : `[${repeated.join(', ')}]`,
    })
    return false
  }
  const plural = take('PluralConflict', [wanted.plural], taken.resources) ? wanted.plural : before.plural
  const singular = take('SingularConflict', listed(wanted.singular), taken.resources)
    ? wanted.singular
    : before.singular
  const shortNames = take('ShortNamesConflict', wanted.shortNames ?? [], taken.resources)
    ? wanted.shortNames
    : before.shortNames
  const kind = take('KindConflict', [wanted.kind], taken.kinds) ? wanted.kind : before.kind
  const listKind = take('ListKindConflict', listed(wanted.listKind), taken.kinds)
    ? wanted.listKind
    : before.listKind
  const acceptedNames = {
    plural,
    ...(singular && { singular }),
    ...(shortNames && { shortNames }),
    kind,
    ...(listKind && { listKind }),
    ...(wanted.categories && { categories: wanted.categories }),
  }
  const conflict = conflicts.at(-1)
  return {
    acceptedNames: isSameNames(acceptedNames, before) ? before : acceptedNames,
    condition: conflict
      ? { type: 'NamesAccepted', status: 'False', ...conflict }
      : { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' },
  }
}

interface Conflict {
  readonly reason: string
  readonly message: string
}

function listed(name: string | undefined): readonly string[] {
  return name ? [name] : []
}

/** The accepted names of the other definitions of the group. */
function namesOfOthers(
  { metadata, spec }: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): { readonly resources: ReadonlySet<string>; readonly kinds: ReadonlySet<string> } {
  const names = others
    .filter(other => other.spec.group === spec.group && other.metadata.name !== metadata.name)
    .map(other => other.status?.acceptedNames)
  return {
    resources: new Set(
      names.flatMap(each => [each?.plural, each?.singular, ...(each?.shortNames ?? [])].filter(isText)),
    ),
    kinds: new Set(names.flatMap(each => [each?.kind, each?.listKind].filter(isText))),
  }
}

function isText(name: string | undefined): name is string {
  return name !== undefined && name !== ''
}

function isSameNames(a: CustomResourceDefinitionNames, b: CustomResourceDefinitionNames): boolean {
  const text = ({ plural, singular = '', kind, listKind = '', shortNames = [], categories = [] }: typeof a) =>
    JSON.stringify([plural, singular, kind, listKind, shortNames, categories])
  return text(a) === text(b)
}

/** Undefined if all schemas are structural. */
function structuralViolations({ spec }: CustomResourceDefinition): string | undefined {
  const errors = spec.versions.flatMap(({ schema }, index) => {
    const root = schema?.openAPIV3Schema
    return root ? validateStructuralSchema(`spec.versions[${index}].schema.openAPIV3Schema`, root) : []
  })
  return errors.length === 0 ? undefined : formatFieldErrors(errors)
}

/** True if the definition is served. */
export function isEstablished({ status }: CustomResourceDefinition): boolean {
  return isTrue(status?.conditions, 'Established')
}

/** True if instances are being deleted with the definition, so that none may be created. */
export function isTerminating({ status }: CustomResourceDefinition): boolean {
  return conditionOf(status?.conditions, 'Terminating')?.status === 'True'
}
