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

export const objectModel: Model<ObjectState, Operation> = {
  initial: { value: undefined, revision: undefined, revisionMin: 0 },
  step,
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

function step(state: ObjectState, operation: Operation): ObjectState | undefined {
  const { outcome } = operation
  if (outcome.type === 'failed') return failed(state, operation, outcome.reason)
  if (outcome.type === 'unknown') return written(state, operation, undefined)
  const { version } = outcome
  if (operation.verb === 'get') return version && read(state, version)
  return written(state, operation, version?.revision)
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
