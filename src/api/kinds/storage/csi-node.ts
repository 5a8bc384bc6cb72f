/** Rules of CSINode. Drivers are immutable except for the number of volumes they allow. */
import { duplicate, invalid, invalidEach, required, type FieldError } from '../../field-error.ts'
import type { CSINode, CSINodeDriver } from '../../generated/storage/v1.ts'
import type { KindRules } from '../../kind-rules.ts'
import { checkQualifiedName } from '../../names.ts'
import { validateImmutable } from '../../validate-metadata.ts'
import { validateCsiDriverName, validateNonNegative } from '../validation/field-checks.ts'
import { repetitions } from '../validation/repetitions.ts'
import { withoutField } from '../../copy-on-write.ts'

export const csiNodeRules: KindRules<CSINode> = {
  validatesMetadataOnce: true,
  validate: validateCsiNode,
  validateUpdate: (node, old) => [...validateCsiNode(node), ...validateSameDrivers(node, old)],
  allowUnconditionalUpdate: false,
  returnDeletedObject: true,
}

function validateCsiNode({ spec }: CSINode): FieldError[] {
  const drivers = spec?.drivers ?? []
  const names = drivers.map(driver => driver.name ?? '')
  const isRepeated = repetitions(names)
  return drivers.flatMap((driver, index) => {
    const field = `spec.drivers[${index}]`
    const name = names[index] ?? ''
    return [
      ...validateCsiDriverName(`${field}.name`, name),
      ...validateNodeId(`${field}.nodeID`, driver.nodeID ?? ''),
      ...validateNonNegative(`${field}.allocatable.count`, driver.allocatable?.count),
      ...(isRepeated[index] ? [duplicate(`${field}.name`, name)] : []),
      ...validateTopologyKeys(field, driver.topologyKeys ?? []),
    ]
  })
}

const nodeIdBytesMax = 256

function validateNodeId(field: string, nodeId: string): FieldError[] {
  if (nodeId === '') return [required(field, '')]
  if (Buffer.byteLength(nodeId) <= nodeIdBytesMax) return []
  return [invalid(field, nodeId, `must be ${nodeIdBytesMax} characters or less`)]
}

/** `field` is that of the driver: Kubernetes' errors do not include the index of the key. */
function validateTopologyKeys(field: string, keys: readonly string[]): FieldError[] {
  const isRepeated = repetitions(keys)
  return keys.flatMap((key, index) => [
    ...(key === '' ? [required(field, '')] : []),
    ...(isRepeated[index] ? [duplicate(field, key)] : []),
    ...invalidEach(field, key, checkQualifiedName(key)),
  ])
}

function validateSameDrivers(node: CSINode, old: CSINode): FieldError[] {
  const oldDrivers = new Map(old.spec?.drivers?.map(driver => [driver.name, driver]))
  return (
    node.spec?.drivers?.flatMap(driver => {
      const oldDriver = oldDrivers.get(driver.name)
      return oldDriver ? validateImmutable(withoutCount(driver), withoutCount(oldDriver), 'spec.drivers') : []
    }) ?? []
  )
}

function withoutCount(driver: CSINodeDriver): object {
  return withoutField(driver, 'allocatable')
}
