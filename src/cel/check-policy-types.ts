/**
 * Type checking of ValidatingAdmissionPolicies: policies are compiled without knowing the matched kinds. Here
 * the expressions are checked again with the schemas of those kinds; the result is only reported as warnings.
 */
import type {
  ExpressionWarning,
  ValidatingAdmissionPolicy,
} from '#/api/generated/admissionregistration/v1.ts'
import { parseGroupVersion } from '#/api/group-version.ts'
import type { Resource } from '#/api/resource.ts'
import { admissionEnvironment } from './admission-environment.ts'
import { CelError } from './cel-error.ts'
import { compile } from './cel.ts'
import type { Environment } from './environment.ts'
import { PolicyVariables } from './policy-variables.ts'
import { schemaType } from './schema-type.ts'
import { dynType, type Type } from './type.ts'

/** Maximum number of kinds checked; the rest are skipped. */
const kindsMax = 10

/** What type checking needs of a resource. */
export type CheckedKind = Pick<Resource, 'group' | 'version' | 'kind' | 'plural' | 'schema'>

/** The warnings of `status.typeChecking`, empty if there are none. `resources` are all served resources. */
export function checkPolicyTypes(
  policy: ValidatingAdmissionPolicy,
  resources: readonly CheckedKind[],
): ExpressionWarning[] {
  const { validations = [] } = policy.spec ?? {}
  const checks = kindsToCheck(policy, resources).map(resource => ({
    kind: showKind(resource),
    environment: environmentFor(policy, resource, resources),
  }))
  const check = (fieldRef: string, expression: string | undefined): ExpressionWarning[] => {
    if (!expression) return []
    const texts = checks.flatMap(({ kind, environment }) => {
      const issues = issuesOf(expression, environment)
      return issues === undefined ? [] : [`${kind}: ${issues}\n`]
    })
    return texts.length === 0 ? [] : [{ fieldRef, warning: texts.join('\n') }]
  }
  return validations.flatMap(({ expression, messageExpression }, index) => [
    ...check(`spec.validations[${index}].expression`, expression),
    ...check(`spec.validations[${index}].messageExpression`, messageExpression),
  ])
}

function issuesOf(expression: string, environment: Environment): string | undefined {
  try {
    compile(expression, environment)
    return undefined
  } catch (error) {
    if (error instanceof CelError) return error.message
    throw error
  }
}

function environmentFor(
  { spec = {} }: ValidatingAdmissionPolicy,
  resource: CheckedKind,
  resources: readonly CheckedKind[],
): Environment {
  const variables = new PolicyVariables()
  const { paramKind } = spec
  const params = paramKind && findKind(paramKind, resources)
  const environment = admissionEnvironment({
    object: typeOf(resource),
    ...(paramKind && { params: params ? typeOf(params) : dynType }),
    authorizer: true,
    variables: variables.type,
  })
  for (const variable of spec.variables ?? []) variables.define(variable, environment)
  return environment
}

function typeOf({ schema, kind }: CheckedKind): Type {
  return schemaType(schema, kind) ?? dynType
}

function findKind(
  { apiVersion = '', kind = '' }: { readonly apiVersion?: string; readonly kind?: string },
  resources: readonly CheckedKind[],
): CheckedKind | undefined {
  const parsed = parseGroupVersion(apiVersion)
  return resources.find(
    each => each.group === parsed?.group && each.version === parsed.version && each.kind === kind,
  )
}

/** Only resources that rules name explicitly; rules with wildcards are skipped. */
function kindsToCheck({ spec }: ValidatingAdmissionPolicy, resources: readonly CheckedKind[]): CheckedKind[] {
  const found = new Set<CheckedKind>()
  for (const rule of spec?.matchConstraints?.resourceRules ?? []) {
    const { apiGroups = [], apiVersions = [], resources: plurals = [] } = rule
    if ([...apiGroups, ...apiVersions].some(each => each.includes('*'))) continue
    const matching = resources
      .filter(({ group, version, plural }) => {
        return apiGroups.includes(group) && apiVersions.includes(version) && plurals.includes(plural)
      })
      .sort(compareKinds)
    for (const resource of matching.slice(0, kindsMax)) found.add(resource)
    if (matching.length >= kindsMax) break
  }
  return [...found].sort(compareKinds)
}

function compareKinds(a: CheckedKind, b: CheckedKind): number {
  return compareText(a.group, b.group) || compareText(a.version, b.version) || compareText(a.kind, b.kind)
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1
}

function showKind({ group, version, kind }: CheckedKind): string {
  return `${group}/${version}, Kind=${kind}`
}
