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
  /** Undefined after a write whose response was lost, until the version is read. */
  readonly revision: number | undefined
  /** The highest resourceVersion that is known of this object; that of the next write is higher. */
  readonly revisionMin: number
}

/** A write that is known to be the next one of the object, with its revision. */
export interface NextWrite {
  readonly revision: number
  /** Undefined for a deletion. */
  readonly value: string | undefined
}

/**
 * `nextWriteAfter` returns the first write after a revision, where all are known from a watch: it decides which write
 * of several is the next. Without it the model is the same, but a search for an order has more choices.
 */
export function objectModelOf(
  nextWriteAfter: (revision: number) => NextWrite | undefined,
): Model<ObjectState, Operation> {
  return { ...objectModel, step: (state, operation) => step(state, operation, nextWriteAfter) }
}

type NextWriteAfter = Parameters<typeof objectModelOf>[0]

const objectModel: Omit<Model<ObjectState, Operation>, 'step'> = {
  initial: { value: undefined, revision: undefined, revisionMin: 0 },
  describe: ({ value, revision, revisionMin }) =>
    value === undefined
      ? `absent after ${revisionMin}`
      : `${value} at ${revision ?? `more than ${revisionMin}`}`,
  // A read comes after the write of its version, so that both follow the resourceVersion.
  rank: ({ verb, outcome }) => {
    if (outcome.type !== 'ok' || outcome.version === undefined) return Infinity
    return outcome.version.revision + (verb === 'get' ? 0.5 : 0)
  },
}

function step(
  state: ObjectState,
  operation: Operation,
  nextWriteAfter: NextWriteAfter,
): ObjectState | undefined {
  const { verb, outcome } = operation
  if (outcome.type === 'failed') return failed(state, operation, outcome.reason)
  const version = outcome.type === 'ok' ? outcome.version : undefined
  if (verb === 'get') return version && read(state, version)
  const after = written(state, operation, version?.revision)
  return after && asWatched(after, nextWriteAfter(state.revision ?? state.revisionMin))
}

/** The state after a write, if it is the one that a watch has shown. */
function asWatched(state: ObjectState, next: NextWrite | undefined): ObjectState | undefined {
  if (next === undefined) return state
  const { value, revision } = next
  if (state.value !== value) return undefined
  return value === undefined ? { ...state, revisionMin: revision } : atRevision(state, revision)
}

function read(state: ObjectState, { value, revision }: Version): ObjectState | undefined {
  return state.value === value ? atRevision(state, revision) : undefined
}

/** The state if the object has this resourceVersion. */
function atRevision(state: ObjectState, revision: number): ObjectState | undefined {
  if (state.value === undefined) return undefined
  if (state.revision !== undefined) return state.revision === revision ? state : undefined
  return revision > state.revisionMin ? { ...state, revision, revisionMin: revision } : undefined
}

/** The state after a write; `revision` is undefined if the response does not have it or was lost. */
function written(
  state: ObjectState,
  { verb, value, expectedRevision }: Operation,
  revision: number | undefined,
): ObjectState | undefined {
  const exists = state.value !== undefined
  if (verb === 'create' ? exists : verb !== 'apply' && !exists) return undefined
  const before = expectedRevision === undefined ? state : atRevision(state, expectedRevision)
  if (before === undefined) return undefined
  const { revisionMin } = before
  if (verb === 'delete') return { value: undefined, revision: undefined, revisionMin }
  if (revision === undefined) return { value, revision, revisionMin }
  return revision > revisionMin ? { value, revision, revisionMin: revision } : undefined
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
      return exists && state.revision !== expectedRevision ? state : undefined
    default:
      return state
  }
}
