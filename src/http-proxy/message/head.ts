/** The head of a request or response, however it has arrived. */

/** Lower-case names and their values, alternating, in the order of the message. */
export type Fields = string[]

/** Number of bytes of a body, or one of the following. */
export type BodyLength = number

/** In chunks, or as DATA frames without a content-length. */
export const unknownLength = -1

/** HTTP/1.x responses only: the body ends with the connection. */
export const untilClose = -2

export interface RequestHead {
  readonly method: string
  /** Path and query as sent, but without `.` and `..` segments. Begins with `/`, or is `*`. */
  readonly target: string
  /** `target` without the query. */
  readonly path: string
  /** Lower case, without the port; empty if an HTTP/1.0 client sent none. */
  readonly hostname: string
  /** The host as sent, with its port. */
  readonly authority: string
  /** End-to-end fields; not `host` and `content-length`. */
  readonly fields: Fields
  readonly bodyLength: BodyLength
  /** HTTP/1.x: the connection can be used for another request. */
  readonly isKeptAlive: boolean
  /** HTTP/1.0 understands neither chunks nor interim responses. */
  readonly isHttp10: boolean
  /** The protocol of an upgrade. */
  readonly upgrade: string | undefined
  /** `100-continue`. */
  readonly expects: string | undefined
  /** The client accepts trailers, which gRPC needs. */
  readonly acceptsTrailers: boolean
}

export interface ResponseHead {
  readonly status: number
  /** End-to-end fields; not `content-length`. */
  readonly fields: Fields
  readonly bodyLength: BodyLength
  /** The content-length of a response without a body, as to HEAD. */
  readonly declaredLength: number | undefined
  readonly isKeptAlive: boolean
  readonly upgrade: string | undefined
}

/** The first value of a field. */
export function fieldValue(fields: readonly string[], name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2) if (fields[index] === name) return fields[index + 1]
  return undefined
}

export function withoutField(fields: readonly string[], name: string): Fields {
  const rest: Fields = []
  for (let index = 0; index < fields.length; index += 2)
    if (fields[index] !== name) rest.push(fields[index]!, fields[index + 1]!)
  return rest
}
