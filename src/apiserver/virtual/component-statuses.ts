/** The deprecated ComponentStatus resource, computed on request and not stored. */
import { notFound } from '#/api/errors.ts'
import type { ComponentStatus } from '#/api/generated/core/v1.ts'
import { subjectOf, type Call } from '../handlers/call.ts'
import { listBody } from '../list-body.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import type { Registry } from '../registry/registry.ts'
import type { ApiResponse } from '../request.ts'
import { tableBody } from '../table.ts'

export const componentStatuses = { get, list }

/** The components that this process can check. */
const components: Readonly<Record<string, (registry: Registry) => Promise<unknown>>> = {
  'etcd-0': registry => registry.store.revision(),
}

async function get(call: Call): Promise<ApiResponse> {
  const check = Object.hasOwn(components, call.info.name) ? components[call.info.name] : undefined
  if (check === undefined) throw notFound(subjectOf(call))
  const stored = await statusOf(call, call.info.name)
  const isTable = call.view.negotiated.transform?.kind === 'Table'
  return {
    status: 200,
    body: isTable ? tableBody(call.view, [stored], { resourceVersion: '' }, call) : call.view.body(stored),
  }
}

async function list(call: Call): Promise<ApiResponse> {
  const statuses = await Promise.all(Object.keys(components).map(name => statusOf(call, name)))
  return { status: 200, body: listBody(call.view, statuses, { resourceVersion: '' }, call) }
}

async function statusOf({ registry }: Call, name: string): Promise<StoredObject> {
  const problem = await components[name]!(registry).then(
    () => undefined,
    (error: unknown) => error,
  )
  const object: ComponentStatus = {
    kind: 'ComponentStatus',
    apiVersion: 'v1',
    metadata: { name },
    conditions: [
      problem === undefined
        ? { type: 'Healthy', status: 'True', message: 'ok' }
        : {
            type: 'Healthy',
            status: 'False',
            message: problem instanceof Error ? problem.message : 'unreachable',
          },
    ],
  }
  return new StoredObject(name, 0, encodeForStore(object), object)
}
