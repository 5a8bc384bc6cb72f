import type { Resource } from '#/api/resource.ts'
import { metaDefinition } from './definition-names.ts'
import {
  itemParameters,
  operationOf,
  rootOf,
  subjectOf,
  watchFormsOf,
  type Draft,
} from './operation-draft.ts'
import type { Path } from './operation.ts'
import { actionParameters, namespaceParameter, pretty } from './parameters.ts'

/** The deprecated watch paths (`/watch/...`). */
export function watchPaths(resource: Resource): readonly Path[] {
  const { plural, scope, verbs } = resource
  if (!verbs.includes('watch')) return []
  const root = `${rootOf(resource)}/watch`
  const watch = (path: string, what: Watched): Path => ({
    path,
    operations: [
      operationOf(resource, {
        ...what,
        verb: 'watch',
        method: 'get',
        parameters: [...what.parameters, pretty, ...(actionParameters.watch ?? [])],
        responses: { 200: metaDefinition('WatchEvent') },
        produces: watchFormsOf(resource),
      }),
    ],
  })
  const list = { action: 'watchlist', description: describeListWatch(resource) }
  const subject = subjectOf(resource)
  const place = scope === 'Namespaced' ? `namespaces/{namespace}/${plural}` : plural
  const paths = [
    watch(`${root}/${place}/{name}`, {
      action: 'watch',
      subject,
      description: describeItemWatch(resource),
      parameters: itemParameters(resource, resource.kind),
    }),
    watch(`${root}/${place}`, {
      ...list,
      subject: `${subject}List`,
      parameters: scope === 'Namespaced' ? [namespaceParameter] : [],
    }),
  ]
  if (scope === 'Cluster') return paths
  const subjectOfAll = `${resource.kind}ListForAllNamespaces`
  return [...paths, watch(`${root}/${plural}`, { ...list, subject: subjectOfAll, parameters: [] })]
}

type Watched = Pick<Draft, 'action' | 'subject' | 'parameters' | 'description'>

function describeListWatch({ kind }: Resource): string {
  return (
    `watch individual changes to a list of ${kind}. ` +
    "deprecated: use the 'watch' parameter with a list operation instead."
  )
}

function describeItemWatch({ kind }: Resource): string {
  return (
    `watch changes to an object of kind ${kind}. deprecated: use the 'watch' parameter ` +
    "with a list operation instead, filtered to a single item with the 'fieldSelector' parameter."
  )
}
