/** Rules of FlowSchema. */
import { invalid, invalidEach, notSupported, required, type FieldError } from '../../field-error.ts'
import type { FlowSchema, FlowSchemaSpec, PolicyRulesWithSubjects } from '../../generated/flowcontrol/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkDns1123Subdomain } from '../../names.ts'
import { semanticEqual } from '../validation/semantic-equal.ts'
import { withDefaults } from '../../copy-on-write.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import { validateConditionTypes } from './conditions.ts'
import { mandatoryFlowSchemas } from './mandatory.ts'
import { validateNonResourceRule, validateResourceRule } from './request-rules.ts'
import { validateSubject } from './subjects.ts'

export const flowSchemaRules: KindRules<FlowSchema> = {
  validatesMetadataOnce: true,
  tracksGeneration: true,
  statusKeepsMetadata: true,
  withDefaults: withPrecedence,
  validate: validateFlowSchema,
  validateUpdate: validateFlowSchema,
  validateStatusUpdate: ({ status = {} }) => validateConditionTypes(status.conditions),
}

const precedenceDefault = 1_000
const precedenceMax = 10_000
const distinguishers = ['ByNamespace', 'ByUser']

function withPrecedence(schema: FlowSchema): FlowSchema {
  const given: Partial<FlowSchemaSpec> = schema.spec ?? {}
  const spec = withDefaults(given, { matchingPrecedence: precedenceDefault }) as FlowSchemaSpec
  return spec === schema.spec ? schema : { ...schema, spec }
}

function validateFlowSchema({ metadata, spec = {} }: Unchecked<FlowSchema>): FieldError[] {
  const name = metadata?.name ?? ''
  const mandatory = mandatoryFlowSchemas.get(name)
  const isChanged = mandatory !== undefined && !semanticEqual(spec, mandatory)
  return [
    ...validatePrecedence(name, spec.matchingPrecedence ?? 0),
    ...validateDistinguisher(spec),
    ...validateLevel(spec.priorityLevelConfiguration?.name ?? ''),
    ...(spec.rules ?? []).flatMap((rule, index) => validateRule(`spec.rules[${index}]`, rule)),
    ...(isChanged ? [invalid('spec', spec, `spec of '${name}' must equal the fixed value`)] : []),
  ]
}

function validatePrecedence(name: string, precedence: number): FieldError[] {
  const field = 'spec.matchingPrecedence'
  if (precedence <= 0) return [invalid(field, precedence, 'must be a positive value')]
  if (precedence > precedenceMax) {
    return [invalid(field, precedence, `must not be greater than ${precedenceMax}`)]
  }
  if (precedence > 1 || name === 'exempt') return []
  return [invalid(field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")]
}

function validateDistinguisher({ distinguisherMethod: method }: Unchecked<FlowSchemaSpec>): FieldError[] {
  if (!method || distinguishers.includes(method.type ?? '')) return []
  return [notSupported('spec.distinguisherMethod.type', method.type ?? '', distinguishers)]
}

function validateLevel(name: string): FieldError[] {
  const field = 'spec.priorityLevelConfiguration.name'
  if (name === '') return [required(field, 'must reference a priority level')]
  return invalidEach(field, name, checkDns1123Subdomain(name))
}

function validateRule(field: string, rule: Unchecked<PolicyRulesWithSubjects>): FieldError[] {
  const { subjects = [], resourceRules = [], nonResourceRules = [] } = rule
  const errors: FieldError[] = []
  if (subjects.length === 0) {
    errors.push(required(`${field}.subjects`, 'subjects must contain at least one value'))
  }
  errors.push(
    ...subjects.flatMap((subject, index) => {
      return validateSubject(`${field}.subjects[${index}]`, subject)
    }),
  )
  if (resourceRules.length === 0 && nonResourceRules.length === 0) {
    errors.push(required(field, 'at least one of resourceRules and nonResourceRules has to be non-empty'))
  }
  return [
    ...errors,
    ...resourceRules.flatMap((each, index) => validateResourceRule(`${field}.resourceRules[${index}]`, each)),
    ...nonResourceRules.flatMap((each, index) => {
      return validateNonResourceRule(`${field}.nonResourceRules[${index}]`, each)
    }),
  ]
}
