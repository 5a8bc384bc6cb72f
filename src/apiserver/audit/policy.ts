/** The audit `Policy` file. https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/#audit-policy */
import { formatFieldErrors, invalid, notSupported, required, type FieldError } from '#/api/field-error.ts'
import { checkDns1123Subdomain } from '#/api/names.ts'
import {
  boolean,
  list,
  map,
  readConfigurationFile,
  string,
  struct,
  type ConfigurationKind,
} from '../configuration-file.ts'

export const auditLevels = ['None', 'Metadata', 'Request', 'RequestResponse'] as const
export type AuditLevel = (typeof auditLevels)[number]

export const auditStages = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const
export type AuditStage = (typeof auditStages)[number]

export interface AuditPolicy {
  readonly rules?: readonly PolicyRule[]
  readonly omitStages?: readonly AuditStage[]
  readonly omitManagedFields?: boolean
}

/** Matches if all given fields match. */
export interface PolicyRule {
  readonly level: AuditLevel
  readonly users?: readonly string[]
  readonly userGroups?: readonly string[]
  readonly verbs?: readonly string[]
  readonly resources?: readonly GroupResources[]
  readonly namespaces?: readonly string[]
  readonly nonResourceURLs?: readonly string[]
  readonly omitStages?: readonly AuditStage[]
  readonly omitManagedFields?: boolean
}

export interface GroupResources {
  readonly group?: string
  /**
   * `pods`, `pods/log`, `pods/*` or `*`; before a slash, `*` stands for every resource. Empty matches all.
   */
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

/** Throws with a message that describes what is invalid. */
export function parseAuditPolicy(text: string): AuditPolicy {
  const policy = readConfigurationFile(text, policyKind)
  const rules = policy.rules ?? []
  if (rules.length === 0) throw new Error('audit policy has no rules')
  const errors = [...validateStages('omitStages', policy.omitStages), ...rules.flatMap(validateRule)]
  if (errors.length > 0) throw new Error(formatFieldErrors(errors))
  return policy
}

const strings = list(string)

const policyKind: ConfigurationKind<AuditPolicy> = {
  group: 'audit.k8s.io',
  versions: ['v1'],
  kind: 'Policy',
  schema: struct({
    apiVersion: string,
    kind: string,
    metadata: struct({
      name: string,
      creationTimestamp: string,
      labels: map(string),
      annotations: map(string),
    }),
    rules: list(
      struct({
        level: string,
        users: strings,
        userGroups: strings,
        verbs: strings,
        resources: list(struct({ group: string, resources: strings, resourceNames: strings })),
        namespaces: strings,
        nonResourceURLs: strings,
        omitStages: strings,
        omitManagedFields: boolean,
      }),
    ),
    omitStages: strings,
    omitManagedFields: boolean,
  }),
}

function validateRule(rule: PolicyRule, index: number): FieldError[] {
  const field = `rules[${index}]`
  const { nonResourceURLs: urls = [], resources = [], namespaces = [] } = rule
  const both = 'rules cannot apply to both regular resources and non-resource URLs'
  const isBoth = urls.length > 0 && (resources.length > 0 || namespaces.length > 0)
  return [
    ...validateLevel(`${field}.level`, rule.level),
    ...urls.flatMap((url, at) => validateUrl(`${field}.nonResourceURLs[${at}]`, url)),
    ...resources.flatMap(each => validateResources(`${field}.resources`, each)),
    ...validateStages(`${field}.omitStages`, rule.omitStages),
    ...(isBoth ? [invalid(`${field}.nonResourceURLs`, urls, both)] : []),
  ]
}

function validateLevel(field: string, level: string | undefined): FieldError[] {
  if (!level) return [required(field, '')]
  return auditLevels.some(each => each === level) ? [] : [notSupported(field, level, auditLevels)]
}

function validateStages(field: string, stages: readonly string[] = []): FieldError[] {
  return stages.flatMap((stage, index) =>
    auditStages.some(each => each === stage)
      ? []
      : [invalid(`${field}[${index}]`, stage, `allowed stages are ${auditStages.join(',')}`)],
  )
}

function validateUrl(field: string, url: string): FieldError[] {
  if (url === '*') return []
  return [
    ...(url.startsWith('/')
      ? []
      : [invalid(field, url, "non-resource URL rules must begin with a '/' character")]),
    ...(url.slice(0, -1).includes('*')
      ? [invalid(field, url, "non-resource URL wildcards '*' must be the final character of the rule")]
      : []),
  ]
}

function validateResources(field: string, given: GroupResources): FieldError[] {
  const { group = '', resources = [], resourceNames = [] } = given
  const problems = group === '' || group === '*' ? [] : checkDns1123Subdomain(group)
  return [
    ...(problems.length > 0 ? [invalid(`${field}.group`, group, problems.join(','))] : []),
    ...(resourceNames.length > 0 && resources.length === 0
      ? [
          invalid(
            `${field}.resourceNames`,
            resourceNames,
            'using resourceNames requires at least one resource',
          ),
        ]
      : []),
  ]
}
