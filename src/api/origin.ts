/**
 * The origin of a write: which request of which user made it, which pass of which component sent the request, and the
 * revisions that the pass acted on. The store keeps it beside the new version, so that the chain from a client's request
 * to the running container can be followed. It is encoded as compact JSON, and bounded.
 */
import { parseJson } from './text/json.ts'
import type { JsonValue } from './text/json-value.ts'

export interface Origin {
  readonly user: string
  readonly userAgent: string
  /** The verb of the request, as in RBAC; `apply` for server-side apply. */
  readonly verb: string
  readonly subresource?: string | undefined
  readonly fieldManager?: string | undefined
  /** Wall time at which the request was received. */
  readonly receivedMs: number
  /** Stages of the request pipeline that took time; offsets are relative to `receivedMs`. */
  readonly steps: readonly Step[]
  /** Absent for requests of clients that are not components of the cluster. */
  readonly pass?: Pass | undefined
  /** The traceparent header of the client, as defined by W3C Trace Context. */
  readonly traceparent?: string | undefined
}

/** One reconcile of a controller, scheduling cycle of the scheduler, or sync of a node's component. */
export interface Pass {
  /** As in events: `deployment-controller`, `default-scheduler`, `kubelet`. */
  readonly component: string
  /** Set for components of a node. */
  readonly node?: string | undefined
  /** The key of the work queue; of an object, `namespace/name`. */
  readonly key: string
  /** Revisions of the changes that caused the pass, ascending: the latest ones if there were many. */
  readonly causes: readonly number[]
  /** Wall time at which the key was added to the queue. */
  readonly queuedMs: number
  /** Wall time at which the pass began. */
  readonly startedMs: number
  /** What the pass did so far; offsets are relative to `startedMs`. */
  readonly steps: readonly Step[]
}

export interface Step {
  readonly name: string
  /** Offset of the start in milliseconds. */
  readonly startMs: number
  readonly durationMs: number
  /** The name of a container, an image, a webhook. */
  readonly detail?: string | undefined
}

/** The request header in which a component sends its pass. Servers other than k8ts ignore it. */
export const passHeader = 'k8ts-pass'

export const causesMax = 8
export const stepsMax = 32
const charactersMax = 4_096
const textCharactersMax = 200

/** Texts of hostile clients may be longer when encoded: then the steps are left out, or in the end all texts. */
export function encodeOrigin(origin: Origin): Uint8Array {
  const { pass, verb, receivedMs } = origin
  const encoded = encodeWhole(origin)
  if (encoded.length <= originBytesMax) return encoded
  const withoutSteps = encodeWhole({ ...origin, steps: [], pass: pass && { ...pass, steps: [] } })
  if (withoutSteps.length <= originBytesMax) return withoutSteps
  const causes = { component: '', key: '', queuedMs: 0, startedMs: 0, steps: [], causes: pass?.causes ?? [] }
  return encodeWhole({ user: '', userAgent: '', verb, receivedMs, steps: [], ...(pass && { pass: causes }) })
}

/** Maximum size of an encoded origin. */
export const originBytesMax = 4_096

function encodeWhole(origin: Origin): Uint8Array {
  const { user, userAgent, verb, subresource, fieldManager, receivedMs, steps, pass, traceparent } = origin
  return Buffer.from(
    JSON.stringify({
      u: cut(user),
      ...(userAgent !== user && { a: cut(userAgent) }),
      v: verb,
      ...(subresource && { r: subresource }),
      ...(fieldManager && { f: cut(fieldManager) }),
      t: receivedMs,
      ...(steps.length > 0 && { s: encodeSteps(steps) }),
      ...(pass && { p: encodedPass(pass) }),
      ...(traceparent && { w: traceparent }),
    }),
  )
}

