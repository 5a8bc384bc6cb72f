import { sortedMap } from './generated-object.ts'

/** Labels as flags have them: `app=web,tier=front`. Throws Error. */
export function parseLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {}
  for (const pair of text.split(',')) {
    const [key, value, ...more] = pair.split('=')
    if (key === undefined || value === undefined || more.length > 0) {
      throw new Error(`unexpected label spec: ${pair}`)
    }
    if (key === '') throw new Error('unexpected empty label key')
    labels[key] = value
  }
  return sortedMap(labels)
}
