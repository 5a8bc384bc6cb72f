/**
 * The sequential model of one Kubernetes object, as its clients see it: compare-and-set by resourceVersion, and
 * resourceVersions that grow with every write. Deletions have a resourceVersion, too, but their responses do not
 * contain it.
 */
import type { Operation, Version } from './history.ts'
import type { Model } from './linearizability.ts'

export interface ObjectState {
  /** Undefined while the object does not exist. */
  readonly value: string | undefined
  /** The revision of the last write or deletion, or the lowest that it can have. */
  readonly revisionMin: number
  /** False after a write whose response has no revision or was lost, until the version is read. */
  readonly isExact: boolean
  /** The revision up to which there is no other write; undefined while that of the last one is not known. */
  readonly quietUntil: number | undefined
}

/** An operation with what other objects show about its place in the order of all writes. */
export interface PlacedOperation extends Operation {
  /** That of a write that began later: all that happened before has lower revisions. */
  readonly revisionBelow?: number
  /** That of a list: a read of the object exactly there. */
  readonly listRevision?: number
}

/** What watches have shown of an object after a revision. */
export interface KnownWrites {
  /** The first write; its value is undefined for a deletion. */
  readonly next?: { readonly revision: number; readonly value: string | undefined }
  /** All writes up to this revision are known: without `next` there is none. */
  readonly untilRevision: number
}

/**
 * Watches decide which write of several is the next, and that there was none, which is the only way to see that a
 * deletion is wrong whose object is written no more.
 */
export function objectModelOf(
  writesAfter: (revision: number) => KnownWrites,
  { version, revision }: FirstState = { version: undefined, revision: 0 },
): Model<ObjectState, PlacedOperation> {
  const { value, revision: revisionMin = 0 } = version ?? {}
  return {
    ...objectModel,
    initial: { value, revisionMin, isExact: true, quietUntil: revision },
    step: (state, operation) => {
      const { revisionBelow = Infinity, listRevision } = operation
      const after = step(state, operation, writesAfter)
      if (after === undefined || after.revisionMin >= revisionBelow) return undefined
      return listRevision === undefined ? after : quiet(after, listRevision)
    },
  }
}

/** The object before the first operation. */
export interface FirstState {
  readonly version: Version | undefined
  /** All writes have a higher revision. */
  readonly revision: number
}

const objectModel: Omit<Model<ObjectState, PlacedOperation>, 'initial' | 'step'> = {
  describe: ({ value, revisionMin, isExact, quietUntil = 0 }) => {
    const version = `${value ?? 'absent'} at ${revisionMin}${isExact ? '' : ' or later'}`
    return quietUntil > revisionMin ? `${version}, until ${quietUntil}` : version
  },
  // Revisions only grow.
  canFollow: ({ revisionMin }, { revisionBelow = Infinity, outcome }) => {
    const version = outcome.type === 'ok' ? outcome.version : undefined
    return revisionMin < revisionBelow && revisionMin <= (version?.revision ?? Infinity)
  },
  // A read comes after the write of its version, so that both follow the resourceVersion.
  rank: ({ verb, outcome }) => {
    if (outcome.type !== 'ok' || outcome.version === undefined) return Infinity
    return outcome.version.revision + (verb === 'get' ? 0.5 : 0)
  },
}

function step(
  state: ObjectState,
  operation: Operation,
  writesAfter: (revision: number) => KnownWrites,
): ObjectState | undefined {
  const { verb, outcome } = operation
  if (outcome.type === 'failed') return failed(state, operation, outcome.reason)
  const version = outcome.type === 'ok' ? outcome.version : undefined
  if (verb === 'get') return version && read(state, version)
  const before = stateBefore(state, operation)
  if (before === undefined) return undefined
  const value = verb === 'delete' ? undefined : operation.value
  const { quietUntil } = before
  const after = written(before, value, quietUntil === undefined ? undefined : writesAfter(quietUntil))
  return version === undefined ? after : after && atRevision(after, version.revision)
}

function read(state: ObjectState, { value, revision }: Version): ObjectState | undefined {
  return state.value === value ? atRevision(state, revision) : undefined
}

/** The state if its last write has this revision. */
function atRevision(state: ObjectState, revision: number): ObjectState | undefined {
  const isPossible = state.isExact ? revision === state.revisionMin : revision >= state.revisionMin
  return isPossible ? quiet({ ...state, revisionMin: revision, isExact: true }, revision) : undefined
}

function quiet(state: ObjectState, untilRevision: number): ObjectState {
  return { ...state, quietUntil: Math.max(untilRevision, state.quietUntil ?? 0) }
}

/** The state, if a write can succeed in it. */
function stateBefore(state: ObjectState, { verb, expectedRevision }: Operation): ObjectState | undefined {
  const exists = state.value !== undefined
  if (verb === 'create' ? exists : verb !== 'apply' && !exists) return undefined
  return expectedRevision === undefined ? state : atRevision(state, expectedRevision)
}

/** The state after a write, if it is the one that watches have shown. */
function written(
  before: ObjectState,
  value: string | undefined,
  { next, untilRevision }: KnownWrites = { untilRevision: before.revisionMin },
): ObjectState | undefined {
  const revisionMin = next?.revision ?? untilRevision + 1
  if (next === undefined) return { value, revisionMin, isExact: false, quietUntil: undefined }
  return next.value === value ? { value, revisionMin, isExact: true, quietUntil: revisionMin } : undefined
}

/** The state, if the failure is right in it. */
function failed(
  state: ObjectState,
  { verb, expectedRevision }: Operation,
  reason: string,
): ObjectState | undefined {
  const exists = state.value !== undefined
  switch (reason) {
    case 'NotFound':
      return exists || verb === 'create' || verb === 'apply' ? undefined : state
    case 'AlreadyExists':
      return exists && verb === 'create' ? state : undefined
    case 'Conflict':
      // Without a precondition the server gives up after many concurrent writes.
      if (expectedRevision === undefined) return state
      return exists && !(state.isExact && state.revisionMin === expectedRevision) ? state : undefined
    default:
      return state
  }
}
