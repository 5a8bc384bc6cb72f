/** A version of an object for people: who wrote it, how, and what it changed. */
import type { ObjectVersion } from '#/api/object-history.ts'
import type { Origin } from '#/api/origin.ts'
import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { diffObjects, maskSecretValues, type DiffOptions, type FieldChange } from './diff-objects.ts'
import { summarizeFieldChange } from './format-field-change.ts'

export interface VersionStep {
  readonly version: ObjectVersion
  /** The version before it. Undefined for the first one, and if the one before is no longer kept. */
  readonly previous: ObjectVersion | undefined
}

/** Changes of the version. None for a creation and a deletion. */
export function changesOf({ version, previous }: VersionStep, options?: DiffOptions): readonly FieldChange[] {
  if (version.type !== 'MODIFIED' || !version.object) return []
  if (!previous?.object || previous.type === 'DELETED') return []
  return visibleChanges(previous.object, version.object, options)
}

/** Values of Secrets are masked. */
export function visibleChanges(
  before: JsonObject,
  after: JsonObject,
  options?: DiffOptions,
): readonly FieldChange[] {
  const changes = diffObjects(before, after, options)
  return after['kind'] === 'Secret' && after['apiVersion'] === 'v1' ? maskSecretValues(changes) : changes
}

/** True if a reader who ignores the status would not miss the version. */
export function isStatusOnly(step: VersionStep): boolean {
  const { version, previous } = step
  if (version.type !== 'MODIFIED' || !version.object || !previous?.object) return false
  return changesOf(step, { specOnly: true, limit: 1 }).length === 0
}

const summaryMax = 90
const changesShown = 3

/** One line: the first changes that matter, and the number of the others. */
export function summarizeVersion(step: VersionStep): string {
  const { version, previous } = step
  if (version.type === 'DELETED') return 'DELETED'
  if (version.type === 'ADDED')
    return isOtherIncarnation(step) ? 'created again, with another uid' : 'created'
  if (isOtherIncarnation(step)) return 'another object of this name'
  if (version.object === undefined) return '(cannot be decrypted)'
  if (previous?.object === undefined) return '(the version before is not kept)'
  const changes = changesOf(step)
  if (changes.length === 0) return '(only managedFields)'
  const informative = changes.filter(({ path }) => path !== 'metadata.generation')
  return summarizeChanges(informative.length === 0 ? changes : informative)
}

function summarizeChanges(changes: readonly FieldChange[]): string {
  const [important, others] = [changes.filter(isImportant), changes.filter(each => !isImportant(each))]
  const shown: string[] = []
  let length = 0
  for (const change of [...important, ...others].slice(0, changesShown)) {
    const text = summarizeFieldChange(change)
    length += text.length
    if (shown.length > 0 && length > summaryMax) break
    shown.push(text)
  }
  const more = changes.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

function isImportant({ path }: FieldChange): boolean {
  return !/(?:[gG]eneration|last\w*Time|deployment\.kubernetes\.io\/revision"\])$/.test(path)
}

function isOtherIncarnation({ version, previous }: VersionStep): boolean {
  const [before, after] = [previous?.object, version.object]
  return before !== undefined && after !== undefined && uidOf(before) !== uidOf(after)
}

export function uidOf({ metadata }: JsonObject): string {
  const uid = isObject(metadata) ? metadata['uid'] : undefined
  return typeof uid === 'string' ? uid : ''
}

/** The component, or else the user with the program. */
export function describeAuthor(origin: Origin | undefined): string {
  if (origin === undefined) return '<unknown>'
  const { pass, user, userAgent } = origin
  if (pass !== undefined) return pass.node ? `${pass.component} on ${pass.node}` : pass.component
  const [program = ''] = userAgent.split(/[/\s]/)
  return program === '' || user.includes(program) ? user : `${user} (${program})`
}

/** `patch`, `update status`. */
export function describeVerb(origin: Origin | undefined): string {
  if (origin === undefined) return '<unknown>'
  return origin.subresource ? `${origin.verb} ${origin.subresource}` : origin.verb
}
