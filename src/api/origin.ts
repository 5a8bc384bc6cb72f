/**
 * The origin of a write: which request of which user made it, which pass of which component sent the request, and the
 * revisions that the pass acted on. The store keeps it beside the new version, so that the chain from a client's
 * request to the running container can be followed. It is encoded as compact JSON, and bounded.
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

/** The origin of a write that is about to begin. */
export interface NewOrigin extends Omit<Origin, 'pass'> {
  /** The value of the header, which may be anything; it is kept as it is, and decoded with the origin. */
  readonly pass?: string | undefined
}

/** Texts of hostile clients may be longer when encoded: then the steps are left out, or in the end all texts. */
export function encodeOrigin(origin: NewOrigin): Uint8Array {
  const encoded = encodeWhole(origin)
  if (encoded.length <= originBytesMax) return encoded
  const { verb, receivedMs } = origin
  const pass = origin.pass === undefined ? undefined : decodePass(origin.pass)
  const short = { ...origin, steps: [], pass: pass && encodePass({ ...pass, steps: [] }) }
  const withoutSteps = encodeWhole(short)
  if (withoutSteps.length <= originBytesMax) return withoutSteps
  const causes = pass && { component: '', key: '', queuedMs: 0, startedMs: 0, steps: [], causes: pass.causes }
  return encodeWhole({
    user: '',
    userAgent: '',
    verb,
    receivedMs,
    steps: [],
    pass: causes && encodePass(causes),
  })
}

/** Maximum size of an encoded origin. */
export const originBytesMax = 4_096

/** A line of JSON, and the encoded pass. */
function encodeWhole(origin: NewOrigin): Uint8Array {
  const { user, userAgent, verb, subresource, fieldManager, receivedMs, steps, pass, traceparent } = origin
  const json = JSON.stringify({
    u: cut(user),
    a: userAgent === user ? undefined : cut(userAgent),
    v: verb,
    r: subresource || undefined,
    f: fieldManager ? cut(fieldManager) : undefined,
    t: receivedMs,
    s: steps.length > 0 ? encodeSteps(steps) : undefined,
    w: traceparent,
  })
  return Buffer.from(pass ? `${json}\n${pass}` : json)
}

/** Undefined if the bytes are not an encoded origin. */
export function decodeOrigin(bytes: Uint8Array): Origin | undefined {
  const lineEnd = bytes.indexOf(newline)
  const value = recordIn(lineEnd < 0 ? bytes : bytes.subarray(0, lineEnd))
  if (value === undefined) return undefined
  const { w } = value
  const header = lineEnd < 0 ? '' : Buffer.from(bytes.subarray(lineEnd + 1)).toString()
  const pass = header === '' ? undefined : decodePass(header)
  return {
    user: textOf(value['u']),
    userAgent: textOf(value['a'] ?? value['u']),
    verb: textOf(value['v']),
    ...(value['r'] !== undefined && { subresource: textOf(value['r']) }),
    ...(value['f'] !== undefined && { fieldManager: textOf(value['f']) }),
    receivedMs: numberOf(value['t']),
    steps: decodeSteps(value['s']),
    ...(pass && { pass }),
    ...(w !== undefined && { traceparent: textOf(w) }),
  }
}

const newline = 0x0a

/** The value of the header. With many long steps it has only the latest ones. */
export function encodePass(pass: Pass): string {
  const { component, node, key, causes, queuedMs, startedMs, steps } = pass
  const json = JSON.stringify({
    c: cut(component),
    n: node ? cut(node) : undefined,
    k: cut(key),
    r: causes.slice(-causesMax),
    q: queuedMs,
    t: startedMs,
    s: steps.length > 0 ? encodeSteps(steps) : undefined,
  })
  const header = toAscii(json)
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
 * For each step its name, offset and duration in microseconds, and detail if it has one. A usual name is its position
 * in the list, so that a number begins it, and any other one follows -1.
 */
function encodeSteps(steps: readonly Step[]): (string | number)[] {
  const encoded: (string | number)[] = []
  for (let index = 0; index < Math.min(steps.length, stepsMax); index++) {
    const { name, startMs, durationMs, detail } = steps[index]!
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
  'decode',
  'validation',
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
