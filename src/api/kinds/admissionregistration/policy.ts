/**
 * Validation common to validating and mutating admission policies. CEL expressions are compiled by admission,
 * not here.
 */
import { invalid, required, type FieldError } from '../../field-error.ts'
import type {
  MatchCondition,
  MatchResources,
  ParamKind,
  Variable,
} from '../../generated/admissionregistration/v1.ts'
import { parseGroupVersion } from '../../group-version.ts'
import { checkDns1035Label, checkDns1123Subdomain } from '../../names.ts'
import { validatePresentChoice, validatePresent } from '../validation/field-checks.ts'
import { withField, withMissing } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateMatchConditions } from './match-conditions.ts'
import { validateMatchResources, withMatchDefaults } from './match-resources.ts'
import { failurePolicies } from './webhook-configuration.ts'

export interface PolicySpec {
  readonly failurePolicy?: string
  readonly paramKind?: ParamKind
  readonly matchConstraints?: MatchResources
  readonly matchConditions?: readonly MatchCondition[]
  readonly variables?: readonly Variable[]
}

export function withPolicyDefaults<T extends PolicySpec>(spec: T): T {
  const failing = withMissing<PolicySpec>(spec, { failurePolicy: 'Fail' })
  return withField(failing, 'matchConstraints', withMatchDefaults) as T
}

export function validatePolicy(spec: Unchecked<PolicySpec>): FieldError[] {
  const { matchConstraints, paramKind } = spec
  const field = 'spec.matchConstraints'
  return [
    ...validatePresentChoice('spec.failurePolicy', spec.failurePolicy, failurePolicies),
    ...(paramKind ? validateParamKind('spec.paramKind', paramKind) : []),
    ...(matchConstraints
      ? [
          ...validateMatchResources(field, matchConstraints as MatchResources),
          ...validatePresent(`${field}.resourceRules`, matchConstraints.resourceRules),
        ]
      : [required(field, '')]),
    ...validateMatchConditions('spec.matchConditions', spec.matchConditions),
    ...(spec.variables ?? []).flatMap((variable, index) => {
      return validateVariable(`spec.variables[${index}]`, variable)
    }),
  ]
}

function validateParamKind(field: string, { apiVersion = '', kind = '' }: ParamKind): FieldError[] {
  const errors = validateParamVersion(`${field}.apiVersion`, apiVersion)
  if (kind === '') return [...errors, required(`${field}.kind`, '')]
  const problems = checkDns1035Label(kind.toLowerCase())
  if (problems.length === 0) return errors
  const detail = `may have mixed case, but should otherwise match: ${problems.join(',')}`
  return [...errors, invalid(`${field}.kind`, kind, detail)]
}

function validateParamVersion(field: string, apiVersion: string): FieldError[] {
  if (apiVersion === '') return [required(field, '')]
  const parsed = parseGroupVersion(apiVersion)
  if (!parsed) return [invalid(field, apiVersion, `unexpected GroupVersion string: ${apiVersion}`)]
  const { group, version } = parsed
  const groupProblems = group === '' ? [] : checkDns1123Subdomain(group)
  const versionProblems = version === '' ? [] : checkDns1035Label(version)
  return [
    ...(groupProblems.length > 0 ? [invalid(field, group, groupProblems.join(','))] : []),
    ...(version === '' ? [invalid(field, apiVersion, 'version must be specified')] : []),
    ...(versionProblems.length > 0 ? [invalid(field, version, versionProblems.join(','))] : []),
  ]
}

function validateVariable(field: string, { name = '', expression = '' }: Unchecked<Variable>): FieldError[] {
  const errors: FieldError[] = []
  if (name.trim() === '') errors.push(required(`${field}.name`, 'name is not specified'))
  else if (!isIdentifier(name)) errors.push(invalid(`${field}.name`, name, 'must be a valid CEL identifier'))
  if (expression.trim() === '') errors.push(required(`${field}.expression`, 'expression is not specified'))
  return errors
}

const reservedWords: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
])

/** True if the name is a valid CEL identifier. */
function isIdentifier(name: string): boolean {
  return /^[_a-zA-Z][_a-zA-Z0-9]*$/.test(name) && !reservedWords.has(name)
}
