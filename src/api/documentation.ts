/**
 * Documentation texts of the built-in API, for OpenAPI and `kubectl explain`. Loaded on first use, since it
 * is larger than all other generated code.
 */
export interface Documentation {
  /** The description of a definition (`core.v1.Pod`) or of one of its fields; empty if there is none. */
  describe(definition: string, field?: string): string
}

export async function loadDocumentation(): Promise<Documentation> {
  const module = await import('./generated/documentation.json', { with: { type: 'json' } })
  const { texts, places } = module.default
  const numbers: Readonly<Record<string, number>> = places
  return {
    describe(definition, field) {
      const place = field === undefined ? definition : `${definition}.${field}`
      const number = Object.hasOwn(numbers, place) ? numbers[place] : undefined
      return number === undefined ? '' : (texts[number] ?? '')
    },
  }
}