/** Undefined if the bytes are not an encoded origin. */
export function decodeOrigin(bytes: Uint8Array): Origin | undefined {
  const value = recordIn(bytes)
  if (value === undefined) return undefined
  const { p, w } = value
  return {
    user: textOf(value['u']),
    userAgent: textOf(value['a'] ?? value['u']),
    verb: textOf(value['v']),
    ...(value['r'] !== undefined && { subresource: textOf(value['r']) }),
    ...(value['f'] !== undefined && { fieldManager: textOf(value['f']) }),
    receivedMs: numberOf(value['t']),
    steps: decodeSteps(value['s']),
    ...(isRecord(p) && { pass: decodedPass(p) }),
    ...(w !== undefined && { traceparent: textOf(w) }),
  }
}

/** The value of the header. With many long steps it has only the latest ones. */
export function encodePass(pass: Pass): string {
  const header = toAscii(JSON.stringify(encodedPass(pass)))
  const { steps } = pass
  if (header.length <= passCharactersMax || steps.length === 0) return header
  return encodePass({ ...pass, steps: steps.slice(Math.ceil(Math.min(steps.length, stepsMax) / 2)) })
}

/** Leaves room in an origin for the request. */
const passCharactersMax = 3_000

/** Undefined if the value of the header is not an encoded pass. */
export function decodePass(header: string): Pass | undefined {
  if (header.length > charactersMax) return undefined
  const value = recordIn(Buffer.from(header))
  return value && decodedPass(value)
}

function encodedPass({ component, node, key, causes, queuedMs, startedMs, steps }: Pass): JsonRecord {
  return {
    c: cut(component),
    ...(node && { n: cut(node) }),
    k: cut(key),
    r: causes.slice(-causesMax),
    q: queuedMs,
    t: startedMs,
    ...(steps.length > 0 && { s: encodeSteps(steps) }),
  }
}

function decodedPass(value: JsonRecord): Pass {
  const causes = Array.isArray(value['r']) ? value['r'] : []
  return {
    component: textOf(value['c']),
    ...(value['n'] !== undefined && { node: textOf(value['n']) }),
    key: textOf(value['k']),
    causes: causes.filter(cause => Number.isSafeInteger(cause)).slice(-causesMax) as number[],
    queuedMs: numberOf(value['q']),
    startedMs: numberOf(value['t']),
    steps: decodeSteps(value['s']),
  }
}

/**
 * For each step its name, offset and duration in microseconds, and detail if it has one. A usual name is its position in
 * the list, so that a number begins it, and any other one follows -1.
 */
function encodeSteps(steps: readonly Step[]): (string | number)[] {
  const encoded: (string | number)[] = []
  for (const { name, startMs, durationMs, detail } of steps.slice(0, stepsMax)) {
    const position = stepNames.indexOf(name)
    encoded.push(position)
    if (position < 0) encoded.push(cut(name))
    encoded.push(Math.round(startMs * 1_000), Math.round(durationMs * 1_000))
    if (detail) encoded.push(cut(detail))
  }
  return encoded
}

function decodeSteps(value: JsonValue | undefined): Step[] {
  const steps: Step[] = []
  if (!Array.isArray(value)) return steps
  let at = 0
  while (at < value.length && steps.length < stepsMax) {
    const position = numberOf(value[at++])
    const name = position < 0 ? textOf(value[at++]) : (stepNames[position] ?? '')
    const startMs = numberOf(value[at++]) / 1_000
    const durationMs = numberOf(value[at++]) / 1_000
    const detail = typeof value[at] === 'string' ? textOf(value[at++]) : ''
    steps.push({ name, startMs, durationMs, ...(detail && { detail }) })
  }
  return steps
}

/** Positions are part of the encoding: names may only be added at the end. */
const stepNames: readonly string[] = [
  'authentication',
  'priority-and-fairness',
  'authorization',
  'mutating-admission',
  'admission',
  'webhook',
  'validating-admission',
  'store',
]

type JsonRecord = { readonly [key: string]: JsonValue }

function recordIn(bytes: Uint8Array): JsonRecord | undefined {
  try {
    const value = parseJson(bytes)
    return isRecord(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isRecord(value: JsonValue | undefined): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? cut(value) : ''
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}

function cut(text: string): string {
  return text.length > textCharactersMax ? text.slice(0, textCharactersMax) : text
}

/** Header values are ASCII. */
function toAscii(json: string): string {
  return json.replaceAll(/[^\x20-\x7e]/g, character => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}
