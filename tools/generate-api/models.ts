/**
 * Reads the models of the npm package: one class per API type. The `.js` file has fields, types and formats;
 * the `.d.ts` file has optionality and documentation. Both are parsed as text, which is ten times faster than
 * importing a thousand modules.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Model {
  /** Class name: `V1Pod`, `CoreV1Event`. */
  readonly name: string
  readonly documentation: string
  readonly fields: readonly ModelField[]
}

export interface ModelField {
  /** Name in JSON. */
  readonly name: string
  readonly type: string
  readonly format: string
  readonly required: boolean
  readonly documentation: string
}

export function readModels(directory: string): ReadonlyMap<string, Model> {
  const models = new Map<string, Model>()
  for (const file of readdirSync(directory)) {
    if (!file.endsWith('.d.ts')) continue
    const name = file.slice(0, -'.d.ts'.length)
    const attributes = readAttributes(readFileSync(join(directory, `${name}.js`), 'utf8'))
    if (!attributes) continue
    models.set(name, readModel(name, attributes, readFileSync(join(directory, file), 'utf8')))
  }
  return models
}

/** The models in a type expression of the package. */
export function mentionedModels(type: string, models: ReadonlyMap<string, Model>): readonly string[] {
  return (type.match(/\w+/g) ?? []).filter(word => models.has(word))
}

interface Attribute {
  readonly name: string
  readonly baseName: string
  readonly type: string
  readonly format: string
}

function readAttributes(source: string): readonly Attribute[] | undefined {
  const assignment = '.attributeTypeMap = '
  const start = source.lastIndexOf(assignment)
  if (start === -1) return undefined
  return JSON.parse(source.slice(start + assignment.length, source.lastIndexOf(';'))) as Attribute[]
}

function readModel(name: string, attributes: readonly Attribute[], declaration: string): Model {
  const start = declaration.indexOf('export declare class')
  const properties = new Map<string, { required: boolean; documentation: string }>()
  const property = /(?:\/\*\*\n\s*\* ([^\n]*)\n\s*\*\/\n\s*)?^ {4}'([^']+)'(\?)?:/gm
  for (const [, text, key, optional] of declaration.slice(start).matchAll(property)) {
    if (key === undefined) continue
    properties.set(key, { required: optional === undefined, documentation: plain(text) })
  }
  const fields = attributes.map(({ name: property, baseName, type, format }) => {
    const declared = properties.get(property)
    if (!declared) throw new Error(`the declaration of ${name} does not have ${property}`)
    const { required, documentation } = declared
    return { name: baseName, type, format, required, documentation }
  })
  const text = /\/\*\*\n\* ([^\n]*)\n\*\/\n$/.exec(declaration.slice(0, start))
  return { name, documentation: plain(text?.[1]), fields }
}

function plain(text: string | undefined): string {
  return (text ?? '').replaceAll(/\\(.)/g, '$1').trim()
}
