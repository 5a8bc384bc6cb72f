import type { KubernetesObject } from '#/api/metadata.ts'
import { ApiError } from '../data/api-error.ts'
import { getJson, requestApi } from '../data/api-request.ts'
import { objectPath, type ApiResource, type ObjectKey } from '../data/api-resource.ts'
import type { LineProblem } from './code-editor.tsx'
import { withoutManagedFields } from './manifest-text.ts'
import { parseFieldPath, YamlOutline } from './yaml-places.ts'

const yamlType = 'application/yaml'

export interface Manifest {
  readonly resource: ApiResource
  readonly object: ObjectKey
}

/** The object as the server prints it, without the fields that users do not edit. */
export async function readManifest({ resource, object }: Manifest, signal?: AbortSignal): Promise<string> {
  const response = await requestApi(objectPath(resource, object), { accept: yamlType, signal })
  return withoutManagedFields(await response.text())
}

export type SaveResult =
  | { readonly type: 'saved'; readonly object: KubernetesObject }
  /** The object has changed since its resource version in the text. */
  | { readonly type: 'conflict'; readonly message: string }
  | { readonly type: 'refused'; readonly message: string; readonly problems: readonly LineProblem[] }

/** Replaces the object by the text. A dry run validates it, and returns what would be saved. */
export async function saveManifest(
  { resource, object }: Manifest,
  text: string,
  { isDryRun }: { readonly isDryRun: boolean },
): Promise<SaveResult> {
  const parameters = {
    fieldManager: 'k8ts-console',
    fieldValidation: 'Strict',
    ...(isDryRun && { dryRun: 'All' }),
  }
  const path = `${objectPath(resource, object)}?${new URLSearchParams(parameters)}`
  try {
    const saved = await getJson<KubernetesObject>(path, { method: 'PUT', contentType: yamlType, body: text })
    return { type: 'saved', object: saved }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.status === 409) return { type: 'conflict', message: error.message }
    return { type: 'refused', message: error.message, problems: problemsOf(error, text) }
  }
}

/** Errors at the lines of the fields that they are about. */
function problemsOf({ details, message }: ApiError, text: string): LineProblem[] {
  const outline = new YamlOutline(text)
  const causes = details?.causes ?? []
  const unknown = [...message.matchAll(/(?:unknown|duplicate) field "([^"]+)"/g)].map(([whole, field]) => ({
    field,
    message: whole,
  }))
  const syntaxLine = /yaml: line (\d+):/.exec(message)?.[1]
  const located = [...causes, ...unknown].flatMap(({ field, message = '' }) => {
    const line = field === undefined ? undefined : outline.lineOf(parseFieldPath(field))
    return line === undefined ? [] : [{ line, message }]
  })
  return syntaxLine === undefined
    ? located
    : [{ line: Math.max(0, Number(syntaxLine) - 1), message }, ...located]
}

/** Who wrote the object last, as far as the managed fields say. Their times are in seconds: a status comes second. */
export function lastFieldManagerOf({ metadata }: KubernetesObject): string {
  const byTime = Map.groupBy(metadata.managedFields ?? [], ({ time }) => time ?? '')
  const latest = byTime.get([...byTime.keys()].sort().at(-1) ?? '') ?? []
  const entry = latest.find(({ subresource }) => !subresource) ?? latest[0]
  if (entry?.manager === undefined) return 'another client'
  return entry.subresource ? `${entry.manager} (${entry.subresource})` : entry.manager
}
