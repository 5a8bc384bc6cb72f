/** https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/ */
import type { GroupRules } from '../../kind-rules.ts'
import { customResourceDefinitionRules } from './custom-resource-definition.ts'

export const apiextensions: GroupRules = { CustomResourceDefinition: customResourceDefinitionRules }
