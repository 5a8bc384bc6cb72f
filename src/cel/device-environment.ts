/** The environment of device selectors: the variable `device`, and the maximum sizes of its parts. */
import { compileExpression, InvalidExpression, type Compiled } from './compile-expression.ts'
import { Environment } from './environment.ts'
import type { DeclaredSize } from './estimate.ts'
import { bindingsLibrary, kubernetesLibraries } from './library.ts'
import { quantityType } from './quantity.ts'
import {
  boolType,
  dynType,
  mapOf,
  objectOf,
  showType,
  stringType,
  type ObjectType,
  type Type,
} from './type.ts'

const fields: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['driver', stringType],
  ['attributes', mapOf(stringType, mapOf(stringType, dynType))],
  ['capacity', mapOf(stringType, mapOf(stringType, quantityType))],
  ['allowMultipleAllocations', boolType],
])

export const deviceType: ObjectType = { name: 'kubernetes.DRADevice', field: name => fields.get(name) }

const environment = new Environment({
  variables: { device: objectOf(deviceType) },
  libraries: [...kubernetesLibraries, bindingsLibrary],
})

/** The result must be a bool, or of a type that is known only when it is evaluated. */
export function compileDeviceSelector(expression: string): Compiled {
  const program = compileExpression(expression, environment)
  if (program instanceof InvalidExpression || ['bool', 'dyn'].includes(program.type.kind)) return program
  const message = `must evaluate to bool or the unknown type, not ${showType(program.type)}`
  return new InvalidExpression(expression, message)
}

const entriesMax = 32n
const domainSize: DeclaredSize = { maxElements: 63n }
const nameSize: DeclaredSize = { maxElements: 32n }
const attributeSize: DeclaredSize = { maxElements: 64n }
const quantitySize: DeclaredSize = { maxElements: 0n }

function domainsOf(elements: DeclaredSize): DeclaredSize {
  // All entries have the same size, so that it is known without the name.
  const names = { maxElements: entriesMax, keys: nameSize, elements, field: () => elements }
  return { maxElements: entriesMax, keys: domainSize, elements: names }
}

const sizes: ReadonlyMap<string, DeclaredSize> = new Map<string, DeclaredSize>([
  ['driver', { maxElements: 63n }],
  ['attributes', domainsOf(attributeSize)],
  ['capacity', domainsOf(quantitySize)],
  ['allowMultipleAllocations', { maxElements: 1n }],
])

/** Maximum size of the variable `device`, for cost estimates. */
export const deviceSize: DeclaredSize = { maxElements: BigInt(sizes.size), field: name => sizes.get(name) }
