/**
 * Adds the facts of the overlays to the definitions. Every name in an overlay must exist and every fact must
 * match its field's type, so that outdated overlays are detected.
 */
import type { Overlay, Overlays } from '#/api/kinds/overlay.ts'
import { withLineBreaks } from './with-line-breaks.ts'
import type { Definition, DefinitionField, Definitions, Scalar, Type } from './definitions.ts'

/** Values by name, `core.RestartPolicy`. */
export type Enums = ReadonlyMap<string, readonly string[]>

export function enumsOf(overlays: Overlays): Enums {
  return new Map(
    Object.entries(overlays).flatMap(([group, { enums = {} }]) =>
      Object.entries(enums).map(([name, values]) => [`${group}.${name}`, values] as const),
    ),
  )
}

export function applyOverlays(definitions: Definitions, overlays: Overlays): Definitions {
  const changed = new Map(definitions)
  const enums = enumsOf(overlays)
  for (const overlay of Object.values(overlays)) addDefinitions(changed, overlay)
  for (const [group, overlay] of Object.entries(overlays)) {
    applyTypes(changed, group, overlay)
    applyEnums(changed, group, { overlay, enums })
    applyMerging(changed, group, overlay)
    applyDefaults(changed, group, overlay)
    applyExtensions(changed, group, overlay)
  }
  restoreLineBreaks(changed, overlays)
  for (const definition of changed.values()) checkComplete(definition, changed)
  checkEnumsUsed(changed, enums)
  return new Map([...changed].sort(([a], [b]) => (a < b ? -1 : 1)))
}

function addDefinitions(definitions: Map<string, Definition>, overlay: Overlay): void {
  for (const [name, shape] of Object.entries(overlay.definitions ?? {})) {
    if (definitions.has(name)) throw new Error(`an overlay adds ${name}, which exists`)
    definitions.set(name, { name, documentation: '', shape, atomic: false, fields: [] })
  }
}

function applyTypes(definitions: Map<string, Definition>, group: string, overlay: Overlay): void {
  const change = (path: string, change: (type: Type) => Type): void => {
    changeType(definitions, { group, path }, change)
  }
  for (const path of overlay.quantities ?? []) {
    change(path, type => replaceScalar(type, 'string', { of: 'scalar', name: 'quantity' }))
  }
  for (const [path, definition] of Object.entries(overlay.types ?? {})) {
    if (!definitions.has(definition)) throw new Error(`the type ${definition} of ${path} does not exist`)
    change(path, type => replaceScalar(type, 'any', { of: 'definition', name: definition }))
  }
  for (const path of overlay.atomic ?? []) {
    if (path.includes('.')) change(path, type => (type.of === 'map' ? { ...type, atomic: true } : type))
    else changeDefinition(definitions, { group, name: path }, definition => ({ ...definition, atomic: true }))
  }
  for (const path of overlay.granular ?? []) {
    change(path, type => (type.of === 'definition' ? { ...type, granular: true } : type))
  }
}

function applyEnums(
  definitions: Map<string, Definition>,
  group: string,
  { overlay, enums }: { readonly overlay: Overlay; readonly enums: Enums },
): void {
  for (const [path, type] of Object.entries(overlay.enumFields ?? {})) {
    const name = type.includes('.') ? type : `${group}.${type}`
    if (!enums.has(name)) throw new Error(`the enumeration ${name} of ${path} does not exist`)
    changeType(definitions, { group, path }, type => replaceScalar(type, 'string', { of: 'enum', name }))
  }
}

function applyMerging(definitions: Map<string, Definition>, group: string, overlay: Overlay): void {
  for (const [path, merging] of Object.entries(overlay.merging ?? {})) {
    changeField(definitions, { group, path }, field => {
      const listOnly = merging.list !== undefined || merging.mergeKey !== undefined
      if (listOnly && field.type.of !== 'list') throw new Error(`${path} of ${group} is not a list`)
      return { ...field, merging }
    })
  }
  for (const [name, union] of Object.entries(overlay.unions ?? {})) {
    for (const field of Object.keys(union.fields)) {
      changeField(definitions, { group, path: `${name}.${field}` }, same)
    }
    changeDefinition(definitions, { group, name }, definition => ({ ...definition, union }))
  }
  for (const name of Object.keys(overlay.kinds ?? {})) changeDefinition(definitions, { group, name }, same)
}

function applyExtensions(definitions: Map<string, Definition>, group: string, overlay: Overlay): void {
  for (const [path, extensions] of Object.entries(overlay.extensions ?? {})) {
    changeField(definitions, { group, path }, field => ({ ...field, extensions }))
  }
}

