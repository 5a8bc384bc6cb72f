import { isObject, put } from '#/api/text/json-object.ts'
import { compareText, wrongKind } from '../documents/value.ts'
import { changeFields, type FieldSpec } from '../fields/field-spec.ts'
import type { Resource } from '../resources/resource.ts'

/** Sets labels or annotations in all fields that have them. */
export function setStrings(
  resources: Iterable<Resource>,
  strings: Readonly<Record<string, string>>,
  specs: readonly FieldSpec[],
): void {
  const keys = Object.keys(strings).sort(compareText)
  for (const resource of resources) {
    for (const key of keys) {
      changeFields(resource, specs, {
        createKind: 'MappingNode',
        change: value => {
          if (value === null) return value
          if (!isObject(value)) throw wrongKind('MappingNode', value)
          put(value, key, strings[key] ?? '')
          return value
        },
      })
    }
  }
}
