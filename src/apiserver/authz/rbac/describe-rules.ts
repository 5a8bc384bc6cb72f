/** Formats rules for messages: compact, sorted, with the verbs of a resource combined. */
import type { PolicyRule } from '#/api/generated/rbac/v1.ts'
import { quote } from '#/api/text/quote.ts'

/** Maximum number of rules listed in a message. */
const linesMax = 1_000

/** One line per resource and name, or path and verb. The rules must be broken down. */
export function describeRules(rules: readonly PolicyRule[]): string {
  const lines = [...new Set(compact(rules).map(describe))].sort()
  const shown = lines.slice(0, linesMax)
  return (lines.length > linesMax ? [...shown, `and ${lines.length - linesMax} more`] : shown).join('\n')
}

/** `["a" "b"]`. */
export function quoteList(texts: readonly string[]): string {
  return `[${texts.map(quote).join(' ')}]`
}

function compact(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const merged = new Map<string, PolicyRule>()
  const others: PolicyRule[] = []
  for (const rule of rules) {
    if (rule.nonResourceURLs) {
      others.push(rule)
      continue
    }
    const key = JSON.stringify([rule.apiGroups, rule.resources, rule.resourceNames])
    const known = merged.get(key)
    merged.set(key, known ? { ...known, verbs: [...known.verbs, ...rule.verbs] } : rule)
  }
  return [...others, ...merged.values()]
}

function describe({ apiGroups, resources, nonResourceURLs, resourceNames, verbs }: PolicyRule): string {
  const parts: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['NonResourceURLs', nonResourceURLs],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ]
  return `{${parts.flatMap(([name, values]) => (values?.length ? [`${name}:${quoteList(values)}`] : [])).join(', ')}}`
}
