import { merged, set, type Overlay } from '../overlay.ts'

export const flowcontrol: Overlay = {
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
}
