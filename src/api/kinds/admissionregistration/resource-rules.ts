/**
 * Validation of rules with operations, groups, versions and resources. `*` matches all and must be the only
 * entry.
 */
import { enumValues } from '../../definitions.ts'
import {
  duplicate,
  invalid,
  invalidEach,
  notSupported,
  required,
  type FieldError,
} from '../../field-error.ts'
import type { NamedRuleWithOperations, RuleWithOperations } from '../../generated/admissionregistration/v1.ts'
import { checkPathSegmentName } from '../../names.ts'
import { validateOptionalChoice, validatePresent } from '../validation/field-checks.ts'
import { withMissing } from '../../copy-on-write.ts'

export function withScope<T extends RuleWithOperations>(rule: T): T {
  return withMissing<RuleWithOperations>(rule, { scope: '*' }) as T
}

/** Validates a rule that may be restricted to resource names. */
export function validateNamedRule(field: string, rule: NamedRuleWithOperations): FieldError[] {
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const [index, name] of (rule.resourceNames ?? []).entries()) {
    const nameField = `${field}.resourceNames[${index}]`
    errors.push(...invalidEach(nameField, name, checkPathSegmentName(name)))
    if (seen.has(name)) errors.push(duplicate(nameField, name))
    seen.add(name)
  }
  return [...errors, ...validateRule(field, rule)]
}

export function validateRule(field: string, rule: RuleWithOperations): FieldError[] {
  const { operations = [], apiGroups = [], apiVersions = [], resources = [], scope } = rule
  return [
    ...validateList(`${field}.operations`, operations, 'operations'),
    ...operations.flatMap((operation, index) => {
      if (knownOperations.includes(operation)) return []
      return [notSupported(`${field}.operations[${index}]`, operation, knownOperations)]
    }),
    ...validateList(`${field}.apiGroups`, apiGroups, 'API groups'),
    ...validateList(`${field}.apiVersions`, apiVersions, 'API versions'),
    ...validateNoneEmpty(`${field}.apiVersions`, apiVersions),
    ...validateResources(`${field}.resources`, resources),
    ...validateOptionalChoice(`${field}.scope`, scope, enumValues('admissionregistration.ScopeType')),
  ]
}

/** DELETE is rejected: a deleted object cannot be mutated. */
export function validateMutatingOperations(
  field: string,
  rules: readonly RuleWithOperations[] = [],
): FieldError[] {
  const supported = knownOperations.filter(operation => operation !== 'DELETE')
  return rules.flatMap(({ operations = [] }) =>
    operations
      .filter(operation => !supported.includes(operation))
      .map(operation => notSupported(`${field}.operations`, operation, supported)),
  )
}

const knownOperations = enumValues('admissionregistration.OperationType')

function validateList(field: string, list: readonly string[], what: string): FieldError[] {
  if (list.length <= 1 || !list.includes('*')) return validatePresent(field, list)
  return [invalid(field, list, `if '*' is present, must not specify other ${what}`)]
}

function validateNoneEmpty(field: string, list: readonly string[]): FieldError[] {
  return list.flatMap((item, index) => (item === '' ? [required(`${field}[${index}]`, '')] : []))
}

/**
 * Resources (`pods`) or subresources (`pods/status`); a wildcard must not overlap with more specific entries.
 */
function validateResources(field: string, resources: readonly string[]): FieldError[] {
  const seen = new Set<string>()
  const errors = [...validatePresent(field, resources), ...validateNoneEmpty(field, resources)]
  for (const [index, resource] of resources.entries()) {
    const slash = resource.indexOf('/')
    if (slash === -1) continue
    const [whole, part] = [resource.slice(0, slash), resource.slice(slash + 1)]
    const covering = [`${whole}/*`, `*/${part}`].filter(each => seen.has(each))
    errors.push(
      ...covering.map(each => {
        return invalid(
          `${field}[${index}]`,
          resource,
          `if '${each}' is present, must not specify ${resource}`,
        )
      }),
    )
    seen.add(resource)
  }
  if (resources.length > 1 && resources.includes('*/*')) {
    errors.push(invalid(field, resources, "if '*/*' is present, must not specify other resources"))
  }
  if (resources.includes('*') && resources.some(each => each !== '' && each !== '*' && !each.includes('/'))) {
    const detail = "if '*' is present, must not specify other resources without subresources"
    errors.push(invalid(field, resources, detail))
  }
  return errors
}
