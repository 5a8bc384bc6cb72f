import { get, isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { parseYaml } from '#/api/text/yaml.ts'
import { emptyConfiguration, mergeConfigurations, type Configuration } from '../fields/configuration.ts'
import type { FieldSpec } from '../fields/field-spec.ts'
import { inContext, KustomizeError } from '../kustomize-error.ts'
import { decodeDocument, struct, structs, text } from '../load/decode.ts'
import { fieldSpecShape } from '../load/kustomization.ts'
import type { Loader } from '../load/loader.ts'

/** Maximum number of fields in the definitions of a file, counting each time that a definition is referenced. */
const fieldsMax = 100_000

/** Reads OpenAPI definitions of custom resources, whose extensions mark labels, annotations, names and references. */
export async function loadCrds(loader: Loader, paths: readonly string[]): Promise<Configuration> {
  let configuration = emptyConfiguration
  for (const path of paths) {
    const content = await loader.read(path)
    const definitions = await inContext(`unable to parse open API definition from '${path}'`, () => {
      const value = parseYaml(content)
      if (isObject(value)) return value
      throw new KustomizeError('json: cannot unmarshal into Go value of type accumulator.nameToApiMap')
    })
    configuration = mergeConfigurations(configuration, readDefinitions(definitions))
  }
  return configuration
}

interface Reading {
  readonly definitions: JsonObject
  configuration: Configuration
  fields: number
}

function readDefinitions(definitions: JsonObject): Configuration {
  const reading: Reading = { definitions, configuration: emptyConfiguration, fields: 0 }
  for (const name of Object.keys(definitions)) {
    const properties = propertiesOf(definitions, name)
    if (!['kind', 'apiVersion', 'metadata'].every(field => Object.hasOwn(properties, field))) continue
    readType(reading, name, { kind: name.split('.').at(-1) ?? '', path: [], within: [name] })
  }
  return reading.configuration
}

function propertiesOf(definitions: JsonObject, name: string): JsonObject {
  const schema = memberOf(get(definitions, name), 'Schema') ?? memberOf(get(definitions, name), 'schema')
  const properties = memberOf(schema, 'properties')
  return isObject(properties) ? properties : {}
}

function memberOf(value: JsonValue | undefined, key: string): JsonValue | undefined {
  return isObject(value) ? get(value, key) : undefined
}

interface Position {
  readonly kind: string
  readonly path: readonly string[]
  /** The types that contain the field; one that contains itself is read once. */
  readonly within: readonly string[]
}

function readType(reading: Reading, name: string, { kind, path, within }: Position): void {
  for (const [field, property] of Object.entries(propertiesOf(reading.definitions, name))) {
    if (++reading.fields > fieldsMax) throw new KustomizeError(`more than ${fieldsMax} fields in definitions`)
    const here = [...path, field]
    reading.configuration = mergeConfigurations(reading.configuration, extensionsOf(property, kind, here))
    const reference = memberOf(property, '$ref')
    if (typeof reference !== 'string' || within.includes(reference)) continue
    readType(reading, reference, { kind, path: here, within: [...within, reference] })
  }
}

function extensionsOf(property: JsonValue, kind: string, path: readonly string[]): Configuration {
  const spec: FieldSpec = { kind, path: path.join('/') }
  const textOf = (name: string) => {
    const value = memberOf(property, `x-kubernetes-${name}`)
    return typeof value === 'string' ? value : undefined
  }
  const [version, target] = [textOf('object-ref-api-version'), textOf('object-ref-kind')]
  const isReference = version !== undefined && target !== undefined
  const nameKey = textOf('object-ref-name-key') ?? 'name'
  const reference = {
    kind: target ?? '',
    version: version ?? '',
    fieldSpecs: [{ kind, path: `${spec.path}/${nameKey}` }],
  }
  return {
    ...emptyConfiguration,
    commonAnnotations: textOf('annotation') === undefined ? [] : [spec],
    commonLabels: textOf('label-selector') === undefined ? [] : [spec],
    namePrefix: textOf('identity') === undefined ? [] : [spec],
    nameReference: isReference ? [reference] : [],
  }
}

const fieldSpecs = structs(fieldSpecShape)

const configurationShape = struct('TransformerConfig', {
  namePrefix: fieldSpecs,
  nameSuffix: fieldSpecs,
  namespace: fieldSpecs,
  commonLabels: fieldSpecs,
  labels: fieldSpecs,
  templateLabels: fieldSpecs,
  commonAnnotations: fieldSpecs,
  nameReference: structs(
    struct('NameBackReferences', { group: text, version: text, kind: text, fieldSpecs }),
  ),
  varReference: fieldSpecs,
  images: fieldSpecs,
  replicas: fieldSpecs,
})

/** Reads files that name further fields of kinds. */
export async function loadConfigurations(loader: Loader, paths: readonly string[]): Promise<Configuration> {
  let configuration = emptyConfiguration
  for (const path of paths) {
    const content = await loader.read(path)
    const problem = 'error unmarshaling JSON: while decoding JSON'
    const decoded = await inContext(problem, () =>
      decodeDocument(configurationShape, parseYaml(content), true),
    )
    configuration = mergeConfigurations(configuration, { ...emptyConfiguration, ...decoded })
  }
  return configuration
}
