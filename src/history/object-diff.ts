/** The output of `k8ts diff`: objects that were added, removed and changed between two moments. */
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { uidOf, visibleChanges } from './describe-version.ts'
import type { ChangedObject, Interval } from './changed-objects.ts'
import { changesMax, type FieldChange } from './diff-objects.ts'
import { formatFieldChange } from './format-field-change.ts'
import { formatMoment } from './moment.ts'

export type ObjectDiffType =
  | 'added'
  | 'removed'
  | 'changed'
  /** Deleted and created again. */
  | 'replaced'
  /** Created and deleted in between. */
  | 'transient'

export interface ObjectDiff extends ChangedObject {
  readonly type: ObjectDiffType
  /** Of an object that exists at both moments. */
  readonly changes: readonly FieldChange[]
}

export interface ObjectStates {
  readonly before: JsonObject | undefined
  readonly after: JsonObject | undefined
}

export interface ObjectDiffOptions {
  /** Leaves out the status. */
  readonly specOnly: boolean
}

/** Undefined if the object is the same at both moments. */
export function diffStates(
  changed: ChangedObject,
  { before, after }: ObjectStates,
  options: ObjectDiffOptions,
): ObjectDiff | undefined {
  if (before === undefined || after === undefined) {
    const type = before === undefined ? (after === undefined ? 'transient' : 'added') : 'removed'
    return { ...changed, type, changes: [] }
  }
  const changes = visibleChanges(before, after, options)
  const isReplaced = uidOf(before) !== uidOf(after)
  if (changes.length === 0) return undefined
  return { ...changed, type: isReplaced ? 'replaced' : 'changed', changes }
}

export function formatObjectDiffs(diffs: readonly ObjectDiff[], { from, to }: Interval): string {
  const interval = `from ${formatMoment(from)} to ${formatMoment(to)}`
  if (diffs.length === 0) return `no differences ${interval}\n`
  const counts = Object.entries(words).flatMap(([type, word]) => {
    const count = diffs.filter(each => each.type === type).length
    return count === 0 ? [] : [`${count} ${word}`]
  })
  return `${diffs.map(formatObjectDiff).join('')}\n${counts.join(', ')} ${interval}\n`
}

function formatObjectDiff({ type, object, authors, changes }: ObjectDiff): string {
  const { kind, namespace, name } = object
  const title = `${marks[type]} ${kind} ${namespace ? `${namespace}/` : ''}${name}`
  const note = type === 'changed' ? '' : `: ${words[type]}`
  const lines = [escapeControlCharacters(`${title}${note} (${authors.join(', ')})`)]
  for (const change of changes) lines.push(`    ${formatFieldChange(change)}`)
  if (changes.length >= changesMax) lines.push('    ...')
  return lines.map(line => `${line}\n`).join('')
}

const marks: Readonly<Record<ObjectDiffType, string>> = {
  added: '+',
  removed: '-',
  changed: '~',
  replaced: '~',
  transient: ' ',
}

const words: Readonly<Record<ObjectDiffType, string>> = {
  added: 'added',
  removed: 'removed',
  changed: 'changed',
  replaced: 'deleted and created again',
  transient: 'created and deleted in between',
}
