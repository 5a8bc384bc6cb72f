/** The rules of a group's kinds, each written for objects of its own type, as `GroupRules`. */
import type { GroupRules } from '../kind-rules.ts'

/** Each kind's functions are called only with objects of that kind, so the narrower types meet no other. */
export function groupRules(rules: Readonly<Record<string, unknown>>): GroupRules {
  return rules as GroupRules
}
