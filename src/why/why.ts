/**
 * Explains why an object is not as it should be: not running, not ready, restarting, not scaling, not gone. Reads the
 * object and what it depends on, in a fixed number of steps, and never writes. Everything that decides is a pure
 * function of what was read (`diagnose/`).
 */
import { eventsOf } from './collect/snapshot.ts'
import { ClusterReader } from './collect/cluster-reader.ts'
import { collectSnapshot, withKind } from './collect/collect-snapshot.ts'
import { diagnoseTarget } from './diagnose/diagnose-target.ts'
import { ofEvent } from './diagnose/phrases.ts'
import type { Diagnosis, ObjectName } from './diagnosis.ts'
import { events } from '#/api/generated/core/v1-resources.ts'
import type { Resource } from '#/api/resource.ts'
import type { Client } from '#/client/client.ts'
import { findResource } from '#/client/find-resource.ts'
import type { Clock } from '#/platform/platform.ts'

export interface ExplainTarget {
  /** Plural, singular, kind or short name, optionally with the group: `deployments.apps`. */
  readonly kind: string
  readonly name: string
  /** Ignored for cluster-scoped kinds. */
  readonly namespace: string
}

export interface ExplainOptions {
  readonly clock: Clock
  readonly signal?: AbortSignal
}

/** Throws UnknownKindError, and ApiError if the object itself may not be read. */
export async function explain(
  client: Client,
  { kind, name, namespace }: ExplainTarget,
  { clock, signal }: ExplainOptions,
): Promise<Diagnosis> {
  const resource = await findResource(client, kind)
  if (resource === undefined) throw new UnknownKindError(kind)
  const isNamespaced = resource.scope === 'Namespaced'
  const at = { name, ...(isNamespaced && { namespace }) }
  const object: ObjectName = { kind: resource.kind, ...at }
  const reader = new ClusterReader(client, signal)
  const found = await client.find(resource, at, { signal })
  const nowMs = clock.now()
  if (found === undefined) return notFound(reader, { object, resource, nowMs })
  const target = withKind(resource, found)
  // The objects that explain a namespace are in it.
  const within = isNamespaced ? namespace : resource.kind === 'Namespace' ? name : ''
  const snapshot = await collectSnapshot({ client, reader, target, namespace: within, nowMs })
  const { code, summary, evidence, remedies } = diagnoseTarget(snapshot)
  return { object, code, summary, evidence: evidence.slice(0, evidenceMax), remedies, unread: reader.unread }
}

const evidenceMax = 30

/** The cluster has no such kind. */
export class UnknownKindError extends Error {
  constructor(kind: string, options?: ErrorOptions) {
    super(`the server has no resource of the kind ${JSON.stringify(kind)}`, options)
    this.name = 'UnknownKindError'
  }
}

interface MissingTarget {
  readonly object: ObjectName
  readonly resource: Resource
  readonly nowMs: number
}

/** Events outlive their object, so they may say what became of it. */
async function notFound(reader: ClusterReader, { object, nowMs }: MissingTarget): Promise<Diagnosis> {
  const { kind, namespace = 'default', name } = object
  const list = await reader.list(events, {
    namespace,
    fieldSelector: `involvedObject.kind=${kind},involvedObject.name=${name}`,
  })
  const metadata = { ...(object.namespace !== undefined && { namespace: object.namespace }), name }
  const about = eventsOf({ events: list?.map(withoutUid) }, { kind, metadata })
  const where = object.namespace === undefined ? '' : `${object.namespace}/`
  return {
    object,
    code: 'NotFound',
    summary: `${kind} ${where}${name} does not exist.`,
    evidence: about.slice(0, eventsShown).map(event => ofEvent(event, nowMs)),
    remedies: [],
    unread: reader.unread,
  }
}

const eventsShown = 5

function withoutUid<E extends { readonly involvedObject: { readonly uid?: string } }>(event: E): E {
  const { uid: _uid, ...involvedObject } = event.involvedObject
  return { ...event, involvedObject }
}
