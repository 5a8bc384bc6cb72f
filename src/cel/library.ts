/**
 * The CEL libraries that Kubernetes v1.36 adds in all places:
 * https://kubernetes.io/docs/reference/using-api/cel/. The authorizer functions are always declared, but only
 * some places have the `authorizer` variable. `jsonPatchLibrary` and `bindingsLibrary` are added where they are
 * supported.
 */
import { authorizerLibrary } from './authorizer.ts'
import { globalFunction, MacroError, type Library } from './function.ts'
import { cidrLibrary } from './library/cidr.ts'
import { formatLibrary } from './library/format.ts'
import { ipLibrary } from './library/ip.ts'
import { listTransformLibrary } from './library/list-transforms.ts'
import { listLibrary, setLibrary } from './library/lists.ts'
import { regularExpressionLibrary } from './library/regular-expressions.ts'
import { urlLibrary } from './library/url.ts'
import { quantityLibrary } from './quantity.ts'
import { semanticVersionLibrary } from './semantic-version.ts'
import { dynType, stringType, type ObjectType, type Type } from './type.ts'
import { object } from './value.ts'
import { sameSize } from './estimate.ts'
import { byStringTraversal } from './library/costs.ts'

export const kubernetesLibraries: readonly Library[] = [
  authorizerLibrary,
  cidrLibrary,
  formatLibrary,
  ipLibrary,
  listLibrary,
  listTransformLibrary,
  quantityLibrary,
  regularExpressionLibrary,
  semanticVersionLibrary,
  setLibrary,
  urlLibrary,
]

const jsonPatchFields: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['op', stringType],
  ['path', stringType],
  ['from', stringType],
  ['value', dynType],
])

export const jsonPatchType: ObjectType = { name: 'JSONPatch', field: name => jsonPatchFields.get(name) }

/** JSON patch operations: `JSONPatch{op: "remove", path: "/data/" + jsonpatch.escapeKey(key)}`. */
export const jsonPatchLibrary: Library = {
  constructors: {
    find: name => {
      if (name !== jsonPatchType.name) return undefined
      return { type: jsonPatchType, construct: given => object(jsonPatchType, given) }
    },
  },
  overloads: [
    globalFunction('jsonpatch.escapeKey', [stringType], stringType, escapeKey, {
      ...byStringTraversal,
      resultSize: sameSize,
    }),
  ],
}

function escapeKey(key: string): string {
  return key.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** `cel.bind(name, value, expression)`: available in device selectors but not in admission policies. */
export const bindingsLibrary: Library = {
  macros: [
    {
      name: 'bind',
      receiver: true,
      argumentCount: 3,
      expand: ({ target, parameters: [variable, value, body], offset }) => {
        if (target?.kind !== 'identifier' || target.name !== 'cel') return undefined
        if (variable === undefined || value === undefined || body === undefined) return undefined
        if (variable.kind !== 'identifier' || variable.name.startsWith('.')) {
          throw new MacroError('cel.bind() variable names must be simple identifiers', variable.offset)
        }
        return { kind: 'binding', name: variable.name, value, body, offset }
      },
    },
  ],
}
