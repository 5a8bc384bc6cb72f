/** Reads CustomResourceDefinitions from manifests. Documents of other kinds are skipped. */
import { validatePatternSizes } from '#/api/custom-resources/subschemas.ts'
import { decode } from '#/api/decoding/decode.ts'
import { DecodeError } from '#/api/decoding/decode-error.ts'
import { structDefinition } from '#/api/definitions.ts'
import { formatFieldError } from '#/api/field-error.ts'
import type { CustomResourceDefinition } from '#/api/generated/apiextensions/v1.ts'
import { objectOf } from '#/api/metadata.ts'
import { checkDns1035Label, checkDns1123Subdomain } from '#/api/names.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { readYamlDocuments } from '#/api/text/yaml.ts'

/** `text` is YAML or JSON with any number of documents. Throws Error for an invalid one. */
export function readDefinitions(text: string | Uint8Array): readonly CustomResourceDefinition[] {
  return [...readYamlDocuments(text)].flatMap(({ value }) => itemsOf(value)).flatMap(definitionOf)
}

/** Flattens lists. */
function itemsOf(value: JsonValue): readonly JsonValue[] {
  if (!isObject(value)) return [value]
  const { kind, items } = value
  return typeof kind === 'string' && kind.endsWith('List') && Array.isArray(items) ? items : [value]
}

function definitionOf(value: JsonValue): readonly CustomResourceDefinition[] {
  if (!isObject(value) || value['kind'] !== 'CustomResourceDefinition') return []
  const { apiVersion } = value
  const name = nameOf(value)
  if (apiVersion !== 'apiextensions.k8s.io/v1') {
    throw new Error(`${name}: apiVersion must be apiextensions.k8s.io/v1, not ${JSON.stringify(apiVersion)}`)
  }
  try {
    const decoded = objectOf(decode(value, definitionSchema).value)
    const definition = decoded as unknown as CustomResourceDefinition
    validateDefinition(definition)
    return [definition]
  } catch (error) {
    if (error instanceof DecodeError) throw new Error(`${name}: ${error.message}`, { cause: error })
    throw error
  }
}

const definitionSchema = structDefinition('apiextensions.v1.CustomResourceDefinition')

function nameOf({ metadata }: JsonObject): string {
  const name = isObject(metadata ?? null) ? (metadata as JsonObject)['name'] : undefined
  return `CustomResourceDefinition ${quote(typeof name === 'string' ? name : '')}`
}

/**
 * Checks what generated code relies on: names, which become file names and identifiers, and the shape of
 * schemas. The API server checks the rest.
 */
function validateDefinition({ metadata, spec }: CustomResourceDefinition): void {
  const { group, names, versions } = (spec ?? {}) as Partial<CustomResourceDefinition['spec']>
  const problems = [
    ...checkDns1123Subdomain(group ?? '').map(text => `spec.group: ${text}`),
    ...checkDns1035Label(names?.plural ?? '').map(text => `spec.names.plural: ${text}`),
    ...checkDns1035Label(names?.kind?.toLowerCase() ?? '').map(text => `spec.names.kind: ${text}`),
    ...(versions ?? []).flatMap(({ name, schema }, index) => {
      const field = `spec.versions[${index}]`
      const root = schema?.openAPIV3Schema
      return [
        ...checkDns1035Label(name ?? '').map(text => `${field}.name: ${text}`),
        ...(root ? validatePatternSizes(`${field}.schema.openAPIV3Schema`, root).map(formatFieldError) : []),
      ]
    }),
  ]
  const [problem] = problems
  if (problem === undefined) return
  throw new Error(`CustomResourceDefinition ${quote(metadata.name ?? '')}: ${problem}`)
}