function restoreLineBreaks(definitions: Map<string, Definition>, overlays: Overlays): void {
  const spaced = new Set<string>()
  for (const [group, overlay] of Object.entries(overlays)) {
    for (const path of overlay.spacedSentences ?? []) {
      const [type = '', field] = path.split('.')
      const places = named(definitions, group, type).map(({ name }) =>
        field === undefined ? name : `${name}.${field}`,
      )
      if (places.length === 0)
        throw new Error(`the overlay of ${group} speaks of ${path}, which does not exist`)
      for (const place of places) spaced.add(place)
    }
  }
  const restore = (place: string, text: string): string => (spaced.has(place) ? text : withLineBreaks(text))
  for (const [name, definition] of definitions) {
    const fields = definition.fields.map(field => ({
      ...field,
      documentation: restore(`${name}.${field.name}`, field.documentation),
    }))
    definitions.set(name, { ...definition, documentation: restore(name, definition.documentation), fields })
  }
}

function applyDefaults(definitions: Map<string, Definition>, group: string, overlay: Overlay): void {
  const enums = overlay.enums ?? {}
  for (const [path, value] of Object.entries(overlay.defaults ?? {})) {
    changeField(definitions, { group, path }, field => {
      const { type } = field
      const isFitting =
        type.of === 'enum'
          ? enums[type.name.slice(group.length + 1)]?.includes(String(value))
          : type.of === 'scalar' && defaultTypes[type.name] === typeof value
      if (!isFitting) throw new Error(`the default of ${path} of ${group} does not fit its type`)
      return { ...field, default: value }
    })
  }
}

const defaultTypes: Partial<Record<Scalar, string>> = {
  string: 'string',
  boolean: 'boolean',
  int32: 'number',
}

function changeType(definitions: Map<string, Definition>, place: Place, change: (type: Type) => Type): void {
  changeField(definitions, place, field => {
    const type = change(field.type)
    if (type !== field.type) return { ...field, type }
    throw new Error(`the overlay of ${place.group} says what does not fit of ${place.path}`)
  })
}

interface Place {
  readonly group: string
  readonly path: string
}

function changeField(
  definitions: Map<string, Definition>,
  { group, path }: Place,
  change: (field: DefinitionField) => DefinitionField,
): void {
  const dot = path.indexOf('.')
  const name = path.slice(dot + 1)
  const holders = named(definitions, group, path.slice(0, dot)).filter(definition =>
    definition.fields.some(field => field.name === name),
  )
  if (holders.length === 0) throw new Error(`the overlay of ${group} speaks of ${path}, which does not exist`)
  for (const holder of holders) {
    const fields = holder.fields.map(field => (field.name === name ? change(field) : field))
    definitions.set(holder.name, { ...holder, fields })
  }
}

function changeDefinition(
  definitions: Map<string, Definition>,
  { group, name }: { readonly group: string; readonly name: string },
  change: (definition: Definition) => Definition,
): void {
  const found = named(definitions, group, name)
  if (found.length === 0) throw new Error(`the overlay of ${group} speaks of ${name}, which does not exist`)
  for (const definition of found) definitions.set(definition.name, change(definition))
}

function same<T>(value: T): T {
  return value
}

/** The definitions of a group with this type name, in one version for `v1/Name`, otherwise in all. */
function named(definitions: Definitions, group: string, name: string): readonly Definition[] {
  const [first = '', second] = name.split('/')
  if (second !== undefined) {
    const definition = definitions.get(`${group}.${first}.${second}`)
    return definition ? [definition] : []
  }
  return [...definitions.values()].filter(definition => {
    const [owner, , last] = definition.name.split('.')
    return owner === group && last === name
  })
}

function replaceScalar(type: Type, name: 'string' | 'any', replacement: Type): Type {
  if (type.of === 'scalar') return type.name === name ? replacement : type
  if (type.of === 'list') {
    const items = replaceScalar(type.items, name, replacement)
    return items === type.items ? type : { ...type, items }
  }
  if (type.of === 'map') {
    const values = replaceScalar(type.values, name, replacement)
    return values === type.values ? type : { ...type, values }
  }
  return type
}

function checkEnumsUsed(definitions: Definitions, enums: Enums): void {
  const leaves = [...definitions.values()].flatMap(({ fields }) => fields.map(({ type }) => leafOf(type)))
  const used = new Set(leaves.map(leaf => (leaf.of === 'enum' ? leaf.name : undefined)))
  for (const name of enums.keys()) if (!used.has(name)) throw new Error(`no field is a ${name}`)
}

function checkComplete(definition: Definition, definitions: Definitions): void {
  for (const { name, type, merging } of definition.fields) {
    const leaf = leafOf(type)
    if (leaf.of === 'scalar' && leaf.name === 'any') {
      throw new Error(`no overlay says what ${definition.name}.${name} is`)
    }
    const keys = [...(merging?.keys ?? []), ...(merging?.mergeKey === undefined ? [] : [merging.mergeKey])]
    for (const key of keys) {
      const items = leaf.of === 'definition' ? definitions.get(leaf.name) : undefined
      if (!items?.fields.some(field => field.name === key)) {
        throw new Error(`the items of ${definition.name}.${name} do not have the key ${key}`)
      }
    }
  }
}

function leafOf(type: Type): Type {
  if (type.of === 'list') return leafOf(type.items)
  return type.of === 'map' ? leafOf(type.values) : type
}
