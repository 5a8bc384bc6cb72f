import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import type { JsonValue } from '#/api/text/json-value.ts'
import { quote } from '#/api/text/quote.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import type { Machine } from '../factory.ts'
import { itemsOf, splitApiVersion } from '../resource/find-resources.ts'
import { apiVersionText, kindText, metadataText } from '../resource/info.ts'

/**
 * Returns the output for an object: text, or bytes that are not. It counts the objects: YAML documents are separated.
 */
export type ObjectPrinter = (object: JsonObject) => string | Uint8Array

/** The flags of commands that print objects. */
export const printFlags = {
  'output': stringFlag(
    'Format: json, yaml, kyaml, name, go-template, go-template-file, jsonpath, jsonpath-as-json, jsonpath-file.',
    { shorthand: 'o' },
  ),
  'template': stringFlag(
    'Template, or the path of a template file, for -o=go-template and -o=go-template-file.',
  ),
  'allow-missing-template-keys': boolFlag(
    'Ignore fields of templates and JSONPaths that an object does not have.',
    {
      shownDefault: 'true',
    },
  ),
  'show-managed-fields': boolFlag('Keep managedFields in JSON and YAML output.'),
}

export interface PrintFlagValues {
  readonly 'output'?: string
  readonly 'template'?: string
  readonly 'allow-missing-template-keys'?: boolean
  readonly 'show-managed-fields'?: boolean
}

export interface ObjectPrinterOptions {
  readonly flags: PrintFlagValues
  readonly machine: Machine
  /** Printed after the name of an object with `-o name`: `created`. By default only the name is printed. */
  readonly operation?: string
  /** Formats that the command prints itself: `wide`, `custom-columns`. */
  readonly otherFormats?: readonly string[]
  /** Keeps the order of fields in JSON, as for objects that kubectl has generated. */
  readonly keepsFieldOrder?: boolean
}

const templateFormats: readonly string[] = [
  'go-template',
  'go-template-file',
  'jsonpath',
  'jsonpath-as-json',
  'jsonpath-file',
  'template',
  'templatefile',
]

const formats: readonly string[] = ['json', 'yaml', 'kyaml', 'name', ...templateFormats]

/**
 * The printer of `--output`. Undefined without a format, and for a format that the command prints itself.
 * Throws Error for an unknown format or a broken template.
 */
export async function objectPrinterOf(options: ObjectPrinterOptions): Promise<ObjectPrinter | undefined> {
  const { flags, operation, otherFormats = [] } = options
  const { format, argument } = splitOutput(flags)
  if (format === '' || otherFormats.includes(format)) return undefined
  const strip = flags['show-managed-fields'] ? (object: JsonObject) => object : withoutManagedFields
  switch (format) {
    case 'json': {
      if (options.keepsFieldOrder) return object => toIndentedJson(strip(object))
      const { formatJson } = await import('./go-format.ts')
      return object => `${formatJson(strip(object), '    ')}\n`
    }
    case 'yaml':
      return yamlPrinter(strip)
    case 'kyaml': {
      const { stringifyKyaml } = await import('./kyaml.ts')
      const order = options.keepsFieldOrder ? { keysOf: Object.keys } : {}
      return object => stringifyKyaml(strip(object), order)
    }
    case 'name':
      return object =>
        namesIn(object)
          .map(name => `${name}${operation ? ` ${operation}` : ''}\n`)
          .join('')
  }
  if (templateFormats.includes(format)) return templatePrinter(format, argument, options)
  throw unknownFormat(format, [...formats, ...otherFormats])
}

/** `-o jsonpath={.x}` has the argument `{.x}`. `--template` alone means `go-template`. */
export function splitOutput({ output = '', template }: PrintFlagValues): {
  readonly format: string
  readonly argument: string
} {
  if (output === '')
    return template ? { format: 'go-template', argument: template } : { format: '', argument: '' }
  const [, name = output, argument = ''] = /^([^=]*)=([^]*)$/.exec(output) ?? []
  const takesArgument = templateFormats.includes(name) || name.startsWith('custom-columns')
  if (!takesArgument) return { format: output.toLowerCase(), argument: '' }
  return { format: name, argument: argument || (template ?? '') }
}

export function unknownFormat(format: string, allowed: readonly string[]): Error {
  const names = allowed.toSorted().join(',')
  return new Error(
    `unable to match a printer suitable for the output format ${quote(format)}, allowed formats are: ${names}`,
  )
}

async function yamlPrinter(strip: (object: JsonObject) => JsonObject): Promise<ObjectPrinter> {
  const { stringifyYaml } = await import('#/api/text/stringify-yaml.ts')
  let count = 0
  return object => `${count++ === 0 ? '' : '---\n'}${stringifyYaml(strip(object))}`
}

async function templatePrinter(
  format: string,
  given: string,
  { flags, machine }: ObjectPrinterOptions,
): Promise<ObjectPrinter> {
  if (given === '') throw new Error('template format specified but no template given')
  const allowMissingKeys = flags['allow-missing-template-keys'] ?? true
  let text = given
  if (format.endsWith('file')) {
    const { readTemplateFile } = await import('./template-file.ts')
    text = await readTemplateFile(machine, { path: given, what: '--template' })
  }
  if (!format.startsWith('jsonpath')) {
    const { goTemplatePrinter } = await import('./template-printers.ts')
    return goTemplatePrinter(text, allowMissingKeys)
  }
  const { jsonPathPrinter, jsonPathAsJsonPrinter } = await import('./template-printers.ts')
  return format === 'jsonpath-as-json'
    ? jsonPathAsJsonPrinter(text, allowMissingKeys)
    : jsonPathPrinter(text, allowMissingKeys)
}

/** The items of a list one by one: `pod/web-0`. */
export function namesIn(object: JsonObject): readonly string[] {
  const kind = kindText(object)
  if (kind.endsWith('List') && Array.isArray(object['items'])) return itemsOf(object).flatMap(namesIn)
  const [group] = splitApiVersion(apiVersionText(object))
  const resource = (group === '' ? kind : `${kind}.${group}`).toLowerCase()
  return [`${resource}/${metadataText(object, 'name') || '<unknown>'}`]
}

/** The object, and the items of a list, without managedFields. */
export function withoutManagedFields(object: JsonObject): JsonObject {
  const { items, metadata } = object
  if (Array.isArray(items)) {
    return { ...object, items: items.map(item => (isObject(item) ? withoutManagedFields(item) : item)) }
  }
  if (!isObject(metadata) || !('managedFields' in metadata)) return object
  const { managedFields: _managedFields, ...rest } = metadata
  return { ...object, metadata: rest }
}

/** Go's JSON, indented by four spaces. */
function toIndentedJson(value: JsonValue): string {
  return `${encodeJson(value, 4)}\n`
}

/** Go's JSON on one line, without a line break. */
export function toCompactJson(value: JsonValue): string {
  return encodeJson(value, 0)
}

/** Escapes characters that HTML gives a meaning, as Go does. */
function encodeJson(value: JsonValue, indent: number): string {
  const printInteger = (_key: string, each: unknown): unknown =>
    typeof each === 'bigint' ? JSON.rawJSON(`${each}`) : each
  const text = JSON.stringify(value, printInteger, indent)
  const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  return text.replaceAll(/[<>&\u2028\u2029]/g, escaped)
}

/** With the fields of all objects in alphabetical order. */
export function sorted(value: JsonObject): JsonObject {
  return sortedValue(value) as JsonObject
}

function sortedValue(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(sortedValue)
  if (!isObject(value)) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([name, each]) => [name, sortedValue(each)]))
}
