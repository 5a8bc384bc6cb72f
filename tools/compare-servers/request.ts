/** Requests that are sent to both servers, and the order in which they must be sent. */

export type Body = Readonly<Record<string, unknown>>

export interface PlannedRequest {
  /** Unique and the same in every run: `v1/pods create rich: spec.containers.0.name missing`. */
  readonly id: string
  /** The row of the table: `v1/pods`, or `-` for paths that belong to no resource. */
  readonly resource: string
  readonly method: string
  /** With the query. A function where it depends on earlier answers of the same server. */
  readonly path: string | ((memory: Memory) => string)
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: RequestBody | ((memory: Memory) => RequestBody)
  /** How the answer is read; default `whole`. A watch is read until the server ends it. */
  readonly answer?: 'whole' | 'watch'
}

export interface RequestBody {
  readonly mediaType: string
  /** Text is sent as it is, other values as JSON. */
  readonly content: unknown
}

/** The answers of one server to the earlier requests of a sequence. */
export interface Memory {
  /** The last object that the server returned. */
  readonly object: Body
  /** `metadata.resourceVersion` of the last list. */
  readonly listVersion: string
}

export const emptyMemory: Memory = { object: {}, listVersion: '0' }

/** Sent in order, each after both servers have answered the previous one. */
export type Sequence = readonly PlannedRequest[]

/** A request as one server gets it, for the report. */
export interface SentRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: RequestBody
}

export function resolveRequest(request: PlannedRequest, memory: Memory): SentRequest {
  const { method, path, headers = {}, body } = request
  const content = typeof body === 'function' ? body(memory) : body
  return {
    method,
    path: typeof path === 'function' ? path(memory) : path,
    headers,
    ...(content !== undefined && { body: content }),
  }
}

export function textOf({ content }: RequestBody): string {
  return typeof content === 'string' ? content : JSON.stringify(content)
}

export const json = (content: unknown): RequestBody => ({ mediaType: 'application/json', content })
export const jsonPatch = (content: unknown): RequestBody => ({ ...json(content), mediaType: patchTypes.json })
export const mergePatch = (content: unknown): RequestBody => ({
  ...json(content),
  mediaType: patchTypes.merge,
})
export const strategicPatch = (content: unknown): RequestBody => ({
  ...json(content),
  mediaType: patchTypes.strategic,
})
export const applyPatch = (content: unknown): RequestBody => ({
  ...json(content),
  mediaType: patchTypes.apply,
})

export const patchTypes = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
} as const
