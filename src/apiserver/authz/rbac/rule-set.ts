/** The rules of one role, compiled so that a check takes a few lookups. */
import type { PolicyRule } from '#/api/generated/rbac/v1.ts'
import type { PathAttributes, ResourceAttributes } from '../authorizer.ts'

/** A rule of a role that may not have been validated yet. */
export type Rule = Partial<PolicyRule>

export class RuleSet {
  readonly rules: readonly Rule[]
  /** By resource as written in rules: `pods`, `pods/log`, `*`, `*\/scale`. */
  readonly #byResource = new Map<string, Condition[]>()
  readonly #byPath = new Map<string, Condition[]>()
  /** Prefixes of paths that end with `*`. */
  readonly #byPathStart: { readonly start: string; readonly condition: Condition }[] = []

  constructor(rules: readonly Rule[]) {
    this.rules = rules
    for (const rule of rules) this.#add(rule)
  }

  allows(attributes: ResourceAttributes | PathAttributes): boolean {
    return attributes.isResource
      ? this.#holdsAny(attributes.resource, attributes.subresource, attributes)
      : this.allowsPath(attributes.path, attributes.verb)
  }

  /** True if the rules allow everything that a rule with this single verb, group and resource allows. */
  covers({ resource: path, ...target }: BrokenDownRule): boolean {
    const slash = path.indexOf('/')
    return slash === -1
      ? this.#holdsAny(path, '', target)
      : this.#holdsAny(path.slice(0, slash), path.slice(slash + 1), target)
  }

  /** `path` may end with `*`. */
  allowsPath(path: string, verb: string): boolean {
    if (this.#byPath.get(path)?.some(({ verbs }) => has(verbs, verb))) return true
    return this.#byPathStart.some(
      ({ start, condition }) => path.startsWith(start) && has(condition.verbs, verb),
    )
  }

  #holdsAny(resource: string, subresource: string, target: Target): boolean {
    if (subresource === '') return this.#holds(resource, target) || this.#holds('*', target)
    return (
      this.#holds(`${resource}/${subresource}`, target) ||
      this.#holds(`*/${subresource}`, target) ||
      this.#holds('*', target)
    )
  }

  #holds(key: string, { verb, group, name }: Target): boolean {
    const conditions = this.#byResource.get(key)
    if (conditions === undefined) return false
    for (const { verbs, groups, names } of conditions) {
      const isNamed = names === undefined || (name !== undefined && names.has(name))
      if (isNamed && has(verbs, verb) && has(groups, group)) return true
    }
    return false
  }

  #add({ verbs = [], apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] }: Rule): void {
    const condition: Condition = {
      verbs: anyOf(verbs),
      groups: anyOf(apiGroups),
      names: resourceNames.length === 0 ? undefined : new Set(resourceNames),
    }
    for (const resource of new Set(resources)) add(this.#byResource, resource, condition)
    for (const path of nonResourceURLs) {
      add(this.#byPath, path, condition)
      if (path.endsWith('*')) this.#byPathStart.push({ start: withoutStars(path), condition })
    }
  }
}

interface Target {
  readonly verb: string
  readonly group: string
  /** Undefined means every name. */
  readonly name?: string | undefined
}

/** A single permission of a resource rule. */
export interface BrokenDownRule extends Target {
  /** Includes the subresource: `pods/log`. */
  readonly resource: string
}

/** Removes trailing `*`s. */
export function withoutStars(path: string): string {
  let end = path.length
  while (path[end - 1] === '*') end--
  return path.slice(0, end)
}

/** Undefined matches everything. */
interface Condition {
  readonly verbs: ReadonlySet<string> | undefined
  readonly groups: ReadonlySet<string> | undefined
  readonly names: ReadonlySet<string> | undefined
}

function anyOf(values: readonly string[]): ReadonlySet<string> | undefined {
  return values.includes('*') ? undefined : new Set(values)
}

function has(values: ReadonlySet<string> | undefined, value: string): boolean {
  return values === undefined || values.has(value)
}

function add(conditions: Map<string, Condition[]>, key: string, condition: Condition): void {
  const known = conditions.get(key)
  if (known) known.push(condition)
  else conditions.set(key, [condition])
}
