/** Table columns for `apiextensions.k8s.io`. */
import type { GroupColumns } from '../../table-columns.ts'
import { createdColumns } from '../created-columns.ts'

export const apiextensionsColumns: GroupColumns = { CustomResourceDefinition: createdColumns }
