import { chunkOf, type Chunk } from '../discovery/document.ts'
import { encodeGnosticMembers, type MemberKind } from './gnostic.ts'
import type { JsonSchema } from './json-schema.ts'

/** Consecutive members of the paths, definitions or parameters of a document, encoded once. */
export class Members {
  /** Of the first member. */
  readonly name: string
  /** The members, each with a comma before it. */
  readonly json: Chunk
  readonly #kind: MemberKind
  #gnostic: Chunk | undefined

  constructor(kind: MemberKind, entries: readonly (readonly [name: string, value: unknown])[]) {
    this.#kind = kind
    this.name = entries[0]?.[0] ?? ''
    this.json = chunkOf(
      entries.map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`).join(''),
    )
  }

  /** By name. */
  values(): JsonSchema {
    return JSON.parse(`{${Buffer.from(this.json.bytes).toString().slice(1)}}`) as JsonSchema
  }

  get isGnosticKnown(): boolean {
    return this.#gnostic !== undefined
  }

  /** The members in protobuf, which few clients request: encoded on first use. */
  get gnostic(): Chunk {
    this.#gnostic ??= chunkOf(encodeGnosticMembers(this.#kind, this.values()))
    return this.#gnostic
  }
}
