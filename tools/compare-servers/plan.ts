/** All requests of a comparison, in a fixed order. */
import type { DiscoveredResource } from './discovered.ts'
import { KindBodies } from './examples.ts'
import { Mutations } from './mutations.ts'
import type { PlannedRequest, Sequence } from './request.ts'
import { fixtures, lifeCycles } from './requests/life-cycles.ts'
import { writeOptions } from './requests/options.ts'
import { plainPaths } from './requests/paths.ts'
import type { PlanContext } from './requests/plan-context.ts'
import { reads } from './requests/reads.ts'
import { subresources } from './requests/subresources.ts'
import { writes } from './requests/writes.ts'
import { Schemas } from './schemas.ts'

export interface Plan {
  /** Objects for the other requests. Sent before them. */
  readonly fixtures: readonly PlannedRequest[]
  /** Need the fixtures only. */
  readonly independent: readonly PlannedRequest[]
  readonly lifeCycles: readonly Sequence[]
}

export interface ServerDocuments {
  readonly resources: readonly DiscoveredResource[]
  /** OpenAPI v3 documents of the reference. */
  readonly openApi: readonly unknown[]
}

export function planRequests({ resources, openApi }: ServerDocuments): Plan {
  const schemas = new Schemas(openApi)
  const context: PlanContext = {
    resources,
    schemas,
    bodies: new KindBodies(schemas),
    mutations: new Mutations(schemas),
  }
  const independent = [
    ...plainPaths(groupVersionPaths(context.resources)),
    ...reads(context),
    ...writes(context),
    ...writeOptions(context),
    ...subresources(context),
  ]
  return {
    fixtures: fixtures(context),
    independent: withUniqueIds(independent),
    lifeCycles: lifeCycles(context),
  }
}

function groupVersionPaths(resources: readonly DiscoveredResource[]): readonly string[] {
  const paths = resources.map(({ group, version }) =>
    group === '' ? `/api/${version}` : `/apis/${group}/${version}`,
  )
  const unique = [...new Set(paths)]
  return [...unique, ...unique.map(path => `/openapi/v3${path}`)]
}

/** Requests that two generators make are sent once. */
function withUniqueIds(requests: readonly PlannedRequest[]): readonly PlannedRequest[] {
  return [...new Map(requests.map(request => [request.id, request])).values()]
}
