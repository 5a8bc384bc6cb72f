/**
 * Writes the definitions in the notation of `src/api/definitions.ts`, and their documentation in a separate
 * file.
 */
import type { Enums } from './apply-overlay.ts'
import type { Definition, DefinitionField, Definitions, Type } from './definitions.ts'

export interface EmittedDefinitions {
  readonly definitions: Definitions
  readonly enums: Enums
  /** The accepted versions of kinds, where they differ from those of their group. */
  readonly kinds: Readonly<Record<string, readonly string[]>>
}

/** The definitions by name, with unions in OpenAPI notation. */
export function emitDefinitions({ definitions, enums, kinds }: EmittedDefinitions): string {
  const notations: Record<string, string> = {}
  const unions: Record<string, unknown> = {}
  const extensions: Record<string, unknown> = {}
  for (const definition of definitions.values()) {
    notations[definition.name] = writeDefinition(definition)
    for (const field of definition.fields) {
      if (field.extensions) extensions[`${definition.name}.${field.name}`] = field.extensions
    }
    if (definition.union) {
      const { discriminator, fields } = definition.union
      const by = { 'fields-to-discriminateBy': fields }
      unions[definition.name] = discriminator === undefined ? by : { discriminator, ...by }
    }
  }
  const values = Object.fromEntries(enums)
  const content = { definitions: notations, enums: values, extensions, kinds, unions }
  return `${JSON.stringify(content, undefined, 1)}\n`
}

/** Every text once, with references from definitions (`core.v1.Pod`) and fields (`core.v1.Pod.spec`). */
export function emitDocumentation(definitions: Definitions): string {
  const numbers = new Map<string, number>()
  const places: Record<string, number> = {}
  const add = (place: string, text: string): void => {
    if (text === '') return
    const number = numbers.get(text) ?? numbers.size
    numbers.set(text, number)
    places[place] = number
  }
  for (const { name, documentation, fields } of definitions.values()) {
    add(name, documentation)
    for (const field of fields) add(`${name}.${field.name}`, field.documentation)
  }
  return `${JSON.stringify({ texts: [...numbers.keys()], places }, undefined, 1)}\n`
}

function writeDefinition({ name, shape, atomic, fields }: Definition): string {
  if (shape === 'any') return 'any'
  const owner = name.slice(0, name.lastIndexOf('.') + 1)
  return [...(atomic ? ['atomic'] : []), ...fields.map(field => writeField(field, owner))].join(' ')
}

function writeField(field: DefinitionField, owner: string): string {
  const name = field.required ? `${field.name}!` : field.name
  const fallback = field.default === undefined ? '' : `?${field.default}`
  return `${name}:${writeType(field, field.type, owner)}${fallback}${writePatch(field)}`
}

function writeType(field: DefinitionField, type: Type, owner: string): string {
  if (type.of === 'list') {
    return `${writeType(field, type.items, owner)}[${type === field.type ? writeKeys(field) : ''}]`
  }
  if (type.of === 'map') return `${writeType(field, type.values, owner)}{${type.atomic ? 'atomic' : ''}}`
  if (type.of === 'scalar') return type.name
  if (type.of === 'enum') return `string(${type.name})`
  const name = type.name.startsWith(owner) ? type.name.slice(owner.length - 1) : type.name
  return type.granular ? `${name}+` : name
}

function writeKeys({ merging }: DefinitionField): string {
  return merging?.list === 'set' ? '=' : (merging?.keys?.join(',') ?? '')
}

function writePatch({ merging }: DefinitionField): string {
  if (merging?.patch === undefined) return ''
  return `@${merging.patch}${merging.mergeKey === undefined ? '' : `(${merging.mergeKey})`}`
}
