/** The deprecated ComponentStatus resource, computed on request and not stored. */
import { notFound } from '#/api/errors.ts'
import type { ComponentStatus } from '#/api/generated/core/v1.ts'
import { readListOptions } from '../handlers/list-options.ts'
import { refuseExport } from '../handlers/get.ts'
import { subjectOf, type RequestScope } from '../handlers/request-scope.ts'
import { listBody } from '../list-body.ts'
import { encodeForStore, StoredObject } from '../registry/stored-object.ts'
import type { Registry } from '../registry/registry.ts'
import type { ApiResponse } from '../request.ts'
import { objectBody } from '../object-body.ts'

export const componentStatuses = { get, list }

/** The components that this process can check. */
const components: Readonly<Record<string, (registry: Registry) => Promise<unknown>>> = {
  'etcd-0': registry => registry.store.revision(),
}

async function get(scope: RequestScope): Promise<ApiResponse> {
  refuseExport(scope)
  const check = Object.hasOwn(components, scope.info.name) ? components[scope.info.name] : undefined
  if (check === undefined) throw notFound({ ...subjectOf(scope), kind: 'componentstatus' })
  const stored = await statusOf(scope, scope.info.name)
  return { status: 200, body: await objectBody(scope.view, stored, scope) }
}

async function list(scope: RequestScope): Promise<ApiResponse> {
  const { selection } = readListOptions(withoutVersion(scope))
  const objects = await Promise.all(Object.keys(components).map(name => statusOf(scope, name)))
  return {
    status: 200,
    body: listBody(scope.view, { objects: objects.filter(each => selection.matches(each)), meta: {} }, scope),
  }
}

/** Objects that are not stored have no versions, so that even an invalid one is ignored. */
function withoutVersion(scope: RequestScope): RequestScope {
  const { request } = scope.context
  if (!request.query.has('resourceVersion')) return scope
  const query = new URLSearchParams(request.query)
  query.set('resourceVersion', '0')
  return { ...scope, context: { ...scope.context, request: { ...request, query } } }
}

async function statusOf({ registry }: RequestScope, name: string): Promise<StoredObject> {
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
  return new StoredObject({ key: name, revision: 0, value: encodeForStore(object) }, object)
}
