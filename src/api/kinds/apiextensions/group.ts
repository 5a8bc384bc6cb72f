/** Rules and table columns of `apiextensions.k8s.io`. */
import type { GroupColumns } from '../../table-columns.ts'
import { createdColumns } from '../created-columns.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { customResourceDefinitionRules } from './custom-resource-definition.ts'

export const apiextensionsRules: GroupRules = { CustomResourceDefinition: customResourceDefinitionRules }

export const apiextensionsColumns: GroupColumns = { CustomResourceDefinition: createdColumns }
