/**
 * The definitions: the package's models under their Kubernetes names, with our own types instead of the
 * package's JavaScript types. `apply-overlay.ts` then adds the overlays.
 */
import type { Merging, Union } from '#/api/kinds/overlay.ts'
import type { Model, ModelField } from './models.ts'

export interface Definition {
  /** `core.v1.Pod`. */
  readonly name: string
  readonly documentation: string
  readonly shape: 'struct' | 'any'
  readonly atomic: boolean
  readonly union?: Union
  readonly fields: readonly DefinitionField[]
}

export interface DefinitionField {
  readonly name: string
  readonly documentation: string
  readonly required: boolean
  readonly type: Type
  readonly merging?: Merging
  readonly default?: string | number | boolean
  /** Extensions of OpenAPI without effect. */
  readonly extensions?: Readonly<Record<string, string>>
}

export type Type =
  | { readonly of: 'scalar'; readonly name: Scalar }
  /** A string; the name is that of the enumeration, `core.RestartPolicy`. */
  | { readonly of: 'enum'; readonly name: string }
  | { readonly of: 'definition'; readonly name: string; readonly granular?: boolean }
  | { readonly of: 'list'; readonly items: Type }
  | { readonly of: 'map'; readonly values: Type; readonly atomic?: boolean }

export type Scalar =
  | 'any'
  | 'boolean'
  | 'byte'
  | 'double'
  | 'int32'
  | 'int64'
  | 'int-or-string'
  | 'micro-time'
  | 'quantity'
  | 'string'
  | 'time'

export type Definitions = ReadonlyMap<string, Definition>

export function buildDefinitions(
  models: ReadonlyMap<string, Model>,
  names: ReadonlyMap<string, string>,
): Definitions {
  const definitions = [...names].map(([model, name]): [string, Definition] => {
    const { documentation = '', fields = [] } = models.get(model) ?? {}
    const build = (field: ModelField): DefinitionField => ({
      name: field.name,
      documentation: field.documentation,
      required: field.required,
      type: readType(field.type, field.format, names),
    })
    return [name, { name, documentation, shape: 'struct', atomic: false, fields: fields.map(build) }]
  })
  return new Map(definitions)
}

function readType(text: string, format: string, names: ReadonlyMap<string, string>): Type {
  const list = /^Array<(.*)>$/.exec(text)
  if (list?.[1] !== undefined) return { of: 'list', items: readType(list[1], format, names) }
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(text)
  if (map?.[1] !== undefined) return { of: 'map', values: readType(map[1], format, names) }
  const definition = names.get(text)
  if (definition !== undefined) return { of: 'definition', name: definition }
  return { of: 'scalar', name: readScalar(text, format) }
}

const scalars: Readonly<Record<string, Scalar>> = {
  'any:': 'any',
  'boolean:': 'boolean',
  'Date:date-time': 'time',
  'IntOrString:int-or-string': 'int-or-string',
  'number:double': 'double',
  'number:int32': 'int32',
  'number:int64': 'int64',
  'string:': 'string',
  'string:byte': 'byte',
  'V1MicroTime:date-time-micro': 'micro-time',
}

function readScalar(text: string, format: string): Scalar {
  const scalar = scalars[`${text}:${format}`]
  if (scalar === undefined) throw new Error(`the type ${text} with the format "${format}" is not a known one`)
  return scalar
}
