import { normalizeQuantity, parseQuantity } from '#/api/text/quantity.ts'
import { sortedMap } from './generated-object.ts'

/** Quantities of resources: `cpu=500m,memory=1Gi`. Undefined for an empty text. Throws Error. */
export function parseResourceList(text: string): Record<string, string> | undefined {
  if (text === '') return undefined
  const list: Record<string, string> = {}
  for (const statement of text.split(',')) {
    const [resource, quantity, ...more] = statement.split('=')
    if (resource === undefined || quantity === undefined || more.length > 0) {
      throw new Error(`Invalid argument syntax ${statement}, expected <resource>=<value>`)
    }
    parseQuantity(quantity)
    list[resource] = normalizeQuantity(quantity) ?? quantity
  }
  return sortedMap(list)
}
