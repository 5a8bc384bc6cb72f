/** Objects of a document of OpenAPI. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** The two versions of OpenAPI, as far as they write schemas differently. */
export interface Dialect {
  readonly version: 2 | 3
  /** Where definitions are, in front of their names. */
  readonly root: string
}

export const version2: Dialect = { version: 2, root: '#/definitions/' }
export const version3: Dialect = { version: 3, root: '#/components/schemas/' }

export function reference({ root }: Dialect, name: string): JsonSchema {
  return { $ref: `${root}${name}` }
}

/** In version 3 nothing stands beside a reference, so one that says more is wrapped. */
export function describedReference(dialect: Dialect, name: string, more: JsonSchema): JsonSchema {
  const target = reference(dialect, name)
  if (dialect.version === 2) return { ...more, ...target }
  return Object.keys(more).length === 0 ? target : { ...more, allOf: [target] }
}
