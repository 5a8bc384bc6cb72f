/**
 * The mandatory flow schemas and priority levels, which cannot be changed: administrators are never rejected,
 * and every request matches a flow schema.
 * https://kubernetes.io/docs/concepts/cluster-administration/flow-control/#mandatory-configuration-objects
 */
import type {
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
} from '../../generated/flowcontrol/v1.ts'

export const mandatoryPriorityLevels: ReadonlyMap<string, PriorityLevelConfigurationSpec> = new Map([
  ['exempt', { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }],
  [
    'catch-all',
    {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
    },
  ],
])

export const mandatoryFlowSchemas: ReadonlyMap<string, FlowSchemaSpec> = new Map<string, FlowSchemaSpec>([
  [
    'exempt',
    {
      priorityLevelConfiguration: { name: 'exempt' },
      matchingPrecedence: 1,
      rules: [everythingBy('system:masters')],
    },
  ],
  [
    'catch-all',
    {
      priorityLevelConfiguration: { name: 'catch-all' },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: [everythingBy('system:unauthenticated', 'system:authenticated')],
    },
  ],
])

function everythingBy(...groups: readonly string[]): PolicyRulesWithSubjects {
  return {
    subjects: groups.map(name => ({ kind: 'Group', group: { name } })),
    resourceRules: [
      {
        verbs: ['*'],
        apiGroups: ['*'],
        resources: ['*'],
        clusterScope: true,
        namespaces: ['*'],
      },
    ],
    nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  }
}
