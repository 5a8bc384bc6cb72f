/** Warnings about unrecognized formats, which validation of custom resources ignores. */
import type { CustomResourceDefinition, JSONSchemaProps } from '../../generated/apiextensions/v1.ts'
import { quote } from '../../text/quote.ts'
import { subschemasOf, validatePatternSizes } from '../../custom-resources/subschemas.ts'

/** For an update, only new formats are reported. */
export function warningsForFormats(
  definition: CustomResourceDefinition,
  old: CustomResourceDefinition | undefined,
): string[] {
  const known = old ? unknownFormatsOf(old) : new Set<string>()
  return [...unknownFormatsOf(definition)]
    .filter(format => !known.has(format))
    .slice(0, warningsMax)
    .map(format => `unrecognized format ${quote(format)}`)
}

/** Maximum number of warnings per response: each is a header. */
const warningsMax = 20

const textFormats: ReadonlySet<string> = new Set([
  'bsonobjectid',
  'uri',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'cidr',
  'mac',
  'uuid',
  'uuid3',
  'uuid4',
  'uuid5',
  'isbn',
  'isbn10',
  'isbn13',
  'creditcard',
  'ssn',
  'hexcolor',
  'rgbcolor',
  'byte',
  'password',
  'date',
  'duration',
  'datetime',
  'k8sshortname',
  'k8slongname',
])

function unknownFormatsOf({ spec }: CustomResourceDefinition): ReadonlySet<string> {
  const found = new Set<string>()
  for (const { schema } of spec?.versions ?? []) {
    const { openAPIV3Schema: root } = schema ?? {}
    if (root && validatePatternSizes('', root).length === 0) collect(root, found)
  }
  return found
}

function collect(schema: JSONSchemaProps, found: Set<string>): void {
  const { format } = schema
  if (format && !isKnown(format, schema.type ?? '')) found.add(format)
  for (const inner of subschemasOf(schema)) collect(inner.schema, found)
}

function isKnown(format: string, type: string): boolean {
  if (type === 'integer') return format === 'int32' || format === 'int64'
  if (type === 'number') return format === 'float' || format === 'double'
  return (type === '' || type === 'string') && textFormats.has(format.replaceAll('-', ''))
}
