/** JSON patch operations: `JSONPatch{op: "remove", path: "/data/" + jsonpatch.escapeKey(key)}`. */
import { globalFunction, type Library } from './function.ts'
import { dynType, stringType, type ObjectType, type Type } from './type.ts'
import { object } from './value.ts'
import { stringTraversalCost } from './library/costs.ts'

const fields: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['op', stringType],
  ['path', stringType],
  ['from', stringType],
  ['value', dynType],
])

export const jsonPatchType: ObjectType = { name: 'JSONPatch', field: name => fields.get(name) }

export const jsonPatchLibrary: Library = {
  constructors: {
    find: name => {
      if (name !== jsonPatchType.name) return undefined
      return { type: jsonPatchType, construct: given => object(jsonPatchType, given) }
    },
  },
  overloads: [
    globalFunction('jsonpatch.escapeKey', [stringType], stringType, escapeKey, { cost: stringTraversalCost }),
  ],
}

function escapeKey(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}
