import type { Condition } from '#/api/conditions.ts'
import type { Event } from '#/api/generated/core/v1.ts'
import type { KubernetesObject } from '#/api/metadata.ts'
import { humanDuration } from '#/api/text/duration.ts'
import { parseTime } from '#/api/text/time.ts'
import type { Cause, Evidence, ObjectName, Remedy } from '../diagnosis.ts'
import { timeOf } from '../collect/snapshot.ts'

/** `Pod shop/web-0`. */
export function nameOf({ kind = 'object', metadata }: KubernetesObject): string {
  const { namespace, name = '' } = metadata
  return `${kind} ${namespace ? `${namespace}/` : ''}${name}`
}

/** `: because`, or nothing for an empty text. */
export function after(separator: string, text: string): string {
  return text === '' ? '' : `${separator}${text}`
}

/** A cause that says that nothing is wrong. */
export function healthy(summary: string, evidence: readonly Evidence[] = []): Cause {
  return { code: 'Healthy', summary, evidence, remedies: [] }
}

export function ofObject(object: KubernetesObject, text: string): Evidence {
  return { source: nameOf(object), text }
}

export function ofEvent({ involvedObject, ...event }: Event, nowMs: number): Evidence {
  const { kind = '', namespace, name = '' } = involvedObject
  const count = event.series?.count ?? event.count ?? 1
  const times = count > 1 ? `, ${count} times` : ''
  const text = `${event.reason ?? ''} ${humanDuration(nowMs - timeOf({ involvedObject, ...event }))} ago${times}: `
  return {
    source: `event of ${kind} ${namespace ? `${namespace}/` : ''}${name}`,
    text: `${text}${event.message ?? ''}`,
  }
}

export function ofCondition(object: KubernetesObject, condition: Condition): Evidence {
  const { type = '', status = '', reason = '', message = '' } = condition
  const because = [reason, message].filter(text => text !== '').join(': ')
  return ofObject(object, `condition ${type} is ${status}${because === '' ? '' : `, ${because}`}`)
}

export function ofLog(container: string, lines: readonly string[] | undefined): readonly Evidence[] {
  return (lines ?? []).slice(-logLinesShown).map(text => ({ source: `log of container ${container}`, text }))
}

const logLinesShown = 5

/** `k8ts why pod web-0 -n shop`. */
export function whyCommand(kind: string, { namespace, name }: Omit<ObjectName, 'kind'>): string {
  const words = ['why', kind, name, ...(namespace ? ['-n', namespace] : [])]
  return ['k8ts', ...words.map(shellWord)].join(' ')
}

/** `kubectl -n shop describe pod web-0`, quoted for a shell. */
export function kubectl(namespace: string | undefined, ...words: readonly string[]): string {
  const selected = namespace ? ['-n', namespace, ...words] : words
  return ['kubectl', ...selected.map(shellWord)].join(' ')
}

function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

export function remedy(text: string, command?: string): Remedy {
  return command === undefined ? { text } : { text, command }
}

/** `5m`; undefined for an absent time. */
export function ageOf(time: string | undefined, nowMs: number): string | undefined {
  const ms = parseTime(time ?? '')
  return ms === undefined ? undefined : humanDuration(nowMs - ms)
}

/** `1 node`, `2 nodes`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Bounds the time that regular expressions take. */
const messageLengthMax = 2_000

/** The messages of servers may end with punctuation and have several lines. */
export function trimmed(message: string): string {
  return message
    .slice(0, messageLengthMax)
    .replaceAll(/\s+/g, ' ')
    .trim()
    .replace(/[.;,:]+$/, '')
}
