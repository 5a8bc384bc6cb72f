/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const flowcontrol = `
ExemptPriorityLevelConfiguration: nominalConcurrencyShares? lendablePercent?
FlowDistinguisherMethod: type
FlowSchema: metadata spec status
FlowSchemaCondition: type status lastTransitionTime reason message
FlowSchemaList: metadata items
FlowSchemaSpec: priorityLevelConfiguration matchingPrecedence! distinguisherMethod? rules
FlowSchemaStatus: conditions
GroupSubject: name
LimitResponse: type queuing?
LimitedPriorityLevelConfiguration: nominalConcurrencyShares? limitResponse lendablePercent?
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
`
