import type { Completion, CompletionContext, CompletionResult } from '@codemirror/autocomplete'
import type { EditorState } from '@codemirror/state'
import {
  fieldCompletions,
  typeOf,
  valueCompletions,
  type OpenApiSchema,
  type OpenApiSchemas,
} from './openapi-schema.ts'
import { YamlOutline } from './yaml-places.ts'

/** The schema of the kind that is edited. */
export interface ManifestSchema {
  readonly schemas: OpenApiSchemas
  readonly root: OpenApiSchema
}

/** Completes the names of fields, and values of fields with few. */
export function completeManifest(
  { state, pos, explicit }: CompletionContext,
  schema: ManifestSchema | undefined,
): CompletionResult | null {
  if (schema === undefined) return null
  const line = state.doc.lineAt(pos)
  const column = pos - line.from
  const outline = new YamlOutline(state.doc.toString())
  const { parent, key } = outline.at(line.number - 1, column)
  const word = /[\w./-]*$/.exec(line.text.slice(0, column))?.[0] ?? ''
  const typed = word.replace(/^-(?=\s|$)/, '')
  if (typed === '' && !explicit && key === undefined) return null
  const path = key === undefined ? parent : [...parent, key]
  const found = schema.schemas.schemaAt(schema.root, path)
  if (found === undefined) return null
  const options =
    key === undefined
      ? fieldOptions(schema, found, outline.keysIn(parent))
      : valueCompletions(found).map((label): Completion => ({ label, type: 'enum' }))
  return options.length === 0 ? null : { from: pos - typed.length, options, validFor: /^[\w./-]*$/ }
}

function fieldOptions(
  { schemas }: ManifestSchema,
  schema: OpenApiSchema,
  present: ReadonlySet<string>,
): Completion[] {
  return fieldCompletions(schemas, schema, present).map(
    ({ label, type, description, isRequired, isNested }): Completion => ({
      label,
      detail: type,
      ...(description && { info: description }),
      apply: isNested ? `${label}:` : `${label}: `,
      boost: isRequired ? 1 : 0,
    }),
  )
}

/** The documentation of the key at a position. */
export function describeField(
  state: EditorState,
  position: number,
  schema: ManifestSchema | undefined,
): string | undefined {
  if (schema === undefined) return undefined
  const line = state.doc.lineAt(position).number - 1
  const place = new YamlOutline(state.doc.toString()).places.find(each => each.line === line)
  const found = place && schema.schemas.schemaAt(schema.root, place.path)
  if (place === undefined || found === undefined) return undefined
  return `${place.path.at(-1)} (${typeOf(found, found)})\n${found.description ?? ''}`.trim()
}
