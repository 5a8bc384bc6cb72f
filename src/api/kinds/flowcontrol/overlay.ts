/** Facts of the group that the generated definitions lack; only the generator reads them. */
import { merged, set, type Overlay } from '../overlay.ts'

export const flowcontrolOverlay: Overlay = {
  merging: {
    'FlowSchemaStatus.conditions': merged('type'),
    'NonResourcePolicyRule.nonResourceURLs': set,
    'NonResourcePolicyRule.verbs': set,
    'PriorityLevelConfigurationStatus.conditions': merged('type'),
    'ResourcePolicyRule.apiGroups': set,
    'ResourcePolicyRule.namespaces': set,
    'ResourcePolicyRule.resources': set,
    'ResourcePolicyRule.verbs': set,
  },
  unions: {
    LimitResponse: { discriminator: 'type', fields: { queuing: 'Queuing' } },
    PriorityLevelConfigurationSpec: {
      discriminator: 'type',
      fields: { exempt: 'Exempt', limited: 'Limited' },
    },
    Subject: {
      discriminator: 'kind',
      fields: { group: 'Group', serviceAccount: 'ServiceAccount', user: 'User' },
    },
  },
  spacedSentences: [
    'FlowSchemaSpec.matchingPrecedence',
    'PriorityLevelConfigurationSpec.type',
    'QueuingConfiguration.handSize',
    'QueuingConfiguration.queueLengthLimit',
    'QueuingConfiguration.queues',
    'ResourcePolicyRule.namespaces',
    'ResourcePolicyRule.resources',
  ],
  fieldNumbers: `
ExemptPriorityLevelConfiguration: nominalConcurrencyShares? lendablePercent?
FlowDistinguisherMethod: type
FlowSchema: metadata spec status
FlowSchemaCondition: type status lastTransitionTime reason message
FlowSchemaList: metadata items
FlowSchemaSpec: priorityLevelConfiguration matchingPrecedence! distinguisherMethod? rules
FlowSchemaStatus: conditions
GroupSubject: name
LimitResponse: type queuing?
LimitedPriorityLevelConfiguration: nominalConcurrencyShares?! limitResponse lendablePercent?
  borrowingLimitPercent?
NonResourcePolicyRule: verbs 6:nonResourceURLs
PolicyRulesWithSubjects: subjects resourceRules nonResourceRules
PriorityLevelConfiguration: metadata spec status
PriorityLevelConfigurationCondition: type status lastTransitionTime reason message
PriorityLevelConfigurationList: metadata items
PriorityLevelConfigurationReference: name
PriorityLevelConfigurationSpec: type limited? exempt?
PriorityLevelConfigurationStatus: conditions
QueuingConfiguration: queues! handSize! queueLengthLimit!
ResourcePolicyRule: verbs apiGroups resources clusterScope namespaces!
ServiceAccountSubject: namespace name
Subject: kind user? group? serviceAccount?
UserSubject: name
`,
}
