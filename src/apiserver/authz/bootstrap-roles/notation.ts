/**
 * Notation of the bootstrap roles: one rule per line with verbs, groups, resources, and resource names after
 * `=`. Examples: `read core,apps pods daemonsets/status = web`, `get path /healthz /livez`. `core` is the
 * empty group; `events` alone stands for the rules needed to record events.
 */
import { assert } from '#/base/assert.ts'
import type { PolicyRule, Subject } from '#/api/generated/rbac/v1.ts'

/** Rules by role name. */
export type RoleTable = Readonly<Record<string, string>>

/** Subjects by role name: `user=NAME`, `group=NAME`, `account=NAMESPACE/NAME`. */
export type BindingTable = Readonly<Record<string, string>>

export interface ParsedBinding {
  /** Undefined if the binding has the name of its role. */
  readonly name: string | undefined
  readonly subjects: readonly Subject[]
}

export function parseRules(text: string): readonly PolicyRule[] {
  return text
    .split('\n')
    .map(line => line.trim())
    .filter(line => line !== '')
    .map(parseRule)
}

export function parseBinding(text: string): ParsedBinding {
  let name: string | undefined
  const subjects: Subject[] = []
  for (const word of words(text)) {
    const value = word.slice(word.indexOf('=') + 1)
    if (word.startsWith('name=')) name = value
    else subjects.push(parseSubject(word.slice(0, word.indexOf('=')), value))
  }
  return { name, subjects }
}

const apiGroup = 'rbac.authorization.k8s.io'

const eventsRule = 'create,patch,update core,events.k8s.io events'

const verbSets: ReadonlyMap<string, readonly string[]> = new Map([
  ['read', ['get', 'list', 'watch']],
  ['write', ['create', 'delete', 'deletecollection', 'patch', 'update']],
])

function parseRule(line: string): PolicyRule {
  const [verbWords = '', groupWords = '', ...rest] = words(line === 'events' ? eventsRule : line)
  const verbs = verbWords
    .split(',')
    .flatMap(word => verbSets.get(word) ?? [word])
    .sort()
  if (groupWords === 'path') return { verbs, nonResourceURLs: rest }
  const equals = rest.indexOf('=')
  const resources = equals === -1 ? rest : rest.slice(0, equals)
  const resourceNames = equals === -1 ? [] : rest.slice(equals + 1)
  assert(resources.length > 0, `rule without resources: ${line}`)
  return {
    verbs,
    apiGroups: groupWords.split(',').map(group => (group === 'core' ? '' : group)),
    resources,
    ...(resourceNames.length > 0 && { resourceNames }),
  }
}

function parseSubject(kind: string, value: string): Subject {
  if (kind === 'user') return { apiGroup, kind: 'User', name: value }
  if (kind === 'group') return { apiGroup, kind: 'Group', name: value }
  assert(kind === 'account', `subject must be a user, a group or an account: ${kind}`)
  const [namespace = '', name = ''] = value.split('/')
  return { kind: 'ServiceAccount', name, namespace }
}

function words(text: string): readonly string[] {
  return text.split(/\s+/).filter(word => word !== '')
}
