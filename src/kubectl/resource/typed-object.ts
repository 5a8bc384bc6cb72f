import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { stringifyJson } from '#/api/text/json.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { kindText } from './info.ts'
import type { ManifestDocument } from './read-manifests.ts'

/** The object in a document. Throws Error for a value that has no kind, or metadata that is no text. */
export function typedObject({ value, source }: ManifestDocument): JsonObject {
  const place = `unable to decode ${quote(source)}`
  if (!isObject(value)) {
    throw new Error(
      `${place}: json: cannot unmarshal ${typeName(value)} into Go value of type unstructured.detector`,
    )
  }
  if (kindText(value) === '') {
    throw new Error(`${place}: Object 'Kind' is missing in '${stringifyJson(value)}'`)
  }
  const metadata = objectOf(value['metadata'])
  const texts = [
    ...['name', 'namespace', 'generateName'].map(field => [field, metadata[field]] as const),
    ...['labels', 'annotations'].flatMap(field =>
      Object.values(objectOf(metadata[field])).map(text => [field, text] as const),
    ),
  ]
  for (const [field, text = ''] of texts) {
    if (typeof text === 'string' || text === null) continue
    const target = `Go struct field ObjectMeta.metadata.${field} of type string`
    throw new Error(`${place}: json: cannot unmarshal ${typeName(text)} into ${target}`)
  }
  return value
}

function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {}
}

function typeName(value: JsonValue): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value === 'boolean' ? 'bool' : typeof value === 'bigint' ? 'number' : typeof value
}

/** Throws Error for a document without apiVersion or kind, as `--validate` does. */
export function validateType({ value, source }: ManifestDocument): void {
  const faults = isObject(value)
    ? ['apiVersion', 'kind'].flatMap(field => typeFault(field, value[field]))
    : ['invalid object to validate']
  if (faults.length === 0) return
  const all = faults.length === 1 ? faults[0] : `[${faults.join(', ')}]`
  throw new Error(
    `error validating ${quote(source)}: error validating data: ${all}; ` +
      'if you choose to ignore these errors, turn validation off with --validate=false',
  )
}

function typeFault(field: string, value: JsonValue | undefined): string[] {
  if (value === undefined || value === '') return [`${field} not set`]
  return typeof value === 'string' ? [] : [`${field} isn't string type`]
}
