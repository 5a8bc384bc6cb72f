/** Rules and table columns of `node.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { RuntimeClass } from '../../generated/node/v1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { runtimeClassRules } from './runtime-class.ts'

export const nodeGroupRules: GroupRules = { RuntimeClass: runtimeClassRules }

const runtimeClassColumns: KindColumns<RuntimeClass> = {
  columns: [nameColumn, textColumn('Handler', 'Runtime handler.'), ageColumn],
  cells: (object: Unchecked<RuntimeClass>) => [nameOf(object), object.handler ?? '', ageOf(object)],
}

export const nodeGroupColumns: GroupColumns = { RuntimeClass: runtimeClassColumns }
