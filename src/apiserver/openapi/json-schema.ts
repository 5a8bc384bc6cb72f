/** A JSON object of an OpenAPI document. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** Differences between the schemas of OpenAPI v2 and v3. */
export interface Dialect {
  readonly version: 2 | 3
  /** Prefix of references to definitions. */
  readonly root: string
}

export const version2: Dialect = { version: 2, root: '#/definitions/' }
export const version3: Dialect = { version: 3, root: '#/components/schemas/' }

export function reference({ root }: Dialect, name: string): JsonSchema {
  return { $ref: `${root}${name}` }
}

/** In v3 a reference cannot have siblings, so one with additional fields is wrapped in allOf. */
export function describedReference(dialect: Dialect, name: string, more: JsonSchema): JsonSchema {
  const target = reference(dialect, name)
  if (dialect.version === 2) return { ...more, ...target }
  return Object.keys(more).length === 0 ? target : { ...more, allOf: [target] }
}
