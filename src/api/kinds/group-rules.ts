/** Combines the typed rules of a group's kinds into `GroupRules`. */
import type { GroupRules } from '../kind-rules.ts'

/** Safe, since the rules of each kind are called only with objects of that kind. */
export function groupRules(rules: Readonly<Record<string, unknown>>): GroupRules {
  return rules as GroupRules
}
